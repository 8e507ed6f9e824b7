"""A read-only user asks a thousand things while the store hangs: the page's own app, served by uvicorn over HTTP."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from kafka_s3.errors import ConfigurationError
from tests.export.harness import MemoryExport
from tests.page.observed import CONNECTOR, ObservedConnector
from tests.page.serving import BOUND_S, Served, served
from tests.support import make_settings, request
from tools.crowd import Crowd, everything
from tools.parts.hanging import HangingServer

pytestmark = pytest.mark.filterwarnings("ignore")

REQUESTS = 1_000
RUN = "run-1"
#: What may ask at once (32), the page's threads, and some of the test's own. One a request were 1,000.
THREADS_MAX = 32 + 4 + 8


def observer_over(store: HangingServer, folder: Path) -> Any:
    """An observer of one connector whose bucket is real code over a store that hangs; Kafka is of no matter here."""
    from dataclasses import replace

    from kafka_s3.adapters.memory import MemoryBroker
    from kafka_s3.wiring import make_store
    from kafka_s3_airflow.page.folder import Folder
    from kafka_s3_airflow.page.observer import Observer

    (folder / "orders.properties").write_text(CONNECTOR)
    plain = make_settings()
    s3 = replace(plain.s3, endpoint_url=store.url, access_key_id="a", secret_access_key="b")
    return Observer(
        Folder(folder),
        load=lambda _: replace(plain, s3=s3),
        make_store=make_store,
        make_broker=lambda _: MemoryBroker(),
        find_facts=lambda _: {},
        now_ms=lambda: int(time.time() * 1000),
    )


@pytest.mark.heavy
def test_a_crowd_holds_up_no_other_route(airflow_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 requests of a viewer are all answered while the store still hangs, with what is known or 503 and when to
    come back; the threads stay a few, none of Starlette's is held, and what many ask for is asked of the store once."""
    with HangingServer() as store, served(observer_over(store, tmp_path), monkeypatch) as page:
        crowd, other = Crowd(page.url, page.token), Crowd(page.url, page.token)
        threads: list[int] = []
        before = threading.active_count()

        async def watched() -> list[float]:
            asked = asyncio.create_task(crowd.while_all(everything("orders", REQUESTS), "/other"))
            while not asked.done():
                await other.ask("/tokens")
                threads.append(threading.active_count() - len(store.requests))  # the store's side has one each
            return await asked

        assert asyncio.run(watched())  # the other route answered, and the store has not said a word yet
        seen = list(store.requests)
    assert crowd.statuses[200] + crowd.statuses[503] == crowd.statuses.total() == REQUESTS
    assert crowd.statuses[200] > 0
    assert crowd.statuses[503] > 0
    assert crowd.retry_after == {"2"}
    assert max(threads) - before <= THREADS_MAX
    assert max(page.thread_tokens) <= 1  # the other route's own
    assert sum(f"{10**19 - 1 - 7}.json" in each for each in seen) <= 1


