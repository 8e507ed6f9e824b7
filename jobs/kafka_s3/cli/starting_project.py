"""The files of a project that begins: a DAG file, a connector, and tests of both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kafka_s3 import __version__
from kafka_s3.errors import ConfigurationError

_README: Final = """\
# Exports from Kafka to S3
Every file in `connectors/` becomes a DAG of its connector's name, or a part of its group's (`export.group`):
`dags/exports.py` makes them. What all connectors share is in `connectors/worker.properties`. Before a change goes to
Airflow:

    pip install --requirement requirements.txt pytest
    kafka-s3 validate connectors/orders.properties
    python -m pytest

Airflow needs this folder in the dag-processor and the workers, and `KAFKA_S3_CONNECTORS`, the path of `connectors/`, in
the api-server for the page. Its connections `kafka_default`, `aws_default` and `spark_default` say where Kafka, S3 and
Spark are, and hold what is secret.
"""
_DAGS: Final = '''\
"""Every file in connectors/ becomes a DAG of its name."""

from pathlib import Path

from kafka_s3_airflow import dags_of

globals().update(dags_of(Path(__file__).resolve().parents[1] / "connectors"))
'''
_TESTS: Final = '''\
"""What has to hold for every connector before it goes to an Airflow."""

from pathlib import Path

import pytest

from kafka_s3_airflow import dags_of
from kafka_s3_airflow.dags import connectors_in

CONNECTORS = Path(__file__).resolve().parents[1] / "connectors"


@pytest.fixture(scope="module")
def dags():
    return dags_of(CONNECTORS)


def test_every_connector_can_run(dags):
    """A broken connector is a DAG too: its description says what is wrong."""
    assert dags
    for dag in dags.values():
        assert "broken" not in dag.tags, dag.doc_md


def test_every_file_is_exported_by_a_dag(dags):
    """A DAG of the connector's name, or that of its group."""
    connectors = connectors_in(CONNECTORS)
    assert {each.path for each in connectors} == set(CONNECTORS.iterdir()) - {CONNECTORS / "worker.properties"}
    assert {each.runs_in for each in connectors} <= dags.keys()


def test_every_export_has_its_tasks(dags):
    for dag in dags.values():
        dag.validate()
    for each in connectors_in(CONNECTORS):
        assert {"plan", "export", "complete"} <= set(dags[each.runs_in].task_ids)
'''
_CONNECTOR: Final = """\
# The properties of the Confluent S3 sink. `kafka-s3 validate` says what each of them means here.
name=orders
connector.class=io.confluent.connect.s3.S3SinkConnector
tasks.max=2
topics=orders

s3.bucket.name=kafka-archive
s3.region=us-east-1
storage.class=io.confluent.connect.s3.storage.S3Storage

format.class=io.confluent.connect.s3.format.json.JsonFormat
s3.compression.type=gzip
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false

partitioner.class=io.confluent.connect.storage.partitioner.HourlyPartitioner
timestamp.extractor=Record
locale=en
timezone=UTC

flush.size=20000
rotate.schedule.interval.ms=3600000
"""
_WORKER: Final = """\
# What all connectors share, as in a Connect worker. Airflow's connections come before it.
bootstrap.servers=localhost:9092
"""


def files() -> Mapping[str, str]:
    """Every file by its path in the project."""
    return {
        "README.md": _README,
        "requirements.txt": f"kafka-s3[airflow,spark]=={__version__}\n",
        "dags/exports.py": _DAGS,
        "connectors/orders.properties": _CONNECTOR,
        "connectors/worker.properties": _WORKER,
        "tests/test_dags.py": _TESTS,
    }


def write_project(folder: Path) -> None:
    """Write it into a folder that is not there yet, or empty; `ConfigurationError` for any other."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError(f"{folder} is not an empty folder.", next="Name one that is empty, or not there yet.")
    for name, text in files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
