"""A connector over memory whose runs can be disturbed at every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.run_report import RunReport
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import Entry, Plan
from kafka_s3.log.store import Log
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import ObjectStore
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.settings.model import Settings
from tests.support import hear, identified, make_settings, request, rows_of

TOPIC = "orders"


class SimpleExport:
    """A broker, a bucket, and runs over them."""

    def __init__(self, partitions: int = 2, store: MemoryStore | None = None, **settings: object) -> None:
        self.store = store or MemoryStore()
        self.broker = MemoryBroker(batch_records=4)
        self.broker.create_topic(TOPIC, partitions)
        self.settings: Settings = make_settings(**settings)  # type: ignore[arg-type]
        self.told: list[str] = []
        self.before_execute: Callable[[], None] = lambda: None
        self.while_reading: Callable[[], None] = lambda: None

    def produce(self, partition: int, count: int, *, at_ms: int = 0, topic: str = TOPIC) -> None:
        tp = TopicPartition(topic, partition)
        start = self.broker.offsets([tp])[tp].high_watermark
        records = [identified(partition, start + i, timestamp_ms=at_ms) for i in range(count)]
        self.broker.append(topic, partition, *records)

    def poison(self, partition: int) -> None:
        tp = TopicPartition(TOPIC, partition)
        self.broker.append(TOPIC, partition, Record(self.broker.offsets([tp])[tp].high_watermark, b"{oops"))

    def exporter(self, store: ObjectStore | None = None) -> Exporter:
        return Exporter(self.settings, store or self.store, self.broker)

    def run(self, run_id: str = "run", **what: object) -> RunReport:
        asked: RunRequest = request(run_id, **what)  # type: ignore[arg-type]
        return run(self.exporter(), asked, self._execute, hear(self.told))

    def _execute(self, tasks: Sequence[RangeTask]) -> list[RangeResult]:
        self.before_execute()
        results = [export_range(self.settings, task, self.store, self.broker) for task in tasks]
        self.while_reading()
        return results

    def die_while_exporting(self, run_id: str = "dead", **what: object) -> None:
        """A driver that ends after its plan is written: nothing is closed."""
        self.before_execute = die
        with pytest.raises(DiedError):
            self.run(run_id, **what)
        self.before_execute = lambda: None

    @property
    def log(self) -> Log:
        return self.exporter().log

    @property
    def newest(self) -> Entry:
        head = self.log.newest()
        assert head is not None
        return head.entry

    def entries(self) -> list[Entry]:
        """Oldest first."""
        return [committed.entry for committed in self.log.entries()][::-1]

    def plan(self, seq: int) -> Plan:
        planned = self.log.plan(seq)
        assert planned is not None
        return planned.plan

    def bounds(self, seq: int) -> list[tuple[int, int, int]]:
        return [(r.partition, r.start, r.end) for r in self.plan(seq).ranges]

    def positions(self, topic: str = TOPIC) -> dict[int, int]:
        return self.newest.topics[topic].positions

    def data(self) -> dict[str, bytes]:
        return {key: body for key, body in self.store.contents().items() if key.startswith("topics/")}

    def offsets_in_bucket(self, partition: int) -> list[int]:
        rows = [row for key, body in self.data().items() for row in rows_of(body, key)]
        return sorted(row["o"] for row in rows if row["p"] == partition)

    def operations(self, prefix: str = "") -> list[str]:
        return [asked.operation for asked in self.store.requests if asked.key.startswith(prefix)]


class DiedError(BaseException):
    """kill -9."""


def die() -> None:
    raise DiedError
