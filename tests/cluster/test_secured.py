"""All of it together: a real scheduler over PostgreSQL, a broker behind TLS and SCRAM, Spark that authenticates and
encrypts, and two workers with a Python and nothing else, to which the driver brings the engine as an archive."""

from __future__ import annotations

import gzip
import json
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation

from tests.adapters.guarded import GuardedPart
from tests.adapters.test_kafka_logins import TRUST, scram
from tests.cluster import test_bundle
from tests.cluster.installation import spark_conf
from tests.scheduler.harness import Api, until
from tools.parts.airflow import Airflow
from tools.parts.java import find_java
from tools.parts.postgres import PostgreSQL
from tools.parts.process import HOST, child_environment
from tools.parts.s3 import MotoServer
from tools.parts.spark import SparkCluster

archive, bare_python = test_bundle.archive, test_bundle.bare_python
pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(1200)]

ROOT = Path(__file__).resolve().parents[2]
TOPIC, PARTITIONS, RECORDS = "orders", 4, 4_000
USER, PASSWORD = "exporter", "canary-of-scram"


@pytest.fixture(scope="module")
def guarded() -> Iterator[GuardedPart]:
    """The broker, with records that one user may read."""
    with GuardedPart() as broker:
        broker.create_topic(TOPIC, PARTITIONS)
        broker.add_user(USER, PASSWORD)
        broker.allow(USER, TOPIC, AclOperation.READ)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(RECORDS):
            producer.produce(TOPIC, b'{"n":%d}' % number, partition=number % PARTITIONS)
        assert producer.flush(30) == 0
        yield broker


def _environment(folder: Path, conf: Path, database: str, cluster: SparkCluster, **connections: Any) -> dict[str, str]:
    connections["spark_default"] = {"conn_type": "spark", "host": cluster.master_url}
    return {
        **child_environment(),
        **{f"AIRFLOW_CONN_{name.upper()}": json.dumps(given) for name, given in connections.items()},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("jobs", "plugins")),
        "JAVA_HOME": str(find_java().home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_CONF_DIR": str(conf),
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database,
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "KAFKA_S3_CONNECTORS": str(folder / "connectors"),
        "KAFKA_S3_RETRIES": "0",
    }


def test_an_export_where_nobody_trusts_anybody(
    guarded: GuardedPart, moto: MotoServer, bucket_name: str, archive: list[str], bare_python: str, tmp_path: Path
) -> None:
    """A triggered run exports every record once on both workers. No file of theirs, no log of a task and no row of
    Airflow's database has the broker's password or Spark's secret."""
    reason = PostgreSQL.available()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI runs Airflow over PostgreSQL, always. {reason}")
        pytest.skip(reason)
    moto.create_bucket(bucket_name)
    text = test_bundle.CONNECTOR.format(topic=TOPIC, bucket=bucket_name, store=moto, python=bare_python)
    kept = [line for line in text.splitlines() if not line.startswith(("aws.", "tasks.max"))]
    engine = [line for line in archive if "spark.pyspark.python" not in line]
    (tmp_path / "connectors").mkdir()
    connector = tmp_path / "connectors" / "orders.properties"
    connector.write_text("\n".join([*kept, "tasks.max=2", "export.spark.records.min=0", *engine, ""]))
    login = {**TRUST, **scram(USER, PASSWORD), "bootstrap.servers": guarded.at("SCRAM")}
    aws = {"conn_type": "aws", "login": moto.access_key, "password": moto.secret_key}
    spark_secret = secrets.token_hex(16)
    conf = spark_conf(tmp_path, spark_secret)
    with ExitStack() as parts:
        database = parts.enter_context(PostgreSQL(user="airflow", password="airflow", database="airflow"))
        cluster = parts.enter_context(
            SparkCluster(workers=2, cores=1, memory="1g", environment={"SPARK_CONF_DIR": str(conf)})
        )
        address = f"postgresql+psycopg2://airflow:airflow@{database.address}/airflow"
        kafka = {"conn_type": "kafka", "extra": login}
        environment = _environment(tmp_path, conf, address, cluster, kafka_default=kafka, aws_default=aws)
        api = Api(parts.enter_context(Airflow(environment, triggerer=False)))
        until("the DAG is there", lambda: TOPIC in {each["dag_id"] for each in api.get("/dags")["dags"]})
        api.send("PATCH", f"/api/v2/dags/{TOPIC}", {"is_paused": False})
        body = {"dag_run_id": "now", "logical_date": datetime.now(UTC).isoformat(), "conf": {"until": "now"}}
        api.send("POST", f"/api/v2/dags/{TOPIC}/dagRuns", body)
        path = f"/dags/{TOPIC}/dagRuns/now"
        state = until("the run ends", lambda: _ended(api.get(path)["state"]))
        said = "".join(log.read_text() for log in sorted((tmp_path / "airflow" / "logs").rglob("*.log")))
        assert state == "success", said[-5000:]
        (application,) = cluster.master.state()["completedapps"]
        assert (application["state"], application["cores"]) == ("FINISHED", 2)
        for worker in cluster.workers:
            assert list(worker.work.glob("app-*/*/stderr")), "each had an executor"
        dump = database.dump()
        assert f"'{TOPIC}'" in dump
        folders = (tmp_path / "airflow", *(worker.work for worker in cluster.workers))
        files = [file for folder in folders for file in folder.rglob("*") if file.is_file() and file.suffix != ".zip"]
        seen = {str(file): file.read_text(errors="replace") for file in files} | {"database": dump, "logs": said}
    for secret in (PASSWORD, spark_secret):
        assert [place for place, text in seen.items() if secret in text] == []
    bodies = moto.objects(bucket_name, "topics/").values()
    numbers = [json.loads(line)["n"] for each in bodies for line in gzip.decompress(each).splitlines()]
    assert sorted(numbers) == list(range(RECORDS))


def _ended(state: str) -> str | None:
    return state if state in ("success", "failed") else None
