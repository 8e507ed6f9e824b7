"""Path patterns as Joda-Time's `DateTimeFormat.forPattern` reads and prints them.

A run of one letter is a field, its length the least width; what is not a letter stands for itself, and so does what is
between single quotes (`''` is a quote, and a quote that is never closed reaches to the end).

    G era               C century of era      Y year of era        x year of the week   y year
    w week of the year  e day of week, 1-7    E day of week, name  D day of year
    M month             d day of month        a half day
    K hour 0-11         h hour 1-12           H hour 0-23          k hour 1-24
    m minute            s second              S fraction of the second, cut off, not rounded
    z name of the zone  Z offset `+0200`, ZZ `+02:00`, ZZZ the zone's id

Three or more of `M`, and any number of `E`, are names; four or more the long ones. `yy`, `YY` and `xx` are the last two
digits. Digits are ASCII in every language. What differs from Joda on a JVM: names (see names.py), and `z`, for which a
JVM has names of its own: ours are CLDR's, else, for `z` to `zzz`, the abbreviation of the time-zone database if it is
one (`CET`, not `-03`), else the offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from kafka_s3.joda import JodaError
from kafka_s3.joda.days import DAY_MS, civil_of, day_of_week, days_of, week_of
from kafka_s3.joda.names import Names, names_of, zone_name
from kafka_s3.joda.zones import Zone

_HOUR_MS = 3_600_000
_HALF_YEAR_MS = 182 * DAY_MS
_FRACTION_DIGITS_MAX = 15  # Joda multiplies in 64 bits: beyond that it drops digits
_LENGTH_MAX = 1000


@dataclass(frozen=True, slots=True)
class Run:
    """A letter and how often it stands in a row."""

    letter: str
    count: int


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that stands for itself."""

    text: str


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant taken apart by the clocks of a zone."""

    at_ms: int
    offset_ms: int
    days: int
    ms_of_day: int
    year: int
    month: int
    day: int

    @property
    def hour(self) -> int:
        return self.ms_of_day // _HOUR_MS


Printer: TypeAlias = Callable[[Moment], str]


def compile_pattern(pattern: str, zone: Zone, locale: str) -> Callable[[int], str]:
    """What prints an instant (milliseconds since the epoch, any) by a pattern; JodaError where it means nothing.

    >>> from kafka_s3.joda.zones import zone
    >>> compile_pattern("'year'=YYYY/'month'=MM", zone("UTC"), "en")(0)
    'year=1970/month=01'
    """
    tokens = list(parse_pattern(pattern))
    printers = [_printer(token, zone, locale) for token in tokens]

    def printed(at_ms: int) -> str:
        moment = _moment(at_ms, zone)
        return "".join([printer(moment) for printer in printers])

    return printed


def parse_pattern(pattern: str) -> Iterator[Run | Literal]:
    """A pattern's parts, in order.

    >>> list(parse_pattern("yyyy'-W'w"))
    [Run(letter='y', count=4), Literal(text='-W'), Run(letter='w', count=1)]
    """
    if not pattern.strip("'"):
        # Nothing but quotes: one literal of some quotes, or nothing at all.
        if len(pattern) < 2:
            raise JodaError("The pattern is empty: it has to name a field, such as yyyy, or a text.")
        yield Literal("'" * (len(pattern) // 2))
        return
    if len(pattern) > _LENGTH_MAX:
        raise JodaError(f"The pattern has {len(pattern)} characters, allowed are {_LENGTH_MAX}.")
    at = 0
    while at < len(pattern):
        end = at
        if _is_letter(pattern[at]):
            while end < len(pattern) and pattern[end] == pattern[at]:
                end += 1
            yield Run(pattern[at], end - at)
        else:
            text, end = _literal(pattern, at)
            yield Literal(text)
        at = end


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalpha()


def _literal(pattern: str, at: int) -> tuple[str, int]:
    """The text from `at` to the next letter outside quotes, and where that is."""
    text: list[str] = []
    quoted = False
    while at < len(pattern) and (quoted or not _is_letter(pattern[at])):
        if pattern[at] != "'":
            text.append(pattern[at])
        elif pattern[at + 1 : at + 2] == "'":
            text.append("'")
            at += 1
        else:
            quoted = not quoted
        at += 1
    return "".join(text), at


def _moment(at_ms: int, zone: Zone) -> Moment:
    offset_ms = zone.offset_ms(at_ms)
    days, ms_of_day = divmod(at_ms + offset_ms, DAY_MS)
    return Moment(at_ms, offset_ms, days, ms_of_day, *civil_of(days))


def _printer(token: Run | Literal, zone: Zone, locale: str) -> Printer:
    if isinstance(token, Literal):
        text = token.text
        return lambda _: text
    letter, count = token.letter, token.count
    if letter in _NUMBERS and not (letter == "M" and count >= 3):
        number = _NUMBERS[letter]
        if letter in "xyY" and count == 2:
            year = _NUMBERS["y" if letter == "Y" else letter]  # Joda takes YY as yy
            return lambda moment: f"{abs(year(moment)) % 100:02}"
        return lambda moment: _padded(number(moment), count)
    if letter in "GMEa":
        word = _WORDS[letter, count >= 4 and letter in "ME"]
        names = names_of(locale)
        return lambda moment: word(names, moment)
    match letter:
        case "S":
            return lambda moment: _fraction(moment.ms_of_day % 1000, count)
        case "Z" if count <= 2:
            return lambda moment: _offset(moment.offset_ms, ":" if count == 2 else "")
        case "Z":
            return lambda _: zone.id
        case "z":
            return lambda moment: _zone_name(zone, locale, moment, long=count >= 4)
    raise JodaError(
        f"Illegal pattern component: {letter * count}. Letters that are meant as text stand in single quotes; "
        f"those with a meaning are {' '.join(sorted([*_NUMBERS, *'GEaSZz'], key=str.lower))}."
    )


_NUMBERS: dict[str, Callable[[Moment], int]] = {
    "C": lambda moment: abs(moment.year) // 100,
    "Y": lambda moment: moment.year if moment.year > 0 else 1 - moment.year,
    "y": lambda moment: moment.year,
    "x": lambda moment: week_of(moment.days)[0],
    "w": lambda moment: week_of(moment.days)[1],
    "e": lambda moment: day_of_week(moment.days),
    "D": lambda moment: moment.days - days_of(moment.year, 1, 1) + 1,
    "M": lambda moment: moment.month,
    "d": lambda moment: moment.day,
    "K": lambda moment: moment.hour % 12,
    "h": lambda moment: moment.hour % 12 or 12,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "m": lambda moment: moment.ms_of_day // 60_000 % 60,
    "s": lambda moment: moment.ms_of_day // 1000 % 60,
}

_WORDS: dict[tuple[str, bool], Callable[[Names, Moment], str]] = {
    ("G", False): lambda names, moment: names.eras[moment.year > 0],
    ("M", False): lambda names, moment: names.months_short[moment.month - 1],
    ("M", True): lambda names, moment: names.months_long[moment.month - 1],
    ("E", False): lambda names, moment: names.days_short[day_of_week(moment.days) - 1],
    ("E", True): lambda names, moment: names.days_long[day_of_week(moment.days) - 1],
    ("a", False): lambda names, moment: names.half_days[moment.hour >= 12],
}


def _padded(number: int, width: int) -> str:
    """Digits to a width, the sign before them: the width does not count it."""
    return f"-{-number:0{width}}" if number < 0 else f"{number:0{width}}"


def _fraction(ms: int, digits: int) -> str:
    return f"{ms:03}".ljust(min(digits, _FRACTION_DIGITS_MAX) if ms else digits, "0")[:digits]


def _offset(offset_ms: int, colon: str) -> str:
    minutes = abs(offset_ms) // 60_000
    return f"{'-' if offset_ms < 0 else '+'}{minutes // 60:02}{colon}{minutes % 60:02}"


def _zone_name(zone: Zone, locale: str, moment: Moment, *, long: bool) -> str:
    if zone.fixed:
        if zone.id != "UTC":
            return zone.id
        return zone_name(locale, "Etc/UTC", "long" if long else "short", False) or "UTC"
    at = zone.clock(moment.at_ms)
    saving = at.dst()
    # In Ireland's rules summer is the standard and winter the exception, an hour less: names go by the season.
    reverse = zone.clock(moment.at_ms + _HALF_YEAR_MS).dst()
    daylight = bool(saving and saving.days >= 0) or bool(not saving and reverse and reverse.days < 0)
    name = zone_name(locale, zone.key, "long" if long else "short", daylight)
    if name is None and not long and (at.tzname() or "").isalpha():
        name = at.tzname()
    return name or _offset(moment.offset_ms, ":")
