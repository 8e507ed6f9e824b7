"""Dead letters on a real broker: byte for byte, in a topic that is made where it is missing."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AclOperation

from kafka_s3.adapters.kafka import DeadLetterTopic, RedriveTopics
from kafka_s3.adapters.kafka import broker as planning_client
from kafka_s3.adapters.kafka import producer as producing_client
from kafka_s3.adapters.kafka.producer import executing_class
from kafka_s3.dead_letter import DeadLetter
from kafka_s3.errors import ConfigurationError, KafkaUnavailable, TopicMissing
from kafka_s3.ports import DeadLetterSink
from kafka_s3.settings.connect import DeadLetters
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.kafka import KafkaSettings
from kafka_s3.settings.model import Settings
from kafka_s3.values.rows import Stage
from tests.adapters.test_kafka_errors import PASSWORD
from tests.adapters.test_kafka_rights import SecuredPart
from tests.support import make_settings
from tools.parts.kafka import KafkaBroker
from tools.parts.process import HOST

TIME_MS = 1_767_225_600_123


def settings(servers: str, topic: str, *, headers: bool = False, replication: int = 1, **client: str) -> Settings:
    """A connector with a topic of dead letters; `_` in a client property's name stands for `.`."""
    more = {name.replace("_", "."): value for name, value in client.items()}
    made = make_settings(tolerate=True, kafka=KafkaSettings({"bootstrap.servers": servers, **more}))
    return replace(made, dead_letters=DeadLetters(topic, replication, headers))


def letter(offset: int = 0, topic: str = "orders", **more: Any) -> DeadLetter:
    plain = DeadLetter(topic, 0, offset, TIME_MS, b"k", b"v", (), "VALUE_CONVERTER", "not JSON: ü", "sink")
    return replace(plain, **more)


def read(broker: KafkaBroker, topic: str, count: int, partition: int = 0) -> list[Message]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "test"})
    consumer.assign([TopicPartition(topic, partition, 0)])
    try:
        found: list[Message] = []
        while len(found) < count:
            got = consumer.consume(count - len(found), 30)
            assert got, f"{len(found)} of {count} records of {topic}"
            found += got
        return found
    finally:
        consumer.close()


def send(sink: DeadLetterSink, *letters: DeadLetter) -> None:
    with contextlib.closing(sink):
        sink.send(letters)


def as_sent(message: Message) -> tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]:
    return message.key(), message.value(), list(message.headers() or [])  # type: ignore[return-value, arg-type]


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address on which nothing listens."""
    with socket.socket() as reserved:
        reserved.bind((HOST, 0))
        yield f"{HOST}:{reserved.getsockname()[1]}"


def test_byte_for_byte(kafka: KafkaBroker, topic_name: str) -> None:
    """Key, value, headers and timestamp are what Kafka had: null and empty differ, header names may repeat."""
    letters = [
        letter(0, key=None, value=None),
        letter(1, key=b"", value=b"", headers=(("a", b"\x00\xff"), ("a", None), ("ü", b""))),
        letter(2, key=b"\x00k", value=bytes(range(256))),
    ]
    send(DeadLetterTopic(settings(kafka.bootstrap_servers, topic_name)), *letters)
    found = read(kafka, topic_name, 3)
    assert [as_sent(message) for message in found] == [(each.key, each.value, list(each.headers)) for each in letters]
    assert {message.timestamp() for message in found} == {(TIMESTAMP_CREATE_TIME, TIME_MS)}


def test_a_record_without_a_timestamp(kafka: KafkaBroker, topic_name: str) -> None:
    """It gets that of its sending, as Connect's does."""
    send(DeadLetterTopic(settings(kafka.bootstrap_servers, topic_name)), letter(timestamp_ms=None))
    [found] = read(kafka, topic_name, 1)
    assert found.timestamp()[1] > TIME_MS


