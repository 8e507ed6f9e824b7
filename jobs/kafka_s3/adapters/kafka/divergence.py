"""Whether a partition's log still is what it was: the question of KIP-320, which librdkafka asks for consumers.

The admin client cannot ask it. A consumer that is assigned an offset and a leader epoch has the broker say where that
epoch ends (OffsetForLeaderEpoch) before it fetches anything: below the offset, the log was cut and written again.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Assignment

from kafka_s3.adapters.kafka.client import (
    CONNECT_TIMEOUT_S,
    GONE,
    GROUP,
    REQUEST_TIMEOUT_S,
    UNKNOWN_TOPIC,
    Complaints,
    bad_configuration,
    client_configuration,
    missing,
    said,
    translate,
)
from kafka_s3.errors import ExporterError, KafkaUnavailable
from kafka_s3.ports import LogPoint
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.kafka import KafkaSettings

_POLL_S: Final = 0.1
#: librdkafka says only in words where the epoch ends; -1 for an epoch that the broker never heard of.
_END: Final = re.compile(r"broker end offset is (-?\d+)")


def find_divergence(
    kafka: KafkaSettings, points: Mapping[TopicPartition, LogPoint], where: str
) -> dict[TopicPartition, int]:
    """Where logs part from what they were below a point; those that did not are not in the answer.

    Where the broker does not know the epoch at all (its epochs have gone back, as after a cluster was restored),
    nothing shows that any record is the same: the logs part at the log start. A log start above the point is another
    matter. Raises `KafkaUnavailable` if no answer comes for REQUEST_TIMEOUT_S.
    """
    asked = {tp: point for tp, point in points.items() if point.offset > 0}  # below 0 there is nothing to be different
    if not asked:
        return {}
    with contextlib.closing(_Validation(kafka, asked, where)) as validation:
        return validation.parted()


class _Validation:
    """One consumer for all points. It fetches next to nothing: a partition that has answered is paused."""

    def __init__(self, kafka: KafkaSettings, points: Mapping[TopicPartition, LogPoint], where: str) -> None:
        self._points = points
        self._where = where
        self._waiting = set(points)
        self._parted: dict[TopicPartition, int] = {}
        self._complaints = Complaints()
        configuration = {
            **client_configuration(kafka, self._complaints),
            "group.id": kafka.client.get("group.id", "kafka-s3"),  # librdkafka wants one; it is never joined
            # Under read_committed nothing would ever come at a point above the LSO.
            "isolation.level": "read_uncommitted",
            "auto.offset.reset": "error",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
            "queued.min.messages": 1,
            "fetch.message.max.bytes": 1024,
        }
        try:
            self._consumer = Consumer(configuration)
        except (KafkaException, ValueError, TypeError) as error:
            raise bad_configuration(error) from None

    def close(self) -> None:
        self._consumer.close()

    def parted(self) -> dict[TopicPartition, int]:
        try:
            self._consumer.assign(
                [Assignment(*tp, point.offset, leader_epoch=point.epoch) for tp, point in self._points.items()]
            )
            heard = time.monotonic()
            while self._waiting:
                messages = self._consumer.consume(len(self._waiting), timeout=_POLL_S)
                if sum(map(self._is_answer, messages)):
                    heard = time.monotonic()
                elif self._complaints.is_final() or time.monotonic() - heard > REQUEST_TIMEOUT_S:
                    raise self._no_answer()
        except KafkaException as error:
            raise self._translated(error.args[0]) from None
        return self._parted

    def _is_answer(self, message: Message) -> bool:
        """Take in what came: a record and the end of a log both mean that the epoch was found to be as it was."""
        error, topic, partition = message.error(), message.topic(), message.partition()
        if topic is None or partition is None:
            if error is not None and error.code() not in GROUP:
                self._complaints(error)
            return False
        tp = TopicPartition(topic, partition)
        if tp not in self._waiting:
            return False
        if error is not None and error.code() in GONE:
            end = self._end(tp, error)
            if end < self._points[tp].offset:
                self._parted[tp] = end
        elif error is not None and error.code() != KafkaError._PARTITION_EOF:
            raise self._translated(error, tp)
        self._waiting.remove(tp)
        self._consumer.pause([Assignment(*tp)])
        return True

    def _end(self, tp: TopicPartition, error: KafkaError) -> int:
        """Up to where the log is what it was: the end of the epoch, or of the log if the point is out of its range."""
        found = _END.search(error.str())
        if found is not None and int(found[1]) >= 0:
            return int(found[1])
        low, high = self._consumer.get_watermark_offsets(Assignment(*tp), timeout=CONNECT_TIMEOUT_S)
        offset = self._points[tp].offset
        if "truncation" in error.str():
            return min(low, offset)
        return offset if offset < low else min(high, offset)

    def _no_answer(self) -> ExporterError:
        """Why nothing comes, which librdkafka keeps to itself: no leader, or no right to see it."""
        last, tp = self._complaints.last, min(self._waiting)
        if last is not None and self._complaints.is_final():
            return self._translated(last)
        try:
            topic = self._consumer.list_topics(tp.topic, timeout=CONNECT_TIMEOUT_S).topics[tp.topic]
        except KafkaException as error:
            return self._translated(last or error.args[0], tp)
        if topic.error is None and tp.partition not in topic.partitions:
            return missing(f"{tp} does not exist {self._where}")
        why = topic.error or topic.partitions[tp.partition].error
        if why is not None:
            return self._translated(why, tp)
        text = f" The client says: {said(last)} ({last.name()})." if last is not None else ""
        return KafkaUnavailable(
            f"{tp}: no answer within {REQUEST_TIMEOUT_S:g} s on whether its log was truncated {self._where}.{text}",
            next="Is its leader up? The next try asks again.",
        )

    def _translated(self, error: KafkaError, tp: TopicPartition | None = None) -> ExporterError:
        doing = f"asking whether {tp or 'logs'} {'was' if tp else 'were'} truncated {self._where}"
        if error.code() in UNKNOWN_TOPIC:
            return missing(f"Kafka does not know a topic or partition while {doing}: {said(error)}")
        return translate(error, doing)
