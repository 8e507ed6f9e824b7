"""Records through a configured chain and the writer, without Kafka or S3."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_s3.ports import Registries
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.report.preview import Preview, preview
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings

PARTITION = TopicPartition("orders", 0)
AT_MS = 1_456_300_800_123  # 2016-02-24T08:00:00.123Z
KAFKA = "org.apache.kafka.connect.transforms"
BASE = {
    "name": "orders",
    "topics": "orders",
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "s3.bucket.name": "bucket",
    "flush.size": "1000",
    "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


def configured(more: Mapping[str, str]) -> Settings:
    return from_mapping({**BASE, **more}, offline=True).settings


def one(type: str, **options: str) -> dict[str, str]:
    """A chain of one transform; `_` in an option's name stands for a dot."""
    return {
        "transforms": "it",
        "transforms.it.type": type,
        **{f"transforms.it.{name.replace('_', '.')}": text for name, text in options.items()},
    }


def record(offset: int, value: object, **more: Any) -> Record:
    """A record of JSON; bytes and null are the value themselves."""
    body = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    return Record(offset, body, **{"timestamp_ms": AT_MS, **more})


def written(
    more: Mapping[str, str], records: Sequence[Record], registries: Registries = Registries()
) -> tuple[Preview, dict[str, bytes]]:
    """What a configuration makes of records: the outcome, and every object's bytes by its key."""
    objects: dict[str, bytes] = {}
    outcome = preview(
        configured(more),
        ((PARTITION, each) for each in records),
        lambda key, body: objects.__setitem__(key, body),
        at_ms=AT_MS,
        registries=registries,
    )
    return outcome, objects


def lines(more: Mapping[str, str], *values: object) -> list[Any]:
    """The JSON lines that values become, in one object."""
    outcome, objects = written(more, [record(offset, value) for offset, value in enumerate(values)])
    assert not outcome.rejected, outcome.rejected
    (body,) = objects.values()
    return [json.loads(line) for line in body.splitlines()]
