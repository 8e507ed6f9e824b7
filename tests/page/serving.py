"""The page's own app, served by uvicorn over HTTP, beside another route as in Airflow's api-server."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

BOUND_S = 60


@dataclass
class Served:
    """`thread_tokens`: how many of Starlette's threads were held, each time that /tokens was asked."""

    url: str
    token: str
    manager: Any
    thread_tokens: list[int] = field(default_factory=list)


@contextlib.contextmanager
def served(observer: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The page over an observer, for a viewer; Airflow's database has to be there."""
    import anyio.to_thread
    import uvicorn
    from airflow.api_fastapi.app import init_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi import FastAPI

    from kafka_s3_airflow.page.app import make_app

    monkeypatch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS", "reader:viewer")
    monkeypatch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "x" * 64)
    root = FastAPI()

    @root.get("/other")
    def other() -> str:
        return "well"

    @root.get("/tokens")
    async def used() -> str:
        made.thread_tokens.append(anyio.to_thread.current_default_thread_limiter().statistics().borrowed_tokens)
        return "well"

    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        manager = init_auth_manager(root)
        token = manager.generate_jwt(SimpleAuthManagerUser(username="reader", role="viewer"))
        root.mount("/kafka-s3", make_app(observer))
        made = Served(f"http://127.0.0.1:{listener.getsockname()[1]}", token, manager)
        server = uvicorn.Server(uvicorn.Config(root, log_level="critical", lifespan="off"))
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        serving.start()
        try:
            yield made
        finally:
            server.should_exit = True
            serving.join(BOUND_S)
        assert not serving.is_alive()
