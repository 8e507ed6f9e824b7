"""What every `Broker` and `RecordSource` does, in memory and over librdkafka against a real broker."""

from __future__ import annotations

import contextlib
import itertools
import random
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as Assignment

from kafka_s3.adapters.kafka import KafkaBroker, KafkaSource
from kafka_s3.adapters.kafka.reader import BATCH_BYTES, BATCH_RECORDS_MAX
from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.errors import DataLoss, KafkaUnavailable, TopicMissing
from kafka_s3.ports import Broker, GroupOffsets, LogPoint, RangeReader, RecordSource, TimedOffset
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
    """The marker that commits a transaction holds an offset and is no record."""
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


# What is gone


def test_log_start_moved(cluster: Cluster, tp: TopicPartition) -> None:
    """A range whose start was deleted is data loss, which names the log's bounds; from the log start all is well."""
    cluster.append(tp, *made(10))
    cluster.delete_before(tp, 6)
    offsets = cluster.broker.offsets([tp])[tp]
    assert (offsets.log_start, offsets.last_stable, offsets.high_watermark) == (6, 10, 10)
    with pytest.raises(DataLoss, match=rf"{tp} \[2, 10\).*\[6, 10\)") as caught:
        offsets_of(cluster.source, tp, 2, 10)
    assert caught.value.exit_status == 65
    assert offsets_of(cluster.source, tp, 6, 10) == [6, 7, 8, 9]


def test_start_above_the_log(cluster: Cluster, tp: TopicPartition) -> None:
    """A range that starts past the end of the log is data loss: the log was truncated, or is another one."""
    cluster.append(tp, *made(2))
    with pytest.raises(DataLoss, match=r"\[5, 9\).*\[0, 2\)"):
        offsets_of(cluster.source, tp, 5, 9)


def test_topic_deleted_while_it_is_read(cluster: Cluster, tp: TopicPartition) -> None:
    """A topic that vanishes below a reader is data loss that names the topic, not silence."""
    cluster.append(tp, *made(2))
    with contextlib.closing(cluster.source.open(OffsetRange(tp, 0, 9))) as reader:
        batches = iter(reader)
        next(batches)
        cluster.delete(tp.topic)
        with pytest.raises(DataLoss, match=tp.topic):
            list(batches)


def test_topic_missing(cluster: Cluster) -> None:
    """A topic that does not exist is left out of the topics, missing where offsets are asked for, lost to a reader."""
    tp = TopicPartition("no-such-topic", 0)
    assert cluster.configured(topics=["no-such-topic"]).topics() == {}
    with pytest.raises(TopicMissing, match="no-such-topic"):
        cluster.broker.offsets([tp])
    with pytest.raises(TopicMissing, match="no-such-topic"):
        cluster.broker.offsets_for_time([tp], 0)
    with pytest.raises(DataLoss, match="no-such-topic"):
        offsets_of(cluster.source, tp, 0, 1)


def test_partition_missing(cluster: Cluster, tp: TopicPartition) -> None:
    """A partition that a topic does not have is missing like a topic, also beside one that is there."""
    absent = TopicPartition(tp.topic, 7)
    with pytest.raises(TopicMissing, match=f"{tp.topic}-7"):
        cluster.broker.offsets([tp, absent])
    with pytest.raises(DataLoss, match=f"{tp.topic}-7"):
        offsets_of(cluster.source, absent, 0, 1)


# What planning asks


def test_topics_by_name(cluster: Cluster, topic_name: str) -> None:
    """The topics configured by name are those, with their partitions; others and missing ones are left out."""
    broker = cluster.configured(topics=[topic_name, "no-such-topic"])
    cluster.create(topic_name, 3)
    cluster.create(f"{topic_name}-more")
    (view,) = broker.topics().values()
    assert (view.name, view.partitions) == (topic_name, (0, 1, 2))


def test_topics_by_regex(cluster: Cluster, topic_name: str) -> None:
    """`topics.regex` has to match the whole name."""
    broker = cluster.configured(topics_regex=rf"{topic_name}-[ab]+")
    for name in ("a", "bb", "c", "a.dlq"):
        cluster.create(f"{topic_name}-{name}")
    assert list(broker.topics()) == [f"{topic_name}-a", f"{topic_name}-bb"]


def test_regex_matches_nothing(cluster: Cluster) -> None:
    """A pattern without a match is no topics, and no error."""
    assert cluster.configured(topics_regex="no-such-topic.*").topics() == {}


