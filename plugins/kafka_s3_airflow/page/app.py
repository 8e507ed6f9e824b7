"""The web layer: routes, and who may see what. Made by the first request, in the api-server alone.

Nothing is readable without a login, the script and the style sheet neither. A connector is shown to whoever may read
its DAG: Airflow's auth manager says who that is. Every route is a coroutine, and none of them takes one of Starlette's
threads, which serve the rest of the api-server: what a bucket or a broker says is asked by the observer's threads, the
rest is done by the page's, and where too many wait already the answer is 503 at once.
"""

import functools
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any, Final

from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.configuration import conf
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse

from kafka_s3.wiring import make_broker, make_store
from kafka_s3_airflow.connections import load_connector
from kafka_s3_airflow.operations import operations_id
from kafka_s3_airflow.page import access, actions, inside, over_time, runs, views
from kafka_s3_airflow.page.answers import Rows, listed, tagged
from kafka_s3_airflow.page.at_hand import (
    PAGE_WAIT_S,
    ObserverDep,
    OneDep,
    ThreadsDep,
    VisibleDep,
    answered,
    authenticated,
    seq_of,
)
from kafka_s3_airflow.page.folder import Folder, bundle_folders, folder_of
from kafka_s3_airflow.page.headers import Headers
from kafka_s3_airflow.page.history import Page
from kafka_s3_airflow.page.inside import Inside, InsideDep
from kafka_s3_airflow.page.model import AirflowFacts, Connector
from kafka_s3_airflow.page.mount import Asgi
from kafka_s3_airflow.page.observer import CONNECTORS_MAX, CommitsWanted, EntryWanted, Observer
from kafka_s3_airflow.page.over_time import Charts
from kafka_s3_airflow.page.plain import plain_page
from kafka_s3_airflow.page.previews import Previews
from kafka_s3_airflow.page.scrape import CONTENT_TYPE, scraped
from kafka_s3_airflow.page.scrape import WAIT_S as SCRAPE_WAIT_S
from kafka_s3_airflow.page.thread_pool import RETRY_AFTER_S, Busy, PageThreads
from kafka_s3_airflow.reexport import reexport_id
from kafka_s3_airflow.verification import verify_id

#: A log that answers slowly is asked for in the background; the browser comes back for the answer.
WAIT_S: Final = 0.5
BUSY: Final = "The page is busy: its questions to buckets and brokers wait for answers. Try again in a moment."
_HTML: Final = "text/html; charset=utf-8"
_STATIC: Final = {
    "": ("page.html", _HTML),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    **{
        name: (name, "text/javascript; charset=utf-8")
        for name in (
            "page.js",
            "nodes.js",
            "data.js",
            "list.js",
            "one.js",
            "charts.js",
            "plots.js",
            "inside.js",
            "actions.js",
        )
    },
}


pages = APIRouter(dependencies=[Depends(authenticated)])


def app() -> Asgi:
    """The app that Airflow mounts."""
    return make_app(observer_of_airflow())


def make_app(observer: Observer) -> Asgi:
    """The app over what an observer knows."""
    made = FastAPI(title="Kafka to S3", docs_url=None, redoc_url=None, openapi_url=None)
    made.state.observer = observer
    made.state.threads = PageThreads()
    made.state.rows = Rows(CONNECTORS_MAX)
    made.state.charts = Charts(observer)
    made.state.inside = Inside(observer)
    made.state.previews = Previews(observer)
    made.add_exception_handler(Busy, _busy)
    made.include_router(over_time.routes)
    made.include_router(inside.routes)
    made.include_router(actions.routes)
    made.include_router(pages)  # last: it has what has no route
    return Headers(made)


async def _busy(_: Request, __: Exception) -> Response:
    return JSONResponse({"detail": BUSY}, 503, {"Retry-After": str(RETRY_AFTER_S)})


def observer_of_airflow() -> Observer:
    """An observer of the connectors of this Airflow."""
    return Observer(
        Folder(folder_of(os.environ, conf.get("core", "dags_folder"), bundle_folders())),
        load=lambda connector: load_connector(connector.path, only_looks=True).settings,
        make_store=make_store,
        make_broker=make_broker,
        find_facts=runs.find_facts,
        now_ms=lambda: int(time.time() * 1000),
    )


