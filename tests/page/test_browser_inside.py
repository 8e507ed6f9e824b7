"""Inside a commit, in Chromium: rows of an object, reasons, and the list on a phone and without a script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_s3.records import Record
from tests.export.harness import MemoryExport
from tests.page.conftest import HOSTILE
from tests.page.conftest import chromium as chromium
from tests.page.observed import CONNECTOR, ObservedConnector
from tests.page.serving import Served, served
from tests.scheduler.harness import until
from tests.support import make_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]

BOUND_MS = 60_000
LONG = "a-tag-that-is-much-longer-than-a-phone-is-wide-and-has-no-place-to-break-it"


@pytest.fixture(scope="module")
def there(airflow_db: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, ObservedConnector]]:
    """A connector with rows that somebody hostile wrote, some of them rejected, and one with names that never end."""
    folder: Path = tmp_path_factory.mktemp("inside")
    seen = ObservedConnector(folder, MemoryExport(settings=make_settings(tolerate=True)))
    more = f"export.tags={LONG}\nexport.owner={LONG}\nexport.group={LONG}\n"
    (folder / "other.properties").write_text(CONNECTOR.replace("name=orders", "name=other") + more)
    for offset, value in enumerate([b'{"name": "%s"}' % HOSTILE.encode(), b'{"name": "Bob"}', b"{", b"["]):
        seen.world.broker.append("orders", 0, Record(offset, value, timestamp_ms=1))
    seen.world.run()
    with pytest.MonkeyPatch.context() as patch, served(seen.observer, patch) as made:
        patch.setenv("KAFKA_S3_PAGE_SAMPLE_ROWS", "5")
        yield made, seen


def context_of(there: Served, chromium: Browser, role: str, **more: object) -> BrowserContext:
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    token = there.manager.generate_jwt(SimpleAuthManagerUser(username=role, role=role))
    context = chromium.new_context(**more)  # type: ignore[arg-type]
    context.add_cookies([{"name": "_token", "value": token, "url": there.url}])
    context.set_default_timeout(BOUND_MS)
    return context


def opened(there: Served, context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto(f"{there.url}/kafka-s3/?dag_id=orders")
    page.get_by_role("button", name="Objects of commit 1").click()
    page.get_by_role("columnheader", name="Closed by", include_hidden=True).wait_for(state="attached")
    return page


def test_rows_and_reasons(there: tuple[Served, ObservedConnector], chromium: Browser) -> None:
    """Who may edit the DAG opens the first rows of an object; what a row holds is text; reasons are grouped."""
    context = context_of(there[0], chromium, "op", viewport={"width": 360, "height": 740})
    page = opened(there[0], context)
    assert "2" in page.get_by_label("Reasons of commit 1").inner_text()
    page.get_by_role("button", name="First rows").click()
    page.locator("ol.rows li").nth(1).wait_for()
    assert HOSTILE in page.locator("ol.rows li").first.inner_text()
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None
    wide, has = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= has
    page.get_by_role("button", name="First rows").click()
    assert page.locator("ol.rows").count() == 0
    context.close()


def test_a_viewer_sees_no_rows(there: tuple[Served, ObservedConnector], chromium: Browser) -> None:
    """Who may only read the DAG has no button for it."""
    context = context_of(there[0], chromium, "viewer")
    page = opened(there[0], context)
    assert page.get_by_role("button", name="First rows").count() == 0
    context.close()


def test_filters_on_a_phone(there: tuple[Served, ObservedConnector], chromium: Browser) -> None:
    """At 360 pixels no filter is wider than the page, however long its values are."""
    context = context_of(there[0], chromium, "viewer", viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.goto(f"{there[0].url}/kafka-s3/?tag={LONG}")
    page.locator("tr[data-dag=other]").wait_for()
    assert page.get_by_label("Owner", exact=True).count() == 1
    wide, has = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= has
    script = "all => all.map(each => each.getBoundingClientRect().right)"
    assert max(page.locator(".bar :is(select, input, button, label)").evaluate_all(script)) <= has
    context.close()


def test_without_a_script(there: tuple[Served, ObservedConnector], chromium: Browser) -> None:
    """A browser that runs no script comes to a plain table with every connector, its state and its numbers."""
    served_, _ = there
    context = context_of(served_, chromium, "viewer", java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{served_.url}/kafka-s3/")
    page.wait_for_url("**/plain")
    rows = page.locator("tbody tr")
    assert rows.count() == 2

    def looked() -> bool:
        page.reload()
        return "Looking" not in page.inner_text("table")

    until("both were looked at", looked)
    assert "2001-09-09" in rows.filter(has_text="orders").first.inner_text()
    context.close()


def test_the_plain_table_escapes_everything() -> None:
    """What a file, a record or a run says is text there, too."""
    from kafka_s3_airflow.page.plain import plain_page

    row = {
        "name": HOSTILE,
        "state": "failed",
        "why": [HOSTILE, "\ud800"],
        "is_paused": True,
        "lag_records": 10**30,
        "lag_ms": None,
        "loss_in_ms": 10**9,
        "last_commit_ms": 10**18,
        "kafka_at_ms": None,
        "log_at_ms": 0,
    }
    made = plain_page([row], 0).decode()
    assert "<img" not in made
    assert made.count("&lt;img") == 2
