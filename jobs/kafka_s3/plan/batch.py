"""What a commit will cover: end offsets, fair shares, splits. Pure: the broker's answers are arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import msgspec

from kafka_s3.log.entries import Entry, FailedRange, Interval, Plan, PlannedRange, TopicState
from kafka_s3.ports import PartitionOffsets, TimedOffset
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.run import Limits


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Who asks, for which time. `interval=None` (asset-triggered, or `until: now`): up to what can be read now.

    `planned_apart`: the run's plan was written, not found, by another process just before (Airflow's task `plan`).
    """

    run_id: str
    try_number: int
    interval: Interval | None
    now_ms: int
    spark_application: str | None = None
    planned_apart: bool = False


@dataclass(frozen=True, slots=True)
class EndInFuture:
    """The record at the interval's end is dated in the future: one bad clock cannot stall the export."""

    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class NextIsOlder:
    """Nothing would be read, although the next record is older than the interval's end."""

    start: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class NextInFuture:
    """Nothing would be read, although the next record is from the future."""

    start: int
    timestamp_ms: int


#: Why a partition is read up to the LSO, and so maybe beyond its interval's end.
Bent = EndInFuture | NextIsOlder | NextInFuture


def noted(bent: Bent) -> str:
    """The note of it in a plan. Nothing reads it: `Plan.bent` has the partitions."""
    match bent:
        case EndInFuture(offset, timestamp_ms):
            return f"the record at {offset} is dated {timestamp_ms} ms, in the future: read up to the LSO"
        case NextIsOlder(start, timestamp_ms):
            which = "older than the interval's end"
        case NextInFuture(start, timestamp_ms):
            which = "from the future"
        case _:
            assert_never(bent)
    return f"the next record, at or after {start}, is {which} ({timestamp_ms} ms): read up to the LSO"


def end_offset(
    start: int,
    offsets: PartitionOffsets,
    timed: TimedOffset | None,
    end_ms: int,
    now_ms: int,
    first_timestamp: Callable[[], int | None],
) -> tuple[int, Bent | None]:
    """Where a range that starts at `start` ends for the records before `end_ms`, and why if the rule was bent.

    The end is the first offset at or after `end_ms`, never above the LSO, never below the start. Two cases take the
    LSO instead (docs/protocol.md#end-offsets): the timestamp found lies in the future, so that one bad clock cannot
    stall the export; or nothing would be read although the first record there is older than `end_ms`, or from the
    future.
    """
    last_stable = offsets.last_stable
    if timed is None:
        return max(start, last_stable), None
    if timed.timestamp_ms > now_ms:
        return max(start, last_stable), EndInFuture(timed.offset, timed.timestamp_ms)
    end = max(start, min(timed.offset, last_stable))
    if end == start and last_stable > start:
        first = first_timestamp()
        if first is not None and (first < end_ms or first > now_ms):
            return last_stable, NextIsOlder(start, first) if first < end_ms else NextInFuture(start, first)
    return end, None