# What the browser gets.


@pages.get("/api/connectors")
async def connectors(
    request: Request, shown: VisibleDep, user: GetUserDep, observer: ObserverDep, threads: ThreadsDep
) -> Response:
    """All connectors that the user may see."""
    await observer.look_over(shown, WAIT_S)
    made: Rows = request.app.state.rows

    def show() -> Response:
        with_runs = access.with_readable_runs({each.runs_in for each in shown}, user)
        rows = listed([_row(each, with_runs, observer, made) for each in shown])
        content = {
            "connectors": rows,
            "ages_max_ms": observer.ages_max(len(shown)),
            "every_ms": _every_ms(len(shown)),
            "is_asked": observer.awaits_news(shown),
        }
        return tagged(request, observer.now_ms(), content)

    return await threads.run(show)


@pages.get("/plain")
async def plain(shown: VisibleDep, user: GetUserDep, observer: ObserverDep, threads: ThreadsDep) -> Response:
    """The same without a script."""
    await observer.look_over(shown, WAIT_S)

    def show() -> bytes:
        with_runs = access.with_readable_runs({each.runs_in for each in shown}, user)
        return plain_page((json.loads(_row(each, with_runs, observer, Rows(1))) for each in shown), observer.now_ms())

    return Response(await threads.run(show), media_type=_HTML)


def _every_ms(count: int) -> int:
    """How often a page that is open asks: showing very many is what costs."""
    return max(10_000, min(20_000, 100 * count))


def _row(each: Connector, with_runs: set[str], observer: Observer, made: Rows) -> bytes:
    log, kafka, now_ms = observer.known_log(each), observer.known_kafka(each), observer.now_ms()
    facts = _facts(each, with_runs, observer)

    def show() -> object:
        return observer.conceal(each, views.overview(each, log, kafka, facts, now_ms))

    verdict = views.is_stale(kafka, now_ms), views.kafka_error(kafka, now_ms)
    run = (
        facts.is_paused,
        facts.silences,
        *(each and (each.run_id, each.state, each.tries) for each in (facts.run, facts.at_work)),
    )
    return made.row(
        each.dag_id,
        (each, log.value, log.at_ms, (log.error, log.is_final), kafka.value, kafka.at_ms, verdict, run),
        show,
    )


@pages.get("/api/connectors/{dag_id}")
async def connector(
    request: Request, shown: OneDep, user: GetUserDep, observer: ObserverDep, threads: ThreadsDep
) -> Response:
    """One connector, with its partitions."""
    await observer.await_log(shown, WAIT_S)

    def show() -> Response:
        with_runs = access.with_readable_runs([shown.runs_in, verify_id(shown.dag_id)], user)
        log, kafka, facts = observer.log(shown), observer.kafka(shown), _facts(shown, with_runs, observer)
        found = views.detail(shown, log, kafka, facts, observer.now_ms())
        plan: Any = found["open_plan"]
        if plan is not None:
            found["open_plan"] = _with_runs([plan], [shown.runs_in], user)[0]
        found = {
            **observer.conceal(shown, found),
            "ages_max_ms": observer.ages_max(1),
            "every_ms": _every_ms(1),
            "is_asked": observer.awaits_news([shown]),
            "actions": actions.allowed_actions(shown, facts, user),
        }
        return tagged(request, observer.now_ms(), found)

    return await threads.run(show)


def _facts(connector: Connector, with_runs: set[str], observer: Observer) -> AirflowFacts:
    """What Airflow says of a connector's DAGs, its runs where the user may read them."""
    facts = observer.facts(connector)
    return replace(
        facts,
        run=facts.run if connector.runs_in in with_runs else None,
        at_work=facts.at_work if connector.runs_in in with_runs else None,
        verify=facts.verify if verify_id(connector.dag_id) in with_runs else None,
    )


