"""A connector over the real broker and the real store, with records in its topic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from tests.cli.command import PLAIN, write_properties
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SECRET = "canary-of-a-secret-key"


@dataclass(frozen=True)
class ConnectorFile:
    """A configuration file beside its worker file; `env` completes it."""

    config: Path
    topic: str
    bucket: str
    broker: KafkaBroker
    client: S3Client
    env: Mapping[str, str]

    def produce(self, count: int, *, partition: int = 0, timestamp_ms: int | None = None) -> None:
        values = [json.dumps({"n": number}).encode() for number in range(count)]
        self.produce_values(values, partition=partition, timestamp_ms=timestamp_ms)

    def produce_values(
        self, values: list[bytes | None], *, partition: int = 0, timestamp_ms: int | None = None
    ) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers})
        for value in values:
            more = {} if timestamp_ms is None else {"timestamp": timestamp_ms}
            producer.produce(self.topic, value, partition=partition, **more)
        assert producer.flush(30) == 0

    def keys(self, prefix: str = "") -> list[str]:
        found = self.client.list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        return [item["Key"] for item in found.get("Contents", [])]

    def log_key(self, seq: int) -> str:
        [epoch] = self.keys("_kafka_s3/orders/epoch/")
        return f"_kafka_s3/orders/log/{json.loads(self.body(epoch))['body']['id']}/{10**19 - 1 - seq}.json"

    def body(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()

    def overwrite(self, key: str, body: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key=key, Body=body)


@pytest.fixture
def connector(kafka: KafkaBroker, moto: MotoServer, topic_name: str, bucket_name: str, tmp_path: Path) -> ConnectorFile:
    """Two partitions, an empty bucket, flush.size 3, gzip; the secret key comes out of the environment."""
    kafka.create_topic(topic_name, 2)
    moto.create_bucket(bucket_name)
    properties = {
        **PLAIN,
        "topics": topic_name,
        "s3.bucket.name": bucket_name,
        "s3.region": moto.region,
        "store.url": moto.endpoint_url,
        "aws.access.key.id": moto.access_key,
        "aws.secret.access.key": "${env:CLI_TEST_SECRET}",
        "s3.compression.type": "gzip",
        "s3.part.retries": "0",
    }
    config = write_properties(tmp_path / "orders.properties", properties)
    write_properties(tmp_path / "worker.properties", {"bootstrap.servers": kafka.bootstrap_servers})
    return ConnectorFile(config, topic_name, bucket_name, kafka, moto.client(), {"CLI_TEST_SECRET": SECRET})
