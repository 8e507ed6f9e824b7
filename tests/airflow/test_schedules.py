"""A connector's schedule in Airflow: by a cron expression, by assets, by hand; stored and read back."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pendulum
import pytest
from airflow.serialization.encoders import encode_timetable
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import DataInterval, TimeRestriction
from airflow.timetables.interval import CronDataIntervalTimetable
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.settings.schedule import ScheduleSettings, cron_problem
from kafka_s3_airflow.schedules import BoundaryTimetable, MidnightTimetable, next_interval
from tests.airflow.test_integrity import dags_of, healthy, write
from tests.airflow.test_timetable import at, local, ms, of_airflow, scheduled, shown
from tests.plan.test_cron import expressions

BERLIN = "Europe/Berlin"


def stored(folder: Path, extra: str) -> Any:
    """The DAG of a connector as the scheduler has it: through JSON, as Airflow's database keeps it."""
    write(folder, "a.properties", "a", extra)
    dag = dags_of(folder)["a"]
    assert healthy(dag), dag.doc_md
    return DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag))))


def test_a_cron_expression(tmp_path: Path) -> None:
    """`export.schedule` draws the data intervals, in `timezone`: on workdays at 4:30, the weekend in one; and a manual
    run has the last complete one."""
    dag = stored(tmp_path, f"export.schedule=30 4 * * mon-fri\ntimezone={BERLIN}\n")
    assert dag.timetable.summary == "at 30 4 * * mon-fri (Europe/Berlin)"
    span = (local(BERLIN, 2026, 3, 27), local(BERLIN, 2026, 3, 31))
    assert [shown(info.data_interval, BERLIN) for info in dag.iter_dagrun_infos_between(*span)] == [
        ("27 04:30 +01:00", "30 04:30 +02:00"),
        ("30 04:30 +02:00", "31 04:30 +02:00"),
    ]
    manual = dag.timetable.infer_manual_data_interval(run_after=local(BERLIN, 2026, 3, 29))
    assert shown(manual, BERLIN) == ("26 04:30 +01:00", "27 04:30 +01:00")


@pytest.mark.parametrize("preset", ["@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly"])
def test_presets(tmp_path: Path, preset: str) -> None:
    """Airflow's names for expressions are expressions, with the data intervals that Airflow gives them."""
    dag = stored(tmp_path, f"export.schedule={preset}\n")
    now = pendulum.datetime(2026, 3, 5, 12, 30)
    theirs = CronDataIntervalTimetable(preset, "UTC").infer_manual_data_interval(run_after=now)
    assert dag.timetable.infer_manual_data_interval(run_after=now) == theirs


@settings(max_examples=10)
@given(expressions, st.integers(ms(pendulum.datetime(2024, 1, 1)), ms(pendulum.datetime(2027, 1, 1))), st.booleans())
def test_in_utc_airflow_is_answered_as_its_own_cron_answers(expression: str, now_ms: int, catchup: bool) -> None:
    """The next runs and a manual run's interval are those of Airflow's own timetable for the same expression."""
    if cron_problem(expression) is not None:
        return
    now, theirs = at(now_ms - now_ms % 1000), CronDataIntervalTimetable(expression, "UTC")
    schedule = ScheduleSettings(cron=expression)
    manual = theirs.infer_manual_data_interval(run_after=now)
    assert BoundaryTimetable(schedule).infer_manual_data_interval(run_after=now) == manual
    restriction = TimeRestriction(now.subtract(days=40), None, catchup)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("airflow.timetables.interval.utcnow", lambda: now)
        expected = theirs.next_dagrun_info(last_automated_data_interval=None, restriction=restriction)
    found = next_interval(schedule, None, restriction, ms(now))
    assert (None if found is None else of_airflow(found)) == (None if expected is None else expected.data_interval)


def test_by_hand(tmp_path: Path) -> None:
    """`export.schedule=none` never starts a run by time, and one that is started has no data interval of its own."""
    dag = stored(tmp_path, "export.schedule=none\n")
    assert (type(dag.timetable).__name__, dag.timetable.can_be_scheduled) == ("NullTimetable", False)
    now = pendulum.datetime(2026, 3, 5, 12, 30)
    assert dag.timetable.infer_manual_data_interval(run_after=now) == DataInterval(now, now)
    assert "Runs by hand only" in dag.doc_md


