"""What charts are made of: a few numbers of each commit, read from the log once and kept packed.

Commits are read in chunks of CHUNK, the newest first. What is read is bounded by whoever asks: a log of 100,000
entries is only ever read as far back as somebody wants to see it.
"""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kafka_s3_airflow.page.history import History
from kafka_s3_airflow.page.views import CommitRow

CHUNK: Final = 200
#: Of all connectors, 300,000 commits. Memory: 64 bytes a commit and MARKS_MAX * 1 KB a chunk, 65 MB at most.
CHUNKS_KEPT_MAX: Final = 1_500
MARKS_MAX: Final = 30
TEXT_MAX: Final = 300
NONE: Final = -1  # no figure
_LARGEST: Final = 2**63 - 1

AT, DURATION, DELAY, RECORDS, BYTES, OBJECTS, REJECTED = range(7)
_COLUMNS: Final = 7


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened in a commit, to be seen on a time line."""

    at_ms: int
    seq: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class SchemaSeen:
    """A commit after which the values of a topic are written under another schema than in the chunk before it."""

    at_ms: int
    seq: int
    topic: str
    schema: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Commits whose numbers are next to each other. `columns`: their numbers, oldest first, `NONE` where there is none.

    `count`: entries that were read, those that moved no data among them. `omitted`: marks beyond MARKS_MAX.
    """

    columns: tuple[array[int], ...]
    count: int
    marks: tuple[Mark, ...]
    schemas: tuple[SchemaSeen, ...]
    omitted: int
    oldest_ms: int | None
    newest_ms: int | None


class FactsKept:
    """Chunks of any log, those asked for longest ago going first."""

    def __init__(self, kept_max: int = CHUNKS_KEPT_MAX) -> None:
        self._kept_max = kept_max
        self._lock = threading.Lock()
        self._chunks: OrderedDict[tuple[str, str, int], Chunk] = OrderedDict()

    def get(self, key: tuple[str, str, int]) -> Chunk | None:
        with self._lock:
            found = self._chunks.get(key)
            if found is not None:
                self._chunks.move_to_end(key)
            return found

    def put(self, key: tuple[str, str, int], chunk: Chunk) -> None:
        with self._lock:
            self._chunks[key] = chunk
            while len(self._chunks) > self._kept_max:
                self._chunks.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Facts:
    """The newest commits of a log, as far back as was read: `chunks`, newest first.

    `entries`: of the whole log. `read`: of these. `is_whole`: back to the log's beginning, or to the time asked for.
    """

    chunks: tuple[Chunk, ...]
    entries: int
    read: int
    is_whole: bool

    @property
    def since_ms(self) -> int | None:
        """When the oldest commit that was read was written."""
        return next((each.oldest_ms for each in reversed(self.chunks) if each.oldest_ms is not None), None)


def read_facts(history: History, kept: FactsKept, from_ms: int, wanted: int, new_max: int) -> Facts:
    """The facts of the newest commits: back to a time, or so many, of which `new_max` may be read now."""
    newest = history.page(None, 1).rows
    if not newest:
        return Facts((), 0, 0, True)
    head = newest[0]["seq"]
    chunks: list[Chunk] = []
    read = new = 0
    for number in range(head // CHUNK, -1, -1):
        if read >= wanted or new >= new_max:
            return Facts(tuple(chunks), head + 1, read, False)
        key = (history.where, history.log.layout.log_prefix, number)
        chunk = kept.get(key)
        if chunk is None:
            rows = [row for row in history.page((number + 1) * CHUNK, CHUNK).rows if row["seq"] >= number * CHUNK]
            chunk = chunk_of(rows)
            new += chunk.count
            if chunk.count == CHUNK and not any(row["error"] for row in rows):
                kept.put(key, chunk)  # none of them ever changes
        chunks.append(chunk)
        read += chunk.count
        if chunk.oldest_ms is not None and chunk.oldest_ms < from_ms:
            return Facts(tuple(chunks), head + 1, read, True)
    return Facts(tuple(chunks), head + 1, read, True)


def chunk_of(rows: Sequence[CommitRow]) -> Chunk:
    """Rows, newest first, packed."""
    columns = tuple(array("q") for _ in range(_COLUMNS))
    marks: list[Mark] = []
    schemas: list[SchemaSeen] = []
    under: dict[str, str] = {}
    times = [row["at_ms"] for row in rows if row["at_ms"] is not None]
    for row in reversed(rows):
        at_ms = row["at_ms"]
        if at_ms is None:
            continue
        if row["kind"] == "commit":
            for column, value in zip(columns, _numbers(row, at_ms), strict=True):
                column.append(min(value, _LARGEST))
        marks += _marks(row, at_ms)
        for topic, schema in row["schemas"].items():
            if under.get(topic) != schema:
                under[topic] = schema
                schemas.append(SchemaSeen(at_ms, row["seq"], topic, schema))
    return Chunk(
        columns,
        len(rows),
        tuple(marks[-MARKS_MAX:]),
        tuple(schemas[-MARKS_MAX:]),
        max(0, len(marks) - MARKS_MAX) + max(0, len(schemas) - MARKS_MAX),
        min(times, default=None),
        max(times, default=None),
    )


def _numbers(row: CommitRow, at_ms: int) -> tuple[int, ...]:
    duration_ms, interval_ms = row["duration_ms"], row["interval_ms"]
    delay_ms = at_ms - interval_ms[1] if interval_ms is not None else NONE
    return (
        at_ms,
        NONE if duration_ms is None else duration_ms,
        max(NONE, delay_ms),  # committed before the interval was over: no delay to speak of
        row["records"],
        row["bytes"],
        row["objects"],
        row["rejected"],
    )


def _marks(row: CommitRow, at_ms: int) -> list[Mark]:
    said = [("gap", text) for text in row["gaps"]]
    said += [("restart", text) for text in row["restarts"]]
    said += [("failed", text) for text in row["failed"]]
    if row["error"] is not None:
        said.append(("damaged", row["error"]))
    elif row["kind"] not in ("commit", "checkpoint"):
        said.append((row["kind"], row["reason"] or ""))
    return [Mark(at_ms, row["seq"], kind, text[:TEXT_MAX]) for kind, text in said]
