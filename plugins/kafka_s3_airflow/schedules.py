"""`rotate.schedule.interval.ms` as one of Airflow's timetables."""

from __future__ import annotations

from airflow.sdk import CronDataIntervalTimetable
from pendulum import timezone

from kafka_s3.settings.model import ScheduleSettings

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS


def timetable_of(schedule: ScheduleSettings) -> CronDataIntervalTimetable | None:
    """Runs at each end of an interval, aligned to local midnight; `None` where cron cannot say that."""
    cron = cron_of(schedule.interval_ms)
    return None if cron is None else CronDataIntervalTimetable(cron, timezone(schedule.timezone))


def cron_of(interval_ms: int) -> str | None:
    """The cron expression of an interval, or `None`: `*/7` would leave a gap at each hour, `*/90` would run hourly.

    >>> [cron_of(minutes * 60_000) for minutes in (1, 20, 60, 360, 1440)]
    ['* * * * *', '*/20 * * * *', '0 * * * *', '0 */6 * * *', '0 0 * * *']
    >>> [cron_of(minutes * 60_000) for minutes in (7, 90, 300)] + [cron_of(90_000)]
    [None, None, None, None]
    """
    minutes, odd_ms = divmod(interval_ms, _MINUTE_MS)
    hours, odd_minutes = divmod(minutes, 60)
    if odd_ms or interval_ms <= 0:
        return None
    if minutes == 1:
        return "* * * * *"
    if _HOUR_MS % interval_ms == 0:
        return f"*/{minutes} * * * *" if minutes < 60 else "0 * * * *"
    if odd_minutes == 0 and _DAY_MS % interval_ms == 0:
        return f"0 */{hours} * * *" if hours < 24 else "0 0 * * *"
    return None


def spoken(schedule: ScheduleSettings) -> str:
    """The schedule for people.

    >>> spoken(ScheduleSettings(5_400_000, "Europe/Berlin"))
    'every 90 minutes from midnight (Europe/Berlin)'
    """
    units = ((_DAY_MS, "day"), (_HOUR_MS, "hour"), (_MINUTE_MS, "minute"), (1, "millisecond"))
    unit_ms, name = next(unit for unit in units if schedule.interval_ms % unit[0] == 0)
    count = schedule.interval_ms // unit_ms
    every = f"every {name}" if count == 1 else f"every {count} {name}s"
    return f"{every} from midnight ({schedule.timezone})"
