"""Runs of one connector at the same time, over versitygw: as processes, and as threads that meet where it hurts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from kafka_s3 import crash_points
from kafka_s3.adapters.kafka import KafkaSource
from kafka_s3.cli.common import load_configuration
from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import EXIT_DONE, EXIT_TEMPORARY, ExporterError
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import prepare, run
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.results import RangeResult
from kafka_s3.wiring import make_exporter
from tests.cli.command import call
from tests.faults.conftest import Make
from tests.faults.exports import BOUND_S, ExportProcess, KillableRun, until

pytestmark = pytest.mark.faults

AT_ONCE: Final = 3
ROUNDS_OF_PROCESSES: Final = 5
ROUNDS: Final = 50
RECORDS: Final = 400
#: Where the three meet: before there is a plan, and with a plan that is open.
MEETINGS: Final = (
    *((point, False) for point in (CrashPoint.FOUND_HEAD, CrashPoint.LOOKED_AT_KAFKA, CrashPoint.MADE_PLAN)),
    *((point, True) for point in (CrashPoint.FOUND_HEAD, CrashPoint.STARTED_RANGE, CrashPoint.WRITING_OBJECT)),
    *((point, True) for point in (CrashPoint.WROTE_OBJECT, CrashPoint.CHECKED_KAFKA, CrashPoint.COMMITTING)),
)


# Processes.


def test_three_runs_at_once(make_connector: Make) -> None:
    """All three find the same log: one commits, the others are fenced, or find the same plan committed. Each sequence
    number has one commit, and what was there before stays as it was."""
    connector = make_connector(flush_size=20)
    fenced, kept = 0, dict[str, bytes]()
    for number in range(ROUNDS_OF_PROCESSES):
        connector.produce(RECORDS, number * RECORDS)
        runs = started_together(connector, number)
        statuses = [each.wait() for each in runs]
        said = [each.said() for each in runs]
        assert EXIT_DONE in statuses, said
        assert set(statuses) <= {EXIT_DONE, EXIT_TEMPORARY}, said
        assert "Traceback" not in "".join(said)
        fenced += statuses.count(EXIT_TEMPORARY)
        kept |= connector.objects_besides(kept)
        assert_one_commit_each(connector, number + 1)
    assert connector.objects() == kept
    assert fenced, f"in none of {ROUNDS_OF_PROCESSES} rounds were two at the same point"
    assert connector.verified() == ROUNDS_OF_PROCESSES * RECORDS
    assert call("status", connector.config).stdout.startswith("OK: ")


def test_three_runs_at_once_of_which_one_dies(make_connector: Make) -> None:
    """kill -9 of one of them, before and after objects of the round are there: one more run at most, and each record
    is there once."""
    connector = make_connector(flush_size=5)
    for number in range(ROUNDS_OF_PROCESSES):
        connector.produce(RECORDS, number * RECORDS)
        there = len(connector.keys("topics/"))
        runs = started_together(connector, number)
        # In odd rounds some of the round's objects are written first.
        until(
            "the round has begun",
            lambda there=there, number=number: len(connector.keys("topics/")) >= there + 10 * (number % 2),
        )
        runs[number % AT_ONCE].process.kill()
        survivors = [each for at, each in enumerate(runs) if at != number % AT_ONCE]
        statuses = [each.wait() for each in survivors]
        said = [each.said() for each in survivors]
        assert set(statuses) <= {EXIT_DONE, EXIT_TEMPORARY}, said
        assert "Traceback" not in "".join(said)
        runs[number % AT_ONCE].wait()
        last = connector.start(f"{number}-last")
        assert last.wait() == EXIT_DONE, last.said()
        assert_one_commit_each(connector, number + 1)
    assert connector.verified() == ROUNDS_OF_PROCESSES * RECORDS
    assert call("status", connector.config).stdout.startswith("OK: ")


def started_together(connector: KillableRun, number: int) -> list[ExportProcess]:
    """Runs whose first questions the store hears at the same time."""
    connector.store.suspend()
    try:
        runs = [connector.start(f"{number}-{side}") for side in range(AT_ONCE)]
        for each in runs:
            until("it asks the store", lambda each=each: connector.store_port in each.remote_ports(), run=each)
    finally:
        connector.store.resume()
    return runs


def assert_one_commit_each(connector: KillableRun, commits: int) -> None:
    """The log is one checkpoint and these commits, numbered without a gap, each of a round's records."""
    entries = connector.entries()
    assert [entry.kind for entry in entries] == ["checkpoint", *["commit"] * commits]
    assert [entry.seq for entry in entries] == list(range(commits + 1))
    assert {sum(done.records for done in entry.ranges) for entry in entries[1:]} == {RECORDS}


