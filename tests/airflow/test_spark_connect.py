"""Runs by `dag.test()` over a Spark Connect server that asks for a token, and the connections that name one."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException

from tests.airflow import test_reexport, test_runs
from tests.airflow.test_connections import set_connection
from tests.airflow.test_driver_output import CONTEXT
from tests.airflow.test_group_runs import Group
from tests.airflow.test_runs import CANARY, EIGHT, MINUTE, NINE, TEN, Bench, lines
from tests.processes import below, command_of
from tests.spark.test_connect import jobs_of
from tools.parts.process import ReservedPort
from tools.parts.spark import SparkConnectServer

bench = test_runs.bench
pytestmark = pytest.mark.filterwarnings("ignore")

TOKEN = "canary-of-a-token"


@pytest.fixture(scope="module")
def server() -> Iterator[SparkConnectServer]:
    with SparkConnectServer(token=TOKEN) as running:
        yield running


def _use(bench: Bench, server: SparkConnectServer, token: str = TOKEN) -> None:
    host, _, port = server.url.removeprefix("sc://").rpartition(":")
    set_connection(
        bench.monkeypatch, "spark_default", conn_type="spark_connect", host=host, port=int(port), password=token
    )


@pytest.mark.heavy
def test_runs_start_no_spark(
    bench: Bench, server: SparkConnectServer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large plan goes to the server and a small one does not; no spark-submit, and no secret in a command, in a log
    or in what Airflow stores. A wrong token fails at once, in words."""
    from kafka_s3_airflow import operators

    seen: list[list[str]] = []
    environments: list[dict[str, str]] = []
    popen = operators.subprocess.Popen

    def watched(command: list[str], **given: Any) -> Any:
        process = popen(command, **given)
        seen.append(command)
        environments.append(given["env"])
        seen.extend(command_of(each) for each in below(os.getpid()))
        return process

    monkeypatch.setattr(operators.subprocess, "Popen", watched)
    _use(bench, server)
    bench.produce(0, EIGHT + MINUTE, lines(0, 150))
    bench.produce(1, EIGHT + MINUTE, lines(150, 50))
    first = bench.run(NINE)
    assert first.tasks == {"plan": "success", "export": "success", "complete": "success"}
    assert bench.values() == list(range(200))
    assert bench.starts_of_spark() == 0
    assert [[word for word in command if word.startswith("--spark")] for command in seen[:1]] == [["--spark-connect"]]
    assert TOKEN in environments[0]["KAFKA_S3_SPARK_CONNECT"]

    bench.produce(0, NINE + MINUTE, lines(200, 10))
    [path] = (bench.folder / "connectors").iterdir()
    path.write_text(path.read_text().replace("export.spark.records.min=0\n", ""))
    seen.clear()
    assert bench.run(TEN).state == "success"
    assert bench.values() == list(range(210))
    assert "--without-spark" in seen[0]
    assert not [command for command in seen if "--spark-connect" in command]

    said = "".join(capfd.readouterr())
    commands = " ".join(word for command in seen for word in command)
    assert not [secret for secret in (TOKEN, CANARY) if secret in said + commands + _stored()]


