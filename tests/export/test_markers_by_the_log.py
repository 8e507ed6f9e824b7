"""Markers follow from the log alone: from what it says is reached, whatever a run is said to have been."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_s3.errors import (
    ExporterError,
    KafkaUnavailable,
    TopicMissing,
)
from kafka_s3.export.rewind import look, rewind
from kafka_s3.export.run import run
from kafka_s3.ranges import TopicPartition
from tests.export.markers import World, hour, make
from tests.support import request


@pytest.fixture
def world() -> World:
    return World()


def test_an_hour_that_was_marked_as_a_success_by_hand(world: World) -> None:
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


def test_nothing_is_written_into_an_hour_that_was_empty(world: World) -> None:
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


def test_what_was_rewound_has_no_marker_to_come(world: World) -> None:
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
def test_a_topic_that_goes_between_two_questions(world: World, error: type[ExporterError]) -> None:
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


def test_a_topic_that_is_created_again_between_two_questions(world: World) -> None:
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
