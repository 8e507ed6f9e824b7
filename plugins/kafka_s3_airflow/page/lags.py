"""What waited in Kafka, each time that it answered: of this api-server process alone, and of what was looked at."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

#: A minute each, so twelve hours where somebody looks, or Prometheus does, all the time.
KEPT_OF_ONE: Final = 720
EVERY_MS: Final = 60_000
#: Memory: CONNECTORS_MAX * KEPT_OF_ONE points of 24 bytes, 17 MB if a thousand are looked at for half a day.
CONNECTORS_MAX: Final = 1_000
_LARGEST: Final = 2**63 - 1
_NONE: Final = -1


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
        self._points: OrderedDict[str, array[int]] = OrderedDict()  # time, records, age; and so on

    def add(self, dag_id: str, lag: Lag) -> None:
        with self._lock:
            kept = self._points.setdefault(dag_id, array("q"))
            if kept and kept[-3] // EVERY_MS == lag.at_ms // EVERY_MS:
                del kept[-3:]
            kept.extend((lag.at_ms, min(lag.records, _LARGEST), _NONE if lag.age_ms is None else lag.age_ms))
            del kept[: max(0, len(kept) - 3 * self._kept_of_one)]
            self._points.move_to_end(dag_id)
            while len(self._points) > self._connectors_max:
                self._points.popitem(last=False)

    def of(self, dag_id: str) -> list[Lag]:
        """The oldest first."""
        with self._lock:
            kept = self._points.get(dag_id, array("q"))
            points = zip(kept[::3], kept[1::3], kept[2::3], strict=True)
        return [Lag(at_ms, records, None if age_ms == _NONE else age_ms) for at_ms, records, age_ms in points]
