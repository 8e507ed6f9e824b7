"""The web layer: routes, and who may see what. Made by the first request, in the api-server alone.

Nothing is readable without a login, the script and the style sheet neither. A connector is shown to whoever may read
its DAG: Airflow's auth manager says who that is.
"""

import os
import time
from collections.abc import Iterable
from importlib.resources import files
from typing import Annotated, Any, Final

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag, requires_authenticated
from airflow.configuration import conf
from airflow.models.dag import DagModel
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse

from kafka_s3.wiring import make_broker, make_store
from kafka_s3_airflow.connections import load_connector
from kafka_s3_airflow.page import runs, views
from kafka_s3_airflow.page.asked import Answer
from kafka_s3_airflow.page.folder import Folder, folder_of
from kafka_s3_airflow.page.headers import Headers
from kafka_s3_airflow.page.history import Page
from kafka_s3_airflow.page.model import Connector
from kafka_s3_airflow.page.mount import Asgi
from kafka_s3_airflow.page.observer import CommitsWanted, EntryWanted, Observer
from kafka_s3_airflow.reexport import reexport_id

#: A log that answers slowly is asked for in the background; the browser comes back for the answer.
WAIT_S: Final = 0.5
PAGE_WAIT_S: Final = 2.0
_STATIC: Final = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
}

pages = APIRouter(dependencies=[Depends(requires_authenticated())])


def app() -> Asgi:
    """The app that Airflow mounts."""
    return make_app(observer_of_airflow())


def make_app(observer: Observer) -> Asgi:
    """The app over what an observer knows."""
    made = FastAPI(title="Kafka to S3", docs_url=None, redoc_url=None, openapi_url=None)
    made.state.observer = observer
    made.include_router(pages)
    return Headers(made)


def observer_of_airflow() -> Observer:
    """An observer of the connectors of this Airflow."""
    return Observer(
        Folder(folder_of(os.environ, conf.get("core", "dags_folder"))),
        load=lambda connector: load_connector(connector.path).settings,
        make_store=make_store,
        make_broker=make_broker,
        find_facts=runs.find_facts,
        now_ms=lambda: int(time.time() * 1000),
    )


# Who may see what.


def observer_of(request: Request) -> Observer:
    observer: Observer = request.app.state.observer
    return observer


ObserverDep = Annotated[Observer, Depends(observer_of)]


def visible(user: GetUserDep, observer: ObserverDep) -> list[Connector]:
    """The connectors whose DAG the user may read."""
    connectors = observer.connectors()
    teams = DagModel.get_dag_id_to_team_name_mapping([each.dag_id for each in connectors])
    by_team: dict[str | None, set[str]] = {}
    for each in connectors:
        by_team.setdefault(teams.get(each.dag_id), set()).add(each.dag_id)
    readable: set[str] = set()
    for team, names in by_team.items():
        readable |= get_auth_manager().filter_authorized_dag_ids(dag_ids=names, user=user, team_name=team)
    return [each for each in connectors if each.dag_id in readable]


def one(dag_id: str, request: Request, user: GetUserDep, observer: ObserverDep) -> Connector:
    """A connector whose DAG the user may read; 403 for any other DAG, known or not, that they may not."""
    connector = observer.connector(dag_id)
    requires_access_dag("GET", param_dag_id=dag_id)(request, user)
    if connector is None:
        raise HTTPException(404, f"The DAG {dag_id} is no connector of {observer.where}.")
    requires_access_dag("GET", param_dag_id=connector.dag_id)(request, user)
    return connector


VisibleDep = Annotated[list[Connector], Depends(visible)]
OneDep = Annotated[Connector, Depends(one)]


# What the browser gets.


@pages.get("/api/connectors")
def connectors(shown: VisibleDep, observer: ObserverDep) -> JSONResponse:
    """All connectors that the user may see."""
    observer.await_first(shown, WAIT_S)
    return _data({"connectors": list(_overviews(shown, observer)), "folder": observer.where}, observer)


def _overviews(shown: Iterable[Connector], observer: Observer) -> Iterable[dict[str, object]]:
    now_ms = observer.now_ms()
    for each in shown:
        yield views.overview(each, observer.log(each), observer.kafka(each), observer.facts(each), now_ms)


