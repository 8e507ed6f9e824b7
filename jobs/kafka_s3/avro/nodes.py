"""A schema as a graph: names resolved, what values need of it in attributes.

Compatibility and projection walk two of these side by side. A recursive schema is a graph with a circle, so whoever
walks one remembers where it has been.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from kafka_s3.avro.model import Avro, Schema, full_name
from kafka_s3.avro.parse import PRIMITIVES, SchemaError
from kafka_s3.shown import quoted

_NO_PROPERTIES: Final[Mapping[str, Any]] = MappingProxyType({})
#: Logical types that change what a value means, by what they are of; others (uuid, a user's own) say nothing that a
#: column could not hold, and on another type they mean nothing.
_LOGICAL: Final = {
    "int": frozenset({"date", "time-millis"}),
    "long": frozenset({"time-micros"})
    | {f"{local}timestamp-{unit}" for local in ("", "local-") for unit in ("millis", "micros", "nanos")},
}


_SMALL: Final = {"int8": 7, "int16": 15}


class _NoDefault:
    """There is no default; `None` is one."""


NO_DEFAULT: Final = _NoDefault()


@dataclass(eq=False, slots=True)
class Field:
    """A record's field; `default` is JSON, as in the schema."""

    name: str
    node: Node
    aliases: tuple[str, ...]
    default: Any


@dataclass(eq=False, slots=True)
class Node:
    """A type. `name`: the full name of a named type, else the type; so branches of a union are told apart."""

    kind: str
    name: str
    properties: Mapping[str, Any]
    aliases: frozenset[str] = frozenset()
    fields: tuple[Field, ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0
    branches: tuple[Node, ...] = ()
    _item: list[Node] = field(default_factory=list)

    @property
    def item(self) -> Node:
        """What an array or a map holds."""
        return self._item[0]

    @property
    def nullable(self) -> bool:
        return self.kind == "null" or any(each.kind == "null" for each in self.branches)

    @property
    def optional(self) -> Node | None:
        """The union's only type that is not null; there may be no null beside it."""
        others = [each for each in self.branches if each.kind != "null"]
        return others[0] if len(others) == 1 else None

    @property
    def required(self) -> Node:
        """The type that values have which are not null, where a union has just one."""
        return self.optional or self

    @property
    def logical(self) -> tuple[Any, ...] | None:
        """The logical type with what belongs to it, `None` if it changes nothing: `("decimal", precision, scale)`."""
        name = self.properties.get("logicalType")
        if name == "decimal" and self.kind in ("bytes", "fixed"):
            precision, scale = self.properties.get("precision"), self.properties.get("scale", 0)
            valid = type(precision) is int and type(scale) is int and 0 <= scale <= precision and precision > 0
            return (name, precision, scale) if valid else None
        return (name,) if isinstance(name, str) and name in _LOGICAL.get(self.kind, ()) else None

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest number of an integer type, and the one above the highest; Connect has two smaller ones."""
        small = _SMALL.get(str(self.properties.get("connect.type"))) if self.kind == "int" else None
        bits = small or (31 if self.kind == "int" else 63)
        return -(1 << bits), 1 << bits

    def branch(self, name: str) -> Node | None:
        return next((each for each in self.branches if each.name == name), None)


@lru_cache(maxsize=64)  # a graph takes some 500 bytes for each type, of which there may be parse.EXPANDED_MAX
def _graph_of(text: str) -> Node:
    try:
        return _node(Schema(text).avro, "", {})
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"this is no Avro schema ({type(error).__name__}): {quoted(text, text[:200])}") from None


def graph(schema: Schema) -> Node:
    """The graph of a schema; shared, so not to be changed. `SchemaError` if it is none."""
    return _graph_of(schema.text)


def union_of(branches: Iterable[Node]) -> Node:
    return Node("union", "union", _NO_PROPERTIES, branches=tuple(branches))


def _node(avro: Avro, namespace: str, names: dict[str, Node]) -> Node:
    if isinstance(avro, str):
        return _named(avro, namespace, names, _NO_PROPERTIES)
    if isinstance(avro, list):
        return union_of(_node(each, namespace, names) for each in avro)
    kind = avro["type"]
    if not isinstance(kind, str):
        return _node(kind, namespace, names)
    if kind in ("array", "map"):
        return Node(kind, kind, avro, _item=[_node(avro["items" if kind == "array" else "values"], namespace, names)])
    if kind not in ("record", "enum", "fixed"):
        return _named(kind, namespace, names, avro)
    name = full_name(avro, namespace)
    inside = name.rpartition(".")[0]
    node = names[name] = Node(kind, name, avro, frozenset(_full(each, inside) for each in avro.get("aliases", ())))
    if kind == "record":
        node.fields = tuple(_field(each, inside, names) for each in avro["fields"])
    elif kind == "enum":
        node.symbols = tuple(avro["symbols"])
    else:
        node.size = avro["size"]
    return node


def _field(avro: Mapping[str, Any], namespace: str, names: dict[str, Node]) -> Field:
    node = _node(avro["type"], namespace, names)
    default = avro.get("default", NO_DEFAULT)
    if default is NO_DEFAULT:  # Connect writes it beside the type as well
        default = node.required.properties.get("connect.default", NO_DEFAULT)
    return Field(avro["name"], node, tuple(avro.get("aliases", ())), default)


def _named(name: str, namespace: str, names: Mapping[str, Node], properties: Mapping[str, Any]) -> Node:
    if name in PRIMITIVES:
        return Node(name, name, properties)
    found = names.get(name) or names.get(_full(name, namespace))
    if found is None:
        raise SchemaError(f"{name} is no type of Avro, and none that the schema defines before")
    return found


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"
