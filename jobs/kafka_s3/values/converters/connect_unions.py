"""Which schema of a union a value has: the first that its kind of JSON fits, else the struct that knows most of its
properties, the first of several. These are JsonSchemaConverter's rules, which look no deeper."""

from __future__ import annotations

from typing import Any, Final

from kafka_s3.values.converters.connect_schema import ConnectSchema

_INTEGERS: Final = frozenset({"int8", "int16", "int32", "int64"})


def branch_of(schema: ConnectSchema, value: Any) -> int | None:
    """The place of the field; `None` if no schema fits. `value`: as `connect_values.parse` makes it."""
    found, most = None, -1
    for place, field in enumerate(schema.fields):
        inner: ConnectSchema = field.schema.memo["again"] if field.schema.again is not None else field.schema
        if inner.type != "struct":
            if _fits(inner, value):
                return place
        elif type(value) is dict:
            known = sum(each.name in value for each in inner.fields)
            if known > most:
                found, most = place, known
    return found


def _fits(schema: ConnectSchema, value: Any) -> bool:
    match value:
        case bool():
            return schema.type == "boolean"
        case int():
            return schema.type in _INTEGERS or schema.type in ("float", "double")
        case list():
            return schema.type in ("array", "map")
        case dict():
            return schema.type == "map"
        case _ if type(value) is str:
            return schema.type == "string"
        case _:  # a number with a fraction or an exponent; no null comes here
            return schema.type in ("float", "double", "bytes")