@pytest.mark.heavy
def test_a_wrong_token_fails_at_once(
    bench: Bench, server: SparkConnectServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its first try is its last, with the reason; so is an option of Spark's that the server's application cannot take
    any more."""
    bench.produce(0, EIGHT + MINUTE, lines(0, 10))
    _use(bench, server, token="not-the-token")
    run = bench.run(NINE)
    assert (run.tasks["export"], run.tries["export"]) == ("failed", 1)
    said = "".join(capfd.readouterr())
    assert f"{server.url} refuses the connection: " in said
    assert "not-the-token" not in said

    _use(bench, server)
    [path] = (bench.folder / "connectors").iterdir()
    path.write_text(f"{path.read_text()}export.spark.conf.spark.executor.memory=1g\n")
    run = bench.run(NINE)
    assert (run.tasks["export"], run.tries["export"]) == ("failed", 1)
    said = "".join(capfd.readouterr())
    assert "export.spark.conf.spark.executor.memory cannot be set here: the application of sc://" in said


@pytest.mark.heavy
def test_a_group_shares_a_session(bench: Bench, server: SparkConnectServer, capfd: pytest.CaptureFixture[str]) -> None:
    """Its members' large plans go to the server, those that are small do not; without a server only they are done, and
    the others wait for a retry."""
    group = Group(bench)
    for name in "ab":
        group.add(name, records=lines(0, 20), more="export.spark.records.min=10\n")
    group.add("c", records=lines(0, 20))
    port = ReservedPort()
    set_connection(bench.monkeypatch, "spark_default", conn_type="spark", host=f"sc://localhost:{port.number}")
    assert group.run(NINE).tasks["export"] == "failed"
    assert [group.committed(name) for name in "abc"] == [[], [], [(20, False)]]
    assert f"No Spark Connect server answers at sc://localhost:{port.number}: " in capfd.readouterr().out
    _use(bench, server)
    assert group.run(NINE).state == "success"
    assert [group.committed(name) for name in "abc"] == [[(20, True)], [(20, True)], [(20, False)]]
    assert bench.starts_of_spark() == 0


@pytest.mark.heavy
def test_a_window_again_without_a_jvm(bench: Bench, server: SparkConnectServer) -> None:
    """The DAG of re-exports goes to the server as the live one does, and starts no Spark."""
    _use(bench, server)
    bench.produce(0, EIGHT + MINUTE, lines(0, 150))
    bench.produce(1, EIGHT + MINUTE, lines(150, 50))
    assert bench.run(NINE).state == "success"
    again, before = replace(bench, name=f"{bench.name}__reexport"), jobs_of(server)
    ended = again.run(NINE)
    assert ended.tasks == {"plan": "success", "export": "success", "complete": "success"}
    assert test_reexport.values(bench, "reexport/20261120T080000Z-20261120T090000Z/") == list(range(200))
    assert len(jobs_of(server)) > len(before)
    assert bench.starts_of_spark() == 0


@pytest.mark.heavy
def test_a_try_that_airflow_ends_says_goodbye(bench: Bench, server: SparkConnectServer) -> None:
    """The server's jobs are cancelled before the driver is killed: its cores are free for the next try."""
    from kafka_s3_airflow.operators import ExportOperator

    _use(bench, server)
    bench.produce(0, EIGHT + MINUTE, lines(0, 40_000))
    bench.produce(1, EIGHT + MINUTE, lines(0, 40_000))
    [path] = (bench.folder / "connectors").iterdir()
    before = jobs_of(server)
    operator = ExportOperator(task_id="export", connector=str(path))

    def end_it() -> None:
        while not bench.keys("topics/"):
            time.sleep(0.05)
        operator.on_kill()

    killer = threading.Thread(target=end_it)
    killer.start()
    with pytest.raises(AirflowException, match="Airflow ended this try"):
        operator.execute(CONTEXT)
    killer.join()
    while "RUNNING" in (jobs := jobs_of(server)).values():
        time.sleep(0.1)
    assert {status for job, status in jobs.items() if job not in before} == {"FAILED"}


def _stored() -> str:
    """What Airflow has in its tables of runs, tasks and XComs."""
    from airflow.utils.session import create_session
    from sqlalchemy import text

    with create_session() as session:
        tables = ("dag_run", "task_instance", "xcom", "rendered_task_instance_fields", "serialized_dag", "log")
        rows = [session.execute(text(f"SELECT * FROM {table}")).all() for table in tables]
    assert rows[0]
    return str(rows)


def test_connections_that_name_a_server(monkeypatch: pytest.MonkeyPatch, airflow_db: None) -> None:
    """The provider's own type, or a host that begins with sc://; what is in the extra are parameters of the address."""
    from kafka_s3_airflow.connections import check_spark, connect_server, find_connection

    def server_of(**given: Any) -> Any:
        set_connection(monkeypatch, "spark_default", **given)
        check_spark("spark_default")
        connection = find_connection("spark_default")
        assert connection is not None
        return connect_server(connection, {})

    assert server_of(conn_type="spark", host="local[2]") is None
    plain = server_of(conn_type="spark_connect", host="spark", port=15003)
    assert (plain.url, plain.token) == ("sc://spark:15003/", None)
    extra = {"use_ssl": True, "x-databricks-cluster-id": "0501-1"}
    given = server_of(conn_type="spark_connect", host="sc://dbc.example", port=443, password="a=b;c", extra=extra)
    assert given.url == "sc://dbc.example:443/;token=a%3Db%3Bc;use_ssl=true;x-databricks-cluster-id=0501-1"
    assert "a=b;c" not in repr(given) + str(given)
    whole = server_of(conn_type="spark", host="sc://spark:15003/;use_ssl=true;user_id=etl")
    assert json.loads(whole.to_environment()["KAFKA_S3_SPARK_CONNECT"])["params"] == {
        "use_ssl": "true",
        "user_id": "etl",
    }


@pytest.mark.parametrize("host", ["sc://", "sc://spark:x", "sc://spark/path", "sc://u:canary@spark", "sc://spark;a=b"])
def test_an_address_that_is_wrong(host: str, monkeypatch: pytest.MonkeyPatch, airflow_db: None) -> None:
    """Is said before anything starts, with how it is written and without what it says."""
    from airflow.sdk.exceptions import AirflowFailException

    from kafka_s3_airflow.connections import check_spark

    set_connection(monkeypatch, "spark_default", conn_type="spark", host=host)
    with pytest.raises(
        AirflowFailException, match=r"(?s)spark_default: The address .* is wrong: .*Write sc://"
    ) as raised:
        check_spark("spark_default")
    assert "canary" not in str(raised.value)
