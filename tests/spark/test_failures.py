"""How failures of the real Spark are told apart: by the classes of Java's exceptions, not by their words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from kafka_s3.spark.failures import is_of_a_task, spark_failed

#: Each failure of one Spark: whether a task of ours raised it, and what is said of it. Spark's own words go elsewhere.
FAILURES = """
import json, os
from py4j.protocol import Py4JError
from pyspark import SparkContext
from kafka_s3.spark.failures import is_of_a_task, refused_python, spark_failed

spark = SparkContext(master="local[1,1]", appName="failures")
spark.setLogLevel("OFF")

def bug(_):
    raise KeyError("a bug")

def killed(_):
    os._exit(3)

def in_task(function):
    return lambda: spark.parallelize([1], 1).map(function).collect()

def disk():
    spark._jvm.java.io.FileOutputStream("/dev/full").write(1)

def folder():
    spark._jvm.org.apache.spark.util.Utils.createTempDir("/dev/null/x", "spark")

def words():
    spark._jvm.java.io.FileInputStream("/org.apache.spark.api.python.PythonException")

def other_python():
    spark.pythonVer = "3.7"
    in_task(int)()

def no_python():
    spark.pythonExec = "/no/python"
    in_task(int)()

def no_memory():
    said = "Cannot run program \\"python3\\": error=12, Cannot allocate memory"
    raise Py4JError("java.io.IOException: " + said)

found = {}
for name, fail in {
    "bug": in_task(bug), "killed": in_task(killed), "disk": disk, "folder": folder, "words": words,
    "other python": other_python, "no python": no_python,
    "no memory": no_memory,
}.items():
    try:
        fail()
    except Py4JError as error:
        said = refused_python(error) or spark_failed(error)
        found[name] = is_of_a_task(error), str(said), said.exit_status
spark.stop()
print("\\n" + json.dumps(found))
"""


@pytest.fixture(scope="module")
def failures(java_home: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bool, str, int]]:
    folder = tmp_path_factory.mktemp("spark")
    jobs = str(Path(__file__).parents[2] / "jobs")
    environment = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder), "PYTHONPATH": jobs}
    done = subprocess.run(
        [sys.executable, "-c", FAILURES],
        env={**os.environ, **environment, "PYSPARK_PYTHON": sys.executable, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    return {name: (ours, said, status) for name, (ours, said, status) in found.items()}


def test_what_a_task_raises_is_a_bug(failures: dict[str, tuple[bool, str, int]]) -> None:
    """Its trace is wanted, and no retry cures it."""
    assert failures["bug"][0] is True


def test_a_worker_that_is_killed_is_no_bug(failures: dict[str, tuple[bool, str, int]]) -> None:
    """Spark says so in one sentence, without Java's stack."""
    ours, said, _ = failures["killed"]
    assert ours is False
    assert said.startswith("Spark gave up: org.apache.spark.SparkException: Job aborted due to stage failure: ")
    assert "Python worker exited unexpectedly" in said
    assert "PythonRunner.scala" not in said
    assert "Make room" not in said


@pytest.mark.parametrize("name", ["disk", "folder"])
def test_a_full_disk_comes_with_advice(failures: dict[str, tuple[bool, str, int]], name: str) -> None:
    """The words are those of the Java and the Spark that are installed."""
    ours, said, _ = failures[name]
    assert ours is False
    assert said.endswith("Make room, or let SPARK_LOCAL_DIRS name a folder that has some.")


def test_words_make_nothing_a_bug(failures: dict[str, tuple[bool, str, int]]) -> None:
    """A path that reads like the class of a task's exception is a path."""
    ours, said, _ = failures["words"]
    assert "PythonException" in said
    assert ours is False


def test_another_python_on_the_workers_is_one_sentence(failures: dict[str, tuple[bool, str, int]]) -> None:
    """Spark's own words without its stack, and 78: no retry changes it."""
    _, said, status = failures["other python"]
    version = ".".join(map(str, sys.version_info[:2]))
    assert said.startswith(
        f"Python in worker has different version: {version} than that in driver: 3.7.\nPYSPARK_PYTHON"
    )
    assert (said.count("\n"), status) == (1, 78)


def test_no_python_on_the_workers_is_one_sentence(failures: dict[str, tuple[bool, str, int]]) -> None:
    _, said, status = failures["no python"]
    assert said.startswith("The workers have no Python at /no/python.\nPYSPARK_PYTHON, or spark.pyspark.python, names ")
    assert (said.count("\n"), status) == (1, 78)


def test_a_jvm_that_ends_while_it_is_asked() -> None:
    """Nothing more can be known of it: a retry is worth it."""

    class Dead:
        def __getattr__(self, name: str) -> Any:
            raise Py4JNetworkError("Answer from Java side is empty")

    error = java_error(Dead(), "The JVM has ended.")
    assert is_of_a_task(error) is False
    assert str(spark_failed(error)).startswith("Spark gave up: The JVM has ended. The plan stays open")


def java_error(exception: Any, text: str) -> Any:
    from py4j.protocol import Py4JJavaError

    class Error(Py4JJavaError):  # type: ignore[misc]
        """The real one asks a JVM for its target."""

        def __init__(self) -> None:
            Exception.__init__(self, text)
            self.java_exception = exception

        def __str__(self) -> str:
            return text

    return Error()


def test_a_worker_without_memory_is_tried_again(failures: dict[str, tuple[bool, str, int]]) -> None:
    """Its Python is there; Java's words for errno 12 are taken from a machine that had no memory left."""
    _, said, status = failures["no memory"]
    assert "Cannot allocate memory" in said
    assert status == 75
