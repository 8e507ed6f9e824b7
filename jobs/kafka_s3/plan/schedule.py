"""The boundaries that a schedule draws: multiples of an interval since local midnight, or a cron expression's times.

`rotate.schedule.interval.ms`, as the Connect sink has it: each day starts anew at midnight of `timezone`, so an
interval that does not divide a day makes a shorter last one, and one longer than a day is a day. Where the clock is
changed, intervals of up to an hour go on as they were, and longer ones keep their hours on the clock.

`export.schedule`, as cron has it: an expression that leaves the hour open means whenever the clock shows such a minute,
so that an hour that comes twice has its times twice. Any other means hours on the clock: a time that is skipped comes
later by the gap, and of one that comes twice the second counts.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from kafka_s3.joda.zones import Zone
from kafka_s3.joda.zones import zone as find_zone
from kafka_s3.log.entries import Interval
from kafka_s3.settings.schedule import Cron, ScheduleSettings, read_cron

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS
# The longest local day is one that a zone has had twice, of 48 hours.
_INTERVAL_WITHIN_MS = 3 * _DAY_MS
# Two 29ths of February are up to eight years apart.
_CRON_WITHIN_MS = 8 * 366 * _DAY_MS
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def boundaries(schedule: ScheduleSettings, after_ms: int, until_ms: int) -> Iterator[int]:
    """Boundaries in `(after_ms, until_ms]`, ascending, in milliseconds since the epoch; none without times."""
    if not schedule.timed:
        return
    zone = find_zone(schedule.timezone)
    # The day before too: where midnight comes twice, its end is later than the date says.
    day = _date(after_ms, zone.tzinfo) - timedelta(days=1)
    while True:
        if _at_ms(day, 0, zone.tzinfo) > until_ms:
            return
        edges = _of_day(schedule, day, zone)
        yield from edges[bisect_right(edges, after_ms) : bisect_right(edges, until_ms)]
        day += timedelta(days=1)


def following(schedule: ScheduleSettings, after_ms: int) -> int:
    """The first boundary after a time. Looks no further than the next one can be, however long ago it all began."""
    within_ms = _INTERVAL_WITHIN_MS if schedule.cron is None else _CRON_WITHIN_MS
    return next(boundaries(schedule, after_ms, after_ms + within_ms))


def latest(schedule: ScheduleSettings, at_ms: int) -> int:
    """The last boundary at or before a time."""
    assert schedule.timed, "a schedule without times has no boundaries"
    zone = find_zone(schedule.timezone)
    day = _date(at_ms, zone.tzinfo)
    while True:
        edges = _of_day(schedule, day, zone)
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


def _of_day(schedule: ScheduleSettings, day: date, zone: Zone) -> Sequence[int]:
    """The boundaries of one local day, ascending; none of a day that a zone left out."""
    expression = None if schedule.cron is None else read_cron(schedule.cron)
    if expression is not None and not expression.holds(day):
        return ()
    midnight, next_midnight = (_at_ms(day + timedelta(days=days), 0, zone.tzinfo) for days in (0, 1))
    if expression is None:
        if schedule.interval_ms <= _HOUR_MS:
            return range(midnight, next_midnight, schedule.interval_ms)
        clock: Sequence[int] = range(0, _DAY_MS, schedule.interval_ms)
    else:
        span = zone.span(midnight)
        if next_midnight <= span.end_ms and next_midnight - midnight == _DAY_MS:
            return [midnight + clock_ms for clock_ms in expression.clock_ms()]
        if expression.every_hour:
            return _shown(expression, midnight, next_midnight, zone)
        clock = expression.clock_ms()
    times = (_at_ms(day, clock_ms, zone.tzinfo) for clock_ms in clock)
    # Sorted: a gap of more than an hour puts a time that it holds behind later ones.
    return sorted({at for at in times if at < next_midnight})


def _shown(expression: Cron, from_ms: int, until_ms: int, zone: Zone) -> list[int]:
    """Every time in `[from_ms, until_ms)` at which the zone's clocks show one of an expression's minutes."""
    found = []
    for span in zone.spans(from_ms, until_ms - 1):
        start_ms, end_ms = max(span.start_ms, from_ms), min(span.end_ms, until_ms)
        first = -(-(start_ms + span.offset_ms) // _MINUTE_MS)
        last = -(-(end_ms + span.offset_ms) // _MINUTE_MS)
        found += [
            minute * _MINUTE_MS - span.offset_ms for minute in range(first, last) if minute % 60 in expression.minutes
        ]
    return found


def _date(at_ms: int, zone: tzinfo) -> date:
    return (_EPOCH + timedelta(milliseconds=at_ms)).astimezone(zone).date()


def _at_ms(day: date, clock_ms: int, zone: tzinfo) -> int:
    """When the clock shows so much on a day: the second time if it does twice, later by the gap if it never does."""
    local = datetime.combine(day, time(), zone) + timedelta(milliseconds=clock_ms)  # the clock's own arithmetic
    return max(int(local.replace(fold=fold).astimezone(UTC).timestamp() * 1000) for fold in (0, 1))
