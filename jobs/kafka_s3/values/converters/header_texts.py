"""The bytes of headers as text, by `header.converter`: the value that Connect's converter reads, written as
`Values.convertToString` does it.

Ours differs in this: JSON without a schema whose integers do not fit into 64 bits is refused, as in values (Connect
cuts their upper bits off), and so is what an envelope's payload would change in silence (see `connect_values`).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from kafka_s3.avro.decimals import exact
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.values.converters.connect_schema import DATE, DECIMAL, ConnectSchema, InvalidSchema
from kafka_s3.values.converters.connect_text_parser import is_plain, parse_string
from kafka_s3.values.converters.connect_types import (
    DAY_MS,
    Entries,
    Float32,
    Moment,
    base64_text,
    in_java_order,
    text_of,
)
from kafka_s3.values.converters.connect_values import default_of, parse
from kafka_s3.values.converters.text import java_string
from kafka_s3.values.rows import Tombstone, Unwritable

#: `None`: the value is null.
Text = str | None | Unwritable
Texts = Callable[[Sequence[bytes | None]], Sequence[Text]]
_Typed = Callable[[Any], Any]
_KNOWN_MAX: Final = 4096
_KNOWN_CHARS_MAX: Final = 64


def texts_for(converter: ConverterSettings | None) -> Texts:
    """The text of each header's value; `None`: SimpleHeaderConverter."""
    if converter is None:
        return _each(simple_text)
    match converter.converter:
        case Converter.STRING:
            return _each(java_string)
        case Converter.BYTE_ARRAY:
            return _each(base64_text)
        case Converter.JSON if converter.schemas_enable:
            return _enveloped(converter)
        case Converter.JSON:
            return _each(_plain_json)
        case _:
            return _primitives(converter.converter)


def _each(text: Callable[[bytes], Text]) -> Texts:
    return lambda values: [None if value is None else text(value) for value in values]


def simple_text(value: bytes) -> str | None:
    """What SimpleHeaderConverter makes of the bytes, as text again: `1.50` is 1.5, and `null` is none."""
    text = java_string(value)
    if not text or is_plain(text):
        return text
    return _parsed(text) if len(text) <= _KNOWN_CHARS_MAX else _parsed.__wrapped__(text)


@lru_cache(_KNOWN_MAX)
def _parsed(text: str) -> str | None:
    value = parse_string(text).value
    return None if value is None else text_of(value)


def _plain_json(value: bytes) -> Text:
    from kafka_s3.values.converters.envelope import checked
    from kafka_s3.values.converters.schemaless import plain_json

    if not value.strip():
        return None  # to Jackson there is nothing, which JsonConverter takes for null
    try:
        made = plain_json(parse(checked(value.removeprefix(codecs.BOM_UTF8))))
    except InvalidSchema as refused:
        return Unwritable(str(refused))
    return None if made is None else text_of(_schemaless(made))


def _schemaless(value: Any) -> Any:
    if type(value) is dict:
        return in_java_order([(key, _schemaless(each)) for key, each in value.items()])
    if type(value) is list:
        return [_schemaless(each) for each in value]
    return value


def _enveloped(settings: ConverterSettings) -> Texts:
    from kafka_s3.values.converters.envelope import EnvelopeJson

    read = EnvelopeJson(settings).read

    def text(value: bytes) -> Text:
        schema, made = read(value)
        if isinstance(made, Tombstone | None):
            return None
        if isinstance(made, Unwritable):
            return made
        return text_of(_schemaless(made) if schema is None else _typed(schema)(made))

    return _each(text)


def _typed(schema: ConnectSchema) -> _Typed:
    """What makes a value with Connect's types of a plain one (`connect_values.reader`)."""
    if "typed" not in schema.memo:
        schema.memo["typed"] = _maybe(_present(schema))
    made: _Typed = schema.memo["typed"]
    return made


def _maybe(present: _Typed) -> _Typed:
    return lambda value: None if value is None else present(value)


def _present(schema: ConnectSchema) -> _Typed:
    match schema.type:
        case "bytes" if schema.name == DECIMAL:
            scale = schema.scale
            return lambda value: exact(value, scale)
        case "int32" | "int64" if schema.logical:
            unit = DAY_MS if schema.name == DATE else 1
            return lambda value: Moment(value * unit)
        case "float":
            return Float32
        case "array":
            assert schema.items
            item = _typed(schema.items)
            return lambda values: [item(each) for each in values]
        case "map":
            return _map(schema)
        case "struct":
            return _struct(schema)
        case _:
            return lambda value: value


def _map(schema: ConnectSchema) -> _Typed:
    assert schema.items
    assert schema.keys
    key, item, is_long = _typed(schema.keys), _typed(schema.items), schema.keys.type == "int64"
    if schema.has_text_keys:
        return lambda entries: in_java_order([(name, item(each)) for name, each in entries.items()])
    return lambda entries: in_java_order([(key(each["key"]), item(each["value"])) for each in entries], is_long=is_long)


def _struct(schema: ConnectSchema) -> _Typed:
    fields = [(each.name, each.plain, _typed(each.schema), default_of(each.schema)) for each in schema.fields]

    def of(value: dict[str, Any]) -> Entries:
        # A struct tells a field's default for its null, whatever its converter was told to do with nulls.
        return Entries(
            (name, typed(default if value[plain] is None else value[plain])) for name, plain, typed, default in fields
        )

    return of


def _primitives(converter: Converter) -> Texts:
    from kafka_s3.values.converters.primitives import SCHEMAS, Primitive

    read = Primitive(converter)
    typed = Float32 if converter is Converter.FLOAT else None

    def texts(values: Sequence[bytes | None]) -> list[Text]:
        rows = read(values)
        made: list[Text] = []
        for index, value in enumerate(rows.values(SCHEMAS[converter])):
            why = rows.excluded.get(index)
            if isinstance(why, Unwritable):
                made.append(why)
            else:
                made.append(None if why else text_of(value if typed is None else typed(value)))
        return made

    return texts
