"""Values under a Connect schema, decoded at C speed.

What `decoder` takes, it takes as `connect_values.reader` does; what it does not take has to be asked of the reader,
which has the last word and the reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

import msgspec

from kafka_s3.values.converters.connect_schema import TIME, ConnectSchema
from kafka_s3.values.converters.connect_values import DAY_MS, EXACT_MAX, INTS, default_of, digits_of, float32, minimal

Decode = Callable[[bytes], Any]
_Fix = Callable[[Any], Any]
_LIST: Any = list  # their items are found out when the schema is there
_DICT: Any = dict


class _NotFast(Exception):
    """The schema has something that is only read one by one."""


def decoder(schema: ConnectSchema, fill: bool) -> Decode | None:
    """From JSON text to plain values; `None` if this schema has no such decoder.

    It raises `msgspec.DecodeError`, `RecursionError`, `KeyError` or `Refused` where the reader has to be asked; null
    as a whole is left to the reader, too.
    """
    try:
        kind, fix = _kind(schema, fill)
    except _NotFast:
        return None
    decode: Decode = msgspec.json.Decoder(kind).decode
    return decode if fix is None else _fixed(decode, fix)


def _fixed(decode: Decode, fix: _Fix) -> Decode:
    return lambda text: fix(decode(text))


def _kind(schema: ConnectSchema, fill: bool) -> tuple[Any, _Fix | None]:
    """The type that msgspec checks, and what is to be done to what it made."""
    match schema.type:
        case "boolean":
            return bool, None
        case "float":
            return float, float32
        case "double" if schema.exact:
            return Annotated[float, msgspec.Meta(ge=-EXACT_MAX, le=EXACT_MAX)], None
        case "double":
            return float, None
        case "bytes" if schema.logical:
            digits_max = digits_of(schema)
            return bytes, lambda data: minimal(data, digits_max)
        case "bytes":
            return bytes, None
        case "string":
            return (Literal[schema.symbols] if schema.symbols else str), None
        case "array":
            assert schema.items
            kind, fix = _inner(schema.items, fill)
            return _LIST[kind], None if fix is None else _each_item(fix)
        case "map" if schema.has_text_keys:
            assert schema.items
            kind, fix = _inner(schema.items, fill)
            return _DICT[str, kind], None if fix is None else _each_value(fix)
        case "map":
            raise _NotFast
        case "struct" if schema.union or schema.again is not None:
            raise _NotFast
        case "struct":
            return _struct(schema, fill)
        case _:
            low, high = (0, DAY_MS) if schema.logical == TIME else INTS[schema.type]
            return Annotated[int, msgspec.Meta(ge=low, le=high)], None


def _each_item(fix: _Fix) -> _Fix:
    return lambda items: [fix(each) for each in items]


def _each_value(fix: _Fix) -> _Fix:
    return lambda items: {key: fix(each) for key, each in items.items()}


def _inner(schema: ConnectSchema, fill: bool) -> tuple[Any, _Fix | None]:
    """The same, of a value that may be null."""
    kind, fix = _kind(schema, fill)
    default = default_of(schema) if fill else None
    if not schema.optional and default is None:
        return kind, fix
    kind = kind | None
    if default is not None:
        return kind, lambda value: default if value is None else value if fix is None else fix(value)
    return kind, None if fix is None else lambda value: None if value is None else fix(value)


def _struct(schema: ConnectSchema, fill: bool) -> tuple[Any, _Fix]:
    kinds: dict[str, Any] = {}
    fixes: list[tuple[str, _Fix]] = []
    needed: set[str] = set()
    for field in schema.fields:
        if field.plain != field.name:
            raise _NotFast
        kind, fix = _inner(field.schema, fill)
        if field.schema.optional or (fill and default_of(field.schema) is not None):
            kinds[field.name] = NotRequired[kind]
        else:
            kinds[field.name] = Required[kind]
            needed.add(field.name)
        if fix is not None:
            fixes.append((field.name, fix))
    names = tuple(kinds)

    def whole(made: dict[str, Any]) -> dict[str, Any]:
        if tuple(made) != names:  # in another order, or without some that are optional
            made = {name: made[name] if name in needed else made.get(name) for name in names}
        for name, fix in fixes:
            made[name] = fix(made[name])
        return made

    return TypedDict("Fields", kinds), whole  # type: ignore[operator]  # the functional form, with names from data
