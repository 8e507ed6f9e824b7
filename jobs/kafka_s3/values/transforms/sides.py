"""The keys or the values of a batch on its way through the chain.

What was converted to rows of a schema stays rows until a transform asks for values: those that only add, drop and
rename fields need none.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_s3.avro.model import Schema
from kafka_s3.values.rows import Schemas


@dataclass(slots=True, eq=False)
class Segment:
    """Rows of one schema, none of which is null, and their places in the batch, ascending.

    `is_filled`: their plain values were made, too.
    """

    indexes: Sequence[int]
    rows: Any
    is_filled: bool = False

    @property
    def schema(self) -> Schema:
        return self.rows.schemas  # type: ignore[no-any-return]

    def part(self, places: Sequence[int]) -> Segment:
        return Segment([self.indexes[place] for place in places], self.rows.pick(places), self.is_filled)


class Side:
    """`values[i]` under `schemas[i]`, or under the only one; null is `None`."""

    def __init__(self, schemas: Schemas, values: list[Any], segments: Iterable[Segment] = ()) -> None:
        self.schemas = schemas
        self.segments = list(segments)
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> list[Any]:
        """Plain ones; made where there were none."""
        for segment in self.segments:
            if not segment.is_filled:
                segment.is_filled = True
                made = segment.rows.values(segment.schema)
                if len(segment.indexes) == len(self._values):
                    self._values = list(made)
                else:
                    for index, value in zip(segment.indexes, made, strict=True):
                        self._values[index] = value
        return self._values

    @property
    def others(self) -> list[Any]:
        """The values in no segment; those in one may be `None`."""
        return self._values

    def nulls(self) -> Collection[int]:
        """The places of nulls."""
        if len(self.segments) == 1 and len(self.segments[0].indexes) == len(self):
            return ()
        if not self.segments:
            if None not in self._values:
                return ()
            return {index for index, value in enumerate(self._values) if value is None}
        known = set().union(*(each.indexes for each in self.segments))
        return {index for index, value in enumerate(self._values) if index not in known and value is None}

    def schema_at(self, index: int) -> Schema | None:
        return self.schemas if isinstance(self.schemas, Schema | None) else self.schemas[index]

    def by_schema(self, chosen: Sequence[int]) -> Iterable[tuple[Schema | None, Sequence[int]]]:
        """The chosen ones apart by their schemas."""
        if isinstance(self.schemas, Schema | None):
            return [(self.schemas, chosen)] if len(chosen) else []
        # By what a schema is, not by what it says: those of a batch are few objects.
        found: dict[int, tuple[Schema | None, list[int]]] = {}
        for index in chosen:
            schema = self.schemas[index]
            found.setdefault(id(schema), (schema, []))[1].append(index)
        return found.values()

    def put(self, indexes: Sequence[int], schema: Schema | None, values: Sequence[Any] | None) -> None:
        """New values of some records, and the schema that they have now."""
        if values is None:
            values = self.values if len(indexes) == len(self) else [self.values[index] for index in indexes]
        self._release(indexes)
        if len(indexes) == len(self):
            self.schemas = schema
            self._values = list(values)
            return
        for index, value in zip(indexes, values, strict=True):
            self._values[index] = value
        self._put_schema(indexes, schema)

    def put_rows(self, segment: Segment, rows: Any) -> None:
        """Other rows in the place of a segment's."""
        segment.rows, segment.is_filled = rows, False
        self._put_schema(segment.indexes, segment.schema)

    def chosen(self, segment: Segment, chosen: Sequence[int], left: Container[int]) -> Segment | None:
        """The segment of those that are chosen, the others in one of their own. Which have left does not matter."""
        if len(chosen) == len(self):
            return segment
        asked = set(chosen)
        if asked.isdisjoint(segment.indexes):
            return None
        if all(index in asked or index in left for index in segment.indexes):
            return segment
        return self.split(segment, [at for at, index in enumerate(segment.indexes) if index in asked])

    def split(self, segment: Segment, places: Sequence[int]) -> Segment:
        """Some of a segment's rows as a segment of their own."""
        mine = set(places)
        rest = [at for at in range(len(segment.indexes)) if at not in mine]
        number = self.segments.index(segment)
        parts = [segment.part(each) for each in (places, rest) if each]
        self.segments[number : number + 1] = parts
        return parts[0]

    def _release(self, indexes: Sequence[int]) -> None:
        """What is not a segment's any more, since it gets values."""
        if len(indexes) == len(self):
            self.segments = []
        if not self.segments:
            return
        gone = set(indexes)
        for segment in list(self.segments):
            kept = [at for at, index in enumerate(segment.indexes) if index not in gone]
            if len(kept) < len(segment.indexes):
                number = self.segments.index(segment)
                self.segments[number : number + 1] = [segment.part(kept)] if kept else []

    def _put_schema(self, indexes: Sequence[int], schema: Schema | None) -> None:
        if len(indexes) == len(self):
            self.schemas = schema
            return
        if isinstance(self.schemas, Schema | None):
            if self.schemas is schema:
                return
            self.schemas = [self.schemas] * len(self)
        schemas = self.schemas
        assert isinstance(schemas, list)
        for index in indexes:
            schemas[index] = schema
