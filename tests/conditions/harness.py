"""One topic on the real broker, its export by the real engine, and the proof that each record is in it once.

The bucket is the one in memory, which the contract suite holds to a real one's behaviour: what is looked at here is
Kafka. What happens in the middle of a run happens between two real requests to the broker.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as Assignment
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, ResourceType

from kafka_s3.adapters.kafka import KafkaBroker, KafkaSource
from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import KafkaUnavailable, TopicMissing
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.run_report import RunReport
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import Entry, Interval, Kind, ObjectEntry, RangeEntry
from kafka_s3.naming import parse_data_key
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import PartitionOffsets
from kafka_s3.ranges import TopicPartition
from kafka_s3.report.status import Status, look
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings
from kafka_s3.verify.verify import Kafka, Verified, verify
from tests.conditions.meanwhile import Meanwhile, MeanwhileSource
from tests.support import LATER_MS
from tools.parts.kafka import KafkaBroker as KafkaPart

#: Timestamps may be of any time.
ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1)}
BOUND_S = 90
CONNECTOR = {
    "name": "conditions",
    "s3.bucket.name": "archive",
    "s3.region": "us-east-1",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "export.envelope": "partition,offset",
    "flush.size": "3",
}


def until(what: str, is_so: Callable[[], object]) -> None:
    """Wait for something that Kafka does in its own time."""
    deadline = time.monotonic() + BOUND_S
    while not is_so():
        assert time.monotonic() < deadline, f"not within {BOUND_S} s: {what}"
        time.sleep(0.02)


class Transaction:
    """A producer of transactions, one after the other; what it sends is there before it ends."""

    def __init__(self, world: LiveTopic) -> None:
        self._world = world
        # Without the backoff a transaction right behind another one waits 100 ms for the end of the first.
        backoff = {"retry.backoff.ms": 5, "retry.backoff.max.ms": 10}
        self._producer = world.producer(**{"transactional.id": str(uuid.uuid4())}, **backoff)
        self._producer.init_transactions(30)
        self._partitions: set[int] = set()

    def begin(self) -> Transaction:
        self._producer.begin_transaction()
        self._partitions = set()
        return self

    def send(
        self, *numbers: int, partition: int = 0, timestamp_ms: int | None = None, key: bytes | None = None
    ) -> Transaction:
        self._world.send(*numbers, partition=partition, timestamp_ms=timestamp_ms, key=key, producer=self._producer)
        self._partitions.add(partition)
        return self

    def commit(self) -> None:
        self._end(self._producer.commit_transaction)

    def abort(self) -> None:
        self._end(self._producer.abort_transaction)

    def _end(self, end: Callable[[float], None]) -> None:
        """The producer is told before the markers are in the partitions: wait for them."""
        before = {partition: self._world.end(partition) for partition in self._partitions}
        end(30)
        until("the markers are written", lambda: all(self._world.end(p) > at for p, at in before.items()))


@dataclass
class LiveTopic:
    """A topic, and a connector that exports it."""

    part: KafkaPart
    topic: str
    properties: Mapping[str, str] = field(default_factory=dict)
    client: Mapping[str, str] = field(default_factory=dict)  # librdkafka's own, as an Airflow connection gives them
    store: MemoryStore = field(default_factory=MemoryStore)
    runs: int = 0

    def __post_init__(self) -> None:
        self._producer = self.producer()
        self._broker = KafkaBroker(self.settings())

    # The connector.

    def settings(self, **more: str) -> Settings:
        worker = {"bootstrap.servers": self.part.bootstrap_servers}
        properties = {**CONNECTOR, "topics": self.topic, **self.properties, **more}
        made = from_mapping(properties, worker=worker, kafka_connection=self.client).settings
        # By default librdkafka waits 30 s before it believes that a topic is gone.
        client = {**made.kafka.client, "topic.metadata.propagation.max.ms": "500"}
        return replace(made, kafka=replace(made.kafka, client=client))

    def exporter(self) -> Exporter:
        settings = self.settings()
        return Exporter(settings, self.store, KafkaBroker(settings))

    def run(
        self,
        *,
        interval: tuple[int, int] | None = None,
        now_ms: int = LATER_MS,
        meanwhile: Meanwhile | None = None,
    ) -> RunReport:
        """One run; without an interval it goes up to what can be read now."""
        self.runs += 1
        exporter, happens = self.exporter(), meanwhile or Meanwhile()
        source = MeanwhileSource(KafkaSource(exporter.settings.kafka), happens)
        batches = itertools.count()

        def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
            batch = next(batches)
            if batch < len(happens.before):
                happens.before[batch]()
            results = [export_range(exporter.settings, task, self.store, source) for task in tasks]
            if batch == 0:
                happens.after()
            return results

        asked = RunRequest(f"run-{self.runs}", 1, Interval(*interval) if interval else None, now_ms)
        return run(exporter, asked, execute, lambda _: None)

    def run_well(self, **how: Any) -> RunReport:
        """A run without a failure and with nothing left out."""
        report = self.run(**how)
        assert (report.exit_status, report.problems()) == (0, [])
        return report

    def status(self) -> Status:
        exporter = self.exporter()
        return look(exporter.settings, exporter.log, lambda: exporter.broker, entries_max=1000)

    def verified(self) -> Verified:
        """`kafka-s3 verify --against-kafka`."""
        exporter = self.exporter()
        kafka = Kafka(exporter.broker, KafkaSource(exporter.settings.kafka))
        return verify(exporter.settings, exporter.log, kafka, tell=lambda _: None)

    # The topic.

    def producer(self, **more: Any) -> Producer:
        servers = {"bootstrap.servers": self.part.bootstrap_servers, "log_level": 2}
        return Producer(
            {**servers, "linger.ms": 1000, "enable.idempotence": True, "message.max.bytes": 30_000_000, **more}
        )

    def create(self, partitions: int = 1, **config: str) -> LiveTopic:
        names = {name.replace("_", "."): value for name, value in config.items()}
        self.part.create_topic(self.topic, partitions, ANY_TIME | names)
        until("every partition answers", lambda: self._answers(partitions))
        return self

    def _answers(self, partitions: int) -> bool:
        """Whether the leaders know that they are: of a thousand, some learn it later than everybody else."""
        try:
            self._broker.topics()
            self._broker.offsets([TopicPartition(self.topic, p) for p in range(partitions)])
        except (KafkaUnavailable, TopicMissing):
            return False
        return True

    def recreate(self, partitions: int = 1) -> None:
        """The same name, another topic, empty."""
        self.part.delete_topic(self.topic)
        self.create(partitions)
        self._producer = self.producer()  # the old one goes on counting for the old topic

    def add_partitions(self, total: int) -> None:
        admin = self.part.admin()  # a request ends with its client
        admin.create_partitions([NewPartitions(self.topic, total)])[self.topic].result(30)
        until("the partitions have leaders", lambda: self._leaders(admin) == total)
        self._producer = self.producer()  # the old one would learn of them in its own time

    def alter(self, **config: str) -> None:
        """Change the topic's configuration."""
        entries = [
            ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
            for name, value in config.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, self.topic, incremental_configs=entries)
        admin = self.part.admin()
        admin.incremental_alter_configs([resource])[resource].result(30)

    def _leaders(self, admin: Any) -> int:
        partitions = admin.list_topics(self.topic, timeout=30).topics[self.topic].partitions
        return sum(partition.leader >= 0 for partition in partitions.values())

    def send(
        self,
        *numbers: int,
        partition: int = 0,
        timestamp_ms: int | None = None,
        key: bytes | None = None,
        producer: Producer | None = None,
    ) -> None:
        """Records that hold these numbers, as one batch."""
        for number in numbers:
            value = json.dumps({"n": number}).encode()
            self.send_bytes(
                value, partition=partition, timestamp_ms=timestamp_ms, key=key, producer=producer, now=False
            )
        self.flush(producer)

    def send_bytes(
        self,
        value: bytes | None,
        *,
        partition: int = 0,
        timestamp_ms: int | None = None,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        producer: Producer | None = None,
        now: bool = True,
    ) -> None:
        def delivered(error: KafkaError | None, _: object) -> None:
            assert error is None, error

        more = {} if timestamp_ms is None else {"timestamp": timestamp_ms}
        (producer or self._producer).produce(
            self.topic, value, key, partition=partition, headers=list(headers), on_delivery=delivered, **more
        )
        if now:
            self.flush(producer)

    def flush(self, producer: Producer | None = None) -> None:
        assert (producer or self._producer).flush(60) == 0

    def transaction(self) -> Transaction:
        return Transaction(self)

    def end(self, partition: int = 0) -> int:
        """The high watermark."""
        return self._offsets(partition).high_watermark

    def begin(self, partition: int = 0) -> int:
        """The log start."""
        return self._offsets(partition).log_start

    def _offsets(self, partition: int) -> PartitionOffsets:
        tp = TopicPartition(self.topic, partition)
        self._broker.topics()  # a partition that is new is known afterwards
        return self._broker.offsets([tp])[tp]

    def delete_before(self, offset: int, partition: int = 0) -> None:
        """What retention and kafka-delete-records do: the log starts at `offset` afterwards."""
        admin = self.part.admin()
        futures = admin.delete_records([Assignment(self.topic, partition, offset)])
        assert [future.result(30).low_watermark for future in futures.values()] == [offset]

    def readable(self, partition: int = 0, isolation: str = "read_committed") -> dict[int, bytes | None]:
        """What another consumer reads, with nothing of ours: values by offset."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.part.bootstrap_servers,
                "group.id": "conditions",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "isolation.level": isolation,
            }
        )
        found: dict[int, bytes | None] = {}
        with contextlib.closing(consumer):
            consumer.assign([Assignment(self.topic, partition, 0)])
            while True:
                message = consumer.poll(30)
                assert message is not None, "no end of the partition within 30 s"
                error = message.error()
                if error is not None:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    return found
                found[message.offset() or 0] = message.value()

    # What the export holds.

    def entries(self) -> list[Entry]:
        """The log, oldest first; its chain of checksums is checked."""
        return [each.entry for each in self.exporter().log.entries()][::-1]

    def ranges(self) -> list[RangeEntry]:
        return [done for entry in self.entries() for done in entry.ranges]

    def objects(self) -> list[ObjectEntry]:
        return [made for done in self.ranges() for made in done.objects]

    def rows(self) -> list[dict[str, Any]]:
        """Every JSON row of every object that the log lists, in the log's order."""
        contents = self.store.contents()
        return [row for made in self.objects() for row in rows_of(contents[made.key], made.key)]

    def numbers(self, generation: int = 0) -> dict[int, list[int]]:
        """The numbers exported of each partition in a generation of the topic, in the order of their offsets."""
        contents = self.store.contents()
        found: dict[int, list[tuple[int, int]]] = {}
        for made in self.objects():
            name = parse_data_key(self.settings().layout, self.topic, made.key)
            if name is None or name.generation != generation:
                continue
            rows = [(row["_kafka_offset"], row["n"]) for row in rows_of(contents[made.key], made.key)]
            assert name.start_offset == made.first_offset == rows[0][0]
            found.setdefault(name.partition, []).extend(rows)
        for partition, each in found.items():
            assert len({offset for offset, _ in each}) == len(each), f"partition {partition} has an offset twice"
        return {partition: [number for _, number in sorted(rows)] for partition, rows in sorted(found.items())}

    def positions(self) -> dict[int, int]:
        return dict(self.entries()[-1].topics[self.topic].positions)

    def skipped(self, partition: int = 0) -> int:
        """Offsets without a visible record, by the log."""
        return sum(done.skipped_offsets for done in self.ranges() if done.partition == partition)

    def check(self, expected: Mapping[int, Sequence[int]] | Sequence[int], *, gone: bool = False) -> None:
        """Exactly these numbers are exported, all offsets up to the positions accounted for, and verify finds the same
        in Kafka; `gone`: Kafka may no longer hold some of them."""
        wanted = dict(expected) if isinstance(expected, Mapping) else {0: list(expected)}
        assert self.numbers() == {p: list(numbers) for p, numbers in wanted.items() if numbers}
        self.check_accounts()
        verified = self.verified()
        assert [str(finding) for finding in verified.findings] == []
        assert verified.orphans == ()
        assert verified.records == len(self.rows())
        if not gone:
            assert verified.notes == ()
            assert verified.ranges_compared == len(self.ranges())

    def check_accounts(self) -> None:
        """From entry to entry every partition's ranges follow on, but for what the log itself says is gone, and every
        offset of a range is a record, a rejected one, a tombstone or a hole."""
        positions: dict[TopicPartition, int] = {}
        for entry in self.entries():
            if entry.kind is Kind.CHECKPOINT and not entry.gaps and not entry.restarts:
                for partition, at in entry.topics[self.topic].positions.items():
                    positions.setdefault(TopicPartition(self.topic, partition), at)
            for restart in entry.restarts:
                positions[restart.tp] = restart.position
            for gap in entry.gaps:
                assert gap.start == positions.get(gap.tp, 0), gap
                positions[gap.tp] = gap.end
            for done in entry.ranges:
                done.check_accounting()
                assert done.start == positions.get(done.tp, 0), done
                positions[done.tp] = done.next_offset
            stated = entry.topics[self.topic].positions
            # A topic that came back with fewer partitions may grow again.
            positions = {tp: at for tp, at in positions.items() if tp.partition in stated}
            assert {p: positions.get(TopicPartition(self.topic, p), 0) for p in stated} == stated

    def requests(self, begin: int = 0) -> Counter[str]:
        """Requests to the store by kind, from the `begin`-th on."""
        return Counter(request.operation for request in self.store.requests[begin:])


def rows_of(body: bytes, key: str) -> list[Any]:
    """The JSON values of an object."""
    data = gzip.decompress(body) if key.endswith(".gz") else body
    return [json.loads(line) for line in data.splitlines()]
