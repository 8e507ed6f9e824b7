"""Boundaries of rotate.schedule.interval.ms, and the batches that a late run plans."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.log.entries import Interval
from kafka_s3.plan.schedule import boundaries, following, last_complete, latest, slots
from kafka_s3.settings.schedule import ScheduleSettings

HOUR = 3_600_000
DAY = 24 * HOUR
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "Asia/Kolkata",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Australia/Lord_Howe",  # half an hour of daylight saving
    "Antarctica/Troll",  # two hours of it
]


def ms(text: str, zone: str = "UTC") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def local(schedule: ScheduleSettings, after: str, until: str) -> list[str]:
    """Boundaries as the clock on the wall shows them there."""
    zone = ZoneInfo(schedule.timezone)
    found = boundaries(schedule, ms(after, schedule.timezone), ms(until, schedule.timezone))
    return [datetime.fromtimestamp(at / 1000, zone).strftime("%d %H:%M%z") for at in found]


def utc_hours(schedule: ScheduleSettings, after: str, until: str) -> list[str]:
    return [
        datetime.fromtimestamp(at / 1000, UTC).strftime("%d %H:%M") for at in boundaries(schedule, ms(after), ms(until))
    ]


def test_hourly_boundaries() -> None:
    """The start is left out and the end is in."""
    schedule = ScheduleSettings(HOUR)
    assert utc_hours(schedule, "2026-03-05T10:00", "2026-03-05T13:00") == ["05 11:00", "05 12:00", "05 13:00"]
    assert utc_hours(schedule, "2026-03-05T10:30", "2026-03-05T12:59") == ["05 11:00", "05 12:00"]
    assert utc_hours(schedule, "2026-03-05T10:00", "2026-03-05T10:00") == []


def test_daily_boundaries_are_local_midnights() -> None:
    """A day is the day of the timezone."""
    schedule = ScheduleSettings(DAY, "Asia/Kolkata")
    assert utc_hours(schedule, "2026-03-05T00:00", "2026-03-07T00:00") == ["05 18:30", "06 18:30"]


def test_seven_hours_start_anew_each_day() -> None:
    """An interval that does not divide a day makes a shorter last one, as the sink has it."""
    schedule = ScheduleSettings(7 * HOUR)
    assert utc_hours(schedule, "2026-03-04T21:00", "2026-03-06T01:00") == [
        "05 00:00",
        "05 07:00",
        "05 14:00",
        "05 21:00",
        "06 00:00",
    ]


def test_an_interval_longer_than_a_day_is_a_day() -> None:
    """Each day starts anew at midnight, so nothing is longer."""
    schedule = ScheduleSettings(3 * DAY)
    assert utc_hours(schedule, "2026-03-05T00:00", "2026-03-07T00:00") == ["06 00:00", "07 00:00"]


def test_berlins_short_day() -> None:
    """On 2026-03-29 the clock goes from 2 to 3: boundaries keep their hours, and one that is skipped comes at 3."""
    assert local(ScheduleSettings(6 * HOUR, "Europe/Berlin"), "2026-03-28T19:00", "2026-03-30T06:00") == [
        "29 00:00+0100",
        "29 06:00+0200",
        "29 12:00+0200",
        "29 18:00+0200",
        "30 00:00+0200",
        "30 06:00+0200",
    ]
    assert local(ScheduleSettings(2 * HOUR, "Europe/Berlin"), "2026-03-29T00:00", "2026-03-29T06:00") == [
        "29 03:00+0200",
        "29 04:00+0200",
        "29 06:00+0200",
    ]


def test_berlins_long_day() -> None:
    """On 2026-10-25 the hour from 2 to 3 comes twice: both hours have a boundary, the day has 25."""
    schedule = ScheduleSettings(HOUR, "Europe/Berlin")
    assert local(schedule, "2026-10-25T00:30", "2026-10-25T04:00") == [
        "25 01:00+0200",
        "25 02:00+0200",
        "25 02:00+0100",
        "25 03:00+0100",
        "25 04:00+0100",
    ]
    midnights = ms("2026-10-25T00:00", "Europe/Berlin"), ms("2026-10-26T00:00", "Europe/Berlin")
    assert len(list(boundaries(schedule, *midnights))) == 25


def test_new_yorks_days() -> None:
    """New York's short and long day have 23 and 25 hours."""
    schedule = ScheduleSettings(HOUR, "America/New_York")
    for day, hours in [("2026-03-08", 23), ("2026-11-01", 25)]:
        start = ms(f"{day}T00:00", "America/New_York")
        following = next(boundaries(ScheduleSettings(DAY, "America/New_York"), start, start + 2 * DAY))
        assert len(list(boundaries(schedule, start, following))) == hours


