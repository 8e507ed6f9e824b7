"""Dead letters into Kafka: the topic of `errors.deadletterqueue.topic.name`, and wherever they are redriven to."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from kafka_s3.adapters.kafka.broker import KafkaBroker
from kafka_s3.adapters.kafka.client import (
    GONE,
    NOT_ALLOWED,
    REQUEST_TIMEOUT_S,
    UNKNOWN_TOPIC,
    VAGUE,
    Complaints,
    bad_configuration,
    client_configuration,
    said,
    translate,
)
from kafka_s3.dead_letter import DeadLetter, context_headers
from kafka_s3.errors import ConfigurationError, ExporterError, KafkaUnavailable, TopicMissing
from kafka_s3.records import Headers
from kafka_s3.settings.converters import SIMPLE_HEADERS
from kafka_s3.settings.model import Settings
from kafka_s3.values.rows import Stage

#: What is sent before its receipts are waited for. Memory: BATCH_BYTES and one letter, twice (librdkafka copies).
BATCH_BYTES: Final = 16 * 1024 * 1024
BATCH_LETTERS: Final = 10_000
#: A letter that no broker took for so long has failed.
DELIVERY_TIMEOUT_S: Final = 60.0
#: How often librdkafka's complaints are listened to while receipts are waited for.
_LISTEN_S: Final = 0.1
_RECORD_BYTES_MAX: Final = 1_000_000_000  # librdkafka's own largest: the topic says what it takes
_SINK_TASK: Final = "org.apache.kafka.connect.sink.SinkTask"
#: What a letter does not say is which transform of several it was.
_TRANSFORMATION: Final = "org.apache.kafka.connect.transforms.Transformation"
_DENIED = {*NOT_ALLOWED, KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}
#: What the topic, by its own configuration, will take no better next time.
_NOT_TAKEN: Final = {
    KafkaError.MSG_SIZE_TOO_LARGE: "Raise max.message.bytes of the topic.",
    KafkaError.INVALID_MSG_SIZE: "Raise max.message.bytes of the topic.",
    KafkaError.RECORD_LIST_TOO_LARGE: "Raise segment.bytes of the topic.",
    KafkaError.INVALID_TIMESTAMP: "The record's timestamp is outside of message.timestamp.before.max.ms and "
    "message.timestamp.after.max.ms of the topic: widen them.",
    KafkaError.INVALID_RECORD: "A compacted topic takes no record without a key: give it cleanup.policy=delete.",
    KafkaError._UNKNOWN_PARTITION: "It has fewer partitions than the record's number: send it to another topic.",
}


class DeadLetterTopic:
    """A `ports.LetterSink`: the connector's topic of dead letters, created with one partition if there is none.

    Records go out as Kafka had them, with their timestamps; `errors.deadletterqueue.context.headers.enable` adds why.
    Nothing is asked of Kafka before there is a letter. librdkafka reads a timestamp of 0 as now.
    """

    def __init__(self, settings: Settings) -> None:
        topic = settings.dead_letters.topic
        assert topic is not None, "errors.deadletterqueue.topic.name is not set"
        self._topic = topic
        self._settings = settings
        self._producer = _Deliveries(settings)

    def send(self, letters: Iterable[DeadLetter]) -> None:
        for letter in letters:
            self._producer.require(self._topic, create_with=self._settings.dead_letters.replication)
            self._producer.produce(letter, self._topic, headers=self._headers(letter), timestamp_ms=letter.timestamp_ms)
        self._producer.wait()

    def close(self) -> None:
        self._producer.close()

    def _headers(self, letter: DeadLetter) -> Headers:
        if not self._settings.dead_letters.headers:
            return letter.headers
        return context_headers(letter, executing_class(self._settings, letter.stage))


class RedriveTopics:
    """A `ports.LetterSink`: each letter's own topic, or `to`. It has to exist.

    Records go out as they came, without the timestamp unless `keep_timestamps`. In their own topic they get their
    own partition; elsewhere the one that a Java producer would choose by the key.
    """

    def __init__(self, settings: Settings, *, to: str | None = None, keep_timestamps: bool = False) -> None:
        self._to = to
        self._keep_timestamps = keep_timestamps
        self._producer = _Deliveries(settings)

    def send(self, letters: Iterable[DeadLetter]) -> None:
        for letter in letters:
            topic = letter.topic if self._to is None else self._to
            self._producer.require(topic)
            self._producer.produce(
                letter,
                topic,
                headers=letter.headers,
                timestamp_ms=letter.timestamp_ms if self._keep_timestamps else None,
                partition=letter.partition if topic == letter.topic else None,
            )
        self._producer.wait()

    def close(self) -> None:
        self._producer.close()


def executing_class(settings: Settings, stage: str) -> str:
    """The class that Connect would have been in: the converter, or for what comes after it the sink's task."""
    match stage:
        case Stage.VALUE_CONVERTER.value:
            return settings.format.value.converter.value
        case Stage.KEY_CONVERTER.value:
            return settings.format.key.converter.value
        case Stage.HEADER_CONVERTER.value:
            header = settings.format.header
            return SIMPLE_HEADERS if header is None else header.converter.value
        case Stage.TRANSFORMATION.value:
            types = {each.type for each in settings.chain.transforms}
            return types.pop() if len(types) == 1 else _TRANSFORMATION
        case _:
            return _SINK_TASK


