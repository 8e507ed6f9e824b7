"""`export.record.fields`: each record as text of its fields, of which the value is one: JSON, or a line of CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from kafka_s3.records import HeaderText, RecordBatch
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.settings.record_fields import RecordField, RecordFields
from kafka_s3.settings.values import FormatSettings, NullValues
from kafka_s3.values.converters.connect_schema import DATE
from kafka_s3.values.converters.connect_text_parser import is_plain, parse_string
from kafka_s3.values.converters.connect_types import DAY_MS, Entries, Float32, Moment, base64_text
from kafka_s3.values.converters.text import java_string
from kafka_s3.values.formats.java_numbers import java_double, java_float
from kafka_s3.values.formats.json_datums import row_writer
from kafka_s3.values.formats.record_csv import csv_headers, csv_lines, csv_numbers, in_base64
from kafka_s3.values.formats.record_json import (
    json_moments,
    json_numbers,
    json_objects,
    json_of,
    unscaled_bytes,
)
from kafka_s3.values.rows import Excluded, Lines, Rows, Stage, Tombstone, Unwritable, by_schema, topics_of

KeyRows = Callable[[RecordBatch, FileSettings], Rows]
_NULL: Final = b"null"


class RecordTexts:
    """Rows of values to lines of whole records. A tombstone is one too where nulls are written."""

    def __init__(self, settings: FormatSettings, chosen: RecordFields, key_rows: KeyRows) -> None:
        self._settings = settings
        self._chosen = chosen
        self._key_rows = key_rows
        self._as_csv = settings.file.format is Format.CSV
        self._with_nulls = settings.null_values is NullValues.WRITE
        self._header = _header_value(settings.header)

    def __call__(self, batch: RecordBatch, rows: Any) -> Lines:
        excluded: dict[int, Excluded] = {
            index: why for index, why in rows.excluded.items() if not (self._with_nulls and isinstance(why, Tombstone))
        }
        column = self._csv if self._as_csv else self._json
        columns = [column(field, batch, rows, excluded) for field in self._chosen.fields]
        if self._as_csv:
            lines = csv_lines(columns)
        elif self._chosen.wrapped:
            lines = json_objects([field.value for field in self._chosen.fields], columns)
        else:
            lines = list(columns[0])
        for index in excluded:
            lines[index] = b""
        return Lines(lines, excluded)

    def _json(
        self, field: RecordField, batch: RecordBatch, rows: Any, excluded: dict[int, Excluded]
    ) -> Sequence[bytes]:
        match field:
            case RecordField.VALUE:
                return self._texts(rows, len(batch))
            case RecordField.KEY:
                return self._keys(batch, excluded)
            case RecordField.OFFSET:
                return json_numbers([batch.offset_at(index) for index in range(len(batch))])
            case RecordField.PARTITION:
                return [b"%d" % batch.tp.partition] * len(batch)
            case RecordField.TOPIC:
                return list(map(json_of, topics_of(batch)))
            case RecordField.TIMESTAMP:
                return json_moments(batch.timestamps())
            case RecordField.HEADERS:
                return [
                    b"[%b]" % b",".join(json_objects(("key", "value"), self._headers(headers)))
                    for headers in batch.headers()
                ]

    def _texts(self, rows: Any, count: int) -> Sequence[bytes]:
        """Each row as JSON, null where there is none."""
        if isinstance(rows, Lines):
            texts = list(rows.lines)
        else:
            texts = [_NULL] * count
            for indexes, part in by_schema(rows, count):
                written = row_writer(part.schemas, self._settings.file.json_decimals)(part)
                for index, text in zip(indexes, written, strict=True):
                    texts[index] = text
        for index in rows.excluded:
            texts[index] = _NULL
        return texts

    def _keys(self, batch: RecordBatch, excluded: dict[int, Excluded]) -> Sequence[bytes]:
        rows = self._key_rows(batch, FileSettings(Format.JSON, json_decimals=self._settings.file.json_decimals))
        for index, why in rows.excluded.items():
            if isinstance(why, Unwritable):
                excluded.setdefault(index, Unwritable(f"its key: {why.reason}", Stage.KEY_CONVERTER))
        return self._texts(rows, len(batch))

    def _headers(self, headers: Sequence[tuple[str, bytes | None]]) -> tuple[list[bytes], list[bytes]]:
        return [json_of(name) for name, _ in headers], [self._header(value) for _, value in headers]

    def _csv(
        self,
        field: RecordField,
        batch: RecordBatch,
        rows: Any,  # noqa: ARG002  # what goes into it are bytes as they came
        excluded: dict[int, Excluded],  # noqa: ARG002
    ) -> Sequence[bytes]:
        match field:
            case RecordField.VALUE if not self._chosen.value_base64:
                return [value or b"" for value in batch.values()]
            case RecordField.VALUE:
                return in_base64(batch.values())
            case RecordField.KEY:
                return in_base64(batch.keys())
            case RecordField.OFFSET:
                return csv_numbers(batch.offset_at(index) for index in range(len(batch)))
            case RecordField.PARTITION:
                return [b"%d" % batch.tp.partition] * len(batch)
            case RecordField.TOPIC:
                return [topic.encode() for topic in topics_of(batch)]
            case RecordField.TIMESTAMP:
                return csv_numbers(batch.timestamps())
            case RecordField.HEADERS:
                return csv_headers(batch.headers())


def _header_value(converter: ConverterSettings | None) -> Callable[[bytes | None], bytes]:
    """A header's value as JSON, by its converter."""
    if converter is None:
        return _simple
    assert converter.converter in (Converter.STRING, Converter.BYTE_ARRAY), converter.converter
    text = java_string if converter.converter is Converter.STRING else base64_text
    return lambda value: _NULL if value is None else json_of(_text_of(value, text))


def _text_of(value: bytes, text: Callable[[bytes], str]) -> str:
    # What transforms put there is text already.
    return value.decode() if isinstance(value, HeaderText) else text(value)


def _simple(value: bytes | None) -> bytes:
    """What SimpleHeaderConverter reads, as JsonConverter writes it."""
    if value is None:
        return _NULL
    text = _text_of(value, java_string)
    if not text or isinstance(value, HeaderText) or is_plain(text):
        return json_of(text)
    found = parse_string(text)
    return json_of(_plain(found.value, found.schema))


def _plain(value: Any, schema: Any) -> Any:
    match value:
        case Moment():
            return value // DAY_MS if schema is not None and schema.name == DATE else int(value)
        case Float32():
            return msgspec.Raw(java_float(float(value)).encode())
        case bool() | int() | str() | None:
            return value
        case float():
            return msgspec.Raw(java_double(value).encode())
        case Decimal():
            return base64_text(unscaled_bytes(value))
        case Entries():
            return _map(value, schema)
        case _:
            return [_plain(each, None if schema is None else schema.items) for each in value]


def _map(entries: Entries, schema: Any) -> Any:
    keys, items = (None, None) if schema is None else (schema.keys, schema.items)
    pairs = [(_plain(key, keys), _plain(value, items)) for key, value in entries]
    if all(isinstance(key, str) for key, _ in pairs):
        return dict(pairs)
    return [list(pair) for pair in pairs]
