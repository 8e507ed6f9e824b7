"""One Airflow for the whole folder: api-server, scheduler and dag-processor over SQLite."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.command import write_properties
from tests.scheduler.world import Api, Gate, Proxy, World, lines, until
from tools.parts.airflow import Airflow
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer, S3Server, VersityGateway

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

# Of one topic, so that they have to write the same objects.
KILLED = ("undisturbed", "killed-task", "killed-supervisor")
MINUTELY = {"rotate.schedule.interval.ms": "60000", "timezone": "UTC"}
CONNECTORS = {
    "scheduled": MINUTELY,
    "manual": {},
    "poisoned": {},
    "doomed": {},
    "homeless": {},
    "cut_off": {"s3.part.retries": "0"},
    "broken": {"flush.size": "many", "s3.compresion.type": "gzip"},
    "backfilled": MINUTELY,
    "ninety_minutes": {"rotate.schedule.interval.ms": "5400000", "timezone": "Europe/Berlin"},
    **{name: {"topics": "scheduler-killed"} for name in KILLED},
}


def _daily() -> dict[str, str]:
    """A day that began about twelve hours ago somewhere on Earth, so that none begins while the tests run."""
    return {"rotate.schedule.interval.ms": "86400000", "timezone": f"Etc/GMT{datetime.now(UTC).hour - 12:+d}"}


def _properties(name: str, more: dict[str, str]) -> dict[str, str]:
    return {
        "name": name,
        "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "tasks.max": "2",
        "topics": f"scheduler-{name}",
        "s3.bucket.name": f"bucket-of-{name}",
        "s3.region": "us-east-1",
        "storage.class": "io.confluent.connect.s3.storage.S3Storage",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        "s3.compression.type": "gzip",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "flush.size": "100",
        **_daily(),
        **more,
    }


def _environment(folder: Path, gate: Gate, store: MotoServer, java_home: str) -> dict[str, str]:
    aws = {
        "conn_type": "aws",
        "login": store.access_key,
        "password": store.secret_key,
        "extra": {"endpoint_url": store.endpoint_url, "region_name": store.region},
    }
    # Other tests' Airflow is configured in this process's environment.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW_", "KAFKA_S3_R"))}
    (folder / "tmp").mkdir()
    return {
        **inherited,
        "PATH": f"{gate.bin}:{BIN}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'jobs'}:{ROOT / 'plugins'}",
        "JAVA_HOME": java_home,
        "TMPDIR": str(folder / "tmp"),
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
        "AIRFLOW_CONN_AWS_DEFAULT": json.dumps(aws),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        "KAFKA_S3_CONNECTORS": str(folder / "connectors"),
        "KAFKA_S3_RETRIES": "9",
        "KAFKA_S3_RETRY_DELAY_S": "1",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "90",  # a dead supervisor is noticed by its silence
    }


@pytest.fixture(scope="session")
def world(
    kafka: KafkaBroker,
    moto: MotoServer,
    versitygw: VersityGateway,
    java_home: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """The connectors, one of them broken, each with a topic of two partitions and, but for one, a bucket.

    `scheduled` has records of the moment the world began, and Airflow may run it; the others are paused. Those of the
    topic `killed` write to versitygw, which can be stopped without stopping anything else.
    """
    folder = tmp_path_factory.mktemp("scheduler")
    connectors = folder / "connectors"
    connectors.mkdir()
    gate = Gate(folder / "gate", BIN / "spark-submit")
    write_properties(connectors / "worker.properties", {"bootstrap.servers": kafka.bootstrap_servers})
    with Proxy(moto.endpoint_url) as proxy:
        topics = {name: _properties(name, more)["topics"] for name, more in CONNECTORS.items()}
        stores: dict[str, S3Server] = {name: versitygw if name in KILLED else moto for name in CONNECTORS}
        for topic in set(topics.values()):
            kafka.create_topic(topic, partitions=2)
        for name, more in CONNECTORS.items():
            if name != "homeless":
                stores[name].create_bucket(f"bucket-of-{name}")
            endpoint = proxy.url if name == "cut_off" else stores[name].endpoint_url
            write_properties(connectors / f"{name}.properties", _properties(name, {"store.url": endpoint, **more}))
        with Airflow(_environment(folder, gate, moto, java_home), triggerer=False) as airflow:
            api = Api(airflow)
            until("the dag-processor is through", lambda: api.get("/dags")["total_entries"] == len(CONNECTORS))
            world = World(connectors, kafka, topics, stores, api, airflow.scheduler.pid, gate, proxy)
            # From here on, so that its minute goes by while other tests are at work.
            world.produce("scheduled", 0, lines(150), world.began)
            world.produce("scheduled", 1, lines(50), world.began)
            with world.unpaused("scheduled"):
                yield world
        proxy.shutdown()