def share(wanted: Mapping[TopicPartition, int], total_max: int) -> dict[TopicPartition, int]:
    """Split a budget of offsets fairly: small wants are met in full, large ones get equal shares.

    >>> t = [TopicPartition("t", p) for p in range(3)]
    >>> list(share({t[0]: 2, t[1]: 50, t[2]: 50}, 20).values())
    [2, 9, 9]
    """
    shares: dict[TopicPartition, int] = {}
    left, waiting = total_max, len(wanted)
    for tp, want in sorted(wanted.items(), key=lambda item: (item[1], item[0])):
        shares[tp] = min(want, left // waiting)
        left -= shares[tp]
        waiting -= 1
    return {tp: shares[tp] for tp in wanted}


def cut(offsets: OffsetRange, allowed: int, limits: Limits) -> tuple[OffsetRange, ...]:
    """The ranges of one partition in a batch: at most `allowed` offsets, cut where objects end anyway."""
    if allowed < offsets.size and allowed > limits.flush_size:
        allowed -= allowed % limits.flush_size  # a limit should not make a small object
    whole = OffsetRange(offsets.tp, offsets.start, offsets.start + min(allowed, offsets.size))
    size = max(limits.flush_size, limits.range_records_max - limits.range_records_max % limits.flush_size)
    return whole.split(size) if whole.size else ()


@dataclass(frozen=True, slots=True)
class Batch:
    """The ranges of one plan; `more`: a limit left offsets of the same interval for the next batch."""

    ranges: tuple[PlannedRange, ...]
    more: bool


def make_batch(
    wanted: Sequence[OffsetRange],
    again: Sequence[FailedRange],
    limits: Limits,
    bytes_per_record: float | None,
    times: Mapping[TopicPartition, Interval] | None = None,
) -> Batch:
    """The ranges of the next plan: what failed before once more as it was, and the rest within the limits.

    `times` are the logical times of new ranges where they are not their plan's.
    """
    repeated = tuple(PlannedRange(f.topic, f.partition, f.start, f.end, f.interval) for f in again)
    held = {failed.tp for failed in again}
    fresh = {offsets.tp: offsets for offsets in wanted if offsets.tp not in held and offsets.size}
    budget = limits.batch_records_max
    if bytes_per_record:
        budget = min(budget, max(1, int(limits.batch_bytes_max / bytes_per_record)))
    shares = share({tp: offsets.size for tp, offsets in fresh.items()}, budget)
    ranges = [part for tp, offsets in fresh.items() for part in cut(offsets, shares[tp], limits)]
    own = times or {}
    planned = tuple(
        PlannedRange(part.tp.topic, part.tp.partition, part.start, part.end, own.get(part.tp)) for part in ranges
    )
    more = sum(part.size for part in ranges) < sum(offsets.size for offsets in fresh.values())
    return Batch((*repeated, *planned), more)


def bytes_per_record(newest: Entry | None) -> float | None:
    """How large a record was in the newest commit, or `None` if nothing is known."""
    if newest is None:
        return None
    if not any(entry.records for entry in newest.ranges):
        return newest.bytes_per_record
    records = sum(entry.records for entry in newest.ranges)
    return sum(entry.bytes for entry in newest.ranges) / records


def moved(topics: Mapping[str, TopicState], positions: Mapping[TopicPartition, int]) -> dict[str, TopicState]:
    """The topics with some positions replaced; a position never goes back here."""
    new = dict(topics)
    for tp, offset in positions.items():
        state = new[tp.topic]
        before = state.positions.get(tp.partition, 0)
        assert offset >= before, f"{tp}: the position would go back from {before} to {offset}"
        new[tp.topic] = msgspec.structs.replace(state, positions={**state.positions, tp.partition: offset})
    return new


def interval_of(own: Interval | None, plan_interval: Interval | None) -> Interval:
    """The logical time a range is written under: its own where it has one, else its plan's."""
    interval = own or plan_interval
    assert interval is not None, "neither the range nor its plan has a logical time"
    return interval


@dataclass(frozen=True, slots=True)
class PinnedEnds:
    """The end offsets that an earlier plan of the same run wrote down, the topics as they were then, and where the ends
    were bent."""

    ends: Mapping[TopicPartition, int]
    topics: Mapping[str, TopicState]
    notes: tuple[str, ...] = ()
    bent: frozenset[TopicPartition] = frozenset()

    @classmethod
    def of(cls, plan: Plan) -> PinnedEnds:
        ends = {TopicPartition(topic, p): end for topic, parts in plan.run.ends.items() for p, end in parts.items()}
        bent = frozenset(tp for tp in ends if plan.may_pass_its_end(tp))
        return cls(ends, plan.topics, plan.notes, bent)

    def holds(self, tp: TopicPartition, state: TopicState | None) -> bool:
        """Whether it says how far to read `tp`: it was not left out then, and its offsets are the same records.

        Under another leader those above the position may be others (an unclean election), so they are looked at anew.
        """
        then = self.topics.get(tp.topic)
        if tp not in self.ends or then is None or state is None:
            return False
        return (then.generation, then.epochs.get(tp.partition)) == (state.generation, state.epochs.get(tp.partition))
