"""Airflow reads its environment when it is imported: so its home, DAGs and plugins are named before anything else."""

import importlib.metadata
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(tempfile.mkdtemp(prefix="kafka-s3-airflow-"))

os.environ |= {
    "AIRFLOW_HOME": str(HOME),
    "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
    "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
    "KAFKA_S3_RETRIES": "1",
    "KAFKA_S3_RETRY_DELAY_S": "0",
}
if not any(importlib.metadata.distributions(name="kafka-s3")):
    # Not installed: this process and those it starts find the packages in the checkout.
    folders = [str(ROOT / "jobs"), str(ROOT / "plugins")]
    os.environ["PYTHONPATH"] = os.pathsep.join(folders)
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]


@pytest.fixture(scope="session", autouse=True)
def _airflow_home() -> Iterator[None]:
    yield
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def airflow_db() -> None:
    """Airflow's database, with the sample connections that `airflow standalone` makes."""
    from airflow.utils.db import initdb

    initdb()