# Threads.


@dataclass
class Meeting:
    """Holds each of several threads where it first passes a point, until all that are left stand there."""

    point: CrashPoint
    expected: int = AT_ONCE
    _there: set[int] = field(default_factory=set)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def passing(self, point: CrashPoint) -> None:
        if point is not self.point:
            return
        with self._changed:
            if threading.get_ident() in self._there:
                return
            self._there.add(threading.get_ident())
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: len(self._there) >= self.expected, BOUND_S)

    def leave(self) -> None:
        """A thread that has ended is not waited for, unless it came here before."""
        with self._changed:
            if threading.get_ident() not in self._there:
                self.expected -= 1
            self._changed.notify_all()

    @property
    def met(self) -> int:
        return len(self._there)


@dataclass
class Side:
    """One of the runs, with clients of its own for store and broker."""

    exporter: Exporter
    source: KafkaSource
    outcome: int = -1

    def run(self, request: RunRequest, meeting: Meeting) -> None:
        try:
            self.outcome = run(self.exporter, request, self._execute, lambda line: None).exit_status
        except ExporterError as error:
            self.outcome = error.exit_status
        finally:
            meeting.leave()

    def _execute(self, tasks: Sequence[RangeTask]) -> list[RangeResult]:
        """In the thread of the run, so that it is the run that is held."""
        settings, store = self.exporter.settings, self.exporter.store
        return [export_range(settings, task, store, self.source) for task in tasks]


@pytest.fixture
def make_side(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Side]:
    """Makes a run's own clients; whoever listens to the crash points does so for this test alone."""
    monkeypatch.setattr(crash_points, "listener", None)

    def make(config: Path) -> Side:
        settings = load_configuration(config, None).settings
        return Side(make_exporter(settings), KafkaSource(settings.kafka))

    return make


def test_three_runs_meet_at_every_window(
    make_connector: Make, make_side: Callable[[Path], Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty times three runs go on together from the same point, each point in turn: one commit for each sequence
    number, every record once, and no object is written over."""
    connector = make_connector(flush_size=40)
    sides = [make_side(connector.config) for _ in range(AT_ONCE)]
    outcomes, met, kept = [], {}, dict[str, bytes]()
    for number in range(ROUNDS):
        point, planned = MEETINGS[number % len(MEETINGS)]
        connector.produce(RECORDS, number * RECORDS)
        if planned:
            prepare(sides[0].exporter, asked(number, "planner"))
        meeting = Meeting(point)
        monkeypatch.setattr(crash_points, "listener", meeting.passing)
        threads = [
            threading.Thread(target=side.run, args=(asked(number, f"side-{at}"), meeting))
            for at, side in enumerate(sides)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        monkeypatch.setattr(crash_points, "listener", None)
        met[point, planned] = meeting.met
        outcomes += [side.outcome for side in sides]
        assert EXIT_DONE in outcomes[-AT_ONCE:]
        kept |= connector.objects_besides(kept)
    assert_one_commit_each(connector, ROUNDS)
    assert connector.objects() == kept
    assert met == dict.fromkeys(MEETINGS, AT_ONCE)
    assert set(outcomes) == {EXIT_DONE, EXIT_TEMPORARY}
    assert connector.verified() == ROUNDS * RECORDS


def asked(number: int, side: str) -> RunRequest:
    return RunRequest(f"{number}-{side}", 1, None, number)
