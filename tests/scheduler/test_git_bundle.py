"""An Airflow of teams, whose DAGs and connectors come from a git repository: a message in Kafka starts an export."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.house.pages import blocks, page
from tests.scheduler.harness import ENDED, Api, until
from tests.support import entries_of
from tools.parts.airflow import Airflow, AirflowProcess
from tools.parts.kafka import KafkaBroker
from tools.parts.process import child_environment
from tools.parts.s3 import MotoServer

pytestmark = [pytest.mark.scheduler, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
TEAM, DAG = "exports", "orders_on_message"
BUNDLE = "airflow.providers.git.bundles.git.GitDagBundle"
CONNECTOR = """\
name=orders
connector.class=io.confluent.connect.s3.S3SinkConnector
tasks.max=2
topics={topic}
s3.bucket.name={bucket}
s3.region=us-east-1
storage.class=io.confluent.connect.s3.storage.S3Storage
format.class=io.confluent.connect.s3.format.json.JsonFormat
s3.compression.type=gzip
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
flush.size={flush_size}
"""


EXPORTERS = """
from pathlib import Path
from kafka_s3_airflow import dags_of
globals().update(dags_of(Path(__file__).parent / "connectors"))
"""
#: Of the page: each in a team.
USERS = {"ann": f"viewer:{TEAM}", "bob": "viewer:others"}


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.com")
    run = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return run.stdout.strip()


class Repository:
    """A bare repository, and the clone of somebody who pushes to it."""

    def __init__(self, folder: Path) -> None:
        self.url, self.clone = folder / "bare.git", folder / "clone"
        folder.mkdir()
        git(folder, "init", "--bare", "--initial-branch=main", str(self.url))
        git(folder, "clone", str(self.url), str(self.clone))
        git(self.clone, "checkout", "-b", "main")

    def push(self, files: dict[str, str]) -> str:
        """The commit of these files."""
        for name, text in files.items():
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            (self.clone / name).write_text(text)
        git(self.clone, "add", ".")
        git(self.clone, "commit", "--message", "Change what is exported")
        git(self.clone, "push", "origin", "main")
        return git(self.clone, "rev-parse", "HEAD")


@dataclass
class TeamOfExports:
    """A running Airflow, the team's repository, its topics and its bucket."""

    api: Api
    repository: Repository
    kafka: KafkaBroker
    store: MotoServer
    topic: str
    bucket: str
    users: Mapping[str, Api]
    triggerer: AirflowProcess

    def produce(self, topic: str, values: range) -> None:
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap_servers})
        for value in values:
            producer.produce(topic, b"%d" % value)
        assert producer.flush(30) == 0

    def ended(self, count: int) -> list[dict[str, Any]]:
        """The runs, once there are so many that have ended, the oldest first."""

        def look() -> list[dict[str, Any]] | None:
            runs: list[dict[str, Any]] = self.api.get(f"/dags/{DAG}/dagRuns", order_by="id")["dag_runs"]
            return runs if len(runs) >= count and all(run["state"] in ENDED for run in runs) else None

        return until(f"{count} runs have ended", look, or_say=self.triggerer.log_tail)

    def exported(self) -> Counter[int]:
        found = self.store.objects(self.bucket, "topics/").values()
        return Counter(json.loads(line) for body in found for line in gzip.decompress(body).splitlines())


