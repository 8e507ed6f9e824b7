"""Configurations of Aiven's pages, in other names, on the real broker and the real store.

* README: "Aiven's S3 Sink Connector for Apache Kafka", its example and the templates in its text.
* HOWTO: "Create an Amazon S3 sink connector by Aiven" (aiven.io), and its page of parameters.

Refused are those that keep only the latest record of each key.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.cli.command import call
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer

CONNECT = "org.apache.kafka.connect"
SINK = {
    "name": "s3_sink",
    "connector.class": "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector",
    "tasks.max": "1",
}
BYTES = {
    "key.converter": f"{CONNECT}.converters.ByteArrayConverter",
    "value.converter": f"{CONNECT}.converters.ByteArrayConverter",
}
JSON = {
    "key.converter": f"{CONNECT}.storage.StringConverter",
    "value.converter": f"{CONNECT}.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
START_MS = round(datetime(2024, 1, 15, 10, tzinfo=UTC).timestamp() * 1000)
VALUES: list[Any] = [{"a": 1, "b": "x"}, {"a": 2}, None]
RAW = [None if value is None else json.dumps(value, separators=(",", ":")).encode() for value in VALUES]
Objects = Mapping[str, list[Any]]


def encoded(raw: bytes | None) -> str:
    return base64.b64encode(raw or b"").decode()


def stamp(number: int) -> str:
    return f"2024-01-15T1{number}:00:00Z"


def whole(number: int) -> dict[str, Any]:
    return {"offset": number, "value": VALUES[number], "key": f"k{number}", "timestamp": stamp(number)}


#: By name: the page's properties, and the objects that they make of the three records, an hour apart.
EXAMPLES: dict[str, tuple[Mapping[str, str], Objects]] = {
    "howto": (BYTES, {"{t}-0-0.gz": [encoded(raw) for raw in RAW]}),
    "howto-fields": (
        {**BYTES, "format.output.fields": "key,value,offset,timestamp", "file.compression.type": "none"},
        {
            "{t}-0-0": [
                f"{encoded(b'k%d' % n)},{encoded(raw)},{n},{START_MS + n * 3_600_000}" for n, raw in enumerate(RAW)
            ]
        },
    ),
    "howto-prefix": (
        {**BYTES, "aws_s3_prefix": "kafka/dumps/", "output_compression": "none", "format.output.fields": "value",
         "format.output.fields.value.encoding": "none"},
        {"kafka/dumps/{t}-0-00000000000000000000": [(raw or b"").decode() for raw in RAW]},
    ),
    "readme": (
        {
            **JSON,
            "format.output.type": "jsonl",
            "file.name.template": "dir1/dir2/{{topic}}-{{partition:padding=true}}-{{start_offset:padding=true}}.gz",
            "format.output.fields": "key,value,offset,timestamp",
            "format.output.envelope": "true",
            "file.compression.type": "gzip",
            "timestamp.timezone": "Europe/Berlin",
            "timestamp.source": "wallclock",
        },
        {"dir1/dir2/{t}-0000000000-00000000000000000000.gz": [whole(number) for number in range(3)]},
    ),
    "readme-array": (
        {**JSON, "format.output.type": "json", "format.output.fields": "value", "file.compression.type": "none"},
        {"{t}-0-0": [[{"value": value} for value in VALUES]]},
    ),
    "readme-alone": (
        {**JSON, "format.output.type": "jsonl", "format.output.envelope": "false", "file.max.records": "2"},
        {"{t}-0-0.gz": VALUES[:2], "{t}-0-2.gz": VALUES[2:]},
    ),
    "readme-times": (
        {
            **JSON,
            "format.output.type": "jsonl",
            "file.compression.type": "none",
            "file.name.template": "{{topic}}/{{timestamp:unit=yyyy}}-{{timestamp:unit=MM}}-{{timestamp:unit=dd}}/"
            "{{timestamp:unit=HH}}/{{partition:padding=true}}-{{start_offset:padding=true}}.jsonl",
            "file.name.timestamp.source": "EVENT",
            "file.name.timestamp.timezone": "Europe/Helsinki",
        },
        {
            f"{{t}}/2024-01-15/{hour + 2}/0000000000-{number:020d}.jsonl": [{"value": VALUES[number]}]
            for number, hour in enumerate((10, 11, 12))
        },
    ),
    "readme-date-in-name": (
        {
            **JSON,
            "format.output.type": "jsonl",
            "file.name.timestamp.source": "EVENT",
            "file.name.template": "{{topic}}-{{partition}}-{{start_offset}}-{{timestamp:unit=yyyy}}"
            "{{timestamp:unit=MM}}{{timestamp:unit=dd}}.gz",
        },
        {"{t}-0-0-20240115.gz": [{"value": value} for value in VALUES]},
    ),
}  # fmt: skip
REFUSED = {
    "readme-key": ({**JSON, "file.name.template": "k{{key}}"}, "keeps only the latest record of each key"),
    "readme-key-of-partition": (
        {**JSON, "file.name.template": "{{topic}}-{{partition}}-{{key}}"},
        "keeps only the latest record of each key",
    ),
}


@pytest.fixture
def make(
    kafka: KafkaBroker, moto: MotoServer, topic_name: str, bucket_name: str, tmp_path: Path
) -> Callable[[Mapping[str, str]], Path]:
    """The page's configuration with this machine's broker and store, and three records."""
    kafka.create_topic(topic_name)
    moto.create_bucket(bucket_name)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number, raw in enumerate(RAW):
        producer.produce(topic_name, raw, b"k%d" % number, partition=0, timestamp=START_MS + number * 3_600_000)
    assert producer.flush(30) == 0
    (tmp_path / "worker.properties").write_text(f"bootstrap.servers={kafka.bootstrap_servers}\n")

    def write(page: Mapping[str, str]) -> Path:
        place = {"aws.s3.bucket.name": bucket_name, "aws.s3.region": moto.region, "aws.s3.endpoint": moto.endpoint_url}
        keys = {"aws.access.key.id": moto.access_key, "aws.secret.access.key": moto.secret_key}
        config = {**SINK, "topics": topic_name, **place, **keys, **page}
        path = tmp_path / "connector.json"
        path.write_text(json.dumps({"name": "s3_sink", "config": config}))
        return path

    return write


def _objects(moto: MotoServer, bucket: str) -> dict[str, list[Any]]:
    client = moto.client()
    found: dict[str, list[Any]] = {}
    for each in client.list_objects_v2(Bucket=bucket)["Contents"]:
        if not each["Key"].startswith("_kafka_s3/"):
            body = client.get_object(Bucket=bucket, Key=each["Key"])["Body"].read()
            found[each["Key"]] = _lines(gzip.decompress(body) if each["Key"].endswith(".gz") else body)
    return found


def _lines(body: bytes) -> list[Any]:
    text = body.decode().removesuffix("\n")
    return [json.loads(text)] if text.startswith("[") else text.split("\n")


def _plain(rows: list[Any]) -> list[Any]:
    """Lines of JSON as values; those of CSV are text."""
    return [json.loads(row) if isinstance(row, str) and row[:1] in ("{", "n") else row for row in rows]


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_exports_under_aivens_names(
    make: Callable[[Mapping[str, str]], Path], moto: MotoServer, topic_name: str, bucket_name: str, name: str
) -> None:
    """Keys, contents and boundaries are those that Aiven's sink makes; verify finds every record again."""
    page, expected = EXAMPLES[name]
    config = make(page)
    ran = call("run", config, "--until-now")
    assert ran.exit_code == 0, ran.output
    found = {key: _plain(rows) for key, rows in _objects(moto, bucket_name).items()}
    assert found == {key.replace("{t}", topic_name): _plain(rows) for key, rows in expected.items()}
    verified = call("verify", config, "--against-kafka")
    assert verified.exit_code == 0, verified.output
    assert "3 records" in verified.stdout


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_for_its_template_alone(make: Callable[[Mapping[str, str]], Path], name: str) -> None:
    """With the way out."""
    page, said = REFUSED[name]
    result = call("validate", make(page), "--json")
    assert result.exit_code == 1
    [problem] = [each for each in json.loads(result.stdout)["problems"] if "converter" not in each["property"]]
    assert problem["property"] == "file.name.template"
    assert said in problem["problem"]


