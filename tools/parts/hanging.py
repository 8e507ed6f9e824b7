"""A server that takes requests and never answers: what a store is like when it hangs."""

import contextlib
import socket
import threading
from typing import Self

from tools.parts.process import HOST


class HangingServer:
    """Listens on 127.0.0.1, reads what comes, and says nothing until it is closed. `requests`: their first lines."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self._listener = socket.create_server((HOST, 0), backlog=512)
        self._connections: list[socket.socket] = []
        self.url = f"http://{HOST}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._listen, name="hanging server", daemon=True).start()

    def close(self) -> None:
        """Cut every connection, so that whoever waits knows."""
        for each in [self._listener, *self._connections]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # it is closed
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self.requests.append(connection.recv(65536).split(b"\r\n", 1)[0].decode("latin-1"))
            while connection.recv(65536):
                pass
