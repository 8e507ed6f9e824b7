"""How old is what is shown: the page in Chromium, over a bucket and a broker in memory and a clock of the test's."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.conftest import chromium as chromium
from tests.page.observed import CONNECTOR, ObservedConnector
from tests.page.serving import Served, served
from tests.scheduler.harness import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]

BOUND_MS = 60_000
ELEVEN_MINUTES_MS = 11 * 60_000


@pytest.fixture
def seen(tmp_path: Path) -> Iterator[ObservedConnector]:
    made = ObservedConnector(tmp_path)
    yield made
    if made.held is not None:
        made.held.set()


@pytest.fixture
def page(
    airflow_db: None, seen: ObservedConnector, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Served, Page]]:
    """The page of one connector, and a window of somebody who is logged in."""
    with served(seen.observer, monkeypatch) as there:
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        context.add_cookies([{"name": "_token", "value": there.token, "url": there.url}])
        window = context.new_page()
        window.set_default_timeout(BOUND_MS)
        yield there, window
        context.close()


def test_what_is_old_is_grey_until_the_answer_comes(seen: ObservedConnector, page: tuple[Served, Page]) -> None:
    """After eleven minutes without visitors the first paint shows the old number in grey with its age; once Kafka has
    answered, the new number takes its place without a reload."""
    there, window = page
    seen.world.produce(0, 4)
    seen.world.run()
    window.goto(f"{there.url}/kafka-s3/")
    cell = window.locator("tr[data-dag=orders] td[data-label='Records waiting'] .figure")
    cell.wait_for()
    assert cell.inner_text().strip() == "0"
    window.goto("about:blank")
    seen.world.produce(0, 500)
    seen.later(ELEVEN_MINUTES_MS)
    seen.held = threading.Event()
    window.goto(f"{there.url}/kafka-s3/")
    window.locator("tr[data-dag=orders] .figure.old").first.wait_for()
    assert " ".join(cell.inner_text().split()) == "0 as of 11 min ago"
    seen.held.set()
    until("the new number is there", lambda: cell.inner_text().strip() == "500", or_say=cell.inner_text)
    assert window.locator("tr[data-dag=orders] .figure.old").count() == 0


def test_an_open_page_follows(seen: ObservedConnector, page: tuple[Served, Page]) -> None:
    """A commit comes to the top of the list by itself, and what is open stays open; every figure has its time."""
    there, window = page
    seen.world.produce(0, 4)
    seen.world.run()
    window.goto(f"{there.url}/kafka-s3/?dag_id=orders")
    window.get_by_role("button", name="Objects of commit 1").click()
    window.get_by_text("orders+0+0000000000").wait_for()
    figures = window.locator(".facts .figure .asof")
    assert figures.count() == 7
    assert all("as of" in each for each in figures.all_inner_texts())
    seen.world.produce(0, 3)
    seen.world.run()
    seen.later()
    window.get_by_role("button", name="Objects of commit 2").wait_for()
    assert window.get_by_text("orders+0+0000000000").count() == 1
    rows = window.locator("table[aria-label=Commits] > tbody > tr:not(.inner)")
    assert [each.lstrip()[0] for each in rows.all_inner_texts()] == ["2", "1", "0"]


def test_an_answer_that_is_the_same_is_not_sent(seen: ObservedConnector, page: tuple[Served, Page]) -> None:
    """The list and a connector have tags; whoever has the answer gets 304 until something changes."""
    there, _ = page
    seen.world.produce(0, 4)
    seen.world.run()
    until("Kafka has answered", lambda: json.loads(asked(there, "/orders")[2])["state"] == "ok")
    for path in ("", "/orders", "/orders/commits"):
        first = asked(there, path)
        assert (first[0], json.loads(first[2])["now_ms"]) == (200, seen.now_ms), path
        assert asked(there, path, first[1])[::2] == (304, b""), path
    seen.world.produce(0, 1)
    seen.world.run()
    tag = asked(there, "/orders")[1]
    seen.later()
    until("another answer", lambda: asked(there, "/orders", tag)[0] == 200)


def asked(there: Served, path: str, tag: str | None = None) -> tuple[int, str, bytes]:
    """Status, tag and body of an answer."""
    headers = {"Authorization": f"Bearer {there.token}", **({"If-None-Match": tag} if tag else {})}
    request = urllib.request.Request(f"{there.url}/kafka-s3/api/connectors{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["ETag"], answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["ETag"], error.read()


def test_nobody_looks_and_nothing_is_asked(seen: ObservedConnector, page: tuple[Served, Page]) -> None:
    """Who looks at one connector asks nothing about the others."""
    there, window = page
    (seen.folder / "others.properties").write_text(CONNECTOR.replace("name=orders", "name=others"))
    window.goto(f"{there.url}/kafka-s3/?dag_id=orders")
    window.locator(".facts").wait_for()
    others = seen.observer.connector("others")
    assert others is not None
    assert seen.observer.known_log(others).is_first
    assert seen.observer.known_log(others).open_ms is None
    window.goto(f"{there.url}/kafka-s3/")
    until("the list asks", lambda: not seen.observer.known_log(others).is_first)
