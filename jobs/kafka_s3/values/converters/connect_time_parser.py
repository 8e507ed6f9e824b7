"""Dates and times in text, as Java's SimpleDateFormat reads them: leniently, in the calendar that had Julian dates
before October 15, 1582.

`2020-13-45` is 2021-02-14, and what follows a date that is complete is not looked at; that it has the length of one is
asked by Connect.
"""

from __future__ import annotations

import re
from typing import Final

from kafka_s3.values.converters.connect_schema import DATE, TIME, TIMESTAMP
from kafka_s3.values.converters.connect_types import DAY_MS

_FIELD: Final = r"[ \t]*(-?\d+)(?!\d|E-?\d)"
_DATE: Final = rf"{_FIELD}-{_FIELD}-{_FIELD}"
_TIME: Final = rf"{_FIELD}:{_FIELD}:{_FIELD}\.{_FIELD}Z"
#: By the length of the text.
_FORMS: Final = {
    10: (DATE, re.compile(_DATE)),
    13: (TIME, re.compile(_TIME)),
    24: (TIMESTAMP, re.compile(f"{_DATE}T{_TIME}")),
}
_GREGORIAN: Final = -141_427  # the days from the epoch to October 15, 1582
_GREGORIAN_YEAR: Final = 1582


def moment(text: str) -> tuple[str, int] | None:
    """Connect's name of the type and the milliseconds since the epoch, UTC; `None` if the text is no such thing.

    >>> moment("1970-01-02"), moment("12:00:00.000Z")[1], moment("soon")
    (('org.apache.kafka.connect.data.Date', 86400000), 43200000, None)
    """
    length = len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    if length not in _FORMS:
        return None
    name, form = _FORMS[length]
    found = form.match(text)
    if found is None:
        return None
    numbers = list(map(int, found.groups()))
    date, time = (numbers[:3], numbers[3:]) if name != TIME else ([1970, 1, 1], numbers)
    hours, minutes, seconds, ms = time or (0, 0, 0, 0)
    rest = ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms
    days, rest = divmod(rest, DAY_MS)
    year, month, day = date
    return name, _days(year, month, day + days) * DAY_MS + rest


def _days(year: int, month: int, day: int) -> int:
    """Days since the epoch, by whichever calendar was in use."""
    gregorian, julian = _day_of(year, month, day, julian=False), _day_of(year, month, day, julian=True)
    if year > _GREGORIAN_YEAR and gregorian >= _GREGORIAN:
        return gregorian
    if year < _GREGORIAN_YEAR:
        return julian
    return gregorian if gregorian >= _GREGORIAN else julian


def _day_of(year: int, month: int, day: int, *, julian: bool) -> int:
    """
    >>> _day_of(1970, 1, 1, julian=False), _day_of(2020, 13, 45, julian=False), _day_of(1582, 10, 5, julian=True)
    (0, 18672, -141427)
    """
    years, month = divmod(month - 3, 12)  # of years that begin in March: February's end moves nothing
    year += years
    leaps = year // 4 if julian else year // 4 - year // 100 + year // 400
    since = -719_470 if julian else -719_468
    return year * 365 + leaps + (153 * month + 2) // 5 + day - 1 + since
