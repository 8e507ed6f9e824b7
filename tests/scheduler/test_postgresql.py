"""What matters most, once more with Airflow over PostgreSQL: schedule, trigger, backfill, kill.

Each run of a backfill takes some seconds. A whole day of them:
`BACKFILL_HOURS=24 make test-all ARGS="-k a_day_that_is_committed"`.
"""

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime, timedelta

import pytest

from tests.scheduler.harness import ScheduledExports, lines, until

pytestmark = pytest.mark.scheduler

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOURS = int(os.environ.get("BACKFILL_HOURS", "6"))  # that are committed, and then asked for again
ALL_WELL = {"plan": "success", "export": "success", "complete": "success"}
QUIET = {**ALL_WELL, "export": "skipped"}


def test_runs_of_every_kind(on_postgresql: ScheduledExports) -> None:
    """Over PostgreSQL a scheduled run exports what is there, a backfill over days that are committed, two of its runs
    at a time, is quiet beside it, and a manual run exports the current interval's records."""
    world, name = on_postgresql, "pg-scheduled"
    world.produce(name, 0, lines(120), world.began - DAY)
    with world.unpaused(name):
        scheduled = world.ended(name)
        assert (scheduled.kind, scheduled.state, scheduled.states) == ("scheduled", "success", ALL_WELL)
        assert world.positions(name) == [120, 0]

        dates = [(world.began - days * DAY).isoformat() for days in (4, 2)]
        world.command(
            "backfill",
            "create",
            "--dag-id",
            name,
            "--from-date",
            dates[0],
            "--to-date",
            dates[1],
            "--max-active-runs",
            "2",
        )
        world.produce(name, 1, lines(30), world.began)
        now = world.trigger(name, "now", {"until": "now"})
        assert (now.kind, now.state, now.states) == ("manual", "success", ALL_WELL)
        ended = world.all_ended(name, 4)
    backfill = [run for run in ended if run.kind == "backfill"]
    assert [run.states for run in backfill] == [QUIET] * len(backfill)
    assert len(backfill) >= 2
    assert world.verified(name) == 150
    assert not list(world.folder.parent.rglob("airflow.db"))


def committed_hours(world: ScheduledExports, name: str) -> None:
    """Hours with five records each, committed, and some records that came since."""
    if world.keys(name, "topics/"):
        return
    end = world.hour - HOUR
    for hours_ago in range(HOURS, 0, -1):
        world.produce(name, hours_ago % 2, lines(5), end - hours_ago * HOUR)
    committed = world.call(name, "run", "--interval", (end - HOUR).isoformat(), end.isoformat())
    assert committed.exit_code == 0, committed.output
    world.produce(name, 0, lines(7), datetime.now(UTC))


def test_a_day_that_is_committed(on_postgresql: ScheduledExports) -> None:
    """`airflow backfill create` over hours whose records are committed is as many quiet successes: nothing is written,
    no Spark starts, and records that came since wait for the schedule, whose own hour is an entry without records."""
    world, name = on_postgresql, "pg-long-ago"
    committed_hours(world, name)
    end = world.hour - HOUR
    before, log = world.objects(name), world.entries(name)
    dates = ["--from-date", (end - HOURS * HOUR).isoformat(), "--to-date", (end - HOUR).isoformat()]
    world.command("backfill", "create", "--dag-id", name, *dates, "--max-active-runs", "4")
    with world.unpaused(name):
        runs = sorted(world.all_ended(name, HOURS, "backfill"), key=lambda run: run.interval_end or world.began)
        world.all_ended(name, HOURS + 1)
    assert [run.interval_end for run in runs] == [end - n * HOUR for n in range(HOURS - 1, -1, -1)]
    assert [(run.state, run.states) for run in runs] == [("success", QUIET)] * HOURS, world.failures(name, runs)
    assert not world.gate.has_come(name)
    assert world.objects(name) == before
    entries = world.entries(name)
    assert entries[: len(log)] == log
    assert [(entry.kind, entry.run_id.partition("__")[0]) for entry in entries[len(log) :]] in (
        [],  # the schedule's run came before the records that wait were looked at
        [("checkpoint", "scheduled")],
    )
    assert world.verified(name) == 5 * HOURS


def test_windows_are_exported_again(on_postgresql: ScheduledExports) -> None:
    """`airflow backfill create` over hours with records, on the connector's re-export DAG, writes each hour under a
    prefix of its own, two at a time as it was told to; the live export and its log are as they were."""
    world, name = on_postgresql, "pg-long-ago"
    committed_hours(world, name)
    dag_id, end = f"{name}__reexport", world.hour - HOUR
    live, log = world.objects(name), world.entries(name)
    dates = ["--from-date", (end - 3 * HOUR).isoformat(), "--to-date", (end - HOUR).isoformat()]
    with world.unpaused(dag_id):
        with world.gate.closed(name):
            world.command("backfill", "create", "--dag-id", dag_id, *dates, "--max-active-runs", "2")
            until("two exports are at work", lambda: at_work(world, dag_id) == 2, or_say=lambda: world.runs(dag_id))
            assert sorted(run.state for run in world.runs(dag_id)) == ["queued", "running", "running"]
        runs = world.all_ended(dag_id, 3)
    assert [(run.kind, run.state, run.states) for run in runs] == [("backfill", "success", ALL_WELL)] * 3
    for hours_ago in (3, 2, 1):
        start, until_then = (f"{end - each * HOUR:%Y%m%dT%H%M%SZ}" for each in (hours_ago, hours_ago - 1))
        prefix = f"reexport/{start}-{until_then}/"
        bodies = [body for key, body in world.stores[name].objects(world.bucket(name), prefix).items()]
        assert [len(gzip.decompress(body).splitlines()) for body in bodies] == [5], prefix
    assert (world.objects(name), world.entries(name)) == (live, log)
    assert world.verified(name) == 5 * HOURS


def at_work(world: ScheduledExports, name: str) -> int:
    return sum(run.tasks["export"].state == "running" for run in world.runs(name))


def test_a_killed_task_is_retried(on_postgresql: ScheduledExports) -> None:
    """Over PostgreSQL, too, kill -9 on the process of the export ends Spark, and the next try finishes the plan."""
    world, name = on_postgresql, "pg-killed"
    for partition in (0, 1):
        world.produce(name, partition, lines(30_000), world.began - DAY)
    undisturbed = world.call("pg-undisturbed", "run", "--until-now")
    assert undisturbed.exit_code == 0, undisturbed.output
    with world.unpaused(name):
        with world.frozen(name) as export:
            export.task.kill()
            export.has_ended()
        assert [entry.kind for entry in world.entries(name)] == ["checkpoint"]
        run = world.ended(name)
    assert (run.state, run.states) == ("success", ALL_WELL)
    assert world.attempts(name, run, "export") == ["failed", "success"]
    assert world.objects(name) == world.objects("pg-undisturbed")
    assert world.verified(name) == 60_000
    assert not export.folder.exists()
