"""Zones: ids as Joda takes them, and offsets as it and the time-zone database have them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.joda import JodaError
from kafka_s3.joda.days import days_of
from kafka_s3.joda.zones import JAVA_IDS, Zone, offset_id, parse_offset, zone
from tests.joda.tables import REFUSED, changes_by_joda, known, offset_by_zoneinfo, rows, same_rules

HOUR = 3_600_000
DAY = 24 * HOUR
ZONES = [row[0] for row in rows("transitions")]
zones = st.sampled_from([*ZONES, "UTC", "+05:45", "-03:30"]).map(zone)
instants = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-(10**13), 10**13) | st.integers(0, 2 * 10**12)


def test_ids_are_those_that_joda_takes() -> None:
    """Every id that Joda lists is a zone, and what it refuses is none, but for Java's own three letters."""
    ours, theirs = set(), set()
    for kind, id, answer in rows("zones"):
        if kind == "zone":
            theirs |= {id} if not answer.startswith(REFUSED) else set()
            ours |= {id} if known(id) else set()
    assert ours - theirs == {"PST", "CST", "IST", "JST", "BST", "ACT", "AET", "VST"}
    assert theirs - ours == set()
    assert len(theirs) > 600


def test_java_ids_are_javas() -> None:
    """`java.util.TimeZone`'s three letters, through the map that Joda has for them."""
    assert {id: answer for kind, id, answer in rows("zones") if kind == "java"} == JAVA_IDS
    assert zone("PST").offset_ms(0) == -8 * HOUR
    assert zone("EST").offset_ms(1_720_000_000_000) == -5 * HOUR  # the database's own, without daylight saving


def test_fixed_offsets_have_jodas_ids() -> None:
    """An offset's id is printed by ZZZ, so it is exactly Joda's."""
    fixed = [(id, answer) for kind, id, answer in rows("zones") if kind == "zone" and known(id) and zone(id).fixed]
    assert [(id, zone(id).id) for id, _ in fixed] == fixed
    assert len(fixed) > 15


def test_changes_of_clocks_are_jodas() -> None:
    """Every change of the clocks from 1700 to 2024, to the millisecond."""
    compared = skipped = 0
    for id in ZONES:
        ours = zone(id)
        starts, offsets = changes_by_joda(id)
        for at, before, offset in zip(starts[1:], offsets, offsets[1:], strict=False):
            if not same_rules(id, at):
                skipped += 1
                continue
            compared += 1
            assert (ours.offset_ms(at - 1), ours.offset_ms(at)) == (before, offset), (id, at)
            assert ours.changes_between(at - 1, at)
            assert ours.span(at).start_ms == at
            assert not ours.changes_between(at, at + 1000)
    assert compared > 2500
    assert skipped < 150


@given(zones, st.integers(-62_000_000_000_000, 253_000_000_000_000))
def test_offsets_are_zoneinfos(ours: Zone, at_ms: int) -> None:
    """The blocks that offsets are remembered in change nothing, in all the years that zoneinfo knows."""
    assert ours.offset_ms(at_ms) == offset_by_zoneinfo(ours.id, at_ms)
    span = ours.span(at_ms)
    assert span.start_ms <= at_ms < span.end_ms
    assert span.offset_ms == ours.offset_ms(span.start_ms) == ours.offset_ms(span.end_ms - 1)


@given(zones, instants)
def test_every_instant_has_an_offset(ours: Zone, at_ms: int) -> None:
    """Beyond zoneinfo's years too; what clocks then show is shown at that instant."""
    assert -DAY < ours.offset_ms(at_ms) < DAY
    span = ours.span(at_ms)
    assert span.start_ms <= at_ms < span.end_ms
    found = ours.instants_of(at_ms + ours.offset_ms(at_ms))
    assert at_ms in found
    assert found == sorted(found)


@given(zones, instants)
def test_clocks_shown_twice_or_never(ours: Zone, local_ms: int) -> None:
    """A time of clocks becomes an instant that shows it, unless it is skipped: then one that is later by the gap."""
    found = ours.instants_of(local_ms)
    at_ms = ours.to_utc(local_ms)
    assert at_ms in found if found else at_ms + ours.offset_ms(at_ms) > local_ms


def test_far_years_go_on_as_the_last() -> None:
    """Summer is kept in the year 20000; and before the first rule the sun's time holds, back to any year."""
    berlin = zone("Europe/Berlin")
    year_20000 = days_of(20000, 1, 1) * DAY
    assert berlin.offset_ms(year_20000 + 14 * DAY) == HOUR
    assert berlin.offset_ms(year_20000 + 200 * DAY) == 2 * HOUR
    assert berlin.offset_ms(-(10**17)) == 53 * 60_000 + 28_000


@given(st.integers(-DAY + 1, DAY - 1))
def test_an_offsets_id_says_it(offset_ms: int) -> None:
    """`offset_id` and `parse_offset` are inverse."""
    assert parse_offset(offset_id(offset_ms)) == (offset_ms or None)
    assert zone(offset_id(offset_ms)).offset_ms(0) == offset_ms


@pytest.mark.parametrize("id", ["Mars/X", "", "America", "../../etc/passwd", "right/UTC", "Europe/Berlin\0", "+25:00"])
def test_an_unknown_zone_is_an_error_for_people(id: str) -> None:
    """It names the id and what is allowed."""
    with pytest.raises(JodaError) as refused:
        zone(id)
    assert str(refused.value) == (
        f"The time zone {id!r} is not known. "
        "Allowed are names of the time-zone database such as Europe/Berlin, UTC, and offsets such as +02:00."
    )


@given(zones)
def test_zones_cross_process_borders(ours: Zone) -> None:
    """By their id: nothing of the machine goes with them."""
    assert pickle.loads(pickle.dumps(ours)).id == ours.id
