"""An export on a Spark cluster whose workers have a Python and nothing else: the driver brings the engine along."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tools.parts.java import find_java
from tools.parts.kafka import KafkaBroker
from tools.parts.process import child_environment
from tools.parts.s3 import MotoServer
from tools.parts.spark import SparkCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

COMMAND = Path(sys.executable).parent / "kafka-s3"
PARTITIONS, RECORDS = 2, 200
CONNECTOR = """\
name=orders
connector.class=io.confluent.connect.s3.S3SinkConnector
tasks.max=1
topics={topic}
s3.bucket.name={bucket}
s3.region=us-east-1
store.url={store.endpoint_url}
aws.access.key.id={store.access_key}
aws.secret.access.key={store.secret_key}
storage.class=io.confluent.connect.s3.storage.S3Storage
format.class=io.confluent.connect.s3.format.json.JsonFormat
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
s3.compression.type=gzip
flush.size=1000
export.spark.conf.spark.executor.memory=512m
export.spark.conf.spark.pyspark.python={python}
"""


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python of the driver's version without any package."""
    folder = tmp_path_factory.mktemp("python")
    venv.create(folder, with_pip=False)
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    with SparkCluster(workers=2, cores=1, memory="1g") as running:
        yield running


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What `kafka-s3 bundle` says that a connector needs."""
    path = tmp_path_factory.mktemp("bundle") / "engine.zip"
    run = subprocess.run([COMMAND, "bundle", path], env=child_environment(), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return [line.strip() for line in run.stdout.splitlines() if line.startswith("  export.spark.conf.")]


@pytest.fixture
def connector(
    kafka: KafkaBroker, moto: MotoServer, topic_name: str, bucket_name: str, bare_python: str, tmp_path: Path
) -> Path:
    """A connector whose workers have the bare Python, and records in its topic."""
    kafka.create_topic(topic_name, PARTITIONS)
    moto.create_bucket(bucket_name)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(RECORDS):
        producer.produce(topic_name, b'{"n":%d}' % number, partition=number % PARTITIONS)
    assert producer.flush(30) == 0
    (tmp_path / "worker.properties").write_text(f"bootstrap.servers={kafka.bootstrap_servers}\n")
    path = tmp_path / "orders.properties"
    path.write_text(CONNECTOR.format(topic=topic_name, bucket=bucket_name, store=moto, python=bare_python))
    return path


def _run(connector: Path, master: str) -> subprocess.CompletedProcess[str]:
    environment = child_environment(JAVA_HOME=str(find_java().home), SPARK_LOCAL_IP="127.0.0.1")
    command = [COMMAND, "run", connector, "--until-now", "--spark", master]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


def test_workers_get_everything_from_the_driver(
    connector: Path, cluster: SparkCluster, archive: list[str], moto: MotoServer, bucket_name: str
) -> None:
    """With the lines that `bundle` prints the workers export every record once; of the cluster's two cores an
    application whose tasks.max is 1 takes one."""
    lines = [line for line in archive if "spark.pyspark.python" not in line]
    connector.write_text(connector.read_text() + "\n".join(lines) + "\n")
    ran = _run(connector, cluster.master_url)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    client = moto.client()
    keys = [item["Key"] for item in client.list_objects_v2(Bucket=bucket_name, Prefix="topics/")["Contents"]]
    bodies = [client.get_object(Bucket=bucket_name, Key=key)["Body"].read() for key in keys]
    numbers = [json.loads(line)["n"] for body in bodies for line in gzip.decompress(body).splitlines()]
    assert sorted(numbers) == list(range(RECORDS))
    (application,) = cluster.master.state()["completedapps"]
    assert (application["cores"], application["memoryperexecutor"]) == (1, 512)


def test_workers_without_the_engine_are_one_sentence(connector: Path, cluster: SparkCluster) -> None:
    """78, since no retry helps, and no frame of Java's or Python's."""
    ran = _run(connector, cluster.master_url)
    assert ran.returncode == 78, ran.stdout + ran.stderr
    said = ran.stdout + ran.stderr
    assert "No worker can export: " in said
    assert "No module named 'kafka_s3'.\n`kafka-s3 bundle` makes an archive" in said
    assert [line for line in said.splitlines() if line.startswith(("\tat ", "Traceback", '  File "'))] == []


def test_the_bundle_has_neither_airflow_nor_spark(archive: list[str]) -> None:
    """What is in it: the engine with its data files, its libraries, and the same bytes each time it is made."""
    path = archive[0].partition("=")[2].partition("#")[0]
    with zipfile.ZipFile(path) as members:
        tops = {name.partition("/")[0] for name in members.namelist()}
        assert "kafka_s3/protobuf/include/confluent/meta.proto" in members.namelist()
    assert {"kafka_s3", "confluent_kafka", "boto3", "pyarrow", "fastavro"} <= tops
    assert not {"airflow", "pyspark", "py4j", "kafka_s3_airflow", "pandas", "__pycache__"} & tops
    assert os.path.getsize(path) < 200_000_000
