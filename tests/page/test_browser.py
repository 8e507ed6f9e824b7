"""The page in Chromium, in a running Airflow, over a real broker and a real store.

Nothing here asserts a time: what is awaited has a generous bound.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import pytest

from tests.airflow.test_metrics import Samples, parsed_text
from tests.page.access import GUEST
from tests.page.conftest import HOSTILE, MANY, TOPICS, PageServer
from tests.scheduler.harness import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, FrameLocator, Page

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]

BOUND_MS = 60_000
PHONE = {"width": 360, "height": 740}
ROUTES = (
    *(
        "",
        "page.css",
        "page.js",
        "nodes.js",
        "data.js",
        "list.js",
        "one.js",
        "charts.js",
        "plots.js",
        "inside.js",
        "actions.js",
        "plain",
    ),
    *("api/connectors", "api/connectors/orders", "api/connectors/orders/commits"),
    *("api/connectors/orders/windows", "api/connectors/orders/charts?per=day"),
    "api/connectors/orders/commits/1/sample",
    *("api/connectors/orders/commits/1", "api/connectors/poisoned/commits/1/rejected", "metrics", "no-such-thing"),
)


def log_in(page: Page, place: PageServer, user: str = "admin") -> None:
    page.set_default_timeout(BOUND_MS)
    page.goto(f"{place.airflow.url}/")
    page.locator("input[name=username]").fill(user)
    page.locator("input[name=password]").fill(place.airflow.password)
    page.locator("button[type=submit]").click()
    page.wait_for_url(lambda url: not urlsplit(url).path.startswith("/auth"))  # only then the cookie is there


@pytest.fixture(scope="module")
def admin(place: PageServer, chromium: Browser) -> Iterator[Page]:
    """A window of somebody who is logged in; what goes wrong in its script is collected."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    log_in(page, place)
    page.on("pageerror", lambda error: page.evaluate("text => window.broken = text", str(error)))
    yield page
    context.close()


def in_frame(page: Page) -> FrameLocator:
    return page.frame_locator("iframe")


def opened(page: Page, place: PageServer, query: str = "") -> Page:
    """The page by itself, outside of Airflow's frame."""
    page.goto(f"{place.airflow.url}/kafka-s3/{query}")
    page.locator("h1").wait_for()
    return page


def answer_of(place: PageServer, route: str, token: str | None) -> tuple[int, dict[str, str]]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"{place.airflow.url}/kafka-s3/{route}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}
    except urllib.error.HTTPError as error:
        with error:
            return error.code, {name.lower(): value for name, value in error.headers.items()}


def token_of(place: PageServer, user: str) -> str:
    login = {"username": user, "password": place.airflow.password}
    return str(place.api.send("POST", "/auth/token", login)["access_token"])


def test_logged_out(place: PageServer) -> None:
    """Without a login nothing can be read: page, script, style sheet, data, metrics and what does not exist are 401."""
    assert {route: answer_of(place, route, None)[0] for route in ROUTES} == dict.fromkeys(ROUTES, 401)
    assert answer_of(place, "", token_of(place, "admin"))[0] == 200
    assert answer_of(place, "api/connectors", "no-token")[0] in (401, 403)


def test_headers(place: PageServer) -> None:
    """Every answer forbids what is not our own: other scripts, inline ones, other sites' frames, guessed types."""
    token = token_of(place, "admin")
    for route, who in (("", token), ("page.js", token), ("api/connectors", token), ("", None)):
        _, headers = answer_of(place, route, who)
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'self'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'self'" in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_a_guest_sees_what_he_may_read(place: PageServer, chromium: Browser) -> None:
    """Whoever may not read a connector's DAG sees nothing of the connector, in the list or by its address."""
    token = token_of(place, GUEST)
    assert answer_of(place, "api/connectors/orders", token)[0] == 200
    for route in (
        "poisoned",
        "poisoned/commits",
        "poisoned/windows",
        "poisoned/charts",
        "poisoned/commits/1",
        "poisoned/commits/1/sample",
        "poisoned/commits/1/rejected",
        "no-connector",
    ):
        assert answer_of(place, f"api/connectors/{route}", token)[0] == 403, route
    context = chromium.new_context()
    page = context.new_page()
    log_in(page, place, GUEST)
    opened(page, place)
    page.get_by_role("link", name="orders").wait_for()
    assert page.locator("tbody tr").count() == 1
    assert "poisoned" not in page.content()
    opened(page, place, "?dag_id=poisoned")
    assert "You may not read this DAG" in page.inner_text("main")
    context.close()


