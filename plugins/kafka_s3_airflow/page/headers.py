"""The headers of every answer, those without a login included."""

from __future__ import annotations

from typing import Any, Final

from kafka_s3_airflow.page.mount import Asgi, Receive, Scope, Send

#: Only what we serve ourselves runs, and only Airflow's own pages may show it.
POLICY: Final = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; object-src 'none';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Headers:
    """An app whose answers carry HEADERS."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        await self._app(scope, receive, send_with_headers)
