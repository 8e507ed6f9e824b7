"""Markers and plans that are made at the same moment: no run writes to a path that has its marker (Wallclock)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import prepare, run
from kafka_s3.log.entries import Interval, Kind
from kafka_s3.plan.batch import RunRequest
from kafka_s3.publish.completeness import Ran, mark_complete
from kafka_s3.ranges import TopicPartition
from kafka_s3.report.forecast import Void, forecast
from kafka_s3.rewind.rewind import look, rewind
from tests.publish.markers import MarkedExport, hour, make
from tests.support import HOUR_MS, hear, request


@dataclass
class Meanwhile:
    """A store to whose user something happens in front of its first PUT of some keys."""

    inner: Any
    part: str
    happens: Callable[[], object]
    done: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def put_if_absent(self, key: str, *given: Any, **named: Any) -> Any:
        if self.part in key and not self.done:
            self.done = True
            self.happens()
        return self.inner.put_if_absent(key, *given, **named)


def due() -> MarkedExport:
    """The first hour is due by now, and has no marker yet; a new partition holds a record that no run has seen."""
    world = MarkedExport(settings=make(timestamp_extractor="Wallclock", export_completeness_lateness_ms=str(HOUR_MS)))
    world.produce(hour(0) + 5)
    world.now_ms = hour(1)
    world.run()
    world.now_ms, world.runs = hour(2), 2
    run(world.exporter, world.request(), world.execute, lambda _: None)
    world.broker.create_topic("orders", 3)
    world.produce(hour(0) + 5, partition=2)
    return world


def backfill(world: MarkedExport) -> RunRequest:
    """Of the first hour."""
    return RunRequest("backfill", 1, Interval(hour(0), hour(1)), world.now_ms)


def mark(world: MarkedExport, part: str, happens: Callable[[], object]) -> list[str]:
    """The markers of a run to which something happens in front of a PUT."""
    store: Any = Meanwhile(world.store, part, happens)
    return mark_complete(Exporter(world.settings, store, world.broker), Ran(world.interval, world.now_ms))


def in_hours(world: MarkedExport) -> list[str]:
    return [key.rpartition("/")[0][-2:] for key in world.objects()]


def check_settled(world: MarkedExport) -> None:
    """The next run exports the record under its own hour, and every hour that is over gets its marker."""
    world.now_ms = hour(3)
    world.run()
    assert in_hours(world) == ["08", "10"]
    assert world.hours() == [-1, 0, 1]


def test_a_plan_that_comes_while_markers_are_written() -> None:
    """Nobody planned when who writes markers looked: a plan that is put before the first of its writes is seen by a
    second look, and keeps the marker back; and it is voided, since the path is claimed by then."""
    world = due()
    mark(world, "", lambda: prepare(world.exporter, backfill(world)))
    assert world.hours() == [-1]
    step = forecast(world.exporter, backfill(world)).step
    assert isinstance(step, Void)
    assert step.reason == "a path of topic orders that it was to write to is complete since"
    assert run(world.exporter, backfill(world), world.execute, lambda _: None).exit_status == 0
    head = world.exporter.log.newest()
    assert head is not None
    assert head.entry.kind is Kind.VOID
    check_settled(world)


def test_markers_that_come_while_a_run_plans() -> None:
    """They are not there when it looks, and are when its plan is: it is voided before anything is read."""
    world = due()
    store: Any = Meanwhile(world.store, "/plan/", lambda: world.mark(interval=world.interval))
    executed: list[int] = []

    def execute(tasks: Any) -> Any:
        executed.append(len(tasks))
        return world.execute(tasks)

    said: list[str] = []
    done = run(Exporter(world.settings, store, world.broker), backfill(world), execute, hear(said))
    assert (done.exit_status, executed) == (0, [])
    assert "plan 3 is voided: a path of topic orders that it was to write to is complete since" in said
    assert (world.hours(), in_hours(world)) == ([-1, 0], ["08"])
    check_settled(world)


def test_a_run_between_a_claim_and_its_markers() -> None:
    """It is claimed that the path is complete, and a run exports the new partition before the markers are there: under
    its own hour. They are written all the same."""
    world = due()

    def backfills() -> None:
        assert run(world.exporter, backfill(world), world.execute, lambda _: None).exit_status == 0

    mark(world, "_COMPLETE.json", backfills)
    assert (world.hours(), in_hours(world)) == ([-1, 0], ["08"])
    check_settled(world)


def test_a_rewind_while_markers_are_written() -> None:
    """The log has gone on since who writes markers looked: what it saw proves nothing any more."""
    world = due()

    def rewinds() -> None:
        rewind(world.exporter, look(world.exporter, {TopicPartition("orders", 0): 0}), request("by hand"))

    assert mark(world, "", rewinds) == []
    assert (world.hours(), world.hours("refunds")) == ([-1], [-1])


def test_two_programs_that_write_markers_at_once() -> None:
    """One claims the paths; the other leaves them to it."""
    world = due()
    made: list[str] = []
    assert mark(world, "/complete/", lambda: made.extend(world.mark(interval=world.interval))) == []
    assert len(made) == 2
    assert (world.hours(), world.hours("refunds")) == ([-1, 0], [-1, 0])


def test_markers_of_a_program_that_died_behind_its_claim() -> None:
    """The next run writes them; until then no run writes to their paths."""
    world = due()

    def dies() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mark(world, "_COMPLETE.json", dies)
    assert world.hours() == [-1]
    assert run(world.exporter, backfill(world), world.execute, lambda _: None).exit_status == 0
    assert in_hours(world) == ["08"]
    check_settled(world)
