"""One Airflow for the whole folder over SQLite, and one for a few of its claims over PostgreSQL."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kafka_s3.plan.schedule import following
from kafka_s3.settings.schedule import ScheduleSettings
from tests.cli.command import write_properties
from tests.scheduler.gates import Proxy, SubmitGate
from tests.scheduler.harness import ENDED, PAUSED_MINUTES, Api, Pause, ScheduledExports, bucket_of, lines, until
from tools.parts.airflow import Airflow
from tools.parts.kafka import KafkaBroker
from tools.parts.postgres import PostgreSQL
from tools.parts.s3 import MotoServer, S3Server, VersityGateway

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

HOURLY = {"rotate.schedule.interval.ms": "3600000"}  # in a zone of which no hour ends soon
MINUTELY = {"rotate.schedule.interval.ms": "60000", "timezone": "UTC"}
# Under paths of the logical time, so that an hour that is exported late shows.
HOURS = {
    **HOURLY,
    "topics": "scheduler-hours",
    "partitioner.class": "io.confluent.connect.storage.partitioner.TimeBasedPartitioner",
    "path.format": "'hour'=YYYY-MM-dd-HH",
    "partition.duration.ms": "3600000",
    "locale": "en",
    "timestamp.extractor": "Wallclock",
}
KILLED = {"topics": "scheduler-killed"}  # of one topic, so that they have to write the same objects
CONNECTORS: Mapping[str, Mapping[str, str]] = {
    "scheduled": MINUTELY,
    "manual": {},
    "poisoned": {},
    "doomed": {},
    "homeless": {},
    "cut_off": {"s3.part.retries": "0"},
    "broken": {"flush.size": "many", "s3.compresion.type": "gzip"},
    "backfilled": MINUTELY,
    "ninety_minutes": {"rotate.schedule.interval.ms": "5400000"},
    "followed": {},
    "late": HOURS,
    "own": HOURS,
    "undisturbed": KILLED,
    "killed-task": KILLED,
    "killed-supervisor": KILLED,
    "marked": KILLED,
}
ON_POSTGRESQL: Mapping[str, Mapping[str, str]] = {
    "pg-scheduled": {},
    "pg-long-ago": {**HOURLY, "export.reexport.enable": "true"},
    "pg-undisturbed": {"topics": "scheduler-pg-killed"},
    "pg-killed": {"topics": "scheduler-pg-killed"},
}
# Whose store can be stopped without stopping that of any other.
STOPPED = {"undisturbed", "killed-task", "killed-supervisor", "marked", "own", "pg-undisturbed", "pg-killed"}

#: A user's DAG: every hour since a time gets a run of its own, and a try of a task has its time.
OWN = """
from datetime import datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable

from kafka_s3_airflow import kafka_to_s3

with DAG(
    "own",
    schedule=CronDataIntervalTimetable("0 * * * *", {zone!r}),
    start_date=datetime.fromisoformat({start!r}),
    catchup=True,
    max_active_runs=1,
    default_args={{"execution_timeout": timedelta(hours=1)}},
):
    kafka_to_s3({connector!r}, prefix_group_id=False)
