"""What a task's process has at once, since the one that it is forked from has imported it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.airflow.test_integrity import HEAVY

#: A process of Airflow's with that command, as it starts a job; and what a task's own process is told.
PROCESS = """
import sys
from airflow.sdk.execution_time.task_runner import TaskRunnerMarker
from kafka_s3_airflow.plugin import KafkaS3Plugin
[listener] = [each for each in KafkaS3Plugin.listeners if hasattr(each, "on_starting")]
listener.on_starting(component=TaskRunnerMarker())
before = [each for each in sys.argv[2:] if each in sys.modules]
from airflow.jobs.job import Job
listener.on_starting(component=Job())
import os
print("\\nFOUND", before, [each for each in sys.argv[2:] if each in sys.modules], len(os.listdir("/proc/self/task")))
"""
LOOKED_FOR = ("kafka_s3_airflow.dags", "kafka_s3.export.run", "boto3", "confluent_kafka", "pyspark", "pyarrow")


@pytest.mark.parametrize(
    ("command", "executor", "expected"),
    [
        ("scheduler", "LocalExecutor", [*LOOKED_FOR[:4]]),
        ("scheduler", "CeleryExecutor", ["kafka_s3_airflow.dags"]),
        ("dag-processor", "LocalExecutor", ["kafka_s3_airflow.dags"]),
    ],
)
def test_what_is_there_before_anything_is_forked(
    command: str, executor: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the scheduler what tasks need, where it is the one that forks them; in the others what DAG files need. There
    is one thread still, so that forking is safe."""
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", executor)
    run = subprocess.run([sys.executable, "-c", PROCESS, command, *LOOKED_FOR], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == f"FOUND [] {expected} 1"


def test_every_module_is_one() -> None:
    """A name that is none would be passed over in silence; Spark and Arrow are none of them."""
    from kafka_s3_airflow.preload import OF_DAGS, OF_TASKS, preload

    assert [each.__name__ for each in preload((*OF_DAGS, *OF_TASKS))] == [*OF_DAGS, *OF_TASKS]
    assert preload(("kafka_s3.no_such_module", "json"))[0].__name__ == "json"
    assert not {"pyspark", "pyarrow", "pandas"} & {*OF_DAGS, *OF_TASKS}
    assert "boto3" in HEAVY, "a parse of DAGs by itself imports nothing heavy"