@pages.get("/api/connectors/{dag_id}")
def connector(shown: OneDep, observer: ObserverDep) -> JSONResponse:
    """One connector, with its partitions."""
    observer.await_first([shown], WAIT_S)
    log, kafka, facts = observer.log(shown), observer.kafka(shown), observer.facts(shown)
    return _data(views.detail(shown, log, kafka, facts, observer.now_ms()), observer)


@pages.get("/api/connectors/{dag_id}/commits")
def commits(shown: OneDep, observer: ObserverDep, before: int | None = None, run_id: str | None = None) -> JSONResponse:
    """A page of commits, newest first; with a run, those of that run."""
    dag_id = shown.dag_id
    if before is not None and not 0 <= before < 10**18:
        raise HTTPException(422, f"before={before} is no number of a log entry.")
    span_ms = runs.span_of(dag_id, run_id, observer.now_ms()) if run_id is not None else None
    answer = observer.commits(CommitsWanted(dag_id, before, run_id, span_ms), PAGE_WAIT_S)
    return _answered(answer, lambda page: _commits(dag_id, page), observer)


def _commits(dag_id: str, page: Page) -> dict[str, object]:
    known = runs.runs_known(dag_id, [row["run_id"] for row in page.rows])
    rows = [{**row, "dag_id": dag_id if row["run_id"] in known else None} for row in page.rows]
    return {"commits": rows, "is_last": page.is_last, "looked": page.looked}


@pages.get("/api/connectors/{dag_id}/commits/{seq}")
def commit(shown: OneDep, observer: ObserverDep, seq: int) -> JSONResponse:
    """The ranges and objects of one commit."""
    return _answered(observer.entry(EntryWanted(shown.dag_id, _seq(seq)), PAGE_WAIT_S), dict, observer)


@pages.get("/api/connectors/{dag_id}/commits/{seq}/rejected")
def rejected(shown: OneDep, observer: ObserverDep, seq: int) -> JSONResponse:
    """Why records of one commit were refused."""
    return _answered(observer.letters(EntryWanted(shown.dag_id, _seq(seq)), PAGE_WAIT_S), dict, observer)


@pages.get("/api/connectors/{dag_id}/windows")
def windows(shown: OneDep, observer: ObserverDep) -> JSONResponse:
    """The intervals that were exported again; their runs are of a DAG of their own, if Airflow has it."""
    own, dag_id = reexport_id(shown.dag_id), shown.dag_id

    def show(found: dict[str, Any]) -> dict[str, object]:
        known = runs.runs_known(own, [each["run_id"] for each in found["windows"]])
        listed = [{**each, "dag_id": own if each["run_id"] in known else None} for each in found["windows"]]
        return {**found, "windows": listed}

    return _answered(observer.windows(dag_id, PAGE_WAIT_S), show, observer)


@pages.get("/metrics")
def metrics(shown: VisibleDep, observer: ObserverDep) -> Response:
    """The connectors that the user may see, as Prometheus reads them."""
    from kafka_s3_airflow.page.scrape import CONTENT_TYPE, scraped

    return Response(scraped(shown, observer), media_type=CONTENT_TYPE)


def _seq(seq: int) -> int:
    if not 0 <= seq < 10**18:
        raise HTTPException(422, f"{seq} is no number of a log entry.")
    return seq


def _data(content: dict[str, object], observer: Observer) -> JSONResponse:
    return JSONResponse({"now_ms": observer.now_ms(), **content})


def _answered(answer: Answer[Any], show: Any, observer: Observer) -> JSONResponse:
    """An answer, or that it is still awaited, or why there is none."""
    if answer.value is None:
        return _data({"pending": answer.error is None, "error": answer.error}, observer)
    return _data({"pending": False, "error": answer.error, **show(answer.value)}, observer)


# Last: whatever has no route is as unreadable without a login as what has one.


@pages.get("/{name:path}")
def static(name: str) -> Response:
    """The page, its style sheet and its script."""
    if name not in _STATIC:
        raise HTTPException(404, "There is no such page.")
    file, media_type = _STATIC[name]
    return Response(files("kafka_s3_airflow.page").joinpath("static", file).read_bytes(), media_type=media_type)
