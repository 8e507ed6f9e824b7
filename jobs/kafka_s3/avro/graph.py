"""A schema's text as its graph, and a graph's text: names are resolved and logical types read here, once.

Between `graph` and `avro_of` nothing is lost: a schema that was resolved and written is the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from kafka_s3.avro.model import Avro, Schema, full_name
from kafka_s3.avro.nodes import (
    NO_DEFAULT,
    NO_PROPERTIES,
    Array,
    Date,
    Decimal,
    Enum,
    Field,
    Fixed,
    Kind,
    Logical,
    Map,
    Named,
    Node,
    Primitive,
    Record,
    TimeOfDay,
    Timestamp,
    Union,
    Unit,
)
from kafka_s3.avro.parse import PRIMITIVES, SchemaError
from kafka_s3.shown import quoted

_OF_INT: Final[tuple[Logical, ...]] = (Date(), TimeOfDay(Unit.MILLIS))
_OF_LONG: Final[tuple[Logical, ...]] = (
    TimeOfDay(Unit.MICROS),
    *(Timestamp(unit, local) for unit in Unit for local in (False, True)),
)
_TIMES: Final = {Kind.INT: {each.name: each for each in _OF_INT}, Kind.LONG: {each.name: each for each in _OF_LONG}}
_BITS: Final = {Kind.INT: 32, Kind.LONG: 64}
#: Connect's two smaller integers, as AvroData marks them.
_SMALL_BITS: Final = {"int8": 8, "int16": 16}


@lru_cache(maxsize=64)  # a graph takes some 500 bytes for each type, of which there may be parse.EXPANDED_MAX
def _graph_of(text: str) -> Node:
    try:
        return _resolved(Schema(text).avro, "", {})
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"this is not an Avro schema ({type(error).__name__}): {quoted(text, text[:200])}") from None


def graph(schema: Schema) -> Node:
    """The graph of a schema; shared. `SchemaError` if it is none."""
    return _graph_of(schema.text)


def _resolved(avro: Avro, namespace: str, names: dict[str, Named]) -> Node:
    if isinstance(avro, str):
        return _by_name(avro, namespace, names, NO_PROPERTIES)
    if isinstance(avro, list):
        return Union(tuple(_resolved(each, namespace, names) for each in avro))
    match kind := avro["type"]:
        case "array":
            return Array(_resolved(avro["items"], namespace, names), avro)
        case "map":
            return Map(_resolved(avro["values"], namespace, names), avro)
        case "record" | "enum" | "fixed":
            return _defined(kind, avro, full_name(avro, namespace), names)
        case str():
            return _by_name(kind, namespace, names, avro)
    return _resolved(kind, namespace, names)


def _defined(kind: str, avro: Mapping[str, Any], name: str, names: dict[str, Named]) -> Named:
    inside = name.rpartition(".")[0]
    aliases = frozenset(_full(each, inside) for each in avro.get("aliases", ()))
    match kind:
        case "enum":
            made: Named = Enum(name, tuple(avro["symbols"]), avro, aliases)
        case "fixed":
            made = Fixed(name, avro["size"], avro, aliases, _decimal(avro))
        case _:
            made = Record(name, avro, aliases)
    names[name] = made
    if isinstance(made, Record):  # it may stand in its own fields, so it is there before these
        object.__setattr__(made, "fields", tuple(_field(each, inside, names) for each in avro["fields"]))
    return made


def _field(avro: Mapping[str, Any], namespace: str, names: dict[str, Named]) -> Field:
    node = _resolved(avro["type"], namespace, names)
    default = avro.get("default", NO_DEFAULT)
    if default is NO_DEFAULT:  # Connect writes it beside the type as well
        default = node.required.properties.get("connect.default", NO_DEFAULT)
    return Field(avro["name"], node, avro, tuple(avro.get("aliases", ())), default)


def _by_name(name: str, namespace: str, names: Mapping[str, Named], properties: Mapping[str, Any]) -> Node:
    if name in PRIMITIVES:
        return _primitive(Kind(name), properties)
    found = names.get(name) or names.get(_full(name, namespace))
    if found is None:
        raise SchemaError(f"{name} is neither a type of Avro nor one that the schema defines before")
    return found


def _primitive(kind: Kind, avro: Mapping[str, Any]) -> Primitive:
    bits = _BITS.get(kind, 0)
    if kind is Kind.INT:
        bits = _SMALL_BITS.get(str(avro.get("connect.type")), bits)
    if kind is Kind.BYTES:
        return Primitive(kind, avro, _decimal(avro))
    return Primitive(kind, avro, _TIMES.get(kind, {}).get(str(avro.get("logicalType"))), bits)


def _decimal(avro: Mapping[str, Any]) -> Decimal | None:
    precision, scale = avro.get("precision"), avro.get("scale", 0)
    if avro.get("logicalType") != "decimal" or type(precision) is not int or type(scale) is not int:
        return None
    return Decimal(precision, scale) if 0 <= scale <= precision and precision > 0 else None


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


#: Which words of a type's JSON are written.
Words = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def avro_of(node: Node, words: Words = dict) -> Avro:
    """The schema of a type by itself: a name is defined where it first stands, in its author's words."""
    return _written(node, "", words, set())


def _written(node: Node, namespace: str, words: Words, seen: set[str]) -> Avro:
    if isinstance(node, Union):
        return [_written(each, namespace, words, seen) for each in node.branches]
    if not node.properties:
        assert isinstance(node, Primitive), "a type of parts without its words"
        return node.kind.value
    made = dict(words(node.properties))
    if isinstance(node, Fixed | Enum | Record):
        if node.name in seen:
            return node.name
        seen.add(node.name)
        if full_name(made, namespace) != node.name:  # it had its namespace from where it stood
            made["namespace"] = node.name.rpartition(".")[0]
    match node:
        case Array(item):
            made["items"] = _written(item, namespace, words, seen)
        case Map(item):
            made["values"] = _written(item, namespace, words, seen)
        case Record(name):
            inside = name.rpartition(".")[0]
            types = [_written(each.node, inside, words, seen) for each in node.fields]
            made["fields"] = [{**each.properties, "type": type} for each, type in zip(node.fields, types, strict=True)]
    return made
