"""Many small connectors due at once under a real scheduler: the CPU, time and memory of all processes, Airflow's too.

    .venv/bin/python -m bench.scheduled [--connectors 200] [--records 1000] [--ways group,alone] [--spark-connectors 10]

Each way has an Airflow of its own: scheduler with four processes for tasks, api-server, dag-processor, PostgreSQL. All
DAGs are unpaused in one request, and the scheduler starts a run of each. What Airflow itself takes is measured beside
it: as many DAGs of as many tasks, which do nothing. The broker and the store are not counted.

| way | what runs |
|---|---|
| group | one DAG for all connectors (export.group), without a JVM |
| group-spark | one DAG for all connectors, every plan on Spark, local[2] |
| alone | a DAG for each connector, without a JVM (export.spark.records.min) |
| spark | a DAG for each of some connectors, each with its own spark-submit, local[2] |
"""

import argparse
import gzip
import json
import os
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from bench.output import console
from bench.process_tree import ProcessTree
from bench.records import PARTITIONS, produce, values
from tools.parts.airflow import Airflow
from tools.parts.java import find_java
from tools.parts.kafka import KafkaBroker
from tools.parts.postgres import PostgreSQL
from tools.parts.s3 import MotoServer, S3Server, VersityGateway

REPOSITORY: Final = Path(__file__).resolve().parents[1]
BIN: Final = Path(sys.executable).parent
POLL_S: Final = 3.0
IDLE_S: Final = 20.0
BOUND_S: Final = 3600
#: Of each way: whether the connectors are a group, and `export.spark.records.min`.
WAYS: Final[Mapping[str, tuple[bool, int]]] = {
    "group": (True, 1_000_000),
    "group-spark": (True, 0),
    "alone": (False, 1_000_000),
    "spark": (False, 0),
}
TASKS: Final = ("plan", "export", "complete")
#: A DAG file whose tasks do nothing; as many as an export's.
EMPTY: Final = """
from datetime import datetime

from airflow.sdk import DAG, CronDataIntervalTimetable, task

for number in range({count}):
    with DAG(
        f"empty{{number}}",
        schedule=CronDataIntervalTimetable("0 0 * * *", {zone!r}),
        start_date=datetime(2020, 1, 1),
        catchup=False,
        max_active_runs=1,
    ) as dag:
        before = None
        for name in {tasks!r}:

            @task(task_id=name)
            def nothing():
                pass

            made = nothing()
            if before is not None:
                before >> made
            before = made
    globals()[dag.dag_id] = dag
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """By all DAG runs of one Airflow: seconds, CPU seconds in all and of its parts, bytes; and its CPU when idle."""

    runs: int
    wall_s: float
    cpu_s: float
    parts: Mapping[str, float]
    rss: int
    pss: int
    idle: float  # CPU seconds in each second


class Client:
    """Airflow's REST API."""

    def __init__(self, airflow: Airflow) -> None:
        self._url = airflow.url
        self._headers = {"Content-Type": "application/json"}
        login = {"username": airflow.user, "password": airflow.password}
        self._headers["Authorization"] = f"Bearer {self.send('POST', '/auth/token', login)['access_token']}"

    def count(self, path: str, of: str, **query: Any) -> int:
        """How many there are, without looking at them."""
        found = self.send("GET", f"/api/v2{path}?{urllib.parse.urlencode({**query, 'limit': 1}, doseq=True)}")
        assert of in found, found
        return int(found["total_entries"])

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, self._headers, method=method)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
            return json.load(answer)


