"""What a run tells while it goes on: a closed union of events, and the line of JSON that carries one elsewhere.

    {"kafka_s3": 1, "event": "commit_written", "seq": 7, "records": 120, "rejected": 0}

`kafka_s3` is the version of these lines; `event` names one of the types below, whose fields follow. A driver of several
connectors says in each line whose event it is (`connector`); what has none is the driver's own. Programs decide by an
event's type and fields alone. Its sentence (`sentences`) is made where somebody reads it, and may be reworded.

An event holds counts, names, keys and reasons, which are fit to be shown; never a secret, and of a record only what the
user asked to see (`errors.log.include.messages`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, Literal

import msgspec

LINE_VERSION: Final = 1
_MARKER: Final = "kafka_s3"
_CONNECTOR: Final = "connector"


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """Its tag is its name in a line: a class may be renamed, a tag that was released may not."""


# The log: plans and entries.


class PlanOpened(_Event, frozen=True, kw_only=True, tag="plan_opened"):
    """A plan is executed from now on; `seq` is its number, here and below."""

    seq: int
    offsets: int
    ranges: int


class PlanVoided(_Event, frozen=True, kw_only=True, tag="plan_voided"):
    seq: int
    reason: str


class CommitWritten(_Event, frozen=True, kw_only=True, tag="commit_written"):
    seq: int
    records: int
    rejected: int
    bytes: int = 0
    objects: int = 0


class PositionsAccepted(_Event, frozen=True, kw_only=True, tag="positions_accepted"):
    """An entry accepts losses, as the policies or a person say, so that their partitions go on."""

    seq: int
    reason: str


class IntervalQuiet(_Event, frozen=True, kw_only=True, tag="interval_quiet"):
    """An entry says that nothing was new in the run's interval."""

    seq: int


class GroupNotSet(_Event, frozen=True, kw_only=True, tag="group_not_set"):
    """The consumer group that shows positions has not those of an entry; what is exported does not depend on it."""

    seq: int
    reason: str


LogEvent = PlanOpened | PlanVoided | CommitWritten | PositionsAccepted | IntervalQuiet | GroupNotSet


# The ranges of a plan, and how a run ends.


class PlanAdvanced(_Event, frozen=True, kw_only=True, tag="plan_advanced"):
    """How far the execution of a plan is: offsets read, ranges that ended, and the bytes of their records.

    On Spark, what a range has read is known once it has ended.
    """

    seq: int
    read: int
    offsets: int
    done: int
    ranges: int
    bytes: int
    elapsed_ms: int


class BadRecord(_Event, frozen=True, kw_only=True, tag="bad_record"):
    """A record that was left out, where errors.log.enable asks for them; the last of a range may be about the rest."""

    what: str


class UnexpectedError(_Event, frozen=True, kw_only=True, tag="unexpected_error"):
    """What nobody expected stopped a range: its trace, without what the error says of a record."""

    topic: str
    partition: int
    start: int
    end: int
    trace: str


class PartitionFailed(_Event, frozen=True, kw_only=True, tag="partition_failed"):
    """Why a partition failed, in a run that ended without its report."""

    topic: str
    partition: int
    reason: str


class ProblemReported(_Event, frozen=True, kw_only=True, tag="problem_reported"):
    """What went wrong in a run, and what to do: a reason why it ends with another exit status than 0."""

    what: str


class RejectionsNoted(_Event, frozen=True, kw_only=True, tag="rejections_noted"):
    """Records were rejected, but no more than the configuration lets pass."""

    what: str


class SparkNeeded(_Event, frozen=True, kw_only=True, tag="spark_needed"):
    """The last event of a driver without Spark, or of a member of a group in it, before a plan that is large: a driver
    on Spark goes on with it, and the run ends with `exit_status`, of what was committed until then, unless that one's
    is another than 0."""

    offsets: int
    exit_status: int


class RunEnded(_Event, frozen=True, kw_only=True, tag="run_ended"):
    """The last event of a driver; one of a group also has it for each member that ends there."""

    exit_status: int


RunEvent = (
    PlanAdvanced
    | BadRecord
    | UnexpectedError
    | PartitionFailed
    | ProblemReported
    | RejectionsNoted
    | SparkNeeded
    | RunEnded
)


# What dead drivers and tasks left under a plan's keys.


class Swept(_Event, frozen=True, kw_only=True, tag="swept"):
    seq: int
    objects: int
    uploads: int


class SweepFailed(_Event, frozen=True, kw_only=True, tag="sweep_failed"):
    seq: int
    reason: str


class SweepIncomplete(_Event, frozen=True, kw_only=True, tag="sweep_incomplete"):
    """Some keys were not looked at."""

    seq: int


class UploadsNotListed(_Event, frozen=True, kw_only=True, tag="uploads_not_listed"):
    """A sweep could not list open uploads; `reason` says so."""

    seq: int
    reason: str


class UploadsAborted(_Event, frozen=True, kw_only=True, tag="uploads_aborted"):
    """After a commit whose plan nobody else had begun."""

    seq: int
    uploads: int


class UploadsNotAborted(_Event, frozen=True, kw_only=True, tag="uploads_not_aborted"):
    seq: int
    reason: str


class ObjectsTookAnotherName(_Event, frozen=True, kw_only=True, tag="objects_took_another_name"):
    """A retry made other bytes than the try before it, so that plain listings show objects that no entry lists."""

    seq: int
    objects: int