@pytest.mark.parametrize(
    ("extra", "timetable", "words"),
    [
        ("", "AssetTriggeredTimetable", "Runs when these assets are updated"),
        ("export.schedule=none\n", "AssetTriggeredTimetable", "Runs when these assets are updated"),
        ("export.schedule=@daily\n", "AssetOrTimeSchedule", "Runs at @daily (UTC), and when these assets are updated"),
        (
            "rotate.schedule.interval.ms=3600000\ntimezone=UTC\n",
            "AssetOrTimeSchedule",
            "Runs every hour from midnight (UTC), and when these assets are updated",
        ),
    ],
)
def test_assets(tmp_path: Path, extra: str, timetable: str, words: str) -> None:
    """`export.schedule.assets` names assets by URI, whatever their names: alone, and beside a schedule by time, whose
    runs keep their data intervals."""
    dag = stored(tmp_path, f"export.schedule.assets=s3://bucket/key,x-kafka-s3://orders\n{extra}")
    assert type(dag.timetable).__name__ == timetable
    assert [ref.uri for ref in dag.timetable.asset_condition.objects] == ["s3://bucket/key", "x-kafka-s3://orders"]
    assert f"{words}: `s3://bucket/key`, `x-kafka-s3://orders`" in dag.doc_md
    info = dag.timetable.next_dagrun_info(
        last_automated_data_interval=None, restriction=TimeRestriction(pendulum.datetime(2026, 3, 5), None, True)
    )
    if timetable == "AssetTriggeredTimetable":
        assert info is None
    else:
        assert info.data_interval.start == pendulum.datetime(2026, 3, 5)
        assert info.data_interval.end.diff(info.data_interval.start).in_hours() == (24 if "daily" in extra else 1)


def test_two_schedules(tmp_path: Path) -> None:
    """An interval and an expression exclude each other, and the DAG says so."""
    write(tmp_path, "a.properties", "a", "export.schedule=@daily\nrotate.schedule.interval.ms=60000\ntimezone=UTC\n")
    dag = dags_of(tmp_path)["a"]
    assert not healthy(dag)
    assert "export.schedule=@daily: cannot be combined with rotate.schedule.interval.ms" in dag.doc_md


@pytest.mark.parametrize("wrong", ["daily", "@once", "* * * *", "0 0 30 2 *", "0 0 * * 5-5", "None"])
def test_a_wrong_expression(tmp_path: Path, wrong: str) -> None:
    """What is no schedule is named, with what is allowed."""
    write(tmp_path, "a.properties", "a", f"export.schedule={wrong}\n")
    dag = dags_of(tmp_path)["a"]
    assert not healthy(dag)
    assert f"export.schedule={wrong}: " in dag.doc_md
    assert "; or none" in dag.doc_md


def test_what_older_versions_stored() -> None:
    """A database that holds the timetable by its former name means the same with this version."""
    from airflow.serialization.decoders import decode_timetable

    data = {"interval_ms": 5_400_000, "timezone": BERLIN}
    path = "kafka_s3_airflow.schedules.MidnightTimetable"
    found = decode_timetable({"__type": path, "__var": data})
    assert type(found) is MidnightTimetable
    now = pendulum.datetime(2026, 3, 29, 2)
    assert found.infer_manual_data_interval(run_after=now) == BoundaryTimetable(
        ScheduleSettings(5_400_000, BERLIN)
    ).infer_manual_data_interval(run_after=now)
    again = encode_timetable(found)
    assert (again["__type"], again["__var"]) == (path, data)


@pytest.mark.parametrize("zone", [BERLIN, "Africa/Cairo", "Australia/Lord_Howe", "+05:30"])
def test_every_run_follows_the_one_before(zone: str) -> None:
    """In zones with clock changes, too, the intervals of an expression join all the year."""
    for expression in ("0 */2 * * *", "30 2 * * *", "15,45 * * * *", "0 0 * * sun"):
        timetable = BoundaryTimetable(ScheduleSettings(timezone=zone, cron=expression))
        found = list(scheduled(timetable, pendulum.datetime(2026, 3, 1), pendulum.datetime(2026, 5, 10)))
        assert len(found) >= 9
        assert all(one.end == other.start for one, other in itertools.pairwise(found))
