"""The tables that Joda-Time filled (`python -m tools.joda`), and which of their rows our machine's zones can answer."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from kafka_s3.joda import JodaError
from kafka_s3.joda.zones import parse_offset, zone

REFUSED = "!"
_NAMED = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\\\": "\\"}


def rows(name: str) -> list[list[str]]:
    """The rows of a table, its heading left out; each ends with Joda's answer, `!` first where it refused."""
    lines = Path(__file__).with_name(f"{name}.tsv").read_bytes().decode().split("\n")[1:-1]
    return [[re.sub(r"\\.", lambda found: _NAMED[found[0]], word) for word in line.split("\t")] for line in lines]


def offset_by_zoneinfo(id: str, at_ms: int) -> int | None:
    """What zoneinfo itself says, without our code; None outside the years it knows."""
    if (fixed := parse_offset(id)) is not None:
        return fixed
    try:
        at = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)).astimezone(ZoneInfo(id))
    except OverflowError:
        return None
    offset = at.utcoffset()
    assert offset is not None
    return offset // timedelta(milliseconds=1)


def known(id: str) -> bool:
    """Whether we take a zone's id."""
    try:
        zone(id)
    except JodaError:
        return False
    return True
