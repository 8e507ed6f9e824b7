"""A batch on its way through the chain: its records' parts, changed a batch at a time.

What has one schema is changed together; only where that fails is each record looked at by itself.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_s3.avro.model import Schema
from kafka_s3.records import Headers, RecordBatch
from kafka_s3.values.rows import Excluded, Filtered, Stage, Unwritable
from kafka_s3.values.transforms.connect import TransformError
from kafka_s3.values.transforms.sides import Segment, Side


class Part(enum.Enum):
    """What of a record a transform reads or changes."""

    KEY = "key"
    VALUE = "value"
    HEADERS = "headers"
    TOPIC = "topic"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of values of one schema.

    `schema`: what they have after it. `all`: makes the new values of those at some places of the batch; `None` keeps
    them. It raises `TransformError` if one of them cannot be changed; asked for that one alone it says why.
    `rows`: the same for rows, which are `Structs`, or without a schema `JsonRows`; it is asked first, and for all that
    are of this schema. `None` of it: these rows have to become values.
    """

    schema: Schema | None
    all: Callable[[Sequence[Any], Sequence[int]], Sequence[Any]] | None = None
    rows: Callable[[Any, Sequence[int]], Any] | None = None


def each(change: Callable[[Any], Any]) -> Callable[[Sequence[Any], Sequence[int]], Sequence[Any]]:
    """Values one by one."""
    return lambda values, _: list(map(change, values))


@dataclass(slots=True)
class Records:
    """The records of a batch. `left`: those that are dropped or bad. `sides`: those that transforms look at.

    `tombstones`: records whose value is null, where values are not looked at otherwise.
    """

    batch: RecordBatch
    sides: dict[Part, Side]
    tombstones: frozenset[int] = frozenset()
    left: dict[int, Excluded] = field(default_factory=dict)
    topics: str | list[str] = ""
    headers: list[Headers] | None = None
    stamps: list[int | None] | None = None
    step: str = ""

    def __post_init__(self) -> None:
        self.topics = self.topics or self.batch.tp.topic

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def value(self) -> Side:
        return self.sides[Part.VALUE]

    @property
    def key(self) -> Side:
        return self.sides[Part.KEY]

    def alive(self) -> Sequence[int]:
        if not self.left:
            return range(len(self.batch))
        return [index for index in range(len(self.batch)) if index not in self.left]

    def topic_at(self, index: int) -> str:
        return self.topics if isinstance(self.topics, str) else self.topics[index]

    def timestamps(self) -> Sequence[int | None]:
        return self.batch.timestamps() if self.stamps is None else self.stamps

    def put_timestamps(self, indexes: Sequence[int], stamps: Sequence[int | None]) -> None:
        made = list(self.timestamps())
        for index, stamp in zip(indexes, stamps, strict=True):
            made[index] = stamp
        self.stamps = made

    def nulls(self) -> Collection[int]:
        """The records whose value is null."""
        side = self.sides.get(Part.VALUE)
        return self.tombstones if side is None else side.nulls()

    def drop(self, indexes: Iterable[int]) -> None:
        self.left.update(dict.fromkeys(indexes, Filtered()))

    def fail(self, indexes: Iterable[int], reason: object) -> None:
        why = Unwritable(f"{self.step}: {reason}", Stage.TRANSFORMATION)
        self.left.update(dict.fromkeys(indexes, why))

    def change(self, part: Part, chosen: Sequence[int], compiled: Callable[[Schema | None], Change]) -> None:
        """Change the keys or values of some records, those of one schema together; bad ones are left out."""
        side = self.sides[part]
        if side.segments:
            chosen = self._change_rows(side, chosen, compiled)
        for schema, indexes in list(side.by_schema(chosen)):
            try:
                change = compiled(schema)
            except TransformError as error:
                self.fail(indexes, error)
                continue
            if change.all is None:
                if change.schema is not schema:
                    side.put(indexes, change.schema, None)
                continue
            values: Sequence[Any] = side.values
            if len(indexes) < len(values):
                values = [values[index] for index in indexes]
            try:
                made = change.all(values, indexes)
            except TransformError:
                indexes, made = self._one_by_one(change.all, values, indexes)
            side.put(indexes, change.schema, made)

    def _change_rows(
        self, side: Side, chosen: Sequence[int], compiled: Callable[[Schema | None], Change]
    ) -> Sequence[int]:
        """Change what is rows and can stay that; the records for which that is not so."""
        done: list[Segment] = []
        for segment in list(side.segments):
            try:
                change = compiled(segment.schema).rows
            except TransformError:
                continue
            found = None if change is None else side.chosen(segment, chosen, self.left)
            if change is None or found is None:
                continue
            asked = found
            try:
                made = change(found.rows, found.indexes)
            except TransformError:
                places = self._changeable(found, change)
                made = None
                if places:
                    found = side.split(found, places)
                    made = change(found.rows, found.indexes)
            else:
                if made is None:
                    continue
            done.append(asked)
            if made is not None:
                side.put_rows(found, made)
        if sum(len(each.indexes) for each in done) == len(side):
            return ()
        gone = set().union(*(each.indexes for each in done))
        return [index for index in chosen if index not in gone] if gone else chosen

    def _changeable(self, segment: Segment, change: Callable[[Any, Sequence[int]], Any]) -> list[int]:
        """The rows of a segment that can be changed; the others are bad records."""
        kept: list[int] = []
        for place, index in enumerate(segment.indexes):
            if index in self.left:
                continue
            try:
                change(segment.rows.pick([place]), [index])
            except TransformError as error:
                self.fail([index], error)
            else:
                kept.append(place)
        return kept

    def _one_by_one(
        self,
        change: Callable[[Sequence[Any], Sequence[int]], Sequence[Any]],
        values: Sequence[Any],
        indexes: Sequence[int],
    ) -> tuple[list[int], list[Any]]:
        kept: list[int] = []
        made: list[Any] = []
        for index, value in zip(indexes, values, strict=True):
            try:
                made += change([value], [index])
            except TransformError as error:
                self.fail([index], error)
            else:
                kept.append(index)
        return kept, made

    def not_null(self, part: Part, chosen: Sequence[int]) -> Sequence[int]:
        """Those whose key or value is not null; what most transforms are for."""
        nulls = self.sides[part].nulls()
        return [index for index in chosen if index not in nulls] if nulls else chosen
