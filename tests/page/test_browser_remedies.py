"""What to do, in Chromium: the commands for a state, and links to the runs that there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.page.conftest import chromium as chromium
from tests.page.observed import ObservedConnector
from tests.page.observed import seen as seen
from tests.page.serving import served
from tests.scheduler.harness import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]
BOUND_MS = 60_000
DAY_MS = 24 * 3_600_000
RUN = "scheduled__2001-09-09T01:00:00+00:00"


@pytest.fixture
def page(
    airflow_db: None, seen: ObservedConnector, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Page]:
    """One connector whose records wait for a day."""
    seen.world.produce(0, 4)
    seen.world.run()
    seen.world.produce(0, 5)
    seen.later(DAY_MS)
    with served(seen.observer, monkeypatch) as there:
        context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
        context.add_cookies([{"name": "_token", "value": there.token, "url": there.url}])
        window = context.new_page()
        window.set_default_timeout(BOUND_MS)
        window.goto(f"{there.url}/kafka-s3/?dag_id=orders")
        yield window
        context.close()


def said(window: Page, text: str) -> str:
    """What the page says needs attention, once it says this."""
    until("it is said", lambda: text in window.inner_text("main"), or_say=lambda: window.inner_text("main"))
    return window.locator("[role=alert]").inner_text()


def test_late_says_why_and_what_to_do(seen: ObservedConnector, page: Page) -> None:
    """A paused DAG is unpaused by a command that a button copies; then a queued run is a link, and is waited for."""
    from kafka_s3_airflow.page.model import AirflowFacts, RunFacts

    seen.facts["orders"] = AirflowFacts(is_paused=True)
    seen.later()
    assert "airflow dags unpause orders" in said(page, "not exported yet: the DAG is paused.")
    page.get_by_role("button", name="Copy airflow dags unpause orders").click()
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "airflow dags unpause orders"
    seen.facts["orders"] = AirflowFacts(is_paused=False, at_work=RunFacts(RUN, "queued"))
    seen.later()
    assert "airflow dags" not in said(page, f"run {RUN} is queued.")
    assert str(page.get_by_role("link", name=RUN).get_attribute("href")).startswith("../dags/orders/runs/scheduled__")
    seen.facts["orders"] = AirflowFacts(is_paused=False, at_work=RunFacts(RUN, "running", "export", 2))
    seen.later()
    said(page, f"run {RUN} is failing: its task export failed 2 times, and waits to be tried again.")
    seen.facts["orders"] = AirflowFacts(is_paused=False)
    seen.later()
    assert "airflow dags trigger orders" in said(page, "no run is queued or running")


def test_a_failed_run_is_a_link(seen: ObservedConnector, page: Page) -> None:
    """The name of the run that failed leads to it."""
    from kafka_s3_airflow.page.model import AirflowFacts, RunFacts

    seen.facts["orders"] = AirflowFacts(is_paused=False, run=RunFacts(RUN, "failed"))
    seen.later()
    assert "kafka-s3 status orders.properties" in said(page, "The newest run of its DAG failed")
    assert page.get_by_role("alert").get_by_role("link", name=RUN).count() == 1


def test_a_plan_of_the_command_line_links_to_no_run(seen: ObservedConnector, page: Page) -> None:
    """The run that Airflow does not know is named, and is not a link."""
    from kafka_s3.export.run import prepare
    from tests.support import request

    prepare(seen.world.exporter, request("by-hand"))
    seen.later()
    until("the plan is shown", lambda: "is open" in page.inner_text("main"), or_say=lambda: page.inner_text("main"))
    assert page.locator(".note code", has_text="by-hand").count() == 1
    assert page.get_by_role("link", name="by-hand").count() == 0
