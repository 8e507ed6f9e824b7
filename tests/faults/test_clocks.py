"""Clocks that are wrong: the run's own is a year back or ten years ahead, or jumps in its middle.

The clock decides nothing but which interval a run is for, where none is given, and the signatures of requests. A store
that checks those (as S3 does, versitygw too) refuses them; one that does not (moto) shows that nothing else goes wrong.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import EXIT_DONE, EXIT_TEMPORARY
from tests.faults.conftest import Make
from tests.faults.exports import KillableRun, stopping_at
from tests.support import HOUR_MS, differing
from tools.parts.s3 import MotoServer

pytestmark = pytest.mark.faults

RECORDS = 4_000
YEAR_S = 365 * 86_400
WRONG = (-YEAR_S, 10 * YEAR_S)


class Clock:
    """The clock of processes that are started with `environment`; it can be set while they run."""

    def __init__(self, file: Path, off_s: int) -> None:
        self._file = file
        self.set(off_s)
        self.environment = {"CLOCK_FILE": str(file)}

    def set(self, off_s: int) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(str(off_s))
        new.rename(self._file)


@pytest.fixture
def connector(make_connector: Make) -> KillableRun:
    made = make_connector(flush_size=100, tasks_max="1")
    made.produce(RECORDS)
    return made


@pytest.fixture
def undisturbed(connector: KillableRun, make_connector: Make) -> dict[str, bytes]:
    """The objects of a run whose clock is right."""
    other = make_connector(connector.topic, flush_size=100, tasks_max="1")
    run = other.start("run")
    assert run.wait() == EXIT_DONE, run.said()
    return other.objects("topics/")


@pytest.mark.parametrize("off_s", WRONG, ids=["a year back", "ten years ahead"])
def test_a_wrong_clock_is_refused_and_said(
    connector: KillableRun, undisturbed: dict[str, bytes], tmp_path: Path, off_s: int
) -> None:
    """Signatures of another time are refused by the store: exit status 75, a message that names the reason, and
    nothing is written. With the right time again everything is exported."""
    run = connector.start("run", environment=Clock(tmp_path / "clock", off_s).environment)
    assert run.wait() == EXIT_TEMPORARY, run.said()
    assert "RequestTimeTooSkewed" in run.said()
    assert "Traceback" not in run.said()
    assert connector.keys("") == []
    assert_finished(connector, undisturbed)


@pytest.mark.parametrize("off_s", WRONG, ids=["a year back", "ten years ahead"])
def test_a_clock_that_jumps_in_the_middle(
    connector: KillableRun, undisturbed: dict[str, bytes], tmp_path: Path, off_s: int
) -> None:
    """Some objects are written when the clock jumps: the run gives up with 75 and leaves its plan, which the next one
    finishes as it was planned."""
    clock = Clock(tmp_path / "clock", 0)
    run = connector.start("run", environment={**clock.environment, **stopping_at(CrashPoint.WROTE_OBJECT)})
    connector.stopped_at(CrashPoint.WROTE_OBJECT, run)
    clock.set(off_s)
    assert run.wake() == EXIT_TEMPORARY, run.said()
    assert "RequestTimeTooSkewed" in run.said()
    assert "Traceback" not in run.said()
    written = connector.objects("topics/")
    assert written
    assert differing(written, undisturbed) == []
    assert_finished(connector, undisturbed)


def assert_finished(connector: KillableRun, undisturbed: dict[str, bytes]) -> None:
    """A run with the right time leaves what an undisturbed one leaves."""
    again = connector.start("run")
    assert again.wait() == EXIT_DONE, again.said()
    found = connector.objects("topics/")
    assert differing(found, undisturbed) == []
    assert found.keys() == undisturbed.keys()
    assert connector.verified() == RECORDS


@pytest.fixture(scope="module")
def patient() -> Iterator[MotoServer]:
    """A store that does not look at the time in a signature."""
    with MotoServer() as server:
        yield server


@pytest.mark.parametrize("off_s", WRONG, ids=["a year back", "ten years ahead"])
def test_a_wrong_clock_that_nobody_minds(make_connector: Make, patient: MotoServer, tmp_path: Path, off_s: int) -> None:
    """Positions are Kafka's, and names and bytes the records': a scheduled run exports what one with the right clock
    does, and so do later runs with the right clock, an hour apart each."""
    right = make_connector(flush_size=100, store=patient, tasks_max="1")
    wrong = make_connector(right.topic, flush_size=100, store=patient, tasks_max="1")
    clock, wrong_clock = Clock(tmp_path / "clock", 0), Clock(tmp_path / "wrong", off_s)
    two_hours_ago = round(time.time() * 1000) - 2 * HOUR_MS
    for number in range(3):
        right.produce(RECORDS, number * RECORDS, timestamp_ms=two_hours_ago)
        clock.set(number * HOUR_MS // 1000)
        for connector, its_clock in ((right, clock), (wrong, wrong_clock if number == 1 else clock)):
            run = connector.start(f"scheduled-{number}", time=(), environment=its_clock.environment)
            assert run.wait() == EXIT_DONE, run.said()
        assert differing(wrong.objects("topics/"), right.objects("topics/")) == []
        assert wrong.keys("topics/") == right.keys("topics/")
    assert [entry.kind for entry in wrong.entries() if entry.kind != "checkpoint"] == ["commit"] * 3
    assert wrong.verified() == 3 * RECORDS
