"""What may be said of the export: complete up to a time. By one entry of the log alone, and always by these functions.

An entry says of a partition that it has **reached** a time, the end of an interval, if a run that was planned once the
interval was over found where its records of before end (docs/protocol.md#end-offsets), and everything up to there is
exported: in objects that the log lists, refused, or given up as lost, as entries say. What came later, and what no
reader could see then, is the next interval's.

| what happens | what is reached then |
|---|---|
| a commit brings a partition to the end that its plan names, or it was there already | the interval's end |
| a run finds nothing to plan | the same, by a checkpoint |
| a limit cuts it, its range fails, it is left out, the plan is voided | what was reached before |
| it is rewound, or begins again after an unclean election or under another topic id | nothing |
| a topic, or a partition, is seen for the first time; a log is adopted | nothing |
| a time that lies in the future | nothing: a clock was wrong |

Entries of releases before that have no such times. Nothing is claimed by them; only where a run goes on, and what it
leaves alone, follows from the one boundary that they have for all their partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from kafka_s3.log.entries import Entry, Interval, TopicState
from kafka_s3.ranges import TopicPartition


def reached_ms(entry: Entry, tp: TopicPartition, now_ms: int) -> int | None:
    """Up to which time a partition is exported; `None`: up to none that the log could name."""
    state = entry.topics.get(tp.topic)
    at = None if state is None or state.reached is None else state.reached.get(tp.partition)
    return None if at is None or at > now_ms else at


def complete_until_ms(entry: Entry, topics: Iterable[str], now_ms: int) -> int | None:
    """Up to which time these topics are exported with all their partitions; `None`: up to none, or there is no topic.

    All that is older and came in time is in objects that the log lists. `topics` are those that the connector asks for:
    one that the log does not know is not exported at all.
    """
    times = [_topic_until_ms(entry, topic, now_ms) for topic in set(topics)]
    known = [at for at in times if at is not None]
    return min(known) if known and len(known) == len(times) else None


def _topic_until_ms(entry: Entry, topic: str, now_ms: int) -> int | None:
    state = entry.topics.get(topic)
    if state is None or not state.positions:
        return None
    # One that failed has a position too; were it not so, nothing could be claimed.
    partitions = {*state.positions, *(each.partition for each in entry.failed if each.topic == topic)}
    times = [partition_until_ms(entry, TopicPartition(topic, p), now_ms) for p in partitions]
    return min(at for at in times if at is not None) if None not in times else None


def partition_until_ms(entry: Entry, tp: TopicPartition, now_ms: int) -> int | None:
    """Up to which time one partition is exported, what failed of it included; `None`: up to none."""
    # What failed is written under its own time once more, which may be an older one than was reached since.
    failed = [each.interval for each in entry.failed if each.tp == tp]
    times = [reached_ms(entry, tp, now_ms), *(None if each is None else each.start_ms for each in failed)]
    return min(at for at in times if at is not None) if None not in times else None


def goes_on_from_ms(entry: Entry, tp: TopicPartition, now_ms: int) -> int | None:
    """The time from which the next run plans a partition, interval by interval; `None`: it takes what it finds.

    What has reached no time goes on from the newest boundary that was committed at all.
    """
    at = reached_ms(entry, tp, now_ms)
    return entry.last_boundary_ms(now_ms) if at is None else at


def has_passed(entry: Entry, tp: TopicPartition, interval: Interval | None, now_ms: int) -> bool:
    """Whether a run for an interval has nothing to do in a partition: a backfill of an old hour, or once more of it.

    What arrived late since lies at the position, and belongs to the next interval: taking it here would export live
    data under an old hour's name, or, by the rule for late records, up to the LSO.
    """
    state = entry.topics.get(tp.topic)
    if interval is None or state is None:
        return False
    at = entry.last_boundary_ms(now_ms) if state.reached is None else reached_ms(entry, tp, now_ms)
    if at is None or at < interval.end_ms:
        return False
    if state.reached is not None:
        return True
    is_cut = entry.unfinished is not None and entry.unfinished.end_ms <= interval.end_ms
    return not is_cut and not any(each.tp == tp and _lies_in(each.interval, interval) for each in entry.failed)


def reaching(
    topics: Mapping[str, TopicState], tps: Iterable[TopicPartition], at_ms: int, now_ms: int
) -> dict[str, TopicState]:
    """The topics with some partitions that have reached a time. None goes back, unless its time lies in the future."""
    new = dict(topics)
    for tp in tps:
        state = new[tp.topic]
        known = state.reached or {}
        before = known.get(tp.partition, at_ms)
        reached = at_ms if before > now_ms else max(before, at_ms)
        new[tp.topic] = msgspec.structs.replace(state, reached=dict(sorted({**known, tp.partition: reached}.items())))
    return new


def _lies_in(inner: Interval | None, outer: Interval) -> bool:
    return inner is None or (outer.start_ms <= inner.start_ms and inner.end_ms <= outer.end_ms)
