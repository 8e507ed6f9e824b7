"""jobs/export.py under the real spark-submit.

What a driver writes to its standard error comes out of spark-submit's standard output: Spark joins the two, and keeps
the other for its own log.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pyspark
import pytest
from confluent_kafka import Producer

from kafka_s3.errors import ConfigurationError
from kafka_s3.export.task import RangeTask
from kafka_s3.log.documents import decode
from kafka_s3.log.entries import Entry, PlannedRange
from kafka_s3.ports import PartitionOffsets
from kafka_s3.spark.balance import SETTINGS_BYTES_MAX, balance
from kafka_s3.spark.execute import SparkExecute
from kafka_s3.spark.submit import LOCAL_CONF, application_path
from tests.processes import drivers_below
from tests.support import make_settings
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer

SPARK = Path(pyspark.__file__).parent
SECRET = "canary-of-a-secret-key"
PARTITIONS = 4


@dataclass
class Job:
    """A connector file and the spark-submit that runs it; `local_dir` is all the room that Spark gets."""

    folder: Path
    topic: str
    bucket: str
    broker: KafkaBroker
    store: MotoServer
    properties: dict[str, str] = field(default_factory=dict)

    @property
    def local_dir(self) -> Path:
        return self.folder / "spark"

    def produce(self, partition: int, *values: bytes) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers})
        for value in values:
            producer.produce(self.topic, value, partition=partition)
        assert producer.flush(30) == 0

    def start(self) -> subprocess.Popen[str]:
        """spark-submit, which becomes the JVM: its pid is the JVM's."""
        self.local_dir.mkdir(exist_ok=True)
        config = _write(self.folder / "orders.properties", self.properties)
        _write(self.folder / "worker.properties", {"bootstrap.servers": self.broker.bootstrap_servers})
        options = ["--master", "local[2]", *(f"--conf={name}={value}" for name, value in LOCAL_CONF.items())]
        arguments = ["--connector", config, "--run-id", "manual"]
        return subprocess.Popen(
            [SPARK / "bin" / "spark-submit", *options, application_path(), *arguments],
            env={
                **os.environ,
                "SPARK_HOME": str(SPARK),
                "SPARK_LOCAL_DIRS": str(self.local_dir),
                "PYSPARK_PYTHON": sys.executable,
                "TEST_SECRET": SECRET,
            },
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self) -> subprocess.CompletedProcess[str]:
        process = self.start()
        stdout, stderr = process.communicate(timeout=300)
        assert SECRET not in stdout + stderr
        assert "Traceback" not in stdout + stderr
        assert list(self.local_dir.iterdir()) == []
        return subprocess.CompletedProcess([], process.returncode, stdout, stderr)

    def objects(self, prefix: str) -> dict[str, bytes]:
        client = self.store.client()
        found = client.list_objects_v2(Bucket=self.bucket, Prefix=prefix).get("Contents", [])
        return {item["Key"]: client.get_object(Bucket=self.bucket, Key=item["Key"])["Body"].read() for item in found}


