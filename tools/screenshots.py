"""`make screenshots`: the page over made-up data, light, dark and on a phone, into docs/screenshots.

The records are made up, the rest is real: a broker, a store, exports as `kafka-s3 run` does them, Airflow, Chromium.
Only the hours are not waited for: entries of the logs get the times that hourly runs would have given them.
"""

import json
import os
import random
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console

from tools.parts.airflow import Airflow
from tools.parts.cache import REPOSITORY
from tools.parts.errors import PartError
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import VersityGateway
from tools.showcase import HOUR_MS, Showcase

FOLDER = REPOSITORY / "docs" / "screenshots"
WIDE, PHONE = {"width": 1280, "height": 960}, {"width": 360, "height": 740}
#: What the address asks for, and the heading that is at the top of the picture.
VIEWS = {"connectors": ("", "h1"), "connector": ("?dag_id=orders", "h1"), "charts": ("?dag_id=orders", "#overtime")}
DAY_MS = 24 * HOUR_MS
SEED = 7
RUNS_MADE = 12
PARSED_S = 120  # until the dag-processor is through
console = Console(highlight=False)


def main() -> int:
    """Take them all."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        console.print("There is no Chromium on PATH: apt-get install chromium.")
        return 1
    try:
        with tempfile.TemporaryDirectory() as name, KafkaBroker() as kafka, VersityGateway() as store:
            (Path(name) / "connectors").mkdir()
            show = Showcase(Path(name) / "connectors", kafka, store)
            with console.status("Producing records and exporting them"):
                _fill(show)
            with console.status("Starting Airflow"):
                airflow = Airflow(show.environment(Path(name) / "airflow"), triggerer=False)
            with airflow, sync_playwright() as playwright:
                _as_if_scheduled(airflow, show)
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                _take_all(browser, airflow)
                browser.close()
    except PartError as error:
        console.print(f"[red]Could not start:[/red] {error}")
        return 1
    return 0


# The data: what a shop's topics could look like at some hour.


def _fill(show: Showcase) -> None:
    dice = random.Random(SEED)
    now_ms = int(time.time() * 1000)
    hour_ms = now_ms - now_ms % HOUR_MS
    show.connector("orders", {"errors.tolerance": "all"}, partitions=6, retention_ms=3 * DAY_MS)
    _hours(show, "orders", dice, hour_ms, 30, 6, 900, bad=0.002)
    _produce(show, "orders", dice, hour_ms + (now_ms - hour_ms) // 2, 6, 450)
    show.connector("payments", partitions=3, retention_ms=7 * DAY_MS)
    _hours(show, "payments", dice, hour_ms, 8, 3, 400)
    show.connector("clickstream", {"flush.size": "5000"}, partitions=12, retention_ms=DAY_MS)
    _hours(show, "clickstream", dice, hour_ms - 9 * HOUR_MS, 4, 12, 600)
    for hours in range(9, 0, -1):
        _produce(show, "clickstream", dice, hour_ms - hours * HOUR_MS + HOUR_MS // 2, 12, 600)
    show.connector("shipments", partitions=2)
    _hours(show, "shipments", dice, hour_ms - HOUR_MS, 3, 2, 150)
    show.produce("shipments", 1, [b"SHIPMENT 4711 LOST", *_values(dice, 20)], hour_ms - HOUR_MS // 2)
    _produce(show, "shipments", dice, hour_ms - HOUR_MS // 2, 1, 150)
    show.export("shipments", _run_id(hour_ms), hour_ms)
    _age(show, "shipments", hour_ms, dice)
    show.connector("inventory", partitions=2)
    _hours(show, "inventory", dice, hour_ms, 5, 2, 250)
    show.connector("newsletter", partitions=1)
    (show.folder / "returns.properties").write_text("name=returns\ntopics=returns\nflush.size=a few\n")


def _hours(
    show: Showcase,
    name: str,
    dice: random.Random,
    until_ms: int,
    hours: int,
    partitions: int,
    count: int,
    bad: float = 0,
) -> None:
    """So many hours, the last of which ends at `until_ms`, each exported by a run of its own."""
    for number in range(hours, 0, -1):
        end_ms = until_ms - (number - 1) * HOUR_MS
        at_night = 0.4 if datetime.fromtimestamp(end_ms / 1000, UTC).hour < 7 else 1.0
        _produce(show, name, dice, end_ms - HOUR_MS // 2, partitions, int(count * at_night), bad)
        status = show.export(name, _run_id(end_ms), end_ms)
        assert status == 0, f"{name}: exit status {status}"
    _age(show, name, until_ms, dice)


def _produce(
    show: Showcase, name: str, dice: random.Random, at_ms: int, partitions: int, count: int, bad: float = 0
) -> None:
    for partition in range(partitions):
        some = int(count * dice.uniform(0.6, 1.4))
        values = _values(dice, some)
        values += [b"not JSON at all" for _ in range(some) if dice.random() < bad]
        show.produce(name, partition, values, at_ms)


def _values(dice: random.Random, count: int) -> list[bytes]:
    return [json.dumps({"id": dice.getrandbits(48), "amount": dice.randrange(10_000)}).encode() for _ in range(count)]


def _run_id(end_ms: int) -> str:
    return f"manual__{datetime.fromtimestamp(end_ms / 1000 + 60, UTC).isoformat()}"


def _age(show: Showcase, name: str, until_ms: int, dice: random.Random) -> None:
    """Give plans and entries the times of hourly runs. The store's clock is the time of its files."""
    home = show.store.folder / "store" / f"bucket-of-{name}" / "_kafka_s3" / name
    newest_first = sorted((home / "log").rglob("*.json"))
    for number, entry in enumerate(newest_first):
        planned_s = (until_ms - number * HOUR_MS) / 1000 + dice.randrange(20, 40)
        plan = home / "plan" / entry.relative_to(home / "log")
        if plan.exists():
            os.utime(plan, (planned_s, planned_s))
        written_s = planned_s + dice.randrange(25, 70)
        os.utime(entry, (written_s, written_s))


