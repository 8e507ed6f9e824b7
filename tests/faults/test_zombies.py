"""Runs that sleep at a named place and wake long after others went on: nothing that is there changes any more.

SIGSTOP is what a machine that sleeps, a long collection of garbage or a hung disk looks like to everybody else. The
store is versitygw; nothing but `If-None-Match` keeps the sleeper from doing harm.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import EXIT_DONE, EXIT_TEMPORARY
from tests.cli.command import call
from tests.faults.conftest import Make
from tests.faults.exports import ExportProcess, KillableRun, stopping_at

pytestmark = pytest.mark.faults

RECORDS = 60_000  # 15,000 in a partition: two objects, the first of two parts
MORE = 400
WINDOWS = (
    CrashPoint.FOUND_HEAD,
    CrashPoint.MADE_PLAN,
    CrashPoint.PROBING_STORE,
    CrashPoint.WROTE_PLAN,
    CrashPoint.STARTED_UPLOAD,
    CrashPoint.SENT_PART,
    CrashPoint.WROTE_OBJECT,
    CrashPoint.COMMITTING,
    CrashPoint.COMMITTED,
)
ON_SPARK = (
    pytest.param(CrashPoint.WROTE_OBJECT, "pyspark.daemon", True, id="everything, in the middle of data"),
    pytest.param(CrashPoint.COMMITTING, "export.py", False, id="the driver, before the commit"),
)


@pytest.fixture
def connector(make_connector: Make) -> KillableRun:
    """Objects that need two parts, in a bucket and a topic of its own."""
    made = make_connector(flush_size=10_000, s3_part_size="5242880", s3_compression_type="none")
    made.produce(RECORDS, words=100)
    return made


@pytest.mark.parametrize("window", WINDOWS, ids=lambda point: point.name)
def test_a_run_that_slept_changes_nothing(connector: KillableRun, window: CrashPoint) -> None:
    """Asleep at each window of the crash table, it wakes after two later runs and `gc --delete`: status 0 or 75, and
    no traceback."""
    with sleeping(connector, window, "kafka_s3.cli", spark=None) as sleeper:
        others_go_on(connector)
        before = connector.objects()
    assert_harmless(connector, sleeper, before)


@pytest.mark.parametrize(("window", "part", "everything"), ON_SPARK)
def test_a_run_on_spark_that_slept_changes_nothing(
    connector: KillableRun, window: CrashPoint, part: str, everything: bool
) -> None:
    """The same of a run on Spark: the driver alone, or the command, the JVM, the driver and its workers."""
    with sleeping(connector, window, part, spark="local[2]", everything=everything) as sleeper:
        others_go_on(connector)
        before = connector.objects()
    assert_harmless(connector, sleeper, before)


@contextlib.contextmanager
def sleeping(
    connector: KillableRun, window: CrashPoint, part: str, *, spark: str | None, everything: bool = False
) -> Iterator[ExportProcess]:
    """A run that stands at a window until this is left."""
    run = connector.start("sleeper", spark=spark, environment=stopping_at(window, part))
    try:
        connector.stopped_at(window, run)
        if everything:
            run.sleep()
        yield run
    finally:
        run.wake()


def others_go_on(connector: KillableRun) -> None:
    """Two later runs, each with a commit of its own: whatever the sleeper left open is finished by the first. Then all
    that looks left behind is deleted, also what the sleeper still wants."""
    for number in (1, 2):
        connector.produce(MORE, RECORDS + number * MORE)
        later = connector.start(f"later-{number}")
        assert later.wait() == EXIT_DONE, later.said()
    collected = call("gc", connector.config, "--delete")
    assert collected.exit_code == 0, collected.output
    newest = connector.entries()[-1]
    assert newest.run_id == "later-2"
    assert sum(newest.topics[connector.topic].positions.values()) == RECORDS + 2 * MORE


def assert_harmless(connector: KillableRun, sleeper: ExportProcess, before: dict[str, bytes]) -> None:
    """What the sleeper did after it woke: nothing that anybody can see, and it says so calmly."""
    assert sleeper.wait() in (EXIT_DONE, EXIT_TEMPORARY), sleeper.said()
    assert "Traceback" not in sleeper.said()
    # What it had on its way may still land under a name that no entry lists: the next collection takes it.
    assert call("gc", connector.config, "--delete").exit_code == 0
    assert connector.objects() == before
    assert connector.open_uploads() == []
    assert connector.verified() == RECORDS + 2 * MORE
    assert call("status", connector.config).stdout.startswith("OK: ")