def test_an_export_goes_on_behind_aivens_sink(
    make: Callable[[Mapping[str, str]], Path],
    kafka: KafkaBroker,
    moto: MotoServer,
    topic_name: str,
    bucket_name: str,
) -> None:
    """Its objects are found by their names, and its consumer group says up to which offset they go."""
    config = make({**JSON, "format.output.type": "jsonl", "file.compression.type": "none"})
    body = b'{"value":{"a":1,"b":"x"}}\n{"value":{"a":2}}'
    moto.client().put_object(Bucket=bucket_name, Key=f"{topic_name}-0-0", Body=body)
    group = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "connect-s3_sink"}
    consumer = Consumer(group)
    consumer.commit(offsets=[TopicPartition(topic_name, 0, 2)], asynchronous=False)
    consumer.close()
    refused = call("run", config, "--until-now")
    assert refused.exit_code != 0
    assert "adopt" in refused.output
    adopted = call("adopt", config, "--from-group", "connect-s3_sink", "--yes")
    assert adopted.exit_code == 0, adopted.output
    assert call("run", config, "--until-now").exit_code == 0
    assert _objects(moto, bucket_name) == {
        f"{topic_name}-0-0": body.decode().split("\n"),
        f"{topic_name}-0-2": ['{"value":null}'],
    }
