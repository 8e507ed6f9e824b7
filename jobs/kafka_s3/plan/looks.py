"""Looking at Kafka takes several questions, and a topic may be deleted, or a leader lost, between two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from kafka_s3.errors import KafkaUnavailable, TopicMissing
from kafka_s3.ports import Broker, TopicView

#: How often Kafka is looked at in a row. What a look meets in one partition, the next one leaves out.
LOOKS_MAX: Final = 2
Seen = TypeVar("Seen")


def looked_again(broker: Broker, look: Callable[[Mapping[str, TopicView]], Seen]) -> Seen:
    """What a look sees that begins with the topics as they are; once more where they are others meanwhile.

    A broker that does not even say which topics there are is asked once: it is no single partition that is gone.
    """
    views = broker.topics()
    for _ in range(LOOKS_MAX - 1):
        try:
            return look(views)
        except (TopicMissing, KafkaUnavailable):
            views = broker.topics()
    return look(views)
