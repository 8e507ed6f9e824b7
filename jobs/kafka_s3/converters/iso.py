"""Days, times and moments as text of ISO 8601, exactly: what does not fit into the unit is refused, never rounded."""

from __future__ import annotations

import datetime
import re
from typing import Final

#: Logical types: how many of their unit a second has.
UNITS: Final = {
    "time-millis": 1_000,
    "time-micros": 1_000_000,
    **{
        f"{local}timestamp-{unit}": size
        for local in ("", "local-")
        for unit, size in (("millis", 1_000), ("micros", 1_000_000), ("nanos", 1_000_000_000))
    },
}
_EPOCH_DAY: Final = datetime.date(1970, 1, 1).toordinal()
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,18}))?)?", re.ASCII)
_ZONE: Final = re.compile(r"Z|([+-])(\d\d):?(\d\d)", re.ASCII)


def days(text: str) -> int:
    """
    >>> days("1970-01-02")
    1
    """
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError("is not a day like 2026-03-14")
    try:
        return datetime.date(*map(int, found.groups())).toordinal() - _EPOCH_DAY
    except ValueError:
        raise ValueError("is no day of the calendar") from None


def time_of_day(text: str, unit: int) -> int:
    """Units since midnight.

    >>> time_of_day("01:00:00.5", 1000)
    3600500
    """
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError("is not a time like 09:26:53.589")
    hours, minutes, seconds = (int(each or 0) for each in found.groups()[:3])
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError("is no time of a day")
    digits = found[4] or ""
    fraction, rest = divmod(int(digits or 0) * unit, int("1" + "0" * len(digits)))
    if rest:
        raise ValueError(f"has a finer fraction than its type: 1/{unit} s")
    return (hours * 3600 + minutes * 60 + seconds) * unit + fraction


def moment(text: str, unit: int, *, local: bool) -> int:
    """Units since 1970 began, in UTC; where it is local, of the clock on the wall.

    >>> moment("1970-01-01T01:00:00.001+01:00", 1000, local=False)
    1
    """
    day, between, rest = text[:10], text[10:11], text[11:]
    if between not in ("T", "t", " ") or not between:
        raise ValueError("is not a moment like 2026-03-14T09:26:53.589Z")
    zone = _ZONE.search(rest)
    if zone is not None and zone.end() != len(rest):
        raise ValueError("is not a moment like 2026-03-14T09:26:53.589Z")
    if local and zone is not None:
        raise ValueError("has a time zone, which a local timestamp has not")
    if not local and zone is None:
        raise ValueError("has no time zone: end it with Z, or with an offset like +01:00")
    clock = rest if zone is None else rest[: zone.start()]
    offset = 0
    if zone is not None and zone[1]:
        if int(zone[2]) > 18 or int(zone[3]) > 59:
            raise ValueError("has an offset of more than 18 hours")
        offset = (int(zone[2]) * 60 + int(zone[3])) * (60 if zone[1] == "+" else -60)
    return (days(day) * 86_400 - offset) * unit + time_of_day(clock, unit)
