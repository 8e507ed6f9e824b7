"""What few bytes of a payload can become under a Connect schema: missing fields and nulls stand for fields with names,
and for defaults. Counted in bytes of memory, before any of it is made."""

from __future__ import annotations

from typing import Any, Final

from kafka_s3.values.converters.connect_schema import ABSENT, ConnectSchema

#: A payload may stand for this much beyond its own text, and for so much more for each of its bytes.
ROOM: Final = 64 * 1024 * 1024
TIMES_MAX: Final = 50
#: A field as an entry of a dictionary; its name, as text that is written, sent and kept; a default, as values.
FIELD: Final = 48
NAME_TIMES: Final = 3
DEFAULT_TIMES: Final = 12


def most(schema: ConnectSchema) -> int:
    """The most that one object, or one null, of a payload can become."""
    if "most" not in schema.memo:
        inner = [each for each in (schema.keys, schema.items) if each] + [field.schema for field in schema.fields]
        schema.memo["most"] = max([1, _of_null(schema), _of_empty(schema), *map(most, inner)])
    found: int = schema.memo["most"]
    return found


def weight(schema: ConnectSchema, json: Any) -> int:
    """What a parsed payload becomes beyond its own text; takes the time of its length, whatever the schema."""
    if json is None:
        return _of_null(schema)
    match json:
        case dict() if schema.type == "struct":
            fields = _fields(schema)
            return _of_empty(schema) + sum(
                weight(fields[name][0], each) - fields[name][1]
                for name, each in json.items()
                if each is not None and name in fields
            )
        case dict() if schema.items is not None:
            return sum(weight(schema.items, each) for each in json.values())
        case list() if schema.type == "map" and schema.items is not None:
            return sum(weight(schema.items, each[1]) for each in json if isinstance(each, list) and len(each) == 2)
        case list() if schema.items is not None:
            return sum(weight(schema.items, each) for each in json)
    return 0


def _fields(schema: ConnectSchema) -> dict[str, tuple[ConnectSchema, int]]:
    """A struct's fields by name, each with what it becomes where it is missing."""
    if "fields" not in schema.memo:
        schema.memo["fields"] = {
            field.name: (field.schema, FIELD + NAME_TIMES * len(field.name) + _of_null(field.schema))
            for field in schema.fields
        }
    found: dict[str, tuple[ConnectSchema, int]] = schema.memo["fields"]
    return found


def _of_empty(schema: ConnectSchema) -> int:
    """A struct without any of its fields; below one that is missing nothing is made but its default."""
    if "empty" not in schema.memo:
        schema.memo["empty"] = sum(each for _, each in _fields(schema).values())
    found: int = schema.memo["empty"]
    return found


def _of_null(schema: ConnectSchema) -> int:
    if schema.default is ABSENT:
        return 0
    if "null" not in schema.memo:
        schema.memo["null"] = DEFAULT_TIMES * len(str(schema.default))
    found: int = schema.memo["null"]
    return found
