"""A batch on its way through the chain: its records' parts, changed a batch at a time.

What has one schema is changed together; only where that fails is each record looked at by itself.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_s3.avro.model import Schema
from kafka_s3.records import Headers, RecordBatch
from kafka_s3.values.rows import Excluded, Filtered, Schemas, Stage, Unwritable
from kafka_s3.values.transforms.connect import TransformError


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
    """

    schema: Schema | None
    all: Callable[[Sequence[Any], Sequence[int]], Sequence[Any]] | None = None


def each(change: Callable[[Any], Any]) -> Callable[[Sequence[Any], Sequence[int]], Sequence[Any]]:
    """Values one by one."""
    return lambda values, _: list(map(change, values))


@dataclass(slots=True)
class Side:
    """The keys or the values of a batch: `values[i]` under `schemas[i]`, or under the only one; null is `None`."""

    schemas: Schemas
    values: list[Any]

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
        if len(indexes) == len(self.values):
            self.schemas = schema
            self.values = self.values if values is None else list(values)
            return
        if values is not None:
            for index, value in zip(indexes, values, strict=True):
                self.values[index] = value
        if isinstance(self.schemas, Schema | None):
            if self.schemas is schema:
                return
            self.schemas = [self.schemas] * len(self.values)
        schemas = self.schemas
        assert isinstance(schemas, list)
        for index in indexes:
            schemas[index] = schema


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

    def is_tombstone(self, index: int) -> bool:
        side = self.sides.get(Part.VALUE)
        return index in self.tombstones if side is None else side.values[index] is None

    def drop(self, indexes: Iterable[int]) -> None:
        self.left.update(dict.fromkeys(indexes, Filtered()))

    def fail(self, indexes: Iterable[int], reason: object) -> None:
        why = Unwritable(f"{self.step}: {reason}", Stage.TRANSFORMATION)
        self.left.update(dict.fromkeys(indexes, why))

    def change(self, part: Part, chosen: Sequence[int], compiled: Callable[[Schema | None], Change]) -> None:
        """Change the keys or values of some records, those of one schema together; bad ones are left out."""
        side = self.sides[part]
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
            whole = len(indexes) == len(side.values)
            values = side.values if whole else [side.values[index] for index in indexes]
            try:
                made = change.all(values, indexes)
            except TransformError:
                indexes, made = self._one_by_one(change.all, values, indexes)
            side.put(indexes, change.schema, made)

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
        values = self.sides[part].values
        if None not in values:
            return chosen
        return [index for index in chosen if values[index] is not None]
