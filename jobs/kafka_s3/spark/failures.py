"""What Spark's own failures are: whether one is a bug of ours, and what to say of it where it is not."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError

from kafka_s3.errors import ConfigurationError, SparkFailed

#: The class by which Spark passes on what Python code of a task raised, in Spark 3 and 4.
_OF_A_TASK: Final = "org.apache.spark.api.python.PythonException"
#: How a full disk of Spark's temporary files shows: Java and Spark have no class of its own for it. It decides nothing,
#: but adds a sentence of advice. tests/spark/test_failures.py has the first two from the real ones.
_FULL_DISK: Final = (
    "No space left on device",
    "Failed to create a temp directory",
    "Failed to get a temp directory",
    "any local dir",
)
_CAUSES_MAX: Final = 20
#: How Spark says that a worker has no Python to start, or another one than the driver: it has no classes for them.
#: Java adds errno: a program that is not there (2) or not allowed (13) stays so, and memory (12) may be free again.
_NO_PYTHON: Final = re.compile(r'Cannot run program "([^"]*)"[^\n]*\berror(?:=|: )(?:2|13)\b')
_OTHER_PYTHON: Final = re.compile(r"\[PYTHON_VERSION_MISMATCH\] ([^\n]*?version[^\n,]*)")


def is_of_a_task(error: Py4JError) -> bool:
    """Whether Python code raised it in a task: a bug of ours, whose trace is wanted."""
    try:
        return any(cause.getClass().getName() == _OF_A_TASK for cause in itertools.islice(_causes(error), _CAUSES_MAX))
    except (Py4JError, OSError):  # the JVM ends while it is asked
        return False


def _causes(error: Py4JError) -> Iterator[Any]:
    """The Java exceptions behind an error, the outermost first; none of one that Java did not raise."""
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None:
        yield cause
        cause = cause.getCause()


def spark_failed(error: Py4JError) -> SparkFailed:
    """Spark's failure in its own words, without Java's stack.

    >>> print(spark_failed(Py4JError("The JVM has ended.\\n\\tat a.B")))
    Spark gave up: The JVM has ended. The plan stays open: the next try finishes it.
    """
    said = _said(error)
    lines = itertools.takewhile(lambda line: not line.startswith(("\tat ", "Driver stacktrace")), said.splitlines())
    reason = " ".join(filter(None, map(str.strip, lines))).rstrip(".")
    is_full = any(sign in said for sign in _FULL_DISK)
    room = " Make room, or let SPARK_LOCAL_DIRS name a folder that has some." if is_full else ""
    return SparkFailed(f"Spark gave up: {reason}.", next=f"The plan stays open: the next try finishes it.{room}")


def refused_python(error: Py4JError) -> ConfigurationError | None:
    """The workers' Python cannot run the driver's tasks, which no retry changes; `None` for any other failure."""
    said = _said(error)
    other = _OTHER_PYTHON.search(said)
    if other is not None:
        return ConfigurationError(
            f"{other[1]}.",
            next="PYSPARK_PYTHON, or spark.pyspark.python, names the workers' Python: its first two numbers have to be"
            " the driver's (docs/install/airflow.md).",
        )
    missing = _NO_PYTHON.search(said)
    if missing is not None:
        return ConfigurationError(
            f"The workers have no Python at {missing[1]}.",
            next="PYSPARK_PYTHON, or spark.pyspark.python, names theirs (docs/install/airflow.md).",
        )
    return None


def _said(error: Py4JError) -> str:
    if isinstance(error, Py4JJavaError):
        try:
            return str(error.java_exception.toString())
        except (Py4JError, OSError):  # the JVM ends while it is asked
            pass
    return str(error)
