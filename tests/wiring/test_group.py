"""The consumer group that shows positions: on a real broker, and never in the way of a run."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Producer

from kafka_s3.adapters.kafka import KafkaGroup
from kafka_s3.events import Event, GroupNotSet
from kafka_s3.export.run import run
from kafka_s3.export.show_positions import show_positions
from kafka_s3.ranges import TopicPartition
from kafka_s3.sentences import sentence
from kafka_s3.settings import Settings, from_mapping
from kafka_s3.settings.kafka import KafkaSettings
from kafka_s3.wiring import make_broker, make_exporter, make_local_execute
from tests.support import MINIMAL, make_settings, request
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer


@pytest.fixture
def settings(kafka: KafkaBroker, moto: MotoServer, topic_name: str, bucket_name: str) -> Settings:
    """A connector over a topic of two partitions that shows its positions."""
    kafka.create_topic(topic_name, 2)
    moto.create_bucket(bucket_name)
    given = {
        "name": topic_name,  # the group has it, and the broker is everybody's
        "topics": topic_name,
        "s3.bucket.name": bucket_name,
        "s3.region": moto.region,
        "store.url": moto.endpoint_url,
        "aws.access.key.id": moto.access_key,
        "aws.secret.access.key": moto.secret_key,
        "consumer.override.bootstrap.servers": kafka.bootstrap_servers,
        "export.consumer.group.commit": "true",
    }
    return from_mapping({**MINIMAL, **given}).settings


def produce(kafka: KafkaBroker, topic: str, partition: int, count: int) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for _ in range(count):
        producer.produce(topic, b"{}", partition=partition)
    assert producer.flush(30) == 0


def exported(settings: Settings) -> list[Event]:
    told: list[Event] = []
    report = run(make_exporter(settings), request(f"run-{time.time_ns()}"), make_local_execute(settings), told.append)
    assert report.exit_status == 0
    return [each for each in told if isinstance(each, GroupNotSet)]


def shown(settings: Settings, group: str) -> dict[int, int]:
    (topic,) = settings.topics
    found = make_broker(settings).committed(group, [TopicPartition(topic, p) for p in (0, 1)])
    return {tp.partition: at for tp, at in found.offsets.items()}


def test_a_group_shows_what_is_committed(settings: Settings, kafka: KafkaBroker, topic_name: str) -> None:
    """After each commit the group's offsets are the log's positions, of partitions without news too."""
    group = f"kafka-s3-{topic_name}"
    produce(kafka, topic_name, 0, 3)
    assert exported(settings) == []
    assert shown(settings, group) == {0: 3, 1: 0}
    produce(kafka, topic_name, 1, 2)
    assert exported(settings) == []
    assert shown(settings, group) == {0: 3, 1: 2}
    newest = make_exporter(settings).log.newest()
    assert newest is not None
    assert newest.entry.topics[topic_name].positions == {0: 3, 1: 2}


def test_a_group_with_members_is_left_alone(settings: Settings, kafka: KafkaBroker, topic_name: str) -> None:
    """Somebody else's group keeps its offsets; the run says so in a line and ends well."""
    group = f"{topic_name}-theirs"
    given = {**settings.kafka.client, "group.id": group, "auto.offset.reset": "earliest"}
    theirs = replace(settings, kafka=replace(settings.kafka, group=group))
    produce(kafka, topic_name, 0, 1)
    with contextlib.closing(Consumer(given)) as consumer:
        consumer.subscribe([topic_name])
        deadline = time.monotonic() + 30
        while not consumer.assignment():
            consumer.poll(0.1)
            assert time.monotonic() < deadline
        (told,) = exported(theirs)
        assert "1 of its members are alive: set export.consumer.group.id" in sentence(told)
        assert shown(settings, group) == {}


def test_a_group_is_not_asked_after_a_failure(settings: Settings, kafka: KafkaBroker, topic_name: str) -> None:
    """A run of several commits asks once, says once why not, and the next run asks again."""
    asked: list[int] = []
    produce(kafka, topic_name, 0, 3)
    small = replace(settings, limits=replace(settings.limits, batch_records_max=1))
    exporter = replace(make_exporter(small), show=lambda _: asked.append(1) or "not allowed")  # type: ignore[func-returns-value]
    for runs in (1, 2):
        told: list[Event] = []
        run(exporter, request(f"run-{runs}"), make_local_execute(small), told.append)
        assert (len(asked), sum(isinstance(each, GroupNotSet) for each in told)) == (runs, 1)
        produce(kafka, topic_name, 0, 3)


def test_no_positions_are_nothing_to_show(settings: Settings, kafka: KafkaBroker, topic_name: str) -> None:
    """A commit of topics that the connector no longer asks for leaves the group alone."""
    produce(kafka, topic_name, 0, 1)
    assert exported(settings) == []
    newest = make_exporter(settings).log.newest()
    assert newest is not None
    told: list[Event] = []
    show_positions(make_exporter(replace(settings, topics=("another",))), newest.entry, told.append)
    assert told == []


@pytest.mark.heavy
def test_a_group_on_a_cluster_that_had_none(topic_name: str) -> None:
    """The first group of all has no coordinator yet: it is waited for."""
    with KafkaBroker() as part:
        part.create_topic(topic_name, 1)
        kafka = KafkaSettings({"bootstrap.servers": part.bootstrap_servers}, group="first")
        group = KafkaGroup(make_settings(topics=(topic_name,), kafka=kafka))
        assert group.show({TopicPartition(topic_name, 0): 0}) is None
