"""1,000 requests of a read-only user while a store hangs: how long another route of Airflow's api-server takes.

A real api-server, and a store that takes requests and never answers. The crowd is a process of its own, so that what it
costs is not timed. Printed, never asserted:

    .venv/bin/python -m bench.flood
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil

from bench.output import console, spread
from tools.crowd import Crowd, everything, in_a_process
from tools.parts.airflow import Airflow
from tools.parts.hanging import HangingServer
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer
from tools.showcase import Showcase

REQUESTS = 1_000
ALONE = 30
SLOW_S = 1.0
OTHER = "/api/v2/version"


def flood(requests: int = REQUESTS) -> None:
    """Print the figures."""
    with (
        tempfile.TemporaryDirectory() as name,
        KafkaBroker() as kafka,
        MotoServer() as store,
        HangingServer() as hanging,
    ):
        folder = Path(name)
        (folder / "connectors").mkdir()
        show = Showcase(folder / "connectors", kafka, store)
        show.connector("orders", {"store.url": hanging.url})
        with Airflow(show.environment(folder / "airflow"), triggerer=False, others={"reader": "viewer"}) as airflow:
            _wait_for_dag(airflow)
            reader = Crowd(airflow.url, _token(airflow, "reader"))
            asyncio.run(reader.ask("/kafka-s3/"))  # the first request imports the page
            alone = asyncio.run(_timed(reader, lambda taken: taken < ALONE))
            server = psutil.Process(airflow._processes[0].pid)
            before = _threads(server)
            with in_a_process(airflow.url, reader.token, everything("orders", requests)) as answered:
                began = time.perf_counter()
                meanwhile = asyncio.run(_timed(reader, lambda taken: taken == 0 or not answered.done()))
                took_s, threads, crowd = time.perf_counter() - began, _threads(server), answered.result()
    ratio = statistics.median(meanwhile) / statistics.median(alone)
    console.print(f"{requests:,} requests answered in {took_s:.1f} s: {dict(crowd.statuses)} (503: asked to come back)")
    console.print(f"{OTHER} alone: {spread(alone, 3)} s; meanwhile: {spread(meanwhile, 3)} s, {len(meanwhile)} times")
    slower = sum(took > SLOW_S for took in meanwhile)
    console.print(f"answers that took more than {SLOW_S:g} s: {slower}; ratio of the medians: {ratio:.1f}")
    console.print(f"threads of the api-server: {before} before, {threads} after")


async def _timed(reader: Crowd, wants_more: Callable[[int], bool]) -> list[float]:
    """How many seconds the other route took, each time that it was asked."""
    took: list[float] = []
    while wants_more(len(took)):
        status, seconds = await reader.ask(OTHER)
        assert status == 200, status
        took.append(seconds)
        await asyncio.sleep(0.01)
    return took


def _threads(server: psutil.Process) -> int:
    return sum(each.num_threads() for each in [server, *server.children(recursive=True)])


def _token(airflow: Airflow, user: str) -> str:
    login = json.dumps({"username": user, "password": airflow.password}).encode()
    request = urllib.request.Request(f"{airflow.url}/auth/token", login, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.load(answer)["access_token"])


def _wait_for_dag(airflow: Airflow) -> None:
    request = urllib.request.Request(f"{airflow.url}/api/v2/dags")
    request.add_header("Authorization", f"Bearer {_token(airflow, airflow.user)}")
    while True:
        with urllib.request.urlopen(request, timeout=60) as answer:
            if json.load(answer)["dags"]:
                return
        time.sleep(1)


if __name__ == "__main__":
    flood(int(sys.argv[1]) if len(sys.argv) > 1 else REQUESTS)