@pages.get("/api/connectors/{dag_id}/commits")
async def commits(
    request: Request,
    shown: OneDep,
    user: GetUserDep,
    observer: ObserverDep,
    threads: ThreadsDep,
    before: int | None = None,
    run_id: str | None = None,
) -> Response:
    """A page of commits, newest first; with a run, those of that run."""
    if before is not None and not 0 <= before < 10**18:
        raise HTTPException(422, f"before={before} is not the number of a log entry.")
    dag_id, span_ms = shown.runs_in, None
    if run_id is not None:
        span_ms = await threads.run(_span_of, dag_id, run_id, user, observer.now_ms())
    answer = await observer.commits(CommitsWanted(shown.dag_id, before, run_id, span_ms), PAGE_WAIT_S)
    show = functools.partial(_commits, [dag_id, operations_id(shown.dag_id)], user)
    return await threads.run(answered, request, answer, show, shown, observer)


def _span_of(dag_id: str, run_id: str, user: Any, now_ms: int) -> tuple[int, int] | None:
    if not access.with_readable_runs([dag_id], user):
        raise HTTPException(403, "You may not read the runs of this DAG.")
    return runs.span_of(dag_id, run_id, now_ms)


def _commits(dag_ids: Sequence[str], user: Any, page: Page) -> dict[str, object]:
    return {"commits": _with_runs(page.rows, dag_ids, user), "is_last": page.is_last, "looked": page.looked}


def _with_runs(rows: Iterable[Any], dag_ids: Sequence[str], user: Any) -> list[dict[str, Any]]:
    """Rows that say which run they are of, if the user may know those of the first DAG, and of which DAG it is, if
    Airflow has the run."""
    found = [dict(row) for row in rows]
    may_read = access.with_readable_runs(dag_ids, user)
    if dag_ids[0] not in may_read:
        return [access.without_runs(row) for row in found]
    names = [row["run_id"] for row in found]
    known = {run_id: each for each in dag_ids if each in may_read for run_id in runs.runs_known(each, names)}
    return [{**row, "dag_id": known.get(row["run_id"])} for row in found]


@pages.get("/api/connectors/{dag_id}/commits/{seq}")
async def commit(
    request: Request,
    shown: OneDep,
    user: GetUserDep,
    observer: ObserverDep,
    threads: ThreadsDep,
    looks: InsideDep,
    seq: int,
) -> Response:
    """The ranges and objects of one commit, and whether the user may see rows of them."""

    def show(found: dict[str, Any]) -> dict[str, object]:
        return {**found, "has_rows": looks.is_on and access.may_edit(shown.runs_in, user)}

    answer = await observer.entry(EntryWanted(shown.dag_id, seq_of(seq)), PAGE_WAIT_S)
    return await threads.run(answered, request, answer, show, shown, observer)


@pages.get("/api/connectors/{dag_id}/commits/{seq}/rejected")
async def rejected(request: Request, shown: OneDep, observer: ObserverDep, threads: ThreadsDep, seq: int) -> Response:
    """Why records of one commit were refused."""
    answer = await observer.letters(EntryWanted(shown.dag_id, seq_of(seq)), PAGE_WAIT_S)
    return await threads.run(answered, request, answer, dict, shown, observer)


@pages.get("/api/connectors/{dag_id}/windows")
async def windows(
    request: Request, shown: OneDep, user: GetUserDep, observer: ObserverDep, threads: ThreadsDep
) -> Response:
    """The intervals that were exported again; their runs are of a DAG of their own, if Airflow has it."""
    own = reexport_id(shown.dag_id)

    def show(found: dict[str, Any]) -> dict[str, object]:
        return {**found, "windows": _with_runs(found["windows"], [own], user)}

    answer = await observer.windows(shown.dag_id, PAGE_WAIT_S)
    return await threads.run(answered, request, answer, show, shown, observer)


@pages.get("/metrics")
async def metrics(shown: VisibleDep, observer: ObserverDep, threads: ThreadsDep) -> Response:
    """The connectors that the user may see, as Prometheus reads them."""
    await observer.look_over(shown, SCRAPE_WAIT_S, for_news=True)
    return Response(await threads.run(scraped, shown, observer), media_type=CONTENT_TYPE)


# Last: whatever has no route is as unreadable without a login as what has one.


@pages.get("/{name:path}")
async def static(name: str) -> Response:
    """The page, its style sheet and its script."""
    if name not in _STATIC:
        raise HTTPException(404, "There is no such page.")
    return Response(_file(name), media_type=_STATIC[name][1])


@functools.cache
def _file(name: str) -> bytes:
    return files("kafka_s3_airflow.page").joinpath("static", _STATIC[name][0]).read_bytes()
