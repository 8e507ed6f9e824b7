"""The timetable of ours against Airflow's cron, and as Airflow uses it: stored, for backfills and manual runs."""

from __future__ import annotations

import json
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pendulum
import pytest
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import DataInterval, TimeRestriction
from airflow.timetables.base import Timetable as CoreTimetable
from airflow.timetables.interval import CronDataIntervalTimetable
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.log.entries import Interval
from kafka_s3.plan.schedule import slots
from kafka_s3.settings.schedule import ScheduleSettings
from kafka_s3_airflow.dags import dags_of
from kafka_s3_airflow.schedules import (
    HALF_HOUR_CHANGES,
    BoundaryTimetable,
    cron_of,
    next_interval,
    takes_a_scheduled_run,
    timetable_of,
)
from tests.airflow.test_integrity import write

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
EPOCH = pendulum.datetime(1970, 1, 1)
# Gaps and folds at 1, 2 and 3 o'clock, at midnight in either direction, of two hours, backwards in winter; none.
ZONES: Final = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Africa/Casablanca",
    "Antarctica/Troll",
)
EVERYTHING = TimeRestriction(None, None, True)


def ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def at(ms: int) -> pendulum.DateTime:
    return EPOCH + timedelta(milliseconds=ms)


def of_airflow(interval: Interval) -> DataInterval:
    return DataInterval(at(interval.start_ms), at(interval.end_ms))


def local(zone: str, *clock: int) -> pendulum.DateTime:
    return pendulum.datetime(*clock, tz=zone).in_timezone("UTC")


def cron(interval_ms: int, zone: str) -> CronDataIntervalTimetable:
    expression = cron_of(interval_ms)
    assert expression is not None
    return CronDataIntervalTimetable(expression, pendulum.timezone(zone))


def ours(interval_ms: int, zone: str) -> BoundaryTimetable:
    return BoundaryTimetable(ScheduleSettings(interval_ms, zone))


def scheduled(timetable: CoreTimetable, begin: pendulum.DateTime, until: pendulum.DateTime) -> Iterator[DataInterval]:
    """The data intervals that begin in a span of time, as a backfill asks for them."""
    last = None
    while True:
        info = timetable.next_dagrun_info(
            last_automated_data_interval=last, restriction=TimeRestriction(begin, until, True)
        )
        if info is None:
            return
        assert info.data_interval is not None
        assert info.run_after == info.data_interval.end
        last = info.data_interval
        yield last


def changes_of(zone: str) -> list[pendulum.DateTime]:
    """When a zone's clock is changed in 2026."""
    hours = [at(ms(pendulum.datetime(2026, 1, 1)) + hour * HOUR) for hour in range(365 * 24)]
    shown = [hour.in_timezone(zone).utcoffset() for hour in hours]
    return [hours[i] for i in range(1, len(hours)) if shown[i] != shown[i - 1]]


# Against cron.


@pytest.mark.heavy
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.heavy
def test_a_year_is_crons_year(zone: str) -> None:
    """Where cron can say an interval, both timetables give the same data intervals all the year: its days, since
    shorter ones differ from cron's at a clock's change if at all."""
    begin, until = local(zone, 2026, 1, 1), local(zone, 2027, 1, 1)
    expected = list(scheduled(cron(DAY, zone), begin, until))
    assert list(scheduled(ours(DAY, zone), begin, until)) == expected
    assert len(expected) == 366


@pytest.mark.heavy
@pytest.mark.parametrize("zone", ZONES)
def test_days_with_a_clock_change_are_crons(zone: str) -> None:
    """The same around each change of a zone's clock, for the shorter ones too, down to minutes: each for so long that
    its times of before, of the change and of after are there, and the midnight beside it."""
    for change in changes_of(zone):
        for minutes in (4, 20, 30, 60, 120, 180, 240, 360, 720):
            hours = 5 if minutes < 60 else 30
            span = (change.subtract(hours=hours), change.add(hours=hours))
            expected = list(scheduled(cron(minutes * MINUTE, zone), *span))
            assert list(scheduled(ours(minutes * MINUTE, zone), *span)) == expected, (change, minutes)
            assert len(expected) >= 2 * hours * 60 // minutes - 1 - 120 // minutes


