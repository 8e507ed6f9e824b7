"""The page: how soon it can be looked at, and how soon its data is there, over many connectors and a long log.

A real api-server, a real Chromium, a broker and a store on this machine. Printed, never asserted; the goals are 1 s to
the first paint and 300 ms for data once the page has been looked at:

    .venv/bin/python -m bench.page [REPETITIONS [CONNECTORS]]
"""

import contextlib
import json
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from rich.table import Table

from bench.output import console, spread
from tools.long_log import write_log
from tools.parts.airflow import Airflow
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer, VersityGateway
from tools.showcase import Showcase

CONNECTORS = 50
COMMITS = 10_000
SHORT = 20  # commits of each of the other connectors
LONG = "c000"
REPETITIONS = 9
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_LIST, _ROWS = "tbody tr[data-dag]", "table[aria-label=Commits] > tbody > tr"


class NoChromium(Exception):
    """There is no browser to measure with."""


@dataclass(frozen=True)
class Served:
    """An api-server with the page, a browser to look at it, and a token of who may."""

    airflow: Airflow
    browser: Browser
    token: str

    @property
    def url(self) -> str:
        return f"{self.airflow.url}/kafka-s3/"

    def window(self) -> Page:
        window = self.browser.new_page()
        window.context.add_cookies([{"name": "_token", "value": self.token, "url": self.airflow.url}])
        return window


@contextlib.contextmanager
def served(
    connectors: int, others: Mapping[str, int] | None = None, more: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """So many connectors, behind a real api-server. `others`: commits of those with another log; `more`: Airflow's
    own settings.
    """
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise NoChromium("The page is not measured: there is no Chromium on PATH (apt-get install chromium).")
    server = MotoServer if VersityGateway.available() else VersityGateway
    with tempfile.TemporaryDirectory() as name, KafkaBroker() as kafka, server() as store:
        folder = Path(name)
        (folder / "connectors").mkdir()
        show = Showcase(folder / "connectors", kafka, store)
        fill(show, connectors, SHORT, others)
        with Airflow(show.environment(folder / "airflow", more), triggerer=False) as airflow, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            yield Served(airflow, browser, token_of(airflow))
            browser.close()


def page(repetitions: int = REPETITIONS, connectors: int = CONNECTORS) -> None:
    """Print the table."""
    with served(connectors, {LONG: COMMITS}) as shown:
        _measure(shown.url, shown.token, shown.window(), repetitions, connectors)


def fill(show: Showcase, connectors: int, commits: int, others: Mapping[str, int] | None = None) -> None:
    """All connectors share a topic and a bucket; `others`: those whose logs are of another length."""
    show.connector("shared")
    text = (show.folder / "shared.properties").read_text()
    (show.folder / "shared.properties").unlink()
    show.produce("shared", 0, [b"{}"] * 100, 1)
    for number in range(connectors):
        connector = f"c{number:03d}"
        (show.folder / f"{connector}.properties").write_text(text.replace("name=shared", f"name={connector}"))
        log = show.log("shared", connector)
        count = (others or {}).get(connector, commits)
        write_log(log, count, topic="shared", began_ms=1_700_000_000_000)


def token_of(airflow: Airflow) -> str:
    login = json.dumps({"username": airflow.user, "password": airflow.password}).encode()
    request = urllib.request.Request(f"{airflow.url}/auth/token", login, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.load(answer)["access_token"])


def _measure(url: str, token: str, window: Page, repetitions: int, connectors: int) -> None:
    table = Table(title=f"The page: {connectors} connectors, {COMMITS:,} commits in one", title_justify="left")
    for name in ("", "first, ms", "then: min/median/max, ms"):
        table.add_column(name)
    one = f"api/connectors/{LONG}"
    middle = COMMITS // 2
    run_id = f"run-{middle}"
    asked = {
        "data: all connectors": "api/connectors",
        "data: one connector": one,
        "data: its newest 50 commits": f"{one}/commits",
        f"data: 50 commits before {middle:,}": f"{one}/commits?before={middle}",
        "data: the objects of a commit": f"{one}/commits/{middle}",
        f"data: the commits of {run_id}, which Airflow does not know": f"{one}/commits?run_id={run_id}",
    }
    painted = {"all connectors": ("", _LIST), "one connector": (f"?dag_id={LONG}", _ROWS)}
    rows: list[tuple[str, list[float]]] = []
    for what, path in asked.items():
        first = _asked(url + path, token)
        settle(url, token)
        rows.append((what, [first, *(_asked(url + path, token) for _ in range(repetitions))]))
    for what, (query, selector) in painted.items():
        found = [_painted(window, url + query, selector) for _ in range(1 + repetitions)]
        rows += [
            (f"first paint: {what}", [each[0] for each in found]),
            (f"rows shown: {what}", [each[1] for each in found]),
        ]
    for what, found_ms in rows:
        table.add_row(what, f"{found_ms[0]:,.0f}", spread(found_ms[1:], 0))
    console.print(table)


def _asked(url: str, token: str) -> float:
    """Milliseconds until an answer is there in full, asked again while it is pending."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    began = time.perf_counter()
    while True:
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        if not found.get("pending"):
            return (time.perf_counter() - began) * 1000


def settle(url: str, token: str) -> None:
    """Wait until every connector was looked at once: then the page is warm."""
    request = urllib.request.Request(f"{url}api/connectors", headers={"Authorization": f"Bearer {token}"})
    while True:
        with urllib.request.urlopen(request, timeout=60) as answer:
            states = {each["state"] for each in json.load(answer)["connectors"]}
        if "asking" not in states:
            return
        time.sleep(0.5)


def _painted(window: Page, url: str, selector: str) -> tuple[float, float]:
    """Milliseconds from the navigation to the first contentful paint, and until the rows are shown."""
    began = time.perf_counter()
    window.goto(url)
    window.locator(selector).first.wait_for()
    rows_ms = (time.perf_counter() - began) * 1000
    return float(window.evaluate(_PAINT) or 0), rows_ms


if __name__ == "__main__":
    page(*map(int, sys.argv[1:]))
