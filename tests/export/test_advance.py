"""What is told between a plan and its commit: by a clock that stands still unless it is moved."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest

from kafka_s3.events import Event, PlanAdvanced, PlanOpened
from kafka_s3.export.advance import EVERY_S, Advance
from kafka_s3.export.task import RangeTask
from kafka_s3.log.entries import PlannedRange, RangeEntry
from kafka_s3.plan.results import Failure, RangeResult
from kafka_s3.ports import PartitionOffsets


def task(partition: int, start: int, end: int) -> RangeTask:
    planned = PlannedRange(topic="orders", partition=partition, start=start, end=end)
    return RangeTask(planned, 0, 0, PartitionOffsets(0, end, end))


TASKS = (task(0, 0, 600), task(0, 600, 1000), task(1, 0, 1000))


@dataclass
class Told:
    """What an advance tells by a clock of its own."""

    now: float = 100.0
    events: list[Event] = field(default_factory=list)
    advance: Advance = field(init=False)

    def __post_init__(self) -> None:
        self.advance = Advance(self.events.append, clock=lambda: self.now)
        self.advance.tell(PlanOpened(seq=13, offsets=2000, ranges=3))

    def read(self, offsets: int, after_s: float) -> None:
        self.now += after_s
        self.advance.read(offsets)

    def advanced(self) -> list[tuple[int, int]]:
        """Of each line: offsets read, ranges done."""
        return [(each.read, each.done) for each in self.events if isinstance(each, PlanAdvanced)]


@pytest.fixture
def told() -> Told:
    return Told()


def ended(one: RangeTask, size: int) -> RangeResult:
    at = one.planned
    entry = RangeEntry(
        topic=at.topic,
        partition=at.partition,
        start=at.start,
        next_offset=at.end,
        records=at.end - at.start,
        bytes=size,
        rejected=0,
        tombstones=0,
        skipped_offsets=0,
        min_timestamp_ms=None,
        max_timestamp_ms=None,
        leader_epoch=None,
        log_start=0,
        high_watermark=at.end,
        last_stable=at.end,
        objects=(),
    )
    return RangeResult(at, entry, None)


def test_each_tenth_is_told_once(told: Told) -> None:
    """As it is passed, however the batches fall; a plan and its number come first."""

    def execute(tasks: object) -> list[RangeResult]:
        for offsets in (199, 1, 100, 100, 450, 50):
            told.read(offsets, 2)
        return []

    told.advance.over(execute)(TASKS)
    assert isinstance(told.events[0], PlanOpened)
    assert told.advanced() == [(200, 0), (400, 0), (850, 0)]
    last = told.events[-1]
    assert isinstance(last, PlanAdvanced)
    assert (last.seq, last.offsets, last.ranges, last.elapsed_ms) == (13, 2000, 3, 10_000)


def test_a_quick_plan_is_told_by_its_commit_alone(told: Told) -> None:
    """Nothing in the first second, and no last line where all is read."""

    def execute(tasks: object) -> list[RangeResult]:
        told.read(1000, 0.5)
        told.advance.ended([ended(each, 10) for each in TASKS])
        told.now += 60
        told.advance.look()
        return []

    told.advance.over(execute)(TASKS)
    assert told.advanced() == []


def test_what_takes_long_is_told_all_the_same(told: Told) -> None:
    """Every 30 s, though nothing was read meanwhile: whoever looks at the log sees that it is alive."""

    def execute(tasks: object) -> list[RangeResult]:
        told.read(100, 2)
        for _ in range(3):
            told.now += EVERY_S
            told.advance.look()
        return []

    told.advance.over(execute)(TASKS)
    assert told.advanced() == [(100, 0)] * 3


def test_ranges_that_ended_are_counted(told: Told) -> None:
    """With the bytes of those that were written; what nobody counted while it was read counts once its range ended."""
    failed = RangeResult(TASKS[1].planned, None, Failure("x", 75))

    def execute(tasks: object) -> list[RangeResult]:
        told.now += 5
        told.advance.ended([ended(TASKS[0], 4711)])
        told.now += 5
        told.advance.ended([failed])
        return []

    told.advance.over(execute)(TASKS)
    assert told.advanced() == [(600, 1), (1000, 2)]
    assert [each.bytes for each in told.events if isinstance(each, PlanAdvanced)] == [4711, 4711]


def test_the_next_plan_begins_anew(told: Told) -> None:
    """Nothing of the plan before it counts for it."""

    def execute(tasks: object) -> list[RangeResult]:
        told.read(1000, 5)
        return []

    run = told.advance.over(execute)
    run(TASKS)
    told.advance.tell(PlanOpened(seq=14, offsets=2000, ranges=3))
    run(TASKS)
    assert [each.seq for each in told.events if isinstance(each, PlanAdvanced)] == [13, 14]
    assert told.advanced() == [(1000, 0)] * 2


def test_a_thread_tells_while_nothing_moves() -> None:
    """Where no batch and no range comes, it is the thread that tells; it is gone with the plan."""
    heard = threading.Event()
    advance = Advance(lambda _: heard.set(), every_s=0.01, pause_s=0.0)

    def execute(tasks: object) -> list[RangeResult]:
        assert heard.wait(60)
        return []

    advance.over(execute)(TASKS)
    assert "kafka-s3-advance" not in [each.name for each in threading.enumerate()]
