"""The DAG that verifies: there where it is asked for, and failing with what it finds, at once and by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.adapters.s3 import S3Store
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry
from kafka_s3.records import Record
from kafka_s3.settings import load
from kafka_s3.settings.variables import Lookups
from tests.airflow.test_integrity import bag_of, dags_of, healthy, write
from tests.support import request
from tools.parts.s3 import MotoServer

ROOT = Path(__file__).resolve().parents[2]
DAILY = "export.verify.schedule=@daily\n"

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_what_the_dag_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One task, one run at a time, no catch-up, at the times of the expression in the connector's time zone; without
    the property there is no such DAG."""
    from airflow.serialization.serialized_objects import DagSerialization

    write(tmp_path, "a.properties", "a")
    write(tmp_path, "b.properties", "b", "export.verify.schedule=30 4 * * mon-fri\ntimezone=Europe/Berlin\n")
    bag = bag_of(tmp_path, monkeypatch)
    assert bag.import_errors == {}
    assert sorted(bag.dag_ids) == ["a", "b", "b__verify"]
    dag = bag.dags["b__verify"]
    assert healthy(dag)
    assert healthy(bag.dags["b"])
    assert (dag.task_ids, dag.max_active_runs, dag.catchup) == (["verify"], 1, False)
    assert dag.task_dict["verify"].max_active_tis_per_dag == 1
    assert (dag.timetable.expression, dag.timetable.timezone.name) == ("30 4 * * mon-fri", "Europe/Berlin")
    again = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
    assert (again.dag_id, list(again.task_dict)) == ("b__verify", ["verify"])


@pytest.mark.parametrize("schedule", ["@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly"])
@pytest.mark.parametrize("zone", ["UTC", "+02:00", "Australia/Lord_Howe", "America/New_York"])
def test_every_preset_in_every_sort_of_zone(tmp_path: Path, schedule: str, zone: str) -> None:
    """Airflow takes and stores them all; a zone that it cannot store or count in becomes UTC, which the DAG says."""
    from airflow.serialization.serialized_objects import DagSerialization

    write(tmp_path, "a.properties", "a", f"export.verify.schedule={schedule}\ntimezone={zone}\n")
    dag = dags_of(tmp_path)["a__verify"]
    assert healthy(dag), dag.doc_md
    DagSerialization.serialize_dag(dag)
    assert f"({dag.timetable.timezone.name})" in dag.doc_md


@pytest.mark.parametrize(
    "expression", ["*/5 * * * *", "0 0 29 2 *", "0 0 31 1,3 sun", "7,8-9/1 0/4 1-31/2 jan-dec/3 7"]
)
def test_what_passes_here_passes_airflow(tmp_path: Path, expression: str) -> None:
    """An expression that is accepted has a next time by Airflow's own reading of it."""
    from croniter import croniter

    write(tmp_path, "a.properties", "a", f"export.verify.schedule={expression}\n")
    assert dags_of(tmp_path)["a__verify"].timetable.expression == expression
    assert croniter(expression).get_next() > 0


@pytest.mark.parametrize(
    "schedule", ["daily", "@once", "@continuous", "* * * *", "61 * * * *", "0 0 30 2 *", "0 0 * * * *", "*/0 * * * *"]
)
def test_a_wrong_schedule_is_a_broken_connector(tmp_path: Path, schedule: str) -> None:
    """What is no schedule is named as a problem of the connector, whose DAG says so; there is no second one."""
    write(tmp_path, "a.properties", "a", f"export.verify.schedule={schedule}\n")
    dags = dags_of(tmp_path)
    assert list(dags) == ["a"]
    assert not healthy(dags["a"])
    assert f"export.verify.schedule={schedule}" in dags["a"].doc_md


def test_no_two_dags_have_one_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connector may not be called like another's second DAG: it is broken, and its DAG takes no id of theirs."""
    write(tmp_path, "a.properties", "a", DAILY)
    write(tmp_path, "a__verify.properties", "a__verify")
    bag = bag_of(tmp_path, monkeypatch)
    assert bag.import_errors == {}
    assert sorted(bag.dag_ids) == ["a", "a__verify", "a__verify-2"]
    assert bag.dags["a__verify"].task_ids == ["verify"]
    assert "must not end with __verify" in bag.dags["a__verify-2"].doc_md
    long = "x" * 245
    write(tmp_path, "long.properties", long, DAILY)
    assert "requires a shorter connector name" in dags_of(tmp_path)[long].doc_md


def test_only_the_dag_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker about to run one of a connector's DAGs builds that one."""
    write(tmp_path, "a.properties", "a", DAILY)
    write(tmp_path, "b.properties", "b", DAILY)
    for dag_id in ("a", "a__verify"):
        monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", dag_id)
        assert list(dags_of(tmp_path)) == [dag_id]