def _variables(folder: Path, repository: Repository, kafka: KafkaBroker, store: MotoServer) -> dict[str, str]:
    """Only the team has connections: another one's tasks would find none. Its triggerer looks for those of nobody's."""
    servers = {"bootstrap.servers": kafka.bootstrap_servers}
    waits = {"group.id": f"{folder.name}-messages", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    aws = {"endpoint_url": store.endpoint_url, "region_name": store.region}
    connections = {
        "kafka_default": {"conn_type": "kafka", "extra": servers},
        "aws_default": {"conn_type": "aws", "login": store.access_key, "password": store.secret_key, "extra": aws},
        "spark_default": {"conn_type": "spark", "host": "local[2]"},
    }
    bundle = {
        "name": "of-git",
        "classpath": BUNDLE,
        "kwargs": {"repo_url": str(repository.url), "tracking_ref": "main", "refresh_interval": 5},
        "team_name": TEAM,
    }
    return {
        **child_environment(PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}"),
        **{f"AIRFLOW_CONN__{TEAM.upper()}___{name.upper()}": json.dumps(made) for name, made in connections.items()},
        "AIRFLOW_CONN_KAFKA_MESSAGES": json.dumps({"conn_type": "kafka", "extra": servers | waits}),
        "PYTHONPATH": f"{ROOT / 'jobs'}:{ROOT / 'plugins'}",
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__MULTI_TEAM": "True",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps([bundle]),
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_STORAGE_PATH": str(folder / "bundles"),
        "AIRFLOW__DAG_PROCESSOR__BUNDLE_REFRESH_CHECK_INTERVAL": "2",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "10",  # an unpaused DAG waits from its next parse on
        "KAFKA_S3_RETRIES": "0",
    }


@pytest.fixture
def team(
    kafka: KafkaBroker, moto: MotoServer, topic_name: str, bucket_name: str, tmp_path: Path
) -> Iterator[TeamOfExports]:
    if os.environ.get("CI") != "true":
        pytest.importorskip("airflow.providers.git", reason="make setup installs it")
    kafka.create_topic(topic_name, 2)
    kafka.create_topic(f"{topic_name}-complete", 1)
    moto.create_bucket(bucket_name)
    repository = Repository(tmp_path / "git")
    [code] = blocks(page("how-to/schedules.md"), "python")
    repository.push(
        {
            "on_message.py": code.replace('topics=["orders-complete"]', f'topics=["{topic_name}-complete"]'),
            "exporters.py": EXPORTERS,
            "connectors/orders.properties": CONNECTOR.format(topic=topic_name, bucket=bucket_name, flush_size=100),
        }
    )
    variables = _variables(tmp_path, repository, kafka, moto)
    for command in (["db", "migrate"], ["teams", "create", TEAM], ["teams", "create", "others"]):
        run = subprocess.run([BIN / "airflow", *command], env=variables, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr
    with Airflow(variables, triggerer=False, others=USERS) as airflow:
        # The watchers of a team are its own triggerer's.
        waits = ("triggerer", "--skip-serve-logs", "--team-name", TEAM)
        with AirflowProcess("triggerer", airflow.environment, *waits) as triggerer:
            api = Api(airflow)
            until("the DAGs are there", lambda: len(api.get("/dags", limit=10)["dags"]) > 1)
            users = {
                name: Api(SimpleNamespace(url=airflow.url, user=name, password=airflow.password)) for name in USERS
            }
            yield TeamOfExports(api, repository, kafka, moto, topic_name, bucket_name, users, triggerer)


def test_a_message_starts_an_export(team: TeamOfExports) -> None:
    """The DAG of the page runs once for a message, and exports what was there, from the repository's checkout and with
    the team's connections. After a push, the next message's run is of the new commit, connector and all."""
    first = git(team.repository.clone, "rev-parse", "HEAD")
    team.api.send("PATCH", f"/api/v2/dags/{DAG}", {"is_paused": False})
    team.produce(team.topic, range(250))
    assert team.api.get(f"/dags/{DAG}/dagRuns")["dag_runs"] == []
    team.produce(f"{team.topic}-complete", range(1))
    (run,) = team.ended(1)
    tasks = team.api.get(f"/dags/{DAG}/dagRuns/{run['dag_run_id']}/taskInstances")["task_instances"]
    assert (run["state"], run["run_type"]) == ("success", "asset_triggered"), [
        (each["task_id"], each["state"]) for each in tasks
    ]
    assert [each["bundle_version"] for each in run["dag_versions"]] == [first]
    assert {each["pool"] for each in tasks if each["task_id"] == "orders.export"} == {"kafka_s3"}
    assert team.exported() == Counter(range(250))

    text = CONNECTOR.format(topic=team.topic, bucket=team.bucket, flush_size=25)
    second = team.repository.push({"connectors/orders.properties": text})
    until(
        "the push is seen",
        lambda: team.api.get(f"/dags/{DAG}/details")["bundle_version"] == second,
    )
    team.produce(team.topic, range(250, 350))
    team.produce(f"{team.topic}-complete", range(1))
    _, run = team.ended(2)
    assert run["state"] == "success"
    assert [each["bundle_version"] for each in run["dag_versions"]] == [second]
    assert team.exported() == Counter(range(350))
    entry = entries_of(team.store, team.bucket, "orders")[-1]
    assert max(each.records for done in entry.ranges for each in done.objects) == 25

    # Where it has the dag-processor's checkout, the page shows it: to the team.
    shown = {name: api.send("GET", "/kafka-s3/api/connectors")["connectors"] for name, api in team.users.items()}
    assert {name: [each["dag_id"] for each in found] for name, found in shown.items()} == {"ann": ["orders"], "bob": []}
