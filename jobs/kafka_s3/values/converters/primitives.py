"""Kafka's own serializations of single values, as rows with a schema.

Connect's converters for these (ShortConverter and the others, StringConverter, ByteArrayConverter) say that the value
is optional, so its Avro schema is a union with null, as AvroData writes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.settings.converters import Converter
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.converters.text import java_string as java_string
from kafka_s3.values.rows import Excluded, Tombstone, Unwritable

#: Of the values of each converter that is not AVRO or JSON.
SCHEMAS: Final[Mapping[Converter, Schema]] = {
    Converter.BOOLEAN: schema_of(["null", "boolean"]),
    Converter.SHORT: schema_of(["null", {"type": "int", "connect.type": "int16"}]),
    Converter.INTEGER: schema_of(["null", "int"]),
    Converter.LONG: schema_of(["null", "long"]),
    Converter.FLOAT: schema_of(["null", "float"]),
    Converter.DOUBLE: schema_of(["null", "double"]),
    Converter.STRING: schema_of(["null", "string"]),
    Converter.BYTE_ARRAY: schema_of(["null", "bytes"]),
}
_NUMBERS: Final = {
    Converter.SHORT: "h",
    Converter.INTEGER: "i",
    Converter.LONG: "q",
    Converter.FLOAT: "f",
    Converter.DOUBLE: "d",
}


class Primitive:
    """One of these converters. Bytes that its deserializer would refuse are `Unwritable`."""

    def __init__(self, converter: Converter) -> None:
        self._schema = SCHEMAS[converter]
        self._code = _NUMBERS.get(converter, "")
        self._size = struct.calcsize(f">{self._code}")
        word = converter.name.lower()
        self._word = f"{'an' if word == 'integer' else 'a'} {word}"
        others: dict[Converter, Callable[[bytes], Any]] = {
            Converter.STRING: java_string,
            Converter.BYTE_ARRAY: bytes,
            Converter.BOOLEAN: self._boolean,
        }
        self._convert = others.get(converter, self._number)

    def __call__(self, values: Sequence[bytes | None]) -> ValueRows:
        if self._code and values and None not in values and all(len(value) == self._size for value in values):  # type: ignore[arg-type]
            joined = b"".join(values)  # type: ignore[arg-type]  # no None is left
            plain = struct.unpack(f">{len(values)}{self._code}", joined)
            return ValueRows(plain, self._schema, {}, [self._size] * len(values))
        excluded: dict[int, Excluded] = {}
        made: list[Any] = []
        for index, value in enumerate(values):
            one = Tombstone() if value is None else self._convert(value)
            if isinstance(one, Tombstone | Unwritable):
                excluded[index] = one
            made.append(one)
        return ValueRows(made, self._schema, excluded, [0 if value is None else len(value) for value in values])

    def _number(self, value: bytes) -> Any:
        if len(value) != self._size:
            return Unwritable(f"{len(value)} bytes are not {self._word}: it has {self._size}")
        return struct.unpack(f">{self._code}", value)[0]

    def _boolean(self, value: bytes) -> bool | Unwritable:
        if value not in (b"\x00", b"\x01"):
            return Unwritable("no boolean: it is one byte, 0 or 1")
        return value == b"\x01"
