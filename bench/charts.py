"""What charts cost the api-server: reading commits for them, and summing those that are kept.

A real store on this machine, read as the page reads it. Printed, never asserted:

    .venv/bin/python -m bench.charts [COMMITS]
"""

import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

from bench.output import console
from kafka_s3_airflow.page.charts import charted, window_of
from kafka_s3_airflow.page.commit_facts import CHUNK, Facts, FactsKept, chunk_of, read_facts
from kafka_s3_airflow.page.history import History, Rows
from tools.long_log import HOUR_MS, write_log
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer, VersityGateway
from tools.showcase import Showcase

COMMITS = 1_000
LONG = 100_000


def charts(commits: int = COMMITS) -> None:
    """Print the figures."""
    server = MotoServer if VersityGateway.available() else VersityGateway
    with tempfile.TemporaryDirectory() as name, KafkaBroker() as kafka, server() as store:
        show = Showcase(Path(name), kafka, store)
        show.connector("shared")
        write_log(show.log("shared"), commits, topic="shared")
        history, kept = History(show.log("shared"), Rows(), "bench"), FactsKept()

        def read() -> Facts:
            return read_facts(history, kept, 0, commits, commits)

        spent(f"{commits:,} commits read for the first time", read)
        spent("the same again", read)
        chunk = chunk_of(history.page(CHUNK, CHUNK).rows)
    now_ms = chunk.newest_ms or 0
    facts = Facts((chunk,) * (LONG // CHUNK), LONG, LONG, True)
    for per in ("hour", "day", "month"):
        window = window_of(per, UTC, None, None, now_ms + HOUR_MS)
        assert window is not None
        spent(f"{LONG:,} commits that are kept, per {per}", lambda window=window: charted(facts, window))  # type: ignore[misc]


def spent(what: str, do: Callable[[], Any]) -> None:
    began, before = time.perf_counter(), time.process_time()
    do()
    console.print(f"{what}: {time.process_time() - before:.2f} CPU s, {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    charts(*map(int, sys.argv[1:]))
