"""Reads a file of positions, in the forms that Kafka's own tools write. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kafka_s3.errors import ConfigurationError
from kafka_s3.ranges import TopicPartition

_FORMS = (
    'Write {"topic": {"0": 42}}, or what Connect answers to GET /connectors/<name>/offsets, or lines topic,partition,'
    "offset as `kafka-consumer-groups --reset-offsets --export` prints them."
)


def parse_positions(text: str, where: str) -> dict[TopicPartition, int]:
    """The next offset of each topic-partition; `ConfigurationError` names the file `where` and what is wrong."""
    positions: dict[TopicPartition, int] = {}
    try:
        rows = list(_from_json(text) if text.lstrip().startswith("{") else _from_lines(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ConfigurationError(f"{where} is not a file of positions: {error}.", next=_FORMS) from None
    for topic, partition, offset in rows:
        tp = TopicPartition(topic, partition)
        if partition < 0 or offset < 0:
            raise ConfigurationError(f"{where}: {tp} has the position {offset}; both numbers are 0 or more.")
        if positions.setdefault(tp, offset) != offset:
            raise ConfigurationError(f"{where}: {tp} has two positions, {positions[tp]} and {offset}.")
    if not positions:
        raise ConfigurationError(f"{where} holds no positions.", next=_FORMS)
    return positions


def _from_json(text: str) -> Iterator[tuple[str, int, int]]:
    document: Any = json.loads(text)
    if isinstance(document.get("offsets"), list):
        for each in document["offsets"]:
            at, partition = each["offset"], each["partition"]
            if at is not None:
                yield str(partition["kafka_topic"]), _number(partition["kafka_partition"]), _number(at["kafka_offset"])
        return
    for topic, partitions in document.items():
        for number, offset in partitions.items():
            yield topic, _number(number), _number(offset)


def _from_lines(text: str) -> Iterator[tuple[str, int, int]]:
    for number, line in enumerate(text.splitlines(), 1):
        parts = [part.strip().strip('"') for part in line.split(",")]
        if line.strip() and not line.startswith("#"):
            if len(parts) != 3:
                raise ValueError(f"line {number} is not topic,partition,offset: {line[:100]!r}")
            yield parts[0], _number(parts[1]), _number(parts[2])


def _number(value: object) -> int:
    """A whole number, also as text; not 1.5, not true."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(f"{value!r} is not a whole number")
    return int(value)
