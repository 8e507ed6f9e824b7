"""Records in batches: columns, made only when somebody asks for them.

Asking a Kafka client for the values of a batch is free; offsets, timestamps, keys and headers of each record cost
a third of reading it. So a batch answers column by column, and what nobody configured is never touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kafka_s3.ranges import TopicPartition

Headers = Sequence[tuple[str, bytes | None]]


class HeaderText(bytes):
    """Text in UTF-8 that a transform put into a header: it is written as it is, whatever converts headers."""

    __slots__ = ()


class RecordBatch(Protocol):
    """Consecutive visible records of one topic-partition, offsets ascending, never empty."""

    @property
    def tp(self) -> TopicPartition: ...
    def __len__(self) -> int: ...
    def offset_at(self, index: int) -> int:
        """The offset of one record (`index` may be negative, as in a list)."""

    def values(self) -> Sequence[bytes | None]:
        """Every record's value; `None` is a tombstone."""

    def keys(self) -> Sequence[bytes | None]: ...
    def timestamps(self) -> Sequence[int | None]:
        """Milliseconds since the epoch; `None` where the record has no timestamp."""

    def headers(self) -> Sequence[Headers]: ...


@dataclass(frozen=True, slots=True)
class Record:
    """One record, for tests, previews and dead letters: the hot path knows only batches."""

    offset: int
    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnBatch:
    """A `RecordBatch` made of records in memory."""

    tp: TopicPartition
    records: Sequence[Record] = field(repr=False)

    def __len__(self) -> int:
        return len(self.records)

    def offset_at(self, index: int) -> int:
        return self.records[index].offset

    def values(self) -> Sequence[bytes | None]:
        return [record.value for record in self.records]

    def keys(self) -> Sequence[bytes | None]:
        return [record.key for record in self.records]

    def timestamps(self) -> Sequence[int | None]:
        return [record.timestamp_ms for record in self.records]

    def headers(self) -> Sequence[Headers]:
        return [record.headers for record in self.records]


def one_by_one(batch: RecordBatch) -> Iterator[ColumnBatch]:
    """A batch as batches of one record each."""
    columns = zip(batch.values(), batch.keys(), batch.timestamps(), batch.headers(), strict=True)
    for index, (value, key, timestamp_ms, headers) in enumerate(columns):
        yield ColumnBatch(batch.tp, [Record(batch.offset_at(index), value, key, timestamp_ms, tuple(headers))])
