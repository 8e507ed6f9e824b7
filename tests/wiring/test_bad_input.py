"""Bad input gets a clear error and loses nothing: real broker, real S3 API, the command as users call it.

Every case asserts the message, the exit status, and what the bucket holds before and after.
"""

from __future__ import annotations

import gzip
import http.client
import http.server
import json
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from confluent_kafka import Producer

from kafka_s3.export.run import run
from kafka_s3.export.run_report import RunReport
from kafka_s3.settings import Lookups, load
from kafka_s3.settings.model import Settings
from kafka_s3.wiring import make_exporter, make_local_execute
from tests.cli.command import call, call_process
from tests.support import request as run_request
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer, S3Server

SECRET = "canary-of-a-secret-key"


@dataclass
class Connector:
    """A configuration file beside its worker file, over a topic of two partitions and an empty bucket."""

    folder: Path
    topic: str
    bucket: str
    broker: KafkaBroker
    store: S3Server
    properties: dict[str, str] = field(default_factory=dict)
    worker: dict[str, str] = field(default_factory=dict)

    def produce(self, partition: int, *values: bytes | None) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "message.max.bytes": 20_000_000})
        for value in values:
            producer.produce(self.topic, value, partition=partition)
        assert producer.flush(30) == 0

    def config(self) -> Path:
        _write(self.folder / "worker.properties", self.worker)
        return _write(self.folder / "orders.properties", self.properties)

    def run(self, *, as_process: bool = False) -> subprocess.CompletedProcess[str]:
        """`kafka-s3 run`: what it says, and how it ends; never a traceback, never the secret."""
        command, env = ("run", self.config(), "--until-now"), {"TEST_SECRET": self.store.secret_key}
        if as_process:
            ran = call_process(*command, env=env)
        else:
            here = call(*command, env=env)
            ran = subprocess.CompletedProcess([], here.exit_code, here.stdout, here.stderr)
        assert "Traceback" not in ran.stderr
        assert SECRET not in ran.stdout + ran.stderr
        return ran

    def settings(self) -> Settings:
        lookups = Lookups(env={"TEST_SECRET": self.store.secret_key}, read_file=lambda path: Path(path).read_text())
        return load(self.config(), worker=None, lookups=lookups).settings

    def run_here(self, settings: Settings, run_id: str) -> RunReport:
        """The same through the engine, where a case needs settings that no file can hold."""
        return run(make_exporter(settings), run_request(run_id), make_local_execute(settings), lambda _: None)

    def objects(self, prefix: str = "") -> dict[str, bytes]:
        client = self.store.client()
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
        return {key: client.get_object(Bucket=self.bucket, Key=key)["Body"].read() for key in keys}

    def records(self) -> dict[int, list[Any]]:
        """The values of every data object, by Kafka partition."""
        found: dict[int, list[Any]] = {0: [], 1: []}
        for key, body in self.objects("topics/").items():
            found[int(key.split("+")[1])] += [json.loads(line) for line in gzip.decompress(body).splitlines()]
        return found

    def document(self, kind: str, seq: int) -> str:
        (epoch,) = {key.split("/")[3] for key in self.objects("_kafka_s3/orders/log/")}
        return f"_kafka_s3/orders/{kind}/{epoch}/{10**19 - 1 - seq}.json"

    def replace(self, key: str, body: bytes) -> None:
        self.store.client().put_object(Bucket=self.bucket, Key=key, Body=body)


