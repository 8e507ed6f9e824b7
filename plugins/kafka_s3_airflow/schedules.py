"""A connector's schedule as Airflow takes it: its own cron in UTC where that can say it, else a timetable of ours."""

from __future__ import annotations

import calendar
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pendulum
from airflow.plugins_manager import get_timetables_plugins
from airflow.sdk import Asset, AssetAll, AssetOrTimeSchedule, CronDataIntervalTimetable
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable

from kafka_s3.errors import Problem
from kafka_s3.joda.zones import zone as find_zone
from kafka_s3.log.entries import Interval
from kafka_s3.plan.schedule import following, last_complete, latest
from kafka_s3.settings import Outline
from kafka_s3.settings.schedule import ScheduleSettings

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS
# Where the clock is not changed by whole hours. Airflow's cron raises there in autumn: "did not advance past".
HALF_HOUR_CHANGES: Final = frozenset({"Australia/Lord_Howe", "Australia/LHI"})
_NOT_LOADED: Final = (
    "its schedule is a timetable of the plugin kafka_s3, which Airflow has not loaded: install the package kafka-s3 in"
    " Airflow's environment, or set [core] plugins_folder to the project's plugins/. An interval that divides an hour"
    " into minutes or a day into hours works without in timezone=UTC"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class BoundaryTimetable(Timetable):
    """A run at the end of each interval, whose ends are the engine's `boundaries`.

    Like Airflow's cron with data intervals in everything but where the boundaries lie when a clock is changed, and
    there what a late run exports one by one is what punctual runs would have: Airflow and the engine cannot disagree.
    Airflow stores this class by its name in every serialised DAG, and finds it by the plugin.
    """

    def __init__(self, schedule: ScheduleSettings) -> None:
        self._schedule = schedule
        self.description = spoken(schedule)

    @property
    def summary(self) -> str:
        """What the list of DAGs shows in the place of a cron expression."""
        return self.description

    def serialize(self) -> dict[str, int | str]:
        """What is stored in Airflow's database; `deserialize` is its inverse."""
        interval = {"interval_ms": self._schedule.interval_ms} if self._schedule.cron is None else {}
        cron = {} if self._schedule.cron is None else {"cron": self._schedule.cron}
        return {**interval, **cron, "timezone": self._schedule.timezone}

    @classmethod
    def deserialize(cls, data: Mapping[str, int | str]) -> Timetable:
        """The timetable that was stored."""
        zone, cron = str(data["timezone"]), data.get("cron")
        if cron is not None:
            return cls(ScheduleSettings(timezone=zone, cron=str(cron)))
        return cls(ScheduleSettings(int(data["interval_ms"]), zone))

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """The last complete interval, which `airflow dags test` and the Trigger button get."""
        return _to_airflow(last_complete(self._schedule, _ms(run_after)))

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        """The next scheduled run; without catch-up never one before the last complete interval."""
        last = None if last_automated_data_interval is None else _from_airflow(last_automated_data_interval)
        found = next_interval(self._schedule, last, restriction, _ms(datetime.now(UTC)))
        return None if found is None else DagRunInfo.interval(*_to_airflow(found))


class MidnightTimetable(BoundaryTimetable):
    """The name under which older versions stored their timetable: a database that holds it still means the same."""


class OnRequestTimetable(BoundaryTimetable):
    """The same intervals for backfills and for runs by hand; no run is ever due by itself.

    `allowed_run_types` alone would not do: Airflow refuses it without scheduled runs on a timetable that has some, or
    says at every turn of the scheduler that it skips them.
    """

    can_be_scheduled = False

    def __init__(self, schedule: ScheduleSettings) -> None:
        super().__init__(schedule)
        self.description = f"On request, over intervals {spoken(schedule)}"

    @property
    def summary(self) -> str:
        """In the list of DAGs, where its intervals would look like times at which it runs."""
        return "on request"

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        """The next interval of a backfill, which asks with catch-up; to the scheduler, which does not: none."""
        if not restriction.catchup:
            return None
        return super().next_dagrun_info(
            last_automated_data_interval=last_automated_data_interval, restriction=restriction
        )


def next_interval(
    schedule: ScheduleSettings, last: Interval | None, restriction: TimeRestriction, now_ms: int
) -> Interval | None:
    """The interval after `last`, the newest that has a run, inside the restriction; `None` if there is none.

    As `airflow.timetables.interval.CronDataIntervalTimetable` has it, the alignment to a schedule that is new included.
    """
    # The first interval begins at the start_date, or at the next boundary if that is none.
    first = None if restriction.earliest is None else following(schedule, _ms(restriction.earliest - _MICROSECOND))
    if not restriction.catchup:
        newest = last_complete(schedule, now_ms).start_ms
        first = newest if first is None else max(first, newest)
    if last is None:
        if first is None:
            return None
        start = first
    else:
        start = max(latest(schedule, last.end_ms), first if first is not None else last.start_ms)
        if start <= last.start_ms:  # the schedule was a finer one: a second run of one start would stall the DAG
            start = following(schedule, last.start_ms)
    if restriction.latest is not None and start > _ms(restriction.latest):
        return None
    return Interval(start, following(schedule, start))


def takes_a_scheduled_run(schedule: ScheduleSettings, run_type: str, logical: datetime | None, now_ms: int) -> bool:
    """Whether a run by hand has the logical date of a scheduled run that is still to come.

    Airflow's scheduler then says "run already exists" at every turn, and starts the one after it.
    """
    if run_type != "manual" or logical is None or not schedule.timed:
        return False
    date_ms = _ms(logical)
    return latest(schedule, date_ms) == date_ms >= latest(schedule, now_ms)


def schedule_of(known: Outline) -> Any:
    """What `DAG(schedule=…)` takes: by time, by assets, by both, or never.

    A run that assets began has no data interval, and exports what can be read then; a run by time has its own.
    """
    timetable = timetable_of(known.schedule) if known.schedule.timed else None
    if timetable is not None and not is_known_to_airflow(timetable):
        name, value = ("export.schedule", known.schedule.cron)
        if value is None:
            name, value = "rotate.schedule.interval.ms", str(known.schedule.interval_ms)
        raise ValueError(Problem(name, value, _NOT_LOADED))
    # By URI alone, whatever their names: who produces them has given them one.
    assets = AssetAll(*(Asset.ref(uri=uri) for uri in known.schedule_assets)) if known.schedule_assets else None
    if timetable is None or assets is None:
        return assets or timetable
    return AssetOrTimeSchedule(timetable=timetable, assets=assets)  # type: ignore[arg-type]  # its core class does too


def timetable_of(schedule: ScheduleSettings) -> CronDataIntervalTimetable | BoundaryTimetable:
    """Runs at each end of an interval. Airflow's own cron only for intervals in UTC, where no clock is ever changed."""
    cron = cron_of(schedule.interval_ms) if schedule.cron is None else None
    if cron is None or find_zone(schedule.timezone).id != "UTC":
        return BoundaryTimetable(schedule)
    return CronDataIntervalTimetable(cron, "UTC")


def is_known_to_airflow(timetable: CronDataIntervalTimetable | BoundaryTimetable) -> bool:
    """Whether Airflow can store it. A DAG that it cannot store would take all DAGs of its file with it."""
    return isinstance(timetable, CronDataIntervalTimetable) or type(timetable) in get_timetables_plugins().values()


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
    """The times of a schedule for people.

    >>> spoken(ScheduleSettings(5_400_000, "Europe/Berlin"))
    'every 90 minutes from midnight (Europe/Berlin)'
    >>> spoken(ScheduleSettings(cron="@daily"))
    'at @daily (UTC)'
    """
    if not schedule.timed:
        return "not by time"
    if schedule.cron is not None:
        return f"at {schedule.cron} ({schedule.timezone})"
    units = ((_DAY_MS, "day"), (_HOUR_MS, "hour"), (_MINUTE_MS, "minute"), (1000, "second"), (1, "millisecond"))
    unit_ms, name = next(unit for unit in units if schedule.interval_ms % unit[0] == 0)
    count = schedule.interval_ms // unit_ms
    every = f"every {name}" if count == 1 else f"every {count} {name}s"
    return f"{every} from midnight ({schedule.timezone})"


def _ms(at: datetime) -> int:
    """Milliseconds since the epoch, rounded down. Not by `timestamp()`, whose fractions are not exact."""
    return calendar.timegm(at.utctimetuple()) * 1000 + at.microsecond // 1000


def _from_airflow(interval: DataInterval) -> Interval:
    return Interval(_ms(interval.start), _ms(interval.end))


def _to_airflow(interval: Interval) -> DataInterval:
    start, end = (
        pendulum.instance(_EPOCH + timedelta(milliseconds=edge_ms)) for edge_ms in (interval.start_ms, interval.end_ms)
    )
    return DataInterval(start, end)
