"""Forecasts: what the next run would do, without writing anything."""

import pytest

from kafka_s3.errors import LogMissing
from kafka_s3.export.run import prepare
from kafka_s3.report.forecast import Finish, Make, Nothing, Void, forecast
from kafka_s3.settings.run import Policies
from tests.export.harness import MemoryExport
from tests.support import make_settings, request


def _exported(count: int = 5) -> MemoryExport:
    world = MemoryExport()
    world.produce(0, count)
    world.run()
    return world


def test_at_first_sight_it_shows_the_first_plan_only() -> None:
    """A connector that never ran gets a forecast from the topics' starts, and the bucket stays empty."""
    world = MemoryExport()
    world.produce(0, 5)
    found = forecast(world.exporter, request())
    assert isinstance(found.step, Make)
    assert [(each.partition, each.start, each.end) for each in found.step.plan.ranges] == [(0, 0, 5)]
    assert found.first_seen == ("orders",)
    assert world.store.contents() == {}


def test_the_forecast_is_what_the_run_then_plans() -> None:
    """The forecast's plan is the one that a run of the same id makes, the first one included."""
    world = MemoryExport()
    for count in (5, 3):
        world.produce(0, count)
        found = forecast(world.exporter, request("next"))
        planned, _ = prepare(world.exporter, request("next"))
        assert isinstance(found.step, Make)
        assert planned is not None
        assert found.step.plan.ranges == planned.plan.ranges
        assert found.step.plan.seq == planned.plan.seq
        world.run()


def test_nothing_new_is_said_and_nothing_written() -> None:
    """With everything exported there is nothing to plan, and the bucket stays as it is."""
    world = _exported()
    before = world.store.contents()
    assert isinstance(forecast(world.exporter, request()).step, Nothing)
    assert world.store.contents() == before


def test_an_open_plan_is_what_comes_next() -> None:
    """A plan that was left open is finished first, or voided if the configuration is another one now."""
    world = _exported()
    world.produce(0, 5)
    planned, _ = prepare(world.exporter, request("died"))
    assert planned is not None
    assert forecast(world.exporter, request()).step == Finish(planned.plan)
    world.settings = make_settings(flush_size=4)
    found = forecast(world.exporter, request())
    assert isinstance(found.step, Void)
    assert "configuration has changed" in found.step.reason
    world.run()
    newest = world.exporter.log.entry(planned.plan.seq)
    assert newest is not None
    assert newest.entry.reason == found.step.reason


def test_partitions_that_are_left_out_are_named() -> None:
    """A partition whose data is gone is not a part of the plan, and the reason is there."""
    world = _exported()
    world.produce(0, 5)
    world.produce(1, 2)
    world.broker.set_log_start("orders", 0, 8)
    found = forecast(world.exporter, request())
    assert isinstance(found.step, Make)
    assert [each.partition for each in found.step.plan.ranges] == [1]
    (left,) = found.excluded
    assert "[5, 8) are gone" in str(left)


def test_what_the_configuration_allows_is_said_and_not_written() -> None:
    """The run would write the gap first: the forecast names it apart from what is left out, and writes nothing."""
    world = _exported()
    world.settings = make_settings(policies=Policies(record_data_loss=True))
    world.produce(0, 5)
    world.broker.set_log_start("orders", 0, 8)
    before = world.store.contents()
    found = forecast(world.exporter, request())
    assert [str(left.tp) for left in found.accepted] == ["orders-0"]
    assert found.excluded == ()
    assert world.store.contents() == before


def test_what_would_stop_a_run_stops_the_forecast() -> None:
    """A log that vanished beside its plans is an error here, as it is for the run."""
    world = _exported()
    for key in list(world.store.contents()):
        if "/log/" in key:
            world.store.delete(key)
    with pytest.raises(LogMissing):
        forecast(world.exporter, request())
