"""Exports that end in their middle, whoever ends them: Spark ends with them, and the next try or run goes on."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import quote

import pytest

from tests.scheduler.harness import ENDED, RunningExport, ScheduledExports, lines, until

pytestmark = pytest.mark.scheduler

HOUR = timedelta(hours=1)
ALL_WELL = {"plan": "success", "export": "success", "complete": "success"}
RECORDS = 20_000  # of each partition


@pytest.fixture(scope="module")
def undisturbed(world: ScheduledExports) -> dict[str, bytes]:
    """What a run that nothing disturbs makes of the topic that the others share."""
    for partition in (0, 1):
        world.produce("undisturbed", partition, lines(RECORDS), world.began - 24 * HOUR)
    done = world.call("undisturbed", "run", "--until-now")
    assert done.exit_code == 0, done.output
    return world.objects("undisturbed")


@pytest.fixture(scope="module")
def silenced(world: ScheduledExports, undisturbed: dict[str, bytes]) -> Iterator[RunningExport]:
    """The supervisor of an export is killed; Airflow notices it by its silence, while other tests are at work."""
    name = "killed-supervisor"
    with world.unpaused(name):
        with world.frozen(name) as export:
            export.supervisor.kill()
            export.has_ended()
        assert kinds(world, name) == ["checkpoint"]
        yield export


def kinds(world: ScheduledExports, name: str) -> list[str]:
    return [str(entry.kind) for entry in world.entries(name)]


def is_finished(world: ScheduledExports, name: str, undisturbed: dict[str, bytes]) -> None:
    """The plan that was left open was finished, as if nothing had been."""
    assert kinds(world, name) == ["checkpoint", "commit"]
    assert world.objects(name) == undisturbed
    assert world.verified(name) == 2 * RECORDS
    assert world.call(name, "status").stdout.startswith("OK: ")


def leaves_no_folder(world: ScheduledExports, export: RunningExport) -> None:
    assert not export.folder.exists()
    assert not [each.name for each in world.temporary.iterdir() if each.name.startswith(("spark-", "blockmgr-"))]


def test_a_killed_supervisor_takes_spark_with_it(world: ScheduledExports, silenced: RunningExport) -> None:
    """kill -9 on the supervisor of an export, in its middle: the task, Spark and the driver end with it."""
    silenced.has_ended()


def test_a_killed_task_is_retried(world: ScheduledExports, undisturbed: dict[str, bytes]) -> None:
    """kill -9 on the process of the export, in its middle: Spark and the driver end with it, the next try finishes the
    plan, and the objects are those of an undisturbed run."""
    name = "killed-task"
    with world.unpaused(name):
        with world.frozen(name) as export:
            export.task.kill()
            export.has_ended()
        assert kinds(world, name) == ["checkpoint"]
        run = world.ended(name)
    assert (run.state, run.states) == ("success", ALL_WELL)
    assert world.attempts(name, run, "export") == ["failed", "success"]
    is_finished(world, name, undisturbed)
    leaves_no_folder(world, export)


def test_what_is_marked_as_failed_ends(world: ScheduledExports, undisturbed: dict[str, bytes]) -> None:
    """Marking the task as failed in its middle, or the whole run: before anything is committed Spark, the driver and
    their folder are gone, and the next run finishes the plan as if nothing had been."""
    name = "marked"
    dag = f"/api/v2/dags/{name}/dagRuns"
    with world.unpaused(name):
        with world.frozen(name) as export:
            [first] = world.runs(name)
            world.api.send("PATCH", f"{dag}/{quote(first.run_id)}/taskInstances/export", {"new_state": "failed"})
            export.has_ended()
            leaves_no_folder(world, export)
        assert world.ended_run(name, first.run_id).state == "failed"
        assert kinds(world, name) == ["checkpoint"]

        world.start(name, "second")
        with world.frozen(name) as export:
            world.api.send("PATCH", f"{dag}/second", {"state": "failed"})
            export.has_ended()
            leaves_no_folder(world, export)
        assert world.ended_run(name, "second").states["export"] == "failed"
        assert kinds(world, name) == ["checkpoint"]

        third = world.trigger(name, "third")
    assert (third.state, third.states) == ("success", ALL_WELL)
    is_finished(world, name, undisturbed)


def test_an_execution_timeout_and_catching_up(world: ScheduledExports) -> None:
    """A user's own DAG with catchup=True, whose first export runs out of its time in its middle, makes the same
    objects as the connector's own DAG, which exports the hours that it has missed in one run, one by one."""
    for number, at in enumerate((world.hour - 3 * HOUR, world.hour - 2 * HOUR, world.hour - HOUR)):
        for partition in (0, 1):
            world.produce("late", partition, lines((10, RECORDS, 500)[number]), at)
    for name in ("late", "own"):
        first = (world.hour - 3 * HOUR, world.hour - 2 * HOUR)
        done = world.call(name, "run", "--interval", *(at.isoformat() for at in first))
        assert done.exit_code == 0, done.output
    with world.unpaused("own"):
        with world.frozen("own") as export:
            export.task.send_signal(signal.SIGALRM)  # what execution_timeout's clock sends
            export.has_ended()
            leaves_no_folder(world, export)
        runs = until(
            "both hours have a run",
            lambda: found if len(found := [run for run in world.runs("own") if run.state in ENDED]) >= 2 else None,
            or_say=lambda: world.runs("own"),
        )
    assert [(run.kind, run.state, run.states) for run in runs[:2]] == [("scheduled", "success", ALL_WELL)] * 2
    assert [run.interval_end for run in runs[:2]] == [world.hour - HOUR, world.hour]
    assert world.attempts("own", runs[0], "export") == ["failed", "success"]
    assert "AirflowTaskTimeout" in world.said("own", runs[0], "export")

    with world.unpaused("late"):
        late = world.ended("late")
    assert (late.kind, late.state, late.states) == ("scheduled", "success", ALL_WELL)
    commits = [entry for entry in world.entries("late") if entry.run_id == late.run_id]
    assert [entry.interval for entry in commits] == [entry.interval for entry in world.entries("own")][-2:]
    assert world.objects("late") == world.objects("own")
    assert world.verified("own") == world.verified("late") == 2 * (10 + RECORDS + 500)


def test_a_killed_supervisors_task_is_retried(
    world: ScheduledExports, silenced: RunningExport, undisturbed: dict[str, bytes]
) -> None:
    """When Airflow has missed the supervisor's heartbeat for long enough, the next try finishes the plan."""
    name = "killed-supervisor"
    run = world.ended(name)
    assert (run.state, run.states) == ("success", ALL_WELL)
    assert world.attempts(name, run, "export") == ["failed", "success"]
    is_finished(world, name, undisturbed)
    leaves_no_folder(world, silenced)