class _Topics(KafkaBroker):
    """Which topics there are, and making one."""

    def has(self, topic: str) -> bool:
        self.cluster_id()  # the connection: a broker that is down shows here, soon
        return topic in self._described([topic])

    def create(self, topic: str, replication: int) -> None:
        doing = f"creating the topic {topic}"
        new = NewTopic(topic, 1, replication)
        future = self._call(lambda: self._admin.create_topics([new], request_timeout=REQUEST_TIMEOUT_S), doing)[topic]
        try:
            self._answer(future, doing)
        except KafkaException as exception:
            error: KafkaError = exception.args[0]
            if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:  # somebody else was faster
                return
            why = f"The topic {topic} of dead letters cannot be created {self._where}: {said(error)}."
            if error.code() == KafkaError.INVALID_REPLICATION_FACTOR:
                raise ConfigurationError(
                    why,
                    next=f"errors.deadletterqueue.topic.replication.factor is {replication}: set it to at most the "
                    "number of brokers, or create the topic yourself.",
                ) from None
            if error.code() in _DENIED or error.code() in (KafkaError.POLICY_VIOLATION, KafkaError.TOPIC_EXCEPTION):
                raise ConfigurationError(
                    why, next="Create it yourself, or give this client Create permission on it."
                ) from None
            raise self._translated(exception, doing) from None

    def _translated(self, exception: KafkaException, doing: str) -> ExporterError:
        return _denied(exception.args[0], f"{doing} {self._where}") or super()._translated(exception, doing)


def _denied(error: KafkaError, doing: str) -> ConfigurationError | None:
    """A refusal, with the permissions that writing needs."""
    if error.code() not in _DENIED:
        return None
    return ConfigurationError(
        f"Kafka refused access while {doing}: {said(error)} ({error.name()}).",
        next="Check security.protocol, sasl.* and ssl.*, and the ACLs: Describe and Write on the topic "
        "(before Kafka 2.8 IdempotentWrite on the cluster, too).",
    )


