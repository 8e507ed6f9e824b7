"""What Joda-Time is asked: every pattern letter, zones with odd rules, buckets at their changes, timestamps in text.

The same cases every time: chance has a seed. Instants end with 2024, since Joda brings its own time-zone data and rules
of later years differ between editions.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

Question = tuple[str, ...]

HOUR = 3_600_000
DAY = 24 * HOUR

FIXED = ["UTC", "+02:00", "-03:30", "+05:45", "-12:00", "+14:00", "+01:02:03.004", "-23:59:59.999"]
# Those whose every change of the clocks is compared, and at whose changes buckets and prints are.
ZONES = [
    *("Europe/Berlin", "Europe/London", "Europe/Dublin", "Europe/Amsterdam", "Europe/Moscow", "Europe/Istanbul"),
    *("America/New_York", "America/Los_Angeles", "America/Santiago", "America/Sao_Paulo", "America/St_Johns"),
    *("America/Havana", "America/Caracas", "America/Asuncion", "Atlantic/Azores", "America/Scoresbysund"),
    *("Asia/Kolkata", "Asia/Kathmandu", "Asia/Tehran", "Asia/Beirut", "Asia/Gaza", "Asia/Pyongyang", "Asia/Tokyo"),
    *("Australia/Lord_Howe", "Australia/Sydney", "Pacific/Auckland", "Pacific/Chatham", "Pacific/Apia"),
    *("Pacific/Kiritimati", "Africa/Casablanca", "Africa/Monrovia", "Antarctica/Troll"),
]
OTHER_IDS = [
    *("PST", "CST", "IST", "JST", "BST", "ACT", "AET", "VST", "EST", "MST", "HST", "EST5EDT", "PST8PDT", "CET"),
    *("MET", "UT", "Z", "z", "utc", "UTC+2", "GMT+2", "GMT+02:00", "UTC+02:00", "UT-03", "UTC+00:00", "GMT-0000"),
    *("Etc/GMT+5", "+02:00", "-0330", "+2", "+02", "+023015", "+02:30:15", "+02:30:15.123", "+02:30:15,1"),
    *("+0230151", "+023015123", "-00:00", "+00:00", "+24:00", "+23:59:59.999", "+23:60", "+02:0", "+02:", "+0200x"),
    *("+02:0030", "+0200:30", "+", "Mars/X", "America", "europe/berlin", "right/UTC", "posix/UTC", "localtime"),
    *("Factory", "", " UTC", "UTC ", "../UTC", "/etc/passwd", "Europe/Berlin/", "Europe//Berlin", "EST5"),
    *("Europe/Berlin\u0000", "٠", "US/Pacific-New"),
]
JAVA_IDS = [
    *("ACT", "AET", "AGT", "ART", "AST", "BET", "BST", "CAT", "CNT", "CST", "CTT", "EAT", "ECT", "IET", "IST", "JST"),
    *("MIT", "NET", "NST", "PLT", "PNT", "PRT", "PST", "SST", "VST"),
]
DURATIONS_MS = [
    *(1, 7, 1000, 60_000, 900_000, HOUR // 2, HOUR, 90 * 60_000, 2 * HOUR, 7 * HOUR, DAY // 2, DAY),
    *(7 * DAY, 30 * DAY, 365 * DAY),
]
LETTERS = "|".join(
    [
        *("G", "C", "CC", "CCC", "Y", "YY", "YYY", "YYYY", "YYYYY", "y", "yy", "yyyy", "yyyyyy", "x", "xx", "xxxx"),
        *("w", "ww", "www", "e", "ee", "D", "DDD", "M", "MM", "MMM", "MMMM", "d", "dd", "E", "EEEE", "a", "K", "KK"),
        *("h", "hh", "H", "HH", "k", "kk", "m", "mm", "s", "ss", "S", "SS", "SSS", "SSSS", "Z", "ZZ", "ZZZ"),
    ]
)
QUOTES = [
    *("", "'", "''", "'''", "''''", "'''''", "'a", "a'", "'a'", "'a''b'", "yyyy'", "yyyy''", "'yyyy''", "'''y'"),
    *("y'x'y", "y''y", "'x'''", "'''x'", "''x''", "''y''", "y'", "'y'y'y'y", "HH'h'", "''''y", "'' ''", "'/'/'/'"),
]
ODD_PATTERNS = [
    *("/", "/yyyy", "yyyy//MM", "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH", "yyyy-MM-dd", "YYYYMMdd_HHmm", " "),
    *("'dt'=YYYY-MM-dd", "é", "yyyy年MM月dd日", "yéM", "y\tM", "y\\M", "%y", "y=M", "'b'b", "yTH", "y'T'H", "12y3"),
    *("SSSSSSSSSSSSSSSSSSSSSSSSSS", "yyMMdd", "xx'W'ww", "y.M,d;H:m!s", "{yyyy}", "ＹＹ", "[y]", "y#y", "ß'ß'"),
]
LOCALES = ["en", "en-GB", "de", "fr", "fr-FR", "ja", "ar", "pt-BR", "es", "zh-CN"]
NAMED_ZONES = [
    *("Europe/Berlin", "Europe/London", "Europe/Dublin", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata"),
    *("Asia/Tokyo", "Australia/Sydney", "UTC", "+02:00"),
]


def ms(text: str) -> int:
    """The instant of an ISO text, UTC where it has no offset."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


