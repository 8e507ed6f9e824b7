"""Fields as the text of headers: what Connect's `Values.convertToString` makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_s3.avro.model import Branch
from kafka_s3.avro.nodes import Array, Map, Node, Record
from kafka_s3.values.converters.connect_schema import DATE, DECIMAL, TIME, TIMESTAMP
from kafka_s3.values.converters.connect_text_parser import parse_string
from kafka_s3.values.converters.connect_types import DAY_MS, Entries, Float32, Moment, base64_text, text_of
from kafka_s3.values.transforms.cast import number_of, scale_of
from kafka_s3.values.transforms.connect import getter, logical_of, name_of, type_of


def text_of_field(node: Node) -> Callable[[Any], str | None]:
    """The text of values of a type; `None` for null."""
    return lambda value: None if value is None else _text(_typed(node, value))


def text_of_schemaless(value: Any) -> str | None:
    return None if value is None else _text(_plain(value))


def text_of_literal(literal: str) -> str | None:
    """The text of the value that `Values.parseString` makes of a literal: a number loses its zeros, a quoted
    text keeps its quotes."""
    value = parse_string(literal).value
    return None if value is None else text_of(value)


def _text(value: Any) -> str:
    return base64_text(value) if isinstance(value, bytes) else text_of(value)


def _typed(node: Node, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, Branch):
        return _plain(value.value)
    one, logical = node.required, logical_of(node)
    if logical == DECIMAL:
        return number_of(value, scale_of(node))
    if logical in (DATE, TIME, TIMESTAMP):
        return Moment(value * (DAY_MS if logical == DATE else 1))
    match one:
        case Array(Record(fields=(key, item))) if type_of(one) == "MAP":
            return Entries((_typed(key.node, each["key"]), _typed(item.node, each["value"])) for each in value)
        case Array(item):
            return [_typed(item, each) for each in value]
        case Map(item):
            return Entries((key, _typed(item, each)) for key, each in value.items())
        case Record(fields=fields):
            gets = [(each, getter(each, fills=True)) for each in fields]
            return Entries((name_of(each), _typed(each.node, get(value))) for each, get in gets)
    return Float32(value) if type_of(one) == "FLOAT32" else value


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return Entries((key, _plain(each)) for key, each in value.items())
        case list():
            return [_plain(each) for each in value]
    return value
