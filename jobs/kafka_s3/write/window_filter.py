"""The records of a batch whose timestamp is in a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_s3.log.entries import Interval
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Headers, RecordBatch


def in_window(batch: RecordBatch, window: Interval | None) -> RecordBatch | None:
    """The records of `[start, end)`, `None` if there are none; without a window all. One without a time is in none."""
    if window is None:
        return batch
    start_ms, end_ms = window.start_ms, window.end_ms
    indexes = [
        index for index, stamp in enumerate(batch.timestamps()) if stamp is not None and start_ms <= stamp < end_ms
    ]
    if len(indexes) == len(batch):
        return batch
    return BatchSelection(batch, indexes) if indexes else None


@dataclass(frozen=True, slots=True)
class BatchSelection:
    """A `records.RecordBatch`: some records of another one, in their order."""

    of: RecordBatch
    indexes: Sequence[int]

    @property
    def tp(self) -> TopicPartition:
        return self.of.tp

    def __len__(self) -> int:
        return len(self.indexes)

    def offset_at(self, index: int) -> int:
        return self.of.offset_at(self.indexes[index])

    def values(self) -> Sequence[bytes | None]:
        values = self.of.values()
        return [values[index] for index in self.indexes]

    def keys(self) -> Sequence[bytes | None]:
        keys = self.of.keys()
        return [keys[index] for index in self.indexes]

    def timestamps(self) -> Sequence[int | None]:
        stamps = self.of.timestamps()
        return [stamps[index] for index in self.indexes]

    def headers(self) -> Sequence[Headers]:
        headers = self.of.headers()
        return [headers[index] for index in self.indexes]
