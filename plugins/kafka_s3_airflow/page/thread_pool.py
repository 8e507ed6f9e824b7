"""Threads of the page's own for what takes a moment: Airflow's database, the connectors' folder, making JSON.

Not Starlette's threads: those serve every other route of the api-server.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")

AT_ONCE: Final = 4
WAITING_MAX: Final = 64
RETRY_AFTER_S: Final = 2


class Busy(Exception):  # the answer to it is 503, with Retry-After
    """More is asked at once than there is room for."""


class PageThreads:
    """Runs functions in a few threads. Threads: `at_once`; requests that wait for one: `waiting_max`."""

    def __init__(self, at_once: int = AT_ONCE, waiting_max: int = WAITING_MAX) -> None:
        self._limiter = anyio.CapacityLimiter(at_once)
        self._places = at_once + waiting_max
        self._taken = 0  # only changed in the event loop

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        """What the function returns. Raises `Busy` at once if too many wait."""
        if self._taken >= self._places:
            raise Busy
        self._taken += 1
        try:
            return await anyio.to_thread.run_sync(functools.partial(function, *arguments), limiter=self._limiter)
        finally:
            self._taken -= 1
