"""An export by a real Spark Connect server: the driver has no JVM, and nothing that the server keeps has a secret."""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_s3.log.documents import decode
from kafka_s3.log.entries import Entry
from kafka_s3.spark.connect_server import TOKEN_VARIABLE, ConnectServer
from tests.adapters import test_s3_requests
from tests.processes import below, command_of
from tests.spark.tls import tls_in_front_of
from tools.parts.kafka import KafkaBroker
from tools.parts.process import ReservedPort, child_environment
from tools.parts.s3 import MotoServer
from tools.parts.spark import SparkConnectServer

certificates = test_s3_requests.certificates
pytestmark = pytest.mark.heavy

COMMAND = Path(sys.executable).parent / "kafka-s3"
TOKEN, SECRET = "canary-of-a-token", "canary-of-a-secret-key"
PARTITIONS = 4
CONNECTOR = """\
name=orders
connector.class=io.confluent.connect.s3.S3SinkConnector
tasks.max=2
topics={topic}
s3.bucket.name={bucket}
s3.region={store.region}
store.url={store.endpoint_url}
aws.access.key.id={store.access_key}
aws.secret.access.key=${{env:TEST_SECRET}}
storage.class=io.confluent.connect.s3.storage.S3Storage
format.class=io.confluent.connect.s3.format.json.JsonFormat
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
s3.compression.type=gzip
flush.size=50
"""


@pytest.fixture(scope="module")
def server() -> Iterator[SparkConnectServer]:
    with SparkConnectServer(token=TOKEN) as running:
        yield running


@dataclass
class Export:
    """A connector, the server that its ranges go to, and where its objects are."""

    connector: Path
    server: SparkConnectServer
    broker: KafkaBroker
    store: MotoServer
    topic: str
    bucket: str
    command: Path = COMMAND

    def produce(self, records: int) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers})
        for number in range(records):
            producer.produce(self.topic, b'{"n":%d}' % number, partition=number % PARTITIONS)
        assert producer.flush(30) == 0

    def start(self, *, token: str = TOKEN, url: str = "", **variables: str) -> subprocess.Popen[str]:
        environment = {**child_environment(), "TEST_SECRET": SECRET, TOKEN_VARIABLE: token, **variables}
        command = [self.command, "run", self.connector, "--until-now", "--spark", url or self.server.url]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, **given: str) -> tuple[int, str]:
        process = self.start(**given)
        said, _ = process.communicate(timeout=600)
        assert not [secret for secret in (TOKEN, SECRET) if secret in said]
        return process.returncode, said

    def keys(self, prefix: str) -> list[str]:
        pages = self.store.client().get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        return [item["Key"] for page in pages for item in page.get("Contents", [])]

    def entries(self) -> list[Entry]:
        return [decode(Entry, key, self._body(key)) for key in self.keys("_kafka_s3/orders/log/") if "epoch" not in key]

    def numbers(self) -> Counter[int]:
        """Of the records in the objects that entries list, and in no other."""
        listed = [each.key for entry in self.entries() for done in entry.ranges for each in done.objects]
        assert sorted(listed) == sorted(self.keys("topics/"))
        return Counter(
            json.loads(line)["n"] for key in listed for line in gzip.decompress(self._body(key)).splitlines()
        )

    def _body(self, key: str) -> bytes:
        return self.store.client().get_object(Bucket=self.bucket, Key=key)["Body"].read()


@pytest.fixture
def export(
    kafka: KafkaBroker, moto: MotoServer, server: SparkConnectServer, topic_name: str, bucket_name: str, tmp_path: Path
) -> Export:
    kafka.create_topic(topic_name, PARTITIONS)
    moto.create_bucket(bucket_name)
    (tmp_path / "worker.properties").write_text(f"bootstrap.servers={kafka.bootstrap_servers}\n")
    path = tmp_path / "orders.properties"
    path.write_text(CONNECTOR.format(topic=topic_name, bucket=bucket_name, store=moto))
    return Export(path, server, kafka, moto, topic_name, bucket_name)


