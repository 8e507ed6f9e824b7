"""What a batch becomes: a column of values, and one of keys and of headers where these are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka_s3.avro.model import Schema
from kafka_s3.ports import Registries
from kafka_s3.records import RecordBatch
from kafka_s3.settings.converters import ConverterSettings
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.settings.model import Settings
from kafka_s3.settings.properties import UserDefined
from kafka_s3.values.converters.build import Convert, converter_for
from kafka_s3.values.converters.changed import changed_rows
from kafka_s3.values.converters.fitting import excluding, suited
from kafka_s3.values.converters.headers import HeaderColumn
from kafka_s3.values.converters.kafka_fields import KafkaFields
from kafka_s3.values.converters.record_structs import RecordStructs
from kafka_s3.values.converters.record_texts import RecordTexts
from kafka_s3.values.rows import (
    ChangedBatch,
    Excluded,
    Filtered,
    Rows,
    Stage,
    Tombstone,
    Unwritable,
)

_NO_KEY = Unwritable("the key is null, and store.kafka.keys=true wants one", Stage.TASK_PUT)


class RecordConverter:
    """Converts batches; the first column is that of the values, the others stand in the order of the object group.

    `doing`: what was done last, for whoever has to say where it went wrong.
    """

    def __init__(self, settings: Settings, registries: Registries) -> None:
        self.doing = Stage.VALUE_CONVERTER
        self._settings = settings.format
        self._registries = registries
        self._converters: dict[
            tuple[str, bool, Format | UserDefined], Convert
        ] = {}  # by topic, whether it is for keys, format
        self._headers = None
        if settings.format.headers is not None:
            self._headers = HeaderColumn(settings.format.header, settings.format.headers)
        self._kafka_fields = KafkaFields(settings.format, self._key_rows) if settings.format.envelope.fields else None
        self._records: Callable[[RecordBatch, Any], Any] | None = None
        if (chosen := settings.format.record_fields) is not None:
            has_schema = settings.format.file.format in (Format.AVRO, Format.PARQUET)
            texts = RecordTexts(settings.format, chosen, self._key_rows) if not has_schema else None
            self._records = texts or RecordStructs(settings.format, chosen)

    def __call__(self, batch: RecordBatch) -> tuple[Rows, ...]:
        self.doing = Stage.VALUE_CONVERTER
        rows = self._values(batch)
        if self._kafka_fields is not None:
            rows = self._kafka_fields(batch, rows)
        elif self._records is not None:
            rows = self._records(batch, rows)
        columns = [rows]
        if self._settings.keys is not None:
            self.doing = Stage.KEY_CONVERTER
            columns.append(self._keys(batch, self._settings.keys))
        if self._headers is not None:
            self.doing = Stage.HEADER_CONVERTER
            columns.append(self._headers(batch))
        self.doing = Stage.TASK_PUT
        return tuple(columns)

    @staticmethod
    def ready(columns: Sequence[Rows]) -> tuple[Any, ...]:
        """The columns as formats take them: each with one schema, or able to write its rows under one."""
        if all(isinstance(rows.schemas, Schema | None) for rows in columns):
            return tuple(columns)
        from kafka_s3.values.converters.mixed_schema_rows import together

        return tuple(map(together, columns))

    def _values(self, batch: RecordBatch) -> Rows:
        value, file = self._settings.value, self._settings.file
        if isinstance(batch, ChangedBatch):
            if batch.value is None:
                rows = batch.value_rows
                return excluding(rows, {**rows.excluded, **batch.left}) if batch.left else rows  # type: ignore[no-any-return]
            return changed_rows(batch.value, file, batch.left)
        rows = self._converter(batch, value, file, key=False)(batch.values())
        return suited(rows, value.converter, file, len(batch))  # type: ignore[no-any-return]

    def _keys(self, batch: RecordBatch, file: FileSettings) -> Rows:
        rows: Rows = self._key_rows(batch, file)
        rows = suited(rows, self._settings.key.converter, file, len(batch))
        if rows.excluded:
            rows = excluding(rows, {index: _of_key(why) for index, why in rows.excluded.items()})
        return rows

    def _key_rows(self, batch: RecordBatch, file: FileSettings) -> Rows:
        """The keys as a format has them."""
        if isinstance(batch, ChangedBatch) and batch.key is not None:
            return changed_rows(batch.key, file, batch.left)
        return self._converter(batch, self._settings.key, file, key=True)(batch.keys())

    def _converter(self, batch: RecordBatch, settings: ConverterSettings, file: FileSettings, *, key: bool) -> Convert:
        known = (batch.tp.topic, key, file.format)
        if known not in self._converters:
            registry = self._registries.keys if key else self._registries.values
            self._converters[known] = converter_for(settings, file, registry, batch.tp.topic, key=key)
        return self._converters[known]


def _of_key(why: Excluded) -> Excluded:
    if isinstance(why, Tombstone):
        return _NO_KEY
    if isinstance(why, Filtered):
        return why
    if why.stage is Stage.TRANSFORMATION:
        return why
    return Unwritable(f"its key: {why.reason}", Stage.KEY_CONVERTER)