def test_from_airflow_to_a_commit_its_run_and_back(place: PageServer, admin: Page) -> None:
    """From Airflow's menu to the list, to an export, to one of its commits, to that commit's DAG run in Airflow; there
    the tab leads back to the commits of this run."""
    admin.goto(f"{place.airflow.url}/")
    admin.get_by_role("button", name="Browse").click()
    admin.get_by_role("menuitem", name="Kafka to S3").click()
    frame = in_frame(admin)
    frame.get_by_role("link", name="orders", exact=True).click()
    frame.get_by_role("heading", name="orders", exact=True).wait_for()
    row = frame.get_by_label("Commits").get_by_role("row").filter(has=frame.get_by_role("button", name="commit 1"))
    assert "30" in row.inner_text()
    frame.get_by_role("button", name="Objects of commit 1").click()
    frame.get_by_text(re.compile(r"topics/orders/partition=0/orders\+0\+0000000000")).wait_for()
    link = row.get_by_role("link", name=re.compile("scheduled__"))
    run_id = link.inner_text()
    link.click()
    admin.wait_for_url(re.compile(r"/dags/orders/runs/scheduled__"))
    admin.get_by_role("link", name="Kafka to S3").click()
    frame = in_frame(admin)
    frame.get_by_role("heading", name="Commits of one run").wait_for()
    frame.get_by_role("button", name="Objects of commit 1").wait_for()
    assert run_id in frame.get_by_role("link", name=run_id).first.inner_text()


def test_all_connectors(place: PageServer, admin: Page) -> None:
    """Each connector has its state, the worst first; the problem of a broken file shows; the list can be searched."""
    opened(admin, place)
    states = settled(admin)
    assert states["broken"] == "Broken configuration"
    assert (states["orders"], states["idle"], states["poisoned"]) == ("Healthy", "Never ran", "Healthy")
    assert states["from_database"] == "Healthy", "its bucket is reached with a connection of Airflow's database"
    assert next(iter(states)) == "broken"
    assert "flush.size=many" in admin.locator("tr", has_text="broken").first.inner_text()
    cells = admin.locator("tr[data-dag=orders] td").all_inner_texts()
    assert cells[2].strip() == "7"
    admin.get_by_label("Search").fill("POIS")
    assert admin.locator("tbody tr").count() == 1
    admin.get_by_label("Search").fill("")
    admin.get_by_label("State", exact=True).select_option("Needs attention")
    assert sorted(admin.locator("tbody tr").evaluate_all("rows => rows.map(row => row.dataset.dag)"))[0] == "broken"
    assert admin.locator("tr[data-dag=orders]").count() == 0


def settled(page: Page) -> dict[str, str]:
    """The states of all connectors once each is known, in the order of the list."""
    script = "rows => rows.map(row => [row.dataset.dag, row.querySelector('.state').innerText.slice(2)])"

    def look() -> dict[str, str] | None:
        found = dict(page.locator("tbody tr[data-dag]").evaluate_all(script))
        return None if not found or "Looking …" in found.values() else found

    return until("every state is known", look, pause_s=0.2)


def test_hostile_names_are_text(place: PageServer, admin: Page) -> None:
    """What a record, a run or a key says is shown as it is: as text, of which no element is made and nothing runs."""
    opened(admin, place, "?dag_id=poisoned")
    admin.get_by_text(HOSTILE).first.wait_for()
    admin.get_by_role("button", name="Objects of commit 1").click()
    admin.get_by_role("button", name="Why records were rejected").click()
    table = admin.get_by_label("Rejected records of commit 1")
    table.wait_for()
    assert "poisoned-0 offset 12" in table.inner_text()
    assert admin.locator("img").count() == 0
    assert admin.evaluate("window.hacked") is None
    opened(admin, place, f"?dag_id=orders&run_id={HOSTILE}")
    admin.get_by_text("No commit of this run").wait_for()
    assert admin.locator("code", has_text=HOSTILE).count() == 1
    assert admin.evaluate("window.hacked") is None


