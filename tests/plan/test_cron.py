"""Boundaries of export.schedule: against croniter where no clock is changed, and by hand where one is."""

from __future__ import annotations

import itertools

import pytest
from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.log.entries import Interval
from kafka_s3.plan.schedule import boundaries, following, last_complete, latest, slots
from kafka_s3.settings.schedule import PRESETS, ScheduleSettings, cron_problem, read_cron
from tests.plan.test_schedule import DAY, HOUR, ZONES, local, ms, times, utc_hours

MINUTE = 60_000


def cron(expression: str, zone: str = "UTC") -> ScheduleSettings:
    return ScheduleSettings(timezone=zone, cron=expression)


# In UTC.


def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    """A field: a star, numbers, ranges and steps."""
    number = st.integers(low, high)
    span = st.lists(number, min_size=2, max_size=2, unique=True).map(sorted).map(lambda ends: f"{ends[0]}-{ends[1]}")
    stepped = st.builds("{}/{}".format, st.just("*") | span, st.integers(1, 9))
    part = st.one_of(number.map(str), span, stepped)
    return st.one_of(st.just("*"), st.lists(part, min_size=1, max_size=3).map(",".join))


expressions = st.tuples(numbers(0, 59), numbers(0, 23), numbers(1, 31), numbers(1, 12), numbers(0, 7)).map(" ".join)


@given(expressions | st.sampled_from(sorted(PRESETS)), st.integers(ms("2023-01-01"), ms("2031-01-01")))
def test_in_utc_boundaries_are_croniters(expression: str, start_ms: int) -> None:
    """Whatever the expression, the times after and before an instant are those that Airflow's own cron library has:
    lists, ranges, steps, both sorts of days together, and Sunday as 0 and as 7."""
    if cron_problem(expression) is not None:
        return
    start_ms -= start_ms % 1000
    theirs = croniter(PRESETS.get(expression, expression), start_ms / 1000)
    found = start_ms
    for _ in range(4):
        found = following(cron(expression), found)
        assert found == round(theirs.get_next(float) * 1000)
    backwards = croniter(PRESETS.get(expression, expression), start_ms / 1000)
    assert latest(cron(expression), start_ms - 1) == round(backwards.get_prev(float) * 1000)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 13 * 5", ["02 00:00", "09 00:00", "13 00:00", "16 00:00"]),  # the 13th, or a Friday
        ("0 0 13 * *", ["13 00:00"]),
        ("0 0 * * 5", ["02 00:00", "09 00:00", "16 00:00"]),
        ("0 0 * * sun", ["04 00:00", "11 00:00", "18 00:00"]),
        ("0 0 * * 7", ["04 00:00", "11 00:00", "18 00:00"]),
        ("30 4 10-12 1,3 *", ["10 04:30", "11 04:30", "12 04:30"]),
        ("0 */12 1 1 *", ["01 12:00"]),
    ],
)
def test_days(expression: str, expected: list[str]) -> None:
    """Of days of the month and of the week one is enough where both are given."""
    assert utc_hours(cron(expression), "2026-01-01T00:00", "2026-01-18T00:00") == expected


def test_the_29th_of_february() -> None:
    """The next one is found although it is eight years away, as over 2100, which has none."""
    assert following(cron("0 0 29 2 *"), ms("2096-03-01")) == ms("2104-02-29")
    assert last_complete(cron("0 0 29 2 *"), ms("2100-01-01")) == Interval(ms("2092-02-29"), ms("2096-02-29"))


def test_presets_are_airflows() -> None:
    """@daily and the others stand for what they stand for in Airflow."""
    from airflow.utils.dates import cron_presets  # not at the top: it takes seconds

    assert cron_presets == PRESETS
    assert read_cron("@quarterly") == read_cron("0 0 1 1,4,7,10 *")


# Where a clock is changed.


