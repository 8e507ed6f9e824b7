"""Groups of ranges, a job of Spark's each, wherever that Spark is: as many at once as `tasks.max` says."""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from kafka_s3.errors import ConfigurationError
from kafka_s3.fair_pool import FairPool
from kafka_s3.ordered_pool import workers
from kafka_s3.plan.results import RangeResult, Task
from kafka_s3.settings.model import Settings
from kafka_s3.settings.run import Limits
from kafka_s3.signing import NO_KEY
from kafka_s3.spark.workers import Answer, results_of

#: Spark writes a task's closure of more than 1 MiB to a file, and ours holds secrets; the rest is for the functions.
SETTINGS_BYTES_MAX: Final = 896 * 1024

#: Is told which ranges have ended, from several threads.
Done = Callable[[Sequence[RangeResult]], None]


def settings_for_workers(settings: Settings) -> Settings:
    """What travels to the workers; raises `ConfigurationError` for settings of more than SETTINGS_BYTES_MAX."""
    size = len(pickle.dumps(settings))
    if size > SETTINGS_BYTES_MAX:
        raise ConfigurationError(
            f"The settings take {size} bytes. Spark would write more than {SETTINGS_BYTES_MAX} to a file, secrets "
            "included.",
            next="Shorten what is long in them: leave the documentation out of export.value.schema.file, say.",
        )
    return replace(settings, log_key=NO_KEY)  # the driver alone writes plans and the log


def in_groups(
    tasks: Sequence[Task], limits: Limits, work: Callable[[Sequence[Task]], Answer], done: Done, shared: FairPool | None
) -> list[RangeResult]:
    """The results of all tasks, of which `work` does a group at a time. `shared`: threads of several connectors.

    A job for each group, from as many threads as there may be tasks: so a group's results come as it ends, and whatever
    is next goes to the first that is free.
    """
    groups = balance(tasks, limits.tasks_max, limits.range_records_max)

    def execute(group: Sequence[Task]) -> Answer:
        answer = work(group)
        if not isinstance(answer, str):
            done(answer)
        return answer

    if shared is not None:
        return results_of(groups, shared.map(execute, groups, limits.tasks_max))
    with workers(min(limits.tasks_max, len(groups))) as pool:
        return results_of(groups, list(pool.map(execute, groups)))


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