def test_topic_id_tells_topics_apart(cluster: Cluster, topic_name: str) -> None:
    """The id of a topic stays while it lives, and is another one once it was deleted and made again."""
    broker = cluster.configured(topics=[topic_name])
    cluster.create(topic_name)
    first = broker.topics()[topic_name].topic_id
    assert first == broker.topics()[topic_name].topic_id
    cluster.delete(topic_name)
    assert broker.topics() == {}
    cluster.create(topic_name)
    assert broker.topics()[topic_name].topic_id not in (first, "")


def test_cluster_id(cluster: Cluster) -> None:
    """A cluster has an id, always the same."""
    assert cluster.broker.cluster_id() == cluster.broker.cluster_id() != ""


def test_offsets(cluster: Cluster, topic_name: str) -> None:
    """Every partition that is asked for is answered, empty ones with zeros; asking for none is fine."""
    cluster.create(topic_name, 3)
    tps = [TopicPartition(topic_name, number) for number in range(3)]
    cluster.append(tps[1], *made(4))
    offsets = cluster.broker.offsets(iter(tps))
    assert [(offsets[tp].log_start, offsets[tp].last_stable, offsets[tp].high_watermark) for tp in tps] == [
        (0, 0, 0),
        (0, 4, 4),
        (0, 0, 0),
    ]
    assert cluster.broker.offsets([]) == {}
    assert cluster.broker.offsets_for_time([], 0) == {}


def test_log_that_is_what_it_was(cluster: Cluster, topic_name: str) -> None:
    """No log parts from itself: not at its beginning, in its middle, in a hole, or at its end, of whatever epoch."""
    tps = [TopicPartition(topic_name, p) for p in range(3)]
    cluster.create(topic_name, 3)
    for tp in tps:
        cluster.append(tp, *made(3))
    cluster.abort(tps[0], 1)
    assert {offsets.leader_epoch for offsets in cluster.broker.offsets(tps).values()} == {0}
    for offsets in ([3, 0, 1], [4, 3, 2], [5, 3, 3]):
        assert cluster.broker.diverged({tp: LogPoint(at, 0) for tp, at in zip(tps, offsets, strict=True)}) == {}
    assert cluster.broker.diverged({}) == {}


def test_log_that_is_shorter(cluster: Cluster, topic_name: str) -> None:
    """A point above the end of the log: it parts there. Points of other partitions have answers of their own."""
    short, long = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    cluster.create(topic_name, 2)
    cluster.append(short, *made(3))
    cluster.append(long, *made(9))
    assert cluster.broker.diverged({short: LogPoint(7, 0), long: LogPoint(7, 0)}) == {short: 3}


def test_log_in_an_open_transaction(cluster: Cluster, tp: TopicPartition) -> None:
    """A point above the LSO is asked about like any other: an open transaction holds no answer up."""
    cluster.append(tp, *made(2))
    with cluster.transaction(tp, *made(2)):
        assert cluster.broker.diverged({tp: LogPoint(4, 0)}) == {}


def test_log_whose_start_has_passed_a_point(cluster: Cluster, tp: TopicPartition) -> None:
    """What retention took is lost, which the log start says: the log itself is what it was."""
    cluster.append(tp, *made(6))
    cluster.delete_before(tp, 4)
    assert cluster.broker.diverged({tp: LogPoint(2, 0)}) == {}


def test_log_that_never_had_the_epoch(cluster: Cluster, tp: TopicPartition) -> None:
    """An epoch newer than any of the log: nothing shows that a record is the same, back to the log start."""
    cluster.append(tp, *made(6))
    cluster.delete_before(tp, 2)
    assert cluster.broker.diverged({tp: LogPoint(5, 7)}) == {tp: 2}


def test_log_of_no_topic(cluster: Cluster) -> None:
    """A topic that does not exist is an error that names it, here too."""
    with pytest.raises(TopicMissing, match="no-such-topic"):
        cluster.broker.diverged({TopicPartition("no-such-topic", 0): LogPoint(1, 0)})


def test_offsets_for_time(cluster: Cluster, tp: TopicPartition) -> None:
    """The first offset at or after a time, with its timestamp; before all: the first; after all: none."""
    cluster.append(tp, *made(5))
    asked = {
        0: TimedOffset(0, 1000),
        1000: TimedOffset(0, 1000),
        1001: TimedOffset(1, 2000),
        5000: TimedOffset(4, 5000),
        5001: None,
        10**14: None,
    }
    assert {time_ms: cluster.broker.offsets_for_time([tp], time_ms)[tp] for time_ms in asked} == asked


