"""The list of connectors in Chromium: searched, filtered, sorted, shared by its address, used by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.page.conftest import chromium as chromium
from tests.page.observed import CONNECTOR, ObservedConnector
from tests.page.serving import served
from tests.scheduler.harness import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]

BOUND_MS = 60_000
OTHERS = {
    "apples": "export.tags=fruit,daily\nexport.owner=ann\ntopics=apples\n",
    "bananas": "export.tags=fruit\nexport.owner=bob\ntopics=bananas\ns3.bucket.name=yellow\n",
    "carrots": "export.owner=ann\ntopics=carrots\nexport.group=nightly\n",
    "daikon": "export.group=nightly\n",
    "eggs": "flush.size=many\n",
}


@pytest.fixture(scope="module")
def page(airflow_db: None, chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Page]]:
    """Six connectors, one of them broken, and a window in Berlin of somebody who is logged in."""
    folder: Path = tmp_path_factory.mktemp("list")
    seen = ObservedConnector(folder)
    for name, more in OTHERS.items():
        kept = [each for each in CONNECTOR.splitlines() if each.partition("=")[0] not in more]
        (folder / f"{name}.properties").write_text("\n".join([*kept, more]).replace("name=orders", f"name={name}"))
    seen.world.produce(0, 4)
    with pytest.MonkeyPatch.context() as patch, served(seen.observer, patch) as there:
        context = chromium.new_context(viewport={"width": 1280, "height": 900}, timezone_id="Europe/Berlin")
        context.add_cookies([{"name": "_token", "value": there.token, "url": there.url}])
        window = context.new_page()
        window.set_default_timeout(BOUND_MS)
        yield f"{there.url}/kafka-s3/", window
        context.close()


def opened(page: tuple[str, Page], query: str = "") -> Page:
    url, window = page
    window.goto(f"{url}{query}")
    window.locator("tr[data-dag]").first.wait_for()
    until("nothing is looked for", lambda: window.locator(".state.asking").count() == 0, pause_s=0.1)
    return window


def names(window: Page) -> list[str]:
    found: list[str] = window.locator("tr[data-dag]").evaluate_all("rows => rows.map(row => row.dataset.dag)")
    return found


def asked(window: Page) -> dict[str, str]:
    """What the address asks for."""
    return {name: values[0] for name, values in parse_qs(urlsplit(window.url).query).items()}


def test_filters_are_in_the_address(page: tuple[str, Page]) -> None:
    """By tag, owner, topic, bucket, group and state, and by words of all of them; the address has it all, so that who
    opens it elsewhere sees the same."""
    window = opened(page)
    assert len(names(window)) == 6
    found = {}
    for label, value in (
        ("Tag", "fruit"),
        ("Owner", "ann"),
        ("Topic", "bananas"),
        ("Bucket", "yellow"),
        ("Group", "nightly"),
        ("State", "broken"),
    ):
        window.get_by_label(label, exact=True).select_option(value)
        assert asked(window)[label.lower()] == value
        found[label] = names(window)
        window.get_by_label(label, exact=True).select_option("")
    assert found == {
        "Tag": ["apples", "bananas"],
        "Owner": ["apples", "carrots"],
        "Topic": ["bananas"],
        "Bucket": ["bananas"],
        "Group": ["carrots", "daikon"],
        "State": ["eggs"],
    }
    assert asked(window) == {}
    window.get_by_label("Search").fill("YELL")
    assert names(window) == ["bananas"]
    opened(page, "?owner=ann&q=appl&state=never_ran")
    assert names(window) == ["apples"]
    assert window.get_by_label("Search").input_value() == "appl"
    assert window.get_by_label("Owner", exact=True).input_value() == "ann"


def test_sorted_by_a_column_and_remembered(page: tuple[str, Page]) -> None:
    """A column's head sorts, and turns the order when it is pressed again; the next visit has the same order, and a
    screen reader is told which it is."""
    window = opened(page)
    assert names(window)[0] == "eggs", "the worst first"
    head = window.get_by_role("columnheader", name="Connector")
    window.get_by_role("button", name="Connector", exact=True).click()
    assert (names(window), head.get_attribute("aria-sort")) == (sorted(names(window)), "ascending")
    window.get_by_role("button", name="Connector", exact=True).click()
    assert (names(window)[0], head.get_attribute("aria-sort")) == ("orders", "descending")
    opened(page)
    assert names(window)[0] == "orders"
    opened(page, "?sort=state&order=up")
    assert names(window)[0] == "eggs", "an address says more than what is remembered"
    window.evaluate("localStorage.clear()")


def test_times_of_here_and_of_utc(page: tuple[str, Page]) -> None:
    """One tap shows when instead of how long ago, in the viewer's zone or in UTC, on every page from then on."""
    window = opened(page)
    time = window.locator("tr[data-dag=orders] time").last
    assert time.inner_text().endswith(" ago")
    window.get_by_role("button", name="Europe/Berlin").click()
    assert time.inner_text() == "2001-09-09 03:46:40 Europe/Berlin"
    window.get_by_role("button", name="UTC").click()
    assert time.inner_text() == "2001-09-09 01:46:40 UTC"
    opened(page)
    assert window.get_by_role("button", name="UTC").get_attribute("aria-pressed") == "true"
    window.get_by_role("button", name="Ages").click()
    assert time.inner_text().endswith(" ago")


def test_the_list_by_keyboard(page: tuple[str, Page]) -> None:
    """A slash searches, Escape clears, the arrows go from connector to connector, Enter opens one."""
    window = opened(page, "?sort=name&order=up")
    window.keyboard.press("/")
    window.keyboard.type("an")
    assert window.get_by_label("Search").input_value() == "an"
    assert names(window) == ["apples", "bananas", "carrots"]
    window.keyboard.press("Escape")
    assert len(names(window)) == 6
    for _ in range(3):
        window.keyboard.press("ArrowDown")
    assert window.evaluate("document.activeElement.innerText") == "carrots"
    window.keyboard.press("k")
    window.keyboard.press("Enter")
    window.get_by_role("heading", name="bananas", exact=True).wait_for()


def test_words_of_the_field(page: tuple[str, Page]) -> None:
    """The list and a connector say what the field says."""
    window = opened(page)
    heads = window.get_by_role("columnheader").all_inner_texts()
    assert [each.strip(" ▲▼") for each in heads][2:5] == [
        "Records waiting",
        "Oldest waiting record",
        "Retention deletes in",
    ]
    assert "Needs attention" in window.get_by_label("State", exact=True).inner_text()
    opened_one = page[1]
    opened_one.goto(f"{page[0]}?dag_id=orders")
    opened_one.get_by_role("link", name="Open DAG").wait_for()
    assert "Retention deletes in" in opened_one.locator(".facts").inner_text()