class ScheduledBench:
    """Topics with records, and what each way makes of them."""

    def __init__(self, kafka: KafkaBroker, store: S3Server, folder: Path, connectors: int, records: int) -> None:
        self._kafka, self._store, self._folder, self._records = kafka, store, folder, records
        self._empty: dict[int, Taken] = {}
        for number in range(connectors):
            kafka.create_topic(f"c{number}", PARTITIONS)
            produce(kafka.bootstrap_servers, f"c{number}", values(records))

    def empty(self, count: int) -> Taken:
        """So many runs of DAGs whose tasks do nothing."""
        if count not in self._empty:
            home = self._home(f"empty-{count}")
            (home / "dags" / "empty.py").write_text(EMPTY.format(count=count, zone=_zone(), tasks=TASKS))
            self._empty[count] = self._run(home, count, TASKS)
        return self._empty[count]

    def way(self, name: str, connectors: int) -> Taken:
        """The exports of so many connectors, each looked at afterwards."""
        is_group, records_min = WAYS[name]
        home = self._home(name)
        (home / "dags" / "exporters.py").write_text((REPOSITORY / "dags" / "exporters.py").read_text())
        self._store.create_bucket(name)
        for number in range(connectors):
            self._write(home, name, f"c{number}", "export.group=bench\n" if is_group else "", records_min)
        tasks = (*TASKS, "complete_rest", "outcome") if is_group else TASKS
        taken = self._run(home, 1 if is_group else connectors, tasks)
        for number in range(connectors):
            self._check(name, f"c{number}")
        return taken

    def _home(self, name: str) -> Path:
        home = self._folder / name
        for made in ("dags", "connectors", "tmp"):
            (home / made).mkdir(parents=True)
        return home

    def _write(self, home: Path, bucket: str, name: str, more: str, records_min: int) -> None:
        text = (REPOSITORY / "connectors" / "orders.properties").read_text()
        given = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
        given |= {"name": name, "topics": name, "s3.bucket.name": bucket, "store.url": self._store.endpoint_url}
        given |= {"rotate.schedule.interval.ms": "86400000", "timezone": _zone()}
        given |= {"export.spark.records.min": str(records_min), "export.reexport.enable": "false"}
        path = home / "connectors" / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in given.items()) + more)

    def _environment(self, home: Path, database: str) -> dict[str, str]:
        aws = {"conn_type": "aws", "login": self._store.access_key, "password": self._store.secret_key}
        kafka = {"bootstrap.servers": self._kafka.bootstrap_servers}
        return {
            **os.environ,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(str(REPOSITORY / part) for part in ("jobs", "plugins")),
            "JAVA_HOME": str(find_java().home),
            "TMPDIR": str(home / "tmp"),
            "AIRFLOW_HOME": str(home / "airflow"),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database,
            "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
            "AIRFLOW_CONN_AWS_DEFAULT": json.dumps(aws | {"extra": {"region_name": self._store.region}}),
            "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps({"conn_type": "kafka", "extra": kafka}),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
            "KAFKA_S3_CONNECTORS": str(home / "connectors"),
            "KAFKA_S3_RETRIES": "0",
        }

    def _run(self, home: Path, runs: int, tasks: Sequence[str]) -> Taken:
        """Unpause every DAG, and wait until a run of each has succeeded."""
        with ExitStack() as parts:
            database = parts.enter_context(PostgreSQL(user="airflow", password="airflow", database="airflow"))
            address = f"postgresql+psycopg2://airflow:airflow@{database.address}/airflow"
            airflow = parts.enter_context(Airflow(self._environment(home, address), triggerer=False))
            tree = ProcessTree(without=(self._kafka.pid, self._store.pid))
            tree.start()
            parts.callback(tree.end)
            client = Client(airflow)
            _until(lambda: client.count("/dags", "dags", exclude_stale="true") == runs, f"{runs} DAGs")
            services = {"scheduler and tasks": airflow.scheduler.pid, "api-server": airflow.api_server.pid}
            services |= {"dag-processor": airflow.dag_processor.pid, "PostgreSQL": database.pid}

            def used() -> list[float]:
                return [tree.cpu_s(), *(tree.cpu_s(pid) for pid in services.values())]

            time.sleep(IDLE_S / 2)
            before, began = used(), time.monotonic()
            client.send("PATCH", "/api/v2/dags?dag_id_pattern=%25&limit=1000", {"is_paused": False})

            def ended() -> bool:
                failed = client.count("/dags/~/dagRuns", "dag_runs", state="failed")
                assert failed == 0, f"{failed} runs failed: {home / 'airflow' / 'logs'}"
                return client.count("/dags/~/dagRuns", "dag_runs", state="success") == runs

            _until(ended, f"{runs} runs have ended")
            wall_s = time.monotonic() - began
            total, *of_services = (now - then for now, then in zip(used(), before, strict=True))
            done = client.count("/dags/~/dagRuns/~/taskInstances", "task_instances", state=["success", "skipped"])
            expected = runs * len(tasks)
            assert done == expected, f"{done} tasks of {expected}"
            rss, pss, idle_from = tree.rss_max, tree.pss_max, tree.cpu_s()
            time.sleep(IDLE_S)
            idle = (tree.cpu_s() - idle_from) / IDLE_S
        return Taken(runs, wall_s, total, dict(zip(services, of_services, strict=True)), rss, pss, idle)

    def _check(self, bucket: str, name: str) -> None:
        """Every record is there, once as far as their number tells."""
        client = self._store.client()
        listed = client.list_objects_v2(Bucket=bucket, Prefix=f"topics/{name}/").get("Contents", [])
        bodies = (client.get_object(Bucket=bucket, Key=each["Key"])["Body"].read() for each in listed)
        found = sum(len(gzip.decompress(body).splitlines()) for body in bodies)
        assert found == self._records, f"{name}: {found} records"


def _zone() -> str:
    """One in which no day begins while this runs."""
    return f"Etc/GMT{datetime.now(UTC).hour - 12:+d}"


def _until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + BOUND_S
    while not is_so():
        assert time.monotonic() < deadline, f"not within {BOUND_S} s: {what}"
        time.sleep(POLL_S)


def _show(name: str, connectors: int, taken: Taken, empty: Taken) -> None:
    table = Table(f"{name}: {connectors} connectors", "DAG runs", "wall s", "CPU s", "RSS MB", "PSS MB", *taken.parts)
    for what, each in (("exports", taken), ("tasks that do nothing", empty)):
        figures = (each.wall_s, each.cpu_s, each.rss / 1e6, each.pss / 1e6, *each.parts.values())
        table.add_row(what, str(each.runs), *(f"{figure:,.0f}" for figure in figures))
    console.print(table)
    beyond = taken.cpu_s - empty.cpu_s
    console.print(
        f"beyond Airflow's own: {beyond:,.1f} CPU s, {beyond / connectors:.2f} a connector."
        f" Airflow idle: {taken.idle:.2f} CPU s a second; with nothing to export {empty.idle:.2f}"
    )


def main() -> None:
    """Produce once, then run and print each way."""
    parser = argparse.ArgumentParser(prog="python -m bench.scheduled")
    parser.add_argument("--connectors", type=int, default=200)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--ways", default="group,alone,spark", help=f"some of {', '.join(WAYS)}")
    parser.add_argument("--spark-connectors", type=int, default=10, help="how many the way spark has")
    arguments = parser.parse_args()
    store = MotoServer if VersityGateway.available() else VersityGateway
    with KafkaBroker() as kafka, store() as running, tempfile.TemporaryDirectory() as folder:
        connectors = max(arguments.connectors, arguments.spark_connectors)
        bench = ScheduledBench(kafka, running, Path(folder), connectors, arguments.records)
        for name in arguments.ways.split(","):
            count = arguments.spark_connectors if name == "spark" else arguments.connectors
            taken = bench.way(name, count)
            _show(name, count, taken, bench.empty(taken.runs))


if __name__ == "__main__":
    main()
