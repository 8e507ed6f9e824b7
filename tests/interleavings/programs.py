"""The programs of a connector, as Airflow's tasks, the Spark driver and the command line run them.

Each is a function of a world that returns what the scheduler runs. What `plugins/kafka_s3_airflow/tasks.py` does inside
Airflow is done here in the same order, with the same functions of the engine.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka_s3.bucket.window import of_window
from kafka_s3.dead_letters.delivery import report
from kafka_s3.dead_letters.redrive import Redriven, Wanted, redrive
from kafka_s3.errors import EXIT_TEMPORARY, ExporterError, SparkFailed
from kafka_s3.export.exporter import Execute, Exporter
from kafka_s3.export.run import prepare, run
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.gc.gc import collect, delete
from kafka_s3.log.entries import Interval
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import DeadLetterSink
from kafka_s3.publish.announce import announcement, mark
from kafka_s3.publish.completeness import Ran, mark_complete
from kafka_s3.ranges import TopicPartition
from kafka_s3.reexport.run import prepare as prepare_again
from kafka_s3.reexport.run import run as run_again
from kafka_s3.reexport.run import withdraw
from kafka_s3.report.health import look as look_at_health
from kafka_s3.rewind.rewind import accept_by_hand, look, rewind
from kafka_s3.settings.model import Settings
from kafka_s3.verify.verify import verify
from tests.interleavings.scheduler import Actor
from tests.interleavings.sides import LettersSide

if TYPE_CHECKING:
    from tests.interleavings.harness import InterleavedExport

Body = Callable[[Actor], Any]
PARKING = "parking"


def _silent(_: object) -> None:
    pass


@dataclass(frozen=True)
class ProgramRun:
    """A run: of which interval (`None`: up to now), and which try of it."""

    run_id: str
    interval: Interval | None
    try_number: int = 1

    def request(self, world: InterleavedExport, *, apart: bool = False) -> RunRequest:
        return RunRequest(self.run_id, self.try_number, self.interval, world.clock_ms, planned_apart=apart)


def exporter_of(world: InterleavedExport) -> Exporter:
    def chance() -> str:
        return f"{world.chance.getrandbits(64):016x}"

    return Exporter(world.settings(), world.transport.store(), world.broker(), chance)  # type: ignore[arg-type]


def executor(world: InterleavedExport, actor: Actor, settings: Settings) -> Execute:
    """Spark: tasks of their own that may outlive their driver, or threads of the program."""

    def attempt(task: RangeTask) -> Body:
        return lambda _: export_range(settings, task, world.transport.store(), world.broker())  # type: ignore[arg-type]

    def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        if world.chance.random() < 0.6:
            store, broker = world.transport.store(), world.broker()
            return [export_range(settings, task, store, broker) for task in tasks]  # type: ignore[arg-type]
        results: dict[int, RangeResult] = {}
        for tried in range(2):
            left = [number for number in range(len(tasks)) if number not in results]
            made = {
                number: world.scheduler.start(f"{actor.name}/task {number}.{tried}", attempt(tasks[number]), actor)
                for number in left
            }
            world.scheduler.join(list(made.values()))
            results |= {number: each.result for number, each in made.items() if each.well and each.result is not None}
            if len(results) == len(tasks):
                return [results[number] for number in range(len(tasks))]
        raise SparkFailed("A task was lost twice.")

    return execute


# What Airflow schedules: three tasks of one run.


def plan(world: InterleavedExport, asked: ProgramRun) -> Body:
    def body(actor: Actor) -> str:
        exporter = exporter_of(world)
        told = announcement(exporter.log, "archive", exporter.settings.exports)
        planned, seen = prepare(exporter, asked.request(world), _silent)
        if planned is None and seen.excluded:
            return "waits" if EXIT_TEMPORARY in {left.exit_status for left in seen.excluded} else "failed"
        world.told(actor, told.events)
        for seq in told.seqs:
            mark(exporter.log, seq)
        return "nothing new" if planned is None else "planned"

    return body


def export(world: InterleavedExport, asked: ProgramRun, *, apart: bool = True) -> Body:
    """The driver. Its exit status."""

    def body(actor: Actor) -> int:
        exporter = exporter_of(world)
        done = run(exporter, asked.request(world, apart=apart), executor(world, actor, exporter.settings), _silent)
        _report(world, exporter)
        return done.exit_status

    return body


def complete(world: InterleavedExport, asked: ProgramRun, *, failed: bool) -> Body:
    def body(actor: Actor) -> str:
        exporter = exporter_of(world)
        if failed:
            with contextlib.suppress(ExporterError):
                _mark_complete(world, exporter, asked)
                _report(world, exporter)
            return "failed"
        _mark_complete(world, exporter, asked)
        _report(world, exporter)
        settings = exporter.settings
        told = announcement(exporter.log, "archive", settings.exports, world.clock_ms, named=settings.topics)
        world.told(actor, told.events)
        for seq in told.seqs:
            mark(exporter.log, seq)
        return "told"

    return body


def _mark_complete(world: InterleavedExport, exporter: Exporter, asked: ProgramRun) -> None:
    if exporter.settings.completeness is not None:
        mark_complete(exporter, Ran(asked.interval, world.clock_ms), _silent)


def _report(world: InterleavedExport, exporter: Exporter) -> None:
    if exporter.settings.dead_letters.topic is not None:
        report(exporter, LettersSide(world.reported, world.scheduler, world.weather), _silent)


# What a person starts.


def run_here(world: InterleavedExport, asked: ProgramRun) -> Body:
    """`kafka-s3 run`."""

    def body(actor: Actor) -> int:
        exporter = exporter_of(world)
        done = run(exporter, asked.request(world), executor(world, actor, exporter.settings), _silent)
        _report(world, exporter)
        _mark_complete(world, exporter, asked)
        return done.exit_status

    return body


def collect_garbage(world: InterleavedExport) -> Body:
    """`kafka-s3 gc --delete`."""

    def body(actor: Actor) -> object:
        exporter = exporter_of(world)
        garbage = collect(exporter.settings, exporter.log, parallel=1)
        return None if garbage is None else delete(exporter.log, garbage, parallel=1)

    return body


def rewind_to(world: InterleavedExport, tp: TopicPartition, offset: int, run_id: str) -> Body:
    def body(actor: Actor) -> object:
        exporter = exporter_of(world)
        found = look(exporter, {tp: offset})
        return rewind(exporter, found, ProgramRun(run_id, None).request(world)).entry.seq

    return body


def accept(world: InterleavedExport, name: str, run_id: str) -> Body:
    def body(actor: Actor) -> object:
        committed, _ = accept_by_hand(exporter_of(world), [name], ProgramRun(run_id, None).request(world), _silent)
        return committed.entry.seq

    return body


def reexport(world: InterleavedExport, asked: ProgramRun, *, anew: bool) -> Body:
    """A window, exported again: planned, then run. `anew`: the one that is committed is withdrawn."""

    def body(actor: Actor) -> object:
        exporter = exporter_of(world)
        planned = prepare_again(exporter, asked.request(world), _silent, anew=anew)
        if planned is None:
            return "committed"
        assert asked.interval is not None
        inside = of_window(exporter.settings, asked.interval)
        done = run_again(exporter, asked.request(world, apart=True), executor(world, actor, inside), _silent)
        return done.exit_status

    return body


def withdraw_window(world: InterleavedExport, asked: ProgramRun) -> Body:
    """`kafka-s3 reexport --withdraw`."""
    return lambda actor: withdraw(exporter_of(world), asked.request(world), _silent)


def redrive_to_parking(exporter: Exporter, sink: DeadLetterSink, at_ms: int) -> Redriven:
    exports = exporter.settings.exports
    return redrive(
        exporter.log, Wanted(), exports=exports, to=PARKING, again=False, sink=sink, at_ms=at_ms, tell=_silent
    )


def redrive_letters(world: InterleavedExport) -> Body:
    """`kafka-s3 redrive --to parking`."""

    def body(actor: Actor) -> object:
        exporter = exporter_of(world)
        sink = LettersSide(world.redriven, world.scheduler, world.weather)
        return redrive_to_parking(exporter, sink, world.clock_ms).sent

    return body


def verify_log(world: InterleavedExport) -> Body:
    """`kafka-s3 verify`, while others are at work: it may not call anything wrong that is not."""

    def body(actor: Actor) -> object:
        exporter = exporter_of(world)
        verified = verify(exporter.settings, exporter.log, None, parallel=1, tell=_silent)
        if verified.findings and not actor.failures:
            world.rules.broken("verify", f"verify found what is not so: {verified.findings}")
        return f"{verified.findings_count} findings"

    return body


def look_at(world: InterleavedExport) -> Body:
    """`kafka-s3 status`, or the page."""

    def body(actor: Actor) -> object:
        exporter = exporter_of(world)
        health = look_at_health(
            exporter.settings, exporter.log, lambda: exporter.broker, at_ms=world.clock_ms, entries_max=5
        )
        return health.state

    return body
