"""A connector over memory, as the tests of status, forecasts and verify need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.run_report import RunReport
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.plan.results import RangeResult
from kafka_s3.settings.model import Settings
from tests.support import identified, make_settings, request


@dataclass
class MemoryExport:
    """A broker, a bucket and settings; `run` exports everything that is there."""

    settings: Settings = field(default_factory=make_settings)
    store: MemoryStore = field(default_factory=MemoryStore)
    broker: MemoryBroker = field(default_factory=MemoryBroker)
    runs: int = 0

    def __post_init__(self) -> None:
        self.broker.create_topic("orders", 2)

    @property
    def exporter(self) -> Exporter:
        return Exporter(self.settings, self.store, self.broker)

    def produce(self, partition: int, count: int) -> None:
        start = self.end(partition)
        for offset in range(start, start + count):
            self.broker.append("orders", partition, identified(partition, offset))

    def end(self, partition: int) -> int:
        from kafka_s3.ranges import TopicPartition

        tp = TopicPartition("orders", partition)
        return self.broker.offsets([tp])[tp].high_watermark

    def run(self) -> RunReport:
        self.runs += 1
        return run(self.exporter, request(f"run-{self.runs}"), self._execute, lambda _: None)

    def _execute(self, tasks: Sequence[RangeTask]) -> list[RangeResult]:
        return [export_range(self.settings, task, self.store, self.broker) for task in tasks]
