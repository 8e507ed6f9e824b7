"""What Airflow has to know of the page: where it is mounted, and the places of its UI that show it.

Every process of Airflow imports this, each task included. The page itself is imported by the first request.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

PREFIX: Final = "/kafka-s3"
NAME: Final = "Kafka to S3"
# Relative, so that Airflow's own base URL comes first.
_HREF: Final = f"{PREFIX[1:]}/"


class LazyPage:
    """An ASGI app that makes the real one for the first request."""

    def __init__(self, make: Callable[[], Asgi]) -> None:
        self._make = functools.cache(make)
        self._app: Asgi | None = None
        self._making = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            async with self._making:
                # In a thread: the imports take a second, and the server has other things to answer.
                self._app = await asyncio.to_thread(self._make)
        await self._app(scope, receive, send)


def _make() -> Asgi:
    from kafka_s3_airflow.page.app import app

    return app()


FASTAPI_APP: Final[dict[str, Any]] = {"app": LazyPage(_make), "url_prefix": PREFIX, "name": NAME}

#: Airflow shows the tabs on every DAG; on one that is not a connector's, the page says so.
EXTERNAL_VIEWS: Final[list[dict[str, Any]]] = [
    {"name": NAME, "href": _HREF, "destination": "nav", "category": "browse", "url_route": "kafka-s3"},
    {
        "name": NAME,
        "href": f"{_HREF}?dag_id={{DAG_ID}}",
        "destination": "dag",
        "url_route": "kafka-s3-export",
    },
    {
        "name": NAME,
        "href": f"{_HREF}?dag_id={{DAG_ID}}&run_id={{RUN_ID}}",
        "destination": "dag_run",
        "url_route": "kafka-s3-commits",
    },
]