def _as_if_scheduled(airflow: Airflow, show: Showcase) -> None:
    """DAGs that are not paused, and the newest runs of one; without a scheduler, which would start others."""
    airflow.scheduler.stop()
    api = _Api(airflow)
    names = {path.stem for path in show.folder.glob("*.properties")}
    deadline = time.monotonic() + PARSED_S
    while not names <= api.dag_ids() and time.monotonic() < deadline:
        time.sleep(1)
    for name in names:
        api.send("PATCH", f"dags/{name}", {"is_paused": False})
    runs = sorted({each.entry.run_id for each in show.log("orders").entries()}, reverse=True)
    for run_id in runs[:RUNS_MADE]:
        api.send("POST", "dags/orders/dagRuns", {"dag_run_id": run_id, "logical_date": None})


class _Api:
    """Airflow's REST API."""

    def __init__(self, airflow: Airflow) -> None:
        self._url = airflow.url
        login = {"username": airflow.user, "password": airflow.password}
        self._headers = {"Content-Type": "application/json"}
        token = self._send("POST", "auth/token", login)["access_token"]
        self._headers["Authorization"] = f"Bearer {token}"

    def dag_ids(self) -> set[str]:
        return {each["dag_id"] for each in self._send("GET", "api/v2/dags?limit=100", None)["dags"]}

    def send(self, method: str, path: str, body: dict[str, object]) -> None:
        self._send(method, f"api/v2/{path}", body)

    def _send(self, method: str, path: str, body: Mapping[str, object] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/{path}", data, self._headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


# The pictures.


def _take_all(browser: Browser, airflow: Airflow) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for theme, size in (("light", WIDE), ("dark", WIDE), ("phone", PHONE)):
        with _logged_in(browser, airflow, theme, size) as window:
            for name, (query, heading) in VIEWS.items():
                path = FOLDER / f"{name}-{theme}.png"
                _take(window, airflow, query, heading, path, alone=theme == "phone")
                console.print(f"{path.relative_to(REPOSITORY)}: {path.stat().st_size / 1000:.0f} KB")


@contextmanager
def _logged_in(browser: Browser, airflow: Airflow, theme: str, size: dict[str, int]) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": size["width"], "height": size["height"]}, color_scheme="dark" if theme == "dark" else "light"
    )
    window = context.new_page()
    window.goto(f"{airflow.url}/")
    window.locator("input[name=username]").fill(airflow.user)
    window.locator("input[name=password]").fill(airflow.password)
    window.locator("button[type=submit]").click()
    window.get_by_role("button", name="Browse").or_(window.locator("nav")).first.wait_for()
    yield window
    context.close()


def _take(window: Page, airflow: Airflow, query: str, heading: str, path: Path, *, alone: bool) -> None:
    """One picture, once nothing is being looked for any more: within Airflow, or alone as on a phone."""
    address = f"{airflow.url}/kafka-s3/{query}" if alone else f"{airflow.url}/plugin/kafka-s3/kafka-s3/{query}"
    window.goto(address)
    shown = window.frame_locator("iframe") if not alone else window
    shown.locator("h1").wait_for(timeout=60_000)
    shown.locator(".number", has_text="ago").first.wait_for(timeout=60_000)
    deadline = time.monotonic() + 60
    while shown.locator(".state.asking").count() and time.monotonic() < deadline:
        window.wait_for_timeout(200)
    if heading != "h1":
        shown.locator("svg.plot").first.wait_for(timeout=60_000)
        shown.locator(heading).evaluate("node => node.scrollIntoView()")
    window.wait_for_timeout(500)
    window.screenshot(path=path)


if __name__ == "__main__":
    sys.exit(main())
