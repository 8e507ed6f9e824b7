"""Rows of several schemas that go into one object, each written under that object's schema, in their own order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kafka_s3.avro.model import Schema
from kafka_s3.values.rows import Excluded, Missing, Schemas, by_schema


def together(rows: Any) -> Any:
    """Rows that one object can be asked for: as they are if they have one schema, else `MixedSchemaRows`."""
    return rows if isinstance(rows.schemas, Schema | None) else MixedSchemaRows(rows)


@dataclass(frozen=True, slots=True)
class MixedSchemaRows:
    """A `rows.Structs` over rows none of which is excluded."""

    rows: Any

    @property
    def excluded(self) -> Mapping[int, Excluded]:
        return {}

    @property
    def schemas(self) -> Schemas:
        schemas: Schemas = self.rows.schemas
        return schemas

    def part(self, start: int, stop: int) -> Any:
        return together(self.rows.part(start, stop))

    def pick(self, indexes: Sequence[int]) -> Any:
        return together(self.rows.pick(indexes))

    def sizes(self) -> Sequence[int]:
        return self._scattered(lambda part: part.sizes())

    def datums(self, target: Schema) -> Sequence[bytes]:
        return self._scattered(lambda part: part.datums(target))

    def values(self, target: Schema) -> Sequence[Any]:
        return self._scattered(lambda part: part.values(target))

    def long_values(self, target: Schema) -> Sequence[Any]:
        return self._scattered(lambda part: part.long_values(target))

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        return self._scattered(lambda part: part.column(path))

    def arrow(self, target: Schema) -> pa.Array:
        apart = self._apart()
        together = pa.concat_arrays([part.arrow(target) for _, part in apart])
        places = [0] * len(together)
        for place, index in enumerate(index for indexes, _ in apart for index in indexes):
            places[index] = place
        return together.take(pa.array(places))

    def has_columns(self, target: Schema) -> bool:
        return all(part.has_columns(target) for _, part in self._apart())

    def has_datums(self, target: Schema) -> bool:
        return all(part.has_datums(target) for _, part in self._apart())

    def _apart(self) -> list[tuple[Sequence[int], Any]]:
        schemas = self.rows.schemas
        return list(by_schema(self.rows, 0 if isinstance(schemas, Schema | None) else len(schemas)))

    def _scattered(self, ask: Any) -> list[Any]:
        apart = self._apart()
        found: list[Any] = [Missing("")] * sum(len(indexes) for indexes, _ in apart)
        for indexes, part in apart:
            for index, value in zip(indexes, ask(part), strict=True):
                found[index] = value
        return found