def test_offsets_for_time_out_of_order(cluster: Cluster, tp: TopicPartition) -> None:
    """Where timestamps go back and forth the lowest offset counts, not the nearest time."""
    cluster.append(tp, *(Record(0, b"", timestamp_ms=at) for at in (5000, 1000, 9000, 2000)))
    assert cluster.broker.offsets_for_time([tp], 1500)[tp] == TimedOffset(0, 5000)
    assert cluster.broker.offsets_for_time([tp], 6000)[tp] == TimedOffset(2, 9000)


def test_offsets_for_time_begin_at_the_log_start(cluster: Cluster, tp: TopicPartition) -> None:
    """What was deleted is not found."""
    cluster.append(tp, *made(5))
    cluster.delete_before(tp, 3)
    assert cluster.broker.offsets_for_time([tp], 0)[tp] == TimedOffset(3, 4000)


def test_offsets_for_time_stop_at_the_lso(cluster: Cluster, tp: TopicPartition) -> None:
    """A match inside or behind an open transaction is none yet."""
    cluster.append(tp, *made(2))
    with cluster.transaction(tp, Record(0, b"", timestamp_ms=7000)):
        assert cluster.broker.offsets_for_time([tp], 7000)[tp] is None
        assert cluster.broker.offsets_for_time([tp], 1001)[tp] == TimedOffset(1, 2000)
    assert cluster.broker.offsets_for_time([tp], 7000)[tp] == TimedOffset(2, 7000)


def test_offsets_for_time_see_aborted_records(cluster: Cluster, tp: TopicPartition) -> None:
    """The record found may be one that nobody can read: planning has to expect it."""
    cluster.append(tp, *made(2))
    cluster.abort(tp, 4000)
    cluster.append(tp, Record(0, b"", timestamp_ms=5000))
    assert cluster.broker.offsets_for_time([tp], 3000)[tp] == TimedOffset(2, 4000)


def test_offsets_for_time_pass_over_records_without_timestamp(cluster: Cluster, tp: TopicPartition) -> None:
    """A record without a timestamp is at no time."""
    cluster.append(tp, Record(0, b""))
    assert cluster.broker.offsets_for_time([tp], 0)[tp] is None
    cluster.append(tp, Record(0, b"", timestamp_ms=1000))
    assert cluster.broker.offsets_for_time([tp], 0)[tp] == TimedOffset(1, 1000)


def test_first_timestamp(cluster: Cluster, tp: TopicPartition) -> None:
    """The timestamp of the first record of a range that can be seen; -1 without one; None without a record."""
    cluster.append(tp, *made(3))
    cluster.abort(tp, 9000, 9000)
    cluster.append(tp, Record(0, b""), Record(0, b"", timestamp_ms=500))
    ask = cluster.broker.first_timestamp
    assert ask(tp, 0, 8) == 1000
    assert ask(tp, 2, 8) == 3000
    assert ask(tp, 3, 8) == -1
    assert ask(tp, 7, 8) == 500
    assert ask(tp, 3, 6) is None
    assert ask(tp, 3, 3) is None


def test_first_timestamp_of_what_is_gone(cluster: Cluster, tp: TopicPartition) -> None:
    """Below the log start there is nothing to look at: data loss."""
    cluster.append(tp, *made(3))
    cluster.delete_before(tp, 2)
    with pytest.raises(DataLoss):
        cluster.broker.first_timestamp(tp, 0, 3)


def test_committed(cluster: Cluster, topic_name: str) -> None:
    """A group's members and its offsets, of the partitions asked for that have one; both stay apart."""
    cluster.create(topic_name, 2)
    first, second = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    group = f"group-{topic_name}"
    cluster.append(first, *made(5))
    with cluster.commit(group, first, 3):
        assert cluster.broker.committed(group, [first, second]) == GroupOffsets(1, {first: 3})
        assert cluster.broker.committed(group, []) == GroupOffsets(1, {})
    assert cluster.broker.committed(group, [first, second]) == GroupOffsets(0, {first: 3})
    assert cluster.broker.committed(group, [second]) == GroupOffsets(0, {})


def test_committed_of_no_group(cluster: Cluster, tp: TopicPartition) -> None:
    """A group that does not exist has neither members nor offsets."""
    assert cluster.broker.committed(f"nobody-{uuid.uuid4()}", [tp]) == GroupOffsets(0, {})


def test_retention(cluster: Cluster, topic_name: str) -> None:
    """How long each topic keeps a record, `None` for ever; what is not there is left out."""
    cluster.create_kept(f"{topic_name}-short", 90_000)
    cluster.create_kept(f"{topic_name}-ever", None)
    asked = [f"{topic_name}-short", f"{topic_name}-ever", "no-such-topic"]
    assert cluster.broker.retention_ms(asked) == {asked[0]: 90_000, asked[1]: None}
    assert cluster.broker.retention_ms([]) == {}


