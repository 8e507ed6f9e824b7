"""A connector over the real broker and versitygw, run by processes that can be stopped and killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psutil
from confluent_kafka import Producer

from kafka_s3.crash_points import CrashPoint
from kafka_s3.log.entries import Entry
from kafka_s3.spark.parent_death import die_with_parent
from tests.cli.command import PLAIN, ROOT, call, write_properties
from tests.processes import below, command_of, drivers_below
from tests.support import entries_of
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import S3Server

BOUND_S = 240
LISTENING = Path(__file__).parent / "listening"
PARTITIONS = 4
T = TypeVar("T")


def until(what: str, look: Callable[[], T], *, run: ExportProcess | None = None) -> T:
    """What `look` finds once it finds something; a generous bound, since nothing here is about time."""
    deadline = time.monotonic() + BOUND_S
    while not (found := look()):
        assert run is None or run.process.poll() is None, f"it ended before this was so: {what}. {run.said()}"
        assert time.monotonic() < deadline, f"not within {BOUND_S} s: {what}"
        time.sleep(0.02)
    return found


@dataclass
class ExportProcess:
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
        return [each for each in daemons if _parent(each) in pids]

    def part(self, name: str) -> psutil.Process | None:
        """The driver, a worker, the JVM or the command, if there is one now."""
        match name:
            case "driver":
                found = drivers_below(self.process.pid)
            case "worker":
                found = self.workers()
            case "jvm":
                found = self._running("org.apache.spark.deploy.SparkSubmit")
            case _:
                found = self.everyone()[:1]
        return found[0] if found else None

    def remote_ports(self) -> set[int]:
        """The ports that this process itself is connected to."""
        connections = psutil.Process(self.process.pid).net_connections("tcp")
        return {each.raddr.port for each in connections if each.status == psutil.CONN_ESTABLISHED}

    def stopped(self) -> list[psutil.Process]:
        """Those of its processes that stand still (SIGSTOP)."""
        return [each for each in self.everyone() if _stands(each)]

    def everyone(self) -> list[psutil.Process]:
        """The command and all that is under it; none once it has ended."""
        if self.process.poll() is not None:
            return []
        return [psutil.Process(self.process.pid), *below(self.process.pid)]

    def sleep(self) -> None:
        """Stop every process of it where it stands."""
        for process in self.everyone():
            process.suspend()

    def wake(self) -> int:
        """Let all of it go on, also those that stop on the way, and return its exit status."""

        def ended() -> bool:
            for process in self.stopped():
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()
            return self.process.poll() is not None

        until("it ends", ended)
        return self.process.wait()

    def wait(self) -> int:
        return self.process.wait(BOUND_S)

    def wait_at_most(self, seconds: float) -> None:
        """Wait until it ends, or for a while."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def _running(self, argument: str) -> list[psutil.Process]:
        return [each for each in below(self.process.pid) if argument in command_of(each)]


def _parent(process: psutil.Process) -> int | None:
    try:
        return int(process.ppid())
    except psutil.NoSuchProcess:
        return None


