"""A connector that writes markers of completeness, over memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.errors import EXIT_TEMPORARY
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import prepare, run
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import Interval
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.results import Failure, RangeResult
from kafka_s3.publish.completeness import Marker, Ran, mark_complete
from kafka_s3.records import Record
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings
from tests.support import HOUR_MS, MINIMAL

T0 = 1_795_161_600_000  # 2026-11-20T08:00:00Z
TICK_MS = HOUR_MS // 3
TOPICS = ("orders", "refunds")


def hour(number: int) -> int:
    return T0 + number * HOUR_MS


def make(**more: str) -> Settings:
    """An hourly connector with markers, by the records' own timestamps unless told otherwise."""
    given = {
        **MINIMAL,
        "topics": ",".join(TOPICS),
        "flush.size": "100",
        "partitioner.class": "HourlyPartitioner",
        "locale": "en",
        "timezone": "UTC",
        "timestamp.extractor": "Record",
        "export.completeness.marker.enable": "true",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    return from_mapping(given, offline=True).settings


@dataclass
class MarkedExport:
    """A connector over memory, with a clock that goes in thirds of an hour."""

    settings: Settings = field(default_factory=make)
    store: MemoryStore = field(default_factory=MemoryStore)
    broker: MemoryBroker = field(default_factory=MemoryBroker)
    now_ms: int = T0
    runs: int = 0
    arrived: dict[tuple[str, int], list[tuple[int, int, int]]] = field(default_factory=dict)  # offset, came, dated

    def __post_init__(self) -> None:
        for topic in TOPICS:
            self.broker.create_topic(topic, 2)

    @property
    def exporter(self) -> Exporter:
        return Exporter(self.settings, self.store, self.broker)

    @property
    def interval(self) -> Interval:
        """The hour that is over."""
        end_ms = self.now_ms // HOUR_MS * HOUR_MS
        return Interval(end_ms - HOUR_MS, end_ms)

    def produce(self, dated_ms: int, topic: str = "orders", partition: int = 0) -> None:
        known = self.arrived.setdefault((topic, partition), [])
        offset = len(known)
        known.append((offset, self.now_ms, dated_ms))
        self.broker.append(topic, partition, Record(offset, b"{}", timestamp_ms=dated_ms))

    def run(self, failing: Sequence[tuple[str, int]] = (), *, now: bool = False, most: int = 1000) -> list[str]:
        """A run of the hour that is over, some of whose partitions fail; the markers it wrote."""
        self.runs += 1
        request = self.request(now)

        run(self.exporter, request, partial(self.execute, failing=failing), lambda _: None)
        return self.mark(interval=request.interval, most=most)

    def execute(self, tasks: Sequence[RangeTask], failing: Sequence[tuple[str, int]] = ()) -> list[RangeResult]:
        return [
            RangeResult(task.planned, None, Failure("an outage", EXIT_TEMPORARY))
            if (task.planned.topic, task.planned.partition) in failing
            else export_range(self.settings, task, self.store, self.broker)
            for task in tasks
        ]

    def die(self) -> None:
        """A run that writes its plan and then dies; Airflow's `complete` comes all the same."""
        self.runs += 1
        prepare(self.exporter, self.request())
        self.mark(interval=self.interval)

    def request(self, now: bool = False) -> RunRequest:
        return RunRequest(f"run-{self.runs}", 1, None if now else self.interval, self.now_ms)

    def mark(self, *, interval: Interval | None, most: int = 1000) -> list[str]:
        return mark_complete(self.exporter, Ran(interval, self.now_ms), markers_max=most)

    def markers(self, topic: str = "orders") -> list[Marker]:
        bodies = [body for key, body in self.store.contents().items() if key.endswith("/_COMPLETE.json")]
        found = [msgspec.json.decode(body, type=Marker) for body in bodies]
        return sorted((each for each in found if each.topic == topic), key=lambda each: each.start_ms)

    def hours(self, topic: str = "orders") -> list[int]:
        """The hours that have a marker, counted from the first."""
        return [(each.start_ms - T0) // HOUR_MS for each in self.markers(topic)]

    def objects(self, topic: str = "orders") -> list[str]:
        return sorted(key for key in self.store.contents() if key.startswith(f"topics/{topic}/") and ".json" in key
                      and not key.endswith("_COMPLETE.json"))  # fmt: skip

    def check(self) -> None:
        """No marker lies: what came in time is below the position, whatever comes later."""
        head = self.exporter.log.newest()
        for topic in TOPICS:
            for marker in self.markers(topic):
                assert marker.due_ms <= self.now_ms
                assert head is not None
                for partition in (0, 1):
                    position = head.entry.topics[topic].positions[partition]
                    for offset, came_ms, dated_ms in self.arrived.get((topic, partition), []):
                        if dated_ms >= marker.due_ms:
                            break
                        assert came_ms >= marker.due_ms or offset < position, (marker, offset, position)
