"""Exactly once under transforms that drop records and route what is left of two topics into the same folders."""

from __future__ import annotations

import pytest

from kafka_s3.crash_points import CrashPoint
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.ports import PartitionOffsets
from tests.scenario.harness import HistoryExport, HistoryShape
from tests.scenario.kafka import Sort
from tests.scenario.machine import REACHED
from tests.scenario.processes import Fate, ProcessKilled, What
from tests.scenario.routed import RoutedExport, is_dropped
from tests.scenario.test_exactly_once import play
from tests.scenario.test_zombies import Haunted

EXAMPLES = 60
EVERYTHING = (
    *("a record dropped", "two topics in one folder", "one topic in two folders"),
    *("a second name", "a plan finished by another run", "an orphan collected", "a time reached"),
    *("a sleeper woke", "a restart", "a range withdrawn"),
)
DEATHS = (CrashPoint.WROTE_OBJECT, CrashPoint.FINISHED_RANGE, CrashPoint.CHECKED_KAFKA, CrashPoint.COMMITTING)


class Routed(Haunted):
    """The same histories, zombies and sweeps, with transforms."""

    world_type: type[HistoryExport] = RoutedExport


def test_routed_and_filtered_records_are_kept_exactly_once() -> None:
    """Nothing lost, nothing twice, every dropped record counted, no name shared, nothing deleted that an entry lists;
    `verify`, against Kafka too, finds no fault, and a collection leaves nothing in any folder."""
    REACHED.clear()
    play(EXAMPLES, histories=Routed)
    rare = {name: REACHED[name] for name in EVERYTHING if not REACHED[name]}
    assert not rare, REACHED


def make_world(sides: bool) -> RoutedExport:
    """Two topics whose records have the same partitions and offsets, all in the same folders."""
    world = RoutedExport(sides, HistoryShape(flush_size=2), batch_records_max=100)
    for tp in world.tps():
        world.produce(tp, Sort.PLAIN, 9, [0])
        world.produce(tp, Sort.TOMBSTONE, 2, [0])
    return world


def run(world: HistoryExport, *fates: Fate, again: bool = False) -> BaseException | None:
    return world.run(world.ask(boundaries=None, clock_shift_ms=0, again=again), fates).error


def data_in(world: HistoryExport) -> dict[str, bytes]:
    return {key: body for key, body in world.store.contents().items() if key.startswith("topics/")}


@pytest.mark.parametrize("point", DEATHS, ids=lambda point: point.name)
@pytest.mark.parametrize("sides", [False, True], ids=["values", "families"])
def test_a_retry_makes_the_same_routed_objects(sides: bool, point: CrashPoint) -> None:
    """Killed wherever objects are there and nothing lists them, a run's retry makes the same keys and bytes."""
    expected = make_world(sides)
    assert run(expected) is None
    world = make_world(sides)
    assert isinstance(run(world, Fate(What.DIE, 1, point=point)), ProcessKilled)
    assert run(world, again=True) is None
    world.check()
    assert data_in(world) == data_in(expected)
    dropped = sum(is_dropped(fact.number) for fact in world.kafka.facts)
    assert world.ledger.head is not None
    assert sum(done.filtered for done in world.ledger.head.ranges) == dropped > 0


@pytest.mark.parametrize("sides", [False, True], ids=["values", "families"])
def test_a_zombie_makes_the_same_routed_objects(sides: bool) -> None:
    """Whoever works on a committed plan once more puts nothing beside what is there."""
    world = make_world(sides)
    assert run(world) is None
    before = data_in(world)

    def body(exporter: Exporter) -> None:
        head = exporter.log.newest()
        assert head is not None
        planned = exporter.log.plan(head.entry.seq)
        assert planned is not None
        for each in planned.plan.ranges:
            task = RangeTask(each, 0, 0, PartitionOffsets(0, each.end, each.end))
            export_range(exporter.settings, task, exporter.store, exporter.broker)  # type: ignore[arg-type]

    assert world._start(body, ()).error is None
    assert data_in(world) == before
    world.check()
