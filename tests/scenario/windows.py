"""Windows of time among histories: what each may hold, said from Kafka's truth and from the live log alone.

A committed window holds every record of its time that the live export held when it was asked for and holds still, and
every one that Kafka showed then in front of its first record behind the window, and has still; each once, and nothing
else. What it lists stays until it is withdrawn, and no other commit lists it.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka_s3.bucket.orphans import keys_of
from kafka_s3.bucket.window import log_layout, of_window, window_id
from kafka_s3.bucket.window_listing import newest_first
from kafka_s3.dead_letter import decode as decode_letter
from kafka_s3.errors import DataError, TemporaryError
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import Interval, Kind, ObjectEntry, Plan
from kafka_s3.log.store import Log
from kafka_s3.plan.results import RangeResult
from kafka_s3.reexport.run import run as run_again
from kafka_s3.reexport.run import withdraw
from kafka_s3.settings.model import Settings
from tests.scenario.harness import MINUTE_MS, HistoryExport
from tests.scenario.kafka import Fact, Sort
from tests.scenario.processes import THIS, Engine, Fate, Process
from tests.support import request, rows_of

OF_WINDOWS = ("reexport/", "_kafka_s3/orders/reexport/")


@dataclass(frozen=True)
class WindowState:
    """What was so when a window was asked for: the records of its time that the export held, and that Kafka showed."""

    live: frozenset[int]
    due: tuple[Fact, ...]


@dataclass
class Reexporting(HistoryExport):
    """`dated`: the log says how old records are."""

    dated: bool = True
    asked: dict[str, WindowState] = field(default_factory=dict)
    listed: dict[str, str] = field(default_factory=dict)  # the keys of committed windows, with their sha256
    over: set[str] = field(default_factory=set)  # those of windows that were withdrawn
    read: dict[str, int] = field(default_factory=dict)  # how many entries of each window's log were taken in
    windows: list[Interval] = field(default_factory=list)  # that were asked for

    def settings(self, engine: Engine) -> Settings:
        return replace(super().settings(engine), notes_timestamps=self.dated)

    def window(self, back: int, minutes: int) -> Interval:
        end_ms = self.clock_ms // MINUTE_MS * MINUTE_MS - back * MINUTE_MS
        return Interval(end_ms - minutes * MINUTE_MS, end_ms)

    def reexport(self, window: Interval, fates: Sequence[Fate] = (), *, anew: bool = False) -> Process:
        """`kafka-s3 reexport`, and with `--anew`."""
        self.runs += 1
        self.windows.append(window)
        asked = request(f"window-{self.runs}", interval=(window.start_ms, window.end_ms), now_ms=self.clock_ms)
        self.asked[asked.run_id] = self.look(window)

        def body(exporter: Exporter) -> None:
            mine = of_window(exporter.settings, window)

            def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
                return [export_range(mine, task, exporter.store, exporter.broker) for task in tasks]  # type: ignore[arg-type]

            run_again(exporter, asked, execute, lambda _: None, anew=anew)

        return self._start(body, fates)

    def withdraw(self, window: Interval, fates: Sequence[Fate] = ()) -> Process:
        """`kafka-s3 reexport --withdraw`."""
        self.runs += 1
        asked = request(f"withdraw-{self.runs}", interval=(window.start_ms, window.end_ms), now_ms=self.clock_ms)
        return self._start(lambda exporter: withdraw(exporter, asked, lambda _: None), fates)

    def look(self, window: Interval) -> WindowState:
        due = []
        for tp, facts in self.kafka.now.items():
            seen = self.kafka.view(tp)
            behind = self.kafka.broker._offset_for_time(self.kafka.broker._partition(tp), window.end_ms)
            end = seen.last_stable if behind is None else min(behind.offset, seen.last_stable)
            due += [each for each in facts if each.gone is None and each.offset < end and _is_in(each, window)]
        live = {number for number in self.ledger.live if _is_in(self.kafka.facts[number], window)}
        return WindowState(frozenset(live), tuple(due))

    def check(self) -> None:
        contents = self.store.contents()
        requests = list(self.store.requests)
        self.store.requests[:] = [each for each in requests if not each.key.startswith(OF_WINDOWS)]
        super().check()
        for window in newest_first(self.settings(THIS), self.store):
            self._take(window, contents)
        for key, sha256 in self.listed.items():
            body = contents.get(key)
            assert key in self.over or (body is not None and hashlib.sha256(body).hexdigest() == sha256), key

    def contents(self) -> dict[str, bytes]:
        return {key: body for key, body in self.store.contents().items() if not key.startswith(OF_WINDOWS)}

    def _take(self, window: Interval, contents: Mapping[str, bytes]) -> None:
        """The new entries in the log of a window."""
        name = window_id(window)
        log = Log(self.store, log_layout(self.settings(THIS), window))
        entries = [each.entry for each in log.entries()][::-1]
        before = [entry for entry in entries[: self.read.get(name, 0)] if entry.kind is not Kind.VOID]
        is_committed = bool(before) and before[-1].kind is Kind.COMMIT
        for entry in entries[self.read.get(name, 0) :]:
            if entry.kind is Kind.REWIND:
                assert is_committed
                self.over |= {key for each in entries[: entry.seq] for key in keys_of(each)}
                self.noticed.add("a window withdrawn")
            elif entry.kind is Kind.COMMIT:
                assert not is_committed, f"window {name} is committed twice"
                planned = log.plan(entry.seq)
                assert planned is not None
                numbers = [each for done in entry.ranges for made in done.objects for each in self._in(made, contents)]
                letters = [done.dead_letters for done in entry.ranges if done.dead_letters is not None]
                numbers += [each for made in letters for each in self._letters_in(made, contents)]
                self._check_held(name, window, planned.plan, numbers)
                self._notice(planned.plan, numbers)
                if any(each.kind is Kind.REWIND for each in entries[: entry.seq]):
                    self.noticed.add("a window exported once more")
            else:
                assert entry.kind is Kind.VOID
                continue
            is_committed = entry.kind is Kind.COMMIT
        self.read[name] = len(entries)

    def _notice(self, plan: Plan, numbers: Sequence[int]) -> None:
        self.noticed |= {"a window with records" if numbers else "an empty window"}
        self.noticed |= {"a window copied" for each in plan.ranges if each.is_copied}

    def _check_held(self, name: str, window: Interval, plan: Plan, numbers: Sequence[int]) -> None:
        held, asked = set(numbers), self.asked[plan.run.run_id]
        assert len(held) == len(numbers), f"window {name} holds a record twice: {sorted(numbers)}"
        outside = [number for number in held if not _is_in(self.kafka.facts[number], window)]
        assert not outside, f"window {name} holds {outside} of another time"
        lacks = {number for number in asked.live if number in self.ledger.live} - held
        assert not lacks, f"window {name} lacks {lacks}, which the export held when it was asked"
        shown = [each for each in asked.due if each.gone is None and each.number not in held]
        lacks_shown = [each for each in shown if each.sort is not Sort.TOMBSTONE or self.sides]
        assert not lacks_shown, f"window {name} lacks {lacks_shown}, which Kafka showed when it was asked"

    def _in(self, made: ObjectEntry, contents: Mapping[str, bytes]) -> list[int]:
        for each in (made, *made.companions):
            self._list(each.key, each.size, each.sha256, contents)
        rows = rows_of(contents[made.key], made.key)
        return [int(row) if isinstance(row, str) else row["u"] for row in rows]

    def _letters_in(self, made: ObjectEntry, contents: Mapping[str, bytes]) -> list[int]:
        self._list(made.key, made.size, made.sha256, contents)
        return [int(decode_letter(line).key or b"") for line in gzip.decompress(contents[made.key]).splitlines()]

    def _list(self, key: str, size: int, sha256: str, contents: Mapping[str, bytes]) -> None:
        assert key not in self.listed, f"{key} is listed by two windows, or by two commits of one"
        assert key not in self.ledger.listed, f"{key} is listed by the live log, too"
        assert (len(contents[key]), hashlib.sha256(contents[key]).hexdigest()) == (size, sha256), key
        self.listed[key] = sha256

    def finish(self) -> None:
        """At the end nothing holds a window up for ever: it is committed, or cannot be filtered, or waits for a bad
        record or a clock that is ahead."""
        super().finish()
        whole = Interval(0, self.clock_ms // MINUTE_MS * MINUTE_MS)
        for window in (self.window(0, 3), whole, whole):
            error = self.reexport(window, anew=True).error
            self.check()
            if isinstance(error, TemporaryError):
                ahead = any(fact.timestamp_ms > self.clock_ms for fact in self.kafka.facts)
                assert ahead or any(self._stops(tp) for tp in self.tps()), error
            elif error is not None and not isinstance(error, DataError):
                raise error


def _is_in(fact: Fact, window: Interval) -> bool:
    return window.start_ms <= fact.timestamp_ms < window.end_ms
