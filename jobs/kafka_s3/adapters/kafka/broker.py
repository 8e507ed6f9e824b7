"""Planning's questions, through the admin client."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from confluent_kafka import (
    OFFSET_INVALID,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
)
from confluent_kafka import TopicPartition as Assignment
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    OffsetSpec,
)

from kafka_s3.adapters.kafka.client import (
    CONNECT_TIMEOUT_S,
    REQUEST_TIMEOUT_S,
    UNKNOWN_TOPIC,
    VAGUE,
    Complaints,
    bad_configuration,
    client_configuration,
    missing,
    said,
    translate,
)
from kafka_s3.adapters.kafka.divergence import find_divergence
from kafka_s3.adapters.kafka.reader import KafkaReader
from kafka_s3.adapters.retry import Retrying
from kafka_s3.errors import ConfigurationError, ExporterError, KafkaUnavailable, TopicMissing
from kafka_s3.ports import GroupOffsets, LogPoint, PartitionOffsets, TimedOffset, TopicView, topic_identity
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.model import Settings
from kafka_s3.settings.s3 import RetrySettings

#: How often librdkafka's complaints are listened to while an answer is waited for.
_LISTEN_S: Final = 0.1
#: A broker that hangs, or died, is found out by a question that it does not answer: the next one goes to another.
_TRIES: Final = 3
#: What a partition's leader is not, or not yet.
_MOVED: Final = {
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError._NOENT,  # librdkafka's, of a partition that has no leader, or does not exist
}
#: An election is over after a few of these.
_ELECTION: Final = RetrySettings(retries=6, backoff_ms=500)
#: A client may be allowed to read a topic, and not to see how it is configured.
_NOT_SHOWN: Final = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}
_NO_MATCH: Final = -1  # no record at or after a time

Answer = TypeVar("Answer")


class _AskAgainError(KafkaUnavailable):
    """An answer that another try may better."""


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
        silence = RetrySettings(retries=_TRIES - 1, backoff_ms=0)
        self._retrying = Retrying(silence, retry_on=_AskAgainError)
        self._electing = Retrying(_ELECTION, retry_on=_AskAgainError, time_max_s=REQUEST_TIMEOUT_S)

    def cluster_id(self) -> str:
        if self._cluster_id is None:
            doing = "connecting"
            future = self._call(lambda: self._admin.describe_cluster(request_timeout=CONNECT_TIMEOUT_S), doing)
            self._cluster_id = str(self._result(future, doing).cluster_id)
        return self._cluster_id

    def topics(self) -> Mapping[str, TopicView]:
        cluster_id = self.cluster_id()  # the connection, too: a broker that is down shows here, soon
        regex = self._settings.topics_regex
        if regex is None:
            names = list(dict.fromkeys(self._settings.topics))
        else:
            listed = self._listed("listing topics").topics
            names = sorted(name for name in listed if re.fullmatch(regex, name))
        return {
            name: TopicView(
                name,
                topic_identity(str(found.topic_id), cluster_id),
                tuple(sorted(p.id for p in found.partitions)),
                frozenset(p.id for p in found.partitions if p.leader is None or p.leader.id < 0),
            )
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
        return {
            tp: PartitionOffsets(starts[tp].offset, stable[tp].offset, ends[tp].offset, _epoch(ends[tp].leader_epoch))
            for tp in wanted
        }

    def offsets_for_time(
        self, tps: Iterable[TopicPartition], timestamp_ms: int
    ) -> Mapping[TopicPartition, TimedOffset | None]:
        spec = OffsetSpec.for_timestamp(timestamp_ms)
        found = self._list_offsets(list(tps), spec, self._isolation, lowest=_NO_MATCH)
        return {
            tp: None if at.offset == _NO_MATCH else TimedOffset(at.offset, at.timestamp) for tp, at in found.items()
        }

    def first_timestamp(self, tp: TopicPartition, start: int, end: int, *, uncommitted: bool = False) -> int | None:
        kafka = self._settings.kafka
        if uncommitted:
            kafka = dataclasses.replace(kafka, isolation_level="read_uncommitted")
        reader = KafkaReader(kafka, OffsetRange(tp, start, end), first_batch_records=1)
        try:
            for batch in reader:
                first = batch.timestamps()[0]
                return -1 if first is None else first
        finally:
            reader.close()
        return None

    def diverged(self, points: Mapping[TopicPartition, LogPoint]) -> Mapping[TopicPartition, int]:
        return find_divergence(self._settings.kafka, points, self._where)

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

    def retention_ms(self, topics: Iterable[str]) -> Mapping[str, int | None]:
        found = self._configurations(topics, "retention")
        return {name: _retention_ms(configuration) for name, configuration in found.items()}

    def cleanup_policies(self, topics: Iterable[str]) -> Mapping[str, frozenset[str]]:
        found = self._configurations(topics, "cleanup policy")
        return {name: _policies(configuration) for name, configuration in found.items()}

    def _configurations(self, topics: Iterable[str], what: str) -> dict[str, Mapping[str, Any]]:
        """The configurations of those topics that are there, and that this client may ask about."""
        asked = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in topics]
        if not asked:
            return {}
        doing = f"asking for the {what} of topic {asked[0].name}"
        futures = self._call(lambda: self._admin.describe_configs(asked, request_timeout=REQUEST_TIMEOUT_S), doing)
        found = {}
        for resource, future in futures.items():
            try:
                found[resource.name] = self._answer(future, doing)
            except KafkaException as exception:
                if exception.args[0].code() not in UNKNOWN_TOPIC | _NOT_SHOWN:
                    raise self._translated(exception, doing) from None
        return found

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
        doing = f"describing topic {names[0]}"
        asked = TopicCollection(list(names))

        def ask(answered: Mapping[str, Future[Any]] | None) -> Mapping[str, Future[Any]]:
            if answered is not None:
                # librdkafka asks whom it takes for the controller: under KRaft the broker that the last description
                # of any topic named, dead or not.
                self._listed(doing, names[0])
            return self._call(lambda: self._admin.describe_topics(asked, request_timeout=_try_s()), doing)

        def is_silence(futures: Mapping[str, Future[Any]]) -> bool:
            return any(self._is_silence(future, doing) for future in futures.values())

        futures = self._answered(self._retrying, ask, is_silence)
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

        def ask(answered: dict[TopicPartition, Future[Any]] | None) -> dict[TopicPartition, Future[Any]]:
            again = tps
            if answered is not None:
                again = [tp for tp, future in answered.items() if self._has_moved(tp, future)]
                # The admin client goes on asking the leaders it knows; it learns of others by asking for the topic.
                for topic in dict.fromkeys(tp.topic for tp in again):
                    self._listed("looking for leaders", topic)
            asked = {Assignment(tp.topic, tp.partition): spec for tp in again}
            futures = self._call(
                lambda: self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=_try_s()),
                "asking for offsets",
            )
            found = {TopicPartition(at.topic, at.partition): future for at, future in futures.items()}
            return {**(answered or {}), **found}

        def is_election(futures: Mapping[TopicPartition, Future[Any]]) -> bool:
            moved = [tp for tp, future in futures.items() if self._has_moved(tp, future)]
            return any(self._exists(tp) for tp in moved)

        futures = self._answered(self._electing, ask, is_election)
        return {tp: self._offset(tp, future, lowest) for tp, future in futures.items()}

    def _answered(
        self, retrying: Retrying, ask: Callable[[Answer | None], Answer], may_better: Callable[[Answer], bool]
    ) -> Answer:
        """The first answer that another try would not better, or the last one, which says why. `ask` is given the one
        before."""
        last: list[Answer] = []

        def attempt() -> None:
            last[:] = [ask(last[0] if last else None)]
            if may_better(last[0]):
                raise _AskAgainError("")

        with contextlib.suppress(_AskAgainError):
            retrying(attempt)
        return last[0]

    def _exists(self, tp: TopicPartition) -> bool:
        topic = self._listed("looking for leaders", tp.topic).topics.get(tp.topic)
        return topic is not None and topic.error is None and tp.partition in topic.partitions

    def _has_moved(self, tp: TopicPartition, future: Future[Any]) -> bool:
        """Whether nothing was answered, or by a broker that does not lead any more, or not yet."""
        try:
            found = self._answer(future, f"asking for offsets of {tp}")
        except KafkaException as exception:
            return exception.args[0].code() in _MOVED | VAGUE
        return bool(found.offset == OFFSET_INVALID)

    def _offset(self, tp: TopicPartition, future: Future[Any], lowest: int) -> Any:
        doing = f"asking for offsets of {tp}"
        try:
            found = self._result(future, doing)
        except KafkaUnavailable:
            # librdkafka says "no leaders found" both of what does not exist and of what has none.
            topic = self._described([tp.topic]).get(tp.topic)
            if topic is None or tp.partition not in {p.id for p in topic.partitions}:
                raise missing(f"{tp} does not exist {self._where}") from None
            raise
        if found.offset < lowest:
            # A leader that did not answer in time is no error of librdkafka's: it says OFFSET_INVALID, -1001.
            self._admin.poll(0)
            last = self._complaints.last
            raise translate(last or KafkaError(KafkaError._TIMED_OUT), f"{doing} {self._where}")
        return found

    def _listed(self, doing: str, topic: str | None = None) -> ClusterMetadata:
        """The cluster's own description, asked again where no answer came."""

        def ask(_: object) -> ClusterMetadata | KafkaException:
            try:
                return self._admin.list_topics(topic, timeout=_try_s())
            except KafkaException as exception:
                return exception

        def is_silence(found: ClusterMetadata | KafkaException) -> bool:
            return isinstance(found, KafkaException) and found.args[0].code() in VAGUE

        self._complaints.clear()
        found = self._answered(self._retrying, ask, is_silence)
        if isinstance(found, KafkaException):
            raise self._translated(found, doing)
        return found

    def _is_silence(self, future: Future[Any], doing: str) -> bool:
        try:
            self._answer(future, doing)
        except KafkaException as exception:
            return exception.args[0].code() in VAGUE
        return False

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
            return missing(f"Kafka does not know a topic or partition while {doing} {self._where}: {said(error)}")
        return translate(error, f"{doing} {self._where}")


def _try_s() -> float:
    """How long one try of a question waits for its answer."""
    return REQUEST_TIMEOUT_S / _TRIES


def _epoch(said: int | None) -> int | None:
    """A leader epoch, which a broker may leave out."""
    return None if said is None or said < 0 else said


def _retention_ms(configuration: Mapping[str, Any]) -> int | None:
    """After what time records are deleted by a topic's configuration; `None` where age deletes none."""
    kept_ms = int(configuration["retention.ms"].value)
    return kept_ms if "delete" in _policies(configuration) and kept_ms >= 0 else None


def _policies(configuration: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(policy.strip() for policy in configuration["cleanup.policy"].value.split(",") if policy.strip())
