"""Plans below `export.spark.records.min` take no JVM: by `dag.test()` over the real broker, S3 API and Spark."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowTaskTimeout

from tests.airflow import test_runs
from tests.airflow.test_runs import CANARY, EIGHT, MINUTE, NINE, TEN, Bench, lines
from tests.processes import below
from tests.support import entries_of
from tools.parts.hanging import HangingServer

bench = test_runs.bench
pytestmark = pytest.mark.filterwarnings("ignore")


def give(bench: Bench, **properties: str) -> Path:
    """Properties of the connector's file that come last, and so count."""
    [file] = (bench.folder / "connectors").iterdir()
    more = "".join(f"{name.replace('_', '.')}={value}\n" for name, value in properties.items())
    file.write_text(file.read_text().replace("export.spark.records.min=0\n", "") + more)
    return file


@pytest.mark.heavy
def test_a_small_plan_needs_no_jvm(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    """The same tasks, objects, events and failures as on Spark; the log says that there was none; no secret shows."""
    give(bench)
    bench.produce(0, EIGHT + MINUTE, lines(0, 150))
    bench.produce(1, EIGHT + MINUTE, lines(150, 50))
    first = bench.run(NINE)
    assert first.tasks == {"plan": "success", "export": "success", "complete": "success"}
    assert bench.values() == list(range(200))
    assert [event["records"] for _, event in bench.events(first.run_id)] == [200]
    newest = entries_of(bench.store, bench.bucket, bench.name)[-1]
    assert newest.spark_application is None
    assert not list(bench.folder.glob("kafka-s3-spark-*"))

    bench.produce(1, NINE + MINUTE, [*lines(200, 5), b"{not json", *lines(205, 5)])
    poisoned = bench.run(TEN)
    assert poisoned.tasks == {"plan": "success", "export": "failed", "complete": "failed"}
    assert poisoned.tries["export"] == 1, "a retry would meet the same record"
    assert bench.values() == list(range(205))
    said = capfd.readouterr().out
    assert f"AirflowFailException: A bad record at topic {bench.topic} partition 1 offset 55: " in said
    assert "commit 1: 200 records" in said
    assert bench.starts_of_spark() == 0
    for secret in (CANARY, bench.store.secret_key):
        assert secret not in said


@pytest.mark.heavy
def test_a_small_plan_needs_no_spark_submit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A machine without Spark exports what is small; the first large plan says what to install."""
    from kafka_s3_airflow import operators

    folders = [each for each in os.environ["PATH"].split(os.pathsep) if not Path(each, "spark-submit").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    monkeypatch.setattr(operators, "sys", SimpleNamespace(executable=str(tmp_path / "python")))
    give(bench, export_spark_records_min="100")
    bench.produce(0, EIGHT + MINUTE, lines(0, 50))
    assert bench.run(NINE).state == "success"
    bench.produce(0, NINE + MINUTE, lines(50, 100))
    assert bench.run(TEN).tasks["export"] == "failed"
    assert bench.values() == list(range(50))
    assert "spark-submit is neither on PATH nor beside" in capfd.readouterr().out


@pytest.mark.heavy
def test_a_large_plan_goes_to_spark(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    """What was planned is handed over: one commit, by Spark, of all records."""
    give(bench, export_spark_records_min="200")
    bench.produce(0, EIGHT + MINUTE, lines(0, 150))
    bench.produce(1, EIGHT + MINUTE, lines(150, 50))
    assert bench.run(NINE).state == "success"
    assert bench.values() == list(range(200))
    assert bench.starts_of_spark() == 1
    entries = entries_of(bench.store, bench.bucket, bench.name)
    assert [(entry.seq, bool(entry.spark_application)) for entry in entries] == [(0, False), (1, True)]
    assert "the plan has 200 offsets: Spark takes over" in capfd.readouterr().out


CONTEXT: Any = {
    "run_id": "run",
    "ti": SimpleNamespace(try_number=1, xcom_pull=lambda **_: None),
    "dag_run": SimpleNamespace(data_interval_start=None, data_interval_end=None, conf={}),
    "dag": SimpleNamespace(params={}),
    "params": {},
}


@pytest.fixture
def hanging(bench: Bench) -> Iterator[Any]:
    """An export whose store hangs, so that its driver is at work until somebody ends it."""
    from kafka_s3_airflow.operators import ExportOperator

    with HangingServer() as store:
        file = give(bench, store_url=store.url)
        bench.monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", '{"conn_type": "aws", "login": "a", "password": "b"}')
        yield SimpleNamespace(
            operator=ExportOperator(task_id="export", connector=str(file)), store=store, folder=bench.folder
        )


def when_it_hangs(hanging: Any, do: Any) -> threading.Thread:
    def wait() -> None:
        while not hanging.store.requests:
            threading.Event().wait(0.05)
        do()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def nothing_is_left(hanging: Any) -> None:
    assert not list(hanging.folder.glob("kafka-s3-spark-*"))
    assert not [each for each in below(os.getpid()) if "export.py" in " ".join(each.cmdline())]


@pytest.mark.heavy
def test_told_to_end_without_spark(hanging: Any) -> None:
    """`on_kill` ends the driver, and no Spark is started after it."""
    when_it_hangs(hanging, hanging.operator.on_kill)
    with pytest.raises(AirflowException, match="Airflow ended this try"):
        hanging.operator.execute(CONTEXT)
    nothing_is_left(hanging)


@pytest.mark.heavy
def test_an_execution_timeout_without_spark(hanging: Any) -> None:
    """An exception raised in the middle comes out as it is, and the driver is gone by then."""

    def out_of_time(number: int, frame: object) -> None:
        raise AirflowTaskTimeout("Timeout")

    before = signal.signal(signal.SIGUSR1, out_of_time)
    try:
        when_it_hangs(hanging, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        with pytest.raises(AirflowTaskTimeout):
            hanging.operator.execute(CONTEXT)
    finally:
        signal.signal(signal.SIGUSR1, before)
    nothing_is_left(hanging)
