"""What every route of the page has at hand: who asks, for which connector, and how an answer of a question looks.

Coroutines, or FastAPI would run them in Starlette's threads, which serve the rest of the api-server.
"""

from typing import Annotated, Any, Final

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends, HTTPException, Request, Response

from kafka_s3_airflow.page import access
from kafka_s3_airflow.page.answers import tagged
from kafka_s3_airflow.page.background_answers import Answer
from kafka_s3_airflow.page.model import Connector
from kafka_s3_airflow.page.observer import Observer
from kafka_s3_airflow.page.thread_pool import Busy, PageThreads

#: What answers slowly is asked for in the background; the browser comes back for the answer.
PAGE_WAIT_S: Final = 2.0


async def authenticated(user: GetUserDep) -> None:
    """Whoever asks is logged in: Airflow's own `requires_authenticated`, without a thread of Starlette's."""


async def observer_of(request: Request) -> Observer:
    observer: Observer = request.app.state.observer
    return observer


async def threads_of(request: Request) -> PageThreads:
    threads: PageThreads = request.app.state.threads
    return threads


ObserverDep = Annotated[Observer, Depends(observer_of)]
ThreadsDep = Annotated[PageThreads, Depends(threads_of)]


async def visible(user: GetUserDep, observer: ObserverDep, threads: ThreadsDep) -> list[Connector]:
    """The connectors whose DAG the user may read."""
    return await threads.run(access.visible_to, user, observer)


async def one(dag_id: str, request: Request, user: GetUserDep, observer: ObserverDep, threads: ThreadsDep) -> Connector:
    """A connector whose DAG the user may read."""
    return await threads.run(access.readable, dag_id, request, user, observer)


VisibleDep = Annotated[list[Connector], Depends(visible)]
OneDep = Annotated[Connector, Depends(one)]


def seq_of(seq: int) -> int:
    if not 0 <= seq < 10**18:
        raise HTTPException(422, f"{seq} is not the number of a log entry.")
    return seq


def answered(request: Request, answer: Answer[Any], show: Any, connector: Connector, observer: Observer) -> Response:
    """An answer, or that it is still awaited, or why there is none. Raises `Busy` for a question that was not taken."""
    if answer.value is not None:
        is_old = answer.open_ms is not None or answer.error is not None
        found = {"pending": False, "error": answer.error, "at_ms": answer.at_ms, "is_old": is_old, **show(answer.value)}
    elif answer.is_refused and answer.is_first:
        raise Busy
    else:
        found = {"pending": answer.error is None, "error": answer.error}
    return tagged(request, observer.now_ms(), observer.conceal(connector, found))