SweepEvent = (
    Swept
    | SweepFailed
    | SweepIncomplete
    | UploadsNotListed
    | UploadsAborted
    | UploadsNotAborted
    | ObjectsTookAnotherName
)


# Windows that are exported again.

WhatIsLeft = Literal["objects", "open uploads"]


class WindowPlanOpened(_Event, frozen=True, kw_only=True, tag="window_plan_opened"):
    seq: int
    window: str
    ranges: int


class PlanNoted(_Event, frozen=True, kw_only=True, tag="plan_noted"):
    """A note of a window's plan."""

    seq: int
    note: str


class WindowCommitWritten(_Event, frozen=True, kw_only=True, tag="window_commit_written"):
    seq: int
    window: str
    records: int
    bytes: int = 0
    objects: int = 0


class WindowCommittedBefore(_Event, frozen=True, kw_only=True, tag="window_committed_before"):
    seq: int
    window: str


class WindowNotCommitted(_Event, frozen=True, kw_only=True, tag="window_not_committed"):
    """There is nothing to withdraw."""

    window: str


class WindowWithdrawn(_Event, frozen=True, kw_only=True, tag="window_withdrawn"):
    """`seq`: the commit that no longer counts."""

    seq: int
    window: str


class WindowSwept(_Event, frozen=True, kw_only=True, tag="window_swept"):
    window: str
    what: WhatIsLeft
    count: int


class WindowSweepFailed(_Event, frozen=True, kw_only=True, tag="window_sweep_failed"):
    """`what` is left there at least in part; `None`: all that other runs left."""

    window: str
    what: WhatIsLeft | None = None
    reason: str


class WindowNotSearched(_Event, frozen=True, kw_only=True, tag="window_not_searched"):
    """Something was not searched for what other runs left; `what` says what, and why."""

    window: str
    what: str


class WindowReplaced(_Event, frozen=True, kw_only=True, tag="window_replaced"):
    """The window is another one by now, so that nothing was deleted."""

    window: str


WindowEvent = (
    WindowPlanOpened
    | PlanNoted
    | WindowCommitWritten
    | WindowCommittedBefore
    | WindowNotCommitted
    | WindowWithdrawn
    | WindowSwept
    | WindowSweepFailed
    | WindowNotSearched
    | WindowReplaced
)


# What follows from commits: dead letters in their topic, markers of completeness.


class DeadLettersSent(_Event, frozen=True, kw_only=True, tag="dead_letters_sent"):
    seq: int
    topic: str
    count: int


class DeadLettersRedriven(_Event, frozen=True, kw_only=True, tag="dead_letters_redriven"):
    """`key`: the object that they come from."""

    key: str
    topic: str
    count: int


class MarkerWritten(_Event, frozen=True, kw_only=True, tag="marker_written"):
    key: str


class MarkerFound(_Event, frozen=True, kw_only=True, tag="marker_found"):
    """The same marker is there already."""

    key: str


class MarkerNotSigned(_Event, frozen=True, kw_only=True, tag="marker_not_signed"):
    """It was left as it is, as the two below."""

    key: str
    reason: str


class MarkerForeign(_Event, frozen=True, kw_only=True, tag="marker_foreign"):
    """Something else lies under its key."""

    key: str


class MarkerOfAnotherTime(_Event, frozen=True, kw_only=True, tag="marker_of_another_time"):
    key: str
    start_ms: int
    end_ms: int


PublishEvent = (
    DeadLettersSent
    | DeadLettersRedriven
    | MarkerWritten
    | MarkerFound
    | MarkerNotSigned
    | MarkerForeign
    | MarkerOfAnotherTime
)

Event = LogEvent | RunEvent | SweepEvent | WindowEvent | PublishEvent
Tell = Callable[[Event], None]


def nobody(event: Event) -> None:
    """Tells nobody."""


# Lines. In ASCII: what stands between two processes may have another encoding.


def to_line(event: Event, connector: str | None = None) -> str:
    """The line that carries an event, without a line feed. `connector`: whose it is, from a driver of several.

    >>> to_line(IntervalQuiet(seq=7), "orders")
    '{"kafka_s3": 1, "connector": "orders", "event": "interval_quiet", "seq": 7}'
    """
    whose = {} if connector is None else {_CONNECTOR: connector}
    return json.dumps({_MARKER: LINE_VERSION, **whose, **msgspec.to_builtins(event)})


def connector_of(line: str) -> str | None:
    """Whose event a line carries that `from_line` knows.

    >>> connector_of(to_line(IntervalQuiet(seq=7), "orders"))
    'orders'
    """
    name = json.loads(line).get(_CONNECTOR)
    return name if isinstance(name, str) else None


def from_line(line: str) -> Event | None:
    """The event that a line carries; `None` of another program's line, of another version, and of an unknown event.

    >>> from_line(to_line(IntervalQuiet(seq=7))), from_line('{"kafka_s3": 2}'), from_line("26/11/22 WARN Utils")
    (IntervalQuiet(seq=7), None, None)
    """
    if not line.startswith(f'{{"{_MARKER}": '):
        return None
    try:
        values = json.loads(line)
        is_known = type(values[_MARKER]) is int and values[_MARKER] == LINE_VERSION
        return msgspec.convert(values, Event) if is_known else None
    except (ValueError, RecursionError, msgspec.ValidationError):
        return None
