"""What a JSONPath finds in a value, as com.jayway.jsonpath finds it.

A text that is a number is that number where a number is asked for, and the other way round; `!=` holds for what is not
there. Bytes are equal to nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, assert_never

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Branch, Schema
from kafka_s3.avro.nodes import Array, Map, Node, Record, Union
from kafka_s3.settings.transforms import json_path
from kafka_s3.settings.transforms.json_path import (
    Compared,
    Condition,
    Every,
    Listed,
    Literal,
    Matched,
    Name,
    Not,
    Path,
    Place,
    Step,
    There,
    Where,
)
from kafka_s3.values.converters.connect_schema import DECIMAL
from kafka_s3.values.formats.java_numbers import java_double, java_float
from kafka_s3.values.transforms.cast import number_of, scale_of
from kafka_s3.values.transforms.connect import TransformError, logical_of, name_of, type_of


class NotThere(LookupError):
    """The path leads nowhere."""


_NOTHING: Final = object()
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
View = Callable[[Any], Any]
#: Schemas whose views are kept.
_VIEWS_MAX: Final = 1000


def found_in(path: Path, document: Any) -> list[Any]:
    """What the path leads to. `NotThere` if a field or element on the definite part of the way is missing or null;
    `TransformError` if a condition is about neither a list nor an object."""
    found = list(_walk(path.steps, 0, document, document, definite=True))
    if path.is_definite and not found:
        raise NotThere
    return found


def _walk(steps: tuple[Step, ...], at: int, model: Any, document: Any, *, definite: bool) -> Iterator[Any]:
    if at == len(steps):
        yield model
        return
    match steps[at]:
        case Name(name):
            if isinstance(model, dict) and name in model:
                yield from _walk(steps, at + 1, model[name], document, definite=definite)
            elif definite and not (isinstance(model, dict) and at == len(steps) - 1):
                raise NotThere
        case Place(place):
            if isinstance(model, list):
                if -len(model) <= place < len(model):
                    yield from _walk(steps, at + 1, model[place], document, definite=definite)
            elif definite:
                raise NotThere
        case Every():
            inner = model.values() if isinstance(model, dict) else model if isinstance(model, list) else ()
            for each in inner:
                yield from _walk(steps, at + 1, each, document, definite=False)
        case Where(condition):
            if isinstance(model, list):
                chosen = [each for each in model if holds(condition, each, document)]
            elif isinstance(model, dict):
                chosen = [model] if holds(condition, model, document) else []
            elif model is None and definite:
                raise NotThere
            elif definite:
                raise TransformError("the path's condition is about neither an object nor a list")
            else:
                chosen = []
            for each in chosen:
                yield from _walk(steps, at + 1, each, document, definite=False)
        case step:
            assert_never(step)


def holds(condition: Condition, element: Any, document: Any) -> bool:
    """Whether a condition holds for an element of the document."""
    match condition:
        case There(path, negated):
            return (_at(path, element, document) is _NOTHING) is negated
        case Compared(path, operator, literal):
            return _compared(_at(path, element, document), operator, literal)
        case Matched(path, pattern):
            return _fits(_at(path, element, document), pattern)
        case Listed(path, literals, negated):
            value = _at(path, element, document)
            return any(_equal(value, literal) for literal in literals) is not negated
        case json_path.All(conditions):
            return all(holds(each, element, document) for each in conditions)
        case json_path.Any(conditions):
            return any(holds(each, element, document) for each in conditions)
        case Not(inner):
            return not holds(inner, element, document)
        case other:
            assert_never(other)


def _at(path: Path, element: Any, document: Any) -> Any:
    model = element if path.from_element else document
    for step in path.steps:
        if isinstance(step, Name):
            if not isinstance(model, dict) or step.name not in model:
                return _NOTHING
            model = model[step.name]
        elif isinstance(step, Place):
            if not isinstance(model, list) or not -len(model) <= step.at < len(model):
                return _NOTHING
            model = model[step.at]
    return model


def _compared(value: Any, operator: str, literal: Literal) -> bool:
    match operator:
        case "==":
            return _equal(value, literal)
        case "!=":
            return not _equal(value, literal)
    if isinstance(value, str) and isinstance(literal, str):
        order = _order(value.encode("utf-16-be", "surrogatepass"), literal.encode("utf-16-be", "surrogatepass"))
    elif isinstance(literal, Decimal) and (number := _number(value)) is not None:
        order = _order(number, literal)
    else:
        return False
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]


def _order(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


def _equal(value: Any, literal: Literal) -> bool:
    if value is None or literal is None:
        return value is literal
    if isinstance(value, bool) or isinstance(literal, bool):
        return value is literal
    if isinstance(value, str):
        return value == (str(literal) if isinstance(literal, Decimal) else literal)
    number = _number(value)
    if number is None:
        return False
    if isinstance(literal, str):
        return _NUMBER.fullmatch(literal) is not None and number == Decimal(literal)
    return number == literal


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if isinstance(value, float):
        return Decimal(java_double(value)) if math.isfinite(value) else None
    return value if isinstance(value, Decimal) else Decimal(int(value))


def _fits(value: Any, pattern: re.Pattern[str]) -> bool:
    """Whether the whole text fits; of a list, that of one element. What has no text is blank."""
    if not isinstance(value, list):
        return pattern.fullmatch(_text(value)) is not None
    if any(isinstance(each, dict | list) for each in value):
        raise TransformError("a pattern cannot be held against a list of lists or of objects")
    return any(pattern.fullmatch(_text(each)) is not None for each in value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    number = _number(value)
    return "" if number is None else str(number)


# Values under a schema, with Connect's names.


def view_of(schema: Schema | None) -> View | None:
    """What makes a document of a value: fields with Connect's names, decimals as numbers. `None`: it is one already."""
    return None if schema is None else _schema_view(schema)