INSTANTS = [
    *(0, -1, 1, 999, -1000, 1_720_000_000_123, -62_135_596_800_000, -62_135_596_800_001, -62_167_219_200_000),
    *(-62_167_219_200_001, -62_198_755_200_000, -210_866_803_200_000, 253_402_300_799_999, 253_402_300_800_000),
    *(32_503_680_000_000, 4_000_000_000_000_000, -4_000_000_000_000_000, 1_700_000_000_000_000),
    *(9_223_000_000_000_000_000, -9_223_000_000_000_000_000),  # in its very last year Joda's weeks overflow
    *(ms("1900-02-28T23:59:59.999"), ms("2000-02-29T12:00"), ms("2023-12-31T23:59:59.990"), ms("2024-12-31T12:00")),
]
NEW_YEARS = [
    ms(f"{year}-12-{day}T{hour}") for year in range(1998, 2024) for day, hour in ((29, "00:00"), (31, "23:30"))
]
NEW_YEARS += [ms(f"{year}-01-{day}T12:34:56.789") for year in range(1999, 2025) for day in ("01", "03", "04")]


def transitions_questions() -> list[Question]:
    """Every change of the clocks from 1700 to 2024."""
    return [("transitions", zone, str(ms("1700-01-01")), str(ms("2025-01-01") - 1)) for zone in ZONES]


def changes(answer: str) -> list[int]:
    """The instants of the changes in an answer to those."""
    return [int(word) for word in answer.split(" ")[1::2]]


def _some(found: Sequence[int], count: int) -> list[int]:
    """That many, spread over all, the last among them."""
    return [found[-1 - index * len(found) // count] for index in range(min(count, len(found)))]


def zones_questions(available: Sequence[str]) -> Iterator[Question]:
    """Every id that Joda lists, and some that it may not take."""
    yield from (("zone", id) for id in [*OTHER_IDS, *available])
    yield from (("java", id) for id in JAVA_IDS)


def prints_questions(at_changes: Mapping[str, Sequence[int]]) -> Iterator[Question]:
    """All letters at once: around changes of the clocks, at odd instants, and week years around new year."""
    for zone in [*ZONES, *FIXED]:
        instants = INSTANTS if zone in ("Europe/Berlin", "America/New_York", *FIXED[:3]) else INSTANTS[:6]
        near = [at + by for at in _some(at_changes.get(zone, []), 3) for by in (-1, 0, HOUR // 2 + 1)]
        yield from (("print", LETTERS, zone, "en", str(at)) for at in [*instants, *near])
    for at in NEW_YEARS:
        yield "print", LETTERS, "Asia/Kolkata", "en", str(at)


def patterns_questions() -> Iterator[Question]:
    """Odd patterns: every letter in many widths, quotes of all kinds, text that is not ASCII."""
    letters = [chr(code) for code in range(ord("A"), ord("z") + 1) if chr(code).isalpha()]
    widths = [letter * width for letter in letters if letter != "z" for width in (1, 2, 3, 4, 5, 9, 12, 19)]
    instants = [0, 1_720_000_000_123, -62_198_755_199_900]
    for pattern, at in itertools.product([*widths, *QUOTES, *ODD_PATTERNS], instants):
        yield "print", pattern, "America/St_Johns", "en", str(at)


def names_questions() -> Iterator[Question]:
    """The names of a locale: months, days, half days, eras; then those of zones, in winter and in summer."""
    year = [ms(f"2024-{month:02}-{month:02}T{month * 2 - 1:02}:00") for month in range(1, 13)]
    for locale, at in itertools.product(LOCALES, [*year, -62_198_755_199_900]):
        yield "print", "MMM|MMMM|E|EEEE|a|G", "UTC", locale, str(at)
    for locale, zone, at in itertools.product(LOCALES, NAMED_ZONES, (year[0], year[6])):
        yield "print", "zzzz", zone, locale, str(at)
    for zone, at in itertools.product(NAMED_ZONES, (year[0], year[6])):
        yield "print", "z", zone, "en", str(at)


def buckets_questions(at_changes: Mapping[str, Sequence[int]]) -> Iterator[Question]:
    """The start of the bucket around changes of the clocks, before and after 1970, for many durations."""
    chance = random.Random(5)
    for zone, duration in itertools.product([*ZONES, *FIXED[:4]], DURATIONS_MS):
        near = [
            at + by
            for at in _some(at_changes.get(zone, []), 8)
            for by in (0, chance.randrange(-2 * HOUR, 3 * HOUR), chance.randrange(-DAY, DAY))
        ]
        others = [chance.randrange(0, ms("2025-01-01")), chance.randrange(-(10**13), 0), 0, -1]
        for at in [*chance.sample(near, min(len(near), 7)), *chance.sample(others, 2)]:
            yield "bucket", zone, str(duration), str(at)