def _write(path: Path, properties: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return path


def _connector(broker: KafkaBroker, store: S3Server, topic: str, bucket: str, folder: Path) -> Connector:
    broker.create_topic(topic, 2, {"max.message.bytes": "20000000"})
    store.create_bucket(bucket)
    properties = {
        "name": "orders",
        "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "topics": topic,
        "s3.bucket.name": bucket,
        "s3.region": store.region,
        "store.url": store.endpoint_url,
        "aws.access.key.id": store.access_key,
        "aws.secret.access.key": "${env:TEST_SECRET}",
        "storage.class": "io.confluent.connect.s3.storage.S3Storage",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "s3.compression.type": "gzip",
        "flush.size": "3",
        "s3.part.retries": "0",
    }
    return Connector(folder, topic, bucket, broker, store, properties, {"bootstrap.servers": broker.bootstrap_servers})


@pytest.fixture
def connector(kafka: KafkaBroker, moto: MotoServer, topic_name: str, bucket_name: str, tmp_path: Path) -> Connector:
    return _connector(kafka, moto, topic_name, bucket_name, tmp_path)


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address on which nothing listens."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{reserved.getsockname()[1]}"


# The configuration


def test_every_problem_of_a_configuration_at_once(connector: Connector) -> None:
    """An unknown property, a wrong type and a missing value: one message names all, status 78, no request is made."""
    connector.properties |= {"flush.sise": "3", "flush.size": "many", "aws.secret.access.key": SECRET}
    del connector.properties["s3.bucket.name"]
    ran = connector.run(as_process=True)
    assert ran.returncode == 78
    assert "flush.sise" in ran.stderr
    assert "flush.size=many" in ran.stderr
    assert "s3.bucket.name" in ran.stderr
    assert connector.objects() == {}


def test_unknown_property(connector: Connector) -> None:
    """A misspelt property is refused with the name that was meant."""
    connector.properties["flush.sise"] = "3"
    ran = connector.run()
    assert ran.returncode == 78
    assert "flush.sise" in ran.stderr
    assert "flush.size" in ran.stderr
    assert connector.objects() == {}


def test_property_that_kafka_does_not_know(connector: Connector) -> None:
    """A client property that does not exist is named as it was written."""
    connector.properties["consumer.override.fetch.max.bites"] = "1"
    ran = connector.run()
    assert ran.returncode == 78
    assert "consumer.override.fetch.max.bites" in ran.stderr
    assert "fetch.max.bytes" in ran.stderr
    assert connector.objects() == {}


# The bucket


def test_missing_bucket(connector: Connector) -> None:
    """A bucket that is not there: status 78, named, and not created."""
    connector.produce(0, b"{}")
    connector.store.client().delete_bucket(Bucket=connector.bucket)
    ran = connector.run()
    assert ran.returncode == 78
    assert f"The bucket '{connector.bucket}' does not exist" in ran.stderr
    assert "s3.bucket.name" in ran.stderr
    assert connector.bucket not in [found["Name"] for found in connector.store.client().list_buckets()["Buckets"]]


@pytest.mark.parametrize("wrong", ["aws.access.key.id", "aws.secret.access.key"])
def test_wrong_credentials(
    kafka: KafkaBroker, versitygw: S3Server, topic_name: str, bucket_name: str, tmp_path: Path, wrong: str
) -> None:
    """Credentials that the store refuses: status 78, the access key's beginning, no secret, an empty bucket."""
    connector = _connector(kafka, versitygw, topic_name, bucket_name, tmp_path)
    connector.produce(0, b"{}")
    connector.properties[wrong] = SECRET
    ran = connector.run()
    assert ran.returncode == 78
    assert f"access key {connector.properties['aws.access.key.id'][:4]}…" in ran.stderr
    assert "Correct the credentials" in ran.stderr
    assert connector.objects() == {}


def test_store_that_is_down(connector: Connector, nobody: str) -> None:
    """A store on which nothing listens: status 75, its address and the property to check."""
    connector.properties["store.url"] = f"http://{nobody}"
    ran = connector.run()
    assert ran.returncode == 75
    assert nobody in ran.stderr
    assert "store.url" in ran.stderr


class UnconditionalStore:
    """Passes requests on to a store, and leaves out the header that would make a write conditional."""

    def __init__(self, store: S3Server) -> None:
        target = urlsplit(store.endpoint_url).netloc

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def _pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name: value for name, value in self.headers.items() if name.lower() != "if-none-match"}
                connection = http.client.HTTPConnection(target)
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                data = answer.read()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                connection.close()

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def test_store_without_conditional_writes(connector: Connector, moto: MotoServer) -> None:
    """A store that ignores If-None-Match is refused with 78 at every try, before any record is written."""
    connector.produce(0, b'{"n":0}')
    proxy = UnconditionalStore(moto)
    connector.properties["store.url"] = proxy.url
    try:
        for _ in range(2):
            ran = connector.run()
            assert ran.returncode == 78
            assert "If-None-Match: *" in ran.stderr
            assert "Use a store with conditional writes" in ran.stderr
            assert list(connector.objects()) == [
                *connector.objects("_kafka_s3/orders/epoch/"),
                connector.document("log", 0),
            ]
    finally:
        proxy.stop()
    connector.properties["store.url"] = moto.endpoint_url
    assert connector.run().returncode == 0
    assert connector.records()[0] == [{"n": 0}]


