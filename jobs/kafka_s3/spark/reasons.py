"""Failures in Spark's own words, as sentences of ours: the driver's JVM and Spark Connect have the same ones."""

from __future__ import annotations

import itertools
import re
from typing import Final

from kafka_s3.errors import ConfigurationError, SparkFailed

#: How a full disk of Spark's temporary files shows: Java and Spark have no class of its own for it. It decides nothing,
#: but adds a sentence of advice. tests/spark/test_failures.py has the first two from the real ones.
_FULL_DISK: Final = (
    "No space left on device",
    "Failed to create a temp directory",
    "Failed to get a temp directory",
    "any local dir",
)
_STACK: Final = ("\tat ", "Driver stacktrace", "JVM stacktrace:")
#: How Spark says that a worker has no Python to start, or another one than the driver: it has no classes for them.
#: Java adds errno: a program that is not there (2) or not allowed (13) stays so, and memory (12) may be free again.
_NO_PYTHON: Final = re.compile(r'Cannot run program "([^"]*)"[^\n]*\berror(?:=|: )(?:2|13)\b')
_OTHER_PYTHON: Final = re.compile(r"\[PYTHON_VERSION_MISMATCH\] ([^\n]*?version[^\n,]*)")


def gave_up(said: str) -> SparkFailed:
    """Spark's failure in its own words, without Java's stack."""
    lines = itertools.takewhile(lambda line: not line.startswith(_STACK), said.splitlines())
    reason = " ".join(filter(None, map(str.strip, lines))).rstrip(".")
    is_full = any(sign in said for sign in _FULL_DISK)
    room = " Make room, or let SPARK_LOCAL_DIRS name a folder that has some." if is_full else ""
    return SparkFailed(f"Spark gave up: {reason}.", next=f"The plan stays open: the next try finishes it.{room}")


def no_python(said: str) -> ConfigurationError | None:
    """The workers' Python cannot run the driver's tasks, which no retry changes; `None` for any other failure."""
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