def test_cleanup_policies(cluster: Cluster, topic_name: str) -> None:
    """What becomes of old records of each topic; what is not there is left out."""
    made = {f"{topic_name}-{name}": set(name.split("-")) for name in ("delete", "compact", "compact-delete")}
    for name, policies in made.items():
        cluster.create_cleaned(name, *sorted(policies))
    assert cluster.broker.cleanup_policies([*made, "no-such-topic"]) == made
    assert cluster.broker.cleanup_policies([]) == {}


# Records


def test_keys_values_headers_timestamps(cluster: Cluster, tp: TopicPartition) -> None:
    """Everything a record holds comes back as it was sent: nulls, empty bytes, no UTF-8, repeated headers in order."""
    sent = [
        Record(0, b"value", b"key", 1_700_000_000_123, (("a", b"1"),)),
        Record(1, None, b"tombstone", 1_700_000_000_124),
        Record(2, b"no key", None, 1_700_000_000_125),
        Record(3, b"", b"", 2),
        Record(4, b"\xff\xfe\x00", b"\x00\xff", 1, (("b", b"\xff\x00"), ("a", None), ("b", b""), ("b", b"2"))),
        Record(5, None, None, None),
        Record(6, "größe 🙂".encode(), b"", 253_402_300_799_000, (("größe", b""), ("", b"no name"))),
    ]
    cluster.append(tp, *sent)
    assert records_of(cluster.source.open(OffsetRange(tp, 0, 7))) == sent


def test_large_records_among_tiny_ones(cluster: Cluster, tp: TopicPartition) -> None:
    """Records of 1 MiB between runs of tiny ones, and one of 5 MiB, above every fetch limit, all arrive whole."""
    blob = random.Random(1).randbytes(MIB)
    records: list[Record] = []
    for round in range(4):
        records += [Record(0, b"tiny %d" % n) for n in range(700)] + [Record(0, blob, b"%d" % round)] * 2
    records += [Record(0, blob * 5), Record(0, b"last")]
    cluster.append(tp, *records)
    found = records_of(cluster.source.open(OffsetRange(tp, 0, len(records))))
    assert [record.value for record in found] == [record.value for record in records]
    assert [record.offset for record in found] == list(range(len(records)))


def test_many_records(cluster: Cluster, tp: TopicPartition) -> None:
    """20,000 records come each once, in order, in bounded batches, from any start."""
    cluster.append(tp, *made(20_000))
    with contextlib.closing(cluster.source.open(OffsetRange(tp, 137, 20_000))) as reader:
        batches = [list(batch.values()) for batch in reader]
    assert [*itertools.chain(*batches)] == [b"%d" % n for n in range(137, 20_000)]
    assert max(map(len, batches)) <= BATCH_RECORDS_MAX


# What only a real broker shows


@pytest.fixture
def real(kafka: KafkaPart) -> RealCluster:
    return RealCluster(kafka)


def test_batches_follow_the_size_of_records(real: RealCluster, topic_name: str) -> None:
    """Where records are large, a batch holds about as many as fit into BATCH_BYTES."""
    tp = TopicPartition(topic_name, 0)
    real.create(topic_name)
    real.append(tp, *[Record(0, bytes(100_000))] * 1200)
    with contextlib.closing(real.source.open(OffsetRange(tp, 0, 1200))) as reader:
        sizes = [len(batch) for batch in reader]
    assert sum(sizes) == 1200
    assert max(sizes[1:]) <= BATCH_BYTES // 100_000


def test_read_uncommitted(real: RealCluster, topic_name: str) -> None:
    """Under read_uncommitted open and aborted records are records, and the LSO is the high watermark."""
    tp = TopicPartition(topic_name, 0)
    real.create(topic_name)
    kafka = replace(real.kafka, isolation_level="read_uncommitted")
    real.abort(tp, 1, 2)
    with real.transaction(tp, *made(2)):
        offsets = KafkaBroker(make_settings(kafka=kafka)).offsets([tp])[tp]
        assert (offsets.last_stable, offsets.high_watermark) == (5, 5)
        assert offsets_of(KafkaSource(kafka), tp, 0, 5) == [0, 1, 3, 4]


