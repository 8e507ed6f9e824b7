"""Avro's types as Connect sees them, and how a transform makes new ones.

A value under a schema is plain, as `avro.model` says. A union of several types is a struct to Connect; here it stays
what it is, and no transform looks into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kafka_s3.avro.defaults import plain_default
from kafka_s3.avro.graph import avro_of, graph
from kafka_s3.avro.model import Branch, Schema, schema_of
from kafka_s3.avro.nodes import (
    NO_DEFAULT,
    Array,
    Date,
    Decimal,
    Enum,
    Field,
    Fixed,
    Kind,
    Map,
    Node,
    Primitive,
    Record,
    TimeOfDay,
    Timestamp,
    Union,
    Unit,
    held,
)
from kafka_s3.avro.parse import SchemaError, parse_avro
from kafka_s3.values.converters.connect_avro import DEFAULT_NAME, avro_schema
from kafka_s3.values.converters.connect_schema import (
    ABSENT,
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    ConnectField,
    ConnectSchema,
    InvalidSchema,
    Names,
    is_name,
    valid_name,
)

_SMALL: Final = {8: "INT8", 16: "INT16", 32: "INT32"}
_KINDS: Final = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.LONG: "INT64",
    Kind.FLOAT: "FLOAT32",
    Kind.DOUBLE: "FLOAT64",
    Kind.BYTES: "BYTES",
    Kind.STRING: "STRING",
    Kind.NULL: "NULL",
}
#: Connect's types that hold no others.
PRIMITIVES: Final = frozenset(
    ("INT8", "INT16", "INT32", "INT64", "FLOAT32", "FLOAT64", "BOOLEAN", "STRING", "BYTES"),
)
MAP_ENTRY: Final = "io.confluent.connect.avro.MapEntry"


class TransformError(ValueError):
    """A record that a transform cannot change, and why."""


def type_of(node: Node) -> str:
    """Connect's type of a node; an optional one is what it is when it is there."""
    match node.required:
        case Primitive(Kind.INT) as number:
            return _SMALL[number.bits]
        case Primitive(kind):
            return _KINDS[kind]
        case Enum():
            return "STRING"
        case Fixed():
            return "BYTES"
        case Array(Record() as item) if _is_entry(item):
            return "MAP"
        case Array():
            return "ARRAY"
        case Map():
            return "MAP"
        case Record():
            return "STRUCT"
        case Union():
            return "UNION"


def _is_entry(record: Record) -> bool:
    return record.name == MAP_ENTRY or record.properties.get("connect.internal.type") == "MapEntry"


def logical_of(node: Node) -> str | None:
    """Which of Connect's logical types it is."""
    one = node.required
    if not isinstance(one, Primitive | Fixed):
        return None
    match one.logical:
        case Decimal():
            return DECIMAL
        case Date():
            return DATE
        case TimeOfDay(Unit.MILLIS):
            return TIME
        case Timestamp(Unit.MILLIS, False):
            return TIMESTAMP
    named = one.properties.get("connect.name")
    return DECIMAL if named == DECIMAL else None


def struct_of(schema: Schema) -> Record:
    """The record that a schema is, be it optional. `TransformError` if it is none."""
    one = graph(schema).required
    if not isinstance(one, Record):
        raise TransformError(f"only a struct has fields, and the value is of the type {type_of(one)}")
    return one


def name_of(field: Field) -> str:
    """What Connect calls a field; Avro may have had to call it otherwise."""
    name = field.properties.get("connect.name", field.name)
    return name if isinstance(name, str) else field.name


def field_of(record: Record, name: str) -> Field | None:
    return next((each for each in record.fields if name_of(each) == name), None)


def default_of(field: Field) -> Any:
    """The default of a field's schema as a plain value; `None` if there is none, or it is null."""
    if field.default is NO_DEFAULT or field.default is None:
        return None
    value = plain_default(field.node, field.default, field.name)
    return None if isinstance(value, Branch) else value


def default_of_schema(node: Node) -> Any:
    """The default that a schema by itself has, as a plain value; `None` if there is none."""
    given = node.required.properties.get("connect.default")
    return None if given is None else plain_default(node, given, "default")


def filler(fields: Iterable[Field], *, fills: bool) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """What reads the nulls of a struct's fields as their defaults, as `Struct.get` does; `None`: there are none."""
    defaults = {each.name: default_of(each) for each in fields if each.node.nullable} if fills else {}
    defaults = {name: default for name, default in defaults.items() if default is not None}
    if not defaults:
        return None

    def filled(value: dict[str, Any]) -> dict[str, Any]:
        missing = {name: default for name, default in defaults.items() if value[name] is None}
        return {**value, **missing} if missing else value

    return filled