def test_many_commits_are_paged(place: PageServer, admin: Page) -> None:
    """A page of commits at a time, older ones by a button, one that is known by its number."""
    opened(admin, place, "?dag_id=many")
    rows = admin.locator("table[aria-label=Commits] > tbody > tr")
    admin.get_by_role("button", name=f"Objects of commit {MANY - 1}").wait_for()
    assert rows.count() == 50
    for _ in range(2):
        before = rows.count()
        admin.get_by_role("button", name=re.compile("Older than")).click()
        until("older ones come", lambda before=before: rows.count() > before, pause_s=0.2)  # type: ignore[misc]
    assert rows.count() == MANY
    assert "This is the beginning of the log." in admin.inner_text("main")
    admin.get_by_label("Go to commit").fill("17")
    admin.get_by_role("button", name="Go", exact=True).click()
    admin.get_by_role("button", name="Objects of commit 17").wait_for()
    assert rows.first.inner_text().lstrip().startswith("17")


def test_where_partitions_stand(place: PageServer, admin: Page) -> None:
    """Each partition has a picture that says in words, too, what is exported of what Kafka holds."""
    opened(admin, place, "?dag_id=orders")
    admin.get_by_role("img", name="exported up to 30 of 0 to 30").wait_for()
    assert admin.get_by_role("img", name="exported up to 0 of 0 to 7").count() == 1
    assert admin.get_by_label("Partitions").get_by_role("columnheader").count() == 8


def test_an_export_that_never_ran(place: PageServer, admin: Page) -> None:
    """Where there is nothing yet the page says what to do; a DAG that is not a connector's is called one."""
    opened(admin, place, "?dag_id=idle")
    admin.get_by_text("unpause the DAG, or trigger it").first.wait_for()
    opened(admin, place, "?dag_id=other")
    assert "is not made of one connector file" in admin.inner_text("main")


def test_dark_and_light_are_airflows(place: PageServer, admin: Page) -> None:
    """In Airflow's frame the theme is Airflow's, at once when it is changed there; alone it is the browser's."""

    def ground(where: Page | Frame) -> Any:
        return where.evaluate("getComputedStyle(document.body).backgroundColor")

    admin.goto(f"{place.airflow.url}/plugin/kafka-s3")
    in_frame(admin).get_by_role("heading", name="Kafka to S3").wait_for()
    frame = next(each for each in admin.frames if each.url.endswith("/kafka-s3/") and each is not admin.main_frame)
    html = "document.documentElement"
    seen = {}
    for theme in ("dark", "light"):
        admin.evaluate(f"{html}.classList.remove('dark', 'light'); {html}.classList.add('{theme}')")
        until(f"it is {theme}", lambda theme=theme: frame.evaluate(f"{html}.dataset.theme") == theme, pause_s=0.1)  # type: ignore[misc]
        seen[theme] = ground(frame)
    assert seen == {"dark": "rgb(15, 18, 22)", "light": "rgb(255, 255, 255)"}
    opened(admin, place)
    for theme in ("dark", "light"):
        admin.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        until(f"alone it is {theme}", lambda theme=theme: ground(admin) == seen[theme], pause_s=0.1)  # type: ignore[misc]


def test_on_a_phone(place: PageServer, admin: Page) -> None:
    """At 360 pixels nothing scrolls sideways, whatever is open; each value stands beside its name."""
    admin.set_viewport_size(PHONE)  # type: ignore[arg-type]
    try:
        opened(admin, place)
        settled(admin)
        assert_fits(admin)
        for dag_id in ("broken", "poisoned", "many", "orders"):
            opened(admin, place, f"?dag_id={dag_id}")
            if dag_id != "broken":
                admin.get_by_role("button", name="Objects of commit 1", exact=dag_id != "many").first.click()
                admin.get_by_role("columnheader", name="Closed by", include_hidden=True).wait_for(state="attached")
            assert_fits(admin)
        assert (
            admin.locator("td[data-label=Records]").first.evaluate("cell => getComputedStyle(cell).display") == "grid"
        )
    finally:
        admin.set_viewport_size({"width": 1280, "height": 900})


def assert_fits(page: Page) -> None:
    wide, there = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= there, page.url


def test_by_keyboard(place: PageServer, admin: Page) -> None:
    """Every control is reached and used by keyboard, and shows that it has the focus."""
    opened(admin, place, "?dag_id=orders")
    button = admin.get_by_role("button", name="Objects of commit 1")
    button.wait_for()
    for _ in range(60):  # from the top of the page, as somebody without a mouse goes
        admin.keyboard.press("Tab")
        if button.evaluate("node => node === document.activeElement"):
            break
    assert button.evaluate("node => node.matches(':focus-visible')")
    assert button.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    admin.keyboard.press("Enter")
    admin.get_by_label("Objects of commit 1", exact=True).nth(1).wait_for()
    assert button.get_attribute("aria-expanded") == "true"
    admin.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "false"


