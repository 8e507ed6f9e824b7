"""Many requests at once, and how one other request fares meanwhile."""

import asyncio
import contextlib
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import urlsplit

CONNECTIONS_MAX = 250


@dataclass
class Crowd:
    """Requests of one user to an HTTP server. `statuses`: what was answered; `retry_after`: of every 503."""

    url: str
    token: str
    statuses: Counter[int] = field(default_factory=Counter)
    retry_after: set[str | None] = field(default_factory=set)

    async def ask(self, path: str) -> tuple[int, float]:
        """One request on a connection of its own: the status, and how many seconds it took."""
        began = time.perf_counter()
        where = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        head = f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {self.token}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode())
        try:
            answer = (await reader.read()).decode("utf-8", "replace")
        finally:
            writer.close()
        lines = answer.partition("\r\n\r\n")[0].split("\r\n")
        status = int(lines[0].split()[1])
        if status == 503:
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
            self.retry_after.add(headers.get("retry-after"))
        return status, time.perf_counter() - began

    async def all(self, paths: Sequence[str]) -> None:
        """Every path, at most CONNECTIONS_MAX of them at once."""
        room = asyncio.Semaphore(CONNECTIONS_MAX)

        async def ask(path: str) -> None:
            async with room:
                self.statuses[(await self.ask(path))[0]] += 1

        await asyncio.gather(*(ask(path) for path in paths))

    async def while_all(self, paths: Sequence[str], other: str) -> list[float]:
        """The same, and how many seconds another path took each time it was asked meanwhile, once at least."""
        crowd = asyncio.create_task(self.all(paths))
        took: list[float] = []
        while not took or not crowd.done():
            status, seconds = await self.ask(other)
            assert status == 200, status
            took.append(seconds)
            await asyncio.sleep(0.01)
        await crowd
        return took


@contextlib.contextmanager
def in_a_process(url: str, token: str, paths: Sequence[str], limit_s: float | None = None) -> Iterator[Future[Crowd]]:
    """A crowd that asks for every path in a process of its own, so that its work delays nothing that is timed here.

    After `limit_s` it gives up what is not answered.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        pool.submit(asked, url, token, ()).result()  # the process has started
        yield pool.submit(asked, url, token, paths, limit_s)


def asked(url: str, token: str, paths: Sequence[str], limit_s: float | None = None) -> Crowd:
    crowd = Crowd(url, token)
    with contextlib.suppress(TimeoutError):
        asyncio.run(asyncio.wait_for(crowd.all(paths), limit_s))
    return crowd


def everything(connector: str, count: int) -> list[str]:
    """So many requests to every route of the page, a tenth of them for the same thing."""
    one = f"/kafka-s3/api/connectors/{connector}"
    kinds = (
        f"{one}/commits/{{n}}",
        f"{one}/commits?before={{n}}",
        f"{one}/commits/{{n}}/rejected",
        f"{one}/windows",
        one,
        f"{one}/commits",
        "/kafka-s3/api/connectors",
        f"{one}/commits?run_id=run-{{n}}",
        "/kafka-s3/metrics",
        f"{one}/commits/7",
        f"{one}/charts?commits={{n}}",
        "/kafka-s3/plain",
    )
    return [kinds[number % len(kinds)].format(n=100 + number) for number in range(count)]
