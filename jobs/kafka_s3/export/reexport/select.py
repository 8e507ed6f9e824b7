"""The committed ranges that may hold records of a window. Reads the whole live log: late records may be anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_s3.commit_log import Interval, RangeEntry
from kafka_s3.coverage import Backwards
from kafka_s3.export.ahead import AHEAD, PARALLEL, in_order, workers
from kafka_s3.export.log import Committed, Log
from kafka_s3.ranges import TopicPartition

#: A range of the live log: its entry's number, its partition, its start.
LiveRange = tuple[int, TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A range of the live export, and what its entry says of its topic.

    `parted_at`: from which offset on Kafka's log is known to be another one since; `None`: it is the same.
    `interval`: of the plan that it was written for, at whose end it was to stop; `None` without one.
    """

    seq: int
    generation: int
    topic_id: str
    done: RangeEntry
    parted_at: int | None
    interval: Interval | None = None

    @property
    def key(self) -> LiveRange:
        return self.seq, self.done.tp, self.done.start

    @property
    def is_dated(self) -> bool:
        """Whether the log says how old its records are."""
        return self.done.min_timestamp_ms is not None


def candidates(log: Log, head: Committed, window: Interval) -> list[Candidate]:
    """The ranges of the export up to `head` whose records may be in a window, oldest entry first; none withdrawn.

    Memory: what is found, and PARALLEL * AHEAD entries.
    """
    found: list[Candidate] = []
    seen = Backwards()
    with workers(PARALLEL) as pool:
        for committed in log.back_from(head, pool, PARALLEL * AHEAD):
            entry = committed.entry
            parted = {done.tp: seen.parted_at(done.tp) for done in entry.ranges}  # before its own restarts are taken
            for done in reversed(seen.take(entry).ranges):
                if may_hold(done, window):
                    state = entry.topics[done.topic]
                    planned_for = entry.interval if done.interval is None else None
                    found.append(
                        Candidate(entry.seq, state.generation, state.topic_id, done, parted[done.tp], planned_for)
                    )
    return found[::-1]


def surely_before(log: Log, found: Sequence[Candidate], window: Interval) -> frozenset[LiveRange]:
    """Those ranges without timestamps whose plans show that all their records are older than a window.

    A plan for an interval ends in front of the first record at or after the interval's end (DESIGN §4.2), so nothing
    in it is as new as that; unless the rule was bent, which its notes say of the partition. One GET for each plan.
    """
    asked = [
        each
        for each in found
        if not each.is_dated and each.interval is not None and each.interval.end_ms <= window.start_ms
    ]
    seqs = sorted({each.seq for each in asked})
    with workers(PARALLEL) as pool:
        planned = dict(zip(seqs, in_order(pool, log.plan, seqs, PARALLEL * AHEAD), strict=True))
    before = set()
    for each in asked:
        of = planned[each.seq]
        if of is not None and not any(note.startswith(f"{each.done.tp}: ") for note in of.plan.notes):
            before.add(each.key)
    return frozenset(before)


def may_hold(done: RangeEntry, window: Interval) -> bool:
    """Whether a range may have records in a window: by its timestamps, or because the log does not say."""
    if done.min_timestamp_ms is None or done.max_timestamp_ms is None:
        return done.records + done.rejected + done.tombstones > 0
    return done.min_timestamp_ms < window.end_ms and done.max_timestamp_ms >= window.start_ms
