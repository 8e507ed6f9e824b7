"""Histories of programs over the real S3 adapter, drawn from a seed.

Beside the generated histories of `tests.scenario`, which run a program at a time, here every program stops in front of
each request to S3 and Kafka, and the seed picks who moves: DAG runs with their tries (tasks of theirs that outlive
them included), runs by hand, gc, rewinds, windows that are exported again, redrives, verify, status. Requests are
applied late, lose their answers, get 409, 412, 500 and 503; programs are left standing for long or for good; Kafka
expires, compacts, truncates, elects, opens transactions, creates topics again.

    seed -> temperament -> steps: one program goes on, or something happens in Kafka, or somebody starts a program
         -> quiet: whoever still stands wakes or dies, undisturbed runs follow, and all has to be there

Rules are checked after every step that changed the bucket (`world.Rules`): `book` and the ledger of `tests.scenario`
for what readers of the log find, `claims` for events and markers, `quiet_moments` for status, health, verify and the
page. Each is said from Kafka's and the bucket's own truth (`truth`), not by the engine's functions.

`python -m tests.interleavings.play SEED` plays one, and prints who did what.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from kafka_s3.errors import EXIT_CONFIGURATION, EXIT_DATA, ExporterError
from kafka_s3.log.entries import Interval
from kafka_s3.ranges import TopicPartition
from tests.interleavings import programs, quiet_moments
from tests.interleavings.harness import (
    BASE,
    BY_TIME,
    HOUR_MS,
    MARKERS,
    MINUTE_MS,
    T0,
    WITH_SIDES,
    InterleavedExport,
    one_thread_each,
)
from tests.interleavings.programs import ProgramRun
from tests.interleavings.scheduler import Actor
from tests.scenario.kafka import TOPICS, Sort

ALIVE_MAX = 6
LENGTH = 160
SOMEBODY = (
    *("run", "run", "gc", "gc", "rewind", "accept", "window", "window", "redrive", "verify", "status", "clear"),
    *("backfill", "configuration", "success by hand"),
)
TRIES_MAX = {"plan": 2, "export": 3, "complete": 2}


@dataclass
class DagRun:
    """One run of the DAG: its tasks one after the other, and their tries, as Airflow starts them."""

    world: InterleavedExport
    run_id: str
    interval: Interval | None
    stage: str = "plan"
    tries: Counter[str] = field(default_factory=Counter)
    actor: Actor | None = None
    failed: bool = False
    state: str = "running"

    def go_on(self, *, give_up_on_sleepers: bool = True) -> None:
        """Start the next task, or the next try, if the present one has come to an end, or is held for dead."""
        actor, world = self.actor, self.world
        if self.state != "running":
            return
        if actor is not None and not actor.ended:
            is_lost = give_up_on_sleepers and actor.asleep_until > world.scheduler.steps
            if not is_lost or world.chance.random() < 0.9:
                return
            world.scheduler.trace.say(self.run_id, f"holds {actor.name} for dead")
            world.reached["a task held for dead"] += 1
            self._ended(again=True)
        elif actor is not None:
            self._look(actor)
        if self.state == "running":
            self._start()

    def clear(self) -> None:
        """Somebody clears the run: all of it is done again, under the same name."""
        self.state, self.stage, self.actor, self.failed = "running", "plan", None, False
        self.world.reached["a run cleared"] += 1

    def mark_success(self) -> None:
        """Somebody marks the task that is at work, or failed, as a success; what is at work is killed."""
        actor = self.actor
        if actor is not None and not actor.ended:
            self.world.scheduler.kill(actor)
        self.stage, self.actor, self.failed, self.state = "complete", None, False, "running"
        self.world.reached["a success by hand"] += 1

    def _look(self, actor: Actor) -> None:
        error, result = actor.error, actor.result
        status = error.exit_status if isinstance(error, ExporterError) else result if isinstance(result, int) else 0
        if actor.dead:
            self._ended(again=True)
        elif error is not None or status or result in ("failed", "waits"):
            final = status in (EXIT_DATA, EXIT_CONFIGURATION) or result == "failed"
            self._ended(again=not final)
        elif self.stage == "plan":
            self.stage = "export" if result == "planned" else "complete"
        elif self.stage == "export":
            self.stage = "complete"
        else:
            self.state = "success"

    def _ended(self, *, again: bool) -> None:
        """Its task did not end well."""
        if again and self.tries[self.stage] < TRIES_MAX[self.stage]:
            return
        if self.stage == "complete":
            self.state = "failed"
        self.stage, self.failed = "complete", True

    def _start(self) -> None:
        world = self.world
        self.tries[self.stage] += 1
        asked = ProgramRun(self.run_id, self.interval, self.tries[self.stage])
        body = {
            "plan": lambda: programs.plan(world, asked),
            "export": lambda: programs.export(world, asked),
            "complete": lambda: programs.complete(world, asked, failed=self.failed),
        }[self.stage]()
        self.actor = world.start(f"{self.run_id} {self.stage} {self.tries[self.stage]}", body, asked)


@dataclass
class History:
    """One seed's. `length`: requests before the end; `left_out`: rules that are not looked at."""

    seed: int
    length: int = LENGTH
    left_out: frozenset[str] = frozenset()
    mapping: dict[str, str] | None = None

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.world = InterleavedExport(
            self.chance, self._configuration() if self.mapping is None else dict(self.mapping)
        )
        self.world.rules.left_out = self.left_out
        self.runs: list[DagRun] = []
        self.boundary = 0
        world, chance = self.world, self.chance
        stormy = chance.random() < 0.6
        world.weather.store = chance.choice([0.01, 0.03, 0.08]) if stormy else 0.0
        world.weather.kafka = chance.choice([0.0, 0.01, 0.03]) if stormy else 0.0
        world.bucket.page_max = chance.choice([1, 2, 3, 7, 1000])
        empty = chance.choice([0.0, 0.0, 0.1])
        world.bucket.empty_page = lambda: chance.random() < empty
        world.scheduler.burst = chance.choice([2, 5, 12])
        world.part_size = chance.choice([60, 60, 10**6])
        self.sleepy = chance.choice([0.0, 0.02, 0.06])
        self.deadly = chance.choice([0.0, 0.01, 0.03])
        self.wild = chance.choice([0.0, 0.05, 0.15])  # Kafka, beside records
        self.busy = chance.choice([0.03, 0.08])  # other programs than the DAG's
        world.scheduler.trace.say("(seed)", str(self.seed), str(world.mapping))

    def _configuration(self) -> dict[str, str]:
        chance, mapping = self.chance, dict(BASE)
        for more, often in ((WITH_SIDES, 0.4), (chance.choice([BY_TIME, MARKERS, MARKERS]), 0.5)):
            mapping |= more if chance.random() < often else {}
        mapping["export.batch.records.max"] = chance.choice(["4", "9", "100"])
        mapping["export.timestamps.enable"] = chance.choice(["true", "false"])
        mapping |= {"export.log.key": "0123456789abcdef" * 2} if chance.random() < 0.2 else {}
        mapping["export.on.data.loss"] = chance.choice(["record", "fail"])
        mapping["export.on.topic.recreated"] = chance.choice(["restart", "fail"])
        return mapping

    # Playing.

    def play(self) -> InterleavedExport:
        """Raise whatever is wrong, with the trace."""
        with one_thread_each():
            try:
                self._begin()
                while self.world.scheduler.steps < self.length:
                    self._move()
                self._end()
            finally:
                self.world.scheduler.end_all()
        return self.world

    def _begin(self) -> None:
        world = self.world
        world.truth.create(TOPICS[0], 2)
        world.truth.create(TOPICS[1], 1)
        for tp in sorted(world.truth.now):
            world.produce(tp, Sort.PLAIN, self.chance.randint(0, 3), 0)
        self._next_hour()

    def _move(self) -> None:
        """One program goes on, or something else happens."""
        chance, scheduler = self.chance, self.world.scheduler
        self.world.tick()
        for run in self.runs:
            run.go_on()
        drawn = chance.random()
        alive = scheduler.runnable()
        if drawn < self.wild:
            self._kafka()
        elif drawn < self.wild + 0.06:
            self._produce()
        elif drawn < self.wild + 0.06 + self.busy:
            self._somebody()
        elif drawn < self.wild + 0.10 + self.busy and self.world.weather.in_flight:
            self._arrive(chance.randrange(len(self.world.weather.in_flight)))
        elif not alive:
            if not scheduler.actors and chance.random() < 0.2:
                self._check_quiet()
            self._idle()
        else:
            self._step(chance.choice(alive))
        self.world.rules.check()

    def _check_quiet(self) -> None:
        quiet_moments.check_quiet(self.world)

    def _step(self, actor: Actor) -> None:
        chance, world = self.chance, self.world
        if actor.thread is not None and chance.random() < self.deadly:
            self._kill(actor)
        elif actor.thread is not None and chance.random() < self.sleepy:
            actor.asleep_until = world.scheduler.steps + chance.choice([10, 40, 150, 10**9])
            world.scheduler.trace.say(actor.name, "falls asleep")
            world.reached["asleep"] += 1
        else:
            world.scheduler.step(actor, chance.randint(1, world.scheduler.burst))

    def _kill(self, actor: Actor) -> None:
        if actor.pending is not None and self.chance.random() < 0.5:
            self.world.scheduler.current = actor
            actor.pending()
            self.world.scheduler.current = None
        self.world.reached["killed"] += 1
        self.world.scheduler.kill(actor)

    def _arrive(self, which: int) -> None:
        self.world.author = self.world.weather.in_flight[which][0]
        self.world.transport.arrive(which)
        self.world.author = ""
        self.world.reached["applied late"] += 1

    def _idle(self) -> None:
        """Everybody sleeps, or has ended: time passes."""
        scheduler = self.world.scheduler
        asleep = [each for each in scheduler.actors if each.asleep_until > scheduler.steps and each.ready is None]
        if asleep and self.chance.random() < 0.3:
            self.chance.choice(asleep).asleep_until = 0
        elif all(run.state != "running" for run in self.runs) or self.chance.random() < 0.2:
            self._next_hour()
        scheduler.steps += 1

    def _next_hour(self) -> None:
        """The clock passes a boundary, and Airflow starts the run of the hour that is over; sometimes one is missed."""
        world = self.world
        self.boundary = max(self.boundary + 1, (world.clock_ms - T0) // HOUR_MS + 1)
        world.extra_ms += max(0, T0 + self.boundary * HOUR_MS + MINUTE_MS - world.clock_ms)
        if self.chance.random() < 0.85 and not any(run.state == "running" for run in self.runs):
            end = T0 + self.boundary * HOUR_MS
            self._dag_run(f"scheduled {self.boundary}", Interval(end - HOUR_MS, end))

    def _dag_run(self, run_id: str, interval: Interval | None) -> None:
        self.runs.append(DagRun(self.world, run_id, interval))
        self.runs[-1].go_on()

    # What may happen.

    def _tp(self) -> TopicPartition | None:
        tps = sorted(self.world.truth.now)
        return self.chance.choice(tps) if tps else None

    def _produce(self) -> None:
        chance, world, tp = self.chance, self.world, self._tp()
        if tp is None:
            return
        sort = chance.choice([Sort.PLAIN] * 6 + [Sort.TOMBSTONE] + ([Sort.BAD] if world.truth.sides else []))
        shifts = chance.choice([[0], [0], [0], [0, -2 * HOUR_MS], [30 * MINUTE_MS], [-HOUR_MS]])
        world.produce(tp, sort, chance.randint(1, 4), *shifts)
        world.scheduler.trace.say("(Kafka)", f"{sort.value} records of {tp}, up to {world.truth.view_end(tp)}")

    def _kafka(self) -> None:
        chance, world, tp = self.chance, self.world, self._tp()
        if tp is None:
            world.truth.create(TOPICS[0], 2)
            return
        happens: list[tuple[str, Callable[[], None]]] = [
            ("expires", lambda: world.truth.expire(tp, chance.choice([1, 2, 5, 50]))),
            ("is compacted", lambda: world.truth.compact(tp, chance.randint(0, 20))),
            ("is truncated", lambda: world.truth.truncate(tp, chance.randint(1, 5))),
            ("elects", lambda: world.truth.elect(tp)),
            ("loses its leader", lambda: world.truth.lead(tp, up=False)),
            ("has a leader", lambda: [world.truth.lead(each, up=True) for each in sorted(world.truth.down)][:0]),
            ("has holes", lambda: world.truth.holes(tp, chance.randint(1, 2), world.clock_ms)),
            ("opens a transaction", lambda: world.truth.begin_transaction(tp)),
            ("ends all transactions", lambda: world.truth.end_transactions()),
            ("is created again", lambda: self._create_again(tp.topic)),
            ("gets a partition", lambda: self._grow(tp.topic)),
        ]
        what, happen = chance.choice(happens)
        if tp in world.truth.down and what != "has a leader":
            return
        world.scheduler.trace.say("(Kafka)", f"{tp} {what}")
        world.reached[f"Kafka: {what}"] += 1
        happen()

    def _create_again(self, topic: str) -> None:
        truth = self.world.truth
        partitions = truth.partitions[topic]
        truth.delete(topic)
        truth.create(topic, partitions)

    def _grow(self, topic: str) -> None:
        truth = self.world.truth
        if truth.partitions[topic] < 3:
            truth.create(topic, truth.partitions[topic] + 1)

    def _somebody(self) -> None:
        """A person, or another DAG, starts something."""
        chance, world = self.chance, self.world
        if len(world.scheduler.actors) >= ALIVE_MAX:
            return
        what = chance.choice(SOMEBODY)
        name = world.name(what)
        if what == "run":
            world.start(name, programs.run_here(world, ProgramRun(name, None)), ProgramRun(name, None))
        elif what == "gc":
            world.start(name, programs.collect_garbage(world))
        elif what == "verify":
            world.start(name, programs.verify_log(world))
        elif what == "status":
            world.start(name, programs.look_at(world))
        elif what == "redrive" and world.truth.sides:
            world.start(name, programs.redrive_letters(world))
        elif what == "rewind" and (tp := self._tp()) is not None:
            at = chance.randint(0, max(0, world.book.position(tp) - 1))
            world.start(name, programs.rewind_to(world, tp, at, name))
        elif what == "accept" and (tp := self._tp()) is not None:
            world.start(name, programs.accept(world, chance.choice([str(tp), tp.topic]), name))
        elif what == "window":
            end = T0 + chance.randint(0, self.boundary) * HOUR_MS
            known = sorted(world.rules.windows.committed, key=lambda each: each.start_ms)
            window = chance.choice([Interval(end - HOUR_MS, end), *known])
            asked = ProgramRun(name, window)
            if window in known and chance.random() < 0.3:
                world.start(name, programs.withdraw_window(world, asked), asked)
            else:
                world.start(name, programs.reexport(world, asked, anew=chance.random() < 0.5), asked)
        elif what == "clear" and (ended := [run for run in self.runs if run.state in ("failed", "success")]):
            chance.choice(ended).clear()
        elif what == "success by hand" and self.runs and (run := chance.choice(self.runs)).stage != "plan":
            run.mark_success()
        elif what == "backfill" and self.boundary > 1:
            end = T0 + chance.randint(0, self.boundary - 1) * HOUR_MS
            self._dag_run(name, Interval(end - HOUR_MS, end))
        elif what == "configuration":
            world.mapping["flush.size"] = chance.choice(["1", "2", "3"])
            world.scheduler.trace.say("(somebody)", f"sets flush.size={world.mapping['flush.size']}")

    # The end.

    def _end(self) -> None:
        """All is quiet, and what has to be there is."""
        self._wake_all()
        quiet_moments.check_quiet(self.world)
        quiet_moments.finish(self.world)

    def _wake_all(self) -> None:
        """Whoever sleeps wakes or dies, what is on its way arrives or is lost."""
        world, chance = self.world, self.chance
        world.weather.store = world.weather.kafka = 0.0
        for actor in list(world.scheduler.actors):
            actor.asleep_until = 0
            if actor in world.scheduler.actors and chance.random() < 0.5 and actor.ready is None:
                self._kill(actor)
                world.rules.check()
        self._finish_all()
        while world.weather.in_flight:
            which = chance.randrange(len(world.weather.in_flight))
            if chance.random() < 0.5:
                world.weather.in_flight.pop(which)
            else:
                self._arrive(which)
                world.rules.check()

    def _finish_all(self) -> None:
        scheduler = self.world.scheduler
        for run in self.runs:
            run.state = "over"
        while scheduler.actors:
            alive = scheduler.runnable()
            assert alive, f"all wait for each other: {[each.name for each in scheduler.actors]}"
            scheduler.step(self.chance.choice(alive), self.chance.randint(1, 12))
            self.world.rules.check()
