"""Headers beside the values: every header's name, and its value as text (the sink writes no other type)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.records import Headers, HeaderText, RecordBatch
from kafka_s3.settings.converters import ConverterSettings
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.shown import quoted
from kafka_s3.values.converters.header_texts import Text, texts_for
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


class HeaderTexts:
    """The headers of a batch, their values as text: for each record a list of `key` and `value`, or why there is none.

    A value is `None` where the header has none, or one that the converter takes for null.
    """

    def __init__(self, converter: ConverterSettings | None) -> None:
        self._texts = texts_for(converter)

    def __call__(self, batches: Sequence[Headers]) -> list[list[dict[str, Any]] | Unwritable]:
        values = [value for headers in batches for _, value in headers]
        made = self._texts(values)
        if HeaderText in set(map(type, values)):  # what transforms put there is text already
            pairs = zip(values, made, strict=True)
            made = [value.decode() if isinstance(value, HeaderText) else text for value, text in pairs]
        texts = iter(made)
        return [self._of(headers, texts) for headers in batches]

    @staticmethod
    def _of(headers: Headers, texts: Iterator[Text]) -> list[dict[str, Any]] | Unwritable:
        made: list[dict[str, Any]] = []
        refused: Unwritable | None = None
        for number, (name, _) in enumerate(headers, start=1):
            text = next(texts)
            if isinstance(text, Unwritable):
                why, which = text, _called(name, number)
                refused = refused or Unwritable(f"its header {which}: {why.reason}", Stage.HEADER_CONVERTER)
            else:
                made.append({"key": name, "value": text})
        return made if refused is None else refused


def _called(name: str, number: int) -> str:
    return quoted(name, repr(name), kind=f"number {number}")


class HeaderColumn:
    """The headers of a batch as rows: one list a record, under SCHEMA, or a JSON object around it."""

    def __init__(self, converter: ConverterSettings | None, file: FileSettings) -> None:
        self._texts = HeaderTexts(converter)
        self._as_json = file.format is Format.JSON

    def __call__(self, batch: RecordBatch) -> Rows:
        excluded: dict[int, Excluded] = {}
        values: list[list[dict[str, str]]] = []
        for index, texts in enumerate(self._texts(batch.headers())):
            made = texts if isinstance(texts, Unwritable) else _all_there(texts)
            if isinstance(made, Unwritable):
                excluded[index] = made
                made = []
            values.append(made)
        if self._as_json:
            encode = msgspec.json.encode
            return Lines([encode({"headers": each}) for each in values], excluded)
        from kafka_s3.values.converters.structs import ValueRows

        return ValueRows(values, SCHEMA, excluded)


def _all_there(texts: list[dict[str, Any]]) -> list[dict[str, str]] | Unwritable:
    if not texts:
        return _NONE
    for number, each in enumerate(texts, start=1):
        if each["value"] is None:
            which = _called(each["key"], number)
            return Unwritable(f"its header {which} has no value", Stage.HEADER_CONVERTER)
    return texts