def test_connects_headers(kafka: KafkaBroker, topic_name: str) -> None:
    """With context headers Connect's ten say where and why, behind the record's own, in text."""
    sink = DeadLetterTopic(settings(kafka.bootstrap_servers, topic_name, headers=True))
    send(sink, letter(7, headers=(("own", b"\x01"),)))
    [found] = read(kafka, topic_name, 1)
    prefix = "__connect.errors."
    assert as_sent(found)[2] == [
        ("own", b"\x01"),
        (prefix + "topic", b"orders"),
        (prefix + "partition", b"0"),
        (prefix + "offset", b"7"),
        (prefix + "connector.name", b"sink"),
        (prefix + "task.id", b"0"),
        (prefix + "stage", b"VALUE_CONVERTER"),
        (prefix + "class.name", b"org.apache.kafka.connect.json.JsonConverter"),
        (prefix + "exception.class.name", b"org.apache.kafka.connect.errors.DataException"),
        (prefix + "exception.message", "not JSON: ü".encode()),
        (prefix + "exception.stacktrace", b""),
    ]


@pytest.mark.parametrize(
    ("stage", "named"),
    [
        (Stage.VALUE_CONVERTER.value, Converter.AVRO.value),
        (Stage.KEY_CONVERTER.value, Converter.STRING.value),
        (Stage.HEADER_CONVERTER.value, "org.apache.kafka.connect.storage.SimpleHeaderConverter"),
        (Stage.TASK_PUT.value, "org.apache.kafka.connect.sink.SinkTask"),
        ("A_LATER_STAGE", "org.apache.kafka.connect.sink.SinkTask"),
    ],
)
def test_the_class_that_refused(stage: str, named: str) -> None:
    """What Connect would name: the converter as it is configured, and for all after it the sink's task."""
    assert executing_class(make_settings(converter=Converter.AVRO), stage) == named


def test_the_topic_is_created_once(kafka: KafkaBroker, topic_name: str) -> None:
    """A missing topic gets one partition and the replication factor; one that is there is used as it is."""
    connector = settings(kafka.bootstrap_servers, topic_name)
    send(DeadLetterTopic(connector), letter(0), letter(1))
    send(DeadLetterTopic(connector), letter(2))
    assert [len(read(kafka, topic_name, 3)), *_shape(kafka, topic_name)] == [3, 1, 1]
    existing = f"{topic_name}-2"
    kafka.create_topic(existing, 2)
    send(DeadLetterTopic(settings(kafka.bootstrap_servers, existing)), letter(0))
    assert _shape(kafka, existing) == (2, 1)


def _shape(kafka: KafkaBroker, topic: str) -> tuple[int, int]:
    partitions = kafka.admin().list_topics(topic, timeout=30).topics[topic].partitions
    return len(partitions), len(partitions[0].replicas)


def test_too_many_replicas(kafka: KafkaBroker, topic_name: str) -> None:
    """Connect's default of three replicas on one broker: the property, its value and the way out are named."""
    sink = DeadLetterTopic(settings(kafka.bootstrap_servers, topic_name, replication=3))
    with pytest.raises(ConfigurationError, match=topic_name) as caught:
        send(sink, letter())
    assert "errors.deadletterqueue.topic.replication.factor is 3" in caught.value.next
    assert topic_name not in kafka.admin().list_topics(timeout=30).topics


def test_nothing_to_send(nobody: str) -> None:
    """Without a letter nothing is asked of Kafka: a broker that is down does not matter."""
    send(DeadLetterTopic(settings(nobody, "dead")))
    send(RedriveTopics(settings(nobody, "dead")))


@pytest.mark.parametrize("make", [DeadLetterTopic, RedriveTopics])
def test_broker_down(nobody: str, monkeypatch: pytest.MonkeyPatch, make: type[Any]) -> None:
    """A broker that is down is temporary, with its address and the reason."""
    monkeypatch.setattr(planning_client, "CONNECT_TIMEOUT_S", 1.0)
    with pytest.raises(KafkaUnavailable, match=rf"{nobody}.*refused.*bootstrap\.servers") as caught:
        send(make(settings(nobody, "dead")), letter())
    assert caught.value.exit_status == 75


@pytest.mark.heavy
def test_broker_that_falls_silent(monkeypatch: pytest.MonkeyPatch, topic_name: str) -> None:
    """A letter that no broker took in time is named, with the reason; a new sink sends it once the broker is back."""
    monkeypatch.setattr(producing_client, "DELIVERY_TIMEOUT_S", 15.0)  # the first has to arrive on a busy machine
    with KafkaBroker() as broker:
        connector = settings(broker.bootstrap_servers, topic_name)
        with contextlib.closing(DeadLetterTopic(connector)) as sink:
            sink.send([letter(0)])
            broker.kill()
            with pytest.raises(KafkaUnavailable, match=r"dead letter orders-0 offset 1 to.*(refused|isconnected)"):
                sink.send([letter(1), letter(2)])
        broker.restart()
        monkeypatch.setattr(producing_client, "DELIVERY_TIMEOUT_S", 60.0)
        send(DeadLetterTopic(connector), letter(1), letter(2))
        assert len(read(broker, topic_name, 3)) == 3


