"""A batch of records, converted: what stands between converters, partitioners and formats.

There are two kinds of rows. `Lines` are bytes that go into an object as they are. `Structs` have schemas: whoever
writes them asks for the form it needs, and what is not asked for is never made.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from kafka_s3.avro.model import Schema
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Headers, RecordBatch


class Stage(enum.Enum):
    """Where a record was refused; Connect's words, which its dead letters carry."""

    VALUE_CONVERTER = "VALUE_CONVERTER"
    KEY_CONVERTER = "KEY_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    TASK_PUT = "TASK_PUT"  # everything after that: null values, paths, schemas that do not fit


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The record has no value."""


@dataclass(frozen=True, slots=True)
class Unwritable:
    """The record cannot be written, and why, for people."""

    reason: str
    stage: Stage = Stage.VALUE_CONVERTER


@dataclass(frozen=True, slots=True)
class Filtered:
    """A transform dropped the record."""


Excluded = Tombstone | Unwritable | Filtered


class Unfit(ValueError):
    """A format cannot write a record's value, and why, for people: it is a bad record."""


#: Row i's schema; a single one is that of every row, `None` that of values without one.
Schemas = Schema | None | Sequence[Schema | None]


class Rows(Protocol):
    """Row i is record i of the batch; where `i in excluded` it means nothing."""

    @property
    def excluded(self) -> Mapping[int, Excluded]: ...
    @property
    def schemas(self) -> Schemas: ...
    def part(self, start: int, stop: int) -> Self:
        """Consecutive rows, none of which is excluded."""

    def pick(self, indexes: Sequence[int]) -> Self:
        """Some rows in their order, none of which is excluded."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows of bytes.

    `lines[i]` is record i without a separator. `joined` is every line with a line feed between them, where that was
    made anyway. `schemas` are those of the values that the lines were made of.
    """

    lines: Sequence[bytes]
    excluded: Mapping[int, Excluded] = field(default_factory=dict)
    joined: bytes | None = None
    schemas: Schemas = None

    def part(self, start: int, stop: int) -> Lines:
        if start == 0 and stop == len(self.lines):
            return self
        return Lines(self.lines[start:stop], schemas=some(self.schemas, range(start, stop)))

    def pick(self, indexes: Sequence[int]) -> Lines:
        if len(indexes) == len(self.lines):
            return self
        return Lines([self.lines[index] for index in indexes], schemas=some(self.schemas, indexes))

    def join(self, start: int, stop: int, separator: bytes) -> bytes:
        """The lines `[start, stop)`, each followed by the separator."""
        if self.joined is not None and separator == b"\n" and start == 0 and stop == len(self.lines):
            return self.joined + separator
        return separator.join(self.lines[start:stop]) + separator


class Structs(Rows, Protocol):
    """Rows whose values have a schema, checked: nothing below can fail for a value.

    The methods are for rows that all have the same schema. `target` is that schema, or one that
    `avro.compatibility` found them to fit into.
    """

    def sizes(self) -> Sequence[int]:
        """How many bytes each row stands for, for limits in bytes; close to those of its Avro form."""

    def datums(self, target: Schema) -> Sequence[bytes]:
        """Each row in Avro's binary form."""

    def values(self, target: Schema) -> Sequence[Any]:
        """Each row as `avro.model` says."""

    def long_values(self, target: Schema) -> Sequence[Any]:
        """Like `values`; in long rows arrays may be `avro.long_values.LongArray`, which make their items when they are
        read."""

    def arrow(self, target: Schema) -> Any:
        """The rows as a `pyarrow.Array` of the type that `avro.arrow.arrow_type(target)` gives."""

    def has_columns(self, target: Schema) -> bool:
        """Whether `arrow` comes without values, which then cost more than it."""

    def has_datums(self, target: Schema) -> bool:
        """Whether `datums` come without values, which take more memory than they."""

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        """One field of each row, nested ones by their path: plain values; `None` below a null; where there is no such
        field, a `Missing` that says so."""


class Missing(str):
    """Stands in the place of a field's value: why there is none."""

    __slots__ = ()


def some(schemas: Schemas, indexes: Sequence[int]) -> Schemas:
    """The schemas of some rows; a single one if they all have the same."""
    if isinstance(schemas, Schema | None) or not indexes:
        return schemas if isinstance(schemas, Schema | None) else None
    picked = [schemas[index] for index in indexes]
    first = picked[0]
    return first if all(each is first or each == first for each in picked) else picked


def by_schema(rows: Any, count: int) -> Iterable[tuple[Sequence[int], Any]]:
    """Rows apart by their schemas, those that are excluded left out: indexes, and the rows that have them."""
    schemas, excluded = rows.schemas, rows.excluded
    if isinstance(schemas, Schema | None):
        if not excluded:
            return [(range(count), rows)]
        indexes = [index for index in range(count) if index not in excluded]
        return [(indexes, rows.pick(indexes))] if indexes else []
    together: dict[Schema | None, list[int]] = {}
    for index in range(count):
        if index not in excluded:
            together.setdefault(schemas[index], []).append(index)
    return [(indexes, rows.pick(indexes)) for indexes in together.values()]


# Records that transforms changed.


@dataclass(frozen=True, slots=True)
class ChangedValues:
    """Keys or values after transforms, under one schema or each under its own.

    `plain` makes plain ones, `None` for null. `segments`: places in the batch, and the rows that stand there, where no
    value was looked at; `others` are the values at all places but these.
    """

    schemas: Schemas
    plain: Callable[[], Sequence[Any]]
    segments: Sequence[tuple[Sequence[int], Any]] = ()
    others: Sequence[Any] = ()

    @property
    def values(self) -> Sequence[Any]:
        return self.plain()


@dataclass(frozen=True, slots=True)
class ChangedBatch:
    """A `records.RecordBatch` after transforms. Offsets, and the topic-partition, are those of the records' source.

    `topics`: the topic of every record, or of each. `value`, `key`: where a transform looks at them. `value_rows`:
    the converted values, where none does. `left`: records that were dropped, and those that a transform could not
    change or that could not be converted for it.
    """

    of: RecordBatch
    topics: str | Sequence[str]
    changed_headers: Sequence[Headers] | None = None
    changed_timestamps: Sequence[int | None] | None = None
    value: ChangedValues | None = None
    key: ChangedValues | None = None
    left: Mapping[int, Excluded] = field(default_factory=dict)
    value_rows: Any = None

    @property
    def tp(self) -> TopicPartition:
        return self.of.tp

    def __len__(self) -> int:
        return len(self.of)

    def offset_at(self, index: int) -> int:
        return self.of.offset_at(index)

    def values(self) -> Sequence[bytes | None]:
        """As Kafka had them."""
        return self.of.values()

    def keys(self) -> Sequence[bytes | None]:
        return self.of.keys()

    def timestamps(self) -> Sequence[int | None]:
        return self.of.timestamps() if self.changed_timestamps is None else self.changed_timestamps

    def headers(self) -> Sequence[Headers]:
        return self.of.headers() if self.changed_headers is None else self.changed_headers


def topics_of(batch: RecordBatch) -> Sequence[str]:
    """The topic of each record."""
    if isinstance(batch, ChangedBatch) and not isinstance(batch.topics, str):
        return batch.topics
    return [batch.topics if isinstance(batch, ChangedBatch) else batch.tp.topic] * len(batch)  # type: ignore[list-item]
