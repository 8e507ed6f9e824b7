"""What may be done about a connector, in Chromium and by a real Airflow: for whom it lets, previewed, and not twice."""

from __future__ import annotations

import contextlib
import http.server
import re
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from kafka_s3.log.entries import Kind
from tests.page.access import GUEST, OPERATOR
from tests.page.conftest import PageServer
from tests.page.test_browser import log_in, opened, token_of
from tests.scheduler.harness import until
from tools.showcase import HOUR_MS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def window(place: PageServer, chromium: Browser) -> Iterator[Callable[[str], Page]]:
    """A window of a user, logged in."""
    with contextlib.ExitStack() as left:

        def of(user: str) -> Page:
            context = chromium.new_context(viewport={"width": 1280, "height": 900})
            left.callback(context.close)
            page = context.new_page()
            log_in(page, place, user)
            return page

        yield of


def actions(page: Page) -> list[str]:
    """The buttons of the page's bar, once the connector is shown."""
    page.get_by_role("link", name="Open DAG").wait_for()
    return page.get_by_role("group", name="Actions").get_by_role("button").all_inner_texts()


def runs(place: PageServer, dag_id: str) -> list[dict[str, Any]]:
    return list(place.api.get(f"/dags/{dag_id}/dagRuns", order_by="-id")["dag_runs"])


def audit(place: PageServer, dag_id: str, event: str) -> list[dict[str, Any]]:
    """What Airflow's own log of actions says, newest first."""
    found = place.api.get("/eventLogs", dag_id=dag_id, event=event, order_by="-event_log_id")
    return list(found["event_logs"])


def refused(place: PageServer, user: str, path: str) -> int:
    """What a user is answered who asks for a run by hand, without the page."""
    import json
    import urllib.request

    headers = {"Authorization": f"Bearer {token_of(place, user)}", "Content-Type": "application/json"}
    body = json.dumps({"logical_date": None, "conf": {"operation": "redrive"}}).encode()
    request = urllib.request.Request(f"{place.airflow.url}{path}", body, headers, method="POST")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=60)
    caught.value.close()
    return caught.value.code


def said(page: Page, text: str) -> str:
    """What became of an action, once that says this."""
    shown = page.locator("#done")
    until("it is said", lambda: text in shown.inner_text(), or_say=lambda: page.inner_text("body"), pause_s=0.2)
    return shown.inner_text()


def form(page: Page, button: str, **fields: str) -> Locator:
    """The form of a button, filled in; it shows what it would do."""
    page.get_by_role("group", name="Actions").get_by_role("button", name=button).click()
    dialog = page.get_by_role("dialog")
    for title, value in fields.items():
        dialog.get_by_label(title.replace("_", " ")).fill(value)
    dialog.get_by_role("button", name="Show what it would do").click()
    return dialog


def shows(dialog: Locator, text: str) -> None:
    until("the form says so", lambda: text in dialog.inner_text(), or_say=dialog.inner_text, pause_s=0.2)


def ended(place: PageServer, page: Page, dag_id: str) -> dict[str, Any]:
    """The newest run of a DAG, once the page says that it has ended well."""
    said(page, "has ended well.")
    newest = runs(place, dag_id)[0]
    assert newest["state"] == "success"
    assert newest["dag_run_id"] in page.inner_text("#done")
    return newest


def test_each_sees_what_he_may_do(place: PageServer, window: Callable[[str], Page]) -> None:
    """Who only reads sees no button, and is refused if he asks all the same, for a run or for what one would do; who
    may do it to one connector sees them there alone."""
    guest, operator = window(GUEST), window(OPERATOR)
    every = ["Unpause", "Export a window again …", "Send dead letters again …", "Rewind …"]
    assert actions(opened(guest, place, "?dag_id=orders")) == []
    assert actions(opened(operator, place, "?dag_id=orders")) == every
    assert actions(opened(operator, place, "?dag_id=poisoned")) == []
    conf = quote('{"operation":"redrive"}')
    for page, dag_id in ((guest, "orders"), (operator, "poisoned")):
        answer = page.request.get(f"{place.airflow.url}/kafka-s3/api/connectors/{dag_id}/preview?conf={conf}")
        assert (answer.status, answer.json()["detail"][:15]) == (403, "You may not tri")
    assert operator.request.get(f"{place.airflow.url}/kafka-s3/api/connectors/orders/preview?conf={conf}").ok
    for wrong in ("[]", "{", '"' + "x" * 9000):
        asked = f"{place.airflow.url}/kafka-s3/api/connectors/orders/preview?conf={quote(wrong)}"
        assert operator.request.get(asked).status == 422, wrong
    for user, dag_id in ((GUEST, "orders"), (GUEST, "orders__operations"), (OPERATOR, "poisoned__operations")):
        assert refused(place, user, f"/api/v2/dags/{dag_id}/dagRuns") == 403
    assert runs(place, "poisoned__operations") == []


