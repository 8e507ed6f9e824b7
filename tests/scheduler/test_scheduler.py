"""Airflow's scheduler, dag-processor and api-server as processes, the real broker, a real S3 API, Spark in local[2].

Nothing here asserts a time: states are awaited, with a generous bound.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import psutil
import pytest

from kafka_s3.naming import LogLayout
from kafka_s3.schedule import following, last_complete, latest
from kafka_s3.settings.model import ScheduleSettings
from tests.processes import below
from tests.scheduler.world import ENDED, Run, World, lines, until

pytestmark = pytest.mark.scheduler

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
ALL_WELL = {"plan": "success", "export": "success", "complete": "success"}


def yesterday() -> datetime:
    """A time in the last complete interval of a daily connector."""
    return datetime.now(UTC) - DAY


def test_the_good_are_well_beside_a_broken_one(world: World) -> None:
    """A dag-processor's pass over a folder with a broken connector leaves no import error, and every DAG healthy;
    the broken one is tagged, and its run fails at once with every problem."""
    dags = {each["dag_id"]: each for each in world.api.get("/dags", limit=100)["dags"]}
    assert {(each["is_stale"], each["has_import_errors"]) for each in dags.values()} == {(False, False)}
    assert world.api.get("/importErrors")["total_entries"] == 0
    assert {name for name, each in dags.items() if "broken" in {tag["name"] for tag in each["tags"]}} == {"broken"}

    with world.unpaused("broken"):
        run = world.ended("broken")
    assert (run.kind, run.state) == ("scheduled", "failed")
    assert run.states == {"plan": "failed", "export": "upstream_failed", "complete": "failed"}
    assert run.tasks["plan"].tries == 1
    said = world.said("broken", run, "plan")
    assert "flush.size=many" in said
    assert "s3.compresion.type" in said


def test_a_schedule_that_cron_cannot_say(world: World) -> None:
    """The dag-processor stores a timetable of the plugin, the scheduler starts a run by it, and the api-server shows
    it: the interval that is over gets a run when the DAG is unpaused, and the next run is for the one after."""
    name, schedule = "ninety_minutes", ScheduleSettings(90 * 60_000, "Europe/Berlin")
    before_ms = _ms(datetime.now(UTC))
    with world.unpaused(name):
        run = world.ended(name)
    assert (run.kind, run.state, run.states) == ("scheduled", "success", {**ALL_WELL, "export": "skipped"})
    over = {last_complete(schedule, at_ms).end_ms for at_ms in (before_ms, _ms(datetime.now(UTC)))}
    assert run.interval_end is not None
    assert _ms(run.interval_end) in over
    dag = world.api.get(f"/dags/{name}/details")
    assert dag["timetable_summary"] == dag["timetable_description"] == "every 90 minutes from midnight (Europe/Berlin)"
    begin, end = (_ms(datetime.fromisoformat(dag[f"next_dagrun_data_interval_{edge}"])) for edge in ("start", "end"))
    assert begin >= _ms(run.interval_end)
    assert [begin, end] == [latest(schedule, begin), following(schedule, begin)]


def test_manual_runs(world: World) -> None:
    """A manual run exports the last complete interval; with `until: now` also what the current one holds so far."""
    with world.unpaused("manual"):
        first = world.ended("manual")
        assert (first.kind, first.state, first.tasks["export"].state) == ("scheduled", "success", "skipped")
        world.produce("manual", 0, lines(80), yesterday())
        world.produce("manual", 1, lines(40), yesterday())
        world.produce("manual", 1, lines(30), datetime.now(UTC))

        plain = world.trigger("manual", "plain")
        assert (plain.kind, plain.state, plain.states) == ("manual", "success", ALL_WELL)
        assert world.positions("manual") == [80, 40]

        now = world.trigger("manual", "now", {"until": "now"})
        assert (now.kind, now.state, now.states) == ("manual", "success", ALL_WELL)
        assert world.positions("manual") == [80, 70]
    assert world.verified("manual") == 150


def test_a_bad_record_is_not_retried(world: World) -> None:
    """Exit status 65 fails the export at its first try, though it has retries; what precedes the record is there."""
    world.produce("poisoned", 0, lines(50), yesterday())
    world.produce("poisoned", 1, [*lines(20), b"{not json", *lines(5)], yesterday())
    with world.unpaused("poisoned"):
        run = world.ended("poisoned")
    assert_failed_at_once(world, "poisoned", run, "export")
    said = world.said("poisoned", run, "export")
    assert world.gate.has_come("poisoned"), "it was the driver that refused it"
    assert f"A bad record at topic {world.topics['poisoned']} partition 1 offset 20" in said
    assert world.positions("poisoned") == [50, 20]
    assert world.verified("poisoned") == 70


def test_a_scheduled_run(world: World) -> None:
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
    marker = LogLayout("_kafka_s3", "scheduled").announced_key(commits[0]["seq"])
    assert marker in world.keys("scheduled", "_kafka_s3/scheduled/announced/")
    assert world.verified("scheduled") == 200


def test_a_configuration_error_is_not_retried(world: World) -> None:
    """Exit status 78 fails the export at its first try: here, the bucket is gone when the driver starts. A bucket
    that never was fails `plan` as soon."""
    world.produce("doomed", 0, lines(10), yesterday())
    with world.unpaused("doomed"), world.unpaused("homeless"):
        with world.gate.closed("doomed"):
            until("the export starts", lambda: world.gate.has_come("doomed"), or_say=lambda: world.runs("doomed"))
            world.remove_bucket("doomed")
        doomed, homeless = world.ended("doomed"), world.ended("homeless")
    assert_failed_at_once(world, "doomed", doomed, "export")
    assert world.bucket("doomed") in world.said("doomed", doomed, "export")
    assert_failed_at_once(world, "homeless", homeless, "plan")
    assert world.bucket("homeless") in world.said("homeless", homeless, "plan")


def test_an_outage_is_retried(world: World) -> None:
    """Exit status 75 is retried until it passes: here, the store hangs up on the first driver."""
    world.produce("cut_off", 0, lines(60), yesterday())
    with world.unpaused("cut_off"):
        with world.gate.closed("cut_off"):
            until("the export starts", lambda: world.gate.has_come("cut_off"), or_say=lambda: world.runs("cut_off"))
            world.proxy.is_open = False
        until("a second try", lambda: world.runs("cut_off")[0].tasks["export"].tries > 1)
        world.proxy.is_open = True
        run = world.ended("cut_off")
    assert (run.state, run.states) == ("success", ALL_WELL)
    first, *_, last = world.attempts("cut_off", run, "export")
    assert (first, last) == ("failed", "success")
    assert "The export ended with exit status 75." in world.said("cut_off", run, "export")
    assert world.verified("cut_off") == 60


def test_a_backfill_beside_scheduled_runs(world: World) -> None:
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


@pytest.mark.parametrize("victim", ["task", "supervisor"])
def test_a_killed_task_is_retried(world: World, victim: str) -> None:
    """kill -9 on the process of the export, or on its supervisor, in its middle: Spark and the driver end with it, the
    next try finishes the plan, and the objects are those of an undisturbed run."""
    name, store = f"killed-{victim}", world.stores["undisturbed"]
    if not world.keys("undisturbed", "topics/"):
        for partition in (0, 1):
            world.produce("undisturbed", partition, lines(30_000), yesterday())
        undisturbed = world.call("undisturbed", "run", "--until-now")
        assert undisturbed.exit_code == 0, undisturbed.output
    with world.unpaused(name):
        until("some objects are written", lambda: len(world.keys(name, "topics/")) >= 10, pause_s=0.02)
        store.suspend()
        try:
            jvm = world.jvm(name)
            task = jvm.parent()
            assert task is not None
            supervisor = task.parent()
            assert supervisor is not None
            assert supervisor.pid != world.scheduler_pid
            ours = [jvm, *below(jvm.pid)]
            (task if victim == "task" else supervisor).kill()
            _, alive = psutil.wait_procs([task, *ours], timeout=60)
            assert alive == []
        finally:
            store.resume()
        assert [entry.kind for entry in world.entries(name)] == ["checkpoint"]
        run = world.ended(name)
    assert (run.state, run.states) == ("success", ALL_WELL)
    assert world.attempts(name, run, "export") == ["failed", "success"]
    assert [entry.kind for entry in world.entries(name)] == ["checkpoint", "commit"]
    assert world.objects(name) == world.objects("undisturbed")
    assert world.verified(name) == 60_000
    assert world.call(name, "status").stdout.startswith("All is well")
    # Awaited: the connector `scheduled` may be at its own export just now.
    scratch = world.folder.parent / "tmp"
    until("no folder of Spark's is left", lambda: not list(scratch.glob("kafka-s3-spark-*")))


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def assert_failed_at_once(world: World, name: str, run: Run, task: str) -> None:
    """The task was tried once, and its retries were not used; the run says that it failed."""
    assert (run.state, run.tasks[task].state, run.tasks["complete"].state) == ("failed", "failed", "failed")
    assert run.tasks[task].tries == 1
    assert world.attempts(name, run, task) == ["failed"]
