"""The list of 200 connectors, left open in one window and in ten: what it costs the api-server, and how long Prometheus
waits for its metrics.

A real api-server, a real Chromium that stays at the list, a broker and a store on this machine. Printed, never
asserted; the goals are 1 CPU second a minute with the list open, and 1 s for a scrape:

    .venv/bin/python -m bench.open_page [CONNECTORS [MINUTES [PAGES]]]
"""

import sys
import time
import urllib.request
from collections.abc import Callable

import psutil

from bench.output import console
from bench.page import Served, served, settle

CONNECTORS = 200
MINUTES = 2
PAGES = 10
SCRAPES = 5
SCRAPE_EVERY_S = 15


def open_page(connectors: int = CONNECTORS, minutes: int = MINUTES, pages: int = PAGES) -> None:
    """Print the figures."""
    # Parsing and storing so many DAGs again and again would be measured beside it.
    with served(connectors, more={"AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600"}) as shown:
        shown.airflow.scheduler.stop()
        _measure(shown, connectors, minutes, pages)


def _measure(shown: Served, connectors: int, minutes: int, pages: int) -> None:
    url, token = shown.url, shown.token
    api_server = psutil.Process(shown.airflow.api_server.pid)
    console.print(f"{connectors} connectors, nobody looks: {_cpu_s(api_server, _pause_for(60)):.2f} CPU s a minute")
    began = time.perf_counter()
    cold_s = _cpu_s(api_server, lambda: settle(url, token))
    console.print(f"all of them looked at once: {time.perf_counter() - began:.1f} s, {cold_s:.1f} CPU s")
    for count in sorted({1, pages}):
        windows = [shown.window() for _ in range(count)]
        for window in windows:
            window.goto(url)
            window.locator("tbody tr[data-dag]").first.wait_for()
        _pause_for(30)()
        spent = [_cpu_s(api_server, _pause_for(60)) for _ in range(minutes)]
        opened = "the list is open" if count == 1 else f"{count} lists are open"
        console.print(f"{opened}: {' '.join(f'{each:.2f}' for each in spent)} CPU s, minute by minute")
        for window in windows:
            window.close()
    _pause_for(30)()
    for _ in range(SCRAPES):
        began = time.perf_counter()
        scrape_s = _cpu_s(api_server, lambda: _scrape(url, token))
        took_s = time.perf_counter() - began
        after_s = _cpu_s(api_server, _pause_for(SCRAPE_EVERY_S))
        console.print(
            f"/metrics: {took_s:.2f} s, {scrape_s:.2f} CPU s; {after_s:.2f} CPU s in the {SCRAPE_EVERY_S} s after"
        )


def _pause_for(seconds: float) -> Callable[[], None]:
    return lambda: time.sleep(seconds)


def _cpu_s(process: psutil.Process, during: Callable[[], None]) -> float:
    before = _spent_s(process)
    during()
    return _spent_s(process) - before


def _spent_s(process: psutil.Process) -> float:
    times = [each.cpu_times() for each in [process, *process.children(recursive=True)]]
    return sum(each.user + each.system for each in times)


def _scrape(url: str, token: str) -> None:
    request = urllib.request.Request(f"{url}metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


if __name__ == "__main__":
    open_page(*map(int, sys.argv[1:]))
