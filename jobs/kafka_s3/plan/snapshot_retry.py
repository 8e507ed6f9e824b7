"""A snapshot of Kafka takes several questions, and a topic may be deleted, or a leader lost, between two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from kafka_s3.errors import KafkaUnavailable, TopicMissing
from kafka_s3.ports import Broker, TopicView

#: How often a snapshot is tried in a row. What one try meets in a partition, the next one leaves out.
TRIES_MAX: Final = 2
Snapshot = TypeVar("Snapshot")


def with_retry(broker: Broker, take: Callable[[Mapping[str, TopicView]], Snapshot]) -> Snapshot:
    """What `take` makes of the topics as they are; once more where they are others meanwhile.

    A broker that does not even say which topics there are is asked once: it is not a single partition that is gone.
    """
    views = broker.topics()
    for _ in range(TRIES_MAX - 1):
        try:
            return take(views)
        except (TopicMissing, KafkaUnavailable):
            views = broker.topics()
    return take(views)
