"""Ranges as tasks of an application that spark-submit started. Records never cross the JVM."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext

from kafka_s3.adapters.known_schemas import NOTHING_KNOWN
from kafka_s3.fair_pool import FairPool
from kafka_s3.plan.results import RangeResult, Task
from kafka_s3.settings.model import Settings
from kafka_s3.spark import told
from kafka_s3.spark.balance import Done, in_groups, settings_for_workers
from kafka_s3.spark.encryption import in_clear
from kafka_s3.spark.failures import is_of_a_task, refused_python, spark_failed
from kafka_s3.spark.masters import check_master, cores_max
from kafka_s3.spark.waiting import telling_of_no_executor
from kafka_s3.spark.workers import Answer, on_a_worker
from kafka_s3.wiring import ask_registries, make_registries

#: A group of ranges below this is in the closure too: about a thousand ranges. A larger one takes a file.
GROUP_BYTES_MAX: Final = 64 * 1024


class SparkExecute:
    """Executes ranges as Spark tasks, `tasks.max` at once. `done` is told which have ended, from several threads.

    `shared`: threads that other connectors have their turns in too; Spark shares its executors between them as well.

    Raises `ConfigurationError` for settings that are too large (`settings_for_workers`).
    """

    def __init__(
        self, context: SparkContext, settings: Settings, done: Done = lambda _: None, shared: FairPool | None = None
    ) -> None:
        self._settings = settings_for_workers(settings)
        self._context = context
        self._done = done
        self._shared = shared
        self._registries = make_registries(settings)

    def __call__(self, tasks: Sequence[Task]) -> list[RangeResult]:
        known = ask_registries(self._settings, self._registries, tasks)
        # The closure holds the settings, secrets included; schemas and groups, which may go through files, hold none.
        schemas = self._context.broadcast(known) if known != NOTHING_KNOWN else None
        work = on_a_worker(self._settings, schemas)

        def execute(group: Sequence[Task]) -> Answer:
            if self._shared is not None:
                self._context.setLocalProperty("spark.scheduler.pool", self._settings.name)
            pickled = pickle.dumps(group)
            if len(pickled) <= GROUP_BYTES_MAX:  # no file: a run needs no room for temporary ones
                answers = self._context.parallelize(range(1), 1).map(lambda _: work(pickled))
            else:
                answers = self._context.parallelize([pickled], 1).map(work)
            answer: Answer = answers.collect()[0]
            return answer

        try:
            return in_groups(tasks, self._settings.limits, execute, self._done, self._shared)
        except Py4JError as error:
            refused = refused_python(error)
            if refused is not None:
                raise refused from None
            if is_of_a_task(error):
                raise
            raise spark_failed(error) from error


@dataclass(frozen=True, slots=True)
class Submitted:
    """The application that spark-submit started, of which this process is the driver."""

    context: SparkContext

    @property
    def name(self) -> str:
        return str(self.context.applicationId)

    @property
    def warning(self) -> str | None:
        return in_clear(str(self.context.master), self.context.getConf().get)

    def execute(self, settings: Settings, done: Done, shared: FairPool | None = None) -> SparkExecute:
        return SparkExecute(self.context, settings, done, shared)


@contextmanager
def submitted(name: str, tasks_max: int, *, fair: bool = False) -> Iterator[Submitted]:
    """The application, until its end. Failures of the JVM itself, outside any task, are `SparkFailed`."""
    try:
        with (
            spark_context(name, tasks_max, fair=fair) as context,
            telling_of_no_executor(context, told.beside),
        ):
            yield Submitted(context)
    except Py4JError as error:  # its disk is full, it has ended
        if is_of_a_task(error):
            raise
        raise spark_failed(error) from error


def spark_context(name: str, tasks_max: int, *, fair: bool = False) -> SparkContext:
    """An application on the master that spark-submit was given; raises at once where there is none.

    `fair`: jobs of several connectors share the executors, each connector as much as another.
    """
    SparkContext._ensure_initialized()  # so that SparkConf has what spark-submit was given
    conf = SparkConf().setAppName(f"kafka-s3 {name}")
    master = conf.get("spark.master") or "local[*]"
    check_master(master, conf.get)
    cores = cores_max(master, tasks_max, conf.get)
    if cores is not None:
        conf.set("spark.cores.max", cores)
    if fair:
        conf.set("spark.scheduler.mode", "FAIR")
    context = SparkContext(conf=conf)
    context.setLogLevel("WARN")
    return context