def test_a_plan_of_four_partitions(export: Export) -> None:
    """Every record once, in the server's application; under the driver there is no JVM, and no process at all."""
    export.produce(1000)
    process = export.start()
    children: set[str] = set()
    while process.poll() is None:
        children |= {" ".join(command_of(each)) for each in below(process.pid)}
        time.sleep(0.02)
    said = process.communicate()[0]
    assert process.returncode == 0, said
    assert "commit 1: 1000 records" in said
    assert not [each for each in children if "java" in each or "spark" in each.lower()]
    assert export.numbers() == Counter(range(1000))
    assert {(each.spark_application or "")[:6] for each in export.entries()} == {"local-"}


def test_the_server_shows_no_secret(export: Export) -> None:
    """Not in its log, its event log, its pages and its REST API; the same scan finds the name of the function."""
    export.produce(100)
    status, said = export.run()
    assert status == 0, said
    shown = export.server.log.read_text() + "".join(path.read_text() for path in _files(export.server.events))
    page, rest = _page(export.server), _rest(export.server)
    shown += "".join(map(page, ("/SQL/", "/connect/", "/environment/", "/jobs/", f"{rest}/environment")))
    details = page(f"{rest}/sql?details=true&planDescription=true&length=1000")
    assert "MapInArrow" in details
    assert "map_partitions" in shown
    assert not [secret for secret in (TOKEN, SECRET) if secret in shown + details]


def _page(server: SparkConnectServer) -> Callable[[str], str]:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def page(path: str) -> str:
        with direct.open(f"{server.web_url}{path}", timeout=30) as answer:
            return str(answer.read().decode())

    return page


def _rest(server: SparkConnectServer) -> str:
    (application,) = json.loads(_page(server)("/api/v1/applications"))
    return f"/api/v1/applications/{application['id']}"


def jobs_of(server: SparkConnectServer) -> dict[int, str]:
    """The states of the server's jobs."""
    return {each["jobId"]: each["status"] for each in json.loads(_page(server)(f"{_rest(server)}/jobs"))}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_driver_that_is_told_to_end_says_goodbye(export: Export, number: signal.Signals) -> None:
    """The server's jobs are cancelled, and do not go on without it; a retry finishes the plan."""
    export.produce(40_000)
    before = jobs_of(export.server)
    process = export.start()
    while not export.keys("topics/"):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    process.send_signal(number)
    said = process.communicate(timeout=120)[0]
    assert process.returncode in (130, 128 + signal.SIGTERM), said
    assert "Traceback" not in said
    while "RUNNING" in (jobs := jobs_of(export.server)).values():
        time.sleep(0.1)
    assert {status for job, status in jobs.items() if job not in before} == {"FAILED"}
    status, said = export.run()
    assert status == 0, said
    assert export.numbers() == Counter(range(40_000))


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc"]


def _kill_workers(server: SparkConnectServer) -> None:
    for process in below(server.pid):
        if "pyspark.daemon" in command_of(process):
            process.kill()


@pytest.mark.parametrize("kill", [_kill_workers, SparkConnectServer.kill], ids=["workers", "server"])
def test_a_retry_finishes_what_was_killed(export: Export, kill: Callable[[SparkConnectServer], None]) -> None:
    """Killed while objects appear: the run fails with 75 in a sentence, the next one finishes its plan, none twice."""
    export.produce(40_000)
    process = export.start()
    while not export.keys("topics/"):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    kill(export.server)
    said = process.communicate(timeout=300)[0]
    assert process.returncode == 75, said
    assert "Traceback" not in said
    if not export.server.is_running:
        assert f"No Spark Connect server answers at {export.server.url}: " in said
        export.server.start()
    status, said = export.run()
    assert status == 0, said
    assert export.numbers() == Counter(range(40_000))


