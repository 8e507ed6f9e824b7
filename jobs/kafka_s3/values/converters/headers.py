"""Headers beside the values: every header's name, and its value as text (the sink writes no other type)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.records import Headers, RecordBatch
from kafka_s3.settings.converters import HeaderConverter
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.shown import quoted
from kafka_s3.values.converters.text import java_string
from kafka_s3.values.rows import Excluded, Lines, Rows, Stage, Unwritable

#: What Confluent's AvroData makes of them.
SCHEMA: Final[Schema] = schema_of(
    {
        "type": "array",
        "items": {
            "type": "record",
            "name": "ConnectDefault",
            "namespace": "io.confluent.connect.avro",
            "fields": [{"name": "key", "type": "string"}, {"name": "value", "type": "string"}],
        },
    }
)
_NONE: Final = Unwritable("it has no headers, and store.kafka.headers=true wants some", Stage.TASK_PUT)
Text = Callable[[bytes], str]


def text_of(converter: HeaderConverter) -> Text:
    """How a header's bytes become text."""
    return base64_text if converter is HeaderConverter.BYTE_ARRAY else java_string


def base64_text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


class HeaderColumn:
    """The headers of a batch as rows: one list a record, under SCHEMA, or a JSON object around it."""

    def __init__(self, converter: HeaderConverter, file: FileSettings) -> None:
        self._text = text_of(converter)
        self._as_json = file.format is Format.JSON

    def __call__(self, batch: RecordBatch) -> Rows:
        excluded: dict[int, Excluded] = {}
        values: list[list[dict[str, str]]] = []
        for index, headers in enumerate(batch.headers()):
            made = self._texts(headers)
            if isinstance(made, Unwritable):
                excluded[index] = made
                made = []
            values.append(made)
        if self._as_json:
            encode = msgspec.json.encode
            return Lines([encode({"headers": each}) for each in values], excluded)
        from kafka_s3.values.converters.structs import ValueRows

        return ValueRows(values, SCHEMA, excluded)

    def _texts(self, headers: Headers) -> list[dict[str, str]] | Unwritable:
        if not headers:
            return _NONE
        made = []
        for number, (name, value) in enumerate(headers, start=1):
            if value is None:
                which = quoted(name, repr(name), kind=f"number {number}")
                return Unwritable(f"its header {which} has no value", Stage.HEADER_CONVERTER)
            made.append({"key": name, "value": self._text(value)})
        return made


def pairs(headers: Headers, text: Text) -> list[dict[str, Any]]:
    """Headers with text for values, `None` for those without one."""
    return [{"key": name, "value": None if value is None else text(value)} for name, value in headers]


def texts_of(batches: Sequence[Headers], converter: HeaderConverter) -> list[list[dict[str, Any]]]:
    text = text_of(converter)
    return [pairs(headers, text) for headers in batches]
