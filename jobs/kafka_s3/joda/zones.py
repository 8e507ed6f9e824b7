"""Time zones by the names that Joda's `DateTimeZone.forID` takes, with offsets in milliseconds.

Named zones are the machine's, through zoneinfo. Beside the sink, which refuses them, Java's own three-letter ids are
taken too (PST is America/Los_Angeles): those that the time-zone database has itself (EST, MST, HST: no daylight saving)
stay what they are there, as in Joda. `Zone.id` is the id as configured, where Joda gives the main name of a link
(US/Pacific becomes America/Los_Angeles); only pattern `ZZZ` shows it.
"""

from __future__ import annotations

import functools
import re
import zoneinfo
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from kafka_s3.joda import JodaError
from kafka_s3.joda.days import DAY_MS, DAYS_PER_400_YEARS, days_of

# java.util.TimeZone's ids that the time-zone database lacks, as Joda's DateTimeZone.forTimeZone maps them.
JAVA_IDS = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "CET",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
_UTC_IDS = {"UTC", "UT", "Z"}
# Files of some machines' zone folders that are no zones of the database: the machine's own, and clocks of leap seconds.
_NO_ZONE = re.compile(r"(localtime|Factory|posixrules|posix/.*|right/.*)\Z")
_OFFSET = re.compile(
    r"(?P<sign>[+-])(?P<hour>[0-9]{2})"
    r"(?:(?P<colon>:)?(?P<minute>[0-9]{2})"
    r"(?:(?(colon):)(?P<second>[0-9]{2})"
    r"(?:(?(colon)[.,])(?P<fraction>[0-9]{1,3}))?)?)?\Z"
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BLOCK_MS = 1 << 35  # about 398 days
_PROBE_MS = DAY_MS
_CYCLE_MS = DAYS_PER_400_YEARS * DAY_MS
# Outside these years, which `datetime` can tell, a zone is what it was at the first, and what it is in the last 400.
_FIRST_MS = days_of(3, 1, 1) * DAY_MS
_LAST_MS = days_of(9997, 1, 1) * DAY_MS


@dataclass(frozen=True, slots=True)
class Span:
    """`[start_ms, end_ms)` in UTC with one offset; not always the longest such."""

    start_ms: int
    end_ms: int
    offset_ms: int


class Zone:
    """The offsets of a time zone. `id` is what pattern `ZZZ` prints.

    Offsets are looked up in blocks of about a year, each filled on its first use by asking zoneinfo for every day and
    halving where the answer changed (two changes were never less than three days apart). Memory: at most 9,200 blocks
    (the years 3 to 9996) of about 0.5 KiB.
    """

    def __init__(self, id: str, rules: zoneinfo.ZoneInfo | None, fixed_ms: int = 0) -> None:
        self.id = id
        self._rules = rules
        self._fixed_ms = fixed_ms
        self._blocks: dict[int, tuple[list[int], list[int]]] = {}

    def __repr__(self) -> str:
        return f"zone({self.id!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return zone, (self.id,)

    @property
    def fixed(self) -> bool:
        """True for an offset, and for UTC: one that has no rules and no names."""
        return self._rules is None

    @property
    def key(self) -> str:
        """The id of the rules: `America/Los_Angeles` of `PST`."""
        return self.id if self._rules is None else self._rules.key

    @property
    def tzinfo(self) -> tzinfo:
        """The zone for those who calculate with datetimes."""
        return self._rules or (timezone(timedelta(milliseconds=self._fixed_ms)) if self._fixed_ms else UTC)

    def offset_ms(self, at_ms: int) -> int:
        """What the zone's clocks show ahead of UTC at an instant."""
        if self._rules is None:
            return self._fixed_ms
        known_ms = _known(at_ms)
        starts, offsets = self._block(known_ms >> 35)
        return offsets[bisect_right(starts, known_ms) - 1]

    def spans(self, from_ms: int, until_ms: int) -> Iterator[Span]:
        """What covers `[from_ms, until_ms]`, in order, cut where a block ends."""
        at_ms = from_ms
        while at_ms <= until_ms:
            span = self.span(at_ms)
            yield span
            at_ms = span.end_ms

    def span(self, at_ms: int) -> Span:
        """A span with one offset around an instant."""
        if self._rules is None:
            return Span(at_ms - _BLOCK_MS, at_ms + _BLOCK_MS, self._fixed_ms)
        if at_ms < _FIRST_MS:
            return Span(at_ms - _BLOCK_MS, _FIRST_MS, self.offset_ms(at_ms))
        known_ms = _known(at_ms)
        moved_ms = at_ms - known_ms
        block = known_ms >> 35
        starts, offsets = self._block(block)
        index = bisect_right(starts, known_ms) - 1
        end_ms = starts[index + 1] if index + 1 < len(starts) else (block + 1) << 35
        return Span(starts[index] + moved_ms, min(end_ms, _LAST_MS) + moved_ms, offsets[index])

    def changes_between(self, after_ms: int, until_ms: int) -> bool:
        """True where the offset changes in `(after_ms, until_ms]`."""
        offset_ms = self.offset_ms(after_ms)
        return any(span.offset_ms != offset_ms for span in self.spans(after_ms, until_ms))

    def to_utc(self, local_ms: int) -> int:
        """The instant at which clocks show `local_ms`, as Joda's `convertLocalToUTC(local, strict = false)`.

        Where clocks show it twice, mostly the earlier west of Greenwich and the later east of it; where they skip it,
        the instant with the offset before the gap, so later by the gap.
        """
        guess_ms = self.offset_ms(local_ms)
        offset_ms = self.offset_ms(local_ms - guess_ms)
        if guess_ms != offset_ms and guess_ms < 0:
            early, late = sorted((local_ms - guess_ms, local_ms - offset_ms))
            if self.changes_between(early, late):
                offset_ms = guess_ms
        return local_ms - offset_ms

    def instants_of(self, local_ms: int) -> list[int]:
        """Every instant at which clocks show `local_ms`, the earliest first: none in a gap, two in an overlap."""
        offsets = {span.offset_ms for span in self.spans(local_ms - DAY_MS, local_ms + DAY_MS)}
        found = sorted(local_ms - offset_ms for offset_ms in offsets)
        return [at_ms for at_ms in found if at_ms + self.offset_ms(at_ms) == local_ms]

    def clock(self, at_ms: int) -> datetime:
        """An instant as a datetime of the zone; from a like year outside 3 to 9996. Not for fixed offsets."""
        assert self._rules is not None
        return _utc(_known(at_ms)).astimezone(self._rules)

    def _block(self, block: int) -> tuple[list[int], list[int]]:
        found = self._blocks.get(block)
        if found is None:
            found = self._blocks[block] = self._filled(block << 35)
        return found

    def _filled(self, start_ms: int) -> tuple[list[int], list[int]]:
        starts, offsets = [start_ms], [self._asked(start_ms)]
        for probe_ms in range(start_ms, start_ms + _BLOCK_MS, _PROBE_MS):
            until_ms = min(probe_ms + _PROBE_MS, start_ms + _BLOCK_MS - 1)
            if self._asked(until_ms) != offsets[-1]:
                low, high = probe_ms, until_ms  # the change lies in (low, high]
                while high - low > 1:
                    middle = (low + high) // 2
                    if self._asked(middle) == offsets[-1]:
                        low = middle
                    else:
                        high = middle
                starts.append(high)
                offsets.append(self._asked(high))
        return starts, offsets

    def _asked(self, at_ms: int) -> int:
        offset = _utc(at_ms).astimezone(self._rules).utcoffset()
        assert offset is not None
        return offset // timedelta(milliseconds=1)


@functools.cache
def zone(id: str) -> Zone:
    """The zone of an id: `Europe/Berlin`, `UTC`, an offset (`+02:00`, `-0330`, `UTC+02:00`), `PST`.

    >>> zone("-0330").id, zone("-0330").offset_ms(0)
    ('-03:30', -12600000)
    """
    if id in _UTC_IDS:
        return Zone("UTC", None)
    named = re.match(r"(?:UTC|GMT|UT)(?=[+-][0-9]{2})", id)
    offset_ms = parse_offset(id[named.end() :] if named else id)
    if offset_ms is not None:
        return Zone(offset_id(offset_ms), None, offset_ms)
    if not _NO_ZONE.match(id):
        try:
            return Zone(id, zoneinfo.ZoneInfo(JAVA_IDS.get(id, id)))
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass  # no such name, or one that is not a zone: a path, a folder, another kind of file
    raise JodaError(
        f"The time zone {id!r} is not known. "
        "Allowed are names of the time-zone database such as Europe/Berlin, UTC, and offsets such as +02:00."
    )


def parse_offset(text: str) -> int | None:
    """The milliseconds of `+02`, `+0230`, `+02:30`, `+02:30:15.123` and the like, None for anything else.

    Joda's rule: two digits each, colons throughout or nowhere, at most a second short of a day.
    """
    found = _OFFSET.match(text)
    if found is None:
        return None
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    offset_ms = ((hour * 60 + minute) * 60 + second) * 1000 + int((found["fraction"] or "").ljust(3, "0"))
    return -offset_ms if found["sign"] == "-" else offset_ms


def offset_id(offset_ms: int) -> str:
    """How Joda names a fixed offset: as short as it goes from `+hh:mm` on.

    >>> offset_id(-12_600_000), offset_id(9_015_100), offset_id(0)
    ('-03:30', '+02:30:15.100', 'UTC')
    """
    if not offset_ms:
        return "UTC"
    minutes, rest_ms = divmod(abs(offset_ms), 60_000)
    text = f"{'-' if offset_ms < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    if rest_ms:
        text += f":{rest_ms // 1000:02}"
    return f"{text}.{rest_ms % 1000:03}" if rest_ms % 1000 else text


def _known(at_ms: int) -> int:
    """An instant with the same offset that lies in the years that `datetime` knows."""
    if at_ms < _FIRST_MS:
        return _FIRST_MS
    if at_ms >= _LAST_MS:
        return at_ms - ((at_ms - _LAST_MS) // _CYCLE_MS + 1) * _CYCLE_MS
    return at_ms


def _utc(at_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=at_ms)