def test_broker_down(place: PageServer, admin: Page) -> None:
    """With its broker down an export is still there: commits from the log, Kafka's numbers as they were, marked."""
    opened(admin, place, "?dag_id=flaky")
    admin.get_by_role("img", name="exported up to 5 of 0 to 5").wait_for()
    place.way.is_open = False
    try:
        admin.locator(".state.kafka_down").wait_for(timeout=120_000)
        assert "as of" in admin.locator(".facts").inner_text()
        assert admin.get_by_role("img", name="exported up to 5 of 0 to 5").count() == 1
        admin.get_by_role("button", name="Objects of commit 1").wait_for()
        opened(admin, place)
        assert settled(admin)["flaky"] == "Kafka down"
        assert settled(admin)["orders"] == "Healthy"
    finally:
        place.way.is_open = True


def test_no_secret(place: PageServer) -> None:
    """Neither keys nor the names of connections' passwords are in anything that the page answers."""
    token = token_of(place, "admin")
    for route in (each for each in ROUTES if each.startswith(("api", "metrics", "plain")) and "sample" not in each):
        request = urllib.request.Request(
            f"{place.airflow.url}/kafka-s3/{route}", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            said = answer.read().decode()
        assert place.show.store.secret_key not in said
        assert "AWS_SECRET" not in said


def scraped(place: PageServer, headers: dict[str, str]) -> Samples:
    request = urllib.request.Request(f"{place.airflow.url}/kafka-s3/metrics", headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        body = answer.read()
    assert place.show.store.secret_key.encode() not in body
    return parsed_text(body)


def test_prometheus_reads_what_its_user_may_see(place: PageServer) -> None:
    """With a token or with the cookie of a login: every connector, or those whose DAG the user may read."""
    token = token_of(place, "admin")
    found = scraped(place, {"Authorization": f"Bearer {token}"})
    assert {connector for _, connector, _ in found} == {*TOPICS, "broken"}
    assert found["kafka_s3_lag_records", "orders", None] == 7
    assert found["kafka_s3_last_commit_timestamp_seconds", "orders", None] > place.now_ms / 1000 - 3600
    assert found["kafka_s3_rejected_ratio", "poisoned", None] == 1 / 16
    assert found["kafka_s3_state", "idle", "never_ran"] == 1
    assert found["kafka_s3_configuration_ok", "broken", None] == 0
    assert {name for _, name, _ in scraped(place, {"Cookie": f"_token={token}"})} == {*TOPICS, "broken"}
    guest = scraped(place, {"Authorization": f"Bearer {token_of(place, GUEST)}"})
    assert {connector for _, connector, _ in guest} == {"orders"}


def test_the_token_is_renewed(place: PageServer, tmp_path: Path) -> None:
    """The script of deploy/grafana writes a token that reads the metrics; a wrong password leaves the file."""
    script, file = Path(__file__).parents[2] / "deploy/grafana/renew_token.py", tmp_path / "token"
    for password, status in ((place.airflow.password, 0), ("wrong", 1)):
        login = {"AIRFLOW_USER": "admin", "AIRFLOW_PASSWORD": password}
        run = subprocess.run(
            [sys.executable, script, place.airflow.url, file], env=login, capture_output=True, text=True
        )
        assert run.returncode == status, run.stderr
        assert "Traceback" not in run.stderr
        assert scraped(place, {"Authorization": f"Bearer {file.read_text()}"})


def test_an_export_pushes_what_it_committed(place: PageServer) -> None:
    """The XCom of `export` in a real run: the entry, and how much it is."""
    runs = place.api.get("/dags/orders/dagRuns")["dag_runs"]
    paths = [f"/dags/orders/dagRuns/{quote(each['dag_run_id'])}/taskInstances/export/xcomEntries" for each in runs]
    pushed = [path for path in paths if place.api.get(path)["total_entries"]]
    assert len(pushed) == 1, "a run without news pushes nothing"
    found = place.api.get(f"{pushed[0]}/return_value", stringify="false")["value"]
    assert (found["seq"], found["records"], found["objects"]) == (1, 30, 1)
    assert found["bytes"] > 0


def test_statsd_is_told_what_a_run_committed(place: PageServer) -> None:
    """The tasks of a real run count its commits where Airflow sends its own metrics."""
    lines = place.statsd.lines(10)
    assert lines.count("airflow.kafka_s3.orders.records:30|c") == 1
    assert "airflow.kafka_s3.orders.lag:0|g" in lines
