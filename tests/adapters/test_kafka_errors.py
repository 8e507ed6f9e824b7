"""What goes wrong between the exporter and Kafka, as the exporter says it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, Producer

from kafka_s3.adapters.kafka import KafkaBroker, KafkaSource, divergence
from kafka_s3.adapters.kafka import broker as planning_client
from kafka_s3.adapters.kafka import reader as reading_client
from kafka_s3.adapters.kafka.client import CONNECT_TIMEOUT_S, translate
from kafka_s3.errors import ConfigurationError, DataError, DataLoss, ExporterError, KafkaUnavailable
from kafka_s3.ports import LogPoint
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.kafka import KafkaSettings
from tests.support import make_settings
from tools.parts.kafka import KafkaBroker as KafkaPart
from tools.parts.process import HOST

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "canary-of-a-password"


def settings(*addresses: str, idle_timeout_ms: int = 60_000, **client: str) -> KafkaSettings:
    """Settings of a client; `_` in a name stands for `.`."""
    properties = {name.replace("_", "."): value for name, value in client.items()}
    return KafkaSettings({"bootstrap.servers": ",".join(addresses), **properties}, idle_timeout_ms=idle_timeout_ms)


def broker(kafka: KafkaSettings, *topics: str) -> KafkaBroker:
    return KafkaBroker(make_settings(topics=topics, kafka=kafka))


def read(kafka: KafkaSettings, topic: str, start: int, end: int) -> list[int]:
    offsets = OffsetRange(TopicPartition(topic, 0), start, end)
    with contextlib.closing(KafkaSource(kafka).open(offsets)) as reader:
        return [batch.offset_at(index) for batch in reader for index in range(len(batch))]


def fill(part: KafkaPart, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": part.bootstrap_servers, "message.max.bytes": 20_000_000})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(30) == 0


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address on which nothing listens."""
    with socket.socket() as reserved:
        reserved.bind((HOST, 0))
        yield f"{HOST}:{reserved.getsockname()[1]}"


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broker and requests are given up sooner than users would."""
    for module in (planning_client, divergence):
        monkeypatch.setattr(module, "CONNECT_TIMEOUT_S", 1.0)
        monkeypatch.setattr(module, "REQUEST_TIMEOUT_S", 1.0)


# Every error is translated


CODES = sorted({code for name, code in vars(KafkaError).items() if isinstance(code, int) and name.strip("_").isupper()})


@pytest.mark.parametrize("code", CODES, ids=lambda code: KafkaError(code).name())
def test_every_code_is_translated(code: int) -> None:
    """Whatever code librdkafka has, the exporter raises an error of its own that names it and what was being done."""
    error = translate(KafkaError(code), "reading orders-0 [1, 2)")
    assert isinstance(error, ConfigurationError | DataLoss | KafkaUnavailable)
    assert error.exit_status in (65, 75, 78)
    assert KafkaError(code).name() in str(error)
    assert "while reading orders-0 [1, 2)" in str(error)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError._TRANSPORT, KafkaUnavailable),
        (KafkaError._TIMED_OUT, KafkaUnavailable),
        (KafkaError._ALL_BROKERS_DOWN, KafkaUnavailable),
        (KafkaError.LEADER_NOT_AVAILABLE, KafkaUnavailable),
        (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaUnavailable),
        (KafkaError.REQUEST_TIMED_OUT, KafkaUnavailable),
        (KafkaError._AUTO_OFFSET_RESET, DataLoss),
        (KafkaError._LOG_TRUNCATION, DataLoss),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, DataLoss),
        (KafkaError.UNKNOWN_TOPIC_ID, DataLoss),
        (KafkaError._AUTHENTICATION, ConfigurationError),
        (KafkaError.SASL_AUTHENTICATION_FAILED, ConfigurationError),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, ConfigurationError),
        (KafkaError._SSL, ConfigurationError),
        (KafkaError._INVALID_ARG, ConfigurationError),
    ],
)
def test_what_a_retry_may_cure_is_temporary(code: int, expected: type[ExporterError]) -> None:
    """Silence and moving leaders are temporary; refusals and what is gone are final."""
    assert type(translate(KafkaError(code), "x")) is expected
    assert issubclass(expected, DataError | ConfigurationError | KafkaUnavailable)


# The configuration


@pytest.mark.parametrize(
    ("client", "named"),
    [
        ({"no_such_property": "1"}, "no.such.property"),
        ({"socket_timeout_ms": "abc"}, "socket.timeout.ms"),
        ({"socket_timeout_ms": "5"}, "socket.timeout.ms"),
        ({"security_protocol": "CARRIER_PIGEON"}, "security.protocol"),
        ({"security_protocol": "ssl", "ssl_ca_location": "/no/such/file"}, "ssl.ca.location"),
        ({"security_protocol": "sasl_plaintext", "sasl_mechanism": "PLAIN"}, "sasl.username"),
    ],
)
def test_bad_client_property(nobody: str, client: Mapping[str, str], named: str) -> None:
    """A property that librdkafka refuses is named by both clients before it connects, with where to correct it."""
    kafka = settings(nobody, **client)
    for make in (lambda: broker(kafka), lambda: read(kafka, "orders", 0, 1)):
        with pytest.raises(ConfigurationError, match=named) as caught:
            make()
        assert caught.value.exit_status == 78
        assert "worker file" in caught.value.next


def test_fetch_limit_above_the_receive_limit(nobody: str) -> None:
    """Limits that contradict each other are refused by name, not met as silence."""
    with pytest.raises(ConfigurationError, match=r"receive\.message\.max\.bytes"):
        read(settings(nobody, fetch_max_bytes="2000000", receive_message_max_bytes="1000000"), "orders", 0, 1)


@pytest.mark.parametrize("address", ["", " "])
def test_no_brokers(address: str) -> None:
    """Without bootstrap.servers both clients refuse at once, by name."""
    with pytest.raises(ConfigurationError, match=r"bootstrap\.servers"):
        broker(settings(address))
    with pytest.raises(ConfigurationError, match=r"bootstrap\.servers"):
        read(settings(address), "orders", 0, 1)


# Nobody there


@pytest.mark.heavy
def test_broker_down(nobody: str) -> None:
    """A broker that is down is temporary: the message has its address and why, and which property to check."""
    assert CONNECT_TIMEOUT_S == 10
    with pytest.raises(KafkaUnavailable, match=rf"{nobody}.*Connection refused.*bootstrap\.servers") as caught:
        broker(settings(nobody), "orders").topics()
    assert caught.value.exit_status == 75


@pytest.mark.usefixtures("hasty")
@pytest.mark.heavy
def test_every_request_of_a_broker_that_is_down(nobody: str) -> None:
    """Whichever question comes first, the answer is the same kind of error, with the address."""
    down, tp = broker(settings(nobody, idle_timeout_ms=500), "orders"), TopicPartition("orders", 0)
    for ask in (
        down.cluster_id,
        down.topics,
        lambda: down.offsets([tp]),
        lambda: down.offsets_for_time([tp], 0),
        lambda: down.first_timestamp(tp, 0, 1),
        lambda: down.diverged({tp: LogPoint(1, 0)}),
    ):
        with pytest.raises(KafkaUnavailable, match=nobody):
            ask()


@pytest.mark.usefixtures("hasty")
def test_name_that_does_not_resolve() -> None:
    """A host that the name service does not know is named, with that reason."""
    with pytest.raises(KafkaUnavailable, match=r"no-such-host\.invalid:9092.*resolve"):
        broker(settings("no-such-host.invalid:9092"), "orders").topics()


def test_range_of_a_broker_that_is_down(nobody: str) -> None:
    """A reader gives up after its time limit and names range, position, address and reason."""
    with pytest.raises(KafkaUnavailable, match=rf"orders-0 \[3, 9\).*position 3.*{nobody}.*refused"):
        read(settings(nobody, idle_timeout_ms=500), "orders", 3, 9)


def test_one_of_two_brokers_down(nobody: str, kafka: KafkaPart, topic_name: str) -> None:
    """One bootstrap server that answers is enough."""
    kafka.create_topic(topic_name)
    fill(kafka, topic_name, b"1", b"2")
    both = settings(nobody, kafka.bootstrap_servers)
    assert list(broker(both, topic_name).topics()) == [topic_name]
    assert read(both, topic_name, 0, 2) == [0, 1]


def test_aborted_records_are_progress(nobody: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit runs from the last offset that librdkafka fetched, also where no record came of it."""
    now_s = 0.0
    monkeypatch.setattr(reading_client, "time", SimpleNamespace(monotonic=lambda: now_s))
    reader = KafkaSource(settings(nobody, idle_timeout_ms=60_000)).open(OffsetRange(TopicPartition("t", 0), 0, 9))
    statistics = '{"topics": {"t": {"partitions": {"0": {"next_offset": 5}}}}}'
    monkeypatch.setattr(reader, "_asked_why", lambda: None)
    with contextlib.closing(reader):
        now_s = 59
        reader._moved.on_statistics('{"topics": {}}')
        reader._moved.on_statistics(statistics)
        now_s = 118
        reader._check_progress()
        reader._moved.on_statistics(statistics)  # the same offset again: it stands still
        now_s = 120
        with pytest.raises(KafkaUnavailable, match="no record for 60 s"):
            reader._check_progress()


