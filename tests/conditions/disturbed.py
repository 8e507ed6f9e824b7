"""A connector over real parts whose run is disturbed at a certain moment, and what it made of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ParamSpec

from confluent_kafka import Producer

from kafka_s3.adapters.kafka import KafkaSource
from kafka_s3.cli.common import load_configuration, now_ms
from kafka_s3.errors import ExporterError
from kafka_s3.export.run import run
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import RangeReader, RecordSource
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.records import RecordBatch
from kafka_s3.wiring import make_exporter
from tests.faults.exports import KillableRun
from tests.support import hear, rows_of

#: Small fetches and a short queue: the records of a range do not all arrive at once.
SLOWLY = {"fetch.message.max.bytes": "20000", "queued.max.messages.kbytes": "20", "queued.min.messages": "1"}
QUEUED_RECORDS_MAX = 400  # what the client may hold of them: twice two times 20 kB
P = ParamSpec("P")
Happens = Callable[[], None]


def nothing() -> None: ...


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its exit status, and all that it said."""

    status: int
    said: str


@dataclass
class Disturbed(KillableRun):
    """The connector's run in this process, range after range, as `kafka-s3 run` does it in threads."""

    runs: int = field(default=0, init=False)

    def configure(self, **properties: object) -> None:
        """More properties; `_` in a name stands for `.`."""
        lines = "".join(f"{name.replace('_', '.')}={value}\n" for name, value in properties.items())
        self.config.write_text(self.config.read_text() + lines)

    def export(self, *, planned: Happens = nothing, reading: Happens = nothing, read: Happens = nothing) -> Outcome:
        """One run up to now. Once each: `planned` happens when a plan is in the bucket, `reading` when the first
        records of a range came, `read` when all ranges of a plan were read."""
        settings = load_configuration(self.config, None).settings
        settings = replace(settings, kafka=replace(settings.kafka, client={**settings.kafka.client, **SLOWLY}))
        said: list[str] = []

        def begin(left: int) -> None:
            assert reading is nothing or left > QUEUED_RECORDS_MAX, "all of it may have been fetched already"
            reading()

        source = DisturbedSource(KafkaSource(settings.kafka), once(begin))
        before, after = once(planned), once(read)
        exporter = make_exporter(settings)

        def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
            before()
            results = [export_range(settings, task, exporter.store, source) for task in tasks]
            after()
            return results

        self.runs += 1
        try:
            report = run(exporter, RunRequest(f"run-{self.runs}", 1, None, now_ms()), execute, hear(said))
        except ExporterError as error:
            return Outcome(error.exit_status, str(error))
        return Outcome(report.exit_status, "\n".join([*said, *report.problems()]))

    def values(self, partition: int = 0) -> list[str]:
        """The records that the log lists of a partition, by the words they were made of, in the order of the log."""
        bodies = self.objects("topics/")
        keys = [
            made.key
            for entry in self.entries()
            for done in entry.ranges
            if done.partition == partition
            for made in done.objects
        ]
        assert len(keys) == len(set(keys))
        return [row["w"] for key in keys for row in rows_of(bodies[key], key)]

    def position(self, partition: int = 0) -> int | None:
        return self.entries()[-1].position(TopicPartition(self.topic, partition))


def once(happens: Callable[P, None]) -> Callable[P, None]:
    """The same, but only the first time it is called."""
    left, lock = [happens], threading.Lock()

    def call(*arguments: P.args, **named: P.kwargs) -> None:
        with lock:
            if left:
                left.pop()(*arguments, **named)

    return call


@dataclass(frozen=True)
class DisturbedSource:
    """A `RecordSource` under which something happens after the first batch of a range, told how many offsets it has
    beyond that."""

    inner: RecordSource
    happens: Callable[[int], None]

    def open(self, offsets: OffsetRange) -> RangeReader:
        return DisturbedReader(self.inner.open(offsets), offsets, self.happens)


@dataclass(frozen=True)
class DisturbedReader:
    inner: RangeReader
    offsets: OffsetRange
    happens: Callable[[int], None]

    def __iter__(self) -> Iterator[RecordBatch]:
        for batch in self.inner:
            yield batch
            self.happens(self.offsets.end - batch.offset_at(len(batch) - 1))

    @property
    def leader_epoch(self) -> int | None:
        return self.inner.leader_epoch

    def close(self) -> None:
        self.inner.close()


def words(label: str, count: int) -> list[str]:
    return [f"{label}{number}" for number in range(count)]


def produce(bootstrap_servers: str, topic: str, values: Sequence[str], partition: int = 0) -> None:
    """One record of a few hundred bytes for each word, in this order, safe on every replica in sync."""
    failed: list[object] = []
    settings = {"bootstrap.servers": bootstrap_servers, "linger.ms": 5, "batch.num.messages": 20, "log_level": 0}
    producer = Producer({**settings, "enable.idempotence": True})  # in this order, also where a request is sent again
    for word in values:
        body = json.dumps({"w": word, "more": "alpha bravo charlie delta " * 8}).encode()
        producer.produce(
            topic, body, partition=partition, on_delivery=lambda error, _: failed.append(error) if error else None
        )
    assert producer.flush(90) == 0
    assert failed == []
