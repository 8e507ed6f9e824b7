"""The part of a key that the configuration makes of a record: the encoded partition."""

from __future__ import annotations

from kafka_s3.ranges import TopicPartition
from kafka_s3.records import RecordBatch
from kafka_s3.settings.model import DefaultPartitioner, Partitioner


def encode_default(tp: TopicPartition) -> str:
    """
    >>> encode_default(TopicPartition("orders", 3))
    'partition=3'
    """
    return f"partition={tp.partition}"


def encode_batch(partitioner: Partitioner, batch: RecordBatch) -> str:
    """The encoded partition of a batch: one for all its records, as the default partitioner has it."""
    match partitioner:
        case DefaultPartitioner():
            return encode_default(batch.tp)