def _write(path: Path, properties: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return path


@pytest.fixture
def job(kafka: KafkaBroker, moto: MotoServer, java_home: str, topic_name: str, bucket_name: str, tmp_path: Path) -> Job:
    kafka.create_topic(topic_name, PARTITIONS)
    moto.create_bucket(bucket_name)
    properties = {
        "name": "orders",
        "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "tasks.max": "2",
        "topics": topic_name,
        "s3.bucket.name": bucket_name,
        "s3.region": moto.region,
        "store.url": moto.endpoint_url,
        "aws.access.key.id": moto.access_key,
        "aws.secret.access.key": "${env:TEST_SECRET}",  # moto takes any
        "storage.class": "io.confluent.connect.s3.storage.S3Storage",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "s3.compression.type": "gzip",
        "flush.size": "100",
        "s3.part.retries": "0",
    }
    return Job(tmp_path, topic_name, bucket_name, kafka, moto, properties)


@contextlib.contextmanager
def watched_command_lines() -> Iterator[set[str]]:
    """The command lines of all processes of the machine that ran meanwhile, sampled without a pause."""
    seen: set[str] = set()
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    seen.add(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        ended.set()
        watcher.join()


@pytest.mark.heavy
def test_a_run_over_four_partitions(job: Job) -> None:
    """Every record lands once, under Connect's names, split over two tasks; the entry names the Spark application.

    No secret is on a command line or in the output, and Spark's folder is empty afterwards.
    """
    for partition in range(PARTITIONS):
        job.produce(partition, *(b'{"p":%d,"n":%d}' % (partition, n) for n in range(250)))
    with watched_command_lines() as command_lines:
        ran = job.run()
    assert ran.returncode == 0, ran.stderr
    assert "commit 1: 1000 records" in ran.stdout
    assert any("export.py" in line for line in command_lines)
    assert any("pyspark.daemon" in line for line in command_lines)
    assert not [line for line in command_lines if SECRET in line]
    objects = job.objects("topics/")
    folder = f"topics/{job.topic}"
    assert list(objects) == [
        f"{folder}/partition={partition}/{job.topic}+{partition}+{start:010d}.json.gz"
        for partition in range(PARTITIONS)
        for start in (0, 100, 200)
    ]
    rows = [json.loads(line) for body in objects.values() for line in gzip.decompress(body).splitlines()]
    assert rows == [{"p": partition, "n": n} for partition in range(PARTITIONS) for n in range(250)]
    key, body = next(iter(job.objects("_kafka_s3/orders/log/").items()))
    entry = decode(Entry, key, body)
    assert (entry.run_id, len(entry.ranges)) == ("manual", PARTITIONS)
    assert (entry.spark_application or "").startswith("local-")


@pytest.mark.heavy
def test_a_bad_record_is_sparks_own_exit_status(job: Job) -> None:
    """spark-submit ends with 65, names topic, partition and offset, and shows no traceback.

    What precedes the record and the other partitions are committed.
    """
    job.produce(0, b'{"n":0}', b"{oops", b'{"n":2}')
    job.produce(3, b'{"m":0}')
    ran = job.run()
    assert ran.returncode == 65
    assert f"topic {job.topic} partition 0 offset 1: not JSON" in ran.stdout
    assert [gzip.decompress(body) for body in job.objects("topics/").values()] == [b'{"n":0}\n', b'{"m":0}\n']


@pytest.mark.heavy
def test_a_wrong_configuration_is_sparks_own_exit_status(job: Job) -> None:
    """spark-submit ends with 78, every problem is named without a traceback, and nothing is written."""
    job.properties |= {"flush.size": "0", "flush.sise": "3"}
    ran = job.run()
    assert ran.returncode == 78
    assert "flush.size=0" in ran.stdout
    assert "flush.sise" in ran.stdout
    assert job.objects("") == {}


@pytest.mark.heavy
def test_the_driver_dies_with_its_jvm(job: Job) -> None:
    """kill -9 on the JVM ends the Python driver in the middle of its work: no driver is left that could commit."""
    with socket.create_server(("127.0.0.1", 0)) as silent:  # a store that takes requests and never answers
        silent.settimeout(120)
        job.properties["store.url"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        jvm = job.start()
        try:
            connection, _ = silent.accept()  # the driver is at work
            with connection:
                driver = drivers_below(jvm.pid)[0]
                jvm.send_signal(signal.SIGKILL)
                _, alive = psutil.wait_procs([driver], timeout=60)
                assert alive == []
        finally:
            jvm.kill()
            jvm.communicate()
    assert jvm.returncode == -signal.SIGKILL
    assert job.objects("") == {}


# Without Spark


def _task(partition: int, start: int, end: int) -> RangeTask:
    return RangeTask(PlannedRange("orders", partition, start, end), 0, 0, PartitionOffsets(0, end, end))


def test_tasks_get_about_the_same_work() -> None:
    """A group for each task that may run at once, large ones first, none twice and none forgotten."""
    tasks = [_task(partition, 0, size) for partition, size in enumerate([100, 10, 50, 40, 10, 90])]
    groups = balance(tasks, 3, 1000)
    assert sorted(sum(task.planned.end for task in group) for group in groups) == [100, 100, 100]
    assert sorted(task.planned.partition for group in groups for task in group) == list(range(6))
    assert len(balance(tasks, 100, 1000)) == 6
    assert balance(tasks, 1, 1000)[0] == sorted(tasks, key=lambda task: task.planned.end, reverse=True)


def test_a_large_plan_has_more_groups_than_tasks() -> None:
    """So that results come, and what an executor loses is little: none is much larger than a range may be."""
    tasks = [_task(0, start, start + 100) for start in range(0, 2000, 100)]
    groups = balance(tasks, 2, 100)
    assert [len(group) for group in groups] == [1] * 20
    assert len(balance([_task(partition, 0, 1) for partition in range(1000)], 2, 100)) == 10


def test_settings_that_spark_would_write_to_a_file_are_refused() -> None:
    """A closure over 1 MiB becomes a file, secrets included: what would make it so long is refused before a plan."""
    context: Any = None  # it is not asked for anything yet
    settings = make_settings()
    SparkExecute(context, settings)
    value = replace(settings.format.value, schema_text="x" * SETTINGS_BYTES_MAX)
    with pytest.raises(ConfigurationError, match="(?s)secrets included.*Shorten"):
        SparkExecute(context, replace(settings, format=replace(settings.format, value=value)))
