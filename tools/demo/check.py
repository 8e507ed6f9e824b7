"""What landed, and whether it is what the topic holds: every record, once. Uses nothing of the engine."""

import gzip
import json
import re
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from rich.table import Table

from tools.demo.records import PARTITIONS, TOPIC
from tools.demo.stage import BUCKET, Stage

_KEY = re.compile(rf"topics/{TOPIC}/partition=(\d+)/{TOPIC}\+(\d+)\+(\d{{10}})\.json\.gz")


@dataclass(frozen=True, slots=True)
class Landed:
    """One data object, as its name and its bytes tell."""

    key: str
    partition: int
    first_offset: int
    values: list[bytes]
    size: int


def landed(stage: Stage) -> list[Landed]:
    """Every data object, by partition and offset."""
    client = stage.s3.client()
    found = []
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="topics/"):
        for info in page.get("Contents", []):
            match = _KEY.fullmatch(info["Key"])
            assert match is not None, f"{info['Key']} is not a name that the Connect sink would give"
            body = client.get_object(Bucket=BUCKET, Key=info["Key"])["Body"].read()
            values = gzip.decompress(body).splitlines()
            found.append(Landed(info["Key"], int(match[2]), int(match[3]), values, len(body)))
    return sorted(found, key=lambda one: (one.partition, one.first_offset))


def table_of(objects: list[Landed]) -> Table:
    table = Table("object", "records", "first offset", "last offset", "bytes", title="What landed")
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for one in objects:
        count = len(one.values)
        last = one.first_offset + count - 1
        table.add_row(one.key, f"{count:,}", str(one.first_offset), str(last), f"{one.size:,}")
    return table


def table_of_positions(stage: Stage) -> Table:
    """The newest log entry's positions: what the next run starts from."""
    client = stage.s3.client()

    def newest(prefix: str) -> dict[str, Any]:
        key = client.list_objects_v2(Bucket=BUCKET, Prefix=prefix, MaxKeys=1)["Contents"][0]["Key"]
        body: dict[str, Any] = json.loads(client.get_object(Bucket=BUCKET, Key=key)["Body"].read())["body"]
        return body

    entry = newest(f"_kafka_s3/orders/log/{newest('_kafka_s3/orders/epoch/')['id']}/")
    table = Table("topic-partition", "position", title=f"Positions, log entry {entry['seq']}")
    for partition, offset in sorted(entry["topics"][TOPIC]["positions"].items(), key=lambda item: int(item[0])):
        table.add_row(f"{TOPIC}-{partition}", f"{offset:,}")
    return table


def compare(stage: Stage, objects: list[Landed]) -> int:
    """Compare every record of the topic with the objects; return how many there are, or raise AssertionError."""
    compared = 0
    for partition in range(PARTITIONS):
        expected = _values(stage, partition)
        seen: dict[int, bytes] = {}
        for one in objects:
            if one.partition == partition:
                for offset, value in enumerate(one.values, one.first_offset):
                    assert offset not in seen, f"{TOPIC}-{partition} offset {offset} is there twice: {one.key}"
                    seen[offset] = value
        assert seen.keys() == expected.keys(), f"{TOPIC}-{partition}: {len(expected)} records, {len(seen)} in objects"
        assert seen == expected, f"{TOPIC}-{partition}: an object holds another value than the topic"
        compared += len(seen)
    return compared


def _values(stage: Stage, partition: int) -> dict[int, bytes]:
    """Every record of a partition by offset, read straight from Kafka."""
    consumer = Consumer({"bootstrap.servers": stage.kafka.bootstrap_servers, "group.id": "check"})
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=30)
        consumer.assign([TopicPartition(TOPIC, partition, 0)])
        values: dict[int, bytes] = {}
        while len(values) < end:
            for message in consumer.consume(5000, 0.2):
                assert message.error() is None, message.error()
                values[message.offset()] = message.value()  # type: ignore[index, assignment]
        return values
    finally:
        consumer.close()