def _stands(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


def stopping_at(point: CrashPoint, part: str = "kafka_s3.cli") -> dict[str, str]:
    """What in a run's environment makes one of its processes stop where it passes a point for the first time.

    `part` is in the command line of that process: the command's own, export.py of a driver, pyspark.daemon of a worker.
    """
    return {"STOP_AT": point.name, "STOP_IN": part}


@dataclass
class KillableRun:
    """One connector; `folder` holds its file, `temporary` is all the room its processes get for their own."""

    folder: Path
    topic: str
    bucket: str
    broker: KafkaBroker
    store: S3Server
    flush_size: int = 500
    more: Mapping[str, str] = field(default_factory=dict)

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
            **self.more,
        }
        self.config = write_properties(self.folder / "orders.properties", properties)
        write_properties(self.folder / "worker.properties", {"bootstrap.servers": self.broker.bootstrap_servers})

    @property
    def store_port(self) -> int:
        return int(self.store.endpoint_url.rpartition(":")[2])

    def produce(self, count: int, first: int = 0, *, words: int = 24, timestamp_ms: int = 0) -> None:
        """Records numbered from `first` of some `words` words each, spread evenly over the partitions. 0 is now."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "linger.ms": 50})
        for number in range(first, first + count):
            value = json.dumps({"n": number, "words": "alpha bravo charlie delta " * (words // 4)}).encode()
            producer.produce(self.topic, value, partition=number % PARTITIONS, timestamp=timestamp_ms)
            if number % 10_000 == 0:
                producer.poll(0)
        assert producer.flush(60) == 0

    def start(
        self,
        run_id: str,
        *,
        spark: str | None = None,
        time: Sequence[str] = ("--until-now",),
        environment: Mapping[str, str] | None = None,
        under: Sequence[str] = (),
    ) -> ExportProcess:
        """`kafka-s3 run` for a time, not awaited; started by the command `under` if one is given."""
        command = [*under, sys.executable, "-m", "kafka_s3.cli", "run", str(self.config), "--run-id", run_id, *time]
        command += [] if spark is None else ["--spark", spark]
        output = self.folder / f"{run_id}-{len(list(self.folder.glob('*.log')))}.log"
        own = {"PYTHONPATH": f"{LISTENING}:{ROOT / 'jobs'}", "TMPDIR": str(self.temporary)}
        with output.open("wb") as log:
            process = subprocess.Popen(
                command,
                env={**os.environ, **own, **(environment or {})},
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,
            )
        return ExportProcess(process, output)

    def freeze_at(self, objects: int, run: ExportProcess) -> None:
        """Stop the store where it stands once a run has written that many objects, and so the run in its middle."""
        until(f"{objects} objects", lambda: len(self.keys("topics/")) >= objects, run=run)
        self.store.suspend()

    def stopped_at(self, point: CrashPoint, run: ExportProcess) -> None:
        """Wait until one of a run's processes stands at the point it was told to stop at."""
        until(f"it stands where {point.value}", run.stopped, run=run)

    # What is in the bucket.

    def keys(self, prefix: str) -> list[str]:
        return self.store.keys(self.bucket, prefix)

    def sizes(self, prefix: str) -> dict[str, int]:
        """How large these objects are, by key."""
        pages = self.store.client().get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        return {each["Key"]: each["Size"] for page in pages for each in page.get("Contents", [])}

    def remove(self) -> None:
        """Delete the bucket with all that is in it, and the folder."""
        client = self.store.client()
        for key in self.keys(""):
            client.delete_object(Bucket=self.bucket, Key=key)
        client.delete_bucket(Bucket=self.bucket)
        shutil.rmtree(self.folder)

    def objects(self, prefix: str = "") -> dict[str, bytes]:
        return self.store.objects(self.bucket, prefix)

    def objects_besides(self, known: Container[str]) -> dict[str, bytes]:
        """Those whose keys are not known yet."""
        client = self.store.client()
        new = (key for key in self.keys("") if key not in known)
        return {key: client.get_object(Bucket=self.bucket, Key=key)["Body"].read() for key in new}

    def entries(self) -> list[Entry]:
        """The log, oldest first."""
        return entries_of(self.store, self.bucket, "orders")

    def verified(self) -> int:
        """How many records `verify --against-kafka` finds, each once, with Kafka's content and no object besides."""
        result = call("verify", self.config, "--against-kafka", "--json")
        found = json.loads(result.stdout)
        assert result.exit_code == (1 if found["problems"] else 0), result.output  # what stopped a partition is one
        assert (found["findings"], found["orphans"], found["notes"]) == ([], [], []), result.output
        return int(found["records"])

    def open_uploads(self) -> list[str]:
        """The keys of multipart uploads that were neither completed nor aborted."""
        answer = self.store.client().list_multipart_uploads(Bucket=self.bucket)
        return [each["Key"] for each in answer.get("Uploads", ())]