def test_unpaused_and_run_until_now(place: PageServer, window: Callable[[str], Page]) -> None:
    """Two clicks at once are one run, which Airflow's log of actions says who started; another's of the same moment is
    refused in a sentence."""
    admin, other = window("admin"), window(OPERATOR)
    opened(admin, place, "?dag_id=orders")
    admin.get_by_role("group", name="Actions").get_by_role("button", name="Unpause").click()
    said(admin, "orders is unpaused.")
    button = admin.get_by_role("group", name="Actions").get_by_role("button", name="Run until now")
    button.wait_for()
    opened(other, place, "?dag_id=orders")
    theirs = other.get_by_role("group", name="Actions").get_by_role("button", name="Run until now")
    theirs.wait_for()
    before = len(runs(place, "orders"))
    button.dblclick()
    said(admin, "Run page__run__now__orders__")
    theirs.click()
    until("somebody else is told", lambda: other.inner_text("#done").startswith(("The same was started", "Run page__")))
    made = [run for run in runs(place, "orders") if run["dag_run_id"].startswith("page__run__now")]
    # One, or two where a minute began between the two.
    minutes = {run["dag_run_id"][-5:] for run in made}
    assert (len(made), len(runs(place, "orders")) - before >= 1) == (len(minutes), True)
    assert "The same was started" in other.inner_text("#done") or len(minutes) == 2
    ended(place, admin, "orders")
    assert made[-1]["conf"] == {"until": "now"}
    logged = {each["owner"]: each["extra"] for each in audit(place, "orders", "trigger_dag_run")}
    assert '"until": "now"' in logged["admin"]
    admin.get_by_role("button", name="Objects of commit 2").wait_for()
    admin.get_by_role("group", name="Actions").get_by_role("button", name="Pause").click()
    said(admin, "orders is paused")


def test_a_rewind_is_previewed_and_confirmed(place: PageServer, window: Callable[[str], Page]) -> None:
    """The form says what it would do, and what it cannot; it starts when the name is typed, and only what was shown."""
    page = opened(window("admin"), place, "?dag_id=flaky")
    dialog = form(page, "Rewind …", Where_to="flaky-0=99")
    shows(dialog, "not below its position 5: a rewind only goes back")
    start = dialog.get_by_role("button", name="Rewind", exact=True)
    assert start.is_disabled()
    dialog.get_by_label("Where to").fill("flaky-0=2")
    shows(dialog, "look again at what it would do")
    dialog.get_by_role("button", name="Show what it would do").click()
    shows(dialog, "flaky-0 is exported again from offset 0 on (now 5): 5 records in 1 objects")
    assert start.is_disabled()
    dialog.get_by_label("Type flaky to confirm").fill("flaki")
    assert start.is_disabled()
    dialog.get_by_label("Type flaky to confirm").fill("flaky")
    place.show.produce("flaky", 0, [b"1"], place.now_ms - HOUR_MS)
    assert place.show.export("flaky", "meanwhile") == 0
    start.click()
    shows(dialog, "flaky has changed since you looked. Nothing was done.")
    assert runs(place, "flaky__operations") == []
    dialog.get_by_role("button", name="Show what it would do").click()
    shows(dialog, "(now 6): 6 records in 2 objects")
    start.click()
    run = ended(place, page, "flaky__operations")
    assert run["conf"]["partitions"] == ["flaky-0=2"]
    newest = place.show.log("flaky").newest()
    assert newest is not None
    assert (newest.entry.kind, newest.entry.run_id) == (Kind.REWIND, run["dag_run_id"])
    logged = audit(place, "flaky__operations", "trigger_dag_run")[0]
    assert (logged["owner"], '"flaky-0=2"' in logged["extra"]) == ("admin", True)
    page.get_by_role("link", name=run["dag_run_id"]).nth(1).wait_for()  # of the commit, too


