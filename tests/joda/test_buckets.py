"""Buckets start where the sink's do, and every instant of one has one path."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kafka_s3.joda import JodaError
from kafka_s3.joda.buckets import CACHED_MAX, Bucketer, bucket_span, bucket_start
from kafka_s3.joda.patterns import compile_pattern
from kafka_s3.joda.zones import Zone, zone
from tests.joda.tables import rows, same_rules
from tools.joda.cases import DURATIONS_MS, ZONES

HOUR = 3_600_000
DAY = 24 * HOUR
HOURLY = "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH"
PRECISE = "yyyy-MM-dd'T'HH:mm:ss.SSSZZ"

changes = [
    int(at) for _, _, answer in rows("transitions") for at in answer.split(" ")[1::2] if int(at) > -2_000_000_000_000
]
zones = st.sampled_from([*ZONES, "UTC", "+05:45", "-03:30"]).map(zone)
near_changes = st.builds(int.__add__, st.sampled_from(changes), st.integers(-DAY, DAY))
instants = near_changes | st.integers(-4 * 10**12, 4 * 10**12) | st.integers(-(10**17), 10**17)
durations = st.sampled_from(DURATIONS_MS) | st.integers(1, 400 * DAY)


def local(at_ms: int, ours: Zone) -> int:
    return at_ms + ours.offset_ms(at_ms)


def test_starts_are_the_sinks() -> None:
    """The sink's formula on Joda-Time, at changes of the clocks in all directions, for durations of 1 ms to a year."""
    table = rows("buckets")
    skipped = 0
    for id, duration, at, answer in table:
        if same_rules(id, int(at)) and same_rules(id, int(answer)):
            assert bucket_start(int(at), int(duration), zone(id)) == int(answer), (id, duration, at)
        else:
            skipped += 1
    assert len(table) > 4000
    assert skipped < 150


def test_paths_are_those_of_the_starts() -> None:
    """What is remembered from bucket to bucket changes nothing: one bucketer, all instants of the table."""
    bucketers: dict[tuple[str, int], Bucketer] = {}
    for id, duration, at, _ in rows("buckets"):
        key = (id, int(duration))
        ours = bucketers.setdefault(key, Bucketer(key[1], PRECISE, zone(id), "en"))
        start = bucket_start(int(at), key[1], ours.zone)
        assert ours.path(int(at)) == compile_pattern(PRECISE, ours.zone, "en")(start)


@given(zones, durations, instants)
def test_an_instant_lies_in_its_bucket(ours: Zone, duration_ms: int, at_ms: int) -> None:
    """Start ≤ instant < end, in UTC by the span, and on the zone's clocks by the duration."""
    start, end = bucket_span(at_ms, duration_ms, ours)
    assert start <= at_ms < end
    floor = local(at_ms, ours) // duration_ms * duration_ms
    assert floor <= local(start, ours) < floor + duration_ms
    assert floor <= local(end - 1, ours) < floor + duration_ms
    assert local(start - 1, ours) // duration_ms * duration_ms != floor
    assert local(end, ours) // duration_ms * duration_ms != floor


@given(zones, durations, instants)
def test_away_from_changes_a_bucket_is_as_long_as_its_duration(ours: Zone, duration_ms: int, at_ms: int) -> None:
    """And then the sink's start is the span's."""
    assume(not ours.changes_between(at_ms - duration_ms - 2 * DAY, at_ms + duration_ms + 2 * DAY))
    start, end = bucket_span(at_ms, duration_ms, ours)
    assert end - start == duration_ms
    assert bucket_start(at_ms, duration_ms, ours) == start
    assert bucket_start(end, duration_ms, ours) == end


@given(zones, durations, near_changes, st.integers(0, 2 * HOUR))
def test_starts_never_go_back_with_one_offset(ours: Zone, duration_ms: int, at_ms: int, later_ms: int) -> None:
    """A later instant has the same bucket or a later one, as long as the clocks are not changed between."""
    assume(not ours.changes_between(at_ms, at_ms + later_ms))
    assert local(at_ms, ours) // duration_ms <= local(at_ms + later_ms, ours) // duration_ms
    assume(not ours.changes_between(at_ms - duration_ms - DAY, at_ms + later_ms + DAY))
    assert bucket_start(at_ms, duration_ms, ours) <= bucket_start(at_ms + later_ms, duration_ms, ours)


