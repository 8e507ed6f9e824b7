"""What the operator does when Airflow wants the export to end; the same with the real Spark is in tests/scheduler."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowTaskTimeout

from tests.processes import below

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("airflow_db")]

#: A spark-submit that starts a driver which outlives it, and tells its parent that it is at work.
SUBMIT = """\
#!{python} -S
import os, pathlib, signal, sys, time
if os.fork() == 0:
    os.setsid()
    os.close(1), os.close(2)
    for _ in range(60_000):  # or it would outlive a test that fails
        (pathlib.Path(os.environ["TMPDIR"]) / "blockmgr" / "0c").mkdir(parents=True, exist_ok=True)
        time.sleep(0.001)
print("at work", flush=True)
os.kill({parent}, signal.SIGUSR1)
time.sleep(600)
"""


CONTEXT: Any = {
    "run_id": "run",
    "ti": SimpleNamespace(try_number=1, xcom_pull=lambda **_: None),
    "dag_run": SimpleNamespace(data_interval_start=None, data_interval_end=None, conf={}),
    "dag": SimpleNamespace(params={}),
    "params": {},
}


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An export of a connector, with that spark-submit on PATH, and Spark's folders in `tmp`."""
    from kafka_s3_airflow.operators import ExportOperator

    connector = tmp_path / "orders.properties"
    connector.write_text(
        "name=orders\ntopics=orders\ns3.bucket.name=archive\ns3.region=us-east-1\nflush.size=100\n"
        "export.spark.records.min=0\n"
        "storage.class=io.confluent.connect.s3.storage.S3Storage\n"
        "format.class=io.confluent.connect.s3.format.json.JsonFormat\n"
        "value.converter=org.apache.kafka.connect.json.JsonConverter\nvalue.converter.schemas.enable=false\n"
        "consumer.override.bootstrap.servers=127.0.0.1:1\n"
    )
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(SUBMIT.format(python=sys.executable, parent=os.getpid()))
    submit.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("PATH", f"{submit.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "tmp"))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
    before = signal.getsignal(signal.SIGUSR1)
    yield ExportOperator(task_id="export", connector=str(connector))
    signal.signal(signal.SIGUSR1, before)


def nothing_is_left(folder: Path) -> None:
    assert os.listdir(folder) == []
    marked = [each for each in Path("/proc").glob("[0-9]*/environ") if str(folder) in _environment(each)]
    assert [each.parent.name for each in marked if int(each.parent.name) != os.getpid()] == []


def _environment(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has ended
        return ""


def test_an_execution_timeout(operator: Any, tmp_path: Path) -> None:
    """An exception raised in the middle, as execution_timeout does it, comes out as it is; before that spark-submit
    and the driver that outlives it are killed, and their folder is removed."""

    def out_of_time(number: int, frame: object) -> None:
        assert below(os.getpid()), "Spark is at work"
        raise AirflowTaskTimeout("Timeout")

    signal.signal(signal.SIGUSR1, out_of_time)
    with pytest.raises(AirflowTaskTimeout):
        operator.execute(CONTEXT)
    nothing_is_left(tmp_path / "tmp")
    operator.on_kill()  # as Airflow does after a timeout


def test_told_to_end_while_spark_is_being_started(
    operator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal between the start of spark-submit and the moment in which the provider knows it ends it all the same."""
    from airflow.providers.apache.spark.hooks import spark_submit

    class Popen(subprocess.Popen[str]):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            operator.on_kill()

    monkeypatch.setattr(spark_submit, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": Popen}))
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    with pytest.raises(AirflowException, match="Airflow ended this try"):
        operator.execute(CONTEXT)
    nothing_is_left(tmp_path / "tmp")


def test_told_to_end(operator: Any, tmp_path: Path) -> None:
    """on_kill, called in a signal's handler as Airflow does it for a task that was marked, ends the export, which says
    so; no later Spark is started."""
    signal.signal(signal.SIGUSR1, lambda number, frame: operator.on_kill())
    with pytest.raises(AirflowException, match="Airflow ended this try: .* is finished by the next try or run"):
        operator.execute(CONTEXT)
    nothing_is_left(tmp_path / "tmp")

    (tmp_path / "bin" / "spark-submit").write_text(f"#!/bin/sh\n: > {tmp_path}/started\n")
    with pytest.raises(AirflowException, match="Airflow ended this try"):
        operator.execute(CONTEXT)
    assert not (tmp_path / "started").exists()
