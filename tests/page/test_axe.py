"""axe-core finds nothing on the page: names for screen readers, roles, contrast; light, dark, and on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_s3.records import Record
from tests.page.conftest import chromium as chromium
from tests.page.observed import ObservedConnector
from tests.page.observed import seen as seen
from tests.page.serving import Served, served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]
BOUND_MS = 60_000
LOOKS = [("light", 1280), ("dark", 1280), ("light", 360)]


@pytest.fixture
def there(airflow_db: None, seen: ObservedConnector, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A connector with commits, of which one record waits for a day."""
    seen.world.broker.append("orders", 0, Record(0, b"{}", timestamp_ms=1))
    seen.world.run()
    seen.world.produce(0, 3)
    seen.later(24 * 3_600_000)
    with served(seen.observer, monkeypatch) as made:
        yield made


def context_of(there: Served, chromium: Browser, theme: str, width: int) -> BrowserContext:
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    token = there.manager.generate_jwt(SimpleAuthManagerUser(username="admin", role="admin"))
    context = chromium.new_context(color_scheme=theme, viewport={"width": width, "height": 900})  # type: ignore[arg-type]
    context.add_cookies([{"name": "_token", "value": token, "url": there.url}])
    context.set_default_timeout(BOUND_MS)
    return context


def violations(page: Page) -> list[str]:
    """What axe-core says: the rule, how bad, and where."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{each['id']} ({each['impact']}): {node['html'][:160]}" for each in found for node in each["nodes"]]


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_the_list(there: Served, chromium: Browser, theme: str, width: int) -> None:
    """All connectors."""
    with context_of(there, chromium, theme, width) as context:
        page = context.new_page()
        page.goto(f"{there.url}/kafka-s3/")
        page.locator("tbody tr[data-dag]").first.wait_for()
        assert violations(page) == []
        page.evaluate("document.querySelector('main').append(document.createElement('button'))")
        assert [each.partition(" ")[0] for each in violations(page)] == ["button-name"]


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_one_connector(there: Served, chromium: Browser, theme: str, width: int) -> None:
    """Its state, what to do, charts, partitions, commits, and the objects of one."""
    with context_of(there, chromium, theme, width) as context:
        page = context.new_page()
        page.goto(f"{there.url}/kafka-s3/?dag_id=orders")
        page.get_by_role("button", name="Objects of commit 1").click()
        page.get_by_role("columnheader", name="Closed by", include_hidden=True).wait_for(state="attached")
        assert violations(page) == []
