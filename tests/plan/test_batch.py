"""What a commit will cover: the rules of docs/protocol.md#end-offsets one by one, fair shares, and cuts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.log.entries import FailedRange, Interval, PlannedRange
from kafka_s3.plan.batch import (
    Bent,
    EndInFuture,
    NextInFuture,
    NextIsOlder,
    cut,
    end_offset,
    make_batch,
    noted,
    share,
)
from kafka_s3.ports import PartitionOffsets, TimedOffset
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.run import Limits
from tests.support import make_settings

END, NOW = 1_000, 2_000
T = [TopicPartition("orders", partition) for partition in range(6)]


def end(
    start: int, timed: TimedOffset | None, *, last_stable: int = 50, first: int | str | None = "not asked"
) -> tuple[int, Bent | None]:
    def first_timestamp() -> int | None:
        assert first != "not asked", "a record would be read although the answer does not depend on it"
        return first  # type: ignore[return-value]

    return end_offset(start, PartitionOffsets(0, last_stable, 60), timed, END, NOW, first_timestamp)


def limits(*, flush_size: int = 10, range_max: int = 100, batch_max: int = 10**9, bytes_max: int = 2**40) -> Limits:
    return make_settings(
        flush_size=flush_size, range_records_max=range_max, batch_records_max=batch_max, batch_bytes_max=bytes_max
    ).limits


# End offsets.


def test_the_end_is_the_first_record_behind_the_interval() -> None:
    """The broker's answer, as it is."""
    assert end(10, TimedOffset(30, END)) == (30, None)


def test_without_such_a_record_the_end_is_the_lso() -> None:
    """-1 (nothing at or after that time) means all that can be read."""
    assert end(10, None) == (50, None)


def test_the_end_is_never_above_the_lso() -> None:
    """What lies in an open transaction is not read."""
    assert end(10, TimedOffset(55, END + 5)) == (50, None)


def test_the_end_is_never_below_the_start() -> None:
    """An answer or an LSO below the position is only "nothing new"."""
    assert end(40, TimedOffset(30, END), first=END) == (40, None)
    assert end(55, None) == (55, None)
    assert end(55, TimedOffset(30, END)) == (55, None)


def test_a_timestamp_in_the_future_does_not_stall_the_export() -> None:
    """Found in the future, the end is the LSO, and the plan says why."""
    offset, why = end(10, TimedOffset(30, NOW + 1))
    assert (offset, why) == (50, EndInFuture(30, NOW + 1))
    assert noted(EndInFuture(30, 2001)) == "the record at 30 is dated 2001 ms, in the future: read up to the LSO"
    assert end(10, TimedOffset(30, NOW)) == (30, None)


@pytest.mark.parametrize("found", [5, 10])
def test_an_older_record_behind_a_newer_one_is_read(found: int) -> None:
    """Nothing would be read, but the first visible record is older than the end: up to the LSO."""
    why = NextIsOlder(10, END - 1)
    assert end(10, TimedOffset(found, END), first=END - 1) == (50, why)
    said = "the next record, at or after 10, is older than the interval's end (999 ms): read up to the LSO"
    assert noted(why) == said


def test_a_visible_record_from_the_future_is_read() -> None:
    """Nothing would be read, and the first visible record is from the future: up to the LSO."""
    why = NextInFuture(10, NOW + 1)
    assert end(10, TimedOffset(10, END), first=NOW + 1) == (50, why)
    assert noted(why) == "the next record, at or after 10, is from the future (2001 ms): read up to the LSO"


def test_a_record_without_a_timestamp_is_read() -> None:
    """-1 is older than any end."""
    assert end(10, TimedOffset(10, END), first=-1)[0] == 50


@pytest.mark.parametrize("first", [END, END + 1, NOW, None])
def test_a_record_of_the_next_interval_waits(first: int | None) -> None:
    """Nothing would be read, and the first visible record is of a later interval, or there is none: nothing new."""
    assert end(10, TimedOffset(10, END), first=first) == (10, None)


def test_no_record_is_read_where_the_offsets_decide() -> None:
    """With nothing readable above the start, or an end above it, no record is asked for."""
    assert end(50, TimedOffset(20, END)) == (50, None)
    assert end(10, TimedOffset(11, END)) == (11, None)


maybe = st.none() | st.integers(-1, 3 * END)


@given(
    st.integers(0, 60), st.integers(0, 60), st.none() | st.tuples(st.integers(0, 60), st.integers(END, 3 * END)), maybe
)
def test_an_end_is_always_within_bounds(
    start: int, last_stable: int, timed: tuple[int, int] | None, first: int | None
) -> None:
    """Whatever the broker answers: not below the start, and above it only up to the LSO."""
    found, _ = end(start, TimedOffset(*timed) if timed else None, last_stable=last_stable, first=first)
    assert start <= found <= max(start, last_stable)


