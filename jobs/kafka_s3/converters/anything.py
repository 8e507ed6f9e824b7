"""JSON without a schema, for formats that need one: AvroData's `Anything`, a record of one field per type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from kafka_s3.converters.connect_schema import Refused
from kafka_s3.converters.connect_values import parse
from kafka_s3.converters.json_limits import NESTING_MAX as JSON_NESTING_MAX
from kafka_s3.converters.json_limits import TOO_MANY, has_too_many, is_too_deep
from kafka_s3.converters.schemaless import plain_json
from kafka_s3.converters.structs import ValueRows
from kafka_s3.rows import Excluded, Tombstone, Unwritable
from kafka_s3.schemas.model import Avro, Schema, schema_of

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
_KEY_LENGTH_MAX: Final = 64  # longer ones are not worth remembering
_NOTHING: Final = dict.fromkeys(_FIELDS)


def anything(value: Any) -> dict[str, Any]:
    """A JSON value (`schemaless.plain_json`) as a plain value of `ANYTHING`; null is a record of nulls."""
    made: dict[str, Any] = _NOTHING.copy()
    kind = type(value)
    if kind in _FIELD_OF:
        made[_FIELD_OF[kind]] = value
    elif kind is list:
        made["array"] = [anything(each) for each in value]
    elif kind is dict:
        made["map"] = [
            {"key": _key(key) if len(key) <= _KEY_LENGTH_MAX else anything(key), "value": anything(each)}
            for key, each in value.items()
        ]
    return made


@lru_cache(4096)
def _key(key: str) -> dict[str, Any]:
    return anything(key)


def anything_or_none(json: Any) -> dict[str, Any] | None:
    """What `connect_values.parse` made as a plain value of `ANYTHING`; `None` for null, `Refused` if it cannot be."""
    plain = plain_json(json)
    if _depth(plain) > NESTING_MAX:
        raise Refused(f"not JSON that Avro can hold: nested too deeply (more than {NESTING_MAX} levels)")
    return None if plain is None else anything(plain)


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def json_to_anything(values: Sequence[bytes | None]) -> ValueRows:
    """JsonConverter with schemas.enable=false, for formats of values with a schema."""
    made: list[Any] = []
    excluded: dict[int, Excluded] = {}
    for index, value in enumerate(values):
        one = Tombstone() if value is None else _one(value)
        if isinstance(one, Tombstone | Unwritable):
            excluded[index] = one
        made.append(one)
    return ValueRows(made, ANYTHING, excluded, [0 if value is None else len(value) for value in values])


def _one(value: bytes) -> dict[str, Any] | Excluded:
    text = value.removeprefix(b"\xef\xbb\xbf")
    if is_too_deep(text):
        return Unwritable(f"not JSON: nested too deeply (more than {JSON_NESTING_MAX} levels)")
    if has_too_many(text):
        return Unwritable(TOO_MANY)
    try:
        made = anything_or_none(parse(text))
    except Refused as refused:
        return Unwritable(str(refused))
    return Tombstone() if made is None else made
