"""Which interval a run is for, and how times are read."""

from datetime import datetime

import click
import pytest

from kafka_s3.cli.common import Time, iso
from kafka_s3.cli.interval import chosen_interval
from kafka_s3.plan.schedule import last_complete
from kafka_s3.settings.schedule import ScheduleSettings

HOUR = 3_600_000


def _ms(text: str) -> int:
    return Time().convert(text, None, None)


def test_a_time_without_an_offset_is_utc() -> None:
    """Naive times are UTC, others are what they say, and a date is its midnight."""
    assert _ms("2026-03-01T13:00:00") == _ms("2026-03-01T13:00:00Z") == _ms("2026-03-01T14:00:00+01:00")
    assert _ms("2026-03-01") == int(datetime.fromisoformat("2026-03-01T00:00:00+00:00").timestamp() * 1000)
    assert iso(_ms("2026-03-01T13:00:00.250")) == "2026-03-01T13:00:00.250Z"


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "13:00", "1767225600000"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """Anything but ISO 8601 is a usage error that repeats it."""
    with pytest.raises(click.BadParameter, match="not an ISO 8601 time"):
        _ms(text)


@pytest.mark.parametrize(
    ("interval_ms", "timezone", "at", "start", "end"),
    [
        (HOUR, "UTC", "2026-03-01T13:20:00", "2026-03-01T12:00:00", "2026-03-01T13:00:00"),
        (HOUR, "UTC", "2026-03-01T13:00:00", "2026-03-01T12:00:00", "2026-03-01T13:00:00"),
        (24 * HOUR, "Europe/Berlin", "2026-03-01T13:20:00", "2026-02-27T23:00:00", "2026-02-28T23:00:00"),
        # 7 hours do not divide a day: 00, 07, 14, 21, and midnight again
        (7 * HOUR, "UTC", "2026-03-01T03:00:00", "2026-02-28T21:00:00", "2026-03-01T00:00:00"),
        # the day on which Berlin's clocks go forward has 23 hours
        (24 * HOUR, "Europe/Berlin", "2026-03-30T00:00:00", "2026-03-28T23:00:00", "2026-03-29T22:00:00"),
    ],
)
def test_the_last_complete_interval_is_the_schedules(
    interval_ms: int, timezone: str, at: str, start: str, end: str
) -> None:
    """Without an option a run takes the interval that Airflow would give a manual run: the last complete one."""
    chosen = last_complete(ScheduleSettings(interval_ms, timezone), _ms(at))
    assert (chosen.start_ms, chosen.end_ms) == (_ms(start), _ms(end))


def test_without_a_schedule_by_time_a_run_takes_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    """As a run in Airflow does, where `export.schedule` is none."""
    assert chosen_interval(ScheduleSettings(timed=False), None, until_now=False) is None
    assert "no schedule by time" in capsys.readouterr().err
