"""A connector over the real broker and versitygw, run by processes that can be stopped and killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil
from confluent_kafka import Producer

from kafka_s3.commit_log import Entry
from tests.cli.command import PLAIN, ROOT, call, write_properties
from tests.processes import below, command_of, drivers_below
from tests.support import entries_of
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import S3Server

BOUND_S = 240
PARTITIONS = 4
T = TypeVar("T")


def until(what: str, look: Callable[[], T], *, run: Export | None = None) -> T:
    """What `look` finds once it finds something; a generous bound, since nothing here is about time."""
    deadline = time.monotonic() + BOUND_S
    while not (found := look()):
        assert run is None or run.process.poll() is None, f"it ended before this was so: {what}. {run.said()}"
        assert time.monotonic() < deadline, f"not within {BOUND_S} s: {what}"
        time.sleep(0.02)
    return found


@dataclass
class Export:
    """One `kafka-s3 run` as a process; with Spark, the JVM, the driver and the Python workers are under it."""

    process: subprocess.Popen[bytes]
    output: Path

    def driver(self) -> psutil.Process:
        return until("there is a driver", lambda: drivers_below(self.process.pid), run=self)[0]

    def jvm(self) -> psutil.Process:
        return until("there is a JVM", lambda: self._running("org.apache.spark.deploy.SparkSubmit"), run=self)[0]

    def workers(self) -> list[psutil.Process]:
        """The Python workers that execute tasks: the daemon's children."""
        daemons = self._running("pyspark.daemon")
        pids = {each.pid for each in daemons}
        return [each for each in daemons if each.ppid() in pids]

    def remote_ports(self) -> set[int]:
        """The ports that this process itself is connected to."""
        connections = psutil.Process(self.process.pid).net_connections("tcp")
        return {each.raddr.port for each in connections if each.status == psutil.CONN_ESTABLISHED}

    def wait(self) -> int:
        return self.process.wait(BOUND_S)

    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def _running(self, argument: str) -> list[psutil.Process]:
        return [each for each in below(self.process.pid) if argument in command_of(each)]


@dataclass
class Connector:
    """One connector; `folder` holds its file, `temporary` is all the room its processes get for their own."""

    folder: Path
    topic: str
    bucket: str
    broker: KafkaBroker
    store: S3Server
    flush_size: int = 500

    def __post_init__(self) -> None:
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.store.create_bucket(self.bucket)
        properties = {
            **PLAIN,
            "tasks.max": "2",
            "topics": self.topic,
            "s3.bucket.name": self.bucket,
            "s3.region": self.store.region,
            "store.url": self.store.endpoint_url,
            "aws.access.key.id": self.store.access_key,
            "aws.secret.access.key": self.store.secret_key,
            "s3.compression.type": "gzip",
            "flush.size": str(self.flush_size),
        }
        self.config = write_properties(self.folder / "orders.properties", properties)
        write_properties(self.folder / "worker.properties", {"bootstrap.servers": self.broker.bootstrap_servers})

    @property
    def store_port(self) -> int:
        return int(self.store.endpoint_url.rpartition(":")[2])

    def produce(self, count: int, first: int = 0) -> None:
        """Records numbered from `first`, spread evenly over the partitions."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "linger.ms": 50})
        for number in range(first, first + count):
            value = json.dumps({"n": number, "words": "alpha bravo charlie delta " * 6}).encode()
            producer.produce(self.topic, value, partition=number % PARTITIONS)
            if number % 10_000 == 0:
                producer.poll(0)
        assert producer.flush(60) == 0

    def start(self, run_id: str, *, spark: str | None = None) -> Export:
        """`kafka-s3 run --until-now`, not awaited."""
        more = [] if spark is None else ["--spark", spark]
        command = [sys.executable, "-m", "kafka_s3.cli", "run", str(self.config), "--until-now", "--run-id", run_id]
        output = self.folder / f"{run_id}-{time.monotonic_ns()}.log"
        with output.open("wb") as log:
            process = subprocess.Popen(
                [*command, *more],
                env={**os.environ, "PYTHONPATH": str(ROOT / "jobs"), "TMPDIR": str(self.temporary)},
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        return Export(process, output)

    def freeze_at(self, objects: int, run: Export) -> None:
        """Stop the store where it stands once a run has written that many objects, and so the run in its middle."""
        until(f"{objects} objects", lambda: len(self.keys("topics/")) >= objects, run=run)
        self.store.suspend()

    # What is in the bucket.

    def keys(self, prefix: str) -> list[str]:
        return self.store.keys(self.bucket, prefix)

    def objects(self, prefix: str = "") -> dict[str, bytes]:
        return self.store.objects(self.bucket, prefix)

    def entries(self) -> list[Entry]:
        """The log, oldest first."""
        return entries_of(self.store, self.bucket, "orders")

    def verified(self) -> int:
        """How many records `verify --against-kafka` finds, each once, with Kafka's content and no object besides."""
        result = call("verify", self.config, "--against-kafka", "--json")
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        assert (found["orphans"], found["notes"]) == ([], [])
        return int(found["records"])
