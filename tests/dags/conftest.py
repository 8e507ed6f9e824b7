"""Airflow for the tests beside this file. It reads its environment when it is imported, so that comes first.

Copy this folder into a project with `dags/` and `connectors/`, and say in test_dags.py what you expect of them.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME = tempfile.mkdtemp(prefix="kafka-s3-dags-")

os.environ.setdefault("AIRFLOW_HOME", HOME)
os.environ.setdefault("AIRFLOW__CORE__DAGS_FOLDER", str(ROOT / "dags"))
os.environ.setdefault("AIRFLOW__CORE__PLUGINS_FOLDER", str(ROOT / "plugins"))
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")


@pytest.fixture(scope="session", autouse=True)
def _airflow_home() -> Iterator[None]:
    yield
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def dags_folder() -> Path:
    return ROOT / "dags"


@pytest.fixture(scope="session")
def connectors_folder() -> Path:
    """As the DAG files find it."""
    return Path(os.environ.get("KAFKA_S3_CONNECTORS", ROOT / "connectors"))


@pytest.fixture(scope="session")
def bag(dags_folder: Path) -> Any:
    """Every DAG of the folder, as Airflow's dag-processor sees them."""
    from airflow.dag_processing.dagbag import DagBag

    return DagBag(str(dags_folder), collect_dags=True)