# Run.


class Verified:
    """A connector whose export is in a real store, and its second DAG."""

    def __init__(self, folder: Path, moto: MotoServer, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
        moto.create_bucket(bucket)
        self.client, self.bucket, self.name = moto.client(), bucket, f"c-{bucket}"
        self.path = write(folder, f"{self.name}.properties", self.name, f"s3.bucket.name={bucket}\n{DAILY}")
        text = self.path.read_text().replace("s3.bucket.name=archive\n", "")
        self.path.write_text(text + "s3.part.retries=0\n")
        connection = {
            "conn_type": "aws",
            "login": moto.access_key,
            "password": moto.secret_key,
            "extra": {"endpoint_url": moto.endpoint_url, "region_name": moto.region},
        }
        self.monkeypatch, self.connection = monkeypatch, connection
        monkeypatch.setenv("KAFKA_S3_CONNECTORS", str(folder))
        monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps(connection))
        monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps({"extra": {"bootstrap.servers": "127.0.0.1:9"}}))
        aws = {
            "aws_access_key_id": moto.access_key,
            "aws_secret_access_key": moto.secret_key,
            "endpoint_url": moto.endpoint_url,
        }
        settings = load(self.path, lookups=Lookups(), aws_connection=aws, offline=True).settings
        self.exporter = Exporter(settings, S3Store(settings.s3), MemoryBroker())
        self._export(settings.topics[0])

    def _export(self, topic: str) -> None:
        from kafka_s3.export.task import export_range

        made, broker = self.exporter, self.exporter.broker
        assert isinstance(broker, MemoryBroker)
        broker.create_topic(topic, 1)
        for offset in range(5):
            broker.append(topic, 0, Record(offset, b"%d" % offset))
        run(
            made,
            request(),
            lambda tasks: [export_range(made.settings, task, made.store, broker) for task in tasks],
            lambda _: None,
        )

    def keys(self, prefix: str) -> list[str]:
        return [info.key for info in self.exporter.store.list(prefix)]

    def overwrite(self, key: str, change: Callable[[bytes], bytes]) -> None:
        body = self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        self.client.put_object(Bucket=self.bucket, Key=key, Body=change(body))

    def run(self) -> tuple[str, int, Any]:
        """The state of the task, how many tries it had, and what it returned."""
        from airflow.dag_processing.dagbag import DagBag

        bag = DagBag(str(ROOT / "dags"), collect_dags=True)
        ended = bag.dags[f"{self.name}__verify"].test()
        (instance,) = ended.get_task_instances()
        return str(instance.state), instance.try_number, instance.xcom_pull(task_ids="verify")


@pytest.fixture
def verified(
    airflow_db: None, moto: MotoServer, bucket_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Verified:
    return Verified(tmp_path, moto, bucket_name, monkeypatch)


@pytest.mark.heavy  # the first run of a task imports for ten seconds
def test_a_good_export_passes_and_a_tampered_one_fails_at_once(
    verified: Verified, caplog: pytest.LogCaptureFixture
) -> None:
    """The counts are what the task returns. An object that was changed fails it in its first try, and the log names
    the object, what was expected and what to do."""
    state, tries, counts = verified.run()
    assert (state, tries) == ("success", 1)
    assert (counts["entries"], counts["records"], counts["objects"], counts["findings"]) == (2, 5, 1, 0)
    [key] = verified.keys("topics/")
    verified.overwrite(key, lambda body: body.replace(b"0", b"7"))
    state, tries, _ = verified.run()
    assert (state, tries) == ("failed", 1)
    assert f"WRONG {key}: expected sha256" in caplog.text
    assert "Restore the object" in caplog.text


@pytest.mark.heavy
def test_an_edited_log_fails(verified: Verified, caplog: pytest.LogCaptureFixture) -> None:
    """An entry edited together with its own checksum is found by the one that follows."""
    import msgspec

    oldest = verified.exporter.log.layout.log_key(0)
    verified.overwrite(
        oldest, lambda body: encode(msgspec.structs.replace(decode(Entry, oldest, body), run_id="somebody else"))
    )
    assert verified.run()[:2] == ("failed", 1)
    assert "which entry 1 names" in caplog.text


@pytest.mark.heavy
def test_a_store_that_is_out_is_tried_again(verified: Verified) -> None:
    """Nothing is wrong with the data where nobody answers: the task has its retries."""
    away = {**verified.connection, "extra": {"endpoint_url": "http://127.0.0.1:9", "region_name": "us-east-1"}}
    verified.monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps(away))
    state, tries, _ = verified.run()
    assert (state, tries) == ("failed", 2)  # KAFKA_S3_RETRIES is 1 here
