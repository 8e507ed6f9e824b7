"""What every `Broker` and `RecordSource` does, in memory and over librdkafka against a real broker."""

from __future__ import annotations

import contextlib
import itertools
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Assignment

from kafka_s3.adapters.kafka import KafkaBroker, KafkaSource
from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.errors import KafkaUnavailable
from kafka_s3.ports import Broker, RangeReader, RecordSource
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.records import Record
from kafka_s3.settings.kafka import KafkaSettings
from tests.support import make_settings
from tools.parts.kafka import KafkaBroker as KafkaPart

TOPIC = {"max.message.bytes": "20000000", "message.timestamp.after.max.ms": str(2**63 - 1)}
MIB = 1024 * 1024


class Cluster(Protocol):
    """Kafka, and what may happen in it. Offsets of what is appended follow on; those of `Record`s are not looked at."""

    def configured(self, *, topics: Sequence[str] = (), topics_regex: str | None = None) -> Broker:
        """A broker for a connector of these topics; call it once, before topics are made."""

    @property
    def broker(self) -> Broker: ...
    @property
    def source(self) -> RecordSource: ...
    def impatient(self) -> RecordSource:
        """A source that gives up soon where nothing comes."""

    def create(self, topic: str, partitions: int = 1) -> None: ...
    def create_kept(self, topic: str, retention_ms: int | None) -> None:
        """A topic whose records are deleted by age, or never."""

    def create_cleaned(self, topic: str, *policies: str) -> None:
        """A topic with a cleanup.policy."""

    def delete(self, topic: str) -> None: ...
    def append(self, tp: TopicPartition, *records: Record) -> None: ...
    def abort(self, tp: TopicPartition, *timestamps: int) -> None:
        """An aborted transaction of one record per timestamp: so many offsets that nobody sees, and a marker's."""

    def transaction(self, tp: TopicPartition, *records: Record) -> contextlib.AbstractContextManager[None]:
        """Records of a transaction that is open inside the `with` and committed at its end."""

    def delete_before(self, tp: TopicPartition, offset: int) -> None:
        """Retention: the log starts at `offset` afterwards."""

    def commit(self, group: str, tp: TopicPartition, offset: int) -> contextlib.AbstractContextManager[None]:
        """A consumer group of one member, which is there inside the `with`, has committed an offset."""


class MemoryCluster:
    def __init__(self) -> None:
        self.broker = self.source = MemoryBroker()

    def configured(self, *, topics: Sequence[str] = (), topics_regex: str | None = None) -> Broker:
        self.broker = self.source = MemoryBroker(topics=topics, topics_regex=topics_regex)
        return self.broker

    def impatient(self) -> RecordSource:
        return self.broker

    def create(self, topic: str, partitions: int = 1) -> None:
        self.broker.create_topic(topic, partitions)

    def create_kept(self, topic: str, retention_ms: int | None) -> None:
        self.broker.create_topic(topic)
        self.broker.set_retention(topic, retention_ms)

    def create_cleaned(self, topic: str, *policies: str) -> None:
        self.broker.create_topic(topic)
        self.broker.set_cleanup(topic, *policies)

    def delete(self, topic: str) -> None:
        self.broker.delete_topic(topic)

    def append(self, tp: TopicPartition, *records: Record) -> None:
        start = self.broker.offsets([tp])[tp].high_watermark
        self.broker.append(*tp, *(replace(record, offset=start + n) for n, record in enumerate(records)))

    def abort(self, tp: TopicPartition, *timestamps: int) -> None:
        for timestamp_ms in timestamps:
            self.broker.append_holes(*tp, timestamp_ms=timestamp_ms)
        self.broker.append_holes(*tp)

    @contextlib.contextmanager
    def transaction(self, tp: TopicPartition, *records: Record) -> Iterator[None]:
        self.broker.set_last_stable(*tp, self.broker.offsets([tp])[tp].high_watermark)
        self.append(tp, *records)
        yield
        self.broker.append_holes(*tp)
        self.broker.set_last_stable(*tp, None)

    def delete_before(self, tp: TopicPartition, offset: int) -> None:
        self.broker.set_log_start(*tp, offset)

    @contextlib.contextmanager
    def commit(self, group: str, tp: TopicPartition, offset: int) -> Iterator[None]:
        self.broker.set_group(group, {tp: offset}, members=1)
        yield
        self.broker.set_group(group, {tp: offset})