"""


def _daily() -> dict[str, str]:
    """A day that began about twelve hours ago somewhere on Earth, so that none begins while the tests run."""
    return {"rotate.schedule.interval.ms": "86400000", "timezone": f"Etc/GMT{datetime.now(UTC).hour - 12:+d}"}


def _zone() -> str:
    """One in which no hour ends within the next half one; the tests of hours are over by then."""
    return "UTC" if datetime.now(UTC).minute < 30 else "Asia/Kolkata"


def _ninety() -> ScheduleSettings:
    """Every 90 minutes, in a zone whose clocks change and in which no interval ends within the next hour."""
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    schedules = [ScheduleSettings(90 * 60_000, f"Europe/{city}") for city in ("London", "Berlin", "Athens")]
    return max(schedules, key=lambda schedule: following(schedule, now_ms))


def _properties(name: str, more: Mapping[str, str]) -> dict[str, str]:
    return {
        "name": name,
        "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "tasks.max": "2",
        "topics": f"scheduler-{name}",
        "s3.bucket.name": bucket_of(name),
        "s3.region": "us-east-1",
        "storage.class": "io.confluent.connect.s3.storage.S3Storage",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        "s3.compression.type": "gzip",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "flush.size": "100",
        "export.spark.records.min": "0",  # Spark is what is broken here
        "export.reexport.enable": "false",
        **_daily(),
        **more,
    }


def _environment(folder: Path, gate: SubmitGate, store: MotoServer, java_home: str) -> dict[str, str]:
    aws = {
        "conn_type": "aws",
        "login": store.access_key,
        "password": store.secret_key,
        "extra": {"endpoint_url": store.endpoint_url, "region_name": store.region},
    }
    # Other tests' Airflow is configured in this process's environment.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW_", "KAFKA_S3_R"))}
    return {
        **inherited,
        "PATH": f"{gate.bin}:{BIN}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'jobs'}:{ROOT / 'plugins'}",
        "JAVA_HOME": java_home,
        "TMPDIR": str(folder / "tmp"),
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "120",  # no file changes
        "AIRFLOW_CONN_AWS_DEFAULT": json.dumps(aws),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        "KAFKA_S3_CONNECTORS": str(folder / "connectors"),
        "KAFKA_S3_RETRIES": "9",
        "KAFKA_S3_RETRY_DELAY_S": "1",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "90",  # a dead supervisor is noticed by its silence
    }


@dataclass(frozen=True)
class Servers:
    """What every Airflow here shares."""

    kafka: KafkaBroker
    moto: MotoServer
    versitygw: VersityGateway
    java_home: str


@pytest.fixture(scope="session")
def servers(kafka: KafkaBroker, moto: MotoServer, versitygw: VersityGateway, java_home: str) -> Servers:
    return Servers(kafka, moto, versitygw, java_home)


@contextmanager
def _running(
    servers: Servers, folder: Path, connectors: Mapping[str, Mapping[str, str]], database: str | None = None
) -> Iterator[ScheduledExports]:
    """The connectors, each with a topic of two partitions and, but for one, a bucket; all are paused."""
    for made in ("connectors", "dags", "tmp"):
        (folder / made).mkdir()
    (folder / "dags" / "exporters.py").write_text((ROOT / "dags" / "exporters.py").read_text())
    gate = SubmitGate(folder / "gate", BIN / "spark-submit")
    write_properties(
        folder / "connectors" / "worker.properties", {"bootstrap.servers": servers.kafka.bootstrap_servers}
    )
    environment = _environment(folder, gate, servers.moto, servers.java_home)
    zone, ninety = _zone(), _ninety()
    if database is not None:
        environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = database
    with Proxy(servers.moto.endpoint_url) as proxy:
        topics = {name: _properties(name, more)["topics"] for name, more in connectors.items()}
        stores: dict[str, S3Server] = {
            name: servers.versitygw if name in STOPPED else servers.moto for name in connectors
        }
        for topic in set(topics.values()):
            servers.kafka.create_topic(topic, partitions=2)
        for name, more in connectors.items():
            if name != "homeless":
                stores[name].create_bucket(bucket_of(name))
            endpoint = proxy.url if name == "cut_off" else stores[name].endpoint_url
            properties = _properties(name, {"store.url": endpoint, **more})
            if properties["rotate.schedule.interval.ms"] == HOURLY["rotate.schedule.interval.ms"]:
                properties["timezone"] = zone
            if name == "ninety_minutes":
                properties["timezone"] = ninety.timezone
            write_properties(folder / "connectors" / f"{name}.properties", properties)
        hour = datetime.now(ZoneInfo(zone)).replace(minute=0, second=0, microsecond=0).astimezone(UTC)
        if "own" in connectors:
            _write_own(folder, hour - 2 * timedelta(hours=1), zone)
            example = (ROOT / "dags" / "examples" / "hourly_counts.py").read_text()
            (folder / "dags" / "follows.py").write_text(
                example.replace('CONNECTOR = "orders"', 'CONNECTOR = "followed"')
            )
        # The whole of Airflow, triggerer and all, is up over PostgreSQL; nothing of ours needs that one.
        with Airflow(environment, triggerer=database is not None) as airflow:
            api = Api(airflow)
            until("the dag-processor is through", lambda: set(connectors) <= _names(api))
            yield ScheduledExports(
                folder / "connectors", servers.kafka, topics, stores, api, airflow, gate, proxy, hour, ninety
            )
        proxy.shutdown()


def _names(api: Api) -> set[str]:
    """Every DAG: those of the connectors, and the examples."""
    return {each["dag_id"] for each in api.get("/dags", limit=100)["dags"]}


def _write_own(folder: Path, start: datetime, zone: str) -> None:
    """The user's DAG over a connector file that lies elsewhere than those of the factory."""
    elsewhere = folder / "own"
    elsewhere.mkdir()
    for name in ("own.properties", "worker.properties"):
        (elsewhere / name).write_text((folder / "connectors" / name).read_text())
    (folder / "connectors" / "own.properties").unlink()
    (folder / "dags" / "own.py").write_text(
        OWN.format(connector=str(elsewhere / "own.properties"), start=start.isoformat(), zone=zone)
    )


@pytest.fixture(scope="session")
def world(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScheduledExports]:
    """Over SQLite, with a broken connector and a user's own DAG among the others.

    `scheduled` has records of the moment the world began, and Airflow may run it from then on.
    """
    with _running(servers, tmp_path_factory.mktemp("scheduler"), CONNECTORS) as world:
        # From here on, so that its minute goes by while other tests are at work.
        world.produce("scheduled", 0, lines(150), world.began)
        world.produce("scheduled", 1, lines(50), world.began)
        world.pause("scheduled", False)
        yield world


@pytest.fixture(scope="session")
def paused(world: ScheduledExports) -> Pause:
    """`scheduled` is paused after its first export, and there are records of the minutes to come.

    Asked for early, so that these minutes go by while other tests are at work.
    """
    name = "scheduled"
    world.ended(name, lambda run: run.tasks["export"].state in ENDED)
    world.pause(name)
    # A run that is not over waits, as the tasks of a paused DAG do; what is at work goes on.
    until("no task is at work", lambda: not {"queued", "running"} & world.task_states(name))
    minute = datetime.now(UTC).replace(second=0, microsecond=0)
    for number in PAUSED_MINUTES:
        for partition in (0, 1):
            world.produce(name, partition, lines(10 * number), minute + number * timedelta(minutes=1))
    return Pause(minute, len(world.runs(name)), world.newest(name).seq)


@pytest.fixture(scope="session")
def on_postgresql(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScheduledExports]:
    """Over Debian's PostgreSQL, triggerer included."""
    reason = PostgreSQL.available()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI runs Airflow over PostgreSQL, always. {reason}")
        pytest.skip(reason)
    with PostgreSQL(user="airflow", password="airflow", database="airflow") as database:
        address = f"postgresql+psycopg2://airflow:airflow@{database.address}/airflow"
        with _running(servers, tmp_path_factory.mktemp("postgresql"), ON_POSTGRESQL, address) as world:
            yield world
