"""One task for the alarms of all connectors: under Airflow, on real Kafka and S3."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_s3_airflow.alarm_dag import SILENCES
from kafka_s3_airflow.alarm_looks import AlarmKind, look_at_all
from kafka_s3_airflow.alarms import Bounds, files_in
from kafka_s3_airflow.dags import connectors_in
from tests.airflow.test_alarms import EXAMPLE, HOUR, ROOT, SECRET, Alarms
from tests.airflow.test_alarms import alarms as alarms
from tests.airflow.test_integrity import serialized, write
from tools.parts.s3 import MotoServer

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")
EXPORTERS = ROOT / "dags" / "exporters.py"
ALL = Bounds(lag_records_max=100, lag_max=3 * HOUR, loss_within=24 * HOUR, overdue_max=HOUR, rejected_max=0.01)


def bag(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from airflow.dag_processing.dagbag import DagBag

    monkeypatch.setenv("KAFKA_S3_CONNECTORS", str(folder))
    found = DagBag(str(file), collect_dags=True)
    assert found.import_errors == {}
    return found


def example(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return bag(EXAMPLE, folder, monkeypatch).dags["kafka_s3_alarms"]


MINE = """
from kafka_s3_airflow.alarm_dag import alarms_dag
from tests.airflow.test_alarm_dag import ALL, TOLD

dag = alarms_dag({folder!r}, ALL, notifiers=TOLD, dag_id="mine", default_args={{"retries": 0}})
"""


def mine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A DAG file as users write it, with a notifier that the test sees."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import sync_bag_to_db

    (folder / "mine").mkdir()
    (folder / "mine" / "alarms.py").write_text(MINE.format(folder=str(folder)))
    found = bag(folder / "mine" / "alarms.py", folder, monkeypatch)
    DagBundlesManager().sync_bundles_to_db()
    sync_bag_to_db(found, "dags-folder", None)
    return found.dags["mine"]


class Told:
    """A notifier that remembers what it was told, and fails while it is told to."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.is_down = False

    def __call__(self, context: Any) -> None:
        if self.is_down:
            raise ConnectionError(SECRET)
        self.messages.append(context["alarm"].message)

    def take(self) -> list[str]:
        taken, self.messages[:] = sorted(self.messages), []
        return taken


TOLD = Told()


@pytest.fixture
def told(airflow_db: None) -> Told:
    """A notifier that was told nothing, and no run of the DAG `mine` that remembers anything."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import delete

    with create_session() as session:
        session.execute(delete(DagRun).where(DagRun.dag_id == "mine"))
    TOLD.is_down = False
    TOLD.take()
    return TOLD


def state(dag: Any) -> str:
    [instance] = dag.test().get_task_instances()
    return str(instance.state)


def kinds_of(messages: list[str], name: str) -> list[str]:
    """The kinds of alarms about one connector, those that are over with a minus."""
    about = [each.removeprefix(f"{name}: ") for each in messages if each.startswith(f"{name}: ")]
    return [("-" if "RESOLVED" in each else "") + each.partition(":")[0] for each in about]


def test_the_example_is_a_dag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One task, however many connectors; it can be stored, and twice as the same."""
    write(tmp_path, "a.properties", "a")
    write(tmp_path, "b.properties", "b", "flush.size=none\n")
    assert files_in(tmp_path) == [str(tmp_path / "a.properties")]
    dag = example(tmp_path, monkeypatch)
    dag.validate()
    assert dag.task_ids == ["alarms"]
    assert (dag.catchup, dag.max_active_runs) == (False, 1)
    assert serialized(dag) == serialized(example(tmp_path, monkeypatch))
    assert " at 0x" not in serialized(dag)