# No zone of these changes its clock within three weeks of such a time.
quiet_times = st.one_of(
    st.integers(ms(pendulum.datetime(2026, 5, 25)), ms(pendulum.datetime(2026, 8, 10))),
    st.integers(ms(pendulum.datetime(2026, 12, 1)), ms(pendulum.datetime(2027, 1, 10))),
)
spans = st.tuples(st.integers(-10 * DAY, DAY), st.sampled_from([HOUR, 90 * MINUTE, 7 * HOUR, DAY]))


@given(
    st.sampled_from([1, 4, 15, 30, 60, 120, 180, 360, 480, 720, 1440]),
    st.sampled_from(ZONES),
    quiet_times,
    st.booleans(),
    st.none() | spans,
    st.builds(
        TimeRestriction,
        st.none() | st.integers(-20 * DAY, 2 * DAY),
        st.none() | st.integers(-2 * DAY, 10 * DAY),
        st.booleans(),
    ),
)
def test_airflow_is_answered_as_cron_answers(
    minutes: int,
    zone: str,
    now_ms: int,
    on_a_boundary: bool,
    last: tuple[int, int] | None,
    relative: TimeRestriction,
) -> None:
    """Whatever the last run, the restrictions and the time, the next run and a manual run have cron's intervals:
    with and without catch-up, with start dates in past and future, and after a change of the schedule."""
    schedule, theirs = ScheduleSettings(minutes * MINUTE, zone), cron(minutes * MINUTE, zone)
    now = theirs.infer_manual_data_interval(run_after=at(now_ms)).end if on_a_boundary else at(now_ms)
    earliest, latest = (None if each is None else at(ms(now) + each) for each in relative[:2])
    restriction = TimeRestriction(earliest, latest, relative.catchup)
    previous = None if last is None else Interval(ms(now) + last[0], ms(now) + sum(last))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("airflow.timetables.interval.utcnow", lambda: now)
        expected = theirs.next_dagrun_info(
            last_automated_data_interval=None if previous is None else of_airflow(previous), restriction=restriction
        )
    found = next_interval(schedule, previous, restriction, ms(now))
    assert (None if found is None else of_airflow(found)) == (None if expected is None else expected.data_interval)
    manual = BoundaryTimetable(schedule).infer_manual_data_interval(run_after=now)
    assert manual == theirs.infer_manual_data_interval(run_after=now)


# Where Airflow's cron goes wrong; ours does not.


def test_a_boundary_that_is_not_shown() -> None:
    """On Berlin's short day 2 o'clock comes at 3. A manual run after it has an empty interval by Airflow's cron."""
    half_past_three = local("Europe/Berlin", 2026, 3, 29, 3, 30)
    three = local("Europe/Berlin", 2026, 3, 29, 3)
    crons = cron(2 * HOUR, "Europe/Berlin").infer_manual_data_interval(run_after=half_past_three)
    assert crons == DataInterval(three, three)
    found = ours(2 * HOUR, "Europe/Berlin").infer_manual_data_interval(run_after=half_past_three)
    assert found == DataInterval(local("Europe/Berlin", 2026, 3, 29), three)


