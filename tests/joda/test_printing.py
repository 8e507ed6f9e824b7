"""Instants as patterns print them, many at once, beside each of them by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.joda import printing
from kafka_s3.joda.patterns import compile_pattern
from kafka_s3.joda.printing import Printed
from kafka_s3.joda.zones import zone

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/Sao_Paulo",  # its clocks skipped midnight
    "Australia/Lord_Howe",  # by half an hour
    "Asia/Kathmandu",
    "Africa/Monrovia",  # 44:30 until 1972
    "Pacific/Apia",  # skipped a day
)
PATTERNS = ("yyyy-MM-dd", "HH", "yyyy/DDD/hh a", "mm", "ss.SSS", "EEE ww xxxx", "Z", "'at'yyyy", "kk:mm:ss")
YEAR = 31_557_600_000

near = st.integers(-80 * YEAR, 80 * YEAR)


@given(st.sampled_from(ZONES), st.sampled_from(PATTERNS), near, st.lists(st.integers(-90_000_000, 90_000_000)))
def test_many_are_as_each_by_itself(name: str, pattern: str, around: int, steps: list[int]) -> None:
    """Near any instant, over changes of the zone, in any order."""
    instants = [around, *(around + step for step in steps)]
    by_itself = compile_pattern(pattern, zone(name), "en")
    assert Printed(pattern, zone(name), "en").all(instants) == [by_itself(at_ms) for at_ms in instants]


@pytest.mark.parametrize("name", ZONES)
def test_every_change_of_a_zone_is_seen(name: str) -> None:
    """Minute by minute, around each change of 1960 to 2030."""
    by_itself = compile_pattern("yyyy-MM-dd HH", zone(name), "en")
    printed = Printed("yyyy-MM-dd HH", zone(name), "en")
    for span in zone(name).spans(-10 * YEAR, 60 * YEAR):
        instants = [span.start_ms + minute * 60_000 + 1 for minute in range(-90, 90, 7)]
        assert printed.all(instants) == [by_itself(at_ms) for at_ms in instants]


def test_what_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of many times fill no memory, and change no text."""
    monkeypatch.setattr(printing, "CACHED_MAX", 10)
    printed, by_itself = Printed("HH:mm", zone("UTC"), "en"), compile_pattern("HH:mm", zone("UTC"), "en")
    for start in range(0, 50 * 60_000, 60_000 * 7):
        instants = [start + each * 60_000 for each in range(8)]
        assert printed.all(instants) == [by_itself(at_ms) for at_ms in instants]
        assert len(printed._known) <= 10