def test_a_long_day_keeps_its_hours() -> None:
    """A daily boundary on a day of 25 hours is its midnight alone; longer steps than an hour keep their hours."""
    assert local(ScheduleSettings(DAY, "Europe/Berlin"), "2026-10-25T00:00", "2026-10-26T00:00") == ["26 00:00+0100"]
    assert local(ScheduleSettings(12 * HOUR, "Europe/Berlin"), "2026-10-25T00:00", "2026-10-26T00:00") == [
        "25 12:00+0100",
        "26 00:00+0100",
    ]


def test_a_midnight_that_comes_twice() -> None:
    """In Havana the clock goes from 1 back to midnight: the second one begins the day, as cron has it."""
    schedule = ScheduleSettings(DAY, "America/Havana")
    assert utc_hours(schedule, "2026-11-01T00:00", "2026-11-02T00:00") == ["01 05:00"]
    hourly = ScheduleSettings(HOUR, "America/Havana")
    assert utc_hours(hourly, "2026-11-01T03:30", "2026-11-01T06:00") == ["01 04:00", "01 05:00", "01 06:00"]


def test_a_midnight_that_does_not_exist() -> None:
    """In São Paulo 2018-11-04 began at 1: the day's boundary is the moment of the change."""
    schedule = ScheduleSettings(DAY, "America/Sao_Paulo")
    assert utc_hours(schedule, "2018-11-03T12:00", "2018-11-05T12:00") == ["04 03:00", "05 02:00"]


def test_a_day_that_does_not_exist() -> None:
    """Samoa had no 2011-12-30: one boundary, not two."""
    schedule = ScheduleSettings(DAY, "Pacific/Apia")
    assert utc_hours(schedule, "2011-12-29T12:00", "2012-01-01T00:00") == ["30 10:00", "31 10:00"]


def test_before_1970() -> None:
    """Negative times have boundaries like any other."""
    assert list(boundaries(ScheduleSettings(HOUR), -HOUR - 1, 0)) == [-HOUR, 0]
    assert utc_hours(ScheduleSettings(7 * HOUR), "1969-12-31T15:00", "1970-01-01T00:00") == ["31 21:00", "01 00:00"]


times = st.integers(ms("1965-01-01"), ms("2040-01-01"))
intervals_ms = st.one_of(
    st.sampled_from([60_000, 900_000, HOUR, 5 * HOUR, 7 * HOUR, DAY, 2 * DAY]), st.integers(60_000, DAY)
)


@given(times, st.integers(0, 3 * DAY), st.integers(0, 3 * DAY), intervals_ms, st.sampled_from(ZONES))
def test_boundaries_do_not_depend_on_where_one_starts_to_look(
    start: int, first: int, second: int, interval_ms: int, zone: str
) -> None:
    """They ascend strictly, lie in the window, and two windows side by side hold what one over both holds."""
    schedule = ScheduleSettings(interval_ms, zone)
    middle, end = start + first, start + first + second
    found = list(boundaries(schedule, start, end))
    assert found == sorted(set(found))
    assert all(start < at <= end for at in found)
    assert found == [*boundaries(schedule, start, middle), *boundaries(schedule, middle, end)]
    longest = interval_ms if interval_ms <= HOUR else min(interval_ms, DAY) + 2 * HOUR  # at Troll in autumn
    assert all(later - earlier <= longest for earlier, later in itertools.pairwise(found))


@given(times, intervals_ms, st.sampled_from(ZONES))
def test_the_boundaries_on_both_sides(at: int, interval_ms: int, zone: str) -> None:
    """`latest` and `following` are the neighbours that `boundaries` has, and the last complete interval ends before."""
    schedule = ScheduleSettings(interval_ms, zone)
    before, after = latest(schedule, at), following(schedule, at)
    around = list(boundaries(schedule, at - 4 * DAY, at + 4 * DAY))
    assert before == max(edge for edge in around if edge <= at)
    assert after == min(edge for edge in around if edge > at)
    assert last_complete(schedule, at) == Interval(latest(schedule, before - 1), before)