def test_a_midnight_that_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cairo's 2026-04-24 began at 1. By Airflow's cron without catch-up, on that day the one before gets no run."""
    zone, newest = "Africa/Cairo", TimeRestriction(None, None, False)
    days = [local(zone, 2026, 4, day) for day in (22, 23, 24, 25)]
    now = local(zone, 2026, 4, 24, 10)
    monkeypatch.setattr("airflow.timetables.interval.utcnow", lambda: now)
    crons = cron(DAY, zone).next_dagrun_info(
        last_automated_data_interval=DataInterval(days[0], days[1]), restriction=newest
    )
    assert crons is not None
    assert crons.data_interval == DataInterval(days[2], days[3])
    found = next_interval(ScheduleSettings(DAY, zone), Interval(ms(days[0]), ms(days[1])), newest, ms(now))
    assert found == Interval(ms(days[1]), ms(days[2]))


@pytest.mark.parametrize("zone", sorted(HALF_HOUR_CHANGES))
def test_half_an_hour_of_daylight_saving(zone: str) -> None:
    """Airflow's cron raises where the clock is changed by half an hour, and the DAG stops; so there it is not used."""
    change = local(zone, 2026, 4, 5, 2)
    span = (change.subtract(hours=10), change.add(hours=10))
    with pytest.raises(ValueError, match="did not advance past"):
        list(scheduled(cron(HOUR, zone), *span))
    timetable = timetable_of(ScheduleSettings(HOUR, zone))
    assert isinstance(timetable, BoundaryTimetable)
    found = list(scheduled(timetable, *span))
    assert len(found) >= 20
    assert all(one.end == other.start for one, other in pairwise(found))


def test_zones_that_change_by_half_an_hour() -> None:
    """They are those of the time-zone database, for some years to come."""
    days = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=7 * week) for week in range(52 * 5)]
    found = set()
    for name in zoneinfo.available_timezones() - {"localtime"}:
        zone = zoneinfo.ZoneInfo(name)
        offsets = {day.astimezone(zone).utcoffset() for day in days}
        if len({offset % timedelta(hours=1) for offset in offsets if offset is not None}) > 1:
            found.add(name)
    assert found == HALF_HOUR_CHANGES


# As Airflow uses it.


def stored(folder: Path, interval_ms: int, zone: str) -> Any:
    """The DAG of a connector as the scheduler has it: through JSON, as Airflow's database keeps it."""
    write(folder, "a.properties", "a", f"rotate.schedule.interval.ms={interval_ms}\ntimezone={zone}\n")
    data = json.loads(json.dumps(DagSerialization.to_dict(dags_of(folder, {})["a"])))
    return DagSerialization.from_dict(data)


def shown(interval: DataInterval, zone: str) -> tuple[str, str]:
    start, end = (edge.in_timezone(zone).format("DD HH:mm Z") for edge in interval)
    return start, end


def test_stored_and_read_back(tmp_path: Path) -> None:
    """The scheduler's DAG has the same timetable; a backfill over Berlin's short night has the engine's intervals."""
    dag = stored(tmp_path, 90 * MINUTE, "Europe/Berlin")
    assert type(dag.timetable) is BoundaryTimetable
    assert dag.timetable.summary == "every 90 minutes from midnight (Europe/Berlin)"
    assert dag.timetable.serialize() == {"interval_ms": 90 * MINUTE, "timezone": "Europe/Berlin"}
    span = (local("Europe/Berlin", 2026, 3, 28, 22), local("Europe/Berlin", 2026, 3, 29, 4))
    assert [shown(info.data_interval, "Europe/Berlin") for info in dag.iter_dagrun_infos_between(*span)] == [
        ("28 22:30 +01:00", "29 00:00 +01:00"),
        ("29 00:00 +01:00", "29 01:30 +01:00"),
        ("29 01:30 +01:00", "29 03:00 +02:00"),
        ("29 03:00 +02:00", "29 04:30 +02:00"),
    ]


def test_seven_hours(tmp_path: Path) -> None:
    """7, 14, 21 o'clock and midnight; both ends of a backfill's range are in it."""
    dag = stored(tmp_path, 7 * HOUR, "Asia/Kolkata")
    span = (local("Asia/Kolkata", 2026, 3, 5, 7), local("Asia/Kolkata", 2026, 3, 6))
    assert [shown(info.data_interval, "Asia/Kolkata") for info in dag.iter_dagrun_infos_between(*span)] == [
        ("05 07:00 +05:30", "05 14:00 +05:30"),
        ("05 14:00 +05:30", "05 21:00 +05:30"),
        ("05 21:00 +05:30", "06 00:00 +05:30"),
        ("06 00:00 +05:30", "06 07:00 +05:30"),
    ]
    manual = dag.timetable.infer_manual_data_interval(run_after=local("Asia/Kolkata", 2026, 3, 6, 3))
    assert shown(manual, "Asia/Kolkata") == ("05 21:00 +05:30", "06 00:00 +05:30")


