"""One field of plain values, nested ones by their path."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any, Final

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Branch, Schema
from kafka_s3.avro.nodes import Map, Node, Record, Union
from kafka_s3.shown import named, quoted

_NAMES_MAX: Final = 8


class NoField(Exception):
    """There is no such field, and why."""


def node_at(schema: Schema, path: Iterable[str]) -> Node | None:
    """The type of a field, null taken out of it; `None` where the path leads to no field of a record."""
    node = graph(schema).required
    for name in path:
        found = node.field(name) if isinstance(node, Record) else None
        if found is None:
            return None
        node = found.node.required
    return node


def field_reader(schema: Schema, path: tuple[str, ...]) -> Callable[[Any], Any]:
    """A function from a value under the schema to the field at the end of a path: `None` below a null, the value of a
    union's branch without its name. It raises `NoField` where there is none.
    """
    node, wanted = graph(schema), ".".join(path)

    def read(value: Any) -> Any:
        here = node
        for depth, name in enumerate(path):
            value, here = _inside(value, here)
            if value is None and depth:
                return None
            found: Node | None = None
            match here:
                case Map(item):
                    found = item if name in value else None
                case Record():
                    found = field.node if (field := here.field(name)) else None
                case _:
                    where = f"{'.'.join(path[:depth])} is" if depth else "the value is"
                    raise NoField(f"field {wanted}: {where} {here.described}, which has no fields")
            if found is None:
                raise NoField(f"field {wanted} is missing; there are {_listed(value, here)}")
            value, here = value[name], found
        return _inside(value, here)[0]

    return read


def _inside(value: Any, node: Node) -> tuple[Any, Node]:
    """Through unions to the value and its type."""
    if isinstance(value, Branch):
        assert isinstance(node, Union)
        return value.value, node.branch(value.name) or node
    return value, node.required


def _listed(value: Any, node: Map | Record) -> str:
    if isinstance(node, Map):
        names = _some([repr(name) for name in itertools.islice(value, _NAMES_MAX + 1)])
        return quoted(value, names, kind=f"others ({len(value)})") if value else names
    return _some([f"{named(each.name)} ({each.node.required.described})" for each in node.fields[: _NAMES_MAX + 1]])


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMES_MAX])
    return shown + (", …" if len(names) > _NAMES_MAX else "") if shown else "no fields"
