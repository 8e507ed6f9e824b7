"""A source of records that says how far its readers are, and that can be told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kafka_s3.ports import RangeReader, RecordSource
from kafka_s3.ranges import OffsetRange
from kafka_s3.records import RecordBatch


@dataclass(frozen=True, slots=True)
class WatchedSource:
    """A `RecordSource` whose readers tell `read` how many offsets each batch has passed.

    `stopped`: once it is set, readers raise `KeyboardInterrupt` in front of their next batch: the threads of a process
    that Ctrl-C ends hear nothing of it themselves.
    """

    source: RecordSource
    read: Callable[[int], None]
    stopped: threading.Event

    def open(self, offsets: OffsetRange) -> RangeReader:
        return _WatchedReader(self.source.open(offsets), offsets, self)


@dataclass(frozen=True, slots=True)
class _WatchedReader:
    reader: RangeReader
    offsets: OffsetRange
    watched: WatchedSource

    def __iter__(self) -> Iterator[RecordBatch]:
        position = self.offsets.start
        for batch in self.reader:
            if self.watched.stopped.is_set():
                raise KeyboardInterrupt
            yield batch
            reached = batch.offset_at(len(batch) - 1) + 1
            self.watched.read(reached - position)
            position = reached
        self.watched.read(self.offsets.end - position)

    @property
    def leader_epoch(self) -> int | None:
        return self.reader.leader_epoch

    def close(self) -> None:
        self.reader.close()
