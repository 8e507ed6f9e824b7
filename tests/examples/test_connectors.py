"""The connectors of examples/ on the real broker, registry and store: each exports its records once, by its keys."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema

from tests.cli.command import call
from tests.examples.test_debezium import EVENTS, KEY
from tests.house.pages import ROOT
from tests.protobuf.proto import proto3
from tools.parts.kafka import KafkaBroker
from tools.parts.registry import SchemaRegistry
from tools.parts.s3 import MotoServer

FOLDER = ROOT / "examples"
NOON_MS = round(datetime(2026, 1, 15, 12, tzinfo=UTC).timestamp() * 1000)
HOUR_MS = 3_600_000
AVRO = {"type": "record", "name": "Payment", "fields": [{"name": "id", "type": "long"}]}
PROTOBUF = proto3("message Trip { int64 id = 1; oneof paid { string card = 2; int64 cash = 3; } }")

Values = Sequence[bytes | None]


@dataclass(frozen=True)
class Wanted:
    """Values an hour apart from noon on, and the objects that they become: how many records, by key.

    `{t}` is the topic, `{day}` today.

    `more`: what the file is completed with beside topic, bucket and store. `bad`: dead letters beside the objects.
    """

    values: Values
    keys: Mapping[str, int]
    registered: tuple[str, str] | None = None
    key: bytes | None = b"k"
    bad: int = 0


def _json(*values: Any) -> Values:
    return [json.dumps(value).encode() for value in values]


def _datum(number: int) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, AVRO, {"id": number})
    return body.getvalue()


IDS = _json({"id": 1}, {"id": 2}, {"id": 3})
DAY = "year=2026/month=01/day=15"

EXAMPLES: Mapping[str, Wanted] = {
    "hourly-json.json": Wanted(
        IDS, {f"topics/{{t}}/{DAY}/hour={12 + n}/{{t}}+0+000000000{n}.json.gz": 1 for n in range(3)}
    ),
    "daily-avro.properties": Wanted(
        [_datum(1), _datum(2)], {f"topics/{{t}}/{DAY}/{{t}}+0+0000000000.avro": 2}, (json.dumps(AVRO), "AVRO")
    ),
    "strimzi.yaml": Wanted(IDS, {"topics/{t}/partition=0/{t}+0+0000000000.json.gz": 3}),
    "debezium.json": Wanted(EVENTS, {"topics/{t}/partition=0/{t}+0+0000000000.snappy.parquet": 3}, key=KEY),
    "protobuf-parquet.properties": Wanted(
        [b"\0\x08\x01\x12\x01x", b"\0\x08\x02\x18\x05"],
        {"topics/{t}/partition=0/{t}+0+0000000000.zstd.parquet": 2},
        (PROTOBUF, "PROTOBUF"),
    ),
    "hourly-parquet-berlin.properties": Wanted(
        IDS, {f"topics/{{t}}/{DAY}/hour={13 + n}/{{t}}+0+000000000{n}.snappy.parquet": 1 for n in range(3)}
    ),
    "backup.properties": Wanted([b"\xff\0", None, b""], {"topics/{t}/partition=0/{t}+0+0000000000.json.zst": 3}),
    "block-gzip.properties": Wanted([b"a", b"b"], {"raw/{day}/{t}-00000-000000000000.gz": 2}),
    "fields-and-dead-letters.json": Wanted(
        [*_json({"region": "eu", "customer": {"tier": "gold"}}), b"{oops", *_json({"region": "eu"})],
        {"topics/{t}/region=eu/customer.tier=gold/{t}+0+0000000000.json": 1},
        bad=2,
    ),
    "aiven-jsonl.json": Wanted(IDS, {"{t}/0-00000000000000000000.jsonl.gz": 3}),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_exports_its_records_once(
    kafka: KafkaBroker,
    moto: MotoServer,
    topic_name: str,
    bucket_name: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    name: str,
) -> None:
    """Keys and numbers of records are the expected ones, and verify finds every record in Kafka again."""
    wanted = EXAMPLES[name]
    kafka.create_topic(topic_name)
    moto.create_bucket(bucket_name)
    place = {"topic": topic_name, "bucket": bucket_name, "region": moto.region, "store": moto.endpoint_url}
    frame = b""
    if wanted.registered is not None:
        registry: SchemaRegistry = request.getfixturevalue("registry_server")
        id = registry.client().register_schema(f"{topic_name}-value", Schema(*wanted.registered))
        frame, place["registry"] = b"\0" + id.to_bytes(4, "big"), registry.url
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number, value in enumerate(wanted.values):
        framed = None if value is None else frame + value
        producer.produce(topic_name, framed, wanted.key, partition=0, timestamp=NOON_MS + number * HOUR_MS)
    assert producer.flush(30) == 0
    (tmp_path / "worker.properties").write_text(f"bootstrap.servers={kafka.bootstrap_servers}\n")
    config = _completed(FOLDER / name, tmp_path, place)
    env = {"AWS_ACCESS_KEY_ID": moto.access_key, "AWS_SECRET_ACCESS_KEY": moto.secret_key}
    ran = call("run", config, "--until-now", "--json", env=env)
    assert ran.exit_code == 0, ran.output
    entries = json.loads(call("status", config, "--json", "--entries", "50", env=env).stdout)["entries"]
    made = {
        re.sub(r"\d{4}-\d\d-\d\d", "{day}", each["key"]): each["records"]
        for entry in entries
        for done in entry["ranges"]
        for each in done["objects"]
    }
    assert made == {key.replace("{t}", topic_name): records for key, records in wanted.keys.items()}
    assert sum(done["rejected"] for entry in entries for done in entry["ranges"]) == wanted.bad
    verified = call("verify", config, "--against-kafka", env=env)
    assert verified.exit_code == 0, verified.output


def _completed(path: Path, folder: Path, place: Mapping[str, str]) -> Path:
    """The example with this machine's topic, bucket, store and registry in place of its own, in its own format."""
    here = {
        "topics": place["topic"],
        "s3.bucket.name": place["bucket"],
        "s3.bucket": place["bucket"],
        "aws.s3.bucket.name": place["bucket"],
        "s3.region": place["region"],
        "aws.s3.region": place["region"],
        "value.converter.schema.registry.url": place.get("registry", ""),
        "errors.deadletterqueue.topic.name": f"{place['topic']}-dead",
    }
    endpoints = {"s3.bucket.name": "store.url", "s3.bucket": "s3.endpoint", "aws.s3.bucket.name": "aws.s3.endpoint"}
    text = path.read_text()
    write: Callable[[dict[str, Any]], str]
    if path.suffix == ".properties":
        config: dict[str, Any] = dict(line.split("=", 1) for line in text.splitlines())
        write = lambda given: "".join(f"{name}={value}\n" for name, value in given.items())  # noqa: E731
    else:
        document = yaml.safe_load(text)  # JSON is YAML
        held = document.get("spec", document)
        config = held["config"]
        write = lambda given: json.dumps({**document, **_with(held, document, given)})  # noqa: E731
    completed = {name: here.get(name, value) for name, value in config.items()}
    completed |= {endpoint: place["store"] for bucket, endpoint in endpoints.items() if bucket in config}
    target = folder / path.name
    target.write_text(write(completed))
    return target


def _with(held: Mapping[str, Any], document: Mapping[str, Any], config: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"spec": {**held, "config": config}} if "spec" in document else {"config": config}


def test_every_example_is_run_and_explained() -> None:
    """Each file has a test here and three lines why; README names no file that is gone."""
    files = {path.name for path in FOLDER.iterdir() if path.suffix != ".md"}
    assert files == EXAMPLES.keys()
    sections = re.findall(r"^## (\S+)\n((?:.+\n)+)", (FOLDER / "README.md").read_text(), re.M)
    assert {name for name, _ in sections} == files
    assert [name for name, text in sections if text.count("\n- ") + text.startswith("- ") != 3] == []