def test_the_first_run_is_for_the_last_complete_interval(tmp_path: Path) -> None:
    """A new DAG, whose start date is years ago, begins with the interval that is over, without catching up."""
    dag = stored(tmp_path, 7 * HOUR, "UTC")
    before = datetime.now(UTC)
    info = dag.next_dagrun_info(last_automated_run_info=None)
    after = datetime.now(UTC)
    expected = [dag.timetable.infer_manual_data_interval(run_after=at(ms(now))) for now in (before, after)]
    assert info.data_interval in expected
    assert info.run_after == info.data_interval.end
    following = dag.next_dagrun_info(last_automated_run_info=info)
    assert following.data_interval.start == info.data_interval.end
    assert following.run_after > after


@given(
    st.one_of(st.sampled_from([90 * MINUTE, 7 * HOUR, 7 * MINUTE]), st.integers(MINUTE, DAY)),
    st.sampled_from([*ZONES, *sorted(HALF_HOUR_CHANGES)]),
    st.integers(ms(pendulum.datetime(2026, 1, 1)), ms(pendulum.datetime(2028, 1, 1))),
    st.integers(0, 8),
)
def test_a_late_run_plans_the_intervals_of_punctual_ones(interval_ms: int, zone: str, now_ms: int, missed: int) -> None:
    """The batches of a run after an outage are the runs that Airflow would have started."""
    schedule = ScheduleSettings(interval_ms, zone)
    timetable = BoundaryTimetable(schedule)
    runs = [timetable.infer_manual_data_interval(run_after=at(now_ms))]
    for _ in range(missed + 1):
        info = timetable.next_dagrun_info(last_automated_data_interval=runs[-1], restriction=EVERYTHING)
        assert info is not None
        assert info.data_interval is not None
        runs.append(info.data_interval)
    committed, *_, own = runs
    found = slots(schedule, ms(committed.end), Interval(ms(own.start), ms(own.end)), 168)
    assert [of_airflow(slot) for slot in found] == runs[1:]


@pytest.mark.parametrize(
    ("zone", "midnight"), [("+05:30", "2024-03-01T18:30"), ("PST", "2024-03-02T08:00"), ("UTC", "2024-03-02T00:00")]
)
def test_zones_that_paths_know_are_schedules_too(tmp_path: Path, zone: str, midnight: str) -> None:
    """Offsets and Java's short names, in a DAG that Airflow stores and reads back."""
    dag = stored(tmp_path, DAY, zone)
    interval = dag.timetable.infer_manual_data_interval(run_after=pendulum.datetime(2024, 3, 2, 12))
    assert interval.end == datetime.fromisoformat(f"{midnight}+00:00")


def test_a_run_by_hand_on_a_scheduled_date() -> None:
    """Only a date of the schedule whose interval is not over takes a scheduled run's place, and only a run by hand."""
    hourly = ScheduleSettings(HOUR)
    ten = datetime(2026, 3, 5, 10, tzinfo=UTC)
    now_ms = int(ten.timestamp() * 1000) + 20 * MINUTE

    def takes(date: datetime | None, run_type: str = "manual", schedule: ScheduleSettings = hourly) -> bool:
        return takes_a_scheduled_run(schedule, run_type, date, now_ms)

    assert takes(ten)
    assert takes(ten + timedelta(hours=3))
    assert not takes(ten - timedelta(hours=1))  # without catch-up no run of it is to come
    assert not takes(ten + timedelta(minutes=1))
    assert not takes(None)
    assert not takes(ten, "scheduled")
    assert not takes(ten, schedule=ScheduleSettings(timed=False))
