"""Kafka, through confluent-kafka (librdkafka): planning's questions, the reading of ranges, and dead letters.

Nothing here joins a consumer group: partitions are assigned, positions live in the bucket.

- `broker`: planning's questions, through the admin client.
- `reader`: reads a range, one consumer each.
- `producer`: dead letters into topics.
- `consumer_group`: a consumer group's offsets, for tools that show lag.
- `divergence`: whether a partition's log was truncated, by leader epochs.
- `client`: configuration and translated errors, for all of them.

How long brokers that are down are waited for: `CONNECT_TIMEOUT_S` when planning begins, `REQUEST_TIMEOUT_S` for each
question once one has answered, in a few tries that go to different brokers (and a try more to find out which there
are), `export.read.timeout.ms` while a range is read, and `DELIVERY_TIMEOUT_S` for a dead letter.
"""

from __future__ import annotations

from kafka_s3.adapters.kafka.broker import KafkaBroker
from kafka_s3.adapters.kafka.consumer_group import KafkaGroup
from kafka_s3.adapters.kafka.producer import DeadLetterTopic, RedriveTopics
from kafka_s3.adapters.kafka.reader import KafkaSource

__all__ = ["DeadLetterTopic", "KafkaBroker", "KafkaGroup", "KafkaSource", "RedriveTopics"]
