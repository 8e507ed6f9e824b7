"""Planning's questions, through the admin client."""

from __future__ import annotations

import concurrent.futures
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as Assignment
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from kafka_s3.errors import ConfigurationError, ExporterError, KafkaUnavailable, TopicMissing
from kafka_s3.kafka.client import (
    CONNECT_TIMEOUT_S,
    REQUEST_TIMEOUT_S,
    UNKNOWN_TOPIC,
    VAGUE,
    Complaints,
    bad_configuration,
    client_configuration,
    said,
    translate,
)
from kafka_s3.kafka.reader import KafkaReader
from kafka_s3.ports import GroupOffsets, PartitionOffsets, TimedOffset, TopicView
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.model import Settings

#: How often librdkafka's complaints are listened to while an answer is waited for.
_LISTEN_S: Final = 0.1
_NO_MATCH: Final = -1  # no record at or after a time

Answer = TypeVar("Answer")


class KafkaBroker:
    """A `ports.Broker` over the admin client."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._complaints = Complaints()
        configuration = client_configuration(settings.kafka, self._complaints)
        self._where = f"on {configuration['bootstrap.servers']}"
        self._cluster_id: str | None = None
        try:
            self._admin = AdminClient(configuration)
        except (KafkaException, ValueError, TypeError) as error:
            raise bad_configuration(error) from None

    def cluster_id(self) -> str:
        if self._cluster_id is None:
            doing = "connecting"
            future = self._call(lambda: self._admin.describe_cluster(request_timeout=CONNECT_TIMEOUT_S), doing)
            self._cluster_id = str(self._result(future, doing).cluster_id)
        return self._cluster_id

    def topics(self) -> Mapping[str, TopicView]:
        self.cluster_id()  # the connection: a broker that is down shows here, soon
        regex = self._settings.topics_regex
        if regex is None:
            names = list(dict.fromkeys(self._settings.topics))
        else:
            listed = self._call(lambda: self._admin.list_topics(timeout=REQUEST_TIMEOUT_S), "listing topics").topics
            names = sorted(name for name in listed if re.fullmatch(regex, name))
        return {
            name: TopicView(name, str(found.topic_id), tuple(sorted(p.id for p in found.partitions)))
            for name, found in self._described(names).items()
            if regex is None or not found.is_internal  # as Connect: internal ones only where they are named
        }

    def offsets(self, tps: Iterable[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]:
        wanted = list(tps)
        # In this order: a log start or an LSO that moves meanwhile never passes the end that is asked for later.
        starts = self._list_offsets(wanted, OffsetSpec.earliest(), self._isolation)
        stable = self._list_offsets(wanted, OffsetSpec.latest(), self._isolation)
        ends = stable
        if self._isolation is IsolationLevel.READ_COMMITTED:
            ends = self._list_offsets(wanted, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)
        return {tp: PartitionOffsets(starts[tp].offset, stable[tp].offset, ends[tp].offset) for tp in wanted}

    def offsets_for_time(
        self, tps: Iterable[TopicPartition], timestamp_ms: int
    ) -> Mapping[TopicPartition, TimedOffset | None]:
        spec = OffsetSpec.for_timestamp(timestamp_ms)
        found = self._list_offsets(list(tps), spec, self._isolation, lowest=_NO_MATCH)
        return {
            tp: None if at.offset == _NO_MATCH else TimedOffset(at.offset, at.timestamp) for tp, at in found.items()
        }

    def first_timestamp(self, tp: TopicPartition, start: int, end: int) -> int | None:
        reader = KafkaReader(self._settings.kafka, OffsetRange(tp, start, end), first_batch_records=1)
        try:
            for batch in reader:
                first = batch.timestamps()[0]
                return -1 if first is None else first
        finally:
            reader.close()
        return None

    def committed(self, group: str, tps: Iterable[TopicPartition]) -> GroupOffsets:
        asked = [Assignment(tp.topic, tp.partition) for tp in tps]
        doing = f"asking for the consumer group {group}"
        described = self._call(
            lambda: self._admin.describe_consumer_groups([group], request_timeout=REQUEST_TIMEOUT_S), doing
        )
        found = self._of_group(described[group], group, doing)
        members = 0 if found is None else len(found.members)
        if not asked:
            return GroupOffsets(members, {})
        listed = self._call(
            lambda: self._admin.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group, asked)], request_timeout=REQUEST_TIMEOUT_S
            ),
            doing,
        )
        answer = self._of_group(listed[group], group, doing)
        stored = [] if answer is None else [at for at in answer.topic_partitions or [] if at.offset >= 0]
        return GroupOffsets(members, {TopicPartition(at.topic, at.partition): at.offset for at in stored})

    def _of_group(self, future: Future[Any], group: str, doing: str) -> Any:
        """What was answered about a group; `None` if there is no such group."""
        try:
            return self._answer(future, doing)
        except KafkaException as exception:
            error: KafkaError = exception.args[0]
            if error.code() == KafkaError.GROUP_ID_NOT_FOUND:
                return None
            if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                raise ConfigurationError(
                    f"Kafka refuses to show the consumer group {group} {self._where}: {said(error)}.",
                    next="Give this client Describe permission on the group.",
                ) from None
            raise self._translated(exception, doing) from None

    @property
    def _isolation(self) -> IsolationLevel:
        committed = self._settings.kafka.isolation_level == "read_committed"
        return IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

    def _described(self, names: Sequence[str]) -> dict[str, Any]:
        """The topics among `names` that exist, as the broker describes them."""
        if not names:
            return {}
        futures = self._call(
            lambda: self._admin.describe_topics(TopicCollection(list(names)), request_timeout=REQUEST_TIMEOUT_S),
            "describing topics",
        )
        found = {}
        for name, future in futures.items():
            try:
                found[name] = self._result(future, f"describing topic {name}")
            except TopicMissing:
                continue
        return found

    def _list_offsets(
        self, tps: Sequence[TopicPartition], spec: OffsetSpec, isolation: IsolationLevel, *, lowest: int = 0
    ) -> Any:
        if not tps:
            return {}
        asked = {Assignment(tp.topic, tp.partition): spec for tp in tps}
        futures = self._call(
            lambda: self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=REQUEST_TIMEOUT_S),
            "asking for offsets",
        )
        by_tp = {TopicPartition(at.topic, at.partition): future for at, future in futures.items()}
        return {tp: self._offset(tp, future, lowest) for tp, future in by_tp.items()}

    def _offset(self, tp: TopicPartition, future: Future[Any], lowest: int) -> Any:
        doing = f"asking for offsets of {tp}"
        try:
            found = self._result(future, doing)
        except KafkaUnavailable:
            # librdkafka says "no leaders found" both of what does not exist and of what has none.
            topic = self._described([tp.topic]).get(tp.topic)
            if topic is None or tp.partition not in {p.id for p in topic.partitions}:
                raise _missing(f"{tp} does not exist {self._where}") from None
            raise
        if found.offset < lowest:
            # A leader that did not answer in time is no error of librdkafka's: it says OFFSET_INVALID, -1001.
            self._admin.poll(0)
            last = self._complaints.last
            raise translate(last or KafkaError(KafkaError._TIMED_OUT), f"{doing} {self._where}")
        return found

    def _call(self, ask: Callable[[], Answer], doing: str) -> Answer:
        self._complaints.clear()
        try:
            return ask()
        except KafkaException as error:
            raise self._translated(error, doing) from None

    def _result(self, future: Future[Any], doing: str) -> Any:
        """What a request answered; its error as one of ours."""
        try:
            return self._answer(future, doing)
        except KafkaException as error:
            raise self._translated(error, doing) from None

    def _answer(self, future: Future[Any], doing: str) -> Any:
        """What a request answered, `KafkaException` included; librdkafka ends each after its own `request_timeout`."""
        while not concurrent.futures.wait([future], _LISTEN_S).done:
            self._admin.poll(0)  # without it no complaint is heard
            if self._complaints.last is not None and self._complaints.is_final():
                raise translate(self._complaints.last, f"{doing} {self._where}")
        return future.result()

    def _translated(self, exception: KafkaException, doing: str) -> ExporterError:
        error: KafkaError = exception.args[0]
        self._admin.poll(0)
        if error.code() in VAGUE and self._complaints.last is not None:
            error = self._complaints.last  # a time-out says little, the connection's own complaint says why
        if error.code() in UNKNOWN_TOPIC:
            return _missing(f"Kafka does not know a topic or partition while {doing} {self._where}: {said(error)}")
        return translate(error, f"{doing} {self._where}")


def _missing(what: str) -> TopicMissing:
    return TopicMissing(f"{what}.", next="Create the topic, or correct `topics`; the client needs Describe on it.")
