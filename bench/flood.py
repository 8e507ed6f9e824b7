"""1,000 requests of a read-only user while a store hangs: how long another route of Airflow's api-server takes.

A real api-server, and a store that takes requests and never answers. Beside it, what as many requests of the same user
to routes of Airflow's own do to that other route: every request with a login costs the api-server's one event loop
Airflow's look at its table of revoked tokens, before any route is reached. The crowd is a process of its own, so that
what it costs is not timed. Printed, never asserted:

    .venv/bin/python -m bench.flood
"""

import asyncio
import json
import math
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from bench.output import console
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
LEAST = "/ui/auth/me"  # what Airflow answers to somebody logged in without looking anything else up
LIST = "/api/v2/dags?limit=1"  # the last: this flood is the one that holds the api-server up longest
LIMIT_S = 60  # what is not answered by then is given up, and counts as so long


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
            for path in ("/kafka-s3/", LEAST, LIST):  # the first request imports what answers it
                asyncio.run(reader.ask(path))
            alone = _Taken(asyncio.run(_timed(reader, lambda taken: taken < ALONE)))
            console.print(f"{OTHER} alone: {alone}")
            flooded = partial(_flooded, psutil.Process(airflow.api_server.pid), reader)
            least = flooded(LEAST, [LEAST] * requests)
            own = flooded("the page, over a store that hangs", everything("orders", requests))
            its_list = flooded(LIST, [LIST] * requests)
    for name, other in (("alone", alone), (LEAST, least), (LIST, its_list)):
        ratios = (f"{mine / theirs:.2f}" for mine, theirs in zip(own.figures, other.figures, strict=True))
        console.print(f"page to {name}: {' '.join(ratios)} (median, p99, slowest)")


@dataclass(frozen=True)
class _Taken:
    """How many seconds the other route took, time and again."""

    seconds: Sequence[float]

    @property
    def figures(self) -> tuple[float, float, float]:
        """Median, 99th of 100, slowest."""
        ranked = sorted(self.seconds)
        return statistics.median(ranked), ranked[math.ceil(0.99 * len(ranked)) - 1], ranked[-1]

    def __str__(self) -> str:
        slower = sum(took > SLOW_S for took in self.seconds)
        figures = "/".join(f"{each:.3f}" for each in self.figures)
        return f"{figures} s (median/p99/slowest), {len(self.seconds)} times, {slower} of them above {SLOW_S:g} s"


def _flooded(server: psutil.Process, reader: Crowd, name: str, paths: Sequence[str]) -> _Taken:
    """How the other route fares while a crowd asks for some paths."""
    before = _threads(server)
    with in_a_process(reader.url, reader.token, paths, LIMIT_S) as answered:
        began = time.perf_counter()
        taken = _Taken(asyncio.run(_timed(reader, lambda taken: taken == 0 or not answered.done())))
        took_s, crowd = time.perf_counter() - began, answered.result()
    said = f"{crowd.statuses.total():,} of {len(paths):,} requests answered in {took_s:.1f} s"
    console.print(f"{name}: {said}: {dict(crowd.statuses)}")
    console.print(f"    {OTHER} meanwhile: {taken}; threads: {before} before, {_threads(server)} after")
    return taken


async def _timed(reader: Crowd, wants_more: Callable[[int], bool]) -> list[float]:
    """How many seconds the other route took, each time that it was asked."""
    took: list[float] = []
    while wants_more(len(took)):
        began = time.perf_counter()
        try:
            status, seconds = await asyncio.wait_for(reader.ask(OTHER), LIMIT_S)
        except TimeoutError:
            return [*took, time.perf_counter() - began]
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