class RealCluster:
    def __init__(self, part: KafkaPart) -> None:
        self.part = part
        # By default librdkafka waits 30 s before it believes that a topic is gone.
        client = {"bootstrap.servers": part.bootstrap_servers, "topic.metadata.propagation.max.ms": "500"}
        self.kafka = KafkaSettings(client, idle_timeout_ms=30_000)
        self.source = KafkaSource(self.kafka)
        self.broker: Broker = KafkaBroker(make_settings(topics=(), kafka=self.kafka))
        self._producer = Producer({"bootstrap.servers": part.bootstrap_servers, "message.max.bytes": 20_000_000})
        self._transactional: Producer | None = None

    def configured(self, *, topics: Sequence[str] = (), topics_regex: str | None = None) -> Broker:
        return KafkaBroker(make_settings(topics=tuple(topics), topics_regex=topics_regex, kafka=self.kafka))

    def impatient(self) -> RecordSource:
        return KafkaSource(replace(self.kafka, idle_timeout_ms=1000))

    def create(self, topic: str, partitions: int = 1) -> None:
        self.part.create_topic(topic, partitions, TOPIC)

    def create_kept(self, topic: str, retention_ms: int | None) -> None:
        kept_ms = -1 if retention_ms is None else retention_ms
        self.part.create_topic(topic, 1, {"retention.ms": str(kept_ms)})

    def create_cleaned(self, topic: str, *policies: str) -> None:
        self.part.create_topic(topic, 1, {"cleanup.policy": ",".join(policies)})

    def delete(self, topic: str) -> None:
        self.part.delete_topic(topic)

    def append(self, tp: TopicPartition, *records: Record) -> None:
        self._produce(self._producer, tp, records)

    def abort(self, tp: TopicPartition, *timestamps: int) -> None:
        producer = self._begin(tp, [Record(0, b"aborted", timestamp_ms=timestamp_ms) for timestamp_ms in timestamps])
        producer.abort_transaction(30)
        self._await_marker(tp)

    @contextlib.contextmanager
    def transaction(self, tp: TopicPartition, *records: Record) -> Iterator[None]:
        producer = self._begin(tp, records)
        yield
        producer.commit_transaction(30)
        self._await_marker(tp)

    def delete_before(self, tp: TopicPartition, offset: int) -> None:
        admin = self.part.admin()  # a request ends with its client
        futures = admin.delete_records([Assignment(*tp, offset)])
        assert [future.result(30).low_watermark for future in futures.values()] == [offset]

    @contextlib.contextmanager
    def commit(self, group: str, tp: TopicPartition, offset: int) -> Iterator[None]:
        configuration = {"bootstrap.servers": self.part.bootstrap_servers, "group.id": group}
        consumer = Consumer({**configuration, "enable.auto.commit": False})
        try:
            consumer.subscribe([tp.topic])
            wait_for(lambda: consumer.poll(0.1) is not None or consumer.assignment())
            consumer.commit(offsets=[Assignment(*tp, offset)], asynchronous=False)
            yield
        finally:
            consumer.close()

    def _await_marker(self, tp: TopicPartition) -> None:
        """The end of a transaction is written into its partitions only after its producer was told."""
        wait_for(lambda: (at := self.broker.offsets([tp])[tp]).last_stable == at.high_watermark)

    def _begin(self, tp: TopicPartition, records: Sequence[Record]) -> Producer:
        if self._transactional is None:
            name = f"contract-{uuid.uuid4()}"
            self._transactional = Producer({"bootstrap.servers": self.part.bootstrap_servers, "transactional.id": name})
            self._transactional.init_transactions(30)
        self._transactional.begin_transaction()
        self._produce(self._transactional, tp, records)
        return self._transactional

    def _produce(self, producer: Producer, tp: TopicPartition, records: Sequence[Record]) -> None:
        failed: list[object] = []
        for record in records:
            producer.produce(
                tp.topic,
                record.value,
                record.key,
                partition=tp.partition,
                timestamp=-1 if record.timestamp_ms is None else record.timestamp_ms,
                headers=list(record.headers),
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
            producer.poll(0)
        assert producer.flush(60) == 0
        assert failed == []


def wait_for(is_so: Any) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen within a minute"
        time.sleep(0.02)


@pytest.fixture(params=["memory", "kafka"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    if request.param == "memory":
        return MemoryCluster()
    return RealCluster(request.getfixturevalue("kafka"))


@pytest.fixture
def tp(cluster: Cluster, topic_name: str) -> TopicPartition:
    """The one partition of a new topic."""
    cluster.create(topic_name)
    return TopicPartition(topic_name, 0)


def made(count: int) -> list[Record]:
    """Records whose values count up from 0 and whose timestamps from 1,000 ms, a second apart."""
    return [Record(0, b"%d" % n, timestamp_ms=1000 * (n + 1)) for n in range(count)]


def records_of(reader: RangeReader) -> list[Record]:
    """Every record of a range, whose batches are checked to be columns of the same length in offset order."""
    found: list[Record] = []
    with contextlib.closing(reader):
        for batch in reader:
            columns = (batch.values(), batch.keys(), batch.timestamps(), batch.headers())
            assert {len(column) for column in columns} == {len(batch)} != {0}
            for index, (value, key, timestamp_ms, headers) in enumerate(zip(*columns, strict=True)):
                record = Record(batch.offset_at(index), value, key, timestamp_ms, tuple(headers))
                assert not found or record.offset > found[-1].offset
                found.append(record)
    return found


def offsets_of(source: RecordSource, tp: TopicPartition, start: int, end: int) -> list[int]:
    return [record.offset for record in records_of(source.open(OffsetRange(tp, start, end)))]


# Ranges


def test_plain_range(cluster: Cluster, tp: TopicPartition) -> None:
    """A range of all there is gives every record with its offset and value, and then ends by itself."""
    cluster.append(tp, *made(10))
    reader = cluster.source.open(OffsetRange(tp, 0, 10))
    assert [(record.offset, record.value) for record in records_of(reader)] == [(n, b"%d" % n) for n in range(10)]
    assert reader.leader_epoch == 0


@pytest.mark.parametrize(("start", "end"), [(3, 7), (0, 1), (9, 10), (4, 5)])
def test_range_in_the_middle(cluster: Cluster, tp: TopicPartition, start: int, end: int) -> None:
    """A range gives its own offsets and none before or behind it."""
    cluster.append(tp, *made(10))
    assert offsets_of(cluster.source, tp, start, end) == list(range(start, end))


def test_split_ranges_make_the_whole(cluster: Cluster, tp: TopicPartition) -> None:
    """The parts of a split range, holes among them, give together what the whole gives."""
    cluster.append(tp, *made(5))
    cluster.abort(tp, 1, 2, 3)
    cluster.append(tp, *made(5))
    whole = OffsetRange(tp, 0, 14)
    parts = [offsets_of(cluster.source, tp, part.start, part.end) for part in whole.split(3)]
    assert [*itertools.chain(*parts)] == offsets_of(cluster.source, tp, 0, 14) == [0, 1, 2, 3, 4, 9, 10, 11, 12, 13]


def test_empty_range(cluster: Cluster, tp: TopicPartition) -> None:
    """A range of no offsets gives nothing, and has no leader epoch."""
    reader = cluster.source.open(OffsetRange(tp, 0, 0))
    assert records_of(reader) == []
    assert reader.leader_epoch is None


def test_closing_twice_is_harmless(cluster: Cluster, tp: TopicPartition) -> None:
    """A reader may be closed before it was read, and more than once."""
    reader = cluster.source.open(OffsetRange(tp, 0, 1))
    reader.close()
    reader.close()


def test_partitions_are_apart(cluster: Cluster, topic_name: str) -> None:
    """A range reads one partition of a topic."""
    cluster.create(topic_name, 2)
    first, second = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    cluster.append(first, Record(0, b"first"))
    cluster.append(second, Record(0, b"second"))
    assert [record.value for record in records_of(cluster.source.open(OffsetRange(second, 0, 1)))] == [b"second"]


# Holes


@pytest.mark.parametrize("end", [4, 5, 6])
def test_range_that_ends_in_a_hole(cluster: Cluster, tp: TopicPartition, end: int) -> None:
    """A range whose last offsets hold nothing ends at the first record past it, which it does not give."""
    cluster.append(tp, *made(3))
    cluster.abort(tp, 1, 2, 3)
    cluster.append(tp, *made(3))
    assert offsets_of(cluster.source, tp, 0, end) == [0, 1, 2]


def test_range_that_starts_in_a_hole(cluster: Cluster, tp: TopicPartition) -> None:
    """A range that begins where nothing is gives the first record behind the hole."""
    cluster.abort(tp, 1, 2, 3)
    cluster.append(tp, *made(2))
    assert offsets_of(cluster.source, tp, 1, 6) == [4, 5]


def test_aborted_transaction_at_the_tail(cluster: Cluster, tp: TopicPartition) -> None:
    """Aborted records and markers at the very end of the log end the range: no record past it ever comes."""
    cluster.append(tp, *made(3))
    cluster.abort(tp, 1, 2, 3, 4)
    end = cluster.broker.offsets([tp])[tp].last_stable
    assert end == 8
    assert offsets_of(cluster.source, tp, 0, end) == [0, 1, 2]


def test_range_of_holes_only(cluster: Cluster, tp: TopicPartition) -> None:
    """A range in which nobody may see a record gives none and ends."""
    cluster.abort(tp, 1, 2, 3)
    assert offsets_of(cluster.source, tp, 0, 4) == []
    assert offsets_of(cluster.source, tp, 2, 3) == []


def test_marker_of_a_committed_transaction(cluster: Cluster, tp: TopicPartition) -> None:
    """The marker that commits a transaction holds an offset and is not a record."""
    with cluster.transaction(tp, *made(2)):
        pass
    cluster.append(tp, *made(1))
    assert offsets_of(cluster.source, tp, 0, 4) == [0, 1, 3]


def test_open_transaction_holds_the_lso(cluster: Cluster, tp: TopicPartition) -> None:
    """What lies behind an open transaction cannot be read: the error names where the reading stands and the end."""
    cluster.append(tp, *made(2))
    with cluster.transaction(tp, *made(3)):
        cluster.append(tp, *made(2))
        offsets = cluster.broker.offsets([tp])[tp]
        assert (offsets.log_start, offsets.last_stable, offsets.high_watermark) == (0, 2, 7)
        assert offsets_of(cluster.source, tp, 0, 2) == [0, 1]
        with pytest.raises(KafkaUnavailable) as caught:
            offsets_of(cluster.impatient(), tp, 0, 7)
        assert f"{tp} [0, 7)" in str(caught.value)
        assert "2" in str(caught.value)
    assert offsets_of(cluster.source, tp, 0, 7) == [0, 1, 2, 3, 4, 5, 6]


def test_end_above_the_log(cluster: Cluster, tp: TopicPartition) -> None:
    """A log that was cut below the planned end is an error that names both, not an end."""
    cluster.append(tp, *made(2))
    with pytest.raises(KafkaUnavailable, match=r"\[0, 9\).* 2\b") as caught:
        offsets_of(cluster.impatient(), tp, 0, 9)
    assert caught.value.exit_status == 75


def test_records_that_arrive_meanwhile(cluster: Cluster, tp: TopicPartition) -> None:
    """The end of the partition, met again and again below the range's end, does not end the range."""
    cluster.append(tp, *made(2))
    found: list[int] = []
    with contextlib.closing(cluster.source.open(OffsetRange(tp, 0, 10))) as reader:
        for batch in reader:
            found += [batch.offset_at(index) for index in range(len(batch))]
            if len(found) < 10:
                cluster.append(tp, *made(2))
    assert found == list(range(10))
