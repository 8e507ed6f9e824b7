"""Ranges as Spark tasks: groups of them out, results back. Records never cross the JVM."""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext

from kafka_s3.adapters.known_schemas import NOTHING_KNOWN
from kafka_s3.errors import ConfigurationError
from kafka_s3.fair_pool import FairPool
from kafka_s3.ordered_pool import workers
from kafka_s3.plan.results import RangeResult, Task
from kafka_s3.settings.model import Settings
from kafka_s3.signing import NO_KEY
from kafka_s3.spark.failures import is_of_a_task, refused_python, spark_failed
from kafka_s3.spark.masters import check_master, cores_max
from kafka_s3.spark.workers import Answer, on_a_worker, results_of
from kafka_s3.wiring import ask_registries, make_registries

#: Spark writes a task's closure of more than 1 MiB to a file, and ours holds secrets; the rest is for the functions.
SETTINGS_BYTES_MAX: Final = 896 * 1024
#: A group of ranges below this is in the closure too: about a thousand ranges. A larger one takes a file.
GROUP_BYTES_MAX: Final = 64 * 1024


class SparkExecute:
    """Executes ranges as Spark tasks, `tasks.max` at once. `done` is told which have ended, from several threads.

    `shared`: threads that other connectors have their turns in too; Spark shares its executors between them as well.

    Raises `ConfigurationError` for settings of more than SETTINGS_BYTES_MAX.
    """

    def __init__(
        self,
        context: SparkContext,
        settings: Settings,
        done: Callable[[Sequence[RangeResult]], None] = lambda _: None,
        shared: FairPool | None = None,
    ) -> None:
        size = len(pickle.dumps(settings))
        if size > SETTINGS_BYTES_MAX:
            raise ConfigurationError(
                f"The settings take {size} bytes. Spark would write more than {SETTINGS_BYTES_MAX} to a file, secrets "
                "included.",
                next="Shorten what is long in them: leave the documentation out of export.value.schema.file, say.",
            )
        self._context = context
        self._done = done
        self._shared = shared
        self._settings = replace(settings, log_key=NO_KEY)  # the driver alone writes plans and the log
        self._registries = make_registries(settings)

    def __call__(self, tasks: Sequence[Task]) -> list[RangeResult]:
        limits = self._settings.limits
        groups = balance(tasks, limits.tasks_max, limits.range_records_max)
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
            if not isinstance(answer, str):
                self._done(answer)
            return answer

        # A job for each group, from as many threads as there may be tasks: so a group's results come as it ends, and
        # whatever is next goes to the first that is free.
        try:
            if self._shared is not None:
                return results_of(groups, self._shared.map(execute, groups, limits.tasks_max))
            with workers(min(limits.tasks_max, len(groups))) as pool:
                return results_of(groups, list(pool.map(execute, groups)))
        except Py4JError as error:
            refused = refused_python(error)
            if refused is not None:
                raise refused from None
            if is_of_a_task(error):
                raise
            raise spark_failed(error) from error


def balance(tasks: Sequence[Task], at_once: int, offsets_max: int) -> list[list[Task]]:
    """Groups of about the same number of offsets, the largest first: one for each task that may run at once, or as many
    as it takes for `offsets_max` offsets each. A group costs a job of Spark's, so small ranges share one."""
    sizes = [task.planned.end - task.planned.start for task in tasks]
    count = min(len(tasks), max(at_once, -(-sum(sizes) // offsets_max)))
    groups: list[tuple[int, int, list[Task]]] = [(0, number, []) for number in range(count)]
    for size, task in sorted(zip(sizes, tasks, strict=True), key=lambda each: each[0], reverse=True):
        filled, number, group = groups[0]  # the emptiest
        group.append(task)
        heapq.heapreplace(groups, (filled + size, number, group))
    return [group for _, _, group in sorted(groups, key=lambda each: (-each[0], each[1]))]


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
