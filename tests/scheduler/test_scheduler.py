"""Airflow's scheduler, dag-processor and api-server as processes, the real broker, a real S3 API, Spark in local[2].

Nothing here asserts a time: states are awaited, with a generous bound.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kafka_s3.log.entries import Entry, Interval
from kafka_s3.plan.schedule import following, last_complete, latest
from tests.scheduler.harness import PAUSED_MINUTES, Pause, Run, ScheduledExports, lines, until

pytestmark = pytest.mark.scheduler

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
ALL_WELL = {"plan": "success", "export": "success", "complete": "success"}


def yesterday() -> datetime:
    """A time in the last complete interval of a daily connector."""
    return datetime.now(UTC) - DAY


def test_the_good_are_well_beside_a_broken_one(world: ScheduledExports) -> None:
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


def test_a_schedule_that_cron_cannot_say(world: ScheduledExports) -> None:
    """The dag-processor stores a timetable of the plugin, the scheduler starts a run by it, and the api-server shows
    it: the interval that is over gets a run when the DAG is unpaused, and the next run is for the one after."""
    name, schedule = "ninety_minutes", world.ninety
    before_ms = _ms(datetime.now(UTC))
    with world.unpaused(name):
        run = world.ended(name)
    assert (run.kind, run.state, run.states) == ("scheduled", "success", {**ALL_WELL, "export": "skipped"})
    over = {last_complete(schedule, at_ms).end_ms for at_ms in (before_ms, _ms(datetime.now(UTC)))}
    assert run.interval_end is not None
    assert _ms(run.interval_end) in over
    dag = world.api.get(f"/dags/{name}/details")
    described = f"every 90 minutes from midnight ({schedule.timezone})"
    assert (dag["timetable_summary"], dag["timetable_description"]) == (described, described)
    begin, end = (_ms(datetime.fromisoformat(dag[f"next_dagrun_data_interval_{edge}"])) for edge in ("start", "end"))
    assert begin >= _ms(run.interval_end)
    assert [begin, end] == [latest(schedule, begin), following(schedule, begin)]


def test_manual_runs(world: ScheduledExports) -> None:
    """A manual run is for the last complete interval: where the schedule has run before, it leaves what came late
    to the next one. With `until: now` it exports all that is there."""
    with world.unpaused("manual"):
        first = world.ended("manual")
        assert (first.kind, first.state, first.tasks["export"].state) == ("scheduled", "success", "skipped")
        world.produce("manual", 0, lines(80), yesterday())
        world.produce("manual", 1, lines(40), yesterday())
        world.produce("manual", 1, lines(30), datetime.now(UTC))

        plain = world.trigger("manual", "plain")
        assert (plain.kind, plain.state, plain.tasks["export"].state) == ("manual", "success", "skipped")
        assert world.positions("manual") == [0, 0]

        now = world.trigger("manual", "now", {"until": "now"})
        assert (now.kind, now.state, now.states) == ("manual", "success", ALL_WELL)
        assert world.positions("manual") == [80, 70]
    assert world.verified("manual") == 150


def test_a_bad_record_is_not_retried(world: ScheduledExports) -> None:
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


def test_a_configuration_error_is_not_retried(world: ScheduledExports) -> None:
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


def test_an_outage_is_retried(world: ScheduledExports) -> None:
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


def test_a_failed_run_is_tried_again(world: ScheduledExports) -> None:
    """A run that failed for good is a success once its cause is gone and the user clears its failed tasks."""
    name = "homeless"
    with world.unpaused(name):
        failed = world.ended(name)
        assert failed.state == "failed"
        world.stores[name].create_bucket(world.bucket(name))
        world.produce(name, 0, lines(20), yesterday())
        world.api.send(
            "POST",
            f"/api/v2/dags/{name}/clearTaskInstances",
            {"dry_run": False, "dag_run_id": failed.run_id, "only_failed": False, "reset_dag_runs": True},
        )
        run = world.ended(name, lambda run: run.run_id == failed.run_id and run.state == "success")
    assert run.states == ALL_WELL
    assert world.attempts(name, run, "plan") == ["failed", "success"]
    assert world.verified(name) == 20


def test_a_pause_loses_nothing(world: ScheduledExports, paused: Pause) -> None:
    """What was produced while a connector was paused is exported when it is not any more, in one batch for each
    boundary that was missed, under that boundary's logical time; a run that has missed several makes several."""
    name, last = "scheduled", PAUSED_MINUTES[-1]
    until("the minutes are over", lambda: datetime.now(UTC) >= paused.minute + (last + 1) * MINUTE)

    def batches() -> list[Entry]:
        return [entry for entry in world.entries(name) if entry.seq > paused.seq and entry.kind == "commit"]

    def hold() -> list[tuple[Interval | None, int]]:
        return [(entry.interval, sum(each.records for each in entry.ranges)) for entry in batches()]

    with world.unpaused(name):
        until("all is exported", lambda: sum(records for _, records in hold()) == 120, or_say=hold)
        runs = world.all_ended(name, paused.runs + 1)[paused.runs :]
    assert {(run.kind, run.state) for run in runs} == {("scheduled", "success")}
    begin_ms = _ms(paused.minute)
    minutes = [Interval(begin_ms + n * 60_000, begin_ms + (n + 1) * 60_000) for n in PAUSED_MINUTES]
    assert [each for each in hold() if each[1]] == [(minutes[n - 1], 20 * n) for n in PAUSED_MINUTES]
    assert len({entry.run_id for entry in batches()}) < len(PAUSED_MINUTES)
    assert world.verified(name) == 320


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def assert_failed_at_once(world: ScheduledExports, name: str, run: Run, task: str) -> None:
    """The task was tried once, and its retries were not used; the run says that it failed."""
    assert (run.state, run.tasks[task].state, run.tasks["complete"].state) == ("failed", "failed", "failed")
    assert run.tasks[task].tries == 1
    assert world.attempts(name, run, task) == ["failed"]