def test_dead_letters_and_windows_are_previewed(place: PageServer, window: Callable[[str], Page]) -> None:
    """How many would be sent, then they are; what a window would read, then its run has that data interval."""
    page = opened(window("admin"), place, "?dag_id=poisoned")
    dialog = form(page, "Send dead letters again …", Only_offsets="99")
    shows(dialog, "No dead letter is like that.")
    assert dialog.get_by_role("button", name="Send dead letters again").is_disabled()
    dialog.get_by_label("Only offsets").fill("12")
    dialog.get_by_role("button", name="Show what it would do").click()
    shows(dialog, "1 dead letters would be sent to poisoned.")
    dialog.get_by_role("button", name="Send dead letters again").click()
    ended(place, page, "poisoned__operations")
    dialog = form(page, "Send dead letters again …")
    shows(dialog, "1 were sent there before")
    page.keyboard.press("Escape")
    page = opened(page, place, "?dag_id=orders")
    at = page.evaluate("ms => new Date(ms).toISOString().slice(0, 16)", place.now_ms - 5 * HOUR_MS)
    dialog = form(page, "Export a window again …", A_time_in_the_window=at)
    shows(dialog, "The window has no records: it is committed without any.")
    dialog.get_by_role("button", name="Export again").click()
    run = ended(place, page, "orders__reexport")
    begin, end = (run[f"data_interval_{edge}"][:16] for edge in ("start", "end"))
    assert begin == at
    assert end > at


class _Elsewhere(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>elsewhere</title>")

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_other_sites_and_forged_logins_do_nothing(place: PageServer, window: Callable[[str], Page]) -> None:
    """A page of another origin, even one of the same host, starts nothing with the viewer's cookie; a login that is not
    Airflow's is refused in a sentence."""
    page = window("admin")
    before = len(runs(place, "idle"))
    body = '{"logical_date": null, "conf": {}}'
    url = f"{place.airflow.url}/api/v2/dags/idle/dagRuns"
    script = """async ([url, type, body, mode]) => fetch(url, {method: "POST", credentials: "include", mode, body,
        headers: type ? {"Content-Type": type} : {}}).then(() => "sent", (error) => String(error))"""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for host in ("127.0.0.1", "localhost"):  # of the same site, with the cookie; of another one
            page.goto(f"http://{host}:{server.server_address[1]}/")
            assert page.evaluate(script, [url, "text/plain", body, "no-cors"]) == "sent"
            assert page.evaluate(script, [url, None, body, "no-cors"]) == "sent"
            assert "Failed to fetch" in page.evaluate(script, [url, "application/json", body, "cors"])
        server.shutdown()
    assert len(runs(place, "idle")) == before
    place.api.send("PATCH", "/api/v2/dags/idle", {"is_paused": False})
    try:
        opened(page, place, "?dag_id=idle")
        button = page.get_by_role("group", name="Actions").get_by_role("button", name="Run now")
        button.wait_for()
        page.route(
            re.compile("/kafka-s3/api/"), lambda route: route.abort()
        )  # or it says first that nobody is logged in
        [mine] = [each for each in page.context.cookies() if each["name"] == "_token"]
        page.context.add_cookies([{**mine, "value": mine["value"][:-8] + "forged00"}])  # type: ignore[list-item]
        page_runs = [run for run in runs(place, "idle") if run["dag_run_id"].startswith("page__")]
        button.click()
        said(page, "Airflow does not know your login any more. Nothing was done.")
        assert page_runs == [run for run in runs(place, "idle") if run["dag_run_id"].startswith("page__")] == []
    finally:
        place.api.send("PATCH", "/api/v2/dags/idle", {"is_paused": True})
