"""Java's `SimpleDateFormat` in UTC and in English: how it writes a moment, and how it reads one.

It is lenient, as Java's is by default: the 32nd of January is the 1st of February, and what stands behind the date is
not looked at. A year of two digits is one from 1970 to 2069 (Java's depends on the day on which it reads).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_MONTHS: Final = tuple(
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_DAY_MS: Final = 86_400_000
#: How long a letter says the same; others do for a day.
_UNITS_MS: Final = {"S": 1, "s": 1000, "m": 60_000, **dict.fromkeys("aHkKh", 3_600_000)}
#: The first day of the Gregorian calendar, 1582-10-15, in days since 1970.
_CUTOVER: Final = -141_427
_LETTERS: Final = "GyYMLwWDdFEuaHkKhmsSzZX"
_READ: Final = frozenset("GyMLdDEaHkKhmsSzZX")
_NUMBERS: Final = frozenset("yYDdFwWuHkKhmsS")
_TWO_DIGITS_FROM: Final = 1970
_ZONES: Final[Mapping[str, int]] = {
    "UTC": 0, "GMT": 0, "UT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}  # fmt: skip
_OFFSET: Final = re.compile(r"(?:GMT)?([+-])(\d{1,2}):?(\d\d)?", re.ASCII)
_ISO_OFFSET: Final = {
    1: re.compile(r"([+-])(\d\d)()", re.ASCII),
    2: re.compile(r"([+-])(\d\d)(\d\d)", re.ASCII),
    3: re.compile(r"([+-])(\d\d):(\d\d)", re.ASCII),
}


class NoDate(ValueError):
    """The text is not a date of its pattern."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment's parts. `year` is 0 for 1 BC."""

    days: int
    year: int
    month: int
    day: int
    ms: int  # since midnight

    @property
    def weekday(self) -> int:
        """0 is Sunday."""
        return (self.days + 4) % 7

    @property
    def of_year(self) -> int:
        return self.days - days_of(self.year, 1, 1) + 1


