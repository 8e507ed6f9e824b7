"""The sentence of each event, for the places where somebody reads it: terminals and logs. No program reads it."""

from __future__ import annotations

from typing import assert_never

from kafka_s3 import events
from kafka_s3.events import Event, LogEvent, PublishEvent, RunEvent, SweepEvent, WindowEvent
from kafka_s3.shown import printable_lines


def sentence(event: Event) -> str:
    """What an event says, safe to show; several lines where it holds a trace or a list of problems."""
    return printable_lines(_sentence(event))


def _sentence(event: Event) -> str:
    if isinstance(event, LogEvent):
        return _of_log(event)
    if isinstance(event, RunEvent):
        return _of_run(event)
    if isinstance(event, SweepEvent):
        return _of_sweep(event)
    if isinstance(event, WindowEvent):
        return _of_window(event)
    if isinstance(event, PublishEvent):
        return _of_publishing(event)
    assert_never(event)


def _of_log(event: LogEvent) -> str:
    match event:
        case events.PlanOpened():
            return f"plan {event.seq}: {event.offsets} offsets in {event.ranges} ranges"
        case events.PlanVoided():
            return f"plan {event.seq} is voided: {event.reason}"
        case events.CommitWritten():
            rejected = f", {event.rejected} rejected" if event.rejected else ""
            return f"commit {event.seq}: {event.records} records{rejected}"
        case events.PositionsAccepted():
            return f"entry {event.seq} accepts: {event.reason}"
        case events.IntervalQuiet():
            return f"entry {event.seq}: nothing is new in this interval"
        case events.GroupNotSet():
            return f"commit {event.seq} is not shown by its consumer group: {event.reason}"
    assert_never(event)


def _of_run(event: RunEvent) -> str:
    match event:
        case events.PlanAdvanced():
            return _advanced(event)
        case events.BadRecord():
            return f"bad record: {event.what}"
        case events.UnexpectedError():
            return f"{event.topic}-{event.partition} [{event.start}, {event.end}): {event.trace}"
        case events.PartitionFailed():
            return f"failed: {event.reason}"
        case events.ProblemReported() | events.RejectionsNoted():
            return event.what
        case events.SparkNeeded():
            return f"the plan has {event.offsets} offsets: Spark takes over"
        case events.RunEnded():
            return f"the run ended with exit status {event.exit_status}"
    assert_never(event)


def _advanced(event: events.PlanAdvanced) -> str:
    """The rate is of the whole time until now, and so is what is left of it.

    >>> _advanced(events.PlanAdvanced(
    ...     seq=13, read=8000, offsets=20_000, done=5, ranges=20, bytes=1_000_000, elapsed_ms=100_000))
    'plan 13: 40%: 8,000 of 20,000 offsets, 5 of 20 ranges done (1.0 MB), 80 offsets/s, about 2:30 left'
    """
    parts = [
        f"{event.read:,} of {event.offsets:,} offsets",
        f"{event.done} of {event.ranges} ranges done ({event.bytes / 1_000_000:,.1f} MB)",
    ]
    if event.read and event.elapsed_ms:
        left_s = round((event.offsets - event.read) * event.elapsed_ms / event.read / 1000)
        parts += [f"{event.read * 1000 // event.elapsed_ms:,} offsets/s", f"about {_clock(left_s)} left"]
    return f"plan {event.seq}: {event.read * 100 // max(1, event.offsets)}%: {', '.join(parts)}"


def _clock(seconds: int) -> str:
    """
    >>> _clock(150), _clock(3750)
    ('2:30', '1:02:30')
    """
    minutes, hours = seconds // 60 % 60, seconds // 3600
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


def _of_sweep(event: SweepEvent) -> str:
    match event:
        case events.Swept():
            what = f"{event.objects} objects and {event.uploads} open uploads"
            return f"plan {event.seq}: {what} that an earlier driver left were deleted"
        case events.SweepFailed():
            return f"leftovers of the earlier driver of plan {event.seq} were not deleted: {event.reason}"
        case events.SweepIncomplete():
            return f"plan {event.seq}: not all keys were looked at: `kafka-s3 gc` finds what is left"
        case events.UploadsNotListed():
            return f"plan {event.seq}: {event.reason}"
        case events.UploadsAborted():
            return f"commit {event.seq}: {event.uploads} open uploads of its objects were aborted"
        case events.UploadsNotAborted():
            return f"open uploads of commit {event.seq} were not looked for: {event.reason}"
        case events.ObjectsTookAnotherName():
            what = f"{event.objects} objects took" if event.objects > 1 else "1 object took"
            first = "their first one" if event.objects > 1 else "its first one"
            why = f"since {first} held other bytes: `kafka-s3 gc` finds what is left"
            return f"commit {event.seq}: {what} another name, {why}"
    assert_never(event)


def _of_window(event: WindowEvent) -> str:
    match event:
        case events.WindowPlanOpened():
            return f"plan {event.seq}: {event.ranges} ranges of window {event.window}"
        case events.PlanNoted():
            return f"plan {event.seq}: {event.note}"
        case events.WindowCommitWritten():
            return f"commit {event.seq}: {event.records} records of window {event.window}"
        case events.WindowCommittedBefore():
            return f"window {event.window} is committed: entry {event.seq}"
        case events.WindowNotCommitted():
            return f"window {event.window} is not committed: there is nothing to withdraw"
        case events.WindowWithdrawn():
            what = f"`kafka-s3 gc --delete` deletes what entry {event.seq} has"
            return f"window {event.window} is withdrawn: {what}"
        case events.WindowSwept():
            return f"{event.what} that other runs of window {event.window} left were deleted: {event.count}"
        case events.WindowSweepFailed(what=None):
            return f"leftovers of other runs of window {event.window} were not deleted: {event.reason}"
        case events.WindowSweepFailed():
            return f"{event.what} that other runs of window {event.window} left were not all deleted: {event.reason}"
        case events.WindowNotSearched():
            return event.what
        case events.WindowReplaced():
            return f"window {event.window} was replaced meanwhile: nothing was deleted"
    assert_never(event)


def _of_publishing(event: PublishEvent) -> str:
    match event:
        case events.DeadLettersSent():
            return f"commit {event.seq}: {event.count} dead letters sent to {event.topic}"
        case events.DeadLettersRedriven():
            return f"{event.count} dead letters of {event.key} sent to {event.topic}"
        case events.MarkerWritten():
            return f"complete: {event.key}"
        case events.MarkerFound():
            return f"complete already: {event.key}"
        case events.MarkerNotSigned():
            return f"{event.key} was left unchanged: {event.reason}"
        case events.MarkerForeign():
            return f"{event.key} exists and is not a marker of this exporter: it was left unchanged"
        case events.MarkerOfAnotherTime():
            time = f"{event.start_ms} to {event.end_ms} ms"
            return f"{event.key} is the marker of another time ({time}), and was left unchanged"
    assert_never(event)
