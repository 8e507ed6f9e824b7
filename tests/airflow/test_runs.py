"""Whole runs, by `dag.test()`: the real broker, a real S3 API, the real Spark in local[2]."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer

ROOT = Path(__file__).resolve().parents[2]
EIGHT = datetime(2026, 11, 20, 8, tzinfo=UTC)
NINE, TEN, ELEVEN = (EIGHT + timedelta(hours=n) for n in (1, 2, 3))
MINUTE = timedelta(minutes=1)
CANARY = "canary-7f3a9c"

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")

CONNECTOR = """\
name={name}
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
flush.size=100
export.spark.records.min=0
aws.access.key.id=AKIDEXAMPLE
aws.secret.access.key=${{secrets:store-secret}}
"""


@dataclass
class Run:
    """How a DAG run ended."""

    state: str
    tasks: dict[str, str]
    tries: dict[str, int]
    run_id: str


@dataclass
class Bench:
    """A connector over a topic and a bucket of its own, and the DAG that Airflow makes of it."""

    name: str
    topic: str
    bucket: str
    broker: KafkaBroker
    store: MotoServer
    folder: Path
    monkeypatch: pytest.MonkeyPatch
    submits: Path = field(init=False)

    def __post_init__(self) -> None:
        self.submits = self.folder / "submits"

    def produce(self, partition: int, at: datetime, values: list[bytes]) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers})
        for number, value in enumerate(values):
            stamp = int(at.timestamp() * 1000) + number
            producer.produce(self.topic, value=value, partition=partition, timestamp=stamp)
        assert producer.flush(30) == 0

    def run(self, at: datetime | None, conf: dict[str, Any] | None = None) -> Run:
        """A manual run at that time: it has the last complete hour before it as its data interval."""
        from airflow.dag_processing.dagbag import DagBag

        bag = DagBag(str(ROOT / "dags"), collect_dags=True)
        assert bag.import_errors == {}
        ended = bag.dags[self.name].test(logical_date=at, run_conf=conf)
        instances = ended.get_task_instances()
        return Run(
            str(ended.state),
            {each.task_id: str(each.state) for each in instances},
            {each.task_id: each.try_number for each in instances},
            ended.run_id,
        )

    def keys(self, prefix: str) -> list[str]:
        listed = self.store.client().list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        return [each["Key"] for each in listed.get("Contents", [])]

    def values(self) -> list[Any]:
        found = []
        for key in self.keys("topics/"):
            body = self.store.client().get_object(Bucket=self.bucket, Key=key)["Body"].read()
            found += [json.loads(line) for line in gzip.decompress(body).splitlines()]
        return sorted(found)

    def starts_of_spark(self) -> int:
        return len(self.submits.read_text().splitlines()) if self.submits.exists() else 0

    def events(self, run_id: str, topic: str | None = None) -> list[tuple[str, dict[str, Any]]]:
        """The events of a run in order: those of the connector's asset, or of one topic's."""
        from airflow.models.asset import AssetEvent
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            uri = f"x-kafka-s3://{self.name}" if topic is None else f"x-kafka-s3://{self.name}/{topic}"
            of_run = (AssetEvent.source_run_id == run_id, AssetEvent.asset.has(uri=uri))
            stored = session.scalars(select(AssetEvent).where(*of_run)).all()
            return [(str(each.source_task_id), each.extra) for each in sorted(stored, key=lambda each: each.id)]


@pytest.fixture
def bench(
    airflow_db: None,
    kafka: KafkaBroker,
    moto: MotoServer,
    java_home: str,
    topic_name: str,
    bucket_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Bench:
    connectors = tmp_path / "connectors"
    connectors.mkdir()
    kafka.create_topic(topic_name, partitions=2)
    moto.create_bucket(bucket_name)
    name = topic_name.replace("topic", "connector")
    (connectors / f"{name}.properties").write_text(CONNECTOR.format(name=name, topic=topic_name, bucket=bucket_name))
    bench = Bench(name, topic_name, bucket_name, kafka, moto, tmp_path, monkeypatch)
    # A spark-submit that leaves a mark before it becomes the real one.
    real = Path(sys.executable).parent / "spark-submit"
    wrapper = tmp_path / "bin" / "spark-submit"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {bench.submits}\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    environment = {
        "KAFKA_S3_CONNECTORS": str(connectors),
        "PATH": f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}",
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps(
            {"conn_type": "kafka", "extra": {"bootstrap.servers": kafka.bootstrap_servers, "client.id": "exporter"}}
        ),
        "AIRFLOW_CONN_AWS_DEFAULT": json.dumps(
            {
                "conn_type": "aws",
                "login": moto.access_key,
                "password": moto.secret_key,
                "extra": {"endpoint_url": moto.endpoint_url, "region_name": moto.region},
            }
        ),
        "AIRFLOW_VAR_STORE-SECRET": CANARY,
        "TMPDIR": str(tmp_path),
    }
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr("tempfile.tempdir", None)
    return bench


def lines(first: int, count: int) -> list[bytes]:
    return [json.dumps(number).encode() for number in range(first, first + count)]


@pytest.mark.heavy
def test_hours(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    """An hour is exported once and announced once; an hour with nothing new starts no JVM and completes; a bad record
    fails the run at once, what precedes it is committed, and is announced by the next run."""
    bench.produce(0, EIGHT + MINUTE, lines(0, 150))
    bench.produce(1, EIGHT + MINUTE, lines(150, 50))
    bench.produce(0, NINE + MINUTE, lines(200, 10))

    first = bench.run(NINE)
    assert first.tasks == {"plan": "success", "export": "success", "complete": "success"}
    assert first.state == "success"
    assert bench.values() == list(range(200)), "the records of the hour that ended, no later ones"
    assert bench.starts_of_spark() == 1
    announced = bench.events(first.run_id)
    assert [(task, event["kind"]) for task, event in announced] == [("complete", "commit")]
    commit = announced[0][1]
    assert [entry["seq"] for entry in commit["entries"]] == [0, 1]
    assert (commit["seq"], commit["records"], commit["bucket"]) == (1, 200, bench.bucket)
    assert commit["offsets"] == {bench.topic: {"0": [0, 150], "1": [0, 50]}}
    assert commit["keys"] == bench.keys("topics/")
    assert len(bench.keys(f"_kafka_s3/{bench.name}/announced/")) == 2
    assert not list(bench.folder.glob("kafka-s3-spark-*")), "Spark's own folder is removed"

    said = capfd.readouterr().out
    empty = bench.run(NINE + MINUTE)  # the same hour again, by another run
    assert empty.tasks == {"plan": "success", "export": "skipped", "complete": "success"}
    assert empty.state == "success"
    assert bench.starts_of_spark() == 1
    assert bench.events(empty.run_id) == []

    bench.produce(1, NINE + MINUTE, [*lines(210, 5), b"{not json", *lines(215, 5)])
    poisoned = bench.run(TEN)
    assert poisoned.tasks == {"plan": "success", "export": "failed", "complete": "failed"}
    assert poisoned.state == "failed"
    assert poisoned.tries["export"] == 1, "a retry would meet the same record"
    assert bench.values() == list(range(215))
    said += capfd.readouterr().out
    assert f"AirflowFailException: A bad record at topic {bench.topic} partition 1 offset 55: " in said
    assert bench.events(poisoned.run_id) == []
    assert len(bench.keys(f"_kafka_s3/{bench.name}/announced/")) == 2, "no marker without an event"

    again = bench.run(ELEVEN)
    assert again.tasks["export"] == "failed"
    assert [(task, event["records"]) for task, event in bench.events(again.run_id)] == [("plan", 15)]
    assert len(bench.keys(f"_kafka_s3/{bench.name}/announced/")) == 3
    assert CANARY not in bench.submits.read_text()
    assert bench.store.secret_key not in bench.submits.read_text()
    said += capfd.readouterr().out
    assert "Spark-Submit cmd" in said
    assert CANARY not in said
    assert bench.store.secret_key not in said
    stored = [path for path in Path(os.environ["AIRFLOW_HOME"]).rglob("*") if path.is_file()]
    assert "airflow.db" in [path.name for path in stored]
    assert not [path for path in stored if CANARY.encode() in path.read_bytes()]


@pytest.mark.heavy
def test_an_interval_that_cron_cannot_say(bench: Bench) -> None:
    """`dags test` of a connector with 90 minutes exports the last complete 90 minutes, counted from local midnight."""
    [file] = (bench.folder / "connectors").iterdir()
    file.write_text(file.read_text() + "rotate.schedule.interval.ms=5400000\ntimezone=Asia/Kolkata\n")
    # 13:30 to 15:00 in Kolkata is 8:00 to 9:30 in UTC.
    interval_ms = [int((EIGHT + minutes * MINUTE).timestamp() * 1000) for minutes in (0, 90)]
    bench.produce(0, EIGHT - MINUTE, lines(0, 10))
    bench.produce(0, EIGHT + MINUTE, lines(10, 20))
    bench.produce(0, NINE + 31 * MINUTE, lines(30, 5))
    first = bench.run(EIGHT + 89 * MINUTE)
    assert (first.state, bench.values()) == ("success", list(range(10)))
    second = bench.run(NINE + 59 * MINUTE)
    assert (second.state, bench.values()) == ("success", list(range(30)))
    assert [event["interval_ms"] for _, event in bench.events(second.run_id)] == [interval_ms]


@pytest.mark.scheduler  # starts Airflow from nothing, twice
def test_resume_without_airflows_state(bench: Bench) -> None:
    """The bucket is the only state: with Airflow's home and database gone, the next run goes on where it was.

    By the commands that a user runs, in processes of their own.
    """
    home = bench.folder / "home"
    bench.produce(0, EIGHT + MINUTE, lines(0, 30))

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "AIRFLOW_HOME": str(home)}
        environment.pop("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", None)
        airflow = [sys.executable, "-m", "airflow", *arguments]
        return subprocess.run(airflow, env=environment, capture_output=True, text=True, check=False, cwd=bench.folder)

    for hour in (NINE, TEN):
        shutil.rmtree(home, ignore_errors=True)
        migrated = command("db", "migrate")
        assert migrated.returncode == 0, migrated.stderr[-3000:]
        done = command("dags", "test", bench.name, hour.isoformat())
        assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
        assert CANARY not in done.stdout + done.stderr
        assert bench.store.secret_key not in done.stdout + done.stderr
        bench.produce(0, NINE + MINUTE, lines(30, 30) if hour == NINE else [])
    assert bench.values() == list(range(60))
    assert [key.rpartition("/")[2] for key in bench.keys("topics/")] == [
        f"{bench.topic}+0+0000000000.json.gz",
        f"{bench.topic}+0+0000000030.json.gz",
    ]


@pytest.mark.heavy
def test_until_now_and_a_topic_that_is_another(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    """`until: now` exports what can be read, whatever the data interval. A topic that was deleted and created again
    is left out, and the run fails with the reason although there is nothing else to do."""
    bench.produce(0, datetime.now(UTC) - MINUTE, lines(0, 3))
    assert bench.run(NINE, {"until": "now"}).state == "success"
    assert bench.values() == [0, 1, 2]
    bench.broker.delete_topic(bench.topic)
    bench.broker.create_topic(bench.topic, partitions=2)
    run = bench.run(NINE, {"until": "now"})
    assert run.state == "failed"
    assert run.tasks == {"plan": "failed", "export": "upstream_failed", "complete": "failed"}
    assert run.tries["plan"] == 1
    assert f"topic {bench.topic} was deleted and created again" in capfd.readouterr().out
    assert bench.starts_of_spark() == 1


def sample_connection(bench: Bench) -> None:
    sample = {"conn_type": "spark", "host": "yarn", "extra": {"queue": "root.default"}}
    bench.monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(sample))


def no_host(bench: Bench) -> None:
    bench.monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark"}))


def cluster(bench: Bench) -> None:
    connection = {"conn_type": "spark", "host": "spark://127.0.0.1:7077", "extra": {"deploy-mode": "cluster"}}
    bench.monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (sample_connection, "names YARN (as Airflow's own sample does)"),
        (no_host, "airflow connections add spark_default"),
        (cluster, "Use client mode"),
    ],
)
def test_wrong_connections(
    bench: Bench, capfd: pytest.CaptureFixture[str], break_it: Callable[[Bench], None], says: str
) -> None:
    """A Spark connection that is missing or cannot work fails `plan` at once, with what to do, instead of going to
    YARN; nothing is written to the bucket."""
    bench.produce(0, EIGHT + MINUTE, lines(0, 3))
    break_it(bench)
    run = bench.run(NINE)
    assert run.tasks == {"plan": "failed", "export": "upstream_failed", "complete": "failed"}
    assert (run.state, run.tries["plan"]) == ("failed", 1)
    assert says in capfd.readouterr().out
    assert bench.keys("") == []
    assert bench.starts_of_spark() == 0