class _Deliveries:
    """An idempotent producer over the connector's own client configuration; every receipt is waited for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._complaints = Complaints()
        self._producer: Producer | None = None
        self._known: set[str] = set()
        self._topic = ""
        self._letters = 0
        self._bytes = 0
        self._failed: tuple[KafkaError, DeadLetter, str] | None = None
        self._where = f"on {settings.kafka.client.get('bootstrap.servers', '')}"

    def require(self, topic: str, *, create_with: int | None = None) -> None:
        """Make sure of a topic, once: `TopicMissing` unless it exists or is to be created."""
        if topic in self._known:
            return
        topics = _Topics(self._settings)
        if not topics.has(topic):
            if create_with is None:
                raise TopicMissing(f"The topic {topic} does not exist {self._where}.", next="Create it first.")
            topics.create(topic, create_with)
        self._known.add(topic)

    def produce(
        self,
        letter: DeadLetter,
        topic: str,
        *,
        headers: Headers,
        timestamp_ms: int | None,
        partition: int | None = None,
    ) -> None:
        if self._producer is None:
            self._producer = self._open()
        self._topic = topic
        more: dict[str, Any] = {}
        if timestamp_ms is not None and timestamp_ms >= 0:
            more["timestamp"] = timestamp_ms
        if partition is not None:
            more["partition"] = partition

        def receipt(error: KafkaError | None, _: Message) -> None:
            if error is not None and self._failed is None:
                self._failed = (error, letter, topic)

        try:
            self._producer.produce(topic, letter.value, letter.key, headers=list(headers), on_delivery=receipt, **more)
        except KafkaException as error:
            raise self._translated(error.args[0], letter, topic) from None
        except BufferError:  # more is never in the queue than a batch: it is this one
            raise self._translated(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), letter, topic) from None
        self._letters += 1
        self._bytes += len(letter.value or b"") + len(letter.key or b"") + sum(len(text or b"") for _, text in headers)
        if self._letters >= BATCH_LETTERS or self._bytes >= BATCH_BYTES:
            self.wait()

    def wait(self) -> None:
        """Back once Kafka has taken everything; raises for the first letter that it did not take."""
        if self._producer is None:
            return
        deadline = time.monotonic() + 2 * DELIVERY_TIMEOUT_S  # librdkafka ends each after its own timeout
        doing = f"producing dead letters to {self._topic}"
        while self._flush(self._producer, doing):
            if self._complaints.is_final():
                assert self._complaints.last is not None
                raise self._refused(self._complaints.last, doing)
            if time.monotonic() > deadline:
                raise KafkaUnavailable(f"Kafka acknowledged no dead letters {self._where} for too long.")
        self._letters = self._bytes = 0
        failed, self._failed = self._failed, None
        if failed is not None:
            raise self._translated(*failed)
        self._complaints.clear()

    def close(self) -> None:
        """End the producer; what an error left in its queue is not sent any more."""
        if self._producer is not None:
            self._producer.purge()
            self._producer = None

    def _flush(self, producer: Producer, doing: str) -> int:
        """How many receipts are missing after a moment."""
        try:
            return producer.flush(_LISTEN_S)
        except KafkaException as error:  # what ends the whole producer, a missing permission among it
            raise self._refused(error.args[0], doing) from None

    def _open(self) -> Producer:
        configuration = {
            "linger.ms": 5,
            **client_configuration(self._settings.kafka, self._complaints),
            "enable.idempotence": True,
            "acks": "all",
            "message.timeout.ms": int(DELIVERY_TIMEOUT_S * 1000),
            "message.max.bytes": _RECORD_BYTES_MAX,
            "queue.buffering.max.messages": 2 * BATCH_LETTERS,
            "queue.buffering.max.kbytes": 2 * _RECORD_BYTES_MAX // 1024,
            "partitioner": "murmur2_random",  # Java's: records of one key stay together
        }
        try:
            return Producer(configuration)
        except (KafkaException, ValueError, TypeError) as error:
            raise bad_configuration(error) from None

    def _translated(self, error: KafkaError, letter: DeadLetter, topic: str) -> ExporterError:
        what = f"the dead letter {letter.tp} offset {letter.offset}"
        if error.code() in _NOT_TAKEN:
            return ConfigurationError(
                f"The topic {topic} {self._where} does not take {what}: {said(error)} ({error.name()}).",
                next=_NOT_TAKEN[error.code()],
            )
        if error.code() in VAGUE | {KafkaError._MSG_TIMED_OUT} and self._complaints.last is not None:
            error = self._complaints.last  # a time-out says little, the connection's own complaint says why
        return self._refused(error, f"producing {what} to {topic}")

    def _refused(self, error: KafkaError, doing: str) -> ExporterError:
        if (denied := _denied(error, f"{doing} {self._where}")) is not None:
            return denied
        if error.code() in UNKNOWN_TOPIC:
            return TopicMissing(
                f"Kafka does not know the topic while {doing} {self._where}: {said(error)}.", next="Was it deleted?"
            )
        if error.code() in GONE:  # what only readers are told
            error = KafkaError(KafkaError.UNKNOWN, said(error))
        return translate(error, f"{doing} {self._where}")
