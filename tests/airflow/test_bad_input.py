"""What a person can get wrong, each said in the DAG's description and by its `plan`, while the others go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_s3_airflow.operations import operations_id
from kafka_s3_airflow.reexport import reexport_id
from tests.airflow import test_runs
from tests.airflow.test_integrity import bag_of
from tests.airflow.test_runs import CONNECTOR, EIGHT, MINUTE, NINE, Bench, Run, lines

bench = test_runs.bench

# All of Airflow runs in this process, with warnings of its own; the first run of a task imports for ten seconds.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.heavy]

PLAN_FAILED = {"plan": "failed", "export": "upstream_failed", "complete": "failed"}
WELL = {"plan": "success", "export": "success", "complete": "success"}

#: The DAG of what is wrong with a file: its file, what is appended to a good one, and what is said.
FILES = {
    "broken": ("broken.properties", "flush.size=many\ns3.compresion.type=gzip\n", "flush.size=many"),
    "no_dag_id": ("no dag id.properties", "name=no dag id\n", "must be a valid Airflow DAG id"),
    "one": ("one.properties", "name=twin\n", "name=twin: 2 files have this name"),
    "twin": ("two.properties", "name=twin\n", "name=twin: 2 files have this name"),
}


def say(bench: Bench, dag_id: str, capfd: pytest.CaptureFixture[str]) -> tuple[Run, str]:
    """How a run ended, and what its tasks said."""
    capfd.readouterr()
    bench.name, name = dag_id, bench.name
    run = bench.run(NINE)
    bench.name = name
    return run, capfd.readouterr().out


def test_files(bench: Bench, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A broken file, a name that is not a DAG id, two connectors with one name: each has a DAG that says so and whose
    `plan` fails at once; the good connector beside them runs."""
    folder = bench.folder / "connectors"
    good = CONNECTOR.format(name=bench.name, topic=bench.topic, bucket=bench.bucket)
    for file, extra, _ in FILES.values():
        name = Path(file).stem.replace(" ", "_")
        (folder / file).write_text(good.replace(f"name={bench.name}\n", f"name={name}\n") + extra)
    bag = bag_of(folder, monkeypatch)
    dag_ids = sorted({*bag.dag_ids} - {bench.name, reexport_id(bench.name), operations_id(bench.name)})
    assert len(dag_ids) == len(FILES)
    said = {}
    for dag_id in dag_ids:
        run, said[dag_id] = say(bench, dag_id, capfd)
        assert (run.state, run.tasks, run.tries["plan"]) == ("failed", PLAN_FAILED, 1)
    for file, _, says in FILES.values():
        [found] = [dag_id for dag_id in dag_ids if f"{folder / file} is not a connector that can run" in said[dag_id]]
        assert says in said[found]
        assert says in bag.dags[found].doc_md
    assert bench.run(NINE).tasks == {**WELL, "export": "skipped"}


def test_connections(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    """Connections that the connector names and that are missing, no Kafka anywhere, a Spark connection that is
    missing or would silently mean YARN: `plan` says so at once, a re-export's too, and writes nothing to the bucket."""
    [file] = (bench.folder / "connectors").iterdir()
    good = file.read_text()
    file.write_text(f"{good}export.kafka.conn.id=kafka_nowhere\nexport.aws.conn.id=aws_nowhere\n")
    run, said = say(bench, bench.name, capfd)
    assert (run.tasks, run.tries["plan"]) == (PLAN_FAILED, 1)
    assert "export.kafka.conn.id=kafka_nowhere: is not an Airflow connection" in said
    assert "export.aws.conn.id=aws_nowhere: is not an Airflow connection" in said

    file.write_text(good)
    for variable, value, says in (
        ("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps({"conn_type": "kafka"}), "bootstrap.servers: is required"),
        ("AIRFLOW_CONN_SPARK_DEFAULT", "spark://local[2]", "spark_default is missing or cannot be parsed"),
        ("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "yarn"}), "names YARN"),
    ):
        for dag_id in (bench.name, f"{bench.name}__reexport"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv(variable, value)
                run, said = say(bench, dag_id, capfd)
            assert (run.tasks, run.tries["plan"]) == (PLAN_FAILED, 1), (dag_id, says)
            assert says in said, dag_id
    assert bench.keys("") == []


def test_data_keys_that_another_connector_owns(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    """A second connector over the same topic and folder is refused by its `plan`, with the first one's name and the
    way out; the first one goes on."""
    folder = bench.folder / "connectors"
    (folder / "second.properties").write_text(CONNECTOR.format(name="second", topic=bench.topic, bucket=bench.bucket))
    bench.produce(0, EIGHT + MINUTE, lines(0, 3))
    assert bench.run(NINE).tasks == WELL
    run, said = say(bench, "second", capfd)
    assert (run.tasks, run.tries["plan"]) == (PLAN_FAILED, 1)
    assert f"belongs to connector {bench.name}" in said
    assert "give one of them another topics.dir" in said
    assert bench.run(NINE + MINUTE).tasks == {**WELL, "export": "skipped"}
