"""One range, from Kafka to objects: what a Spark task, a test and `kafka-s3 run` all execute."""

from __future__ import annotations

import contextlib
import traceback
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from kafka_s3.attempts import Raised, attempt
from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.errors import EXIT_DATA, EXIT_UNEXPECTED, DataLoss, ExporterError
from kafka_s3.log.entries import Interval, PlannedRange, RangeEntry, Refusal, Stop
from kafka_s3.plan.results import Failure, RangeResult, Task, TaskPorts
from kafka_s3.ports import ObjectStore, PartitionOffsets, RecordSource, Registries
from kafka_s3.records import RecordBatch
from kafka_s3.settings.model import Settings
from kafka_s3.shown import printable, quoted, said
from kafka_s3.write.dead_letter_writer import dead_letter_writer
from kafka_s3.write.object_group import TimestampSpan, WrittenObject
from kafka_s3.write.uploads import ObjectGroupUpload, given_up_unless_finished, object_entry
from kafka_s3.write.window_filter import in_window
from kafka_s3.write.writer import RangeWriter, Written, may_be_a_records

_TRACE_LINES_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class RangeTask:
    """What a task is told besides the settings: the range, its logical time in milliseconds, its topic's generation.

    `seen` is where the partition began and ended when the driver looked. `window`: only its records are written, and
    the others are counted.
    """

    is_read: ClassVar = True

    planned: PlannedRange
    at_ms: int
    generation: int
    seen: PartitionOffsets
    window: Interval | None = None

    def export(self, settings: Settings, ports: TaskPorts, *, careful: bool) -> RangeResult:
        return _exported(settings, self, ports, careful=careful)


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
        return _failed(settings, task, str(error), error.exit_status, kafka_changed=isinstance(error, DataLoss))
    return _unexpected(settings, task, error)


def _exported(settings: Settings, task: RangeTask, ports: TaskPorts, *, careful: bool) -> RangeResult:
    planned = task.planned
    open_upload = partial(ObjectGroupUpload, ports.store, settings.layout, tagging=settings.s3.tagging)
    letters = dead_letter_writer(settings, task.generation, ports.store)
    writer = RangeWriter(
        settings, task.generation, task.at_ms, open_upload, registries=ports.registries, refuse=letters, careful=careful
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
        problem = _too_many_bad(settings, written)
        if problem is not None:
            letters.abort()
            return _failed(settings, task, problem, EXIT_DATA, stop=Stop.TOO_MANY_BAD)
        entry = _entry(task, planned.end, written, holes, reader.leader_epoch, letters.finish())
        crash_point(CrashPoint.FINISHED_RANGE)
        return RangeResult(planned, entry, None, letters.said)


def _failed(
    settings: Settings,
    task: Task,
    reason: str,
    exit_status: int,
    *,
    kafka_changed: bool = False,
    stop: Stop = Stop.OTHER,
    trace: str = "",
) -> RangeResult:
    shown = "\n".join(
        said(line, content=settings.dead_letters.include_messages)
        for line in f"{task.planned.offsets}: {reason}".split("\n")
    )
    return RangeResult(task.planned, None, Failure(shown, exit_status, kafka_changed, stop), trace=trace)


def _unexpected(settings: Settings, task: Task, error: Exception) -> RangeResult:
    """A bug, or an accident of the machine. Its text may quote a record, so only its kind and where it was is told."""
    if isinstance(error, MemoryError):
        reason = "no memory was left. Give the task more of it, or lower tasks.max or partitioner.max.open.files."
    else:
        reason = (
            f"{type(error).__name__} ({quoted(str(error), str(error))}): a fault of the exporter, or of a class of "
            "yours. The task's log has the trace; a retry reads the range again."
        )
    return _failed(settings, task, reason, EXIT_UNEXPECTED, trace=trace_of(error))


def trace_of(error: BaseException) -> str:
    """Where an exception and those behind it were raised, without what they say."""
    lines: list[str] = []
    behind: BaseException | None = error
    while behind is not None and len(lines) < _TRACE_LINES_MAX:
        lines += [f"{type(behind).__name__} at", *"".join(traceback.format_tb(behind.__traceback__)).splitlines()]
        behind = behind.__cause__ or (None if behind.__suppress_context__ else behind.__context__)
    return "\n".join(map(printable, lines[:_TRACE_LINES_MAX]))


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
