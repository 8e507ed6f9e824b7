"""How far the execution of a plan is, told while it goes on: a large one takes minutes from its start to its commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from kafka_s3.events import Event, PlanAdvanced, PlanOpened, Tell, WindowPlanOpened
from kafka_s3.export.exporter import Execute
from kafka_s3.plan.results import RangeResult, Task

#: At least so often something is told, whether or not anything was read.
EVERY_S: Final = 30.0
#: Never more often than this: a plan that takes no longer is told by its commit alone.
PAUSE_S: Final = 1.0
_PARTS: Final = 10


class Advance:
    """Tells how far a run's plans are: at each tenth of a plan's offsets, and every 30 s.

    `tell` and `execute` go between the run and whoever it tells, and what executes its ranges. `read` and `done` are
    called by whatever executes them, from any thread.
    """

    def __init__(
        self,
        tell: Tell,
        *,
        clock: Callable[[], float] = time.monotonic,
        every_s: float = EVERY_S,
        pause_s: float = PAUSE_S,
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._every_s = every_s
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._seq = self._offsets = self._ranges = self._read = self._done = self._bytes = self._part = 0
        self._began = self._told = 0.0

    def tell(self, event: Event) -> None:
        """Pass an event on."""
        if isinstance(event, PlanOpened | WindowPlanOpened):
            self._seq = event.seq
        self._tell(event)

    def over(self, execute: Execute) -> Execute:
        """The same with what it does told."""

        def executed(tasks: Sequence[Task]) -> Sequence[RangeResult]:
            with self._telling(tasks):
                return execute(tasks)

        return executed

    def read(self, offsets: int) -> None:
        """So many more offsets were read."""
        with self._lock:
            self._read = min(self._read + offsets, self._offsets)  # a range with a bad record is read twice
        self.look()

    def done(self, results: Sequence[RangeResult]) -> None:
        """Some ranges have ended, well or not."""
        with self._lock:
            self._done += len(results)
            self._bytes += sum(each.entry.bytes for each in results if each.entry is not None)
        self.look()

    def ended(self, results: Sequence[RangeResult]) -> None:
        """As `done`, of ranges of which nobody said what was read."""
        with self._lock:
            self._read += sum(each.planned.end - each.planned.start for each in results)
        self.done(results)

    def look(self) -> None:
        """Tell if it is time."""
        now = self._clock()
        with self._lock:
            part = self._read * _PARTS // self._offsets if self._offsets else _PARTS
            waited_s = now - self._told
            is_due = waited_s >= self._every_s or (part > self._part and waited_s >= self._pause_s)
            if (part >= _PARTS and self._done >= self._ranges) or not is_due:
                return
            self._part, self._told = part, now
            event = PlanAdvanced(
                seq=self._seq,
                read=self._read,
                offsets=self._offsets,
                done=self._done,
                ranges=self._ranges,
                bytes=self._bytes,
                elapsed_ms=int((now - self._began) * 1000),
            )
        self._tell(event)

    @contextmanager
    def _telling(self, tasks: Sequence[Task]) -> Iterator[None]:
        with self._lock:
            self._offsets = sum(task.planned.end - task.planned.start for task in tasks)
            self._ranges = len(tasks)
            self._read = self._done = self._bytes = self._part = 0
            self._began = self._told = self._clock()
        ended = threading.Event()

        def look_again() -> None:
            while not ended.wait(self._every_s):
                self.look()

        thread = threading.Thread(target=look_again, name="kafka-s3-advance", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
