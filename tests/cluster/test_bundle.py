"""An export on a Spark cluster whose workers have a Python and nothing else: the driver brings the engine along."""

from __future__ import annotations

import gzip
import json
import os
import re
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


def exported(moto: MotoServer, bucket: str) -> list[int]:
    """What the records in the bucket hold."""
    bodies = moto.objects(bucket, "topics/").values()
    return [json.loads(line)["n"] for body in bodies for line in gzip.decompress(body).splitlines()]


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
    assert sorted(exported(moto, bucket_name)) == list(range(RECORDS))
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


def test_an_archive_of_another_engine_is_refused(
    connector: Path, cluster: SparkCluster, archive: list[str], tmp_path: Path
) -> None:
    """As after an upgrade of the driver alone: both engines in one sentence, and 78."""
    path = archive[0].partition("=")[2].partition("#")[0]
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(path) as packed, zipfile.ZipFile(other, "w") as made:
        for member in packed.infolist():
            content = packed.read(member)
            is_changed = member.filename == "kafka_s3/errors.py"
            made.writestr(member, content + b"# changed\n" if is_changed else content, zipfile.ZIP_STORED)
    lines = [line.replace(path, str(other)) for line in archive if "spark.pyspark.python" not in line]
    connector.write_text("\n".join([connector.read_text(), *lines, ""]))
    ran = _run(connector, cluster.master_url)
    said = ran.stdout + ran.stderr
    assert ran.returncode == 78, said
    assert re.search(r"No worker can export: \S+ \(.*\) has engine (\S+), the driver (?!\1)\S+\.\n", said)
    assert [line for line in said.splitlines() if line.startswith(("\tat ", "Traceback"))] == []


NO_EXECUTOR = """
import json, sys, threading, time
from kafka_s3.spark.execute import spark_context
from kafka_s3.spark.waiting import telling_of_no_executor

said, ended = [], threading.Event()

def job():
    context.parallelize(range(1), 1).foreach(lambda _: time.sleep(2))
    ended.set()

with spark_context("waiting", 1) as context:
    if sys.argv[1:] == ["has room"]:
        job()
        ended.clear()
    with telling_of_no_executor(context, said.append, 0.2):
        time.sleep(1)
        before = list(said)
        threading.Thread(target=job, daemon=True).start()
        while not said and not ended.wait(0.2):
            pass
        context.cancelAllJobs()
print(json.dumps([before, said[:1]]))
"""


@pytest.mark.parametrize(("memory", "is_said"), [("64g", True), ("512m", False)])
def test_no_memory_for_an_executor(cluster: SparkCluster, tmp_path: Path, memory: str, is_said: bool) -> None:
    """A run whose executors no worker has room for says what it waits for; one that has its executor says nothing."""
    program = tmp_path / "waiting.py"
    program.write_text(NO_EXECUTOR)
    submit = [Path(sys.executable).parent / "spark-submit", "--master", cluster.master_url, "--conf"]
    environment = child_environment(
        JAVA_HOME=str(find_java().home),
        SPARK_LOCAL_IP="127.0.0.1",
        PYSPARK_PYTHON=sys.executable,
        PYTHONPATH=str(Path(__file__).parents[2] / "jobs"),
    )
    command = [*submit, f"spark.executor.memory={memory}", program, *([] if is_said else ["has room"])]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr[-3000:]
    before, said = json.loads(ran.stdout.splitlines()[-1])
    assert before == [], "without a job there is nothing to wait for"
    wanted = "Spark has given this run no executor yet; it asks for 64g of memory in each."
    assert [each[: len(wanted)] for each in said] == ([wanted] if is_said else [])


def test_the_bundle_has_neither_airflow_nor_spark(archive: list[str]) -> None:
    """What is in it: the engine with its data files, its libraries, and the same bytes each time it is made."""
    path = archive[0].partition("=")[2].partition("#")[0]
    with zipfile.ZipFile(path) as members:
        tops = {name.partition("/")[0] for name in members.namelist()}
        assert "kafka_s3/protobuf/include/confluent/meta.proto" in members.namelist()
    assert {"kafka_s3", "confluent_kafka", "boto3", "pyarrow", "fastavro"} <= tops
    assert not {"airflow", "pyspark", "py4j", "kafka_s3_airflow", "pandas", "__pycache__"} & tops
    assert os.path.getsize(path) < 200_000_000
