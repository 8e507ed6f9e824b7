"""Charts in Chromium: bars, axes, zoom and the same in numbers, over a log in memory and a clock of the test's."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_s3.errors import StoreUnavailable
from tests.export.harness import MemoryExport
from tests.page.conftest import HOSTILE
from tests.page.conftest import chromium as chromium
from tests.page.observed import ObservedConnector
from tests.page.serving import Served, served
from tests.page.test_charts import BEGAN_MS, HourlyStore
from tests.scheduler.harness import until
from tests.support import HOUR_MS
from tools.long_log import write_log

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]

BOUND_MS = 60_000
COMMITS = 100_000
WIDTHS = (360, 768, 1280, 1920)


@pytest.fixture(scope="module")
def there(airflow_db: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A connector with 100,000 hourly commits, the newest of this hour."""
    seen = ObservedConnector(tmp_path_factory.mktemp("charts"), MemoryExport(store=HourlyStore()))
    write_log(seen.world.exporter.log, COMMITS, began_ms=BEGAN_MS)
    seen.now_ms = BEGAN_MS + COMMITS * HOUR_MS + HOUR_MS // 2
    with pytest.MonkeyPatch.context() as patch, served(seen.observer, patch) as made:
        made.seen = seen  # type: ignore[attr-defined]
        yield made


@pytest.fixture(scope="module")
def window(there: Served, chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, timezone_id="Europe/Berlin")
    context.add_cookies([{"name": "_token", "value": there.token, "url": there.url}])
    page = context.new_page()
    page.set_default_timeout(BOUND_MS)
    page.on("pageerror", lambda error: page.evaluate("text => window.broken = text", str(error)))
    yield page
    context.close()


def opened(there: Served, window: Page, query: str = "") -> Page:
    window.goto(f"{there.url}/kafka-s3/?dag_id=orders{query}")
    window.locator("svg.plot").first.wait_for()
    return window


def plot(window: Page, title: str) -> Any:
    return window.get_by_role("img", name=re.compile(f"^{title}"))


def test_bars_and_the_same_in_numbers(there: Served, window: Page) -> None:
    """Each chart has a name that says its most, axes with units, and a bar for each hour; a table has the numbers."""
    opened(there, window)
    assert "at most 1,000" in (plot(window, "Records per hour").get_attribute("aria-label") or "")
    assert plot(window, "Records per hour").locator("rect.value").count() == 72
    assert "at most 100 KB" in (plot(window, "Size per hour").get_attribute("aria-label") or "")
    assert "no figure" in (plot(window, "Longest duration per hour").get_attribute("aria-label") or "")
    assert plot(window, "Longest duration per hour").locator("rect.value").count() == 0
    assert "10 min" in plot(window, "Longest delay per hour").locator("text").all_text_contents()
    window.get_by_text("The same in numbers").first.click()
    cells = window.get_by_label("Commits per hour").locator("tbody tr").nth(1).locator("td").all_inner_texts()
    assert [each.strip() for each in cells[1:6]] == ["1", "1,000", "0", "100 KB", "1"]
    assert [each.strip() for each in cells[6:]] == ["–", "–", "10 min", "10 min"]
    assert window.evaluate("window.broken") is None


def test_from_months_to_hours_and_more(there: Served, window: Page) -> None:
    """A press on a bar zooms in, in its table too by keyboard; the address has it; what was not read is grey and says
    so, and a press reads on."""
    opened(there, window)
    window.get_by_role("button", name="Day", exact=True).click()
    records = plot(window, "Records per day")
    records.wait_for()
    unread = records.locator("rect.unread").count()
    assert 5 <= unread < 15
    window.get_by_role("button", name="Read 1,000 more").click()
    until("more is read", lambda: records.locator("rect.unread").count() < unread, pause_s=0.1)
    window.get_by_text("The same in numbers").first.click()
    button = window.get_by_label("Commits per day").get_by_role("button").nth(3)
    day = button.inner_text()
    button.focus()
    window.keyboard.press("Enter")
    hours = plot(window, "Records per hour")
    hours.wait_for()
    until("it is that day", lambda: hours.locator("rect.value").count() == 24, pause_s=0.1)
    assert "from=" in window.url
    assert day in window.inner_text("main")
    opened(there, window, f"&{window.url.partition('dag_id=orders&')[2]}")
    assert hours.locator("rect.value").count() == 24
    window.get_by_role("button", name="Zoom out").click()
    plot(window, "Records per day").wait_for()


def test_days_of_the_viewers_zone(there: Served, window: Page) -> None:
    """Where times are those of the viewer's zone, a day begins at midnight there."""
    opened(there, window)
    window.get_by_role("button", name="Day", exact=True).click()
    plot(window, "Records per day").wait_for()
    window.get_by_role("button", name="Europe/Berlin").click()
    window.locator(".bar", has_text="Europe/Berlin").filter(has_text="Earlier").wait_for()
    first = window.request.get(f"{there.url}/kafka-s3/api/connectors/orders/charts?per=day&zone=Europe/Berlin").json()
    assert first["bars"][0]["start_ms"] % (24 * HOUR_MS) in (22 * HOUR_MS, 23 * HOUR_MS)
    window.get_by_role("button", name="Ages").click()