def getter(field: Field, *, fills: bool) -> Callable[[dict[str, Any]], Any]:
    """Reads one field of a struct, as `Struct.get` or `getWithoutDefault` do."""
    name, default = field.name, default_of(field) if fills and field.node.nullable else None
    if default is None:
        return lambda value: value[name]
    return lambda value: default if value[name] is None else value[name]


# New types.


def primitive(type: str, *, optional: bool = False, default: Any = ABSENT, name: str | None = None) -> ConnectSchema:
    """A new schema of Connect's. `default`: JSON as JsonConverter's envelopes have it."""
    return ConnectSchema(_ENVELOPE[type], optional=optional, name=name, version=1 if name else None, default=default)


_ENVELOPE: Final = {
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "FLOAT32": "float",
    "FLOAT64": "double",
    "BOOLEAN": "boolean",
    "STRING": "string",
    "BYTES": "bytes",
}


def new_field(name: str, schema: ConnectSchema) -> Field:
    """A field of a new schema, as AvroData writes it."""
    plain = name if is_name(name) else valid_name(name)
    made = graph(avro_schema(ConnectSchema("struct", fields=(ConnectField(name, plain, schema),))))
    assert isinstance(made, Record)
    return made.fields[0]


def retyped(field: Field, schema: ConnectSchema) -> Field:
    """A field of a new type, called as before: Avro for Java takes names that AvroData would write otherwise."""
    made = new_field(name_of(field), schema)
    if made.name == field.name:
        return made
    words = {name: word for name, word in made.properties.items() if name != "connect.name"}
    names = {name: word for name, word in field.properties.items() if name in ("name", "connect.name")}
    return replace(made, name=field.name, properties={**words, **names})


def new_schema(schema: ConnectSchema, version: int | None = None) -> Schema:
    """A new schema by itself."""
    return replace(avro_schema(schema), version=version)


class Fields:
    """The fields of a struct in the making."""

    def __init__(self) -> None:
        self.made: list[Field] = []
        self._names: set[str] = set()
        self._plain = Names()

    def add(self, field: Field, name: str | None = None) -> str:
        """Add a field, under another name if one is given; the name that Avro has for it."""
        shown = name_of(field) if name is None else name
        if not shown:
            raise TransformError("a field needs a name")
        if shown in self._names:
            raise TransformError(f"the struct would have two fields called {shown}")
        self._names.add(shown)
        plain = self._plain.unused(field.name if name is None else _plain(shown))
        if plain != field.name or shown != name_of(field):
            words = {key: word for key, word in field.properties.items() if key not in ("connect.name", "aliases")}
            words["name"] = plain
            if plain != shown:
                words["connect.name"] = shown
            field = replace(field, name=plain, properties=words, aliases=())
        self.made.append(field)
        return plain


def _plain(name: str) -> str:
    return name if is_name(name) else valid_name(name)


def with_fields(record: Record, fields: Sequence[Field]) -> Record:
    """A struct of the same name and documentation with other fields, and no default of its own.

    One that holds itself, or another of its name, gets another name: within it there is still the old one.
    """
    words = {name: word for name, word in record.properties.items() if name != "connect.default"}
    names = Names(_defined(fields))
    full = names.unused(record.name)
    if full != record.name:
        words["name"] = full.rpartition(".")[2]
    return replace(record, name=full, fields=tuple(fields), properties=words)


def struct(fields: Sequence[Field]) -> Record:
    """A new struct without a name; AvroData has one for it, unless a field's type has that already."""
    names = Names(_defined(fields))
    space, _, name = DEFAULT_NAME.rpartition(".")
    full = names.unused(DEFAULT_NAME)
    words: Mapping[str, Any] = {"type": "record", "name": full.rpartition(".")[2] or name, "namespace": space}
    return Record(full, words, fields=tuple(fields))


def _defined(fields: Sequence[Field]) -> Iterable[str]:
    for each in fields:
        for node in (each.node, *held(each.node)):
            if isinstance(node, Record | Enum | Fixed):
                yield node.name


def optional(node: Node, *, default: Any = None) -> Node:
    """The same type, null allowed; null is the second branch where the default is not null."""
    if node.nullable:
        return node
    null = Primitive(Kind.NULL, {})
    inner = node.branches if isinstance(node, Union) else (node,)
    return Union((null, *inner) if default is None else (*inner, null))


def schema_of_node(node: Node, version: int | None) -> Schema:
    """The schema of a type; checked, since names may clash that did not before."""
    try:
        text = schema_of(avro_of(node)).text
        return replace(parse_avro(text, version=version))
    except (SchemaError, InvalidSchema) as error:
        raise TransformError(f"the schema that it makes cannot be used: {error}") from None
