"""Timestamps in text that Joda-Time is asked about: all forms of ISO 8601, damaged ones, changes of clocks."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from tools.joda.cases import HOUR, Question

DATES = [
    *("2015", "2015-04", "2015-04-02", "2015-4-2", "2015-W14", "2015-W14-4", "2015-w1-1", "2015-092", "2015-92"),
    *("2015-1", "2016-366", "2015-366", "2015-000", "2015-W53", "2015-W53-7", "2016-W53", "2015-W00", "2015-W14-0"),
    *("2015-W14-8", "2015-02-29", "2016-02-29", "1900-02-29", "2000-02-29", "2015-13-01", "2015-00-01", "2015-01-00"),
    *("2015-01-32", "0000-01-01", "-0001-12-31", "+2015-04-02", "-2015-04-02", "12015-04-02", "292278993-01-01"),
    *("292278994-01-01", "-292275054-06-01", "-292275055-07-01", "292278994-09-01", "999999999-01-01"),
    *("1234567890-01-01", "15-04-02", "2015-123-4", "20150402", "201504", "2015-0402", "2015-04-02-", "2015--04"),
    *("2015-04-", "2015-W", "2015W14", "2015-W14-", "2015-1234", "", "2015/04/02", "2015-04-02T", "2015-04T"),
    *("2015T", "T", "-", "+", "--1", "-T10", "2015-Apr-02", "٢٠١٥-٠٤-٠٢"),
]
TIMES = [
    *("T10", "T10:30", "T10:30:15", "T10:30:15.123", "T10:30:15,123", "T10:30:15.1234567", "T10:30:15.123456789"),
    *("T10:30:15.1234567890", "T10:30:15.", "T10.", "T10:30.", "T10.5", "T10,25", "T10:30.75", "T10.999999999"),
    *("T1:2:3", "T10:30.999999999", "T10:30:15.9999", "T24", "T24:00", "T23:59:60", "T10:60", "T99", "T100", "T10:"),
    *("T10:30:", "T1030", "T103015", "t10:30", " 10:30:15", "T10:30:15 ", "T-1", "T+1", "T10:-3", "T.5"),
    *("T00:00:00.000", "T23:59:59"),
]
OFFSETS = [
    *("Z", "z", "+02", "+0200", "+02:00", "-03:30", "-0330", "+02:00:15", "+020015", "+02:00:15.5", "+020015123"),
    *("+14:00", "+23:59:59.999", "+24:00", "+2", "+02:", "+02:6", "+02:60", "+0260", "+02:0015", "+0200:15"),
    *("-00:00", "+", "-", "ZZ", "UTC", "[UTC]", "Z[UTC]", "+02:00[Europe/Berlin]", " Z", "+02:00 ", "−02:00"),
]
NUMBERS = [
    *("0", "-0", "2015", "1720000000123", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("-9223372036854775809", "00000000000000000001", "0000000000000000001", "12345678901234567890", "1.5", "1e3"),
    *("+5", " 5", "5 ", "5\n", "- 5", "0x10", "１２", "1_000", "NaN", "null", "true"),
]


def timestamps_questions(at_changes: Mapping[str, Sequence[int]]) -> Iterator[Question]:
    """Text with the zone in which it is read if it names none."""
    for text in [*NUMBERS, *DATES, *TIMES]:
        yield "timestamp", "UTC", text
        yield "timestamp", "Europe/Berlin", text
    dates = [*DATES[:8], "1937-06-15", "1890-01-01", "-0044-03-15", ""]
    for date, time in itertools.product(dates, TIMES):
        yield "timestamp", "America/St_Johns", date + time
    for date, time, offset in itertools.product(("2015-04-02", "2015-W14-4", ""), (*TIMES[:4], "T", "T10.5"), OFFSETS):
        yield "timestamp", "Asia/Kolkata", date + time + offset
    yield from _damaged(700)
    yield from _at_changes(at_changes)


def _damaged(count: int) -> Iterator[Question]:
    """Texts that were right before a character was dropped, doubled, changed or put in."""
    chance = random.Random(7)
    for _ in range(count):
        whole = chance.choice(DATES[:8]) + chance.choice(["", *TIMES[:7]])
        text = list(whole + (chance.choice(["", *OFFSETS[:9]]) if "T" in whole else ""))
        for _ in range(chance.choice((1, 1, 2))):
            at = chance.randrange(len(text))
            match chance.randrange(3):
                case 0:
                    del text[at]
                case 1:
                    text[at] = chance.choice("0123456789-+:.,TZW ")
                case _:
                    text.insert(at, chance.choice("0123456789-+:.,TZW "))
            text = text or ["T"]
        yield "timestamp", "UTC", "".join(text)


def _at_changes(at_changes: Mapping[str, Sequence[int]]) -> Iterator[Question]:
    """Times that clocks skip or show twice, and those beside them; each as the clocks show it before and after."""
    for zone, changes in at_changes.items():
        for at, by in itertools.product(changes[-4:], (-1, 0, HOUR // 4, HOUR // 2, HOUR, -HOUR)):
            for hours in (-11, -10.5, -5, -4, -3, 0, 1, 2, 3, 5.5, 10.5, 11, 13):
                local = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=at + by, hours=hours)
                if _plausible(zone, hours):
                    yield "timestamp", zone, local.replace(tzinfo=None).isoformat(timespec="milliseconds")


def _plausible(zone: str, hours: float) -> bool:
    """Only offsets of that side of the world: the others' texts would lie far from the change."""
    west = zone.startswith(("America/", "Atlantic/"))
    if zone.startswith(("Europe/", "Africa/", "Antarctica/")):
        return hours in (0, 1, 2, 3)
    if zone.startswith(("Australia/", "Pacific/")):
        return hours in (10.5, 11, 13)
    return hours in (-5, -4, -3, 0) if west else hours in (2, 3, 5.5)