@lru_cache(_VIEWS_MAX)
def _schema_view(schema: Schema) -> View | None:
    return _view(graph(schema), {})


def _view(node: Node, known: dict[Record, View | None]) -> View | None:
    """`known`: the views of records met before, of those that are not finished yet a late one."""
    one = node.required
    if logical_of(one) == DECIMAL:
        scale = scale_of(one)
        return _of_present(lambda value: number_of(value, scale))
    if type_of(one) == "FLOAT32":
        return _of_present(lambda value: Decimal(java_float(value)) if math.isfinite(value) else value)
    match one:
        case Union():
            return lambda value: value.value if isinstance(value, Branch) else value
        case Record():
            if one not in known:
                late = _Late()
                known[one] = late
                known[one] = late.view = _struct(one, known)
            return known[one]
        case Array(Record(fields=(key, item))) if type_of(one) == "MAP":
            return _of_present(_entries(key.name, item.name, _view(item.node, known)))
        case Array(item):
            return _each(_view(item, known), lambda view: lambda value: list(map(view, value)))
        case Map(item):
            return _each(
                _view(item, known), lambda view: lambda value: {name: view(each) for name, each in value.items()}
            )
    return None


def _each(view: View | None, of: Callable[[View], View]) -> View | None:
    return None if view is None else _of_present(of(view))


def _of_present(view: View) -> View:
    return lambda value: None if value is None else view(value)


def _struct(record: Record, known: dict[Record, View | None]) -> View | None:
    parts = [(each.name, name_of(each), _view(each.node, known)) for each in record.fields]
    if all(name == shown and view is None for name, shown, view in parts):
        return None
    return _of_present(
        lambda value: {shown: value[name] if view is None else view(value[name]) for name, shown, view in parts}
    )


def _entries(key: str, item: str, view: View | None) -> View:
    return lambda value: {str(each[key]): each[item] if view is None else view(each[item]) for each in value}


class _Late:
    """Of a struct within itself: what its values need is known once all its fields are."""

    view: View | None = None

    def __call__(self, value: Any) -> Any:
        return value if value is None or self.view is None else self.view(value)
