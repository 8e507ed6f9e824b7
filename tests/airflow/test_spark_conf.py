"""What spark-submit is given: the connector's Spark over the operator's, the operator's over the connection's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.airflow.test_connections import CONNECTOR, set_connection

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("airflow_db")]

ASKED = """\
consumer.override.bootstrap.servers=own:9092
export.spark.conf.spark.executor.memory=2g
export.spark.conf.spark.log.level=ERROR
export.spark.conf.spark.yarn.queue=exports
export.spark.conf.spark.pyspark.python=python3.11
"""


def _command(path: Path, **arguments: object) -> list[str]:
    """The command that the provider makes of the operator, as `execute` prepares it."""
    from kafka_s3_airflow.connections import load_connector
    from kafka_s3_airflow.driver_output import DriverOutput
    from kafka_s3_airflow.operators import ExportOperator

    operator = ExportOperator(task_id="export", connector=str(path), **arguments)
    settings = load_connector(path).settings
    operator.take_connection(settings.spark.conn_id)
    hook = operator._hook_with_conf(dict(settings.spark.conf), DriverOutput())
    return hook._build_spark_submit_command("export.py")


def _conf(command: list[str]) -> dict[str, str]:
    given = [command[place + 1] for place, word in enumerate(command) if word == "--conf"]
    return dict(each.split("=", 1) for each in given)


@pytest.fixture
def connector(tmp_path: Path) -> Path:
    path = tmp_path / "orders.properties"
    path.write_text(CONNECTOR + ASKED)
    return path


def test_what_a_connector_asks_for_wins(connector: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the operator's own `conf`, and over the queue of the connection."""
    set_connection(monkeypatch, "spark_default", conn_type="spark", host="yarn", extra={"queue": "default"})
    command = _command(connector, conf={"spark.log.level": "INFO", "spark.executor.cores": "1"})
    conf = _conf(command)
    assert conf["spark.executor.memory"] == "2g"
    assert (conf["spark.log.level"], conf["spark.executor.cores"]) == ("ERROR", "1")
    assert command[command.index("--queue") + 1] == "exports"


def test_a_python_for_workers_is_not_the_drivers(connector: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """spark.pyspark.python alone would replace the driver's, whose libraries are those of Airflow's worker."""
    set_connection(monkeypatch, "spark_default", conn_type="spark", host="spark://master", port=7077)
    conf = _conf(_command(connector))
    assert (conf["spark.pyspark.python"], conf["spark.pyspark.driver.python"]) == ("python3.11", sys.executable)


def test_each_connector_has_its_own_spark(connector: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """export.spark.conn.id names the connection, unless the operator was given one."""
    for name in ("spark_default", "large", "given"):
        set_connection(monkeypatch, name, conn_type="spark", host=f"spark://{name}", port=7077)
    connector.write_text(f"{CONNECTOR}{ASKED}export.spark.conn.id=large\n")
    assert "spark://large:7077" in _command(connector)
    assert "spark://given:7077" in _command(connector, conn_id="given")


def test_a_local_driver_stays_small(connector: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a local driver is set to holds unless the connector says otherwise."""
    set_connection(monkeypatch, "spark_default", conn_type="spark", host="local[2]")
    conf = _conf(_command(connector))
    assert conf["spark.driver.host"] == "127.0.0.1"
    connector.write_text(f"{CONNECTOR}{ASKED}export.spark.conf.spark.driver.host=10.0.0.1\n")
    assert _conf(_command(connector))["spark.driver.host"] == "10.0.0.1"
