"""Moments as text: exact in every unit, in every spelling."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.values.converters import iso

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)

offsets = st.integers(-18 * 60, 18 * 60).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))


@given(st.datetimes(timezones=st.just(datetime.UTC) | offsets), st.sampled_from(["T", "t", " "]), st.booleans())
def test_a_moment_is_what_the_calendar_says(at: datetime.datetime, between: str, zulu: bool) -> None:
    """Whole microseconds since 1970, whatever the offset; milliseconds where there is nothing finer."""
    text = at.isoformat(between)
    if zulu:
        text = text.replace("+00:00", "Z")
    micros = (at - EPOCH) // MICROSECOND
    assert iso.moment(text, 1_000_000, local=False) == micros
    assert iso.moment(text, 1_000_000_000, local=False) == micros * 1000
    if micros % 1000:
        with pytest.raises(ValueError, match="finer fraction"):
            iso.moment(text, 1000, local=False)
    else:
        assert iso.moment(text, 1000, local=False) == micros // 1000


@given(st.datetimes(), st.sampled_from([0, 3]))
def test_the_usual_spelling_is_no_other(at: datetime.datetime, digits: int) -> None:
    """The short way for `2026-03-14T09:26:53.589Z` gives what the long way gives."""
    text = f"{at:%H:%M:%S}" + f".{at.microsecond // 1000:03}" * (digits == 3)
    text = f"{at.date().isoformat()}T{text}Z"
    assert len(text) in (20, 24)
    assert iso.moment(text, 1000, local=False) == iso.moment(text.replace("Z", "+00:00"), 1000, local=False)
    assert iso.moment(text[:-1], 1000, local=True) == iso.moment(text, 1000, local=False)


@given(st.times())
def test_a_time_is_counted_from_midnight(at: datetime.time) -> None:
    """In whole microseconds."""
    seconds = (at.hour * 60 + at.minute) * 60 + at.second
    assert iso.time_of_day(at.isoformat(), 1_000_000) == seconds * 1_000_000 + at.microsecond


@pytest.mark.parametrize(
    "text",
    [
        "2026-W11-6T09:26:53.589Z",
        "2026-03-14T09:26:60.000Z",
        "2026-03-14T24:00:00Z",
        "2026-13-14T09:26:53Z",
        "2026-03-14T09:26:53.58Zz",
        "20260314T092653Z",
        "２026-03-14T09:26:53Z",
        "2026-03-14T09:26:53+19:00",
        "2026-03-14T09:26:53 Z",
        "2026-03-14",
        "",
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    """Week dates, leap seconds, other digits and halves of moments are not guessed at."""
    with pytest.raises(ValueError):  # noqa: PT011  # which of the reasons is said elsewhere
        iso.moment(text, 1000, local=False)
