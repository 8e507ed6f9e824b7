"""What an installation without an extra says: one sentence with the command."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_s3.cli import spark_submit
from kafka_s3.errors import ConfigurationError

ROOT = Path(__file__).resolve().parents[2]


def test_dags_without_airflow_name_the_extra() -> None:
    """A Python that has no Airflow: the import says what to install."""
    program = "from kafka_s3_airflow import dags_of"
    paths = {"PYTHONPATH": f"{ROOT / 'plugins'}:{ROOT / 'jobs'}"}
    run = subprocess.run([sys.executable, "-S", "-c", program], env=paths, capture_output=True, text=True)
    last = run.stderr.splitlines()[-1]
    assert last == "ImportError: Airflow is not installed for this Python: pip install 'kafka-s3[airflow]'."


def test_spark_without_pyspark_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'kafka-s3\[spark\]'") as raised:
        spark_submit._spark_home()
    assert raised.value.exit_status == 78
