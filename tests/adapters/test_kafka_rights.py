"""What a broker allows whom, a broker that comes and goes, and that nothing is said on the terminal."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from kafka_s3.adapters.kafka import KafkaSource
from kafka_s3.errors import ConfigurationError, KafkaUnavailable, TopicMissing
from kafka_s3.ports import LogPoint
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.kafka import KafkaSettings
from tests.adapters import test_kafka_errors
from tests.adapters.test_kafka_errors import PASSWORD, ROOT, broker, fill, read, settings
from tools.parts.kafka import KafkaBroker as KafkaPart
from tools.parts.process import HOST, ReservedPort

hasty = test_kafka_errors.hasty
nobody = test_kafka_errors.nobody


# Who may


class SecuredPart(KafkaPart):
    """A broker with a second listener that asks for name and password, and an authorizer; PLAINTEXT is root's."""

    def __init__(self) -> None:
        self._sasl_port = ReservedPort()
        self.sasl_address = f"{HOST}:{self._sasl_port.number}"
        users = " ".join(f'user_{name}="{PASSWORD}"' for name in ("reader", "stranger"))
        super().__init__(
            {
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.sasl.plain.sasl.jaas.config": (
                    f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
                ),
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS",
            }
        )

    def _addresses(self) -> dict[str, str]:
        more = f",SASL://{self.sasl_address}"
        return {
            name: value + more if name.endswith("listeners") else value for name, value in super()._addresses().items()
        }

    def stop(self) -> None:
        super().stop()
        self._sasl_port.close()

    def client(self, user: str, password: str = PASSWORD, **more: str) -> KafkaSettings:
        return settings(
            self.sasl_address,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_username=user,
            sasl_password=password,
            **more,
        )

    def allow(self, user: str, topic: str, *operations: AclOperation) -> None:
        admin = self.admin()
        rules = [
            AclBinding(
                ResourceType.TOPIC,
                topic,
                ResourcePatternType.LITERAL,
                f"User:{user}",
                "*",
                operation,
                AclPermissionType.ALLOW,
            )
            for operation in operations
        ]
        for future in admin.create_acls(rules).values():
            future.result(30)


@pytest.fixture(scope="module")
def secured() -> Iterator[SecuredPart]:
    with SecuredPart() as part:
        yield part


@pytest.mark.heavy
@pytest.mark.parametrize(("user", "password"), [("reader", "wrong"), ("nobody", PASSWORD)])
def test_wrong_credentials(secured: SecuredPart, user: str, password: str) -> None:
    """A wrong name or password is refused at once in planning and in reading, and the password is not repeated."""
    kafka = secured.client(user, password)
    for ask in (broker(kafka, "orders").topics, lambda: read(kafka, "orders", 0, 1)):
        with pytest.raises(ConfigurationError, match=r"(?s)uthentication failed.*sasl\.\*") as caught:
            ask()
        assert password not in str(caught.value)
    assert PASSWORD not in repr(kafka)


def test_reading_needs_no_rights_on_a_group(secured: SecuredPart, topic_name: str) -> None:
    """Describe and Read on the topic are enough: no consumer group is used, so no rule for one is asked for."""
    secured.create_topic(topic_name)
    fill(secured, topic_name, b"1", b"2")
    secured.allow("reader", topic_name, AclOperation.DESCRIBE, AclOperation.READ)
    kafka = secured.client("reader")
    planning, tp = broker(kafka, topic_name), TopicPartition(topic_name, 0)
    assert planning.cluster_id() == broker(settings(secured.bootstrap_servers)).cluster_id()
    assert list(planning.topics()) == [topic_name]
    assert planning.offsets([tp])[tp].last_stable == 2
    assert read(kafka, topic_name, 0, 2) == [0, 1]
    # Long enough for the client to have been refused a group coordinator, again and again.
    with pytest.raises(KafkaUnavailable, match="position 2"):
        read(replace(kafka, idle_timeout_ms=1500), topic_name, 0, 9)


def test_no_rights_on_the_topic(secured: SecuredPart, topic_name: str) -> None:
    """A topic that the user may not describe is refused with the ACLs that are needed."""
    secured.create_topic(topic_name)
    fill(secured, topic_name, b"1")
    kafka = secured.client("stranger")
    with pytest.raises(ConfigurationError, match=rf"(?s){topic_name}.*Describe") as caught:
        broker(kafka, topic_name).topics()
    assert caught.value.exit_status == 78
    with pytest.raises(ConfigurationError, match=rf"(?s){topic_name}.*Read"):
        read(replace(kafka, idle_timeout_ms=1500), topic_name, 0, 1)


def test_describe_without_read(secured: SecuredPart, topic_name: str) -> None:
    """Who may describe a topic and not read it can plan; the reading is refused by name."""
    secured.create_topic(topic_name)
    fill(secured, topic_name, b"1")
    secured.allow("stranger", topic_name, AclOperation.DESCRIBE)
    kafka = secured.client("stranger")
    tp = TopicPartition(topic_name, 0)
    assert broker(kafka, topic_name).offsets([tp])[tp].high_watermark == 1
    with pytest.raises(ConfigurationError, match=rf"(?s){topic_name}.*Read on the topics"):
        read(kafka, topic_name, 0, 1)


def test_a_group_that_may_not_be_described(secured: SecuredPart, topic_name: str) -> None:
    """adopt asks for the sink's consumer group: who may not see it is told which right is missing."""
    secured.create_topic(topic_name)
    secured.allow("reader", topic_name, AclOperation.DESCRIBE)
    asking = broker(secured.client("reader"), topic_name)
    with pytest.raises(ConfigurationError, match=r"(?s)group connect-orders.*Describe permission on the group"):
        asking.committed("connect-orders", [TopicPartition(topic_name, 0)])


