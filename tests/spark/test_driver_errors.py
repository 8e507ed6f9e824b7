"""What the driver says where the JVM beside it fails, without a JVM."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JError

from kafka_s3.errors import EXIT_TEMPORARY
from kafka_s3.events import ProblemReported, RunEnded, from_line
from kafka_s3.spark import driver, execute
from tests.support import make_settings

ARGUMENTS = ["--connector", "/connectors/orders.properties", "--run-id", "r"]
FULL = (
    "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n: java.io.IOException: Failed to"
    " create a temp directory (under /full) after 10 attempts!\n\tat org.apache.spark.util.Utils.create(Utils.scala)\n"
)


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Any:
    def fail_with(error: Py4JError) -> None:
        def context(*_: object, **__: object) -> Any:
            raise error

        monkeypatch.setattr(driver, "die_with_parent", lambda: None)
        monkeypatch.setattr(driver, "_settings", lambda _: make_settings())
        monkeypatch.setattr(execute, "spark_context", context)

    return fail_with


def test_a_full_disk_of_sparks_is_a_sentence(fail: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """SPARK_LOCAL_DIRS names a folder without room: a retry is worth it, no trace, and what to do."""
    fail(Py4JError(FULL))
    assert driver.main(ARGUMENTS) == EXIT_TEMPORARY
    said = capfd.readouterr().err
    assert "Failed to create a temp directory (under /full)" in said
    assert "let SPARK_LOCAL_DIRS name a folder" in said
    assert "Traceback" not in said
    assert "Utils.scala" not in said


def test_a_bug_in_a_task_is_no_sentence(
    fail: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a task raised is ours, and its trace is wanted."""
    monkeypatch.setattr(execute, "is_of_a_task", lambda _: True)  # test_failures.py has the real ones
    fail(Py4JError("Traceback …"))
    with pytest.raises(Py4JError):
        driver.main(ARGUMENTS)
    assert capfd.readouterr().out == ""


def test_a_failure_is_told_as_events(fail: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """With --events=json: what went wrong and the exit status, a line each, and nothing on standard error."""
    fail(Py4JError(FULL))
    assert driver.main([*ARGUMENTS, "--events=json"]) == EXIT_TEMPORARY
    said = capfd.readouterr()
    problem, ended = map(from_line, said.out.splitlines())
    assert isinstance(problem, ProblemReported)
    assert "let SPARK_LOCAL_DIRS name a folder" in problem.what
    assert ended == RunEnded(exit_status=EXIT_TEMPORARY)
    assert said.err == ""
