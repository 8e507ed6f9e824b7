"""What Spark's own failures are: whether one is a bug of ours, and what to say of it where it is not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError

from kafka_s3.errors import ConfigurationError, SparkFailed
from kafka_s3.spark.reasons import gave_up, no_python

#: The class by which Spark passes on what Python code of a task raised, in Spark 3 and 4.
_OF_A_TASK: Final = "org.apache.spark.api.python.PythonException"
_CAUSES_MAX: Final = 20


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
    return gave_up(_said(error))


def refused_python(error: Py4JError) -> ConfigurationError | None:
    """The workers' Python cannot run the driver's tasks, which no retry changes; `None` for any other failure."""
    return no_python(_said(error))


def _said(error: Py4JError) -> str:
    if isinstance(error, Py4JJavaError):
        try:
            return str(error.java_exception.toString())
        except (Py4JError, OSError):  # the JVM ends while it is asked
            pass
    return str(error)
