"""Two runs of one connector at the same time, and one that sleeps while others go on: versitygw decides."""

from __future__ import annotations

import pytest

from kafka_s3.errors import EXIT_DONE, EXIT_TEMPORARY
from tests.cli.command import call
from tests.faults.conftest import Make
from tests.faults.exports import until
from tests.processes import below

pytestmark = pytest.mark.faults

ROUNDS = 20
RECORDS = 400


def test_two_runs_at_once(make_connector: Make) -> None:
    """Twenty times both find the same log: one commits, the other is fenced, or finds the same plan committed. Each
    sequence number has one commit, and what was there before stays as it was."""
    connector = make_connector(flush_size=20)
    fenced = 0
    for number in range(ROUNDS):
        connector.produce(RECORDS, number * RECORDS)
        before = connector.objects()
        connector.store.suspend()
        try:
            runs = [connector.start(f"{number}-{side}") for side in "ab"]
            for run in runs:
                until("it asks the store", lambda run=run: connector.store_port in run.remote_ports(), run=run)
        finally:
            connector.store.resume()
        statuses = sorted(run.wait() for run in runs)
        said = [run.said() for run in runs]
        assert statuses in ([EXIT_DONE, EXIT_DONE], [EXIT_DONE, EXIT_TEMPORARY]), said
        assert "Traceback" not in "".join(said)
        fenced += statuses[1] == EXIT_TEMPORARY
        after = connector.objects()
        assert {key: after[key] for key in before} == before
        assert [entry.kind for entry in connector.entries()] == ["checkpoint", *["commit"] * (number + 1)]
    assert fenced, f"in none of {ROUNDS} rounds were the two at the same point"
    entries = connector.entries()
    assert [entry.seq for entry in entries] == list(range(ROUNDS + 1))
    assert {sum(done.records for done in entry.ranges) for entry in entries[1:]} == {RECORDS}
    assert connector.verified() == ROUNDS * RECORDS
    assert call("status", connector.config).stdout.startswith("All is well")


@pytest.mark.parametrize("stopped", ["driver", "everything"])
def test_a_run_that_slept_changes_nothing(make_connector: Make, stopped: str) -> None:
    """Stopped in the middle (SIGSTOP), it wakes after others finished its plan and committed two of their own."""
    connector = make_connector(flush_size=100)
    connector.produce(40_000)
    run = connector.start("sleeper", spark="local[2]")
    connector.freeze_at(10, run)
    asleep = [run.driver()] if stopped == "driver" else below(run.process.pid)
    for process in asleep:
        process.suspend()
    try:
        connector.store.resume()
        for number in (1, 2):
            connector.produce(RECORDS, 40_000 + number * RECORDS)
            later = connector.start(f"later-{number}")
            assert later.wait() == EXIT_DONE, later.said()
        kinds = [(entry.kind, entry.run_id) for entry in connector.entries()]
        assert kinds == [
            ("checkpoint", "sleeper"),
            ("commit", "later-1"),
            ("commit", "later-1"),
            ("commit", "later-2"),
        ]
        before = connector.objects()
    finally:
        connector.store.resume()
        for process in asleep:
            process.resume()
    assert run.wait() in (EXIT_DONE, EXIT_TEMPORARY), run.said()
    assert "Traceback" not in run.said()
    assert connector.objects() == before
    assert connector.verified() == 40_000 + 2 * RECORDS
    assert call("status", connector.config).stdout.startswith("All is well")
