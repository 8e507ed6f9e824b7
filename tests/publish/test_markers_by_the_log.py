"""Markers follow from the log alone: from what it says is reached, whatever a run is said to have been."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from kafka_s3.errors import (
    ExporterError,
    KafkaUnavailable,
    TopicMissing,
)
from kafka_s3.export.run import prepare, run
from kafka_s3.export.task import RangeResult, RangeTask
from kafka_s3.log.entries import Interval
from kafka_s3.plan.batch import RunRequest
from kafka_s3.ranges import TopicPartition
from kafka_s3.rewind.rewind import look, rewind
from tests.export.place import DiedError
from tests.publish.markers import MarkedExport, hour, make
from tests.support import HOUR_MS, request


@pytest.fixture
def world() -> MarkedExport:
    return MarkedExport()


def test_an_hour_that_was_marked_as_a_success_by_hand(world: MarkedExport) -> None:
    """Its tasks never ran, or were skipped: by the log nothing is complete, whatever `complete` is told. The next run
    makes up for the hour, in its own path, and then it has its marker."""
    world.settings = make(timestamp_extractor="Wallclock")
    world.now_ms = hour(1)
    world.run()
    world.produce(hour(1) + 5)
    world.now_ms = hour(2)
    assert world.mark(interval=world.interval) == []
    world.now_ms = hour(3)
    world.produce(hour(2) + 5)
    world.run()
    assert world.hours() == [0, 1, 2]
    assert [key.rpartition("/")[0][-7:] for key in world.objects()] == ["hour=09", "hour=10"]


def test_nothing_is_written_into_an_hour_that_was_empty(world: MarkedExport) -> None:
    """By the logical time too: the hour was over and has its marker, and what comes late is of the hour it comes in."""
    world.settings = make(timestamp_extractor="Wallclock")
    for number in (1, 2, 3):
        world.now_ms = hour(number)
        world.run()
    assert world.hours() == [0, 1, 2]
    world.produce(hour(1) + 5)
    world.now_ms = hour(4)
    world.run()
    assert [key.rpartition("/")[0][-7:] for key in world.objects()] == ["hour=11"]


def test_what_was_rewound_has_no_marker_to_come(world: MarkedExport) -> None:
    """An hour that was not marked before is not while a part of it is to be exported again."""
    world.produce(hour(0) + 5)
    world.now_ms = hour(1)
    run(world.exporter, world.request(), world.execute, lambda _: None)
    found = look(world.exporter, {TopicPartition("orders", 0): 0})
    rewind(world.exporter, found, request("by hand"))
    assert world.mark(interval=world.interval) == [world_marker("refunds")]
    world.run()
    assert (world.hours(), world.hours("refunds")) == ([0], [0])


def world_marker(topic: str) -> str:
    return f"topics/{topic}/year=2026/month=11/day=20/hour=08/_COMPLETE.json"


@pytest.mark.parametrize("error", [KafkaUnavailable, TopicMissing])
def test_a_topic_that_goes_between_two_questions(world: MarkedExport, error: type[ExporterError]) -> None:
    """The others get their markers; so does it once it is back."""
    world.now_ms = hour(1)
    run(world.exporter, world.request(), world.execute, lambda _: None)
    asked = world.broker.offsets_for_time

    def offsets_for_time(*given: Any) -> Any:
        world.broker.lead("refunds", 0, up=False)
        world.broker.offsets_for_time = asked  # type: ignore[method-assign]
        raise error("gone")

    world.broker.offsets_for_time = offsets_for_time  # type: ignore[method-assign]
    world.mark(interval=world.interval)
    assert (world.hours(), world.hours("refunds")) == ([0], [])
    world.broker.lead("refunds", 0, up=True)
    world.mark(interval=world.interval)
    assert (world.hours(), world.hours("refunds")) == ([0], [0])


def test_a_topic_that_is_created_again_between_two_questions(world: MarkedExport) -> None:
    """What Kafka answers is of another topic of the same name: it proves nothing."""
    world.produce(hour(0) + 5)
    world.now_ms = hour(1)
    run(world.exporter, world.request(), world.execute, lambda _: None)
    asked = world.broker.offsets_for_time

    def offsets_for_time(*given: Any) -> Any:
        world.broker.recreate_topic("orders")
        world.broker.offsets_for_time = asked  # type: ignore[method-assign]
        return asked(*given)

    world.broker.offsets_for_time = offsets_for_time  # type: ignore[method-assign]
    world.mark(interval=world.interval)
    assert (world.hours(), world.hours("refunds")) == ([], [0])


# By the extractor Wallclock: a path that has its marker is left as it is.


def by_runs(**more: str) -> MarkedExport:
    """A connector whose paths are of runs, with a record of its first hour and the marker of that."""
    world = MarkedExport(settings=make(timestamp_extractor="Wallclock", **more))
    world.produce(hour(0) + 5)
    world.now_ms = hour(1)
    world.run()
    return world


def hours_with_objects(world: MarkedExport) -> list[str]:
    return [key.rpartition("/")[0][-2:] for key in world.objects()]


def backfill(world: MarkedExport, number: int) -> int:
    """A run of an old hour; its exit status."""
    asked = RunRequest("backfill", 1, Interval(hour(number), hour(number + 1)), world.now_ms)
    return run(world.exporter, asked, world.execute, lambda _: None).exit_status


def begin_again(world: MarkedExport) -> None:
    world.broker.recreate_topic("orders")
    world.arrived.clear()


def grow(world: MarkedExport) -> None:
    world.broker.create_topic("orders", 3)


@pytest.mark.parametrize(
    ("happens", "partition"), [(grow, 2), (begin_again, 0)], ids=["a new partition", "a topic created again"]
)
def test_a_backfill_adds_nothing_to_a_marked_hour(happens: Callable[[MarkedExport], None], partition: int) -> None:
    """What has reached no time is exported by the next live run, under its hour; then that is marked."""
    world = by_runs(export_on_topic_recreated="restart")
    happens(world)
    world.produce(hour(0) + 5, partition=partition)
    assert backfill(world, 0) == 0
    assert (hours_with_objects(world), world.hours()) == (["08"], [0])
    world.now_ms = hour(2)
    world.run()
    assert (hours_with_objects(world), world.hours()) == (["08", "09"], [0, 1])


def test_an_hour_without_a_marker_takes_what_is_new() -> None:
    """A backfill of an hour that is not complete yet writes to it, and then it is marked."""
    world = by_runs(export_completeness_lateness_ms=str(HOUR_MS))
    grow(world)
    world.produce(hour(0) + 5, partition=2)
    assert world.hours() == [-1]
    assert backfill(world, 0) == 0
    assert hours_with_objects(world) == ["08", "08"]
    world.now_ms = hour(2)
    world.run()
    assert world.hours() == [-1, 0]


def test_an_hour_is_not_marked_while_a_plan_is_to_write_to_it() -> None:
    """A backfill has planned a new partition under the hour, and did not commit yet."""
    world = by_runs(export_completeness_lateness_ms=str(HOUR_MS))
    world.now_ms, world.runs = hour(2), 2
    run(world.exporter, world.request(), world.execute, lambda _: None)
    grow(world)
    world.produce(hour(0) + 5, partition=2)
    asked = RunRequest("backfill", 1, Interval(hour(0), hour(1)), world.now_ms)
    planned, _ = prepare(world.exporter, asked)
    assert planned is not None
    world.mark(interval=world.interval)
    assert (world.hours(), world.hours("refunds")) == ([-1], [-1, 0])
    world.run()
    assert hours_with_objects(world) == ["08", "08"]


def test_what_a_limit_left_of_a_marked_hour_takes_nothing_new() -> None:
    """Another topic is cut in the hour: what is new in this one does not come with the rest of that."""
    world = by_runs()
    world.settings = replace(world.settings, limits=replace(world.settings.limits, batch_records_max=2))
    for _ in range(6):
        world.produce(hour(1) + 5, topic="refunds")
    world.now_ms, world.runs = hour(2), 2
    batches: list[int] = []

    def dies_second(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        batches.append(len(tasks))
        if len(batches) == 2:
            raise DiedError
        return world.execute(tasks)

    with pytest.raises(DiedError):
        run(world.exporter, world.request(), dies_second, lambda _: None)
    world.mark(interval=world.interval)
    assert (world.hours(), world.hours("refunds")) == ([0, 1], [0])
    grow(world)
    world.produce(hour(2) + 5, partition=2)
    world.now_ms = hour(3)
    world.run()
    assert hours_with_objects(world) == ["08", "10"]
    assert (world.hours(), world.hours("refunds")) == ([0, 1, 2], [0, 1, 2])
