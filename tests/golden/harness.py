"""The one module of the golden set that imports the engine: a connector over ports in memory, behind its command line.

Everything that is no input is pinned here: the clock, what chance says, and the random ids of a log. One task runs at
once, so that requests have an order. What is not pinned on purpose: the exporter's version, which plans and entries
hold (a release with another one has another golden set), and what pyarrow writes of its own version into Parquet.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from click.testing import CliRunner

from kafka_s3 import cli
from kafka_s3.adapters.memory import MemoryBroker, MemoryDeadLetters, MemoryRegistry, MemoryStore
from kafka_s3.errors import KafkaUnavailable
from kafka_s3.ports import RegisteredSchema
from kafka_s3.records import Record

S3_STORE = "kafka_s3.adapters.s3.S3Store"
REGISTRY = "kafka_s3.adapters.registry.ConfluentRegistry"
GLUE = "kafka_s3.adapters.s3.glue.GlueRegistry"
KAFKA_BROKER = "kafka_s3.adapters.kafka.KafkaBroker"
KAFKA_SOURCE = "kafka_s3.adapters.kafka.KafkaSource"
DEAD_LETTER_TOPIC = "kafka_s3.adapters.kafka.DeadLetterTopic"
REDRIVE_TOPICS = "kafka_s3.adapters.kafka.RedriveTopics"

Documents = Sequence[tuple[str, bytes]]  # names, or keys, and what is in each
NOON_MS = 1_767_268_800_000  # 2026-01-01T12:00:00Z
MINUTE_MS = 60_000
HOUR_MS = 3_600_000
FILE = "orders.properties"
BASE = {
    "name": "orders",
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "topics": "orders",
    "tasks.max": "1",
    "s3.bucket.name": "archive",
    "s3.region": "us-east-1",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "format.class": "JsonFormat",
    "value.converter": "JsonConverter",
    "value.converter.schemas.enable": "false",
    "flush.size": "5",
}


@dataclass(frozen=True)
class Given:
    """A record to come: its time is relative to the hour of noon."""

    value: bytes | None
    key: bytes | None = None
    at_ms: int | None = 0
    headers: tuple[tuple[str, bytes | None], ...] = ()


class GoldenExport:
    """A connector's file, its topics, its bucket. Each command lasts a second by the clock."""

    def __init__(
        self,
        folder: Path,
        properties: Mapping[str, str] | None = None,
        *,
        topics: Mapping[str, int] | None = None,
        schemas: Sequence[tuple[str, str]] = (),
        schema_type: str = "AVRO",
        versions: Sequence[RegisteredSchema] = (),
        batch_records: int = 7,
    ) -> None:
        """`schemas`: subjects and texts, which get the ids 1, 2, … `versions`: of Glue's registry."""
        self.folder = folder
        self.store, self.letters = MemoryStore(), MemoryDeadLetters()
        self.registry = MemoryRegistry({each.id: each for each in versions})
        self.broker = MemoryBroker(topics=list(topics or {"orders": 1}), batch_records=batch_records)
        for topic, partitions in (topics or {"orders": 1}).items():
            self.broker.create_topic(topic, partitions)
        for subject, text in schemas:
            self.registry.register(subject, text, type=schema_type)
        self.now_ms = NOON_MS
        self.ends: dict[tuple[str, int], int] = {}
        self._chance = itertools.count(1)
        self.configure(properties or {})
        (folder / "worker.properties").write_text("bootstrap.servers=kafka:9092\n")

    def configure(self, properties: Mapping[str, str]) -> None:
        """The connector's file from now on."""
        text = "".join(f"{name}={value}\n" for name, value in {**BASE, **properties}.items())
        (self.folder / FILE).write_text(text.replace("\\", "\\\\"))

    def produce(self, *given: Given, topic: str = "orders", partition: int = 0, holes: int = 0) -> None:
        """Records behind those that are there, and offsets without any behind them."""
        end = self.ends.get((topic, partition), 0)
        for number, each in enumerate(given, end):
            at_ms = None if each.at_ms is None else NOON_MS + each.at_ms
            self.broker.append(topic, partition, Record(number, each.value, each.key, at_ms, each.headers))
        if holes:
            self.broker.append_holes(topic, partition, holes)
        self.ends[topic, partition] = end + len(given) + holes

    def kafka_fails(self) -> None:
        """It does not answer the next request for its topics."""
        self.broker.fail_next("topics", KafkaUnavailable("No broker answered."))

    def call(self, command: str, *arguments: str) -> tuple[int, str]:
        """The exit status of a command, and what it printed for machines; a traceback is raised."""
        with self.pinned(), contextlib.chdir(self.folder):
            result = CliRunner().invoke(cli.main, [command, FILE, *arguments], catch_exceptions=False)
        self.now_ms += 1000
        return result.exit_code, result.stdout

    @contextlib.contextmanager
    def pinned(self) -> Iterator[None]:
        """The ports are those in memory; the clock stands, and chance counts."""
        with contextlib.ExitStack() as stack:
            for place, made in (
                (S3_STORE, lambda *_: self.store),
                (REGISTRY, lambda *_: self.registry.again()),
                (GLUE, lambda *_: self.registry.again()),
                (KAFKA_BROKER, lambda *_: self.broker),
                (KAFKA_SOURCE, lambda *_: self.broker),
                (DEAD_LETTER_TOPIC, lambda *_: self._sink()),
                (REDRIVE_TOPICS, lambda *_, **__: self._sink()),
                ("time.time_ns", lambda: self.now_ms * 1_000_000),
                ("time.time", lambda: self.now_ms / 1000),
                ("secrets.token_bytes", lambda size=32: next(self._chance).to_bytes(size, "big")),
            ):
                stack.enter_context(patch(place, made))
            yield

    def _sink(self) -> MemoryDeadLetters:
        self.letters.closed = False
        return self.letters

    def bucket(self, *prefixes: str) -> Documents:
        """What the bucket holds under some prefixes, tags behind it."""
        found = []
        for key, body in self.store.contents().items():
            if key.startswith(prefixes or ("",)):
                tags = self.store.tags(key)
                found.append((key, body + (json.dumps(tags).encode() if tags else b"")))
        return found

    def sent(self) -> Documents:
        """The dead letters that Kafka got."""
        found = []
        for number, each in enumerate(self.letters.sent):
            name = f"{number} {each.topic}-{each.partition}-{each.offset}"
            found.append((name, repr(astuple(each)).encode()))
        return found

    # What Airflow is told and shows.

    def announce(self) -> Documents:
        """The events of all that is not announced yet, which is marked then, as the task `complete` does it."""
        from kafka_s3.publish.announce import announcement, mark
        from kafka_s3.wiring import make_log

        with self.pinned():
            settings = self.settings()
            log = make_log(settings)
            told = announcement(log, settings.s3.bucket, settings.exports, self.now_ms, named=settings.topics)
            for seq in told.seqs:
                mark(log, seq)
        return [(f"{index} {each.topic or 'connector'}", as_json(each.extra)) for index, each in enumerate(told.events)]

    def settings(self) -> Any:
        from kafka_s3.settings import Lookups, load

        with contextlib.chdir(self.folder):
            return load(Path(FILE), lookups=Lookups()).settings

    def page(self, seqs: Iterable[int]) -> Documents:
        """Every answer of the page, and the metrics, once all is known; the entries asked for by number."""
        from kafka_s3_airflow.page import views
        from kafka_s3_airflow.page.folder import Folder
        from kafka_s3_airflow.page.model import AirflowFacts, RunFacts
        from kafka_s3_airflow.page.observer import CommitsWanted, EntryWanted, Observer
        from kafka_s3_airflow.page.scrape import scraped

        settings, facts = self.settings(), AirflowFacts(False, RunFacts("scheduled__1", "success"))
        observer = Observer(
            Folder(self.folder),
            load=lambda _: settings,
            make_store=lambda _: self.store,
            make_broker=lambda _: self.broker,
            find_facts=lambda _: {"orders": facts},
            now_ms=lambda: self.now_ms,
        )
        shown = observer.connector("orders")
        assert shown is not None
        wait_s = 60.0

        async def ask() -> dict[str, Any]:
            await observer.await_first([shown], wait_s)
            await observer.await_news([shown], wait_s)
            found: dict[str, Any] = {
                "commits": getattr((await observer.commits(CommitsWanted("orders"), wait_s)).value, "rows", None),
                "windows": (await observer.windows("orders", wait_s)).value,
            }
            for seq in seqs:
                found[f"commits {seq}"] = (await observer.entry(EntryWanted("orders", seq), wait_s)).value
                found[f"commits {seq} rejected"] = (await observer.letters(EntryWanted("orders", seq), wait_s)).value
            return found

        found = asyncio.run(ask())
        deadline = time.monotonic() + wait_s
        while observer.kafka(shown).is_first or observer.log(shown).is_first:
            assert time.monotonic() < deadline, "the page knows nothing"
            time.sleep(0.01)
        log, kafka = observer.log(shown), observer.kafka(shown)
        found["connectors"] = views.overview(shown, log, kafka, facts, self.now_ms)
        found["connector"] = views.detail(shown, log, kafka, facts, self.now_ms)
        documents = [(name, as_json(observer.conceal(shown, value))) for name, value in found.items()]
        return [*documents, ("metrics", scraped([shown], observer))]


def as_json(value: object) -> bytes:
    return json.dumps(value, indent=1, default=str).encode()
