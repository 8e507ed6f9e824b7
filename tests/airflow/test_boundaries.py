"""The engine's boundaries and Airflow's: a late run sees the intervals that punctual ones had."""

from __future__ import annotations

import pendulum
import pytest
from airflow.timetables.base import DataInterval, TimeRestriction
from airflow.timetables.interval import CronDataIntervalTimetable

from kafka_s3.plan.schedule import boundaries
from kafka_s3.settings.schedule import ScheduleSettings
from kafka_s3_airflow.schedules import cron_of

HOUR = 3_600_000
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "America/Havana"]
CLOCK_CHANGES = ["2026-03-08", "2026-03-29", "2026-10-25", "2026-11-01"]


def ends_of_runs(cron: str, zone: str, begin: pendulum.DateTime, until: pendulum.DateTime) -> list[int]:
    """Ends of the data intervals that Airflow schedules in `(begin, until]`."""
    timetable = CronDataIntervalTimetable(cron, pendulum.timezone(zone))
    last = DataInterval(begin.subtract(seconds=1).in_timezone("UTC"), begin.in_timezone("UTC"))
    ends = []
    while True:
        info = timetable.next_dagrun_info(
            last_automated_data_interval=last, restriction=TimeRestriction(None, None, True)
        )
        assert info is not None
        last = info.data_interval
        if last.end > until:
            return ends
        ends.append(int(last.end.timestamp() * 1000))


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("interval_ms", [HOUR // 2, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR])
def test_boundaries_are_the_ends_of_data_intervals(zone: str, interval_ms: int) -> None:
    """On days when the clock is changed, too, boundaries are where the DAG's schedule ends its data intervals."""
    cron = cron_of(interval_ms)
    assert cron is not None
    for day in CLOCK_CHANGES:
        begin = pendulum.parse(day, tz=zone)
        assert isinstance(begin, pendulum.DateTime)
        until = begin.add(days=2)
        window = (int(begin.timestamp() * 1000), int(until.timestamp() * 1000))
        late = list(boundaries(ScheduleSettings(interval_ms, zone), *window))
        assert late == ends_of_runs(cron, zone, begin, until), day
