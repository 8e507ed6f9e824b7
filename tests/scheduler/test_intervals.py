"""Many runs at once over intervals that are over, and runs that catch up, beside those of the schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tests.scheduler.harness import ENDED, Pause, Run, ScheduledExports, lines, until

pytestmark = pytest.mark.scheduler

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ALL_WELL = {"plan": "success", "export": "success", "complete": "success"}
QUIET = {**ALL_WELL, "export": "skipped"}


def test_a_backfill_beside_scheduled_runs(world: ScheduledExports) -> None:
    """A backfill's runs are at work together with scheduled ones, yet no two exports overlap, and every record is
    exported once."""
    this_minute = datetime.now(UTC).replace(second=0, microsecond=0)
    for minutes_ago in (6, 5, 4):
        for partition in (0, 1):
            world.produce("backfilled", partition, lines(30), this_minute - minutes_ago * MINUTE)
    backfill = {
        "dag_id": "backfilled",
        "from_date": (this_minute - 6 * MINUTE).isoformat(),
        "to_date": (this_minute - 5 * MINUTE).isoformat(),
        "max_active_runs": 2,
    }
    world.api.send("POST", "/api/v2/backfills", backfill)  # its runs wait until the DAG is unpaused

    def planned() -> list[Run] | None:
        """Runs whose export may start: both of the backfill, and a scheduled one."""
        found = [run for run in world.runs("backfilled") if run.tasks["plan"].state == "success"]
        kinds = [run.kind for run in found]
        enough = kinds.count("backfill") == 2 and "scheduled" in kinds and world.gate.has_come("backfilled")
        return found if enough else None

    def exports() -> list[tuple[str, str | None]]:
        return [(run.kind, run.tasks["export"].state) for run in world.runs("backfilled")]

    with world.unpaused("backfilled"):
        with world.gate.closed("backfilled"):
            together = until("three runs are at their export", planned, or_say=exports)
            assert sum(state == "running" for _, state in exports()) == 1
        for run_id in [run.run_id for run in together]:
            world.ended_run("backfilled", run_id)
    at_work = {"queued", "running"}
    until("no export is at work", lambda: not at_work & {state for _, state in exports()}, or_say=exports)

    runs = {run.run_id: run for run in world.runs("backfilled")}
    ended = [runs[run.run_id] for run in together]
    assert {run.state for run in ended} == {"success"}
    assert [run.states for run in ended] == [ALL_WELL] * len(ended)
    exported = [task for run in runs.values() if (task := run.tasks["export"]).tries > 0]  # not those that were skipped
    times = sorted((task.start, task.end) for task in exported if task.start is not None and task.end is not None)
    assert len(times) >= 3
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(times)), times
    assert world.positions("backfilled") == [90, 90]
    assert world.verified("backfilled") == 180


def test_a_scheduled_run(world: ScheduledExports, paused: Pause) -> None:
    """When a minute is over a run starts by itself and exports that minute's records; the commit is an event of the
    connector's asset and, after it, marked as announced."""
    run = world.ended("scheduled", lambda run: run.tasks["export"].state in ENDED)
    assert (run.kind, run.state, run.states) == ("scheduled", "success", ALL_WELL)
    assert run.interval_end is not None
    assert run.interval_end > world.began
    assert world.positions("scheduled") == [150, 50]

    commits = [event for event in world.events("scheduled", run) if event["kind"] == "commit"]
    assert [commit["records"] for commit in commits] == [200]
    assert commits[0]["offsets"] == {world.topics["scheduled"]: {"0": [0, 150], "1": [0, 50]}}
    assert commits[0]["keys"] == world.keys("scheduled", "topics/")
    marker = commits[0]["key"].replace("/log/", "/announced/").removesuffix(".json")
    assert marker in world.keys("scheduled", "_kafka_s3/scheduled/announced/")
    assert world.verified("scheduled") == 200