@pytest.mark.parametrize("expression", ["0 * * * *", "*/30 * * * *", "* * * * *"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "America/Havana", "America/Sao_Paulo"])
def test_an_open_hour_is_an_interval(expression: str, zone: str) -> None:
    """An expression for every hour goes on through each change of the clock as the interval does that it means."""
    interval_ms = {"0": HOUR, "*/30": HOUR // 2, "*": MINUTE}[expression.split()[0]]
    for day in ("2018-02-17", "2018-11-03", "2026-03-07", "2026-03-28", "2026-10-24", "2026-10-31"):
        window = ms(day, zone), ms(day, zone) + 3 * DAY
        assert list(boundaries(cron(expression, zone), *window)) == list(
            boundaries(ScheduleSettings(interval_ms, zone), *window)
        )


@pytest.mark.parametrize(("hours", "expression"), [(2, "0 */2 * * *"), (6, "0 */6 * * *"), (24, "@daily")])
@pytest.mark.parametrize("zone", [zone for zone in ZONES if zone != "Pacific/Apia"])
def test_hours_on_the_clock_are_an_interval(hours: int, expression: str, zone: str) -> None:
    """Intervals of whole hours that divide a day and the expressions that mean them have the same boundaries, however
    the clock is changed."""
    window = ms("2011-06-01"), ms("2012-07-01")
    interval = ScheduleSettings(hours * HOUR, zone)
    assert list(boundaries(cron(expression, zone), *window)) == list(boundaries(interval, *window))


def test_a_time_that_berlins_short_day_leaves_out() -> None:
    """Half past two comes at half past three on that day, and the day has a boundary."""
    assert local(cron("30 2 * * *", "Europe/Berlin"), "2026-03-28T00:00", "2026-03-31T00:00") == [
        "28 02:30+0100",
        "29 03:30+0200",
        "30 02:30+0200",
    ]


def test_a_time_that_berlins_long_day_has_twice() -> None:
    """Of half past two the second one counts, once; with the hour left open both do."""
    assert local(cron("30 2 * * *", "Europe/Berlin"), "2026-10-24T12:00", "2026-10-26T12:00") == [
        "25 02:30+0100",
        "26 02:30+0100",
    ]
    assert local(cron("30 * 25 10 *", "Europe/Berlin"), "2026-10-25T01:00", "2026-10-25T04:00") == [
        "25 01:30+0200",
        "25 02:30+0200",
        "25 02:30+0100",
        "25 03:30+0100",
    ]


def test_an_open_hour_where_clocks_change_by_half_an_hour() -> None:
    """At Lord Howe 2 o'clock becomes half past one: the times are those that the clock shows."""
    assert local(cron("0 * * * *", "Australia/Lord_Howe"), "2026-04-05T00:00", "2026-04-05T04:00") == [
        "05 01:00+1100",
        "05 02:00+1030",
        "05 03:00+1030",
        "05 04:00+1030",
    ]


def test_a_day_that_a_zone_left_out() -> None:
    """Samoa had no 2011-12-30, and nothing is due on it."""
    schedule = cron("0 0,12 30 12 *", "Pacific/Apia")
    assert utc_hours(schedule, "2011-01-01T00:00", "2012-12-01T00:00") == []


@given(times, st.integers(0, 3 * DAY), st.integers(0, 3 * DAY), expressions, st.sampled_from(ZONES))
def test_boundaries_do_not_depend_on_where_one_starts_to_look(
    start: int, first: int, second: int, expression: str, zone: str
) -> None:
    """They ascend strictly, lie in the window, and two windows side by side hold what one over both holds."""
    if cron_problem(expression) is not None:
        return
    schedule, middle, end = cron(expression, zone), start + first, start + first + second
    found = list(boundaries(schedule, start, end))
    assert found == sorted(set(found))
    assert all(start < at <= end for at in found)
    assert found == [*boundaries(schedule, start, middle), *boundaries(schedule, middle, end)]


# Catching up.


def test_a_late_run_has_the_intervals_of_punctual_ones() -> None:
    """After a weekend without runs, a workday's expression has one interval over the weekend, and one a day after."""
    edges = [ms(f"2026-03-{day:02}T04:30") for day in (5, 6, 9, 10, 11)]
    own = Interval(edges[-2], edges[-1])
    found = slots(cron("30 4 * * mon-fri"), edges[0], own, 168)
    assert found == [Interval(one, other) for one, other in itertools.pairwise(edges)]


def test_without_times_there_is_nothing_to_miss() -> None:
    """A run that has an interval all the same, in a DAG of somebody's own, has all before it in one batch."""
    schedule = ScheduleSettings(timed=False)
    assert list(boundaries(schedule, 0, 10 * DAY)) == []
    own = Interval(9 * HOUR, 10 * HOUR)
    assert slots(schedule, 2 * HOUR, own, 168) == [Interval(2 * HOUR, 9 * HOUR), own]
