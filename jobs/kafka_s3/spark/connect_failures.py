"""What a Spark Connect server's failures are: a bug of ours in a task is raised as it is, the rest is said in words."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka_s3.errors import ConfigurationError, ExporterError, SparkUnavailable
from kafka_s3.spark.connect_server import ConnectServer
from kafka_s3.spark.reasons import gave_up, no_python

CONNECT_TIMEOUT_S: Final = 5
#: The names of gRPC's statuses. It was refused, and will be again:
_REFUSED: Final = frozenset(("UNAUTHENTICATED", "PERMISSION_DENIED"))
#: It did not answer, or it is another one than before, which knows nothing of the session:
_GONE: Final = frozenset(("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"))
#: Whose client the export is written for; those of Spark 3 are others.
OLDEST: Final = (4, 0)
#: Of Spark's own part of a worker: what ours cannot import it says itself, as its answer.
_NO_ARROW: Final = re.compile(r"^(?:ModuleNotFound|Import|[\w.]*PySparkImport)Error: (.+)$", re.M)
_LOST_SESSION: Final = "INVALID_HANDLE"


def check_reachable(server: ConnectServer) -> None:
    """Raise `SparkUnavailable` for a server that takes no connection: its client would try for a while."""
    try:
        socket.create_connection((server.host, server.port), CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise _unavailable(server, error.strerror or str(error)) from error


def check_versions(server: ConnectServer, theirs: str, ours: str) -> None:
    """Raise where the client, pyspark `ours`, is of another major version than the server's Spark or of a newer minor
    one: it asks for what such a server does not have.

    >>> check_versions(ConnectServer("spark"), "4.2.0", "4.0.4")
    >>> check_versions(ConnectServer("spark"), "4.0.5", "4.2.0")
    Traceback (most recent call last):
    ...
    kafka_s3.errors.ConfigurationError: sc://spark:15002 runs Spark 4.0.5, and its client here is pyspark 4.2.0: it \
may be older, but not newer.
    pip install 'pyspark-client==4.0.*', or pyspark where that is installed.
    """
    series, own = _series(theirs), _series(ours)
    if series[:1] == own[:1] and own <= series:
        return
    wanted = f"{'.'.join(map(str, series))}.*"
    raise ConfigurationError(
        f"{server} runs Spark {theirs}, and its client here is pyspark {ours}: it may be older, but not newer"
        f"{'' if series[:1] == own[:1] else ', and its first number has to be the same'}.",
        next=f"pip install 'pyspark-client=={wanted}', or pyspark where that is installed."
        if series >= OLDEST
        else f"The export needs a server of Spark {'.'.join(map(str, OLDEST))} or newer.",
    )


def _series(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, as far as they are any.

    >>> _series("4.0.5"), _series("4.1.0.dev1"), _series("")
    ((4, 0), (4, 1), ())
    """
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


@contextmanager
def in_words(server: ConnectServer) -> Iterator[None]:
    """Translate what Spark's client raises, but for an error of a task's code: a bug of ours, whose trace is wanted."""
    from pyspark.errors import PySparkException, PythonException

    try:
        yield
    except PySparkException as error:
        refused = no_python(str(error))
        if refused is not None:
            raise refused from None
        missing = _NO_ARROW.search(str(error))
        if isinstance(error, PythonException) and missing is not None:
            raise ConfigurationError(
                f"The workers of {server} have no Python for Arrow: {missing[1].rstrip('.')}.",
                next="Spark itself asks for pyarrow there. Install the engine, which brings it: pip install kafka-s3.",
            ) from None
        if isinstance(error, PythonException):
            raise
        raise _explained(server, error) from error


def _explained(server: ConnectServer, error: Exception) -> ExporterError:
    status, said = status_of(error), _details(error)
    if status in _REFUSED:
        return ConfigurationError(
            f"{server} refuses the connection: {said}.",
            next="Correct the token (the password of the Airflow connection, or SPARK_CONNECT_AUTHENTICATE_TOKEN).",
        )
    if status in _GONE or _LOST_SESSION in said:
        return _unavailable(server, said)
    return gave_up(said)


def status_of(error: Exception) -> str:
    """The name of gRPC's status; empty of an error that has none."""
    status = getattr(error, "getGrpcStatusCode", lambda: None)()
    return str(getattr(status, "name", ""))


def _details(error: Exception) -> str:
    """What went wrong, without gRPC's own frame and Java's stack."""
    text = str(error)
    for line in text.splitlines():
        name, equals, value = line.strip().partition(" = ")
        if name == "details" and equals:
            return value.strip('"').rstrip(".")
    return text.partition("\n\nJVM stacktrace:")[0].strip().rstrip(".")


def _unavailable(server: ConnectServer, why: str) -> SparkUnavailable:
    return SparkUnavailable(
        f"No Spark Connect server answers at {server}: {why}.",
        next="Start it, or correct the connection; the next try finishes what is planned.",
    )