# Shares.


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=6), st.integers(1, 3000))
def test_shares_are_fair(wants: list[int], total: int) -> None:
    """They add up to what there is or is wanted; nobody gets more than wanted, nor less than one who wants less."""
    wanted = dict(zip(T, wants, strict=False))
    shares = share(wanted, total)
    assert list(shares) == list(wanted)
    assert sum(shares.values()) == min(total, sum(wants))
    assert all(shares[tp] <= wanted[tp] for tp in wanted)
    unmet = [shares[tp] for tp in wanted if shares[tp] < wanted[tp]]
    assert not unmet or max(shares.values()) - min(unmet) <= 1


# Cuts.


@given(st.integers(0, 10**6), st.integers(0, 5000), st.integers(0, 5000), st.integers(1, 300), st.integers(1, 2000))
def test_cuts_are_where_objects_end(start: int, size: int, allowed: int, flush_size: int, range_max: int) -> None:
    """Ranges join from the start; each but the last is a whole number of objects; the limits hold."""
    ranges = cut(OffsetRange(T[0], start, start + size), allowed, limits(flush_size=flush_size, range_max=range_max))
    at = start
    for part in ranges:
        assert part.start == at
        assert 0 < part.size <= max(flush_size, range_max)
        at = part.end
    assert all(part.size % flush_size == 0 for part in ranges[:-1])
    covered = at - start
    assert covered <= min(allowed, size)
    assert covered > min(allowed, size) - flush_size
    if allowed >= size:
        assert covered == size
    elif allowed >= flush_size:
        assert covered % flush_size == 0


def test_cuts_have_a_fixed_size() -> None:
    """A range is the largest multiple of flush.size within export.range.records.max."""
    whole = OffsetRange(T[0], 7, 107)
    assert [(r.start, r.end) for r in cut(whole, 100, limits(flush_size=10, range_max=45))] == [
        (7, 47),
        (47, 87),
        (87, 107),
    ]
    assert [(r.start, r.end) for r in cut(whole, 67, limits(flush_size=10, range_max=45))] == [(7, 47), (47, 67)]
    assert [(r.start, r.end) for r in cut(whole, 5, limits(flush_size=10, range_max=45))] == [(7, 12)]
    assert cut(whole, 0, limits()) == ()


# Batches.


def failed(partition: int, start: int, end: int) -> FailedRange:
    return FailedRange(
        topic="orders", partition=partition, start=start, end=end, reason="no leader", interval=Interval(0, 9)
    )


def test_a_failed_range_is_planned_again_as_it_was() -> None:
    """Same bounds, splits and logical time; its partition gets nothing else in this batch, the others do."""
    again = [failed(0, 5, 8), failed(0, 8, 9)]
    batch = make_batch([OffsetRange(T[0], 5, 500), OffsetRange(T[1], 0, 20)], again, limits(), None)
    assert batch.ranges == (
        PlannedRange("orders", 0, 5, 8, Interval(0, 9)),
        PlannedRange("orders", 0, 8, 9, Interval(0, 9)),
        PlannedRange("orders", 1, 0, 20),
    )


def test_the_limits_do_not_shrink_what_is_planned_again() -> None:
    """Other bounds would mean other objects."""
    batch = make_batch([], [failed(0, 0, 5000)], limits(batch_max=10), 1e9)
    assert [(r.start, r.end) for r in batch.ranges] == [(0, 5000)]


def test_a_batch_is_bounded_by_records() -> None:
    """export.batch.records.max over all partitions; `more` says that something was left."""
    wanted = [OffsetRange(T[0], 0, 100), OffsetRange(T[1], 0, 100)]
    bounded = make_batch(wanted, [], limits(batch_max=60), None)
    assert [(r.partition, r.start, r.end) for r in bounded.ranges] == [(0, 0, 30), (1, 0, 30)]
    assert bounded.more
    assert not make_batch(wanted, [], limits(batch_max=200), None).more


def test_a_batch_is_bounded_by_bytes() -> None:
    """export.batch.bytes.max at the size that records had last; one offset at least, or nothing would ever move."""
    wanted = [OffsetRange(T[0], 0, 100)]
    assert make_batch(wanted, [], limits(bytes_max=4000), 100.0).ranges[0].end == 40
    assert make_batch(wanted, [], limits(bytes_max=4000), 1e6).ranges[0].end == 1
    assert make_batch(wanted, [], limits(bytes_max=4000), None).ranges[0].end == 100


@given(st.lists(st.integers(0, 300), min_size=1, max_size=6), st.integers(1, 200), st.integers(1, 50))
@settings(deadline=None)
def test_batch_after_batch_covers_everything(sizes: list[int], batch_max: int, flush_size: int) -> None:
    """Following the batches, every offset is planned once, and every batch moves."""
    bounds = limits(flush_size=flush_size, batch_max=batch_max)
    at = dict.fromkeys(T[: len(sizes)], 0)
    for _ in range(2000):
        wanted = [OffsetRange(tp, at[tp], size) for tp, size in zip(at, sizes, strict=True)]
        batch = make_batch(wanted, [], bounds, None)
        if not batch.ranges:
            break
        assert sum(planned.end - planned.start for planned in batch.ranges) <= batch_max
        for planned in batch.ranges:
            assert planned.start == at[planned.tp]
            at[planned.tp] = planned.end
        assert batch.more == (list(at.values()) != sizes)
    assert list(at.values()) == sizes
