"""What an installation without an extra says: one sentence with the command."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pyspark
import pytest
from click.testing import CliRunner

from kafka_s3.cli import main, spark_submit
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


def test_extras_take_one_release_of_sparks_two_packages() -> None:
    """pyspark and pyspark-client share files, and pip takes the newest of each: no newer one of either than there is of
    both, and that is the one of the tests."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = [re.match(r"(pyspark(?:-client)?)(\S+)", need) for name, needs in extras.items() for need in needs]
    bounds = {(found[1], found[2].rpartition("=")[2]) for found in asked if found is not None}
    assert bounds == {("pyspark", pyspark.__version__), ("pyspark-client", pyspark.__version__)}


@pytest.mark.parametrize("extra", ["protobug", "msk,protobuf", ""])
def test_a_bundle_of_an_unknown_extra_is_refused(extra: str, tmp_path: Path) -> None:
    """Before anything is packed, with the extras that there are."""
    result = CliRunner().invoke(main, ["bundle", str(tmp_path / "engine.zip"), "--extra", extra])
    assert result.exit_code == 1
    assert f"{extra!r} is not an extra of kafka-s3.\nIts extras: airflow, " in result.output
    assert ", msk, postgres, protobuf, " in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_where_nothing_can_be_written() -> None:
    result = CliRunner().invoke(main, ["bundle", "/proc/no/engine.zip", "--engine-only"])
    assert (result.exit_code, result.exception.__class__) == (1, SystemExit)
    assert "/proc/no/engine.zip cannot be written: No such file or directory." in result.output
