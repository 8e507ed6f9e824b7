"""New entries of the log: what they carry over, and what it means to lose their slot."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kafka_s3 import __version__
from kafka_s3.errors import Fenced
from kafka_s3.export.outcome import Exported
from kafka_s3.log.entries import Entry, Interval, Kind, Plan, TopicState
from kafka_s3.log.progress import reaching
from kafka_s3.log.store import Committed, Log, SlotTaken
from kafka_s3.plan.batch import RunRequest, bytes_per_record, moved
from kafka_s3.plan.planner import failed_under
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings


def new_entry(
    settings: Settings, request: RunRequest, cluster_id: str, head: Committed | None, **what: object
) -> Entry:
    """A new entry after `head`; what it does not say itself is carried over, so that the newest alone is the state."""
    state: dict[str, object] = {}
    if head is not None:
        old = head.entry
        state = {"topics": old.topics, "boundary_ms": old.boundary_ms, "unfinished": old.unfinished}
        state |= {"failed": failed_under(settings, old), "bytes_per_record": _rounded(bytes_per_record(old))}
    state.update(what)
    return Entry(
        seq=0 if head is None else head.entry.seq + 1,
        connector=settings.name,
        previous_sha256=None if head is None else head.sha256,
        cluster_id=cluster_id,
        engine=__version__,
        configuration_sha256=settings.configuration_sha256,
        isolation_level=settings.kafka.isolation_level,
        run_id=request.run_id,
        try_number=request.try_number,
        spark_application=request.spark_application,
        **state,  # type: ignore[arg-type]
    )


def boundary(interval: Interval | None, head: Committed, now_ms: int) -> int | None:
    """The latest interval end that was committed; a backfill of an older interval does not move it back, but any
    commit does that finds it in the future."""
    ends = [head.entry.reached_ms(now_ms), interval.end_ms if interval is not None else None]
    return max((end for end in ends if end is not None), default=None)


def unfinished_later(plan: Plan, head: Committed) -> Interval | None:
    """What limits left of a later interval than the plan's: a backfill of an older one does not finish that."""
    left = head.entry.unfinished
    return left if left is not None and plan.interval is not None and plan.interval.end_ms < left.end_ms else None


def topics_after(plan: Plan, exported: Exported, now_ms: int) -> Mapping[str, TopicState]:
    """Where a commit brings the topics, and what has reached the plan's interval with it."""
    topics = moved(plan.topics, {done.tp: done.next_offset for done in exported.ranges})
    if plan.interval is None:
        return topics
    come = [
        TopicPartition(topic, p)
        for topic, parts in plan.ends.items()
        for p, end in parts.items()
        if topic not in exported.others and topics[topic].positions[p] >= end
    ]
    return reaching(topics, come, plan.interval.end_ms, now_ms)


def _rounded(size: float | None) -> int | None:
    return None if size is None else math.ceil(size)


def put(log: Log, entry: Entry) -> Committed:
    committed = log.put_entry(entry)
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