@pytest.mark.parametrize("width", WIDTHS)
def test_charts_fit(there: Served, window: Page, width: int) -> None:
    """Nothing scrolls sideways, whatever is open, and no chart is cut off."""
    window.set_viewport_size({"width": width, "height": 900})
    try:
        opened(there, window)
        for summary in window.locator("summary").all():
            summary.click()
        wide, has = window.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide <= has
        boxes = window.locator("svg.plot").evaluate_all("all => all.map(each => each.getBoundingClientRect().right)")
        assert max(boxes) <= has
    finally:
        window.set_viewport_size({"width": 1280, "height": 900})


def asked(there: Served, query: str) -> tuple[int, Any]:
    url = f"{there.url}/kafka-s3/api/connectors/orders/charts?{query}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {there.token}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.mark.parametrize(
    "query",
    [
        "per=week",
        "zone=../../etc/passwd",
        "zone=Nowhere",
        "zone=Europe",
        "zone=%00",
        "from_ms=5&to_ms=5",
        "from_ms=0&to_ms=99999999999999",
        "commits=0",
        "commits=100001",
        "from_ms=0&to_ms=4000000000000",
    ],
)
def test_questions_that_are_none(there: Served, query: str) -> None:
    """What cannot be drawn is 422 with a sentence, and nothing is read for it."""
    status, said = asked(there, query)
    assert (status, bool(said["detail"])) == (422, True)


def test_a_bucket_that_does_not_answer(airflow_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The charts say why there are none, in the store's words; the rest of the page is there."""
    seen = ObservedConnector(tmp_path)
    seen.world.produce(0, 4)
    seen.world.run()
    with served(seen.observer, monkeypatch) as made:
        for _ in range(200):
            seen.world.store.fail_next("ListObjectsV2", StoreUnavailable("S3 did not answer."))
        assert asked(made, "per=hour")[1]["error"] == "S3 did not answer."


def test_lag_over_time(there: Served, window: Page) -> None:
    """Each answer of Kafka's is a point, with the same in numbers; before there are two it says how long they are
    kept."""
    from kafka_s3_airflow.page.lags import Lag

    opened(there, window)
    window.get_by_text("Lag over time is kept from now on").wait_for()
    seen = there.seen  # type: ignore[attr-defined]
    for minutes in (90, 60, 59):
        seen.observer.lags.add("orders", Lag(seen.now_ms - minutes * 60_000, minutes * 100, 75_000))
    opened(there, window)
    waiting = plot(window, "Records waiting")
    waiting.wait_for()
    assert "at most 9,000" in (waiting.get_attribute("aria-label") or "")
    assert (waiting.locator("path").get_attribute("d") or "").count("M") >= 2, "where nobody asked the line is broken"
    ages = plot(window, "Oldest waiting record").locator("text")
    assert ages.nth(4).text_content() == "80 s"
    assert min(ages.evaluate_all("all => all.map(each => each.getBBox().x)")) >= 0, "a name of the axis is cut off"
    window.get_by_text("The same in numbers").last.click()
    rows = window.get_by_label("Waiting in Kafka", exact=True).locator("tbody tr")
    assert rows.filter(has_text="5,900").count() == 1


def test_hostile_reasons_are_text(
    airflow_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Browser
) -> None:
    """What an entry gives as its reason is shown as it is, on the time line and in its table; a screen reader is told
    how many there are."""
    from msgspec.structs import replace

    from kafka_s3.log.entries import Kind

    seen = ObservedConnector(tmp_path)
    seen.world.produce(0, 4)
    seen.world.run()
    log = seen.world.exporter.log
    head = log.newest()
    assert head is not None
    rewound = replace(head.entry, kind=Kind.REWIND, seq=2, previous_sha256=head.sha256, ranges=(), reason=HOSTILE)
    log.put_entry(rewound)
    seen.now_ms = log.store.head(log.layout.log_key(2)).modified_ms + 1_000  # type: ignore[union-attr,operator]
    with served(seen.observer, monkeypatch) as made:
        context = chromium.new_context()
        context.add_cookies([{"name": "_token", "value": made.token, "url": made.url}])
        page = context.new_page()
        page.set_default_timeout(BOUND_MS)
        opened(made, page)
        page.get_by_role("img", name="1 event;").wait_for()
        page.get_by_text("1 event: gaps").click()
        assert HOSTILE in page.get_by_label("What happened").last.inner_text()
        assert page.locator("main img").count() == 0
        assert page.evaluate("window.hacked") is None
        context.close()
