"""Timestamps in text are read as Joda-Time reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.joda import JodaError
from kafka_s3.joda.timestamps import parse_timestamp
from kafka_s3.joda.zones import offset_id, zone
from kafka_s3.shown import kind_and_length, plain
from tests.joda.tables import REFUSED, rows

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def answered(text: str, id: str) -> str:
    try:
        return str(parse_timestamp(text, zone(id)))
    except JodaError:
        return REFUSED


def test_texts_are_read_as_joda_reads_them() -> None:
    """Each form of date, time and offset, damaged ones, and times that clocks skip or show twice."""
    table = rows("timestamps")
    wrong = [(id, text, answer, answered(text, id)) for id, text, answer in table if answered(text, id) != answer]
    # Beyond 64 bits Joda's sum is another time of the same year: refused here.
    assert wrong == [
        (id, "292278994-09-01", beyond, REFUSED)
        for id, beyond in (("Europe/Berlin", "9223372035525600000"), ("UTC", "9223372035532800000"))
    ]
    refused = sum(answer == REFUSED for *_, answer in table)
    assert refused > 1000
    assert len(table) - refused > 1000


@given(
    st.datetimes(timezones=st.just(UTC)).filter(lambda at: 1 < at.year < 9999),
    st.integers(-23 * 60, 23 * 60).map(lambda minutes: minutes * 60_000),
    st.sampled_from([".", ","]),
)
def test_what_is_written_is_read(at: datetime, offset_ms: int, point: str) -> None:
    """In any offset, with the fraction cut off at milliseconds."""
    local = (at + timedelta(milliseconds=offset_ms)).replace(tzinfo=None)
    text = local.isoformat(timespec="microseconds").replace(".", point) + (offset_id(offset_ms) if offset_ms else "Z")
    assert parse_timestamp(text, zone("Asia/Tokyo")) == (at - EPOCH) // timedelta(milliseconds=1)
    assert parse_timestamp(text[:26], zone(offset_id(offset_ms))) == (at - EPOCH) // timedelta(milliseconds=1)


@given(st.text("0123456789-+:.,TZW é", max_size=40) | st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Never a crash; what is refused is named in the reason."""
    try:
        assert -(1 << 63) <= parse_timestamp(text, zone("Europe/Berlin")) < 1 << 63
    except JodaError:
        with pytest.raises(JodaError) as refused:
            parse_timestamp(text, zone("Europe/Berlin"))
        assert plain(str(refused.value), content=True).startswith(f"Invalid format: {text!r} is not a timestamp. ")
        assert plain(str(refused.value)).startswith(f"Invalid format: {kind_and_length(text)} is not a timestamp. ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2015-04-02 10:30", "Allowed are milliseconds since 1970 and ISO 8601"),
        ("2015-02-30", "The day is 30, allowed are 1 to 28."),
        ("2015-02-30T10:00:00Z", "The day is 30, allowed are 1 to 28."),
        ("2015-W54", "The week is 54, allowed are 1 to 53."),
        ("2014-W53", "The week is 53, allowed are 1 to 52."),
        ("2015-366", "The day of the year is 366, allowed are 1 to 365."),
        ("T24:00", "The hour is 24, allowed are 0 to 23."),
        ("T10+2:00", "'+2:00' is not an offset: allowed are Z"),
        ("2024-03-31T02:30", "The clocks of Europe/Berlin skip that time, and the text has no offset."),
        ("9223372036854775808", "It lies beyond what 64 bits of milliseconds hold."),
        ("292278994-12-31", "It lies beyond what 64 bits of milliseconds hold."),
        ("300000000-01-01", "The year is 300000000, allowed are -292275055 to 292278994."),
    ],
)
def test_the_reason_says_what_is_wrong(text: str, reason: str) -> None:
    """For people: the text, and which part of it."""
    with pytest.raises(JodaError) as refused:
        parse_timestamp(text, zone("Europe/Berlin"))
    assert plain(str(refused.value), content=True).startswith(f"Invalid format: {text!r} is not a timestamp. {reason}")


def test_a_long_text_is_shown_in_part() -> None:
    """A megabyte in a record's field does not become a megabyte in a log."""
    with pytest.raises(JodaError) as refused:
        parse_timestamp("x" * 1_000_000, zone("UTC"))
    assert len(str(refused.value)) < 250


def test_a_text_without_an_offset_is_read_in_the_zone() -> None:
    """Not in the machine's; the first of a time that clocks show twice."""
    assert parse_timestamp("2024-07-01T12:00", zone("Asia/Kolkata")) == 1_719_815_400_000
    assert parse_timestamp("2024-10-27T02:30", zone("Europe/Berlin")) == 1_729_989_000_000
    assert parse_timestamp("2024-11-03T01:30", zone("America/New_York")) == 1_730_611_800_000
