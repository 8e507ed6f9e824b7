"""What a batch becomes: a column of values, and one of keys and of headers where these are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_s3.avro.model import Schema
from kafka_s3.ports import Registries
from kafka_s3.records import RecordBatch
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.settings.model import Settings
from kafka_s3.settings.properties import UserDefined
from kafka_s3.values.converters.build import Convert, converter_for
from kafka_s3.values.converters.headers import HeaderColumn
from kafka_s3.values.converters.kafka_fields import KafkaFields
from kafka_s3.values.rows import Excluded, Lines, Rows, Schemas, Stage, Tombstone, Unwritable, by_schema

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

    def __call__(self, batch: RecordBatch) -> tuple[Rows, ...]:
        self.doing = Stage.VALUE_CONVERTER
        value, file = self._settings.value, self._settings.file
        rows = self._converter(batch, value, file, key=False)(batch.values())
        rows = suited(rows, value.converter, file, len(batch))
        if self._kafka_fields is not None:
            rows = self._kafka_fields(batch, rows)
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

    def _keys(self, batch: RecordBatch, file: FileSettings) -> Rows:
        rows: Rows = self._converter(batch, self._settings.key, file, key=True)(batch.keys())
        rows = suited(rows, self._settings.key.converter, file, len(batch))
        if rows.excluded:
            rows = excluding(rows, {index: _of_key(why) for index, why in rows.excluded.items()})
        return rows

    def _key_rows(self, batch: RecordBatch, file: FileSettings) -> Rows:
        """The keys as another format would have them."""
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
    return Unwritable(f"its key: {why.reason}", Stage.KEY_CONVERTER)


def suited(rows: Any, converter: Converter, file: FileSettings, count: int) -> Any:
    """The rows, those left out that this format has no place for: without a schema, or too large for their column.

    AvroConverter's all have one, and it looks at columns itself.
    """
    if converter is Converter.AVRO or file.format not in (Format.AVRO, Format.PARQUET):
        return rows
    excluded = dict(rows.excluded)
    for indexes, part in by_schema(rows, count):
        if part.schemas is None:
            name = file.format.value.rpartition(".")[2]
            why = Unwritable(f"it has no schema, and {name} needs one", Stage.TASK_PUT)
            excluded.update(dict.fromkeys(indexes, why))
        elif file.format is Format.PARQUET:
            found = _no_columns(part)
            excluded.update((indexes[place], Unwritable(why, Stage.TASK_PUT)) for place, why in found.items())
    return excluding(rows, excluded) if len(excluded) > len(rows.excluded) else rows


def _no_columns(rows: Any) -> dict[int, str]:
    """The rows that Parquet's columns cannot hold, and why: all of them where it is their schema."""
    from kafka_s3.avro.arrow import ColumnsError, can_misfit, misfits

    try:
        if can_misfit(rows.schemas):
            return misfits(rows.values(rows.schemas), rows.schemas)
    except ColumnsError as error:
        return dict.fromkeys(range(len(rows.sizes())), str(error))
    return {}


def excluding(rows: Any, excluded: dict[int, Excluded]) -> Any:
    """The same rows with more of them, or others, left out."""
    return replace(rows, excluded=excluded) if isinstance(rows, Lines) else _Excluding(rows, excluded)


@dataclass(frozen=True, slots=True)
class _Excluding:
    """`Structs`, until they are parted."""

    rows: Any
    excluded: Mapping[int, Excluded]

    @property
    def schemas(self) -> Schemas:
        schemas: Schemas = self.rows.schemas
        return schemas

    def part(self, start: int, stop: int) -> Any:
        return self.rows.part(start, stop)

    def pick(self, indexes: Sequence[int]) -> Any:
        return self.rows.pick(indexes)
