"""One range, from Kafka to objects: what a Spark task, a test and `kafka-s3 run` all execute."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from kafka_s3.attempts import Raised, attempt
from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.errors import EXIT_DATA, DataLoss, ExporterError
from kafka_s3.export.failed_range import failed, too_many_bad, unexpected
from kafka_s3.log.entries import Interval, PlannedRange, RangeEntry, Refusal, Stop
from kafka_s3.plan.results import Failure, RangeResult, Task, TaskPorts
from kafka_s3.ports import ObjectStore, PartitionOffsets, RecordSource, Registries
from kafka_s3.records import RecordBatch
from kafka_s3.settings.model import Settings
from kafka_s3.write.dead_letter_writer import dead_letter_writer
from kafka_s3.write.object_group import TimestampSpan, WrittenObject
from kafka_s3.write.rejections import may_be_a_records
from kafka_s3.write.uploads import ObjectGroupUpload, given_up_unless_finished, object_entry
from kafka_s3.write.window_filter import in_window
from kafka_s3.write.writer import RangeWriter, Written


@dataclass(frozen=True, slots=True)
class RangeTask:
    """What a task is told besides the settings: the range, its logical time in milliseconds, its topic's generation.

    `seen` is where the partition began and ended when the driver looked. `window`: only its records are written, and
    the others are counted. `schema`: what the plan has pinned for the values, where their schema is inferred.
    """

    is_read: ClassVar = True

    planned: PlannedRange
    at_ms: int
    generation: int
    seen: PartitionOffsets
    window: Interval | None = None
    schema: str | None = None

    def export(self, settings: Settings, ports: TaskPorts, *, careful: bool) -> RangeResult:
        return _exported(settings.reading_by(self.schema), self, ports, careful=careful)


class _Holes:
    """Counts offsets without a visible record, from the differences between those delivered; and records outside."""

    def __init__(self, start: int) -> None:
        self.count = self.outside = 0
        self._expected = start

    def passed(self, batch: RecordBatch, records: int, inside: RecordBatch | None) -> None:
        """The first `records` of a batch were delivered; `inside`: those of the batch that are to be written."""
        if records:
            last = batch.offset_at(records - 1)
            self.count += last + 1 - self._expected - records
            self._expected = last + 1
            if inside is not batch:
                self.outside += records - (0 if inside is None else _records_before(inside, last + 1))

    def end(self, next_offset: int) -> None:
        self.count += next_offset - self._expected
        self._expected = next_offset


def export_range(
    settings: Settings,
    task: Task,
    store: ObjectStore,
    source: RecordSource,
    registries: Registries = Registries(),
) -> RangeResult:
    """Write one range's objects. Never raises: a failure of whatever kind is in the result, and this range's alone.

    A range over which something was raised that a record may be to blame for is read again, carefully, to find that
    record. What the first try had finished is adopted: it is what comes again.
    """
    ports = TaskPorts(store, source, registries)
    crash_point(CrashPoint.STARTED_RANGE)
    done = attempt(task.export, settings, ports, careful=False)
    if isinstance(done, Raised) and task.is_read and may_be_a_records(done.error):
        del done  # the exception holds all that was in use
        done = attempt(task.export, settings, ports, careful=True)
    if isinstance(done, RangeResult):
        return done
    error = done.error
    if isinstance(error, ExporterError):
        return failed(settings, task.planned, str(error), error.exit_status, kafka_changed=isinstance(error, DataLoss))
    return unexpected(settings, task.planned, error)


def _exported(settings: Settings, task: RangeTask, ports: TaskPorts, *, careful: bool) -> RangeResult:
    planned = task.planned
    uploads = partial(ObjectGroupUpload, ports.store, settings.layout, tagging=settings.s3.tagging)
    letters = dead_letter_writer(settings, task.generation, ports.store)
    writer = RangeWriter(
        settings, task.generation, task.at_ms, uploads, registries=ports.registries, refuse=letters, careful=careful
    )
    with given_up_unless_finished(writer, letters), contextlib.closing(ports.source.open(planned.offsets)) as reader:
        holes = _Holes(planned.start)
        for batch in reader:
            inside = in_window(batch, task.window)
            if inside is not None and not writer.write(inside):
                break
            holes.passed(batch, len(batch), inside)
        written = writer.finish()
        if written.stopped_at is not None:
            stopped = written.stopped_at.offset
            holes.passed(batch, _records_before(batch, stopped), inside)
            holes.end(stopped)
            failure = Failure(f"A bad record at {written.stopped_at}", EXIT_DATA, stop=Stop.BAD_RECORD)
            return RangeResult(planned, _entry(task, stopped, written, holes, reader.leader_epoch), failure)
        holes.end(planned.end)
        problem = too_many_bad(settings, written)
        if problem is not None:
            letters.abort()
            return failed(settings, task.planned, problem, EXIT_DATA, stop=Stop.TOO_MANY_BAD)
        entry = _entry(task, planned.end, written, holes, reader.leader_epoch, letters.finish())
        crash_point(CrashPoint.FINISHED_RANGE)
        return RangeResult(planned, entry, None, letters.said)


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


def _entry(
    task: RangeTask,
    next_offset: int,
    written: Written,
    holes: _Holes,
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
        filtered=written.filtered,
        skipped_offsets=holes.count,
        outside=holes.outside,
        min_timestamp_ms=_min(written.times),
        max_timestamp_ms=_max(written.times),
        leader_epoch=leader_epoch,
        log_start=task.seen.log_start,
        high_watermark=task.seen.high_watermark,
        last_stable=task.seen.last_stable,
        interval=planned.interval,
        objects=tuple(map(object_entry, written.objects)),
        dead_letters=None if dead_letters is None else object_entry(dead_letters),
        refusals=tuple(Refusal(stage.value, reason, records) for (stage, reason), records in written.refusals),
    )
    entry.check_accounting()
    return entry


def _min(times: TimestampSpan | None) -> int | None:
    return None if times is None else times.min_ms


def _max(times: TimestampSpan | None) -> int | None:
    return None if times is None else times.max_ms
