"""JSON without a schema, for formats that need one: AvroData's `Anything`, a record of one field per type."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from kafka_s3.avro.datum_writer import long_bytes
from kafka_s3.avro.fields import NoField
from kafka_s3.avro.model import Avro, Schema, schema_of
from kafka_s3.values.converters.connect_values import parse
from kafka_s3.values.converters.schemaless import plain_json, rows_of_json
from kafka_s3.values.converters.structs import Held, ValueRows

_NAMESPACE: Final = "io.confluent.connect.avro"
_NAME: Final = f"{_NAMESPACE}.Anything"
#: Each level of JSON is up to three of Avro, and its readers and writers recurse.
NESTING_MAX: Final = 100
_TYPES: Final = ("boolean", "bytes", "double", "float", "int", "long", "string")
_ENTRY: Final[Avro] = {
    "type": "record",
    "name": "MapEntry",
    "namespace": _NAMESPACE,
    "fields": [{"name": "key", "type": _NAME}, {"name": "value", "type": _NAME}],
}
_FIELDS: Final[dict[str, Avro]] = {
    **{each: each for each in _TYPES},
    "array": {"type": "array", "items": _NAME},
    "map": {"type": "array", "items": _ENTRY},
}
ANYTHING: Final[Schema] = schema_of(
    {
        "type": "record",
        "name": "Anything",
        "namespace": _NAMESPACE,
        "fields": [{"name": name, "type": ["null", each], "default": None} for name, each in _FIELDS.items()],
    }
)
_FIELD_OF: Final[dict[type, str]] = {bool: "boolean", int: "long", float: "double", str: "string"}
_NOTHING: Final = dict.fromkeys(_FIELDS)
#: What stands in front of a value of each type: fields that are null, and the second branch of its own.
_NULL: Final = bytes(9)
_FALSE, _TRUE = b"\2\0" + bytes(8), b"\2\1" + bytes(8)
_DOUBLE, _LONG, _TEXT, _ARRAY, _MAP = (bytes(place) + b"\2" for place in (2, 5, 6, 7, 8))
_pack_double: Final = struct.Struct("<d").pack


class AnyJson(Held):
    """A JSON value (`schemaless.plain_json`) that stands for a value of `ANYTHING`.

    As that, each bracket and number would be a dictionary of 9 fields: some 400 bytes. Its datum takes 10.
    """

    __slots__ = ("json",)

    def __init__(self, json: Any) -> None:
        self.json = json

    def datum(self) -> bytes:
        out = bytearray()
        _write(self.json, out)
        return bytes(out)

    def value(self) -> dict[str, Any]:
        return anything(self.json)

    def field(self, path: tuple[str, ...]) -> Any:
        """Of the JSON itself, as the sink's partitioners look into its map; `ANYTHING` is how it is written."""
        value = self.json
        for depth, name in enumerate(path):
            if value is None and depth:
                return None
            if not isinstance(value, dict) or name not in value:
                where = "there is no such field" if isinstance(value, dict) else "only an object has fields"
                raise NoField(f"field {'.'.join(path)} is missing: {where}")
            value = value[name]
        return value


def anything(value: Any) -> dict[str, Any]:
    """A JSON value as a plain value of `ANYTHING`; null is a record of nulls."""
    made: dict[str, Any] = _NOTHING.copy()
    kind = type(value)
    if kind in _FIELD_OF:
        made[_FIELD_OF[kind]] = value
    elif kind is list:
        made["array"] = [anything(each) for each in value]
    elif kind is dict:
        made["map"] = [{"key": anything(key), "value": anything(each)} for key, each in value.items()]
    return made


def _write(value: Any, out: bytearray) -> None:
    """Appends a JSON value's bytes as one of `ANYTHING`: a zero for each field that it is not."""
    kind = type(value)
    if value is None:
        out += _NULL
    elif kind is str:
        _write_text(value, out)
    elif kind is list:
        out += _ARRAY
        if value:
            out += long_bytes(len(value))
            for each in value:
                _write(each, out)
        out += b"\0\0"
    elif kind is dict:
        out += _MAP
        if value:
            out += long_bytes(len(value))
            for key, each in value.items():
                _write_text(key, out)
                _write(each, out)
        out += b"\0"
    elif kind is bool:
        out += _TRUE if value else _FALSE
    elif kind is int:
        out += _LONG
        out += long_bytes(value)
        out += b"\0\0\0"
    else:
        out += _DOUBLE
        out += _pack_double(value)
        out += b"\0\0\0\0\0\0"


def _write_text(text: str, out: bytearray) -> None:
    data = text.encode()
    out += _TEXT
    out += long_bytes(len(data))
    out += data
    out += b"\0\0"


def anything_or_none(json: Any) -> AnyJson | None:
    """What `connect_values.parse` made as a value of `ANYTHING`; `None` for null, `InvalidSchema` if it cannot be."""
    plain = plain_json(json, NESTING_MAX)
    return None if plain is None else AnyJson(plain)


def json_to_anything(values: Sequence[bytes | None]) -> ValueRows:
    """JsonConverter with schemas.enable=false, for formats of values with a schema."""
    return rows_of_json(values, lambda text: anything_or_none(parse(text)), ANYTHING)
