"""What the page knows of one connector, over a bucket and a broker in memory."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kafka_s3.errors import ConfigurationError, KafkaUnavailable
from kafka_s3.ports import Broker
from kafka_s3.settings.model import Settings
from tests.export.harness import MemoryExport

CONNECTOR = """\
name=orders
connector.class=io.confluent.connect.s3.S3SinkConnector
topics=orders
s3.bucket.name=archive
s3.region=us-east-1
storage.class=io.confluent.connect.s3.storage.S3Storage
format.class=io.confluent.connect.s3.format.json.JsonFormat
flush.size=100
"""
BOUND_S = 30


@dataclass
class ObservedConnector:
    """An observer of one connector, whose file is `orders.properties`, over a world in memory."""

    folder: Path
    world: MemoryExport = field(default_factory=MemoryExport)
    now_ms: int = 10**12
    kafka_is_up: bool = True
    problem: ConfigurationError | None = None
    held: threading.Event | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from kafka_s3_airflow.page.folder import Folder
        from kafka_s3_airflow.page.observer import Observer

        (self.folder / "orders.properties").write_text(CONNECTOR)
        self.observer = Observer(
            Folder(self.folder),
            load=self._load,
            make_store=lambda _: self.world.store,
            make_broker=self._broker,
            find_facts=lambda connectors: self.facts,
            now_ms=lambda: self.now_ms,
        )

    def _load(self, connector: Any) -> Settings:
        if self.problem is not None:
            raise self.problem
        return self.world.settings

    def _broker(self, _: Settings) -> Broker:
        if self.held is not None:
            self.held.wait(BOUND_S)
        if not self.kafka_is_up:
            raise KafkaUnavailable("No broker answered.")
        return self.world.broker

    def detail(self, wanted: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """What the page shows of the connector, once it is what is wanted."""
        from kafka_s3_airflow.page import views

        shown = self.observer.connector("orders")
        assert shown is not None
        deadline = time.monotonic() + BOUND_S
        while True:
            asyncio.run(self.observer.await_first([shown], BOUND_S))
            log, kafka = self.observer.log(shown), self.observer.kafka(shown)
            found = views.detail(shown, log, kafka, self.observer.facts(shown), self.now_ms)
            if log.open_ms is None and wanted(found):
                return found
            assert time.monotonic() < deadline, found
            time.sleep(0.01)

    def known(self) -> dict[str, Any]:
        """The same once Kafka has answered."""
        return self.detail(lambda found: bool(found["kafka_at_ms"] == self.now_ms))

    def later(self, ms: int = 60_000) -> None:
        self.now_ms += ms

    def commits(self, **wanted: Any) -> list[dict[str, Any]]:
        from kafka_s3_airflow.page.observer import CommitsWanted

        self.later()
        answer = asyncio.run(self.observer.commits(CommitsWanted("orders", **wanted), BOUND_S))
        assert answer.value is not None, answer.error
        return [dict(row) for row in answer.value.rows]


@pytest.fixture
def seen(tmp_path: Path) -> Iterator[ObservedConnector]:
    made = ObservedConnector(tmp_path)
    yield made
    if made.held is not None:
        made.held.set()
