"""The commits of one connector, newest first and a page at a time, from the log alone.

A page is two LISTs (when entries and plans were written, by the store's own clock) and a GET for each entry that was
not seen before: entries never change. Nothing here folds a whole log, so 10,000 commits cost what 50 do.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from kafka_s3.errors import LogDamaged
from kafka_s3.log.entries import Entry
from kafka_s3.log.store import Log
from kafka_s3.naming import parse_seq
from kafka_s3.ports import ObjectInfo
from kafka_s3_airflow.page.views import CommitRow, commit_row, damaged_row

PAGE_ROWS: Final = 50
ROWS_KEPT_MAX: Final = 20_000  # of all connectors; a row without its objects is about 2 KB, so 40 MB at most
OF_RUN_MAX: Final = 500  # commits that are looked through for those of one run
#: Between the clocks of Airflow and of the store.
SKEW_MS: Final = 10 * 60_000
_GETS_AT_ONCE: Final = 8


class Rows:
    """Rows that were made before, by the log's key and when the store says it was written."""

    def __init__(self, kept_max: int = ROWS_KEPT_MAX) -> None:
        self._kept_max = kept_max
        self._lock = threading.Lock()
        self._rows: OrderedDict[tuple[object, ...], CommitRow] = OrderedDict()

    def get(self, key: tuple[object, ...]) -> CommitRow | None:
        with self._lock:
            row = self._rows.get(key)
            if row is not None:
                self._rows.move_to_end(key)
            return row

    def put(self, key: tuple[object, ...], row: CommitRow) -> None:
        with self._lock:
            self._rows[key] = row
            while len(self._rows) > self._kept_max:
                self._rows.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Page:
    """Some commits, newest first; `is_last`: the log holds no older ones. `looked`: entries that were looked at."""

    rows: tuple[CommitRow, ...]
    is_last: bool
    looked: int


@dataclass(frozen=True, slots=True)
class History:
    """The log of one connector; `where` tells it from others that have the same keys elsewhere."""

    log: Log
    rows: Rows
    where: str

    def page(self, before: int | None, count: int = PAGE_ROWS) -> Page:
        """The newest commits older than `before`."""
        listed = self._listed(before, count + 1)
        rows = self._read(listed[:count], before)
        return Page(tuple(rows), len(listed) <= count, len(rows))

    def of_run(self, run_id: str, span_ms: tuple[int, int] | None, head: int) -> Page:
        """The commits of a run that was at work in this span of time; without one, it is looked for in the newest."""
        before = None if span_ms is None else self._first_written_after(span_ms[1] + SKEW_MS, head)
        rows: list[CommitRow] = []
        looked = 0
        while looked < OF_RUN_MAX:
            page = self.page(before)
            looked += page.looked
            rows += [row for row in page.rows if row["run_id"] == run_id]
            oldest = page.rows[-1] if page.rows else None
            if page.is_last or oldest is None or _is_before(oldest, span_ms):
                return Page(tuple(rows), page.is_last, looked)
            before = oldest["seq"]
        return Page(tuple(rows), False, looked)

    def _first_written_after(self, at_ms: int, head: int) -> int | None:
        """The oldest entry written after a time, `None` if none was. Entries are written in the order of their seq."""
        low, high = 0, head + 1
        while low < high:
            middle = (low + high) // 2
            listed = self._listed(middle + 1, 1)
            written_ms = listed[0].modified_ms if listed else None
            if written_ms is None or written_ms <= at_ms:
                low = middle + 1
            else:
                high = middle
        return low if low <= head else None

    def _listed(self, before: int | None, count: int) -> list[ObjectInfo]:
        layout = self.log.layout
        after = "" if before is None else layout.log_key(before)
        return list(self.log.store.list(layout.log_prefix, start_after=after, limit=count))

    def _planned_ms(self, before: int | None, count: int) -> dict[int, int | None]:
        """When each plan was written. The newest may have no entry yet, and a checkpoint has no plan."""
        layout = self.log.layout
        after = "" if before is None else layout.plan_key(before)
        plans = self.log.store.list(layout.plan_prefix, start_after=after, limit=count + 1)
        return {seq: info.modified_ms for info in plans if (seq := parse_seq(info.key)) is not None}

    def _read(self, listed: Sequence[ObjectInfo], before: int | None) -> list[CommitRow]:
        found = {info.key: self.rows.get(self._name(info)) for info in listed}
        missing = [info for info in listed if found[info.key] is None]
        if missing:
            planned_ms = self._planned_ms(before, len(listed))
            with ThreadPoolExecutor(min(_GETS_AT_ONCE, len(missing))) as pool:
                made = pool.map(lambda info: self._row(info, planned_ms), missing)
                for info, row in zip(missing, made, strict=True):
                    found[info.key] = row
        return [row for info in listed if (row := found[info.key]) is not None]

    def _row(self, info: ObjectInfo, planned_ms: dict[int, int | None]) -> CommitRow | None:
        seq = parse_seq(info.key)
        if seq is None:
            return None  # `kafka-s3 verify` names what does not belong there
        try:
            committed = self.log.entry(seq)
        except LogDamaged as error:
            return damaged_row(seq, info.modified_ms, str(error))
        if committed is None:
            return damaged_row(seq, info.modified_ms, f"{info.key} was listed and is gone.")
        row = commit_row(committed.entry, planned_ms.get(seq), info.modified_ms)
        self.rows.put(self._name(info), row)
        return row

    def _name(self, info: ObjectInfo) -> tuple[object, ...]:
        return self.where, info.key, info.modified_ms, info.size

    def entry(self, seq: int) -> Entry | None:
        """One entry in full."""
        committed = self.log.entry(seq)
        return None if committed is None else committed.entry


def _is_before(row: CommitRow, span_ms: tuple[int, int] | None) -> bool:
    return span_ms is not None and row["at_ms"] is not None and row["at_ms"] < span_ms[0] - SKEW_MS
