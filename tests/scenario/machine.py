"""Histories, drawn by Hypothesis: each rule is something that may happen at any time."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_s3.crash_points import CrashPoint
from kafka_s3.plan.batch import RunRequest
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.run import Policies
from tests.scenario.harness import (
    ANCIENT_MS,
    FUTURE_MS,
    MINUTE_MS,
    PARTITIONERS,
    SLEEPERS_MAX,
    HistoryExport,
    HistoryShape,
)
from tests.scenario.kafka import Sort
from tests.scenario.processes import THIS, Engine, Fate, What

REACHED: Counter[str] = Counter()  # what the histories of this process came to, by name
small = st.integers(0, 3)
request_number = st.integers(1, 70)
boundaries = st.sampled_from([None, None, 0, 1, 2, 5])
clock_shifts = st.sampled_from([0, 0, 60 * MINUTE_MS, -60 * MINUTE_MS, 10**15])
timestamps = st.sampled_from(
    [[0], [0], [0, -5 * MINUTE_MS], [3 * MINUTE_MS, 0], [0, FUTURE_MS], [FUTURE_MS], [ANCIENT_MS, 0]]
)
# Where most is at stake: objects are there and nothing lists them.
LATE = (CrashPoint.WROTE_OBJECT, CrashPoint.FINISHED_RANGE, CrashPoint.CHECKED_KAFKA, CrashPoint.COMMITTING)
points = st.sampled_from([*CrashPoint, *LATE, *LATE])


@dataclass(frozen=True)
class PlannedRun:
    """What a run is asked for, after some records more."""

    boundaries: int | None = None
    clock_shift_ms: int = 0
    again: bool = False
    more: int = 0


asked = st.builds(PlannedRun, boundaries, clock_shifts, st.booleans(), st.integers(0, 3))


class Change(enum.Enum):
    CONFIGURATION = "another configuration"
    MACHINE = "another machine"
    RELEASE = "another release"


def fates(what: What) -> st.SearchStrategy[Fate]:
    """One thing that happens at a request, or at a named place."""
    at_request = st.builds(Fate, st.just(what), request_number, st.booleans(), st.none(), st.integers(1, 4))
    if what is What.FAIL:
        return at_request
    return st.one_of(at_request, st.builds(Fate, st.just(what), st.integers(1, 3), st.just(False), points))


maybe = st.one_of(st.just([]), st.lists(st.one_of(*(fates(what) for what in What)), min_size=1, max_size=1))


class Histories(RuleBasedStateMachine):
    """See `tests.scenario.ledger` for what always holds."""

    world: HistoryExport
    sides: tuple[bool, ...] = (False, True)
    world_type: type[HistoryExport] = HistoryExport

    def __init__(self) -> None:
        super().__init__()
        self.world = self.world_type()
        self.whole = True

    @initialize(data=st.data(), partitioner=st.sampled_from(PARTITIONERS), gzip=st.booleans())
    def begin(self, data: st.DataObject, partitioner: Any, gzip: bool) -> None:
        sides = data.draw(st.sampled_from(self.sides), "sides")
        self.world = self.world_type(sides, HistoryShape(partitioner=partitioner, gzip=gzip))
        for tp in self.world.tps():
            self.world.produce(tp, Sort.PLAIN, 4, [0])

    def tp(self, which: int) -> TopicPartition:
        tps = self.world.tps()
        return tps[which % len(tps)]

    # The world.

    @rule(which=small, count=st.integers(1, 8), stamps=timestamps)
    def produce(self, which: int, count: int, stamps: Sequence[int]) -> None:
        self.world.produce(self.tp(which), Sort.PLAIN, count, stamps)

    @rule(which=small, count=st.integers(1, 3), sort=st.sampled_from([Sort.TOMBSTONE, Sort.TOMBSTONE, Sort.BAD]))
    def produce_what_is_no_value(self, which: int, count: int, sort: Sort) -> None:
        self.world.produce(self.tp(which), sort, count, [0])

    @rule(which=small, count=st.integers(1, 3), stamp=st.sampled_from([None, 0, FUTURE_MS]))
    def leave_holes(self, which: int, count: int, stamp: int | None) -> None:
        self.world.kafka.holes(self.tp(which), count, stamp)

    @rule(which=small, record=st.integers(0, 20))
    def compact(self, which: int, record: int) -> None:
        self.world.kafka.compact(self.tp(which), record)

    @rule(which=small, offsets=st.sampled_from([1, 2, 5, 50]))
    def expire(self, which: int, offsets: int) -> None:
        self.world.kafka.expire(self.tp(which), offsets)

    @rule(which=small, offsets=st.integers(1, 8), count=st.integers(0, 9))
    def truncate(self, which: int, offsets: int, count: int) -> None:
        """What is produced then has the offsets of what is lost."""
        tp = self.tp(which)
        self.world.kafka.truncate(tp, offsets)
        self.world.produce(tp, Sort.PLAIN, count, [0])

    @rule(which=small)
    def elect(self, which: int) -> None:
        self.world.kafka.elect(self.tp(which))

    @rule(which=small)
    def begin_transaction(self, which: int) -> None:
        self.world.kafka.begin_transaction(self.tp(which))

    @rule()
    def end_transactions(self) -> None:
        self.world.kafka.end_transactions()

    @rule(topic=st.sampled_from(["orders", "returns"]))
    def grow(self, topic: str) -> None:
        if self.world.kafka.exists(topic) and self.world.kafka.partitions[topic] < 3:
            self.world.kafka.create(topic, self.world.kafka.partitions[topic] + 1)

    @rule(topic=st.sampled_from(["orders", "returns"]), partitions=st.integers(1, 3), count=st.integers(0, 9))
    def create_again(self, topic: str, partitions: int, count: int) -> None:
        if self.world.kafka.exists(topic):
            self.world.kafka.delete(topic)
        self.world.kafka.create(topic, partitions)
        self.world.produce(TopicPartition(topic, 0), Sort.PLAIN, count, [0])

    @rule()
    def delete(self) -> None:
        if self.world.kafka.exists("returns"):
            self.world.kafka.delete("returns")

    # The user.

    @rule(lossy=st.booleans(), anew=st.booleans())
    def decide(self, lossy: bool, anew: bool) -> None:
        self.world.policies = Policies(record_data_loss=lossy, restart_recreated=anew)

    @rule(flush_size=st.sampled_from([2, 3]), partitioner=st.sampled_from(PARTITIONERS), gzip=st.booleans())
    def reconfigure(self, flush_size: int, partitioner: Any, gzip: bool) -> None:
        self.world.shape = HistoryShape(flush_size, partitioner, gzip)

    @rule()
    def move_to_another_machine(self) -> None:
        self.world.engine = replace(self.world.engine, level=10 - self.world.engine.level)

    @rule(format=st.booleans())
    def upgrade(self, format: bool) -> None:
        engine = self.world.engine
        engine = replace(engine, bytes_version=engine.bytes_version + 1)
        self.world.engine = replace(engine, format_version=engine.format_version + 1) if format else engine
        self.world.engines.append(self.world.engine)

    @rule(which=small, offset=st.integers(0, 20), fate=maybe)
    def rewind(self, which: int, offset: int, fate: list[Fate]) -> None:
        tp = self.tp(which)
        position = self.world.ledger.position(tp)
        if position > 0 and self.has_a_bed(fate):
            self.world.rewind(tp, offset % position, fate)

    @rule(which=small, whole=st.booleans(), fate=maybe)
    def accept(self, which: int, whole: bool, fate: list[Fate]) -> None:
        tp = self.tp(which)
        if self.has_a_bed(fate):
            self.world.accept(tp.topic if whole else str(tp), fate)

    @rule(fate=maybe)
    def collect(self, fate: list[Fate]) -> None:
        if self.has_a_bed(fate):
            self.world.collect(fate)

    def has_a_bed(self, fates: list[Fate]) -> bool:
        """Whether another program may fall asleep."""
        return len(self.world.sleepers) < SLEEPERS_MAX or all(fate.what is not What.SLEEP for fate in fates)

    # Runs.

    @rule(asked=asked)
    def run(self, asked: PlannedRun) -> None:
        self.world.undisturbed(self.ask(asked))

    @rule(asked=asked, fate=fates(What.DIE), change=st.sampled_from([None, *Change]))
    def die(self, asked: PlannedRun, fate: Fate, change: Change | None) -> None:
        """And somebody changes something before the next run."""
        self.world.run(self.ask(asked), [fate])
        match change:
            case Change.CONFIGURATION:
                self.world.shape = replace(self.world.shape, flush_size=5 - self.world.shape.flush_size)
            case Change.MACHINE:
                self.move_to_another_machine()
            case Change.RELEASE:
                self.upgrade(False)

    @rule(asked=asked, fate=fates(What.FAIL))
    def get_errors(self, asked: PlannedRun, fate: Fate) -> None:
        self.world.run(self.ask(asked), [fate])

    @precondition(lambda self: len(self.world.sleepers) < SLEEPERS_MAX)
    @rule(
        asked=asked,
        fate=fates(What.SLEEP),
        then=st.lists(st.one_of(fates(What.DIE), fates(What.FAIL), fates(What.SLEEP)), max_size=1),
    )
    def fall_asleep(self, asked: PlannedRun, fate: Fate, then: list[Fate]) -> None:
        self.world.run(self.ask(asked), [fate, *then])

    @precondition(lambda self: len(self.world.sleepers) < SLEEPERS_MAX)
    @rule(
        asked=asked,
        at=st.integers(1, 6),
        name=st.sampled_from(["read", "topics", "offsets", "PUT plan", "PUT data"]),
        which=small,
        offsets=st.integers(1, 6),
        what=st.sampled_from(["truncate", "expire", "recreate"]),
    )
    def change_kafka_under_a_run(
        self, asked: PlannedRun, at: int, name: str, which: int, offsets: int, what: str
    ) -> None:
        """It wakes at once, and finds other records at the offsets that it planned, or none."""
        process = self.world.run(self.ask(asked), [Fate(What.SLEEP, at, after=True, name=name)])
        tp = self.tp(which)
        match what:
            case "truncate":
                self.truncate(which, offsets, offsets + 2)
            case "expire":
                self.world.kafka.expire(tp, offsets + 3)
            case "recreate":
                self.create_again(tp.topic, self.world.kafka.partitions[tp.topic], offsets + 4)
        if process.asleep:
            self.world.wake(self.world.sleepers.index(process))

    @precondition(lambda self: len(self.world.sleepers) < SLEEPERS_MAX)
    @rule(asked=asked, at=st.integers(1, 3))
    def collect_under_a_run(self, asked: PlannedRun, at: int) -> None:
        """It wakes at once, and commits what nobody listed when the garbage was looked for."""
        process = self.world.run(self.ask(asked), [Fate(What.SLEEP, at, after=True, name="PUT data")])
        self.world.collect()
        if process.asleep:
            self.world.wake(self.world.sleepers.index(process))

    @precondition(lambda self: self.world.sleepers)
    @rule(which=small)
    def wake(self, which: int) -> None:
        self.world.wake(which)

    @precondition(lambda self: self.world.sleepers)
    @rule(which=small)
    def never_wake(self, which: int) -> None:
        self.world.kill(which)

    @precondition(lambda self: len(self.world.engines) > 1)
    @rule(which=small)
    def run_an_older_release(self, which: int) -> None:
        older: list[Engine] = self.world.engines[:-1]
        self.world.run_an_older_one(self.ask(PlannedRun()), older[which % len(older)])

    def ask(self, asked: PlannedRun) -> RunRequest:
        for number in range(asked.more):
            self.world.produce(self.tp(number), Sort.PLAIN, 2, [0])
        return self.world.ask(boundaries=asked.boundaries, clock_shift_ms=asked.clock_shift_ms, again=asked.again)

    # What always holds.

    @invariant()
    def nothing_lost_nothing_twice(self) -> None:
        self.whole = False
        self.world.check()
        self.whole = True

    def teardown(self) -> None:
        try:
            if self.whole:
                self.world.finish()
                REACHED.update(self.world.reached())
        finally:
            self.world.kill_all()
            THIS.install()
