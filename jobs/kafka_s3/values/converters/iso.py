"""Days, times and moments as text of ISO 8601, exactly: what does not fit into the unit is refused, never rounded."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from typing import Final

_TENS: Final[list[int]] = [10**digits for digits in range(19)]
_EPOCH_DAY: Final = datetime.date(1970, 1, 1).toordinal()
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_CLOCK: Final = r"(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,18}))?)?"
_TIME: Final = re.compile(_CLOCK, re.ASCII)
_MOMENT: Final = re.compile(rf"(.{{10}})[Tt ]{_CLOCK}(?:([Zz])|([+-])(\d\d):?(\d\d))?", re.ASCII)


@lru_cache(maxsize=1024)
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
        raise ValueError("is not a day of the calendar") from None


def time_of_day(text: str, unit: int) -> int:
    """Units since midnight.

    >>> time_of_day("01:00:00.5", 1000)
    3600500
    """
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError("is not a time like 09:26:53.589")
    hours, minutes, seconds, digits = found.groups()
    return _since_midnight(hours, minutes, seconds, digits, unit)


def _since_midnight(hours: str, minutes: str, seconds: str | None, digits: str | None, unit: int) -> int:
    hour, minute, second = int(hours), int(minutes), int(seconds or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("is not a time of a day")
    made = (hour * 3600 + minute * 60 + second) * unit
    if digits is None:
        return made
    fraction, rest = divmod(int(digits) * unit, _TENS[len(digits)])
    if rest:
        raise ValueError(f"has a finer fraction than its type: 1/{unit} s")
    return made + fraction


def moment(text: str, unit: int, *, local: bool) -> int:
    """Units since 1970 began, in UTC; where it is local, of the clock on the wall.

    >>> moment("1970-01-01T01:00:00.001+01:00", 1000, local=False)
    1
    """
    if not local and len(text) in (20, 24) and text[10] == "T" and text[-1] == "Z" and text[4:17:3] == "--T::":
        # What nearly everyone writes, by a third of the time.
        try:
            at = datetime.datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            seconds_of_day = at.hour * 3600 + at.minute * 60 + at.second
            thousandths = at.microsecond // 1000
            return ((at.toordinal() - _EPOCH_DAY) * 86_400 + seconds_of_day) * unit + thousandths * (unit // 1000)
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError("is not a moment like 2026-03-14T09:26:53.589Z")
    day, hours, minutes, seconds, digits, utc, sign, offset_hours, offset_minutes = found.groups()
    zoned = utc is not None or sign is not None
    if zoned and local:
        raise ValueError("has a time zone, which a local timestamp has not")
    if not zoned and not local:
        raise ValueError("has no time zone: end it with Z, or with an offset like +01:00")
    made = days(day) * 86_400 * unit + _since_midnight(hours, minutes, seconds, digits, unit)
    if sign is None:
        return made
    if int(offset_hours) > 18 or int(offset_minutes) > 59:
        raise ValueError("has an offset of more than 18 hours")
    offset = (int(offset_hours) * 60 + int(offset_minutes)) * 60 * unit
    return made - offset if sign == "+" else made + offset
