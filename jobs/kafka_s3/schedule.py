"""The boundaries that `rotate.schedule.interval.ms` draws: multiples of the interval since local midnight.

As the Connect sink has it: each day starts anew at midnight of `timezone`, so an interval that does not divide a day
makes a shorter last one, and one longer than a day is a day. Where the clock is changed, intervals of up to an hour
go on as they were, and longer ones keep their hours on the clock: as cron has it, since cron draws the punctual runs.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from kafka_s3.commit_log import Interval
from kafka_s3.joda.zones import zone as find_zone
from kafka_s3.settings.model import ScheduleSettings

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_BOUNDARY_WITHIN_MS = 3 * _DAY_MS  # the longest local day is one that a zone has had twice, of 48 hours
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def boundaries(schedule: ScheduleSettings, after_ms: int, until_ms: int) -> Iterator[int]:
    """Boundaries in `(after_ms, until_ms]`, ascending, in milliseconds since the epoch."""
    zone = find_zone(schedule.timezone).tzinfo
    # The day before too: where midnight comes twice, its end is later than the date says.
    day = _date(after_ms, zone) - timedelta(days=1)
    while True:
        if _at_ms(day, 0, zone) > until_ms:
            return
        edges = _of_day(day, zone, schedule.interval_ms)
        yield from edges[bisect_right(edges, after_ms) : bisect_right(edges, until_ms)]
        day += timedelta(days=1)


def following(schedule: ScheduleSettings, after_ms: int) -> int:
    """The first boundary after a time. Looks at a few days, however long ago the schedule began."""
    return next(boundaries(schedule, after_ms, after_ms + _BOUNDARY_WITHIN_MS))


def latest(schedule: ScheduleSettings, at_ms: int) -> int:
    """The last boundary at or before a time."""
    zone = find_zone(schedule.timezone).tzinfo
    day = _date(at_ms, zone)
    while True:
        edges = _of_day(day, zone, schedule.interval_ms)
        count = bisect_right(edges, at_ms)
        if count:
            return edges[count - 1]
        day -= timedelta(days=1)


def last_complete(schedule: ScheduleSettings, at_ms: int) -> Interval:
    """The last interval that ends at or before a time: what a manual run is for."""
    end_ms = latest(schedule, at_ms)
    return Interval(latest(schedule, end_ms - 1), end_ms)


def slots(schedule: ScheduleSettings, since_ms: int | None, interval: Interval, slots_max: int) -> list[Interval]:
    """The intervals to plan, one batch each: those missed since `since_ms`, then the run's own.

    At most `slots_max`; older boundaries are merged into the first. Without a committed interval, or when the run's
    interval begins at or before `since_ms`, the run's own is the only one.
    """
    if since_ms is None or since_ms >= interval.start_ms:
        return [interval]
    edges = [since_ms, *boundaries(schedule, since_ms, interval.start_ms)]
    if edges[-1] != interval.start_ms:
        edges.append(interval.start_ms)
    missed = [Interval(start, end) for start, end in itertools.pairwise(edges)]
    kept = missed[-(slots_max - 1) :] if slots_max > 1 else []
    if kept and len(kept) < len(missed):
        kept[0] = Interval(since_ms, kept[0].end_ms)
    return [*kept, interval]


def _of_day(day: date, zone: tzinfo, interval_ms: int) -> Sequence[int]:
    """The boundaries of one local day, its midnight first; none of a day that a zone left out."""
    midnight, next_midnight = _at_ms(day, 0, zone), _at_ms(day + timedelta(days=1), 0, zone)
    if interval_ms <= _HOUR_MS:
        return range(midnight, next_midnight, interval_ms)
    hours = (_at_ms(day, clock_ms, zone) for clock_ms in range(0, _DAY_MS, interval_ms))
    # Sorted: a gap of more than an hour puts a time that it holds behind later ones.
    return sorted({at for at in hours if at < next_midnight})


def _date(at_ms: int, zone: tzinfo) -> date:
    return (_EPOCH + timedelta(milliseconds=at_ms)).astimezone(zone).date()


def _at_ms(day: date, clock_ms: int, zone: tzinfo) -> int:
    """When the clock shows so much on a day: the second time if it does twice, later by the gap if it never does."""
    local = datetime.combine(day, time(), zone) + timedelta(milliseconds=clock_ms)  # the clock's own arithmetic
    return max(int(local.replace(fold=fold).astimezone(UTC).timestamp() * 1000) for fold in (0, 1))
