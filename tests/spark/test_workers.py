"""What a worker says that cannot do the work, in a Python of its own that has no engine, or another one."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import py4j
import pyspark
import pytest
from pyspark import cloudpickle

import kafka_s3
from kafka_s3.errors import ConfigurationError
from kafka_s3.export.task import RangeTask
from kafka_s3.log.entries import PlannedRange
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import PartitionOffsets
from kafka_s3.spark.fingerprint import fingerprint
from kafka_s3.spark.workers import Answer, on_a_worker, results_of
from tests.support import make_settings

#: What Spark's own worker does with a task: unpickle the function, call it, send back what it says.
WORKER = """
import pickle, sys
from pyspark import cloudpickle
function, group = pickle.load(sys.stdin.buffer)
print(function(group))
"""


def _task(partition: int) -> RangeTask:
    return RangeTask(PlannedRange("orders", partition, 0, 5), 0, 0, PartitionOffsets(0, 5, 5))


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with Spark's Python packages, as a worker has them, and nothing else."""
    for package in (pyspark, py4j):
        (tmp_path / package.__name__).symlink_to(Path(package.__file__).parent)
    return tmp_path


def _answer_of_a_worker(packages: Path) -> str:
    group = pickle.dumps([_task(0)])
    task = cloudpickle.dumps((on_a_worker(make_settings(), None), group))
    command = [sys.executable, "-S", "-c", WORKER]
    run = subprocess.run(command, env={"PYTHONPATH": str(packages)}, input=task, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout.decode().strip()


def test_a_worker_without_the_engine_says_so(packages: Path) -> None:
    """The task names nothing of the engine before it was found, so the worker can unpickle it and answer."""
    said = _answer_of_a_worker(packages)
    version = ".".join(map(str, sys.version_info[:3]))
    assert f"({sys.executable}, Python {version}) cannot import what the engine needs" in said
    assert said.endswith("No module named 'kafka_s3'.")


def test_a_worker_with_another_engine_says_so(packages: Path) -> None:
    """Settings and ranges, pickled by the driver's engine, are not unpickled by another one."""
    other = shutil.copytree(Path(kafka_s3.__file__).parent, packages / "kafka_s3")
    (other / "ranges.py").write_text("raise SystemExit('imported')")
    said = _answer_of_a_worker(packages)
    assert f" has engine {kafka_s3.__version__}+" in said
    assert said.endswith(f", the driver {fingerprint()}.")


def test_a_worker_without_the_libraries_says_so(packages: Path) -> None:
    """The engine alone, as `--py-files` brings it, needs libraries that a worker has to have."""
    (packages / "kafka_s3").symlink_to(Path(kafka_s3.__file__).parent)
    said = _answer_of_a_worker(packages)
    assert "cannot import what the engine needs: No module named '" in said


def test_no_worker_that_can_is_one_error() -> None:
    """The plan stays open for a run whose workers can, and the exit status is that of a configuration."""
    groups, answers = [[_task(0)], [_task(1)]], ["host1 has no engine.", "host2 has no engine."]
    with pytest.raises(
        ConfigurationError, match=r"No worker can export: host1 has no engine\.\n`kafka-s3 bundle`"
    ) as raised:
        results_of(groups, answers)
    assert raised.value.exit_status == 78


def test_one_worker_that_cannot_fails_its_own_ranges() -> None:
    """What others exported is committed."""
    done = RangeResult(_task(0).planned, None, None)
    answers: list[Answer] = [[done], "host2 has no engine."]
    first, second, third = results_of([[_task(0)], [_task(1), _task(2)]], answers)
    assert first is done
    for result, partition in ((second, 1), (third, 2)):
        assert (result.planned.partition, result.entry) == (partition, None)
        assert result.failure is not None
        assert result.failure.exit_status == 78
        assert result.failure.reason.startswith("the worker host2 has no engine. `kafka-s3 bundle`")
