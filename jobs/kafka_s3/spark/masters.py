"""What is wrong with a Spark master is found before Spark waits for it: in one sentence, and at once."""

from __future__ import annotations

import math
import re
import socket
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import urlsplit

from kafka_s3.errors import ConfigurationError, SparkUnavailable

CONNECT_TIMEOUT_S: Final = 5
_STANDALONE: Final = "spark://"
_KUBERNETES: Final = "k8s://"
_IMAGES: Final = ("spark.kubernetes.executor.container.image", "spark.kubernetes.container.image")
_KNOWN: Final = re.compile(r"local(\[[^]]*\])?|local-cluster\[.*\]|yarn|(spark|k8s)://.+")
_IN_KUBERNETES: Final = (
    "export.spark.conf.spark.kubernetes.container.image=… in the connector file. The pods need this engine too, from"
    " the image or from an archive (docs/install/airflow.md)."
)

Conf = Callable[[str], str | None]


def check_master(master: str, conf: Conf) -> None:
    """Raise for a master that no application can be started on. `conf`: Spark's configuration by name.

    A standalone Master or an API server that does not take a connection is `SparkUnavailable`: Spark itself goes on for
    a minute as if it had one.
    """
    if not _KNOWN.fullmatch(master):
        raise ConfigurationError(
            f"Spark has no master {master!r}.",
            next="It is local[N], spark://HOST:PORT, yarn or k8s://https://HOST:PORT.",
        )
    if master.startswith(_KUBERNETES) and not any(conf(name) for name in _IMAGES):
        raise ConfigurationError(
            f"Spark on {master} starts its executors from an image, and spark.kubernetes.container.image is not set.",
            next=f"Set it: {_IN_KUBERNETES}",
        )
    addresses = list(_addresses(master))
    said = [_connection_error(*address) for address in addresses]
    if said and all(said):
        raise SparkUnavailable(
            f"No Spark master answers at {master}: {said[0]}.",
            next="Start it, or correct the connection; the next try finishes what is planned.",
        )


def _addresses(master: str) -> Iterator[tuple[str, int]]:
    """Where Spark will connect to; several Masters of one cluster are `spark://A:1,B:1`."""
    if master.startswith(_KUBERNETES):
        rest = master.removeprefix(_KUBERNETES)
        urls, port = [rest if "://" in rest else f"https://{rest}"], None
    elif master.startswith(_STANDALONE):
        urls, port = [f"{_STANDALONE}{each}" for each in master.removeprefix(_STANDALONE).split(",")], 7077
    else:
        return
    for url in urls:
        try:
            parts = urlsplit(url)
            host, given = parts.hostname, parts.port
        except ValueError as error:
            raise ConfigurationError(f"Spark has no master {master!r}: {error}.") from error
        if not host:
            raise ConfigurationError(f"Spark has no master {master!r}: it names no host.")
        yield host, given or port or (80 if parts.scheme == "http" else 443)


def _connection_error(host: str, port: int) -> str | None:
    try:
        socket.create_connection((host, port), CONNECT_TIMEOUT_S).close()
    except OSError as error:
        return f"{host}:{port}: {error.strerror or error}"
    return None


def cores_max(master: str, tasks_max: int, conf: Conf) -> str | None:
    """`spark.cores.max` of an application that runs `tasks_max` tasks at once; `None`: it is set, or of no use.

    A standalone Master gives an application every core that is free unless it is bounded, and starts no executor at
    all where the bound is below one executor's cores: it is a multiple of these.

    >>> cores_max("spark://master:7077", 3, {"spark.executor.cores": "2", "spark.task.cpus": "1"}.get)
    '4'
    >>> cores_max("spark://master:7077", 3, {"spark.cores.max": "1"}.get)
    >>> cores_max("local[2]", 3, {}.get)
    """
    if not master.startswith(_STANDALONE) or conf("spark.cores.max"):
        return None
    cpus, executor = (_number(conf(name)) for name in ("spark.task.cpus", "spark.executor.cores"))
    return str(math.ceil(tasks_max * cpus / executor) * executor)


def _number(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"[0-9]{1,6}", text.strip()) and int(text) else 1