def test_retention_that_may_not_be_seen(secured: SecuredPart, topic_name: str) -> None:
    """Without DescribeConfigs on a topic its retention is left out, and that of another is there."""
    shown, hidden = f"{topic_name}-shown", f"{topic_name}-hidden"
    for topic in (shown, hidden):
        secured.create_topic(topic, 1, {"retention.ms": "90000"})
        secured.allow("reader", topic, AclOperation.DESCRIBE, AclOperation.READ)
    secured.allow("reader", shown, AclOperation.DESCRIBE_CONFIGS)
    asking = broker(secured.client("reader"), shown, hidden)
    assert asking.retention_ms([shown, hidden]) == {shown: 90_000}
    assert asking.retention_ms([hidden]) == {}
    assert asking.cleanup_policies([shown, hidden]) == {shown: {"delete"}}


@pytest.mark.usefixtures("hasty")
def test_plaintext_to_a_listener_that_wants_a_login(secured: SecuredPart) -> None:
    """A client without credentials is told what the connection said."""
    with pytest.raises((KafkaUnavailable, ConfigurationError), match=secured.sasl_address):
        broker(settings(secured.sasl_address), "orders").topics()


@pytest.mark.usefixtures("hasty")
def test_tls_to_a_listener_without(kafka: KafkaPart) -> None:
    """TLS against a listener that speaks none is temporary (it may be a restart), with a hint."""
    with pytest.raises(KafkaUnavailable, match=r"SSL_HANDSHAKE.*security\.protocol"):
        broker(settings(kafka.bootstrap_servers, security_protocol="ssl"), "orders").topics()


def test_topic_that_is_missing_is_no_refusal(secured: SecuredPart) -> None:
    """For who may describe everything, a missing topic is missing and not forbidden."""
    root = settings(secured.bootstrap_servers)
    assert broker(root, "no-such-topic").topics() == {}
    with pytest.raises(TopicMissing):
        broker(root).offsets([TopicPartition("no-such-topic", 0)])


# A broker that comes and goes


@pytest.mark.heavy
def test_broker_restarted_while_a_range_is_read(secured: SecuredPart, topic_name: str) -> None:
    """A reader outlives a crash of the broker: once it is back the range goes on where it was, each record once."""
    secured.create_topic(topic_name)
    fill(secured, topic_name, b"1", b"2")
    offsets = OffsetRange(TopicPartition(topic_name, 0), 0, 4)
    with contextlib.closing(KafkaSource(settings(secured.bootstrap_servers)).open(offsets)) as reader:
        batches = iter(reader)
        found = [batch.offset_at(0) for batch in [next(batches)]]
        assert found == [0]
        secured.kill()
        secured.restart()
        fill(secured, topic_name, b"3", b"4")
        assert [batch.offset_at(index) for batch in batches for index in range(len(batch))] == [2, 3]


# Nothing on the terminal


def test_librdkafka_is_silent(nobody: str, secured: SecuredPart) -> None:
    """Failed connections, refused logins and odd properties leave no line of librdkafka's on standard error."""
    script = f"""
from kafka_s3.errors import ExporterError
from kafka_s3.adapters.kafka import broker as planning_client
from tests.adapters.test_kafka_errors import broker, read, settings
planning_client.CONNECT_TIMEOUT_S = 1
login = dict(security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN", sasl_username="reader", sasl_password="x")
for client in (
    settings({nobody!r}, idle_timeout_ms=500),
    settings({secured.sasl_address!r}, idle_timeout_ms=500, **login),
    settings({nobody!r}, idle_timeout_ms=500, compression_type="gzip", sasl_mechanism="PLAIN"),
    settings({nobody!r}, idle_timeout_ms=500, no_such_property="1"),
):
    for ask in (lambda: broker(client, "orders").topics(), lambda: read(client, "orders", 0, 1)):
        try:
            ask()
        except ExporterError as error:
            print(type(error).__name__)
"""
    ran = run_python(script)
    assert ran.stdout.split() == [
        *["KafkaUnavailable"] * 2,
        *["ConfigurationError"] * 2,
        *["KafkaUnavailable"] * 2,
        *["ConfigurationError"] * 2,
    ]
    assert ran.stderr == ""


def test_debug_is_not_silent(nobody: str) -> None:
    """Who sets librdkafka's `debug` gets its log on standard error."""
    ran = run_python(
        f"from tests.adapters.test_kafka_errors import broker, settings\nbroker(settings({nobody!r}, debug='broker'))\n"
    )
    assert "BROKER" in ran.stderr


# Last: a node that was silent for longer than its session takes a while to be itself again.


@pytest.mark.usefixtures("hasty")
@pytest.mark.heavy
def test_broker_that_falls_silent(secured: SecuredPart, topic_name: str) -> None:
    """A broker that stops answering is given up, in planning and in reading, and is fine again afterwards."""
    secured.create_topic(topic_name)
    fill(secured, topic_name, b"1", b"2")
    kafka = settings(secured.bootstrap_servers, idle_timeout_ms=1000)
    planning, tp = broker(kafka, topic_name), TopicPartition(topic_name, 0)
    planning.topics()
    secured.suspend()
    try:
        with pytest.raises(KafkaUnavailable, match=secured.bootstrap_servers):
            planning.offsets([tp])
        with pytest.raises(KafkaUnavailable, match=f"{tp}.*{secured.bootstrap_servers}"):
            planning.diverged({tp: LogPoint(1, 0)})
        with pytest.raises(KafkaUnavailable, match=r"\[0, 2\).*position 0"):
            read(kafka, topic_name, 0, 2)
    finally:
        secured.resume()
    assert read(replace(kafka, idle_timeout_ms=60_000), topic_name, 0, 2) == [0, 1]


def run_python(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'jobs'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