def test_regex_leaves_internal_topics_out(real: RealCluster, topic_name: str) -> None:
    """A pattern for everything takes no internal topics; named, one is exported like any other."""
    real.create(topic_name)
    real.abort(TopicPartition(topic_name, 0), 1)  # there is a transaction log now
    everything = real.configured(topics_regex=".*").topics()
    assert topic_name in everything
    assert not {name for name in everything if name.startswith("__")}
    assert list(real.configured(topics=["__transaction_state"]).topics()) == ["__transaction_state"]


def test_age_deletes_nothing_where_a_topic_is_only_compacted(real: RealCluster, topic_name: str) -> None:
    """`retention.ms` counts where `cleanup.policy` says delete, alone or beside compact."""
    both, compact = f"{topic_name}-both", f"{topic_name}-compact"
    real.part.create_topic(both, 1, {"cleanup.policy": "compact,delete", "retention.ms": "90000"})
    real.part.create_topic(compact, 1, {"cleanup.policy": "compact", "retention.ms": "90000"})
    assert real.broker.retention_ms([both, compact]) == {both: 90_000, compact: None}


def test_compaction(topic_name: str) -> None:
    """Holes that the log cleaner left are passed over, wherever a range begins or ends."""
    compact = {
        "cleanup.policy": "compact",
        "segment.ms": "50",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "1",
    }
    with KafkaPart({"log.cleaner.backoff.ms": "50", "log.initial.task.delay.ms": "0"}) as part:
        real, tp = RealCluster(part), TopicPartition(topic_name, 0)
        part.create_topic(topic_name, 1, compact)
        # A segment is closed by the first record after its time, and only closed ones are cleaned.
        sent = 0

        def cleaned() -> bool:
            nonlocal sent
            real.append(tp, *(Record(0, b"%d" % n, b"key-%d" % (n % 3)) for n in range(sent, sent + 6)))
            sent += 6
            return len(offsets_of(real.source, tp, 0, sent)) < sent - 12

        wait_for(cleaned)
        values = {n: b"%d" % n for n in range(sent)}
        for start, end in ((0, sent), (0, 3), (1, sent - 1), (sent - 5, sent)):
            found = records_of(real.source.open(OffsetRange(tp, start, end)))
            assert all(start <= record.offset < end for record in found)
            assert all(record.value == values[record.offset] for record in found)
        assert offsets_of(real.source, tp, sent - 3, sent) == [sent - 3, sent - 2, sent - 1]


def test_long_stretch_of_aborted_records(real: RealCluster, topic_name: str) -> None:
    """What lies behind thousands of batches that nobody may see is found."""
    tp = TopicPartition(topic_name, 0)
    real.create(topic_name)
    producer = Producer(
        {
            "bootstrap.servers": real.part.bootstrap_servers,
            "transactional.id": f"long-{uuid.uuid4()}",
            "batch.num.messages": 1,
        }
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    for _ in range(4000):
        producer.produce(tp.topic, b"aborted", partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0
    producer.abort_transaction(30)
    real._await_marker(tp)
    real.append(tp, *made(1))
    assert offsets_of(real.source, tp, 0, 4002) == [4001]


def test_what_is_fetched_counts_as_progress(real: RealCluster, topic_name: str) -> None:
    """A reader knows how far librdkafka fetched although no record came: only standing still is silence."""
    tp = TopicPartition(topic_name, 0)
    real.create(topic_name)
    real.abort(tp, 1, 2)
    reader = KafkaSource(replace(real.kafka, idle_timeout_ms=1000)).open(OffsetRange(tp, 0, 9))
    with contextlib.closing(reader), pytest.raises(KafkaUnavailable, match="6 offsets before the end 9"):
        list(reader)
    assert reader._fetched == 3


def test_transaction_of_a_producer_that_died(real: RealCluster, topic_name: str) -> None:
    """What a producer left open holds the LSO until another one with its name comes; then it is a hole."""
    tp = TopicPartition(topic_name, 0)
    real.create(topic_name)
    name = f"dead-{uuid.uuid4()}"
    settings = {"bootstrap.servers": real.part.bootstrap_servers, "transactional.id": name}
    dead, heir = Producer(settings), Producer(settings)
    dead.init_transactions(30)
    dead.begin_transaction()
    dead.produce(tp.topic, b"lost", partition=0)
    dead.flush(30)
    assert real.broker.offsets([tp])[tp].last_stable == 0
    heir.init_transactions(30)
    real.append(tp, *made(1))
    real._await_marker(tp)
    end = real.broker.offsets([tp])[tp].last_stable
    assert len(offsets_of(real.source, tp, 0, end)) == 1
    with contextlib.suppress(KafkaException):
        dead.abort_transaction(30)
