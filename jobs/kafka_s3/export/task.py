"""One range, from Kafka to objects: what a Spark task, a test and `kafka-s3 run` all execute."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial

from kafka_s3.commit_log import Companion, ObjectEntry, PlannedRange, RangeEntry
from kafka_s3.errors import EXIT_DATA, ExporterError
from kafka_s3.export.dead_letters import letter_file
from kafka_s3.export.uploads import FamilyUpload
from kafka_s3.families import WrittenObject
from kafka_s3.ports import ObjectStore, PartitionOffsets, RecordSource, Registries
from kafka_s3.records import RecordBatch
from kafka_s3.settings.model import Settings
from kafka_s3.writer import RangeWriter, Written


@dataclass(frozen=True, slots=True)
class RangeTask:
    """What a task is told besides the settings: the range, its logical time in milliseconds, its topic's generation.

    `seen` is where the partition began and ended when the driver looked.
    """

    planned: PlannedRange
    at_ms: int
    generation: int
    seen: PartitionOffsets


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a range did not reach its end; `exit_status` is what the run ends with because of it."""

    reason: str
    exit_status: int


@dataclass(frozen=True, slots=True)
class RangeResult:
    """What became of a planned range: what can be committed, and what stopped it. At least one of the two is there."""

    planned: PlannedRange
    entry: RangeEntry | None
    failure: Failure | None
    refused: tuple[str, ...] = ()  # the first records that were left out, where errors.log.enable asks for them


class _Holes:
    """Counts offsets without a visible record, from the differences between those delivered."""

    def __init__(self, start: int) -> None:
        self.count = 0
        self._expected = start

    def passed(self, batch: RecordBatch, records: int) -> None:
        """The first `records` of a batch were delivered."""
        if records:
            last = batch.offset_at(records - 1)
            self.count += last + 1 - self._expected - records
            self._expected = last + 1

    def end(self, next_offset: int) -> None:
        self.count += next_offset - self._expected
        self._expected = next_offset


def export_range(
    settings: Settings,
    task: RangeTask,
    store: ObjectStore,
    source: RecordSource,
    registries: Registries = Registries(),
) -> RangeResult:
    """Write one range's objects. Never raises for what the world does: a failure is part of the result."""
    planned = task.planned
    open_upload = partial(FamilyUpload, store, settings.layout, tagging=settings.s3.tagging)
    letters = letter_file(settings, task.generation, store)
    try:
        writer = RangeWriter(settings, task.generation, task.at_ms, open_upload, registries=registries, refuse=letters)
    except ExporterError as error:  # a class of the user's own that is not on this machine
        return RangeResult(planned, None, Failure(f"{planned.offsets}: {error}", error.exit_status))
    try:
        holes = _Holes(planned.start)
        with contextlib.closing(source.open(planned.offsets)) as reader:
            for batch in reader:
                if not writer.write(batch):
                    break
                holes.passed(batch, len(batch))
            written = writer.finish()
            if written.stopped_at is not None:
                stopped = written.stopped_at.offset
                holes.passed(batch, _records_before(batch, stopped))
                holes.end(stopped)
                failure = Failure(f"A bad record at {written.stopped_at}", EXIT_DATA)
                return RangeResult(planned, _entry(task, stopped, written, holes.count, reader.leader_epoch), failure)
            holes.end(planned.end)
            problem = _too_many_bad(settings, written)
            if problem is not None:
                letters.abort()
                return RangeResult(planned, None, Failure(f"{planned.offsets}: {problem}", EXIT_DATA))
            entry = _entry(task, planned.end, written, holes.count, reader.leader_epoch, letters.finish())
            return RangeResult(planned, entry, None, letters.said)
    except ExporterError as error:
        with contextlib.suppress(ExporterError):  # the first error is the one to tell; a sweep finds what is left
            writer.abort()
            letters.abort()
        return RangeResult(planned, None, Failure(f"{planned.offsets}: {error}", error.exit_status))


def _records_before(batch: RecordBatch, offset: int) -> int:
    """How many records of a batch lie below an offset that is in it."""
    low, high = 0, len(batch)
    while low < high:
        middle = (low + high) // 2
        if batch.offset_at(middle) < offset:
            low = middle + 1
        else:
            high = middle
    return low


def _too_many_bad(settings: Settings, written: Written) -> str | None:
    """Why a range is not taken although bad records are tolerated: most of it is bad, so something else is wrong."""
    seen, most = written.records + written.rejected, settings.dead_letters.fraction_max
    if written.rejected <= most * seen:
        return None
    return (
        f"{written.rejected} of {seen} records are bad, more than export.errors.fraction.max={most:g} lets pass. Is the"
        " converter the right one? Nothing of the range is committed"
    )


def _entry(
    task: RangeTask,
    next_offset: int,
    written: Written,
    holes: int,
    leader_epoch: int | None,
    dead_letters: WrittenObject | None = None,
) -> RangeEntry:
    planned = task.planned
    entry = RangeEntry(
        topic=planned.topic,
        partition=planned.partition,
        start=planned.start,
        next_offset=next_offset,
        records=written.records,
        bytes=written.bytes,
        rejected=written.rejected,
        tombstones=written.tombstones,
        tombstones_written=written.tombstones_written,
        skipped_offsets=holes,
        leader_epoch=leader_epoch,
        log_start=task.seen.log_start,
        high_watermark=task.seen.high_watermark,
        last_stable=task.seen.last_stable,
        interval=planned.interval,
        objects=tuple(map(_object_entry, written.objects)),
        dead_letters=None if dead_letters is None else _object_entry(dead_letters),
    )
    entry.check_accounting()
    return entry


def _object_entry(made: WrittenObject) -> ObjectEntry:
    return ObjectEntry(
        key=made.key,
        size=made.size,
        sha256=made.sha256,
        records=made.records,
        first_offset=made.first_offset,
        last_offset=made.last_offset,
        closed_by=made.closed_by.value,
        schema_id=made.schema_id,
        companions=tuple(
            Companion(what=each.member.value, key=each.key, size=each.size, sha256=each.sha256) for each in made.beside
        ),
    )