# Records that do not fit


def test_record_above_the_fetch_limits(kafka: KafkaPart, topic_name: str) -> None:
    """A record of 5 MiB is read whatever the fetch limits: they bound how much is asked for, not what may come."""
    kafka.create_topic(topic_name, 1, {"max.message.bytes": "20000000"})
    fill(kafka, topic_name, b"small", bytes(5 * 1024 * 1024), b"small")
    small = settings(kafka.bootstrap_servers, max_partition_fetch_bytes="1048576", fetch_max_bytes="1048576")
    assert read(small, topic_name, 0, 3) == [0, 1, 2]


def test_record_above_the_receive_limit(kafka: KafkaPart, topic_name: str) -> None:
    """A record that the client may not receive is a matter of the configuration: property, size and limit are named."""
    kafka.create_topic(topic_name, 1, {"max.message.bytes": "20000000"})
    fill(kafka, topic_name, bytes(5 * 1024 * 1024))
    small = settings(kafka.bootstrap_servers, fetch_max_bytes="1000000", receive_message_max_bytes="1001000")
    with pytest.raises(ConfigurationError, match=rf"{topic_name}-0 \[0, 1\).*\(0\.\.1001000\).*receive\.message\.max"):
        read(small, topic_name, 0, 1)


def test_a_login_in_an_address_is_hidden() -> None:
    """librdkafka names token endpoints as they were written, in its log always."""
    text = 'Failed to retrieve OIDC token from "https://me:canary@tokens/oauth": Could not connect'
    for code in (KafkaError._AUTHENTICATION, KafkaError._INVALID_ARG, KafkaError._TRANSPORT):
        said = str(translate(KafkaError(code, text), "asking"))
        assert 'from "https://[hidden]@tokens/oauth"' in said
        assert "canary" not in said
