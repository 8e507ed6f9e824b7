"""One broker and one registry for all the processes that share the tests (`pytest -n`): each takes seconds to start,
and goes on taking them while it waits.

The process that hands out the tests starts a part when one of the others first asks for it, and ends it when it ends.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.connection import Client, Connection, Listener

from tools.parts.kafka import KafkaBroker
from tools.parts.registry import SchemaRegistry


class SharedBroker(KafkaBroker):
    """A broker that another process has started, and ends."""

    bootstrap_servers = ""
    is_running = True

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    def stop(self) -> None:
        """Others use it."""


class SharedRegistry(SchemaRegistry):
    """A registry that another process has started, and ends."""

    def __init__(self, url: str) -> None:
        self.url = url

    def stop(self) -> None:
        """Others use it."""


class PartsForAll:
    """Starts each part once, for whoever asks; `place` is what those have to know."""

    def __init__(self) -> None:
        key = secrets.token_hex(16)
        self._listener = Listener(authkey=key.encode())
        self.place: tuple[str, str] = (str(self._listener.address), key)
        self._parts = ExitStack()
        self._addresses: dict[str, str] = {}
        self._locks = {name: threading.Lock() for name in _STARTS}
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        """End what was started."""
        self._listener.close()
        self._parts.close()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:  # it is closed
                return
            threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection: Connection) -> None:
        with connection:
            name = connection.recv()
            try:
                with self._locks[name]:
                    if name not in self._addresses:
                        self._addresses[name] = _STARTS[name](self._parts)
                connection.send((self._addresses[name], ""))
            except Exception as error:
                connection.send(("", str(error) or repr(error)))


def ask(place: tuple[str, str], name: str) -> str:
    """The address of a part that is started by now."""
    address, key = place
    with Client(address, authkey=key.encode()) as connection:
        connection.send(name)
        found, problem = connection.recv()
    assert not problem, problem
    return str(found)


_STARTS: dict[str, Callable[[ExitStack], str]] = {
    "kafka": lambda parts: parts.enter_context(KafkaBroker()).bootstrap_servers,
    "registry": lambda parts: parts.enter_context(SchemaRegistry()).url,
}