def test_a_wrong_token_is_one_sentence(export: Export) -> None:
    """78, since no retry helps, with where a token belongs; one on the command line is refused before that."""
    status, said = export.run(token="another")
    assert status == 78, said
    assert said.startswith(f"{export.server.url} refuses the connection: ")
    assert "Traceback" not in said
    assert said.count("\n") < 4
    command = [COMMAND, "run", export.connector, "--spark", f"{export.server.url}/;token=a-token"]
    ran = subprocess.run(command, env={**os.environ, "TEST_SECRET": SECRET}, capture_output=True, text=True)
    assert ran.returncode == 78
    assert f"Put the token into the environment as {TOKEN_VARIABLE}." in ran.stderr
    assert "a-token" not in ran.stderr


def test_a_server_that_is_not_there(export: Export) -> None:
    """75 in one sentence, at once: Spark's own client would go on for ten minutes."""
    url = f"sc://localhost:{ReservedPort().number}"
    status, said = export.run(url=url)
    assert status == 75, said
    assert said.startswith(f"No Spark Connect server answers at {url}: Connection refused. ")


def test_the_client_alone_is_enough(export: Export, tmp_path: Path) -> None:
    """With the files of pyspark-client instead of pyspark's, and without py4j."""
    folder = tmp_path / "client"
    for file in importlib.metadata.distribution("pyspark-client").files or ():
        if file.parts[0] == "pyspark" and file.suffix != ".pyc":
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).symlink_to(Path(str(file.locate())))
    (folder / "py4j.py").write_text("raise ImportError('there is no py4j')\n")
    export.produce(100)
    status, said = export.run(PYTHONPATH=str(folder))
    assert status == 0, said
    assert export.numbers() == Counter(range(100))


def test_tls_in_front_of_the_server(export: Export, certificates: Path) -> None:
    """With use_ssl=true, and a certificate by a CA that is trusted, the token goes to another name than localhost; a
    certificate that nobody trusts is not taken."""
    export.produce(100)
    with tls_in_front_of(int(export.server.url.rpartition(":")[2]), certificates) as port:
        url = f"sc://127.0.0.1:{port}/;use_ssl=true"
        status, said = export.run(url=url)
        assert status == 75, said
        assert f"No Spark Connect server answers at sc://127.0.0.1:{port}: " in said
        assert "unable to get local issuer certificate" in said
        status, said = export.run(url=url, GRPC_DEFAULT_SSL_ROOTS_FILE_PATH=str(certificates / "ca.pem"))
    assert status == 0, said
    assert export.numbers() == Counter(range(100))


@pytest.mark.parametrize(
    ("url", "variables", "is_warned_of"),
    [
        ("sc://spark:15002", {}, True),
        ("sc://spark:15002/;use_ssl=false", {}, True),
        ("sc://spark:15002/;use_ssl=true", {}, False),
        ("sc://spark:15002/;token=t", {}, False),
        ("sc://spark:15002", {TOKEN_VARIABLE: "t"}, False),
        ("sc://localhost:15002", {}, False),
        ("sc://127.0.0.1", {}, False),
        ("sc://[::1]:15002", {}, False),
    ],
)
def test_clear_text_is_warned_of(url: str, variables: dict[str, str], is_warned_of: bool) -> None:
    """Where secrets would go in clear text to another host; a token makes Spark's client take TLS."""
    warning = ConnectServer.parse(url).warning(variables)
    assert (warning is not None) == is_warned_of
    assert warning is None or warning.startswith(
        "Warning: the connector's settings, passwords and keys among them, go to"
    )


@pytest.mark.parametrize(
    ("asked", "said_of_it"),
    [
        ("spark.archives=/nowhere/engine.zip#kafka_s3_bundle", "names /nowhere/engine.zip#kafka_s3_bundle, and there"),
        ("spark.executor.memory=1g", "cannot be set here: the application of sc://localhost:"),
    ],
)
def test_what_a_session_cannot_have(export: Export, asked: str, said_of_it: str) -> None:
    """78, in a sentence that names the connector's property."""
    export.connector.write_text(f"{export.connector.read_text()}export.spark.conf.{asked}\n")
    status, said = export.run()
    assert status == 78, said
    assert said.startswith(f"export.spark.conf.{asked.partition('=')[0]} {said_of_it}")
    assert "Traceback" not in said