@pytest.mark.parametrize(
    ("client", "named"),
    [({"no_such_property": "1"}, "no.such.property"), ({"security_protocol": "CARRIER_PIGEON"}, "security.protocol")],
)
def test_bad_client_property(nobody: str, client: dict[str, str], named: str) -> None:
    """A property that librdkafka refuses is named before anything is sent."""
    with pytest.raises(ConfigurationError, match=named):
        send(DeadLetterTopic(settings(nobody, "dead", **client)), letter())


def test_consumer_properties_are_no_hindrance(kafka: KafkaBroker, topic_name: str) -> None:
    """The connector's client is configured as a consumer; what a producer has no use for does not stop it."""
    more = {
        "fetch_max_bytes": "1000000",
        "max_partition_fetch_bytes": "500000",
        "check_crcs": "true",
        "client_rack": "a",
    }
    send(DeadLetterTopic(settings(kafka.bootstrap_servers, topic_name, **more)), letter())
    assert len(read(kafka, topic_name, 1)) == 1


def test_a_large_record(kafka: KafkaBroker, topic_name: str) -> None:
    """What the topic takes is sent, however large; what it does not take is named with what to raise."""
    kafka.create_topic(topic_name, config={"max.message.bytes": "5000000"})
    connector = settings(kafka.bootstrap_servers, topic_name)
    send(DeadLetterTopic(connector), letter(0, value=b"x" * 4_000_000))
    with pytest.raises(ConfigurationError, match="orders-0 offset 1") as caught:
        send(DeadLetterTopic(connector), letter(1, value=b"x" * 6_000_000))
    assert "max.message.bytes" in caught.value.next
    assert len(read(kafka, topic_name, 1)[0].value() or b"") == 4_000_000


def test_what_the_topic_does_not_take(kafka: KafkaBroker, topic_name: str) -> None:
    """A future timestamp, and a record without a key in a compacted topic: the letter and the topic's setting."""
    far = 10**14
    kafka.create_topic(topic_name, config={"cleanup.policy": "compact"})
    for refused, said in (
        (letter(5, timestamp_ms=far), "message.timestamp.after.max.ms"),
        (letter(5, key=None), "cleanup.policy"),
    ):
        with pytest.raises(ConfigurationError, match="orders-0 offset 5") as caught:
            send(DeadLetterTopic(settings(kafka.bootstrap_servers, topic_name)), refused)
        assert said in caught.value.next


