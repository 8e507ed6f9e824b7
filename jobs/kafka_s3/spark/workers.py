"""What a Spark worker does first: it says whether it has this engine, before anything of the engine is unpickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kafka_s3.errors import EXIT_CONFIGURATION, ConfigurationError
from kafka_s3.plan.results import Failure, RangeResult, Task
from kafka_s3.settings.model import Settings
from kafka_s3.spark.fingerprint import fingerprint

if TYPE_CHECKING:
    from pyspark import Broadcast

    from kafka_s3.adapters.known_schemas import Known

#: What is said to whoever has workers that cannot do the work.
WAY_OUT = (
    "`kafka-s3 bundle` makes an archive of this engine that workers take from the driver, or install it on each of"
    " them: pip install 'kafka-s3[executor]'. docs/install/airflow.md has both."
)
#: What a worker gives back: the results of a group of ranges, or why it has not begun.
Answer = list[RangeResult] | str


def on_a_worker(settings: Settings, schemas: Broadcast[Known] | None) -> Callable[..., Answer]:
    """The function that does a pickled group of ranges, or says in one sentence why this worker cannot.

    cloudpickle sends a nested function whole, and everything else by name: so nothing of this package is named before
    it was found, and groups and settings are bytes until the worker is known to have the same engine. So are schemas
    that come with a group, where nothing can be broadcast.
    """
    driver, pickled = fingerprint(), pickle.dumps(settings)

    def work(group: bytes, pickled_schemas: bytes | None = None) -> Answer:
        import pickle
        import socket
        import sys

        version = ".".join(map(str, sys.version_info[:3]))
        where = f"{socket.gethostname()} ({sys.executable}, Python {version})"
        try:
            from kafka_s3.spark import fingerprint as engine

            if engine.fingerprint() != driver:
                return f"{where} has engine {engine.fingerprint()}, the driver {driver}."
            from kafka_s3.adapters.known_schemas import NOTHING_KNOWN
            from kafka_s3.wiring import export_ranges

            known = NOTHING_KNOWN if schemas is None else schemas.value
            if pickled_schemas is not None:
                known = pickle.loads(pickled_schemas)  # noqa: S301  # the driver's own, as what follows
            return export_ranges(pickle.loads(pickled), pickle.loads(group), known)  # noqa: S301  # the driver's own
        except ImportError as error:
            return f"{where} cannot import what the engine needs: {error}."

    return work


def results_of(groups: Sequence[Sequence[Task]], answers: Sequence[Answer]) -> list[RangeResult]:
    """The results of all ranges; `ConfigurationError` where no worker could begin.

    Where some could, the ranges of the others have failed, and what was exported is committed.
    """
    refusals = [answer for answer in answers if isinstance(answer, str)]
    if refusals and len(refusals) == len(answers):
        raise ConfigurationError(f"No worker can export: {refusals[0]}", next=WAY_OUT)
    results: list[RangeResult] = []
    for group, answer in zip(groups, answers, strict=True):
        if isinstance(answer, str):
            failure = Failure(f"the worker {answer} {WAY_OUT}", EXIT_CONFIGURATION)
            results += [RangeResult(task.planned, None, failure) for task in group]
        else:
            results += answer
    return results
