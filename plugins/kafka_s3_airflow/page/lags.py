"""What waited in Kafka, each time that it answered: of this api-server process alone, and of what was looked at."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Final

#: A minute each, so twelve hours where somebody looks, or Prometheus does, all the time.
KEPT_OF_ONE: Final = 720
EVERY_MS: Final = 60_000
#: Memory: CONNECTORS_MAX * KEPT_OF_ONE points of about 200 bytes, 145 MB if a thousand are looked at for half a day;
#: those of whom nothing is asked any more go first.
CONNECTORS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class Lag:
    """`records` that waited at a time, and how old the oldest of them was; `None`: not known."""

    at_ms: int
    records: int
    age_ms: int | None


class Lags:
    """The newest of each connector, a point a minute: within a minute the newest answer counts."""

    def __init__(self, kept_of_one: int = KEPT_OF_ONE, connectors_max: int = CONNECTORS_MAX) -> None:
        self._kept_of_one = kept_of_one
        self._connectors_max = connectors_max
        self._lock = threading.Lock()
        self._points: OrderedDict[str, deque[Lag]] = OrderedDict()

    def add(self, dag_id: str, lag: Lag) -> None:
        with self._lock:
            kept = self._points.setdefault(dag_id, deque(maxlen=self._kept_of_one))
            if kept and kept[-1].at_ms // EVERY_MS == lag.at_ms // EVERY_MS:
                kept.pop()
            kept.append(lag)
            self._points.move_to_end(dag_id)
            while len(self._points) > self._connectors_max:
                self._points.popitem(last=False)

    def of(self, dag_id: str) -> list[Lag]:
        """The oldest first."""
        with self._lock:
            return list(self._points.get(dag_id, ()))