def moment(ms: int) -> Moment:
    days, rest = divmod(ms, _DAY_MS)
    if days >= _CUTOVER:
        shifted = days + 719_468
        era, of_era = divmod(shifted, 146_097)
        year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
        of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
        year = year_of_era + era * 400
    else:
        shifted = days + 719_470
        era, of_era = divmod(shifted, 1461)
        year_of_era = min(of_era // 365, 3)
        of_year = of_era - 365 * year_of_era
        year = era * 4 + year_of_era
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return Moment(days, year + (month <= 2), month, day, rest)


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date that may be none: months and days beyond their ends count on."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    shifted = year - (month <= 2)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    era, year_of_era = divmod(shifted, 400)
    gregorian = era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + of_year - 719_468
    if gregorian >= _CUTOVER:
        return gregorian
    return min(shifted * 365 + shifted // 4 + of_year - 719_470, max(gregorian, _CUTOVER - 1 + 10))


@dataclass(frozen=True, slots=True)
class Part:
    """Letters of one field, or text (`letter` is blank then)."""

    letter: str
    count: int
    text: str = ""


@lru_cache(64)
def date_format(pattern: str) -> DateFormat:
    """`ValueError` with the reason if it is not a pattern."""
    return DateFormat(_parts(pattern))


def problem(pattern: str) -> str | None:
    """What is wrong with a pattern."""
    try:
        date_format(pattern)
    except ValueError as error:
        return str(error)
    return None


def _parts(pattern: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    for found in re.finditer(r"'((?:[^']|'')*)('?)|([A-Za-z])\3*|[^'A-Za-z]+", pattern, re.DOTALL):
        quoted, closed, letter = found[1], found[2], found[3]
        if letter:
            if letter not in _LETTERS:
                raise ValueError(f"'{letter}' is not a letter of a SimpleDateFormat")
            if letter == "X" and len(found[0]) > 3:
                raise ValueError("a SimpleDateFormat has at most three X")
            parts.append(Part(letter, len(found[0])))
        elif quoted is None:
            parts.append(Part("", 0, found[0]))
        elif not closed:
            raise ValueError("a quote (') of the pattern does not end")
        else:
            parts.append(Part("", 0, quoted.replace("''", "'") or "'"))
    return tuple(parts)


class DateFormat:
    """One pattern."""

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self._parts = parts
        #: Milliseconds from a multiple of which to the next one moments have the same text.
        self.unit_ms = min((_UNITS_MS.get(each.letter, _DAY_MS) for each in parts), default=_DAY_MS)
        self._format = lru_cache(4096)(self._write)

    @property
    def not_read(self) -> str:
        """A letter that is only written, never read; blank if there is none."""
        return next((each.letter for each in self._parts if each.letter and each.letter not in _READ), "")

    def format(self, ms: int) -> str:
        """
        >>> date_format("yyyy-MM-dd'T'HH:mm:ss.SSSX").format(1_456_300_800_123)
        '2016-02-24T08:00:00.123Z'
        """
        return self._format(ms // self.unit_ms * self.unit_ms)

    def _write(self, ms: int) -> str:
        at = moment(ms)
        return "".join(each.text if not each.letter else _WRITE[each.letter](at, each.count) for each in self._parts)

    def parse(self, text: str) -> int:
        """Milliseconds since the epoch. `NoDate` if the text does not begin with such a date."""
        fields: dict[str, int] = {}
        at = 0
        for number, part in enumerate(self._parts):
            if not part.letter:
                if not text.startswith(part.text, at):
                    raise NoDate
                at += len(part.text)
                continue
            after = self._parts[number + 1] if number + 1 < len(self._parts) else None
            abuts = after is not None and after.letter != "" and _is_number(after)
            before = self._parts[number - 1] if number else None
            abuts = abuts or (before is not None and before.letter != "" and _is_number(before) and _is_number(part))
            at = _read(part, text, at, fields, obey_count=abuts)
        return _resolved(fields)


def _is_number(part: Part) -> bool:
    return part.letter in _NUMBERS or (part.letter in "ML" and part.count <= 2)


def _padded(number: int, count: int) -> str:
    return f"{number:0{count}d}"


def _year(year: int, count: int) -> str:
    year = year if year > 0 else 1 - year
    return _padded(year % 100, 2) if count == 2 else _padded(year, count)


def _name(names: tuple[str, ...], index: int, count: int) -> str:
    return names[index] if count >= 4 else names[index][:3]


def _month(at: Moment, count: int) -> str:
    return _padded(at.month, count) if count <= 2 else _name(_MONTHS, at.month - 1, count)


def _week(at: Moment) -> tuple[int, int]:
    """The year of the week and its number: weeks begin on Sunday, and the first is that of January 1."""
    begin = at.days - at.weekday
    next_year = days_of(at.year + 1, 1, 1)
    if begin + 6 >= next_year:
        return at.year + 1, 1
    first = days_of(at.year, 1, 1)
    return at.year, (at.days - (first - (first + 4) % 7)) // 7 + 1


def _week_of_month(at: Moment) -> int:
    first = at.days - at.day + 1
    return (at.days - (first - (first + 4) % 7)) // 7 + 1


_Write = Callable[[Moment, int], str]
_WRITE: Final[Mapping[str, _Write]] = {
    "G": lambda at, _: "AD" if at.year > 0 else "BC",
    "y": lambda at, count: _year(at.year, count),
    "Y": lambda at, count: _year(_week(at)[0], count),
    "M": _month,
    "L": _month,
    "w": lambda at, count: _padded(_week(at)[1], count),
    "W": lambda at, count: _padded(_week_of_month(at), count),
    "D": lambda at, count: _padded(at.of_year, count),
    "d": lambda at, count: _padded(at.day, count),
    "F": lambda at, count: _padded((at.day - 1) // 7 + 1, count),
    "E": lambda at, count: _name(_DAYS, at.weekday, count),
    "u": lambda at, count: _padded(at.weekday or 7, count),
    "a": lambda at, _: "AM" if at.ms < _DAY_MS // 2 else "PM",
    "H": lambda at, count: _padded(at.ms // 3_600_000, count),
    "k": lambda at, count: _padded(at.ms // 3_600_000 or 24, count),
    "K": lambda at, count: _padded(at.ms // 3_600_000 % 12, count),
    "h": lambda at, count: _padded(at.ms // 3_600_000 % 12 or 12, count),
    "m": lambda at, count: _padded(at.ms // 60_000 % 60, count),
    "s": lambda at, count: _padded(at.ms // 1000 % 60, count),
    "S": lambda at, count: _padded(at.ms % 1000, count),
    "z": lambda _, count: "UTC" if count < 4 else "Coordinated Universal Time",
    "Z": lambda _at, _count: "+0000",
    "X": lambda _at, _count: "Z",
}
_DIGITS: Final = re.compile(r"-?\d+", re.ASCII)


def _read(part: Part, text: str, at: int, fields: dict[str, int], *, obey_count: bool) -> int:
    """Read one field into `fields`; where it ends. `NoDate` if it is not there."""
    while at < len(text) and text[at] in " \t":
        at += 1
    if at >= len(text):
        raise NoDate
    letter = part.letter
    if letter == "G":
        return _named(("BC", "AD"), letter, text, at, fields)
    if letter == "a":
        return _named(("AM", "PM"), letter, text, at, fields)
    if letter == "E":
        return _named(_DAYS, letter, text, at, fields)
    if letter in "ML" and part.count > 2:
        return _named(_MONTHS, "M", text, at, fields)
    if letter in "zZX":
        return _zone(part, text, at, fields)
    found = _DIGITS.match(text, at, at + part.count) if obey_count else _DIGITS.match(text, at)
    if found is None or len(found[0]) > 18:
        raise NoDate
    number = int(found[0])
    if letter == "y" and part.count <= 2 and len(found[0]) == 2 and number >= 0:
        number += (_TWO_DIGITS_FROM + 99 - number) // 100 * 100
    fields["M" if letter == "L" else letter] = number - 1 if letter in "ML" else number
    return found.end()


def _named(names: tuple[str, ...], letter: str, text: str, at: int, fields: dict[str, int]) -> int:
    best, length = -1, 0
    for index, name in enumerate(names):
        for form in (name, name[:3]):
            if len(form) > length and text[at : at + len(form)].lower() == form.lower():
                best, length = index, len(form)
    if best < 0:
        raise NoDate
    fields[letter] = best
    return at + length


def _zone(part: Part, text: str, at: int, fields: dict[str, int]) -> int:
    if part.letter == "X":
        if text[at] == "Z":
            fields["z"] = 0
            return at + 1
        found = _ISO_OFFSET[part.count].match(text, at)
    else:
        for name, hours in _ZONES.items():
            after = at + len(name)
            if text[at:after].upper() == name and not (name == "GMT" and text[after : after + 1] in ("+", "-")):
                fields["z"] = hours * 60
                return after
        found = _OFFSET.match(text, at)
    if found is None:
        raise NoDate
    sign, whole, rest = found.groups()
    if int(whole) > 23 or int(rest or 0) > 59:
        raise NoDate
    offset = int(whole) * 60 + int(rest or 0)
    fields["z"] = -offset if sign == "-" else offset
    return found.end()


def _resolved(fields: Mapping[str, int]) -> int:
    year = fields.get("y", 1970)
    if fields.get("G", 1) == 0:
        year = 1 - year
    if "D" in fields and "d" not in fields:
        days = days_of(year, 1, 1) + fields["D"] - 1
    else:
        days = days_of(year, fields.get("M", 0) + 1, 1) + fields.get("d", 1) - 1
        if fields.get("d", 1) > 0 and days_of(year, fields.get("M", 0) + 1, 1) < _CUTOVER:
            days = days_of(year, fields.get("M", 0) + 1, fields.get("d", 1))
    hours = 0
    if "H" in fields or "k" in fields:
        hours = fields.get("H", fields.get("k", 0) % 24 if fields.get("k") == 24 else fields.get("k", 0))
    elif "h" in fields or "K" in fields:
        hours = fields.get("K", 0 if fields.get("h") == 12 else fields.get("h", 0)) + 12 * fields.get("a", 0)
    elif "a" in fields:
        hours = 12 * fields["a"]
    seconds = (hours * 60 + fields.get("m", 0) - fields.get("z", 0)) * 60 + fields.get("s", 0)
    made = days * _DAY_MS + seconds * 1000 + fields.get("S", 0)
    if not -(1 << 63) <= made < 1 << 63:
        raise NoDate
    return made
