"""A running Airflow over a folder of connectors, seen through its REST API; and ways to hold or break what it runs."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import psutil
from click.testing import Result
from confluent_kafka import Producer

from kafka_s3.log.entries import Entry
from kafka_s3.settings.schedule import ScheduleSettings
from tests.cli.command import call
from tests.processes import below, command_of
from tests.scheduler.gates import Proxy, SubmitGate
from tests.support import entries_of
from tools.parts.airflow import Airflow
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import S3Server

BOUND_S = 240
POLL_S = 2.0  # each look is two requests, of which Airflow makes much work
ENDED = ("success", "failed")
PAUSED_MINUTES = (1, 2, 3)  # after the minute in which `scheduled` is paused; each has its own number of records

T = TypeVar("T")


def bucket_of(name: str) -> str:
    """A connector's bucket, in stores that other tests have theirs in too."""
    return f"scheduler-{name}"


def until(
    what: str, look: Callable[[], T | None], *, or_say: Callable[[], object] = lambda: "", pause_s: float = POLL_S
) -> T:
    """What `look` finds once it finds something; a generous bound, since nothing here is about time."""
    deadline = time.monotonic() + BOUND_S
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {BOUND_S} s: {what}. {or_say()}"
        time.sleep(pause_s)


class Api:
    """Airflow's REST API. A request that the server could not serve is sent again: SQLite may be locked."""

    def __init__(self, airflow: Airflow) -> None:
        self._url = airflow.url
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        login = {"username": airflow.user, "password": airflow.password}
        self._headers["Authorization"] = f"Bearer {self.send('POST', '/auth/token', login)['access_token']}"

    def get(self, path: str, **query: Any) -> Any:
        return self.send("GET", f"/api/v2{path}?{urllib.parse.urlencode(query)}")

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        deadline = time.monotonic() + BOUND_S
        data = None if body is None else json.dumps(body).encode()
        again = False
        while True:
            request = urllib.request.Request(self._url + path, data, self._headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                with error:
                    said = error.read().decode(errors="replace")
                if error.code == 409 and again:
                    return None  # the first time it did get through
                if error.code < 500 or time.monotonic() > deadline:
                    raise AssertionError(f"{method} {path} {dict(body or {})}: {error.code} {said[:2000]}") from error
            except OSError:
                if time.monotonic() > deadline:
                    raise
            again = True
            time.sleep(1)


@dataclass(frozen=True)
class Task:
    """A task instance, and how many times it was tried so far."""

    state: str | None
    tries: int
    start: datetime | None
    end: datetime | None


@dataclass(frozen=True)
class Run:
    """A DAG run as the API shows it."""

    run_id: str
    kind: str  # scheduled, manual, backfill
    state: str
    interval_end: datetime | None
    tasks: Mapping[str, Task]

    @property
    def states(self) -> dict[str, str | None]:
        return {name: task.state for name, task in self.tasks.items()}


@dataclass(frozen=True)
class Pause:
    """When `scheduled` was paused, how many runs it had, and the newest entry of its log."""

    minute: datetime
    runs: int
    seq: int


@dataclass(frozen=True)
class RunningExport:
    """The processes of an export that is at work, and the folder of its temporary files."""

    supervisor: psutil.Process
    task: psutil.Process
    jvm: psutil.Process
    spark: Sequence[psutil.Process]  # the JVM, the driver, the Python workers
    folder: Path

    def has_ended(self) -> None:
        """Wait until neither the task's process nor anything that it started is left."""
        _, alive = psutil.wait_procs([self.task, *self.spark], timeout=60)
        assert alive == []


@dataclass
class ScheduledExports:
    """The servers, and the connectors' folder; topics and stores by connector, whose DAG has its name."""

    folder: Path
    broker: KafkaBroker
    topics: Mapping[str, str]
    stores: Mapping[str, S3Server]
    api: Api
    airflow: Airflow
    gate: SubmitGate
    proxy: Proxy
    hour: datetime  # that is going on when the world begins
    ninety: ScheduleSettings  # of `ninety_minutes`
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    # Airflow.

    @contextmanager
    def unpaused(self, name: str) -> Iterator[None]:
        """Let Airflow schedule a connector's runs; the interval that is over when it begins gets a run at once."""
        self.pause(name, False)
        try:
            yield
        finally:
            self.pause(name)

    def pause(self, name: str, paused: bool = True) -> None:
        self.api.send("PATCH", f"/api/v2/dags/{name}", {"is_paused": paused})

    def command(self, *arguments: str) -> str:
        """One of Airflow's own commands, as its user types it; what it printed."""
        run = subprocess.run(
            ["airflow", *arguments],
            env=self.airflow.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=BOUND_S,
        )
        assert run.returncode == 0, f"airflow {' '.join(arguments)}: {run.returncode}\n{run.stdout[-5000:]}"
        return run.stdout

    def start(self, name: str, run_id: str, conf: Mapping[str, Any] | None = None) -> None:
        """A manual run as the form in the browser starts it."""
        body = {"dag_run_id": run_id, "logical_date": datetime.now(UTC).isoformat(), "conf": dict(conf or {})}
        self.api.send("POST", f"/api/v2/dags/{name}/dagRuns", body)

    def trigger(self, name: str, run_id: str, conf: Mapping[str, Any] | None = None) -> Run:
        """A manual run, awaited."""
        self.start(name, run_id, conf)
        return self.ended_run(name, run_id)

    def runs(self, name: str) -> list[Run]:
        """Every run of a connector, the oldest first."""
        listed = self.api.get(f"/dags/{name}/dagRuns", order_by="id", limit=100)["dag_runs"]
        tasks: dict[str, dict[str, Task]] = {each["dag_run_id"]: {} for each in listed}
        for each in self.api.get(f"/dags/{name}/dagRuns/~/taskInstances", limit=100)["task_instances"]:
            if each["dag_run_id"] in tasks:  # it may be of a run that began in between
                start, end = _time(each["start_date"]), _time(each["end_date"])
                tasks[each["dag_run_id"]][each["task_id"]] = Task(each["state"], each["try_number"], start, end)
        return [
            Run(
                each["dag_run_id"],
                each["run_type"],
                each["state"],
                _time(each["data_interval_end"]),
                tasks[each["dag_run_id"]],
            )
            for each in listed
        ]

    def task_states(self, name: str) -> set[str | None]:
        """The states that any task of a connector's runs is in."""
        return {state for run in self.runs(name) for state in run.states.values()}

    def ended(self, name: str, wanted: Callable[[Run], bool] = lambda run: True) -> Run:
        """The first run that is wanted, once it has ended."""
        return until(
            f"a run of {name} that is wanted ends",
            lambda: next((run for run in self.runs(name) if wanted(run) and run.state in ENDED), None),
            or_say=lambda: [(run.run_id, run.state, run.states) for run in self.runs(name)],
        )

    def ended_run(self, name: str, run_id: str) -> Run:
        """The run of this id, once it has ended."""
        return self.ended(name, lambda run: run.run_id == run_id)

    def all_ended(self, name: str, count: int, kind: str | None = None) -> list[Run]:
        """All runs of a connector, or those of a kind, once there are so many and each has ended."""

        def look() -> list[Run] | None:
            found = [run for run in self.runs(name) if kind in (None, run.kind)]
            return found if len(found) >= count and all(run.state in ENDED for run in found) else None

        return until(f"{count} runs of {name} have ended", look, or_say=lambda: self.runs(name))

    def said(self, name: str, run: Run, task: str, attempt: int = 1) -> str:
        """What a try of a task logged, as the API shows it."""
        path = f"/dags/{name}/dagRuns/{quote(run.run_id, safe='')}/taskInstances/{task}/logs/{attempt}"
        return json.dumps(self.api.get(path, full_content="true"), ensure_ascii=False)

    def failures(self, name: str, runs: Sequence[Run]) -> list[str]:
        """What the last try of each task that failed said last; for a test that expects none."""
        return [
            f"{run.run_id} {task}, try {each.tries}: {self.said(name, run, task, each.tries)[-3000:]}"
            for run in runs
            for task, each in run.tasks.items()
            if each.state in ("failed", "up_for_retry")
        ]

    def attempts(self, name: str, run: Run, task: str) -> list[str | None]:
        """The states that the tries of a task ended with."""
        path = f"/dags/{name}/dagRuns/{quote(run.run_id, safe='')}/taskInstances/{task}/tries"
        tries = self.api.get(path)["task_instances"]
        return [each["state"] for each in sorted(tries, key=lambda each: each["try_number"])]

    def events(self, name: str, run: Run) -> list[dict[str, Any]]:
        """What the events of a run's connector say; those of its topics are left out."""
        found = self.api.get("/assets/events", source_dag_id=name, source_run_id=run.run_id)
        return [each["extra"] for each in found["asset_events"] if "topic" not in each["extra"]]

    # Kafka and the bucket.

    def bucket(self, name: str) -> str:
        return bucket_of(name)

    def produce(self, name: str, partition: int, values: Sequence[bytes], at: datetime) -> None:
        """Records that all have the same timestamp."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers})
        for value in values:
            producer.produce(self.topics[name], value, partition=partition, timestamp=int(at.timestamp() * 1000))
        assert producer.flush(30) == 0

    def newest(self, name: str) -> Entry:
        return self.entries(name)[-1]

    def entries(self, name: str) -> list[Entry]:
        """The log of a connector, oldest first."""
        return entries_of(self.stores[name], self.bucket(name), name)

    def positions(self, name: str) -> list[int]:
        """The next offset to export of each partition, by partition."""
        return [position for _, position in sorted(self.newest(name).topics[self.topics[name]].positions.items())]

    def keys(self, name: str, prefix: str) -> list[str]:
        return self.stores[name].keys(self.bucket(name), prefix)

    def objects(self, name: str) -> dict[str, bytes]:
        """The data objects of a connector."""
        return self.stores[name].objects(self.bucket(name), "topics/")

    def remove_bucket(self, name: str) -> None:
        client = self.stores[name].client()
        for key in self.keys(name, ""):
            client.delete_object(Bucket=self.bucket(name), Key=key)
        client.delete_bucket(Bucket=self.bucket(name))

    def verified(self, name: str) -> int:
        """How many records the log's objects hold: each once, with Kafka's content, and no object besides."""
        result = self.call(name, "verify", "--against-kafka", "--json")
        found = json.loads(result.stdout)
        assert result.exit_code == (1 if found["problems"] else 0), result.output  # what stopped a partition is one
        assert (found["findings"], found["orphans"], found["notes"]) == ([], [], []), result.output
        return int(found["records"])

    def call(self, name: str, command: str, *arguments: str) -> Result:
        """A command of `kafka-s3` over a connector, with the credentials that Airflow's connection has."""
        store = self.stores[name]
        environment = {"AWS_ACCESS_KEY_ID": store.access_key, "AWS_SECRET_ACCESS_KEY": store.secret_key}
        file = self.folder / f"{name}.properties"
        if not file.exists():
            file = self.folder.parent / "own" / file.name
        return call(command, file, *arguments, env=environment)

    # Processes.

    @property
    def temporary(self) -> Path:
        """Where Airflow's processes have their temporary files."""
        return Path(self.airflow.environment["TMPDIR"])

    @contextmanager
    def frozen(self, name: str) -> Iterator[RunningExport]:
        """The export of a connector in its middle: the store is silent while this lasts, and goes on afterwards."""
        known = len(self.keys(name, "topics/"))
        until("some objects are written", lambda: len(self.keys(name, "topics/")) >= known + 10, pause_s=0.02)
        self.stores[name].suspend()
        try:
            yield self._export(name)
        finally:
            self.stores[name].resume()

    def _export(self, name: str) -> RunningExport:
        below_scheduler = below(self.airflow.scheduler.pid)
        found = [each for each in below_scheduler if _is_spark_of(name, command_of(each))]
        assert len(found) == 1, found
        [jvm] = found
        task = jvm.parent()
        assert task is not None
        supervisor = task.parent()
        assert supervisor is not None
        assert supervisor.pid != self.airflow.scheduler.pid
        spark = [jvm, *below(jvm.pid)]
        names = ["".join(command_of(each)) for each in spark]
        for wanted in ("export.py", "pyspark.daemon"):
            assert any(wanted in each for each in names[1:]), names
        return RunningExport(supervisor, task, jvm, spark, Path(jvm.environ()["SPARK_LOCAL_DIRS"]))


def _is_spark_of(name: str, command: list[str]) -> bool:
    return "org.apache.spark.deploy.SparkSubmit" in command and any(f"/{name}.properties" in each for each in command)


def lines(count: int) -> list[bytes]:
    """Values of records."""
    return [json.dumps({"n": number}).encode() for number in range(count)]


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
