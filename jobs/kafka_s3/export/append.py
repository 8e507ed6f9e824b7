"""New entries of the log: what they say, what they carry over, and what it means to lose their slot.

    entry       an entry of any kind; whose ranges are what `accounting` accounted for: nothing else can be committed
    commit      the entry that closes a plan of the run with what was accounted for
    put         it goes into the log, unless another run was first

An entry says all that is known: what a new one does not say itself is carried over from the newest, so that the newest
alone is the state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kafka_s3 import __version__
from kafka_s3.errors import Fenced
from kafka_s3.export.accounting import AccountedRanges
from kafka_s3.log.entries import Entry, FailedRange, Interval, Kind, Plan, RangeGap, Restart, TopicState
from kafka_s3.log.plans import OpenPlan
from kafka_s3.log.progress import reaching
from kafka_s3.log.store import Committed, Log, SlotTaken
from kafka_s3.plan.batch import RunRequest, bytes_per_record, moved
from kafka_s3.plan.planner import failed_under
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings


@dataclass(frozen=True, slots=True)
class EntrySlot:
    """Where the next entry goes, and who writes it: after `head`, or the first of its log."""

    settings: Settings
    request: RunRequest
    cluster_id: str
    head: Committed | None

    @property
    def carried_failed(self) -> tuple[FailedRange, ...]:
        """The failed ranges that the newest entry has, unless they were planned under another configuration."""
        return () if self.head is None else failed_under(self.settings, self.head.entry)

    @property
    def carried_boundary_ms(self) -> int | None:
        return None if self.head is None else self.head.entry.boundary_ms

    @property
    def carried_unfinished(self) -> Interval | None:
        return None if self.head is None else self.head.entry.unfinished


class _Carried:
    """Of a field: as the newest entry has it."""


_CARRIED: Final = _Carried()
#: The kinds of entries that commit nothing.
Uncommitted = Literal[Kind.VOID, Kind.CHECKPOINT, Kind.REWIND, Kind.ADOPT]


def entry(
    slot: EntrySlot,
    what: Uncommitted | AccountedRanges,
    topics: Mapping[str, TopicState],
    *,
    closes: OpenPlan | None = None,
    interval: Interval | None = None,
    boundary_ms: int | _Carried | None = _CARRIED,
    unfinished: Interval | _Carried | None = _CARRIED,
    failed: Sequence[FailedRange] | _Carried = _CARRIED,
    gaps: Sequence[RangeGap] = (),
    restarts: Sequence[Restart] = (),
    reason: str | None = None,
) -> Entry:
    """The entry of a slot. `what`: its kind, or what it commits; that is of a plan, which it `closes`."""
    head, settings, request = slot.head, slot.settings, slot.request
    assert closes is not None or not isinstance(what, AccountedRanges), "what was accounted for is of a plan"
    return Entry(
        kind=Kind.COMMIT if isinstance(what, AccountedRanges) else what,
        seq=0 if head is None else head.entry.seq + 1,
        connector=settings.name,
        previous_sha256=None if head is None else head.sha256,
        cluster_id=slot.cluster_id,
        engine=__version__,
        configuration_sha256=settings.configuration_sha256,
        isolation_level=settings.kafka.isolation_level,
        run_id=request.run_id,
        try_number=request.try_number,
        spark_application=request.spark_application,
        plan_sha256=None if closes is None else closes.sha256,
        interval=interval,
        boundary_ms=slot.carried_boundary_ms if isinstance(boundary_ms, _Carried) else boundary_ms,
        unfinished=slot.carried_unfinished if isinstance(unfinished, _Carried) else unfinished,
        bytes_per_record=None if head is None else _rounded(bytes_per_record(head.entry)),
        topics=dict(topics),
        ranges=what.ranges if isinstance(what, AccountedRanges) else (),
        failed=slot.carried_failed if isinstance(failed, _Carried) else tuple(failed),
        gaps=tuple(gaps),
        restarts=tuple(restarts),
        reason=reason,
    )


def commit(
    slot: EntrySlot, planned: OpenPlan, accounted: AccountedRanges, still_failed: Sequence[FailedRange]
) -> Entry:
    """What was accounted for of a plan; `still_failed`: what failed before in partitions that the plan leaves out."""
    plan, head, now_ms = planned.plan, slot.head, slot.request.now_ms
    assert head is not None, "a plan follows an entry"
    return entry(
        slot,
        accounted,
        topics_after(plan, accounted, now_ms),
        closes=planned,
        interval=plan.interval,
        boundary_ms=boundary(plan.interval, head, now_ms),
        unfinished=plan.interval if plan.more else _unfinished_later(plan, head),
        failed=(*still_failed, *accounted.failed),
    )


def boundary(interval: Interval | None, head: Committed, now_ms: int) -> int | None:
    """The latest interval end that was committed; a backfill of an older interval does not move it back, but any
    commit does that finds it in the future."""
    ends = [head.entry.last_boundary_ms(now_ms), interval.end_ms if interval is not None else None]
    return max((end for end in ends if end is not None), default=None)


def _unfinished_later(plan: Plan, head: Committed) -> Interval | None:
    """What limits left of a later interval than the plan's: a backfill of an older one does not finish that."""
    left = head.entry.unfinished
    return left if left is not None and plan.interval is not None and plan.interval.end_ms < left.end_ms else None


def topics_after(plan: Plan, accounted: AccountedRanges, now_ms: int) -> Mapping[str, TopicState]:
    """Where a commit brings the topics, and what has reached the plan's interval with it."""
    topics = moved(plan.topics, {done.tp: done.next_offset for done in accounted.ranges})
    if plan.interval is None:
        return topics
    at_end = [
        TopicPartition(topic, p)
        for topic, parts in plan.ends.items()
        for p, end in parts.items()
        if topic not in accounted.replaced_topics and topics[topic].positions[p] >= end
    ]
    return reaching(topics, at_end, plan.interval.end_ms, now_ms)


def _rounded(size: float | None) -> int | None:
    return None if size is None else math.ceil(size)


def put(log: Log, new: Entry) -> Committed:
    """Write an entry; `Fenced` if another run wrote one first."""
    committed = log.put_entry(new)
    if isinstance(committed, SlotTaken):
        raise fenced_by(committed.winner.entry)
    return committed


def same_commit(winner: Committed, ours: Entry) -> Committed:
    """The winner of a lost commit, if it committed the same plan and all that we had finished."""
    theirs = winner.entry
    same_plan = theirs.kind is Kind.COMMIT and theirs.plan_sha256 == ours.plan_sha256
    covered = all((theirs.position(done.tp) or 0) >= done.next_offset for done in ours.ranges)
    if same_plan and covered:
        return winner
    raise fenced_by(theirs)


def fenced_by(theirs: Entry) -> Fenced:
    return Fenced(
        f"Run {theirs.run_id} (try {theirs.try_number}) wrote log entry {theirs.seq} ({theirs.kind}) first.",
        next="Nothing more was written; a retry reads the log again.",
    )
