"""`kafka-s3 airflow init`: what it writes loads in Airflow, and its tests pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_s3.cli import main
from kafka_s3.cli.starting_project import files
from kafka_s3.settings import outline


def _init(folder: Path) -> str:
    result = CliRunner().invoke(main, ["airflow", "init", str(folder)])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_project_begins_in_an_empty_folder(tmp_path: Path) -> None:
    """Every file is there and named; the connector is right as it stands."""
    said = _init(tmp_path / "new" / "exports")
    for name, text in files().items():
        path = tmp_path / "new" / "exports" / name
        assert path.read_text() == text
        assert str(path) in said
    assert outline(tmp_path / "new" / "exports" / "connectors" / "orders.properties").problems == ()


@pytest.mark.parametrize("name", [".git", "README.md"])
def test_nothing_is_written_beside_other_files(tmp_path: Path, name: str) -> None:
    """A hidden one counts too."""
    (tmp_path / name).write_text("mine")
    result = CliRunner().invoke(main, ["airflow", "init", str(tmp_path)])
    assert (result.exit_code, "is not an empty folder" in result.output) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert CliRunner().invoke(main, ["airflow", "init", str(tmp_path / "file")]).exit_code == 1
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ["/proc/kafka-s3", "/dev/null/exports", "n" * 300])
def test_a_folder_that_cannot_be_made(name: str) -> None:
    """What the machine said, in a sentence."""
    result = CliRunner().invoke(main, ["airflow", "init", name])
    assert (result.exit_code, result.exception.__class__) == (1, SystemExit)
    assert f"{name} cannot be written: " in result.output


def test_the_projects_own_tests_pass(tmp_path: Path, airflow_db: None) -> None:
    """As its README says: `python -m pytest` in it, also of connectors in a group and of one whose name is not its
    file's. With a connector that is wrong they fail and say why."""
    _init(tmp_path)
    for name in ("bills", "carts"):
        text = (tmp_path / "connectors" / "orders.properties").read_text().replace("name=orders", f"name={name}")
        group = "export.group=nightly\n" if name == "bills" else ""
        (tmp_path / "connectors" / f"{name}-v2.properties").write_text(text + group)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]

    def ran() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True)

    passed = ran()
    assert passed.returncode == 0, passed.stdout + passed.stderr
    connector = tmp_path / "connectors" / "orders.properties"
    connector.write_text(connector.read_text().replace("flush.size=20000", "flush.size=0"))
    failed = ran()
    assert failed.returncode == 1
    assert "flush.size" in failed.stdout


@pytest.mark.filterwarnings("ignore")
def test_airflow_loads_the_projects_dag_file(tmp_path: Path, airflow_db: None) -> None:
    """Its three lines make the connector's DAGs."""
    from airflow.dag_processing.dagbag import DagBag

    _init(tmp_path)
    bag = DagBag(str(tmp_path / "dags"), collect_dags=True)
    assert bag.import_errors == {}
    assert bag.dags["orders"].task_ids == ["plan", "export", "complete"]
    assert "broken" not in bag.dags["orders"].tags
