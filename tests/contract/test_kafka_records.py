"""Records as a source gives them: every implementation alike; and what only a real broker shows."""

from __future__ import annotations

import contextlib
import gc
import itertools
import random
import uuid
import weakref
from dataclasses import replace

import pytest
from confluent_kafka import KafkaException, Producer

from kafka_s3.adapters.kafka import KafkaBroker, KafkaSource
from kafka_s3.adapters.kafka.reader import BATCH_BYTES, BATCH_RECORDS_MAX
from kafka_s3.errors import KafkaUnavailable
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.records import Record
from tests.contract import test_record_source
from tests.contract.test_record_source import MIB, Cluster, RealCluster, made, offsets_of, records_of, wait_for
from tests.support import make_settings
from tools.parts.kafka import KafkaBroker as KafkaPart

cluster = test_record_source.cluster
tp = test_record_source.tp


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


@pytest.mark.heavy
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
    assert reader._moved._fetched == 3


def test_a_reader_that_is_closed_is_gone(real: RealCluster, topic_name: str) -> None:
    """At once, not when Python looks for cycles: a process can have about a thousand clients, and a run with more
    ranges would fail."""
    tp = TopicPartition(topic_name, 0)
    real.create(topic_name)
    real.append(tp, *made(5))
    gc.collect()
    gc.disable()
    try:
        with contextlib.closing(real.source.open(OffsetRange(tp, 0, 5))) as reader:
            assert sum(map(len, itertools.islice(reader, 1))) == 5
        gone = weakref.ref(reader)
        del reader
        assert gone() is None
    finally:
        gc.enable()


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
