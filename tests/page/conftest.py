"""One Airflow with a broker and a store for the page in the browser; the other tests of this folder need none of it."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.airflow.conftest import _airflow_home as _airflow_home
from tests.airflow.conftest import airflow_db as airflow_db
from tests.airflow.test_counters import StatsD
from tests.scheduler.gates import Proxy
from tests.scheduler.harness import Api, until
from tools.long_log import write_log
from tools.parts.airflow import Airflow
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer
from tools.showcase import HOUR_MS, Showcase

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: What must be shown as it is, and do nothing.
HOSTILE = "<img src=x onerror=window.hacked=1>"
TOPICS = ("orders", "poisoned", "flaky", "from_database", "many", "idle")
MANY = 130  # commits of the connector `many`


@dataclass
class PageServer:
    """The connectors, and Airflow over them. `way` is how the connector `flaky` comes to its broker; `statsd` is told
    what of Airflow's own metrics is ours."""

    show: Showcase
    airflow: Airflow
    api: Api
    way: Proxy
    now_ms: int
    statsd: StatsD


@pytest.fixture(scope="module")
def place(moto: MotoServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """Six connectors and a broken one, over a broker of their own, since other modules have topics of these
    names. `orders` was exported by Airflow itself, the others by `kafka-s3 run`."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "connectors").mkdir()
    hour_ms = (int(time.time() * 1000) // HOUR_MS) * HOUR_MS
    with KafkaBroker() as kafka, Proxy(f"http://{kafka.bootstrap_servers}") as way, StatsD() as statsd:
        show = Showcase(folder / "connectors", kafka, moto)
        _connectors(show, way, hour_ms)
        more = {
            "AIRFLOW__CORE__AUTH_MANAGER": "tests.page.access.ByName",
            "KAFKA_S3_RETRIES": "3",
            "KAFKA_S3_RETRY_DELAY_S": "1",
            "TMPDIR": str(folder),
            **statsd.environment,
            "AIRFLOW__METRICS__METRICS_ALLOW_LIST": "kafka_s3",
        }
        environment = show.environment(folder / "airflow", more)
        with Airflow(environment, triggerer=False, others={"guest": "viewer", "operator": "user"}) as airflow:
            api = Api(airflow)
            api.send("POST", "/api/v2/connections", _connection(moto))
            until("the dag-processor is through", lambda: _ids(api) >= {*TOPICS, "broken"}, or_say=lambda: _ids(api))
            api.send("PATCH", "/api/v2/dags/orders", {"is_paused": False})
            runs = "/dags/orders/dagRuns"
            until("orders ran", lambda: _has_run(api.get(runs)["dag_runs"]), or_say=lambda: api.get(runs))
            assert _why_failed(api) == []
            api.send("PATCH", "/api/v2/dags/orders", {"is_paused": True})
            show.produce("orders", 1, _values(7), hour_ms)
            yield PageServer(show, airflow, api, way, hour_ms, statsd)
        way.shutdown()


def _connectors(show: Showcase, way: Proxy, hour_ms: int) -> None:
    show.connector("orders", {"export.timestamps.enable": "true"}, partitions=2)
    show.produce("orders", 0, _values(30), hour_ms - HOUR_MS)
    show.connector("poisoned", {"errors.tolerance": "all", "flush.size": "10"})
    show.produce("poisoned", 0, [*_values(12), HOSTILE.encode(), *_values(3)], hour_ms - HOUR_MS)
    assert show.export("poisoned", HOSTILE) == 0
    show.connector("flaky", {"consumer.override.bootstrap.servers": way.url.removeprefix("http://")})
    show.produce("flaky", 0, _values(5), hour_ms - HOUR_MS)
    assert show.export("flaky", "by-hand") == 0
    show.connector("from_database", {"export.aws.conn.id": "in_database"})
    show.produce("from_database", 0, _values(4), hour_ms - HOUR_MS)
    assert show.export("from_database", "by-hand") == 0
    show.connector("many")
    write_log(show.log("many"), MANY, topic="many", began_ms=hour_ms - MANY * HOUR_MS)
    show.connector("idle")
    (show.folder / "broken.properties").write_text("name=broken\nflush.size=many\n")


def _ids(api: Api) -> set[str]:
    return {each["dag_id"] for each in api.get("/dags", limit=100)["dags"]}


def _has_run(runs: list[dict[str, str]]) -> bool:
    return bool(runs) and all(each["state"] in ("success", "failed") for each in runs)


def _why_failed(api: Api) -> list[str]:
    """What the tasks of `orders` that did not end well logged; an hour that ends meanwhile has a run without news."""
    tasks = api.get("/dags/orders/dagRuns/~/taskInstances")["task_instances"]
    logs = "/dags/orders/dagRuns/{dag_run_id}/taskInstances/{task_id}/logs/{try_number}"
    failed = [each for each in tasks if each["state"] not in ("success", "skipped")]
    return [str(api.get(quote(logs.format(**each), safe="/:"), full_content="true"))[-5000:] for each in failed]


def _connection(moto: MotoServer) -> dict[str, str]:
    extra = {"endpoint_url": moto.endpoint_url, "region_name": moto.region}
    return {
        "connection_id": "in_database",
        "conn_type": "aws",
        "login": moto.access_key,
        "password": moto.secret_key,
        "extra": json.dumps(extra),
    }


def _values(count: int) -> list[bytes]:
    return [json.dumps({"n": number}).encode() for number in range(count)]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The machine's own Chromium; without one the tests are skipped, in CI they fail."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI drives the page with Chromium, always: apt-get install chromium")
        pytest.skip("there is no Chromium on PATH: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
