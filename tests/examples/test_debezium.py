"""Sinks of Debezium's pages, in other names, on the real broker and the real store.

* FLATTENING: "New Record State Extraction". ROUTING: "Topic Routing". TUTORIAL: the example of sinks by tables.

Refused is what runs scripts or is for sources: "Content-based routing" and "Outbox Event Router".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.cli.command import call
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer

UNWRAP = {"transforms": "unwrap", "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState"}
BY_TABLE = {"transforms.Reroute.type": "io.debezium.transforms.ByLogicalTableRouter"}
SINK = {
    "name": "s3-sink",
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "true",
    "behavior.on.null.values": "ignore",
    "flush.size": "100",
}
TEXT, NUMBER = {"type": "string", "optional": True}, {"type": "int64", "optional": True}
ROW = {"type": "struct", "optional": True, "name": "server.customers.Value", "fields": [
    {"field": "id", "type": "int32"}, {"field": "name", **TEXT}]}  # fmt: skip
SOURCE = {"type": "struct", "name": "io.debezium.connector.postgresql.Source", "fields": [
    {"field": "table", **TEXT}, {"field": "lsn", **NUMBER}]}  # fmt: skip
EVENT = {"type": "struct", "name": "server.customers.Envelope", "fields": [
    {"field": "before", **ROW}, {"field": "after", **ROW}, {"field": "source", **SOURCE},
    {"field": "op", "type": "string"}, {"field": "ts_ms", **NUMBER}]}  # fmt: skip
KEY_SCHEMA = {"type": "struct", "name": "server.customers.Key", "fields": [{"field": "id", "type": "int32"}]}
KEY = json.dumps({"schema": KEY_SCHEMA, "payload": {"id": 1}}).encode()
OLD, NEW = {"id": 1, "name": "Ann"}, {"id": 1, "name": "Bea"}


def event(op: str, before: Any, after: Any) -> bytes:
    source = {"table": "customers", "lsn": 7}
    payload = {"before": before, "after": after, "source": source, "op": op, "ts_ms": 5}
    return json.dumps({"schema": EVENT, "payload": payload}).encode()


#: A row comes, changes and goes, and its tombstone follows.
EVENTS = [event("c", None, OLD), event("u", OLD, NEW), event("d", NEW, None), None]


def added(row: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {**row, **more}


#: By name: what the page sets, and the rows by the folder of their topic; `{t}` is the topic they came from.
EXAMPLES: dict[str, tuple[Mapping[str, str], Mapping[str, list[Any]]]] = {
    "flattening": (UNWRAP, {"server.inventory.{t}": [OLD, NEW]}),
    "flattening-rewrite": (
        {
            **UNWRAP,
            "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
            "transforms.unwrap.add.fields": "table,lsn",
        },
        {
            "server.inventory.{t}": [
                added(row, __deleted=gone, __table="customers", __lsn=7)
                for row, gone in ((OLD, "false"), (NEW, "false"), (NEW, "true"))
            ]
        },
    ),
    "flattening-before-3": (
        {
            **UNWRAP,
            "transforms.unwrap.drop.tombstones": "false",
            "transforms.unwrap.delete.handling.mode": "rewrite",
            "transforms.unwrap.add.fields": "op",
            "transforms.unwrap.add.fields.prefix": "",
        },
        {
            "server.inventory.{t}": [
                added(OLD, __deleted="false", op="c"),
                added(NEW, __deleted="false", op="u"),
                added(NEW, __deleted="true", op="d"),
            ]
        },
    ),
    "routing": (
        {
            "transforms": "Reroute",
            **BY_TABLE,
            "transforms.Reroute.topic.regex": "(.*)inventory(.*)",
            "transforms.Reroute.topic.replacement": "$1all$2",
            "transforms.Reroute.key.enforce.uniqueness": "false",
        },
        {"server.all.{t}": [json.loads(each or b"{}").get("payload") for each in EVENTS[:3]]},
    ),
    "tutorial": (
        {
            "transforms": "route,unwrap",
            "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.route.regex": "([^.]+)\\.([^.]+)\\.([^.]+)",
            "transforms.route.replacement": "$3",
            **{name: text for name, text in UNWRAP.items() if name != "transforms"},
        },
        {"{t}": [OLD, NEW]},
    ),
}
REFUSED = {
    "content-based-routing": (
        "io.debezium.transforms.ContentBasedRouter",
        {"language": "jsr223.groovy", "topic.expression": "value.op == 'u' ? 'updates' : null"},
    ),
    "filter": ("io.debezium.transforms.Filter", {"language": "jsr223.groovy", "condition": "value.op == 'u'"}),
    "outbox": ("io.debezium.transforms.outbox.EventRouter", {}),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_change_events_become_the_rows_of_the_page(
    kafka: KafkaBroker, moto: MotoServer, topic_name: str, bucket_name: str, tmp_path: Path, name: str
) -> None:
    """In the folder of the topic that the page has them in; verify finds every record again."""
    page, expected = EXAMPLES[name]
    topic = f"server.inventory.{topic_name}"
    kafka.create_topic(topic)
    moto.create_bucket(bucket_name)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for value in EVENTS:
        producer.produce(topic, value, KEY, partition=0)
    assert producer.flush(30) == 0
    (tmp_path / "worker.properties").write_text(f"bootstrap.servers={kafka.bootstrap_servers}\n")
    place = {"topics": topic, "s3.bucket.name": bucket_name, "s3.region": moto.region, "store.url": moto.endpoint_url}
    config = tmp_path / "connector.json"
    config.write_text(json.dumps({"name": "s3-sink", "config": {**SINK, **place, **page}}))
    env = {"AWS_ACCESS_KEY_ID": moto.access_key, "AWS_SECRET_ACCESS_KEY": moto.secret_key}
    ran = call("run", config, "--until-now", env=env)
    assert ran.exit_code == 0, ran.output
    client = moto.client()
    found: dict[str, list[Any]] = {}
    for each in client.list_objects_v2(Bucket=bucket_name, Prefix="topics/")["Contents"]:
        body = client.get_object(Bucket=bucket_name, Key=each["Key"])["Body"].read()
        found.setdefault(each["Key"].split("/")[1], []).extend(map(json.loads, body.splitlines()))
    assert found == {folder.replace("{t}", topic_name): rows for folder, rows in expected.items()}
    verified = call("verify", config, "--against-kafka", env=env)
    assert verified.exit_code == 0, verified.output


@pytest.mark.parametrize("name", REFUSED)
def test_what_runs_scripts_is_refused_by_name(tmp_path: Path, name: str) -> None:
    """Each for its class."""
    type, options = REFUSED[name]
    transforms = {"transforms": "t", "transforms.t.type": type}
    transforms |= {f"transforms.t.{option}": text for option, text in options.items()}
    config = tmp_path / "connector.json"
    config.write_text(
        json.dumps({"name": "s3-sink", "config": {**SINK, "topics": "t", "s3.bucket.name": "archive", **transforms}})
    )
    result = call("validate", config, "--json")
    assert result.exit_code == 1
    assert "transforms.t.type" in {each["property"] for each in json.loads(result.stdout)["problems"]}