@given(zones, durations, instants, st.lists(st.integers(0, 4 * HOUR), min_size=1, max_size=20))
def test_all_instants_of_a_bucket_have_its_path(ours: Zone, duration_ms: int, at_ms: int, later: list[int]) -> None:
    """One by one and many at once; each path is that of the bucket's start."""
    bucketer = Bucketer(duration_ms, PRECISE, ours, "en")
    printed = compile_pattern(PRECISE, ours, "en")
    timestamps = [at_ms + each for each in later]
    paths = bucketer.paths(timestamps)
    assert paths == [bucketer.path(each) for each in timestamps]
    assert paths == [printed(bucketer.start(each)) for each in timestamps]
    of_bucket: dict[int, set[str]] = {}
    for each, path in zip(timestamps, paths, strict=True):
        of_bucket.setdefault(local(each, ours) // duration_ms, set()).add(path)
    assert {len(found) for found in of_bucket.values()} == {1}


def test_hours_of_a_night_when_clocks_change() -> None:
    """The hour that comes twice has one path, and the one that is skipped has none."""
    berlin = Bucketer(HOUR, HOURLY, zone("Europe/Berlin"), "en")
    autumn = 1_729_983_600_000  # 2024-10-27T01:00+02:00
    assert [path[-2:] for path in berlin.paths([autumn + n * HOUR // 2 for n in range(8)])] == [
        *("01", "01", "02", "02", "02", "02", "03", "03")
    ]
    assert berlin.span(autumn + HOUR) == (autumn + HOUR, autumn + 3 * HOUR)
    spring = 1_711_843_200_000  # 2024-03-31T01:00+01:00
    assert [path[-2:] for path in berlin.paths([spring + n * HOUR for n in range(3)])] == ["01", "03", "04"]
    santiago = Bucketer(DAY, "YYYY-MM-dd HH:mm", zone("America/Santiago"), "en")
    assert santiago.path(1_725_807_600_000) == "2024-09-08 01:00"  # a day that begins at 1


def test_before_1970_buckets_are_as_long_as_after() -> None:
    """Ours on purpose: the sink cuts towards zero, so that its bucket of the epoch has two durations."""
    hourly = Bucketer(HOUR, HOURLY, zone("UTC"), "en")
    assert hourly.path(-1) == "year=1969/month=12/day=31/hour=23"
    assert hourly.span(-1) == (-HOUR, 0)


def test_the_pattern_shows_the_start() -> None:
    """Two hours: the even ones. A week: Thursdays, as the epoch was one. Finer than the pattern: the same path."""
    at = 1_720_000_000_000  # 2024-07-03T09:46:40Z, a Wednesday
    assert Bucketer(2 * HOUR, "HH", zone("UTC"), "en").path(at) == "08"
    assert Bucketer(7 * DAY, "YYYY-MM-dd E", zone("UTC"), "en").path(at) == "2024-06-27 Thu"
    assert set(Bucketer(60_000, "HH", zone("UTC"), "en").paths([at, at + 120_000])) == {"09"}


def test_memory_is_bounded() -> None:
    """However many buckets are met, so many are remembered, and forgetting changes no path."""
    bucketer = Bucketer(1000, "yyyyDDDHHmmss", zone("Asia/Kolkata"), "en")
    timestamps = [n * 1000 for n in range(CACHED_MAX + 100)]
    paths = bucketer.paths(timestamps)
    assert len(set(paths)) == len(timestamps)
    assert bucketer.paths(timestamps) == paths
    assert len(bucketer._blocks) <= CACHED_MAX
    assert len(bucketer._paths) <= CACHED_MAX


@pytest.mark.parametrize("duration_ms", [0, -1])
def test_no_duration_is_an_error_for_people(duration_ms: int) -> None:
    """Not a division by zero."""
    with pytest.raises(JodaError, match=rf"^A bucket of {duration_ms} ms is not possible\. Allowed are 1 and more\.$"):
        Bucketer(duration_ms, "yyyy", zone("UTC"), "en")
