"""Hourly runs over records whose clocks are wrong: nobody's bad clock stalls the export."""

from __future__ import annotations

import random

import pytest

from tests.conditions.conftest import Make
from tests.conditions.harness import LiveTopic

pytestmark = pytest.mark.faults

HOUR = 3_600_000
DAY_BEGINS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
IN_2100 = 4_102_444_800_000


def hourly(world: LiveTopic, hour: int, *, late_ms: int = 60_000) -> None:
    """The run for one hour of the day, a minute after it unless said otherwise."""
    end = DAY_BEGINS + (hour + 1) * HOUR
    world.run_well(interval=(end - HOUR, end), now_ms=end + late_ms)


def fill(world: LiveTopic, hour: int) -> list[int]:
    """Four records of an hour, a quarter of an hour apart."""
    numbers = [10 * hour + quarter for quarter in range(4)]
    for quarter, number in enumerate(numbers):
        world.send(number, timestamp_ms=DAY_BEGINS + hour * HOUR + quarter * HOUR // 4)
    return numbers


@pytest.mark.parametrize("kind", ["committed", "aborted", "two of them", "the first record"])
def test_one_record_of_2100(world: LiveTopic, kind: str) -> None:
    """One record of 2100, seen or aborted, holds up no hourly run: each of them exports all that was there."""
    expected: list[int] = []
    for hour in range(12):
        if (hour, kind) in {(0, "the first record"), (4, "committed"), (4, "two of them"), (7, "two of them")}:
            world.send(5000 + hour, timestamp_ms=IN_2100)
            expected.append(5000 + hour)
        if (hour, kind) == (4, "aborted"):
            world.transaction().begin().send(6000, timestamp_ms=IN_2100).abort()
        expected += fill(world, hour)
        hourly(world, hour)
        assert world.numbers() == {0: expected}
    world.check(expected)
    notes = [
        note for entry in world.entries() if (plan := world.exporter().log.plan(entry.seq)) for note in plan.plan.notes
    ]
    assert any("in the future: read up to the LSO" in note for note in notes)


def test_a_record_of_2100_behind_what_is_new(world: LiveTopic) -> None:
    """What arrives after a run's hour waits for its own run, until a record of 2100 lies before it."""
    fill(world, 0)
    fill(world, 1)
    hourly(world, 0)
    world.check(range(4))
    world.send(5000, timestamp_ms=IN_2100)
    fill(world, 2)
    hourly(world, 1)
    assert world.numbers()[0][:8] == [*range(4), *range(10, 14)]
    hourly(world, 2)
    world.check([*range(4), *range(10, 14), 5000, *range(20, 24)])


def test_missed_hours_with_a_record_of_2100(world: LiveTopic) -> None:
    """A run that finds eleven hours missed, with a record of 2100 among them, takes all of them and nothing twice."""
    expected = fill(world, 0)
    hourly(world, 0)
    for hour in range(1, 12):
        if hour == 6:
            world.send(5000, timestamp_ms=IN_2100)
            expected.append(5000)
        expected += fill(world, hour)
    hourly(world, 11)
    world.check(expected)
    ends = [(entry.interval.end_ms - DAY_BEGINS) // HOUR for entry in world.entries() if entry.interval is not None]
    assert ends[:6] == [1, 2, 3, 4, 5, 6]
    hourly(world, 12)
    world.check(expected)


@pytest.mark.parametrize("late_ms", [60_000, 24 * HOUR], ids=["punctual", "a day late"])
@pytest.mark.parametrize("seed", range(2))
def test_out_of_order_by_hours(make_world: Make, seed: int, late_ms: int) -> None:
    """Records of clocks that are hours late or early, in two partitions: after a day of hourly runs each is in once,
    and no partition was ever more than the early clocks' hours behind, whether runs are punctual or a day late."""
    world = make_world({"flush.size": "7"}).create(2)
    dice = random.Random(seed)
    sent: dict[int, list[int]] = {0: [], 1: []}
    counts: list[dict[int, int]] = []
    number = 0
    for hour in range(24):
        for _ in range(12):
            late = dice.choice([0] * 8 + [-5 * HOUR, -HOUR, HOUR // 2, 3 * HOUR])
            at = DAY_BEGINS + hour * HOUR + dice.randrange(HOUR) + late
            partition = dice.randrange(2)
            world.send(number, partition=partition, timestamp_ms=at)
            sent[partition].append(number)
            number += 1
        counts.append({partition: len(numbers) for partition, numbers in sent.items()})
        hourly(world, hour, late_ms=late_ms)
        exported = world.numbers()
        for partition, numbers in sent.items():
            found = exported.get(partition, [])
            assert found == numbers[: len(found)], "a record is missing among those exported"
            assert hour < 4 or len(found) >= counts[hour - 4][partition], f"hour {hour}: stalled"
    for hour in range(24, 28):
        hourly(world, hour, late_ms=late_ms)
    world.check(sent)


def test_an_early_record_that_is_exported_already(world: LiveTopic) -> None:
    """A record three hours early was exported while it was of the future. Runs that are made a day late find it first,
    below their position, and export what follows it all the same, hour by hour."""
    expected = [*fill(world, 0), 5000]
    world.send(5000, timestamp_ms=DAY_BEGINS + 3 * HOUR)
    hourly(world, 0)
    world.check(expected)
    for hour in (1, 2):
        expected += fill(world, hour)
        hourly(world, hour, late_ms=24 * HOUR)
        world.check(expected)


def test_hours_without_anything(world: LiveTopic) -> None:
    """Each hour in which nothing came is one entry of the log and nothing besides, and costs the next one nothing."""
    expected = fill(world, 0)
    hourly(world, 0)
    written = set(world.store.contents())
    for hour in range(1, 5):
        hourly(world, hour)
    new = set(world.store.contents()) - written
    assert len(new) == 4
    assert all("/log/" in key for key in new)
    expected += fill(world, 5)
    hourly(world, 5)
    world.check(expected)