def test_ids_of_runs_take_the_permission_to_read_runs(
    airflow_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may read a DAG but not its runs sees its commits and plans without ids of runs, nothing of its newest run,
    and no commits of one run; who may read runs sees them."""
    from kafka_s3.export.run import prepare
    from kafka_s3_airflow.page.model import AirflowFacts, RunFacts

    seen = ObservedConnector(tmp_path, facts={"orders": AirflowFacts(False, RunFacts(RUN, "failed"))})
    seen.world.produce(0, 4)
    seen.world.run()
    seen.world.produce(0, 4)
    prepare(seen.world.exporter, request(RUN))
    with served(seen.observer, monkeypatch) as page:
        allowed = answers(page)
        whole = page.manager.is_authorized_dag

        def without_runs(**asked: Any) -> bool:
            return asked.get("access_entity") is not DagAccessEntity.RUN and bool(whole(**asked))

        from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity

        monkeypatch.setattr(page.manager, "is_authorized_dag", without_runs)
        refused = answers(page)
    assert [status for status, _ in allowed] == [200] * 4
    assert all(RUN in text for _, text in allowed)
    assert [status for status, _ in refused] == [200, 200, 200, 403]
    assert not any(RUN in text for _, text in refused)
    assert json.loads(refused[2][1])["commits"][0]["records"] == 4


def test_the_folder_is_nobodys_business(airflow_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the connectors' files lie is in no answer: not in the list, not for a DAG of somebody else's, not in what
    is wrong with a file."""
    seen = ObservedConnector(tmp_path)
    (tmp_path / "empty.properties").write_text("")
    seen.problem = ConfigurationError(f"{tmp_path}/orders.properties has 1 problem:")
    with served(seen.observer, monkeypatch) as page:
        one = f"{page.url}/kafka-s3/api/connectors"
        found = [answer(page, f"{one}{path}") for path in ("", "/orders", "/empty", "/other", "/orders/commits/1")]
    assert [status for status, _ in found] == [200, 200, 200, 404, 200]
    assert not any(str(tmp_path) in text for _, text in found)
    assert "empty.properties holds no property" in found[2][1]


def test_what_variables_stood_for_is_masked(airflow_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket, keys and errors that hold what a variable of the connector's file stood for show `***` instead."""
    from dataclasses import replace

    settings = replace(make_settings(), hidden=frozenset({"bucket", "topics/ord", "xy"}))
    seen = ObservedConnector(tmp_path, MemoryExport(settings=settings))
    seen.world.produce(0, 4)
    seen.world.run()
    with served(seen.observer, monkeypatch) as page:
        one = f"{page.url}/kafka-s3/api/connectors/orders"
        found = [answer(page, f"{one}{path}")[1] for path in ("", "/commits/1")]
    assert settings.s3.bucket in settings.hidden
    assert "s3://***/" in found[0]
    assert "***ers/partition=0" in found[1]
    assert not any("s3://bucket" in text or "topics/ord" in text for text in found)


def test_the_api_server_only_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's own way to settings allows a connector's file nothing that the api-server's environment does not."""
    from kafka_s3_airflow.page import app

    asked: list[bool] = []

    def load(path: Path, *, only_looks: bool = False) -> Any:
        asked.append(only_looks)
        raise ConfigurationError("no further")

    monkeypatch.setattr(app, "load_connector", load)
    monkeypatch.setenv("KAFKA_S3_CONNECTORS", str(tmp_path))
    (tmp_path / "orders.properties").write_text(CONNECTOR)
    observer = app.observer_of_airflow()
    (shown,) = observer.connectors()
    asyncio.run(observer.await_first([shown], BOUND_S))
    assert set(asked) == {True}


def test_links_out_of_the_folder_are_broken_connectors(tmp_path: Path) -> None:
    """A link in the folder of connectors that leads out of it is read by neither page nor DAGs, unless allowed; one
    within the folder is, as Kubernetes mounts files."""
    from kafka_s3_airflow.dags import connectors_in

    folder, elsewhere = tmp_path / "connectors", tmp_path / "elsewhere"
    for each in (folder, elsewhere, folder / "..data"):
        each.mkdir()
    (elsewhere / "shadow").write_text("root:canary-4711\n")
    (folder / "shadow.properties").symlink_to(elsewhere / "shadow")
    (folder / "..data" / "orders.properties").write_text(CONNECTOR)
    (folder / "orders.properties").symlink_to(folder / "..data" / "orders.properties")
    orders, shadow = connectors_in(folder, {})
    assert orders.problems == ()
    (said,) = shadow.problems
    assert "leads out of the folder" in said
    assert "root" not in said
    assert "leads out" not in str(connectors_in(folder, {"KAFKA_S3_FILE_ROOTS": str(elsewhere)})[1].problems)


def answers(page: Served) -> list[tuple[int, str]]:
    one = f"{page.url}/kafka-s3/api/connectors"
    paths = ("", "/orders", "/orders/commits", "/orders/commits?run_id=run-1")
    return [answer(page, f"{one}{path}") for path in paths]


def answer(page: Served, url: str) -> tuple[int, str]:
    """The answer, once nothing in it is awaited any more."""
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {page.token}"})
    deadline = time.monotonic() + BOUND_S
    while True:
        try:
            with urllib.request.urlopen(asked, timeout=BOUND_S) as said:
                status, text = said.status, said.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        if '"pending":true' not in text and '"state":"asking"' not in text:
            return status, text
        assert time.monotonic() < deadline, text
        time.sleep(0.05)
