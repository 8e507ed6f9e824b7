"""Rows that a format has a place for: those that it has none for are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_s3.settings.converters import WITH_REGISTRY, Converter
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.values.rows import Excluded, Lines, Schemas, Stage, Unwritable, by_schema


def suited(rows: Any, converter: Converter, file: FileSettings, count: int) -> Any:
    """The rows, those left out that this format has no place for: without a schema, or too large for their column.

    What comes from a registry has one, and its converter looks at columns itself; of JSON this does.
    """
    looks = converter in WITH_REGISTRY and converter is not Converter.JSON_SCHEMA
    if looks or file.format not in (Format.AVRO, Format.PARQUET):
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
