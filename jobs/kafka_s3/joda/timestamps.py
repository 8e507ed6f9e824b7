"""Timestamps in text, as the sink's RecordField extractor takes them.

Up to 19 digits are milliseconds since the epoch, whatever they look like ("2015" is a moment of 1970). Everything else
is read as Joda-Time's `ISODateTimeFormat.dateTimeParser()` does:

    date    2015   2015-04   2015-04-02   2015-W14   2015-W14-4   2015-092
    time    T10   T10:30   T10:30:15   each with a fraction of its last part: .5 or ,5
    offset  Z   +02   +0200   +02:00   +02:00:15.123
    text    date, date T, date T time, T time; the last three with an offset after them

Parts that are missing are the first of theirs, the date's 1970-01-01. Ours on purpose: a text without an offset is read
in the given zone, where the sink reads it in the machine's. Where clocks show a time twice, the first is meant; a time
that they skip is refused.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from kafka_s3.joda import JodaError
from kafka_s3.joda.days import DAY_MS, days_in_month, days_of, first_week, is_leap, weeks_in_year
from kafka_s3.joda.zones import Zone, parse_offset
from kafka_s3.shown import quoted

MS_MIN, MS_MAX = -(1 << 63), (1 << 63) - 1
YEAR_MIN, YEAR_MAX = -292_275_055, 292_278_994  # those that 64 bits of milliseconds begin and end in
_SHOWN_MAX = 60
_EXAMPLES = "2015-04-02T10:30:15.123+02:00 or 2015-04-02"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # of clocks, in whatever zone
_MS = timedelta(milliseconds=1)

_NUMBER = re.compile(r"-?[0-9]{1,19}")
# The form that nearly all have, which `datetime` reads alike and much faster.
_USUAL = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-5][0-9])?"
)
_ISO = re.compile(
    r"(?:(?P<year>[+-]?[0-9]{1,9})"
    r"(?:-[Ww](?P<week>[0-9]{1,2})(?:-(?P<weekday>[0-9]))?"
    r"|-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2}))?"
    r"|-(?P<ordinal>[0-9]{1,3}))?|(?=[Tt][0-9]))"
    r"(?:[Tt](?:(?P<hour>[0-9]{1,2})"
    r"(?::(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2}))?)?"
    r"(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r"(?P<offset>[Zz]|[+-][0-9:.,]+)?)?"
)


def parse_timestamp(text: str, zone: Zone) -> int:
    """Milliseconds since the epoch, what is finer cut off; JodaError with the reason for text that is no timestamp.

    >>> from kafka_s3.joda.zones import zone
    >>> parse_timestamp("1970-01-01T01:00:00,5+01:00", zone("UTC")), parse_timestamp("1970-01-02", zone("+01:00"))
    (500, 82800000)
    """
    if _NUMBER.fullmatch(text):
        return _in_range(int(text), text)
    if _USUAL.fullmatch(text):
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            pass  # there is no such day or time: below is said which part is wrong
        else:
            return (at - _EPOCH) // _MS if at.tzinfo else _in_zone((at - _LOCAL_EPOCH) // _MS, text, zone)
    found = _ISO.fullmatch(text)
    if found is None:
        raise _refused(text, f"Allowed are milliseconds since 1970 and ISO 8601, such as {_EXAMPLES}.")
    part = found.groupdict()
    local_ms = _days(text, part) * DAY_MS + _ms_of_day(text, part)
    offset = part["offset"]
    if offset is None:
        return _in_zone(local_ms, text, zone)
    offset_ms = 0 if offset in "Zz" else parse_offset(offset)
    if offset_ms is None:
        raise _refused(text, f"{quoted(offset)} is not an offset: allowed are Z, +02, +0200, +02:00 and so on.")
    return _in_range(local_ms - offset_ms, text)


def _days(text: str, part: dict[str, str | None]) -> int:
    if part["year"] is None:
        return 0
    year = _within(text, "year", part["year"], YEAR_MIN, YEAR_MAX)
    if part["week"] is not None:
        week = _within(text, "week", part["week"], 1, weeks_in_year(year))
        return first_week(year) + (week - 1) * 7 + _within(text, "day of the week", part["weekday"] or "1", 1, 7) - 1
    if part["ordinal"] is not None:
        return days_of(year, 1, 1) + _within(text, "day of the year", part["ordinal"], 1, 365 + is_leap(year)) - 1
    month = _within(text, "month", part["month"] or "1", 1, 12)
    return days_of(year, month, _within(text, "day", part["day"] or "1", 1, days_in_month(year, month)))


def _ms_of_day(text: str, part: dict[str, str | None]) -> int:
    ms, unit_ms = 0, DAY_MS
    for name, count in (("hour", 24), ("minute", 60), ("second", 60)):
        digits = part[name]
        if digits is None:
            break
        unit_ms //= count
        ms += _within(text, name, digits, 0, count - 1) * unit_ms
    return ms + _fraction_ms(part["fraction"] or "", unit_ms)


def _fraction_ms(digits: str, unit_ms: int) -> int:
    """Joda's own sum: a tenth of each digit's worth, cut off at a tenth of a millisecond, digit by digit."""
    tenths, worth = 0, unit_ms * 10
    for digit in digits:
        worth //= 10
        tenths += int(digit) * worth
    return tenths // 10


def _in_zone(local_ms: int, text: str, zone: Zone) -> int:
    at_ms = local_ms - zone.offset_ms(local_ms)
    span = zone.span(at_ms)
    if span.start_ms + DAY_MS <= at_ms < span.end_ms - DAY_MS:
        return _in_range(at_ms, text)  # no change of the clocks is near
    instants = zone.instants_of(local_ms)
    if not instants:
        raise _refused(text, f"The clocks of {zone.id} skip that time, and the text has no offset.")
    return _in_range(instants[0], text)


def _within(text: str, name: str, digits: str, low: int, high: int) -> int:
    number = int(digits)
    if not low <= number <= high:
        raise _refused(text, f"The {name} is {quoted(number)}, allowed are {low} to {high}.")
    return number


def _in_range(at_ms: int, text: str) -> int:
    if not MS_MIN <= at_ms <= MS_MAX:
        raise _refused(text, "It lies beyond what 64 bits of milliseconds hold.")
    return at_ms


def _refused(text: str, reason: str) -> JodaError:
    shown = text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"
    return JodaError(f"Invalid format: {quoted(text, repr(shown))} is not a timestamp. {reason}")
