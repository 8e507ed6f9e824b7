"""The export over time: sums of commits by hour, day and month in a zone, and what happened when. Pure.

A commit counts where it was written, by the store's own clock. What the log does not say has no figure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any, Final

from kafka_s3_airflow.page.commit_facts import (
    AT,
    BYTES,
    DELAY,
    DURATION,
    OBJECTS,
    RECORDS,
    REJECTED,
    Chunk,
    Facts,
    Mark,
)
from kafka_s3_airflow.page.lags import Lag

#: How many are shown where nobody says from when to when.
SHOWN: Final = {"hour": 72, "day": 60, "month": 24}
BARS_MAX: Final = 200
MARKS_SHOWN_MAX: Final = 200
TIME_MAX_MS: Final = 4_102_444_800_000  # the year 2100
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Window:
    """Bars that stand side by side: bar n is `[edges[n], edges[n + 1])`."""

    per: str
    edges: tuple[int, ...]

    @property
    def from_ms(self) -> int:
        return self.edges[0]

    @property
    def to_ms(self) -> int:
        return self.edges[-1]


def window_of(per: str, zone: tzinfo, from_ms: int | None, to_ms: int | None, now_ms: int) -> Window | None:
    """The bars of a time, whole ones; the newest where none is given. `None` if there are too many, or none."""
    if from_ms is None or to_ms is None:
        ends = _next(per, _floor(per, now_ms, zone), zone)
        edges = [ends]
        while len(edges) <= SHOWN[per]:
            edges.append(_floor(per, edges[-1] - 1, zone))
        return Window(per, tuple(reversed(edges)))
    if not 0 <= from_ms < to_ms <= TIME_MAX_MS:
        return None
    edges = [_floor(per, from_ms, zone)]
    while edges[-1] < to_ms and len(edges) <= BARS_MAX:
        edges.append(_next(per, edges[-1], zone))
    return Window(per, tuple(edges)) if edges[-1] >= to_ms else None


def _floor(per: str, at_ms: int, zone: tzinfo) -> int:
    at = datetime.fromtimestamp(at_ms / 1000, zone)
    if per == "hour":
        into_hour = timedelta(minutes=at.minute, seconds=at.second, microseconds=at.microsecond)
        return at_ms - round(into_hour.total_seconds() * 1000)
    day = at.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return _ms(day if per == "day" else day.replace(day=1))


def _next(per: str, start_ms: int, zone: tzinfo) -> int:
    if per == "hour":
        return start_ms + _HOUR_MS
    # A day or a month ahead by the calendar, whatever a change of the clock makes of it.
    ahead = datetime.fromtimestamp(start_ms / 1000, zone) + timedelta(days=1 if per == "day" else 32, hours=6)
    return _floor(per, _ms(ahead), zone)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def charted(facts: Facts, window: Window) -> dict[str, object]:
    """The bars, what happened in their time, and how far back the log was read for them."""
    since_ms = facts.since_ms
    bars = _bars(facts.chunks, window)
    for bar in bars:
        # One that is older than what was read would show a part as the whole.
        bar["is_known"] = facts.is_whole or (since_ms is not None and bar["start_ms"] >= since_ms)
    marks, omitted = _marks(facts, window)
    return {
        "per": window.per,
        "from_ms": window.from_ms,
        "to_ms": window.to_ms,
        "bars": bars,
        "marks": marks,
        "marks_omitted": omitted,
        "entries": facts.entries,
        "read": facts.read,
        "since_ms": since_ms,
        "is_whole": facts.is_whole,
    }


def _bars(chunks: Sequence[Chunk], window: Window) -> list[dict[str, Any]]:
    edges = window.edges
    sums = [[0, 0, 0, 0, 0] for _ in edges[1:]]
    times: list[tuple[list[int], list[int]]] = [([], []) for _ in edges[1:]]
    for chunk in chunks:
        if chunk.oldest_ms is None or chunk.newest_ms is None:
            continue
        if chunk.newest_ms < window.from_ms or chunk.oldest_ms >= window.to_ms:
            continue
        columns = [chunk.columns[each] for each in (AT, DURATION, DELAY, RECORDS, BYTES, OBJECTS, REJECTED)]
        for at_ms, duration_ms, delay_ms, *counts in zip(*columns, strict=True):
            at = bisect_right(edges, at_ms) - 1
            if not 0 <= at < len(sums):
                continue
            sums[at][0] += 1
            for number, count in enumerate(counts, 1):
                sums[at][number] += count
            for found, value in zip(times[at], (duration_ms, delay_ms), strict=True):
                if value >= 0:
                    found.append(value)
    return [
        {
            "start_ms": edges[at],
            "commits": counted[0],
            "records": counted[1],
            "bytes": counted[2],
            "objects": counted[3],
            "rejected": counted[4],
            "duration_ms": max(times[at][0], default=None),
            "duration_mean_ms": _mean(times[at][0]),
            "delay_ms": max(times[at][1], default=None),
            "delay_mean_ms": _mean(times[at][1]),
        }
        for at, counted in enumerate(sums)
    ]


def _mean(values: Sequence[int]) -> int | None:
    return sum(values) // len(values) if values else None


def _marks(facts: Facts, window: Window) -> tuple[list[dict[str, object]], int]:
    """Gaps, restarts, failed ranges, entries of other kinds and changes of schemas, the newest first."""
    found: list[Mark] = [mark for chunk in facts.chunks for mark in chunk.marks]
    under: dict[str, str] = {}
    for chunk in reversed(facts.chunks):
        for seen in chunk.schemas:
            before = under.get(seen.topic)
            if before is not None and before != seen.schema:
                found.append(Mark(seen.at_ms, seen.seq, "schema", f"{seen.topic}: {before} → {seen.schema}"))
            under[seen.topic] = seen.schema
    shown = sorted((each for each in found if window.from_ms <= each.at_ms < window.to_ms), key=_newest_first)
    omitted = max(0, len(shown) - MARKS_SHOWN_MAX) + sum(each.omitted for each in facts.chunks)
    return [
        {"at_ms": each.at_ms, "seq": each.seq, "kind": each.kind, "text": each.text} for each in shown[:MARKS_SHOWN_MAX]
    ], omitted


def _newest_first(mark: Mark) -> tuple[int, str]:
    return -mark.seq, mark.kind


def lag_points(lags: Sequence[Lag]) -> list[list[int | None]]:
    """Time, records that waited, age of the oldest."""
    return [[each.at_ms, each.records, each.age_ms] for each in lags]