def test_many_letters_in_their_order(kafka: KafkaBroker, topic_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters beyond one batch arrive once each and in order."""
    monkeypatch.setattr(producing_client, "BATCH_LETTERS", 70)
    sink = DeadLetterTopic(settings(kafka.bootstrap_servers, topic_name))
    send(sink, *(letter(offset, value=str(offset).encode()) for offset in range(1000)))
    assert [int(message.value() or b"") for message in read(kafka, topic_name, 1000)] == list(range(1000))


def test_redriven_to_its_own_topic(kafka: KafkaBroker, topic_name: str) -> None:
    """It goes back into its own partition as it came, under the time of its sending, or its own if that is kept."""
    kafka.create_topic(topic_name, 3)
    own = letter(9, topic=topic_name, partition=2, headers=(("h", b"1"),))
    connector = settings(kafka.bootstrap_servers, "dead", headers=True)
    send(RedriveTopics(connector), own)
    send(RedriveTopics(connector, keep_timestamps=True), own)
    now, kept = read(kafka, topic_name, 2, partition=2)
    assert as_sent(now) == as_sent(kept) == (b"k", b"v", [("h", b"1")])
    assert now.timestamp()[1] > TIME_MS == kept.timestamp()[1]


def test_redriven_to_another_topic(kafka: KafkaBroker, topic_name: str) -> None:
    """Elsewhere the key decides, as for a Java producer; its own partition's number does not matter."""
    kafka.create_topic(topic_name, 5)
    sink = RedriveTopics(settings(kafka.bootstrap_servers, "dead"), to=topic_name)
    send(sink, letter(0, partition=77, key=b"customer-1"), letter(1, partition=78, key=b"customer-1"))
    # Utils.toPositive(Utils.murmur2("customer-1")) % 5 of Kafka's own client
    assert len(read(kafka, topic_name, 2, partition=_murmur2(b"customer-1") % 5)) == 2


def _murmur2(data: bytes) -> int:
    """MurmurHash2 of 32 bits with Kafka's seed, made positive."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = (0x9747B28C ^ len(data)) & mask
    whole = len(data) - len(data) % 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ k >> 24) * m & mask)
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF


def test_redriven_to_nowhere(kafka: KafkaBroker, topic_name: str) -> None:
    """A topic that is missing is not made, and a partition that is missing is named."""
    connector = settings(kafka.bootstrap_servers, "dead")
    with pytest.raises(TopicMissing, match=topic_name):
        send(RedriveTopics(connector, to=topic_name), letter())
    assert topic_name not in kafka.admin().list_topics(timeout=30).topics
    kafka.create_topic(topic_name)
    with pytest.raises(ConfigurationError, match=f"{topic_name}-4 offset 0") as caught:
        send(RedriveTopics(connector), letter(topic=topic_name, partition=4))
    assert "another topic" in caught.value.next


@pytest.fixture(scope="module")
def secured() -> Iterator[SecuredPart]:
    with SecuredPart() as part:
        yield part


def _as(part: SecuredPart, user: str, topic: str, password: str = PASSWORD) -> Settings:
    return replace(settings("", topic), kafka=part.client(user, password))


@pytest.mark.heavy
def test_describe_and_write_are_enough(secured: SecuredPart, topic_name: str) -> None:
    """An idempotent producer into a topic that is there needs no other rights."""
    secured.create_topic(topic_name)
    secured.allow("reader", topic_name, AclOperation.DESCRIBE, AclOperation.WRITE)
    send(DeadLetterTopic(_as(secured, "reader", topic_name)), letter())
    assert len(read(secured, topic_name, 1)) == 1


@pytest.mark.parametrize("rights", [(), (AclOperation.DESCRIBE,)])
def test_no_permission(secured: SecuredPart, topic_name: str, rights: tuple[AclOperation, ...]) -> None:
    """A client that may not see the topic, or not write to it, is refused for good and told which rights it needs."""
    secured.create_topic(topic_name)
    if rights:
        secured.allow("stranger", topic_name, *rights)
    with pytest.raises(ConfigurationError, match=f"refused access.*{topic_name}") as caught:
        send(DeadLetterTopic(_as(secured, "stranger", topic_name)), letter())
    assert "Describe and Write on the topic" in caught.value.next


def test_no_permission_to_create(secured: SecuredPart, topic_name: str) -> None:
    """A topic that is missing and may not be made is named with both ways out."""
    secured.allow("stranger", topic_name, AclOperation.DESCRIBE, AclOperation.WRITE)
    with pytest.raises(ConfigurationError, match=f"{topic_name} of dead letters cannot be created") as caught:
        send(DeadLetterTopic(_as(secured, "stranger", topic_name)), letter())
    assert caught.value.next == "Create it yourself, or give this client Create permission on it."


def test_wrong_credentials(secured: SecuredPart) -> None:
    """A wrong password is refused at once, and not repeated."""
    with pytest.raises(ConfigurationError, match=r"(?s)uthentication failed") as caught:
        send(DeadLetterTopic(_as(secured, "reader", "dead", "a-wrong-password")), letter())
    assert "a-wrong-password" not in str(caught.value)


@pytest.mark.parametrize(
    "code",
    sorted({code for name, code in vars(KafkaError).items() if isinstance(code, int) and name.strip("_").isupper()}),
)
def test_every_code_is_translated(nobody: str, code: int) -> None:
    """Whatever a receipt says becomes an error of ours that names letter, topic and broker; never lost data."""
    deliveries = producing_client._Deliveries(settings(nobody, "dead"))
    error = deliveries._translated(KafkaError(code), letter(3), "dead")
    assert isinstance(error, ConfigurationError | KafkaUnavailable)
    assert error.exit_status in (75, 78)
    for said in ("orders-0 offset 3", "dead", nobody):
        assert said in str(error)
