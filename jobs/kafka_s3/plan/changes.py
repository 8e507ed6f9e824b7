"""What became of the logs while they were read: asked after the last read, before the commit.

See docs/protocol.md#when-kafka-changed
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka_s3.errors import EXIT_DATA, EXIT_TEMPORARY
from kafka_s3.log.entries import Plan, PlannedRange, TopicState
from kafka_s3.plan.planner import KafkaSnapshot
from kafka_s3.plan.results import Failure, RangeResult
from kafka_s3.plan.snapshot_retry import with_retry
from kafka_s3.ports import Broker, LogPoint, TopicView
from kafka_s3.ranges import TopicPartition


@dataclass(frozen=True, slots=True)
class Changes:
    """`failures`: partitions whose records, of ranges that were read, may not be those of the log that was planned, and
    why. `replaced_topics`: those that are another one now, or gone: what Kafka answered about them says
    nothing."""

    failures: Mapping[TopicPartition, Failure]
    replaced_topics: frozenset[str]


def changed_while_read(broker: Broker, plan: Plan, read: Sequence[PlannedRange]) -> Changes:
    """Compare what Kafka holds now with a plan, for ranges that were read."""
    return with_retry(broker, lambda views: _changed(broker, views, plan, read))


def replaced_among(
    names: Iterable[str], views: Mapping[str, TopicView], topics: Mapping[str, TopicState]
) -> frozenset[str]:
    """The topics among `names` that are no longer what `topics` says."""
    return frozenset(name for name in names if name not in views or views[name].topic_id != topics[name].topic_id)


def _changed(broker: Broker, views: Mapping[str, TopicView], plan: Plan, read: Sequence[PlannedRange]) -> Changes:
    ends: dict[TopicPartition, int] = {}
    for planned in read:
        ends[planned.tp] = max(planned.end, ends.get(planned.tp, 0))
    replaced = replaced_among({*plan.ends, *(tp.topic for tp in ends)}, views, plan.topics)
    why: dict[TopicPartition, Failure] = {}
    for tp in ends:
        if tp.topic in replaced:
            why[tp] = _failure(tp, f"topic {tp.topic} was deleted or created again while it was read.")
        elif tp.partition in views[tp.topic].leaderless:  # a retry reads it again, and keeps back no other partition
            why[tp] = Failure(f"{tp}: its leader went away before it was known that its log stayed.", EXIT_TEMPORARY)
    offsets = broker.offsets(tp for tp in ends if tp not in why)
    points = {}
    for tp, seen in offsets.items():
        epoch = plan.topics[tp.topic].epochs.get(tp.partition)
        if epoch is not None and seen.leader_epoch not in (None, epoch):
            points[tp] = LogPoint(ends[tp], epoch)
    truncated = broker.diverged(points) if points else {}
    for tp, seen in offsets.items():
        if tp in truncated or seen.high_watermark < ends[tp]:
            at = truncated.get(tp, seen.high_watermark)
            why[tp] = _failure(tp, f"the log was truncated at {at} while it was read (an unclean leader election).")
    return Changes(why, replaced)


def _failure(tp: TopicPartition, why: str) -> Failure:
    return Failure(f"{tp}: {why}", EXIT_DATA, kafka_changed=True)


def waits(result: RangeResult) -> bool:
    """Whether a range has nothing to commit, and a retry may have."""
    failure = result.failure if result.entry is None else None
    return failure is not None and failure.exit_status == EXIT_TEMPORARY


def why_not_read(tp: TopicPartition, snapshot: KafkaSnapshot) -> Failure:
    excluded = snapshot.why_excluded(tp)
    if excluded is None:
        return Failure(f"{tp} is not there any more.", EXIT_DATA, kafka_changed=True)
    return Failure(str(excluded), excluded.exit_status, kafka_changed=excluded.exit_status == EXIT_DATA)