@pytest.mark.heavy  # the first run of a task imports for ten seconds
def test_the_example_finds_what_is_wrong_and_nothing_else(
    alarms: Alarms, topic_name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of three connectors one is well, one broken, and one lags, is about to lose data, is late and rejected half."""
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com/")
    well, bad = alarms.connector(f"{topic_name}-well"), alarms.connector(f"{topic_name}-bad")
    write(alarms.folder, "broken.properties", "broken", "flush.size=none\n")
    for each in (well, bad):
        each.produce(b'{"n": 1}')
    bad.produce(b"{no JSON")
    for each in (well, bad):
        each.export()
    bad.produce(b'{"n": 2}', age=5 * HOUR)
    assert state(example(alarms.folder, monkeypatch)) == "failed"
    logged = capsys.readouterr().out
    for kind in ("lag", "loss", "late", "rejected"):
        assert f"ALARM {bad.path.stem}: {kind}: " in logged
    assert "ALARM broken: broken: " in logged
    assert f"ALARM {well.path.stem}" not in logged
    assert "the oldest waiting record is 5 h" in logged
    assert "within 1 d" in logged
    assert "50.00% of the records" in logged
    assert f"https://airflow.example.com/kafka-s3/?dag_id={bad.path.stem}" in logged
    assert SECRET not in logged


@pytest.mark.heavy
def test_each_alarm_is_told_once_and_so_is_its_end(
    alarms: Alarms, told: Told, topic_name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was told is remembered from run to run; a silence is kept; a notifier that fails is tried again."""
    connector = alarms.connector(topic_name)
    connector.produce(b'{"n": 1}')
    connector.export()
    connector.produce(b'{"n": 2}', age=5 * HOUR)
    dag = mine(alarms.folder, monkeypatch)
    told.is_down = True
    assert state(dag) == "failed"
    assert "was not told by the notifier Told (ConnectionError)" in capsys.readouterr().out
    told.is_down = False
    later = (datetime.now(UTC) + HOUR).isoformat()
    monkeypatch.setenv(f"AIRFLOW_VAR_{SILENCES.upper()}", json.dumps({f"{topic_name}:late": later}))
    assert state(dag) == "failed"
    assert kinds_of(told.take(), topic_name) == ["lag", "loss"]
    assert state(dag) == "failed"
    assert told.take() == []
    monkeypatch.delenv(f"AIRFLOW_VAR_{SILENCES.upper()}")
    assert state(dag) == "failed"
    assert kinds_of(told.take(), topic_name) == ["late"]
    connector.export("run 2")
    assert state(dag) == "success"
    assert kinds_of(told.take(), topic_name) == ["-lag", "-late", "-loss"]
    assert state(dag) == "success"
    assert told.take() == []


@pytest.mark.heavy
def test_a_failed_run_and_a_failed_verification(
    alarms: Alarms, told: Told, topic_name: str, moto: MotoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what Airflow tells a task of other DAGs' runs: the newest that ended counts, and a success ends the alarm."""
    monkeypatch.setenv("KAFKA_S3_RETRIES", "0")
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com")
    connector = alarms.connector(topic_name)
    with connector.path.open("a") as file:
        file.write("export.verify.schedule=30 3 * * *\n")
    connector.produce(b'{"n": 1}')
    connector.export()
    dag = mine(alarms.folder, monkeypatch)
    assert state(dag) == "success"
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark"}))  # without a host: plan fails
    dags = bag(EXPORTERS, alarms.folder, monkeypatch).dags
    dags[topic_name].test()
    [gone] = moto.keys(alarms.bucket, "topics/")
    moto.client().delete_object(Bucket=alarms.bucket, Key=gone)
    dags[f"{topic_name}__verify"].test()
    assert state(dag) == "failed"
    messages = told.take()
    assert kinds_of(messages, topic_name) == ["failed", "verify"]
    assert f"https://airflow.example.com/dags/{topic_name}/runs/manual" in messages[0]
    assert f"https://airflow.example.com/dags/{topic_name}__verify/runs/manual" in messages[1]


@pytest.mark.heavy
def test_one_that_hangs_hides_no_other(alarms: Alarms, topic_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket that takes connections and never answers, and a broker that is down, are alarms beside the others."""
    well, hung, down = (alarms.connector(f"{topic_name}-{each}") for each in ("well", "hung", "down"))
    well.produce(b'{"n": 1}', age=5 * HOUR)
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": "127.0.0.1:9"}}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DOWN", json.dumps(kafka))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = {"endpoint_url": f"http://127.0.0.1:{silent.getsockname()[1]}", "region_name": "us-east-1"}
        aws = {"conn_type": "aws", "login": "a", "password": SECRET, "extra": store}
        monkeypatch.setenv("AIRFLOW_CONN_AWS_HUNG", json.dumps(aws))
        for each, line in ((hung, "export.aws.conn.id=aws_hung\n"), (down, "export.kafka.conn.id=kafka_down\n")):
            with each.path.open("a") as file:
                file.write(line)
        looks = look_at_all(connectors_in(alarms.folder), lambda _: ALL, deadline_s=20, pause=lambda: None)
    assert AlarmKind.LAG in looks[well.path.stem].alarms
    assert set(looks[hung.path.stem].alarms) == {AlarmKind.UNSEEN}
    assert "longer than 20 s" in looks[hung.path.stem].alarms[AlarmKind.UNSEEN]
    assert set(looks[down.path.stem].alarms) == {AlarmKind.KAFKA}
    assert AlarmKind.LAG not in looks[down.path.stem].judged
    assert SECRET not in str(looks)


@pytest.mark.heavy  # a broker that is down is believed to be after ten seconds
def test_a_broker_that_comes_back_raises_no_alarm(
    alarms: Alarms, topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What did not answer is asked once more before anybody is told."""
    alarms.connector(topic_name)
    alarms.connect("127.0.0.1:9")
    pauses: list[str] = []

    def come_back() -> None:
        pauses.append("one")
        alarms.connect(alarms.kafka.bootstrap_servers)

    looks = look_at_all(connectors_in(alarms.folder), lambda _: ALL, pause=come_back)
    assert pauses == ["one"]
    assert looks[topic_name].alarms == {}
    assert AlarmKind.KAFKA in looks[topic_name].judged
