"""What is paid whatever the number of records: `plan` of a run with nothing new, and the parse of many connectors.

Each figure is that of a fresh process, beyond what Airflow alone costs in it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from bench.measure import CommandFailed
from bench.output import console, spread
from bench.records import BASE_MS, PARTITIONS, produce, values
from kafka_s3.events import Event
from kafka_s3.export.run import run
from kafka_s3.plan.batch import RunRequest
from kafka_s3.publish.announce import mark
from kafka_s3.settings import Lookups, load, read_text
from kafka_s3.wiring import make_exporter, make_local_execute
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer, S3Server, VersityGateway

REPOSITORY = Path(__file__).resolve().parents[1]
CONNECTORS = 200
COMMITS = 5  # that are there before the plan that is measured

_PLAN = """
import sys, time
import airflow.sdk, airflow.sdk.execution_time.task_runner, airflow.providers.apache.spark.operators.spark_submit
from airflow.sdk.execution_time.context import set_current_context
from types import SimpleNamespace

began, worked = time.perf_counter(), time.process_time()
from kafka_s3_airflow import tasks

run = SimpleNamespace(data_interval_start=None, data_interval_end=None, conf={})
context = {"run_id": "bench", "ti": SimpleNamespace(try_number=1), "dag_run": run, "params": {"until": "now"}}
context |= {"task": SimpleNamespace(task_id="plan", outlets=[]), "dag": SimpleNamespace(params={})}
with set_current_context(context):
    assert tasks.plan(sys.argv[1]) is False, "something is new"
print("measured", time.perf_counter() - began, time.process_time() - worked)
"""

_PARSE = """
import sys, time
from airflow.dag_processing.dagbag import DagBag

began, worked = time.perf_counter(), time.process_time()
bag = DagBag(sys.argv[1])
took = time.perf_counter() - began, time.process_time() - worked
assert bag.import_errors == {}, bag.import_errors
assert not [dag for dag in bag.dags.values() if "broken" in dag.tags], "a connector is wrong"
print("measured", *took, len(bag.dags), sum(len(dag.tasks) for dag in bag.dags.values()))
"""


def fixed(kafka: KafkaBroker, repetitions: int) -> None:
    """Print the table."""
    table = Table("fixed cost", "s", "CPU s", "goal, s")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environment = _environment(home)
        with _store() as store:
            found = _plans(kafka, store, home, environment, repetitions)
        table.add_row("plan of a run with nothing new", *_columns(found), "2")
        parsed, empty, said = _parses(home, environment, repetitions)
        beyond = [
            [ours - airflows for ours, airflows in zip(*pair, strict=True)] for pair in zip(parsed, empty, strict=True)
        ]
        table.add_row(f"parse of {CONNECTORS} connectors ({said})", *_columns(beyond), "3")
        table.add_row("parse of an empty folder, not in the line above", *_columns(empty), "")
    console.print(table)


def _columns(found: Sequence[Sequence[float]]) -> list[str]:
    return [spread([each[at] for each in found]) for at in (0, 1)]


def _environment(home: Path) -> dict[str, str]:
    for name in ("dags", "empty", "connectors"):
        (home / name).mkdir()
    shutil.copy(REPOSITORY / "dags" / "exporters.py", home / "dags")
    return {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(REPOSITORY / "plugins"),
        "KAFKA_S3_CONNECTORS": str(home / "connectors"),
        "PYTHONPATH": os.pathsep.join(str(REPOSITORY / part) for part in ("plugins", "jobs")),
        "AIRFLOW_CONN_KAFKA_DEFAULT": '{"conn_type": "kafka"}',
        "AIRFLOW_CONN_AWS_DEFAULT": '{"conn_type": "aws"}',
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
    }


def _store() -> S3Server:
    return MotoServer() if VersityGateway.available() else VersityGateway()


def _plans(
    kafka: KafkaBroker, store: S3Server, home: Path, environment: dict[str, str], repetitions: int
) -> list[list[float]]:
    """A connector whose log has some entries, and a topic that nothing was written to since."""
    kafka.create_topic("fixed", PARTITIONS)
    store.create_bucket("fixed")
    connector = home / "fixed.properties"
    text = (REPOSITORY / "connectors" / "orders.properties").read_text()
    properties = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    properties |= {"name": "fixed", "topics": "fixed", "s3.bucket.name": "fixed", "store.url": store.endpoint_url}
    properties |= {"aws.access.key.id": store.access_key, "aws.secret.access.key": store.secret_key}
    properties |= {"consumer.override.bootstrap.servers": kafka.bootstrap_servers}
    connector.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    settings = load(connector, lookups=Lookups(env=environment, read_file=read_text)).settings
    exporter = make_exporter(settings)
    for number in range(COMMITS):
        produce(kafka.bootstrap_servers, "fixed", values(PARTITIONS))
        report = run(exporter, RunRequest(f"run-{number}", 1, None, BASE_MS), make_local_execute(settings), _silent)
        assert report.exit_status == 0, list(report.problems())
    newest = exporter.log.newest()
    assert newest is not None
    mark(exporter.log, newest.entry.seq)
    return [_measured(_PLAN, str(connector), environment)[:2] for _ in range(repetitions)]


def _parses(
    home: Path, environment: dict[str, str], repetitions: int
) -> tuple[list[list[float]], list[list[float]], str]:
    """The connectors' folder, an empty one right after it, and what the first made."""
    text = (REPOSITORY / "connectors" / "orders.properties").read_text()
    for number in range(CONNECTORS):
        path = home / "connectors" / f"c{number}.properties"
        path.write_text(text.replace("name=orders", f"name=c{number}"))
    parsed, empty = [], []
    for _ in range(repetitions):
        parsed.append(_measured(_PARSE, str(home / "dags"), environment))
        empty.append(_measured(_PARSE, str(home / "empty"), environment)[:2])
    said = "{:.0f} DAGs, {:.0f} tasks".format(*parsed[0][2:])
    return [each[:2] for each in parsed], empty, said


def _measured(code: str, argument: str, environment: dict[str, str]) -> list[float]:
    """The figures that some code prints, run in a process of its own."""
    command = [sys.executable, "-c", code, argument]
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0:
        raise CommandFailed(f"{argument}: {ran.stdout[-3000:]}")
    return [float(figure) for figure in ran.stdout.rsplit("measured", 1)[1].split()[: 4 if code == _PARSE else 2]]


def _silent(_: Event) -> None:
    """What a run says is not measured."""
