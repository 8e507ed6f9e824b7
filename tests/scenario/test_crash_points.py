"""Every named place to die, beside every fault of the store: a retry makes the objects of an undisturbed run.

In process, over the in-memory ports: what has died sends nothing more, and its successor knows the bucket alone.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from kafka_s3.crash_points import CrashPoint
from kafka_s3.dead_letter import letters_layout
from kafka_s3.naming import KeyLayout, format_data_key
from tests.scenario.harness import HistoryExport, HistoryShape
from tests.scenario.kafka import Sort
from tests.scenario.ledger import LOG, name_of
from tests.scenario.processes import THIS, Fate, Process, ProcessKilled, What

FOR_EVER = 10**6
#: Requests of a run, and of its retry, that writes objects at once and in parts.
REQUESTS = (
    "LIST log",
    "GET log",
    "LIST plan",
    "GET plan",
    "GET owners",
    "LIST data",
    "PUT log",
    "START log",
    "PART log",
    "COMPLETE log",
    "PUT owners",
    "PUT plan",
    "HEAD data",
    "START data",
    "PART data",
    "COMPLETE data",
    "PUT data",
)
LETTERS = ("START rejected", "PART rejected", "COMPLETE rejected")


@dataclass(frozen=True)
class Fault:
    """The store does not answer the first such request, or no request from there on."""

    name: str
    after: bool
    for_ever: bool

    @property
    def fate(self) -> Fate:
        return Fate(What.FAIL, 1, self.after, requests=FOR_EVER if self.for_ever else 1, name=self.name)


def faults(sides: bool) -> list[Fault]:
    names = (*REQUESTS, *LETTERS) if sides else REQUESTS
    return [Fault(name, after, for_ever) for name in names for after in (False, True) for for_ever in (False, True)]


def make_world(sides: bool) -> HistoryExport:
    """Three partitions that one plan exports: objects of one request and of several parts; with `sides` families of
    values, keys and headers, and dead letters."""
    world = HistoryExport(sides, HistoryShape(flush_size=4), batch_records_max=100)
    for tp in world.tps():
        world.produce(tp, Sort.PLAIN, 5, [0])
        world.produce(tp, Sort.TOMBSTONE, 1, [0])
    if sides:
        world.produce(world.tps()[0], Sort.BAD, 1, [0])
    return world


def run(world: HistoryExport, fates: Sequence[Fate] = (), *, again: bool = True) -> Process:
    return world.run(world.ask(boundaries=None, clock_shift_ms=0, again=again), fates)


def objects_in(world: HistoryExport) -> dict[str, bytes]:
    """All but plans, entries and owners."""
    found = world.store.contents().items()
    return {key: body for key, body in found if not key.startswith("_") or "/rejected/" in key}


@functools.cache
def undisturbed(sides: bool) -> tuple[dict[str, bytes], tuple[CrashPoint, ...]]:
    """What one run makes that nothing happens to, and the points that it passes; a second run finds nothing to do."""
    world = make_world(sides)
    process = run(world)
    assert process.error is None
    made = objects_in(world)
    assert run(world).error is None
    assert objects_in(world) == made
    world.check()
    assert made.keys() == world.ledger.listed
    THIS.install()  # it is called while tests are collected, those of other folders too
    return made, tuple(process.passed)


def passings(sides: bool) -> list[Fate]:
    """A death at the first and at the last passing of each point."""
    passed = undisturbed(sides)[1]
    times = [(point, at) for point in CrashPoint if point in passed for at in sorted({1, passed.count(point)})]
    return [Fate(What.DIE, at, point=point) for point, at in times]


def plain(key: str) -> str:
    """A key without the suffix that it got because its name was taken."""
    name = name_of(key)
    assert name is not None, f"{key} is not a key of ours"
    layout = letters_layout(LOG.root, LOG.connector) if key.startswith("_") else KeyLayout()
    return format_data_key(layout, replace(name, collision=0))


def test_every_place_to_die_is_passed() -> None:
    """No named point is without a call: a run that dies, and one that finishes its plan, pass all of them."""
    world = make_world(sides=True)
    first = run(world, [Fate(What.DIE, 1, point=CrashPoint.READ_ALL)])
    assert isinstance(first.error, ProcessKilled)
    second = run(world)
    assert second.error is None
    passed = {*first.passed, *second.passed}
    assert passed == set(CrashPoint), f"never passed: {[point.name for point in CrashPoint if point not in passed]}"


def test_faults_name_requests_that_are_made() -> None:
    """Each fault of the list meets a request of an undisturbed run, or of its retry: none is there for nothing."""
    for sides in (False, True):
        world = make_world(sides)
        made = {*run(world).requests, *run(world).requests}
        named = {fault.name for fault in faults(sides)}
        assert named <= made, named - made


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("sides", "death"),
    [
        pytest.param(
            sides, death, id=f"{'families' if sides else 'values'}-{death.point and death.point.name}-{death.at}"
        )
        for sides in (False, True)
        for death in passings(sides)
    ],
)
def test_whoever_comes_after_a_death_makes_the_same_objects(sides: bool, death: Fate) -> None:
    """Killed at any named place, with any fault of the store before it or in the retry after it, a run's objects are
    byte for byte those of an undisturbed run, each once, and the log is whole. Garbage collection leaves nothing else.

    Families in parts may get a second name: one member was visible already, and the bytes of the others were sent.
    """
    expected = undisturbed(sides)[0]
    for fault in faults(sides):
        for before in (True, False):
            world = make_world(sides)
            first = run(world, [death, fault.fate] if before else [death], again=False)
            assert before or isinstance(first.error, ProcessKilled)
            world.check()
            run(world, [] if before else [fault.fate])
            for _ in range(2):  # a fault may have failed a range, which the next run repeats
                world.check()
                assert run(world).error is None
            world.check()
            made = objects_in(world)
            assert {plain(key): made[key] for key in world.ledger.listed} == expected, f"{fault}, {before=}"
            assert all(expected[plain(key)] == body for key, body in made.items()), f"{fault}, {before=}"
            assert sides or made == expected, f"{fault}, {before=}"
            assert list(world.store.uploads(LOG.log_prefix)) == [], f"{fault}, {before=}"
            world.clean_up()
            assert objects_in(world).keys() == world.ledger.listed, f"{fault}, {before=}"
            assert world.store.uploads_open() == 0, f"{fault}, {before=}"