def test_intervals_of_more_than_an_hour_when_clocks_change() -> None:
    """Counted anew from midnight; a time that Berlin's short day leaves out comes an hour later, and of one that the
    long day has twice the second counts."""
    schedule = ScheduleSettings(HOUR * 3 // 2, "Europe/Berlin")
    assert local(schedule, "2026-03-05T21:00", "2026-03-06T02:00") == [
        "05 22:30+0100",
        "06 00:00+0100",
        "06 01:30+0100",
    ]
    assert local(schedule, "2026-03-29T01:00", "2026-03-29T05:00") == [
        "29 01:30+0100",
        "29 03:00+0200",
        "29 04:30+0200",
    ]
    assert local(ScheduleSettings(70 * 60_000, "Europe/Berlin"), "2026-03-29T01:00", "2026-03-29T05:00") == [
        "29 01:10+0100",
        "29 03:20+0200",
        "29 03:30+0200",
        "29 04:40+0200",
    ]
    assert local(ScheduleSettings(70 * 60_000, "Europe/Berlin"), "2026-10-25T01:00", "2026-10-25T05:00") == [
        "25 01:10+0200",
        "25 02:20+0100",
        "25 03:30+0100",
        "25 04:40+0100",
    ]


def test_a_gap_of_two_hours() -> None:
    """At Troll the clock goes from 1 to 3: what the gap holds comes two hours later, in the order of time."""
    schedule = ScheduleSettings(61 * 60_000, "Antarctica/Troll")
    assert local(schedule, "2026-03-29T00:30", "2026-03-29T05:00") == [
        "29 03:01+0200",
        "29 03:03+0200",
        "29 04:02+0200",
        "29 04:04+0200",
    ]


# Catching up.

H = [hour * HOUR for hour in range(20)]
HOURLY = ScheduleSettings(HOUR)


@pytest.mark.parametrize(
    ("since", "own", "slots_max", "expected"),
    [
        (None, (5, 6), 168, [(5, 6)]),  # nothing committed yet: there is no boundary to have missed
        (5, (5, 6), 168, [(5, 6)]),  # punctual
        (6, (5, 6), 168, [(5, 6)]),  # a retry, or a second batch of the same interval
        (9, (5, 6), 168, [(5, 6)]),  # a manual run for an older interval
        (2, (5, 6), 168, [(2, 3), (3, 4), (4, 5), (5, 6)]),
        (2, (5, 6), 4, [(2, 3), (3, 4), (4, 5), (5, 6)]),
        (2, (5, 6), 3, [(2, 4), (4, 5), (5, 6)]),  # the oldest are merged into the first
        (2, (5, 6), 2, [(2, 5), (5, 6)]),
        (2, (5, 6), 1, [(5, 6)]),
        (0, (15, 16), 3, [(0, 14), (14, 15), (15, 16)]),
    ],
)
def test_missed_boundaries_get_a_batch_each(
    since: int | None, own: tuple[int, int], slots_max: int, expected: list[tuple[int, int]]
) -> None:
    """One interval per boundary missed since the last commit, at most the limit, the run's own the last."""
    found = slots(HOURLY, None if since is None else H[since], Interval(H[own[0]], H[own[1]]), slots_max)
    assert [(slot.start_ms // HOUR, slot.end_ms // HOUR) for slot in found] == expected


def test_a_schedule_that_was_changed_meanwhile() -> None:
    """Ends that are no boundaries of the present schedule are edges all the same."""
    found = slots(HOURLY, H[2] + 1, Interval(H[4] + 7, H[6]), 168)
    assert found == [Interval(H[2] + 1, H[3]), Interval(H[3], H[4]), Interval(H[4], H[4] + 7), Interval(H[4] + 7, H[6])]


@given(times, st.integers(1, 40 * HOUR), intervals_ms, st.sampled_from(ZONES), st.integers(1, 12))
def test_no_time_is_missed_and_none_comes_twice(
    since: int, late: int, interval_ms: int, zone: str, slots_max: int
) -> None:
    """The intervals join, from the last committed end to the run's own end, and are at most as many as allowed."""
    own = Interval(since + late, since + late + HOUR)
    found = slots(ScheduleSettings(interval_ms, zone), since, own, slots_max)
    assert 1 <= len(found) <= slots_max
    assert found[-1] == own
    assert all(one.end_ms == other.start_ms for one, other in itertools.pairwise(found))
    assert slots_max == 1 or found[0].start_ms == since
