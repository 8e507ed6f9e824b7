"""Ranges as Spark tasks: groups of them out, results back. Records never cross the JVM."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from py4j.protocol import Py4JError
from pyspark import SparkContext

from kafka_s3.adapters.known_schemas import NOTHING_KNOWN, Known
from kafka_s3.errors import EXIT_CONFIGURATION, ConfigurationError
from kafka_s3.plan.results import Failure, RangeResult, Task
from kafka_s3.settings.model import Settings
from kafka_s3.signing import NO_KEY
from kafka_s3.spark.failures import is_of_a_task, spark_failed
from kafka_s3.spark.fingerprint import fingerprint
from kafka_s3.wiring import ask_registries, export_ranges, make_registries

#: Spark writes a task's closure of more than 1 MiB to a file, and ours holds secrets; the rest is for the functions.
SETTINGS_BYTES_MAX: Final = 896 * 1024


class SparkExecute:
    """Executes ranges as Spark tasks, `tasks.max` at once.

    Raises `ConfigurationError` for settings of more than SETTINGS_BYTES_MAX.
    """

    def __init__(self, context: SparkContext, settings: Settings) -> None:
        size = len(pickle.dumps(settings))
        if size > SETTINGS_BYTES_MAX:
            raise ConfigurationError(
                f"The settings take {size} bytes. Spark would write more than {SETTINGS_BYTES_MAX} to a file, secrets "
                "included.",
                next="Shorten what is long in them: leave the documentation out of export.value.schema.file, say.",
            )
        self._context = context
        self._settings = replace(settings, log_key=NO_KEY)  # the driver alone writes plans and the log
        self._registries = make_registries(settings)

    def __call__(self, tasks: Sequence[Task]) -> list[RangeResult]:
        groups = balance(tasks, self._settings.limits.tasks_max)
        settings, driver = self._settings, fingerprint()
        known = ask_registries(settings, self._registries, tasks)
        # The closure holds the settings, secrets included; groups and schemas, which Spark writes to files, hold none.
        schemas = self._context.broadcast(known) if known != NOTHING_KNOWN else None
        results = self._context.parallelize(groups, len(groups)).map(
            lambda group: work(settings, driver, group, schemas.value if schemas is not None else NOTHING_KNOWN)
        )
        try:
            return [result for group in results.collect() for result in group]
        except Py4JError as error:
            if is_of_a_task(error):
                raise
            raise spark_failed(error) from error


def work(settings: Settings, driver: str, tasks: Sequence[Task], known: Known = NOTHING_KNOWN) -> list[RangeResult]:
    """One Spark task: the ranges of one group, one after the other."""
    worker = fingerprint()
    if worker != driver:
        reason = f"the worker has engine {worker}, the driver {driver}: install the same kafka-s3 on both"
        return [RangeResult(task.planned, None, Failure(reason, EXIT_CONFIGURATION)) for task in tasks]
    return export_ranges(settings, tasks, known)


def balance(tasks: Sequence[Task], groups_max: int) -> list[list[Task]]:
    """At most `groups_max` groups of about the same number of offsets: the largest range to the emptiest group."""
    groups: list[list[Task]] = [[] for _ in range(min(groups_max, len(tasks)))]
    sizes = [0] * len(groups)
    for task in sorted(tasks, key=lambda task: task.planned.end - task.planned.start, reverse=True):
        emptiest = sizes.index(min(sizes))
        groups[emptiest].append(task)
        sizes[emptiest] += task.planned.end - task.planned.start
    return groups


def spark_context(settings: Settings) -> SparkContext:
    context = SparkContext(appName=f"kafka-s3 {settings.name}")
    context.setLogLevel("WARN")
    return context
