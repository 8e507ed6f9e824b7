"""`airflow dags test` for every DAG of dags/: the command as a process, over a real broker, a real S3 API and Spark."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.airflow import test_runs
from tests.airflow.test_integrity import write
from tests.airflow.test_runs import CANARY, CONNECTOR, MINUTE, ROOT, Bench
from tests.support import rows_of

bench = test_runs.bench

# All of Airflow runs in this process, with warnings of its own.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.heavy]


def of_file(path: Path) -> list[str]:
    """The DAGs of a file."""
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(str(path), collect_dags=True)
    assert bag.import_errors == {}
    return sorted(bag.dag_ids)


@pytest.mark.timeout(1800)  # a process of Airflow for each
def test_every_example(bench: Bench) -> None:
    """The connector's own DAGs first, then those of dags/examples: each ends well where its connections exist, over
    the connector `orders`, whose records are exported once, whoever does it."""
    [file] = (bench.folder / "connectors").iterdir()
    orders = file.with_name("orders.properties")
    text = CONNECTOR.format(name="orders", topic=bench.topic, bucket=bench.bucket)
    orders.write_text(f"{text}export.verify.schedule=@daily\n")
    file.unlink()
    # In the last complete hour, as the alarms among the examples would have it.
    bench.produce(0, datetime.now(UTC).replace(minute=0, second=0) - 30 * MINUTE, [b'{"n": %d}' % n for n in range(30)])

    files = [ROOT / "dags" / "exporters.py", *sorted((ROOT / "dags" / "examples").glob("*.py"))]
    dag_ids = {dag_id: path for path in files for dag_id in of_file(path)}
    assert {"orders", "orders__verify", "example_own_dag"} <= dag_ids.keys()
    rewind = {"operation": "rewind", "partitions": [f"{bench.topic}-0=0"], "dry_run": True}
    asked = {"orders__operations": ["-c", json.dumps(rewind)]}
    for dag_id, path in dag_ids.items():
        done = dags_test(dag_id, bench.folder, *asked.get(dag_id, []), dags=path.parent)
        assert done.returncode == 0, f"{dag_id}: {(done.stdout + done.stderr)[-5000:]}"
        assert CANARY not in done.stdout + done.stderr
    bodies = {key: bench.store.client().get_object(Bucket=bench.bucket, Key=key) for key in bench.keys("topics/")}
    rows = [row for key, found in bodies.items() for row in rows_of(found["Body"].read(), key)]
    assert sorted(row["n"] for row in rows) == list(range(30))


def test_parameters(bench: Bench) -> None:
    """`-c` takes the trigger form's values, and a wrong one is refused before anything runs, with what is allowed."""
    done = dags_test(bench.name, bench.folder, "-c", '{"until": "later"}')
    assert done.returncode != 0
    assert "'later' is not one of ['interval', 'now']" in done.stdout + done.stderr
    assert bench.keys("") == []


def dags_test(
    dag_id: str, folder: Path, *arguments: str, dags: Path = ROOT / "dags"
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "airflow", "dags", "test", dag_id, *arguments]
    environment = {**os.environ, "AIRFLOW__CORE__DAGS_FOLDER": str(dags)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=folder)


# The tests that users copy.


def integrity_tests(project: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "KAFKA_S3"))}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "jobs"), str(project / "plugins")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/dags"]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def test_the_integrity_tests_can_be_copied(tmp_path: Path) -> None:
    """In another project they pass over its connectors, and fail for one that is broken, has another schedule, or
    leaves the policy, each by name."""
    for name in ("dags", "connectors", "plugins", "tests/dags"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    done = integrity_tests(tmp_path)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    connectors = tmp_path / "connectors"
    write(connectors, "a.properties", "a", "flush.size=x\n")
    write(connectors, "b.properties", "b", "export.owner=Nobody\n")
    orders = connectors / "orders.properties"
    orders.write_text(orders.read_text().replace("rotate.schedule.interval.ms=3600000", "export.schedule=@daily"))
    with (tmp_path / "dags" / "exporters.py").open("a") as file:
        file.write("import pyarrow\n")
    done = integrity_tests(tmp_path)
    assert done.returncode == 1
    failed = {line.split("::")[1].split(" ")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert failed == {
        "test_every_connector_can_run",
        "test_every_dag_of_an_export_keeps_the_policy",
        "test_schedules",
        "test_parsing_is_cheap",
    }
    for says in ("flush.size=x", "Nobody", "at @daily (UTC)", "'pyarrow'"):
        assert says in done.stdout
