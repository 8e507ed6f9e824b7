"""The tables that Joda-Time filled (`python -m tools.joda`), and which of their rows our machine's zones can answer."""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from kafka_s3.joda import JodaError
from kafka_s3.joda.zones import parse_offset, zone

REFUSED = "!"
DAY = 86_400_000
ZONEINFO_MIN_MS = -62_000_000_000_000
SURE_MS = 631_152_000_000  # 1990: since then every edition says the same
_NAMED = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\\\": "\\"}


@functools.cache
def rows(name: str) -> list[list[str]]:
    """The rows of a table, its heading left out; each ends with Joda's answer, `!` first where it refused."""
    lines = Path(__file__).with_name(f"{name}.tsv").read_bytes().decode().split("\n")[1:-1]
    return [[re.sub(r"\\.", lambda found: _NAMED[found[0]], word) for word in line.split("\t")] for line in lines]


def offset_by_zoneinfo(id: str, at_ms: int) -> int:
    """What zoneinfo itself says, without our code; in the years 1 to 9999."""
    if (fixed := parse_offset(id)) is not None:
        return fixed
    offset = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)).astimezone(ZoneInfo(id)).utcoffset()
    assert offset is not None
    return offset // timedelta(milliseconds=1)


@functools.cache
def changes_by_joda(id: str) -> tuple[list[int], list[int]]:
    """The instants from 1700 to 2024 at which Joda has another offset, and the offsets; the first of 1700."""
    for name, since, answer in rows("transitions"):
        if name == id:
            words = [int(word) for word in answer.split(" ")]
            return [int(since), *words[1::2]], [words[0], *words[2::2]]
    return [], []


def same_rules(id: str, at_ms: int) -> bool:
    """Whether Joda's edition of the time-zone database and the machine's agree around an instant.

    Asked of zoneinfo, not of our code. Old history is corrected now and then, and some distributions leave out what
    zones did before 1970 that agree since: those are the only reasons for a row not to be compared.
    """
    starts, offsets = changes_by_joda(id)
    if not starts:
        return True  # a fixed offset
    for near_ms in (at_ms - DAY, at_ms - 1, at_ms, at_ms + DAY):
        near_ms = max(near_ms, ZONEINFO_MIN_MS)
        offset_ms = offsets[max(bisect_right(starts, near_ms) - 1, 0)]
        if near_ms < SURE_MS and offset_ms != offset_by_zoneinfo(id, near_ms):
            return False
    return True


def known(id: str) -> bool:
    """Whether we take a zone's id."""
    try:
        zone(id)
    except JodaError:
        return False
    return True
