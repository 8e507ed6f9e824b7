"""The list of 200 connectors, left open: what it costs the api-server, and how long Prometheus waits for its metrics.

A real api-server, a real Chromium that stays at the list, a broker and a store on this machine. Printed, never
asserted; the goals are 1 CPU second a minute with the list open, and 1 s for a scrape:

    .venv/bin/python -m bench.open_page [CONNECTORS [MINUTES]]
"""

import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil
from playwright.sync_api import sync_playwright

from bench.output import console
from bench.page import SHORT, fill, settle, token_of
from tools.parts.airflow import Airflow
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer, VersityGateway
from tools.showcase import Showcase

CONNECTORS = 200
MINUTES = 2
SCRAPES = 5
SCRAPE_EVERY_S = 15


def open_page(connectors: int = CONNECTORS, minutes: int = MINUTES) -> None:
    """Print the figures."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        console.print("The page is not measured: there is no Chromium on PATH (apt-get install chromium).")
        return
    server = MotoServer if VersityGateway.available() else VersityGateway
    with tempfile.TemporaryDirectory() as name, KafkaBroker() as kafka, server() as store:
        folder = Path(name)
        (folder / "connectors").mkdir()
        show = Showcase(folder / "connectors", kafka, store)
        fill(show, connectors, SHORT)
        # Parsing and storing so many DAGs again and again would be measured beside it.
        more = {"AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600"}
        with Airflow(show.environment(folder / "airflow", more), triggerer=False) as airflow:
            airflow.scheduler.stop()
            _measure(airflow, chromium, connectors, minutes)


def _measure(airflow: Airflow, chromium: str, connectors: int, minutes: int) -> None:
    url, token = f"{airflow.url}/kafka-s3/", token_of(airflow)
    api_server = psutil.Process(airflow.api_server.pid)
    console.print(f"{connectors} connectors, nobody looks: {_cpu_s(api_server, _pause_for(60)):.2f} CPU s a minute")
    began = time.perf_counter()
    cold_s = _cpu_s(api_server, lambda: settle(url, token))
    console.print(f"all of them looked at once: {time.perf_counter() - began:.1f} s, {cold_s:.1f} CPU s")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        window = browser.new_page()
        window.context.add_cookies([{"name": "_token", "value": token, "url": airflow.url}])
        window.goto(url)
        window.locator("tbody tr[data-dag]").first.wait_for()
        _pause_for(30)()
        spent = [_cpu_s(api_server, _pause_for(60)) for _ in range(minutes)]
        console.print(f"the list is open: {' '.join(f'{each:.2f}' for each in spent)} CPU s, minute by minute")
        browser.close()
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
