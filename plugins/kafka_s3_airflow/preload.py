"""What tasks import, imported once in the process that they are forked from.

Airflow forks a process for each task of the LocalExecutor, and for each parse of a DAG file, from one that stays. What
that one has imported they have at once, and share its memory. So it imports what every one of them would.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

from airflow.listeners import hookimpl

#: What a file of DAGs imports.
OF_DAGS: Final = ("kafka_s3_airflow.dags",)
#: What tasks import, each when it runs.
OF_TASKS: Final = (
    "kafka_s3.export.diagnosis",
    "kafka_s3.export.run",
    "kafka_s3.publish.completeness",
    "kafka_s3.wiring",
    "kafka_s3_airflow.connections",
    "kafka_s3_airflow.group_tasks",
    "kafka_s3_airflow.tasks",
    "boto3",
    "confluent_kafka",
    "confluent_kafka.admin",
)


class PreloadListener:
    """What Airflow calls when a process of its starts."""

    @hookimpl
    def on_starting(self, component: object) -> None:
        """The `Job` of a scheduler or a dag-processor comes before anything is forked; a task's own process, which is
        told too, imports what it needs itself."""
        if type(component).__name__ == "Job":
            from airflow.configuration import conf

            preload(OF_DAGS)
            if "scheduler" in sys.argv[1:2] and "LocalExecutor" in str(conf.get("core", "executor")):
                preload(OF_TASKS)


def preload(names: Iterable[str]) -> list[Any]:
    """The modules that could be imported. The others a task misses, and says so in its own log."""
    found = []
    for name in names:
        with contextlib.suppress(Exception):
            found.append(import_module(name))
    return found
