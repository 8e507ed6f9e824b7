"""A connector over memory whose records say when they are from, and whose windows are exported again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from kafka_s3 import crash_points
from kafka_s3.bucket.window import log_layout, of_window
from kafka_s3.crash_points import CrashPoint
from kafka_s3.export.run_report import RunReport
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import Entry, Interval, Kind, ObjectEntry
from kafka_s3.log.replay import newest_first
from kafka_s3.log.store import Log
from kafka_s3.plan.results import RangeResult
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.reexport.run import run as run_again
from tests.export.place import TOPIC, DiedError, SimpleExport
from tests.support import hear, request, rows_of

WINDOW = Interval(100, 200)
Row = tuple[int, int, int]  # partition, the record's number, its timestamp


class WindowExport(SimpleExport):
    """`dated`: the live log says how old its records are."""

    def __init__(self, partitions: int = 1, *, dated: bool = True, **settings: object) -> None:
        super().__init__(partitions, **settings)
        self.settings = replace(self.settings, notes_timestamps=dated)
        self.made = 0
        self.before_again: Callable[[], None] = lambda: None

    def add(self, *times: int | None, partition: int = 0) -> None:
        """A record of each time, at the end of a partition."""
        tp = TopicPartition(TOPIC, partition)
        for at in times:
            value = json.dumps({"p": partition, "n": self.made, "t": at}).encode()
            self.made += 1
            end = self.broker.offsets([tp])[tp].high_watermark
            self.broker.append(TOPIC, partition, Record(end, value, key=b"k", timestamp_ms=at))

    def export(self, *times: int | None, partition: int = 0) -> None:
        """A commit of the live export, with records of these times among others that wait."""
        self.add(*times, partition=partition)
        assert self.run(f"live-{self.made}").exit_status == 0

    def again(self, run_id: str = "again", window: Interval = WINDOW) -> RunReport:
        asked = request(run_id, interval=(window.start_ms, window.end_ms))
        mine = of_window(self.settings, window)

        def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
            self.before_again()
            return [export_range(mine, task, self.store, self.broker) for task in tasks]

        return run_again(self.exporter(), asked, execute, hear(self.told))

    def dies_at(self, point: CrashPoint, times: int = 0, window: Interval = WINDOW) -> bool:
        """Whether a run passes a point more than so many times: it dies there."""
        left = times

        def listen(passed: CrashPoint) -> None:
            nonlocal left
            if passed is point:
                left -= 1
                if left < 0:
                    raise DiedError

        crash_points.listener = listen
        try:
            self.again("dead", window)
        except DiedError:
            return True
        finally:
            crash_points.listener = None
        return False

    def window_log(self, window: Interval = WINDOW) -> Log:
        return Log(self.store, log_layout(self.settings, window))

    def window_entries(self, window: Interval = WINDOW) -> list[Entry]:
        return [each.entry for each in self.window_log(window).entries()][::-1]

    def commits(self, window: Interval = WINDOW) -> list[Entry]:
        return [entry for entry in self.window_entries(window) if entry.kind is Kind.COMMIT]

    def rows(self, window: Interval = WINDOW) -> list[Row]:
        """What a reader of the window's log finds: of its one commit."""
        [commit] = self.commits(window)
        return self._rows(made for done in commit.ranges for made in done.objects)

    def live_rows(self) -> list[Row]:
        """What a reader of the live log finds."""
        taken = newest_first(each.entry for each in self.log.entries())
        return self._rows(made for each in taken for done in each.ranges for made in done.objects)

    def expected(self, window: Interval = WINDOW) -> list[Row]:
        return [row for row in self.live_rows() if row[2] is not None and window.start_ms <= row[2] < window.end_ms]

    def retain(self, partition: int, start: int) -> None:
        """Kafka no longer has what is below `start`."""
        self.broker.set_log_start(TOPIC, partition, start)

    def keys_of_windows(self) -> list[str]:
        return sorted(key for key in self.store.contents() if key.startswith("reexport/"))

    def _rows(self, objects: object) -> list[Row]:
        found: list[Row] = []
        contents = self.store.contents()
        for made in objects:  # type: ignore[attr-defined]
            assert isinstance(made, ObjectEntry)
            found += [(row["p"], row["n"], row["t"]) for row in rows_of(contents[made.key], made.key)]
        return sorted(found, key=lambda row: row[:2])
