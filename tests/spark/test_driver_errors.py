"""What the driver says where the JVM beside it fails, without a JVM."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JError

from kafka_s3.errors import EXIT_TEMPORARY
from kafka_s3.spark import driver
from tests.support import make_settings

ARGUMENTS = ["--connector", "/connectors/orders.properties", "--run-id", "r"]
FULL = (
    "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n: java.io.IOException: Failed to"
    " create a temp directory (under /full) after 10 attempts!\n\tat org.apache.spark.util.Utils.create(Utils.scala)\n"
)


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Any:
    def fail_with(text: str) -> None:
        def context(_: object) -> Any:
            raise Py4JError(text)

        monkeypatch.setattr(driver, "die_with_parent", lambda: None)
        monkeypatch.setattr(driver, "_settings", lambda _: make_settings())
        monkeypatch.setattr(driver, "_context", context)

    return fail_with


def test_a_full_disk_of_sparks_is_a_sentence(fail: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """SPARK_LOCAL_DIRS names a folder without room: a retry is worth it, no trace, and what to do."""
    fail(FULL)
    assert driver.main(ARGUMENTS) == EXIT_TEMPORARY
    said = capfd.readouterr().err
    assert "Failed to create a temp directory (under /full)" in said
    assert "let SPARK_LOCAL_DIRS name a folder" in said
    assert "Traceback" not in said
    assert "Utils.scala" not in said


def test_a_bug_in_a_task_is_no_sentence(fail: Any) -> None:
    """What a task raised is ours, and its trace is wanted."""
    fail("PythonException: Traceback …")
    with pytest.raises(Py4JError):
        driver.main(ARGUMENTS)
