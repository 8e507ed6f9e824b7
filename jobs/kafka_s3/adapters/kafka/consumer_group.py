"""Positions for others: a consumer group that shows what is committed, to whoever watches lag. Nothing reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Assignment

from kafka_s3.adapters.kafka.broker import KafkaBroker
from kafka_s3.adapters.kafka.client import REQUEST_TIMEOUT_S, said
from kafka_s3.adapters.retry import Retrying
from kafka_s3.errors import ExporterError, KafkaUnavailable
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings
from kafka_s3.settings.s3 import RetrySettings

#: The coordinator of a group has moved, or begins, after a few of these.
_COORDINATOR: Final = RetrySettings(retries=6, backoff_ms=500)
_MOVES: Final = {
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
}


class KafkaGroup(KafkaBroker):
    """The group of `export.consumer.group.id`, for a connector that has one."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        assert settings.kafka.group is not None, "export.consumer.group.commit is not set"
        self._group = settings.kafka.group

    def show(self, positions: Mapping[TopicPartition, int]) -> str | None:
        """Make them the group's offsets; why they are not, or `None`. A group with members is theirs: left alone."""
        retrying = Retrying(_COORDINATOR, retry_on=KafkaUnavailable, time_max_s=REQUEST_TIMEOUT_S)
        try:
            return retrying(lambda: self._show(positions))
        except ExporterError as error:
            return str(error)
        except KafkaException as exception:
            return said(exception.args[0])

    def _show(self, positions: Mapping[TopicPartition, int]) -> str | None:
        members = self.committed(self._group, ()).members
        if members:
            return f"{members} of its members are alive: set export.consumer.group.id to a group of no consumer"
        try:
            self._alter(positions)
        except KafkaException as exception:
            if exception.args[0].code() not in _MOVES:
                raise
            raise KafkaUnavailable(f"{said(exception.args[0])}.") from None
        return None

    def _alter(self, positions: Mapping[TopicPartition, int]) -> None:
        doing = f"setting the offsets of the consumer group {self._group}"
        asked = ConsumerGroupTopicPartitions(
            self._group, [Assignment(tp.topic, tp.partition, at) for tp, at in sorted(positions.items())]
        )
        futures = self._call(
            lambda: self._admin.alter_consumer_group_offsets([asked], request_timeout=REQUEST_TIMEOUT_S), doing
        )
        answer = self._answer(futures[self._group], doing)
        for each in answer.topic_partitions or []:
            if each.error is not None:
                raise KafkaException(each.error)