# Kafka


@pytest.mark.heavy
def test_broker_down(connector: Connector, nobody: str) -> None:
    """A broker that is down: status 75, its address, why, and an empty bucket."""
    connector.worker["bootstrap.servers"] = nobody
    ran = connector.run()
    assert ran.returncode == 75
    assert nobody in ran.stderr
    assert "Connection refused" in ran.stderr
    assert "bootstrap.servers" in ran.stderr
    assert connector.objects() == {}


def test_topic_missing(connector: Connector) -> None:
    """A topic that is not there stops no other: status 65, named. Only such topics: status 78, nothing written."""
    connector.produce(0, b"{}")
    there = connector.properties["topics"]
    connector.properties["topics"] = "no-such-topic"
    ran = connector.run()
    assert ran.returncode == 78
    assert "do not exist on the broker: no-such-topic." in ran.stderr
    assert connector.objects() == {}
    connector.properties["topics"] = f"{there},no-such-topic"
    ran = connector.run()
    assert ran.returncode == 65
    assert "topic no-such-topic does not exist on the broker" in ran.stderr
    assert [key for key in connector.objects() if key.startswith(f"topics/{connector.topic}/")]


# Records


def test_invalid_json(connector: Connector) -> None:
    """One bad value of five: what precedes it and the other partition are committed, and the record is named.

    Status 65 at every try, and no object changes.
    """
    connector.produce(0, b'{"n":0}', b'{"n":1}', b"{oops", b'{"n":3}', b'{"n":4}')
    connector.produce(1, b'{"m":0}', b'{"m":1}')
    ran = connector.run()
    assert ran.returncode == 65
    assert f"topic {connector.topic} partition 0 offset 2: not JSON" in ran.stderr
    assert connector.records() == {0: [{"n": 0}, {"n": 1}], 1: [{"m": 0}, {"m": 1}]}
    before = connector.objects()
    again = connector.run()
    assert again.returncode == 65
    assert f"topic {connector.topic} partition 0 offset 2: not JSON" in again.stderr
    after = connector.objects()
    assert {key: after[key] for key in before} == before
    assert connector.objects("topics/").keys() == {key for key in before if key.startswith("topics/")}


def test_tombstone_that_may_not_be(connector: Connector) -> None:
    """behavior.on.null.values=fail, the default: a null value is a bad record like any other."""
    connector.produce(0, b'{"n":0}', None, b'{"n":2}')
    ran = connector.run()
    assert ran.returncode == 65
    assert f"topic {connector.topic} partition 0 offset 1: the value is null" in ran.stderr
    assert "behavior.on.null.values" in ran.stderr
    assert connector.records()[0] == [{"n": 0}]


def test_record_above_every_fetch_limit(connector: Connector) -> None:
    """A record of 5 MiB, five times the fetch limits, is exported like the others: no limit of the client drops it."""
    connector.properties |= {
        "consumer.override.max.partition.fetch.bytes": "1048576",
        "consumer.override.fetch.max.bytes": "1048576",
    }
    large = {"n": 1, "text": "x" * 5 * 1024 * 1024}
    connector.produce(0, b'{"n":0}', json.dumps(large).encode(), b'{"n":2}')
    ran = connector.run()
    assert ran.returncode == 0, ran.stderr
    assert connector.records()[0] == [{"n": 0}, large, {"n": 2}]


def test_record_above_the_receive_limit(connector: Connector) -> None:
    """A client that may not receive a record says so with 78; the other partition is committed, and nothing is lost.

    receive.message.max.bytes is librdkafka's own and comes with an Airflow connection only.
    """
    large = b'{"text":"%s"}' % (b"x" * 5 * 1024 * 1024)
    connector.produce(0, large)
    connector.produce(1, b'{"m":0}')
    settings = connector.settings()
    limits = {"fetch.max.bytes": "1000000", "receive.message.max.bytes": "1001000"}
    small = replace(settings, kafka=replace(settings.kafka, client={**settings.kafka.client, **limits}))
    report = connector.run_here(small, "one")
    assert report.exit_status == 78
    (problem,) = report.problems()
    assert f"{connector.topic}-0 [0, 1)" in problem
    assert "receive.message.max.bytes" in problem
    assert connector.records() == {0: [], 1: [{"m": 0}]}
    assert connector.run_here(settings, "two").exit_status == 0
    assert connector.records() == {0: [json.loads(large)], 1: [{"m": 0}]}
