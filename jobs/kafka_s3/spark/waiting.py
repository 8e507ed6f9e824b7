"""An application that has no executor waits for one, for ever if need be: its driver says so, and what it asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError
from pyspark import SparkContext

#: An executor is there within seconds, on Kubernetes within a minute.
EVERY_S: Final = 60.0


@contextmanager
def telling_of_no_executor(
    context: SparkContext, tell: Callable[[str], None], every_s: float = EVERY_S
) -> Iterator[None]:
    """While jobs wait and no executor is there, `tell` is told so once in a while."""
    if str(context.master).startswith("local"):
        yield
        return
    ended = threading.Event()

    def look_again() -> None:
        while not ended.wait(every_s):
            try:
                said = no_executor(context)
            except (Py4JError, OSError):  # the JVM ends
                return
            if said is not None:
                tell(said)

    thread = threading.Thread(target=look_again, name="kafka-s3-waiting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def no_executor(context: SparkContext) -> str | None:
    """What an application waits for that has jobs and no executor; `None` of any other."""
    jsc = context._jsc
    if jsc is None or not context.statusTracker().getActiveJobsIds():
        return None
    if jsc.sc().getExecutorMemoryStatus().size() > 1:  # the driver is among them
        return None
    conf = context.getConf()
    memory = conf.get("spark.executor.memory") or "1g"
    cores = conf.get("spark.executor.cores")
    asked = f"{memory} of memory" + (f" and {cores} cores" if cores else "")
    return (
        f"Spark has given this run no executor yet; it asks for {asked} in each. The cluster is busy, or no worker has"
        " so much (export.spark.conf.spark.executor.memory), or executors end as they start: its page says which."
    )
