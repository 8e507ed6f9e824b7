"""What the engine makes of some records, without Kafka, S3 or Spark: the same writer, over memory.

Each topic-partition is a range of its own, from its first given offset to past its last. One that meets a record
which may not be skipped ends in front of it; the others go on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from kafka_s3.naming import DataName, format_data_key
from kafka_s3.ports import Registries
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import ColumnBatch, Record, RecordBatch
from kafka_s3.settings.model import Settings
from kafka_s3.write.object_group import Body, FinishedUpload, OffsetSpan, WrittenObject
from kafka_s3.write.rejections import Rejected
from kafka_s3.write.writer import RangeWriter

GivenRecord = tuple[TopicPartition, Record]
Keep = Callable[[str, bytes], None]

NO_SCHEMAS: Final[Mapping[str, str]] = MappingProxyType({})
BATCH_RECORDS: Final = 1  # in a larger batch, objects of different paths close in another order


@dataclass(frozen=True, slots=True)
class Preview:
    """`objects` in the order of closing, at the end of opening; `rejected` in the order given.

    `stopped` are those of the rejected that ended their range, because the configuration tolerates none.
    """

    objects: tuple[WrittenObject, ...]
    rejected: tuple[Rejected, ...]
    stopped: tuple[Rejected, ...]


def preview(
    settings: Settings,
    records: Iterable[GivenRecord],
    keep: Keep | None = None,
    *,
    at_ms: int = 0,
    registries: Registries = Registries(),
    schemas: Mapping[str, str] = NO_SCHEMAS,
) -> Preview:
    """Run records through the writer; `keep` is given every object's key and bytes as it closes.

    `at_ms` is the logical time, which only the extractor Wallclock tells. `schemas`: of each topic, where inferred.

    The records of a topic-partition have ascending offsets; gaps are fine. Memory: what is open, encoded.
    """
    desk = _Desk(settings, keep, at_ms, registries, schemas)
    for tp, run in itertools.groupby(records, key=lambda given: given[0]):
        for batch in _batches(record for _, record in run):
            desk.write(ColumnBatch(tp, batch))
    return desk.finish()


def _batches(records: Iterable[Record]) -> Iterable[Sequence[Record]]:
    waiting = iter(records)
    while batch := list(itertools.islice(waiting, BATCH_RECORDS)):
        yield batch


@dataclass(slots=True)
class _Event:
    """An object's life: the number it opened under, and the number it closed under once it has."""

    opened: int
    closed: int | None = None


@dataclass(slots=True)
class _Desk:
    """The writers of all topic-partitions, and the order in which their objects opened and closed."""

    settings: Settings
    keep: Keep | None
    at_ms: int
    registries: Registries
    schemas: Mapping[str, str]
    writers: dict[TopicPartition, RangeWriter] = field(default_factory=dict)
    ended: set[TopicPartition] = field(default_factory=set)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    events: dict[str, _Event] = field(default_factory=dict)  # by key
    objects: list[WrittenObject] = field(default_factory=list)
    rejected: list[tuple[int, Rejected]] = field(default_factory=list)
    stopped: list[Rejected] = field(default_factory=list)
    given: dict[tuple[TopicPartition, int], int] = field(default_factory=dict)  # where in the input a record stood

    def write(self, batch: ColumnBatch) -> None:
        for record in batch.records:
            self.given[(batch.tp, record.offset)] = next(self.numbers)
        if batch.tp in self.ended:
            return
        writer = self.writers.get(batch.tp)
        if writer is None:
            settings = self.settings.reading_by(self.schemas.get(batch.tp.topic))
            writer = self.writers[batch.tp] = RangeWriter(
                settings, 0, self.at_ms, self._open, registries=self.registries, refuse=self._refuse, careful=True
            )
        if not writer.write(batch):
            self._end(batch.tp, writer)

    def finish(self) -> Preview:
        # What is still open closes now, in the order of opening whatever its topic-partition.
        open_at_end = {key for key, event in self.events.items() if event.closed is None}
        for tp, writer in self.writers.items():
            if tp not in self.ended:
                self._end(tp, writer)
        objects = sorted(self.objects, key=lambda made: self._turn(made.key, open_at_end))
        rejected = tuple(each for _, each in sorted(self.rejected, key=lambda item: item[0]))
        return Preview(tuple(objects), rejected, tuple(self.stopped))

    def _end(self, tp: TopicPartition, writer: RangeWriter) -> None:
        self.ended.add(tp)
        written = writer.finish()
        self.objects += written.objects
        if written.stopped_at is not None:
            self._add(written.stopped_at)
            self.stopped.append(written.stopped_at)

    def _refuse(self, rejected: Rejected, batch: RecordBatch, index: int) -> None:  # noqa: ARG002  # a `Refuse`
        self._add(rejected)

    def _add(self, rejected: Rejected) -> None:
        self.rejected.append((self.given[(rejected.tp, rejected.offset)], rejected))

    def _turn(self, key: str, open_at_end: set[str]) -> tuple[bool, int]:
        event = self.events[key]
        assert event.closed is not None
        return (True, event.opened) if key in open_at_end else (False, event.closed)

    def _open(self, names: Sequence[DataName]) -> _Upload:
        keys = [format_data_key(self.settings.layout, name) for name in names]
        assert keys[0] not in self.events, f"{keys[0]} is opened twice"
        self.events[keys[0]] = _Event(next(self.numbers))
        return _Upload(keys, self._closed)

    def _closed(self, keys: Sequence[str], bodies: Sequence[bytes]) -> None:
        self.events[keys[0]].closed = next(self.numbers)
        for key, body in zip(keys, bodies, strict=True):
            if self.keep is not None:
                self.keep(key, body)


@dataclass(slots=True)
class _Upload:
    """A `writer.Upload` into memory."""

    keys: Sequence[str]
    closed: Callable[[Sequence[str], Sequence[bytes]], None]
    parts: dict[int, bytes] = field(default_factory=dict)  # of each member that has any

    def part(self, member: int, body: bytes) -> None:
        self.parts[member] = self.parts.get(member, b"") + body

    def finish(self, bodies: Sequence[Body], holds: OffsetSpan) -> FinishedUpload:  # noqa: ARG002  # the port's signature
        whole = [self.parts.get(number, b"") + body.last for number, body in enumerate(bodies)]
        for key, made, body in zip(self.keys, whole, bodies, strict=True):
            assert len(made) == body.size, f"{key}: {len(made)} bytes, {body.size} announced"
        self.closed(self.keys, whole)
        return FinishedUpload.of(self.keys, bodies)

    def abort(self) -> None:
        self.parts.clear()
