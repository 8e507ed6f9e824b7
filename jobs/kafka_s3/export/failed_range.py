"""How a range that failed is told: in one sentence without a record's content, with an exit status and a trace."""

from __future__ import annotations

import traceback
from typing import Final

from kafka_s3.errors import EXIT_UNEXPECTED
from kafka_s3.log.entries import PlannedRange, Stop
from kafka_s3.plan.results import Failure, RangeResult
from kafka_s3.settings.model import Settings
from kafka_s3.shown import printable, quoted, said
from kafka_s3.write.writer import Written

_TRACE_LINES_MAX: Final = 200


def failed(
    settings: Settings,
    planned: PlannedRange,
    reason: str,
    exit_status: int,
    *,
    kafka_changed: bool = False,
    stop: Stop = Stop.OTHER,
    trace: str = "",
) -> RangeResult:
    """A range of which nothing is written, and why."""
    shown = "\n".join(
        said(line, content=settings.dead_letters.include_messages)
        for line in f"{planned.offsets}: {reason}".split("\n")
    )
    return RangeResult(planned, None, Failure(shown, exit_status, kafka_changed, stop), trace=trace)


def unexpected(settings: Settings, planned: PlannedRange, error: Exception) -> RangeResult:
    """A bug, or an accident of the machine. Its text may quote a record, so only its kind and where it was is told."""
    if isinstance(error, MemoryError):
        reason = "no memory was left. Give the task more of it, or lower tasks.max or partitioner.max.open.files."
    else:
        reason = (
            f"{type(error).__name__} ({quoted(str(error), str(error))}): a fault of the exporter, or of a class of "
            "yours. The task's log has the trace; a retry reads the range again."
        )
    return failed(settings, planned, reason, EXIT_UNEXPECTED, trace=trace_of(error))


def trace_of(error: BaseException) -> str:
    """Where an exception and those behind it were raised, without what they say."""
    lines: list[str] = []
    behind: BaseException | None = error
    while behind is not None and len(lines) < _TRACE_LINES_MAX:
        lines += [f"{type(behind).__name__} at", *"".join(traceback.format_tb(behind.__traceback__)).splitlines()]
        behind = behind.__cause__ or (None if behind.__suppress_context__ else behind.__context__)
    return "\n".join(map(printable, lines[:_TRACE_LINES_MAX]))


def too_many_bad(settings: Settings, written: Written) -> str | None:
    """Why a range is not taken although bad records are tolerated: most of it is bad, so something else is wrong."""
    seen, most = written.records + written.rejected, settings.dead_letters.fraction_max
    if written.rejected <= most * seen:
        return None
    return (
        f"{written.rejected} of {seen} records are bad, more than export.errors.fraction.max={most:g} lets pass. Is the"
        " converter the right one? Nothing of the range is committed"
    )
