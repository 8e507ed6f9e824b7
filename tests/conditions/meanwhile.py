"""What happens in the middle of a run: between two of its requests to the broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kafka_s3.adapters.kafka import KafkaSource
from kafka_s3.ports import RangeReader
from kafka_s3.ranges import OffsetRange
from kafka_s3.records import RecordBatch

Happen = Callable[[], object]


class RunKilled(BaseException):
    """kill -9: nothing of this run goes on."""


def die() -> None:
    raise RunKilled


def nothing() -> None:
    """What happens where nothing does."""


@dataclass
class Meanwhile:
    """What happens while a run is at work: before its first, second, … batch is read, once in the middle of the first
    range, and after the last record of the first batch, when nothing of it is committed."""

    before: Sequence[Happen] = ()
    midway: Happen | None = None
    after: Happen = nothing


@dataclass
class MeanwhileReader:
    """A real reader, during whose first range something happens once the first records are there."""

    inner: RangeReader
    meanwhile: Meanwhile

    def __iter__(self) -> Iterator[RecordBatch]:
        for batch in self.inner:
            yield batch
            if self.meanwhile.midway is not None:
                happen, self.meanwhile.midway = self.meanwhile.midway, None
                happen()

    @property
    def leader_epoch(self) -> int | None:
        return self.inner.leader_epoch

    def close(self) -> None:
        self.inner.close()


@dataclass
class MeanwhileSource:
    inner: KafkaSource
    meanwhile: Meanwhile

    def open(self, offsets: OffsetRange) -> MeanwhileReader:
        return MeanwhileReader(self.inner.open(offsets), self.meanwhile)
