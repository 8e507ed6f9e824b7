"""Ways to hold or break what a running Airflow reaches: a broker's connections, and spark-submit."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.parts.process import HOST


class Proxy(socketserver.ThreadingTCPServer):
    """A way to a server on 127.0.0.1 that can be closed: who connects then is hung up on."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, to: str) -> None:
        self.is_open = True
        self.to = (HOST, int(to.rpartition(":")[2]))
        super().__init__((HOST, 0), _Forward)
        self.url = f"http://{HOST}:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Forward(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        proxy = self.server
        assert isinstance(proxy, Proxy)
        if not proxy.is_open:
            return
        with socket.create_connection(proxy.to) as upstream:
            back = threading.Thread(target=_pump, args=(upstream, self.request), daemon=True)
            back.start()
            _pump(self.request, upstream)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@dataclass
class SubmitGate:
    """A spark-submit that becomes the real one when the connector's gate is open; it says that it has come."""

    folder: Path
    real: Path
    bin: Path = field(init=False)

    def __post_init__(self) -> None:
        self.bin = self.folder / "bin"
        for made in (self.bin, self.folder / "closed", self.folder / "came"):
            made.mkdir(parents=True)
        wrapper = self.bin / "spark-submit"
        wrapper.write_text(
            "#!/bin/sh\n"
            "for argument; do case $argument in --connector=*) name=${argument##*/}; esac; done\n"
            "name=${name%.properties}\n"
            f': > "{self.folder}/came/$name"\n'
            f'while [ -e "{self.folder}/closed/$name" ]; do sleep 0.2; done\n'
            f'exec "{self.real}" "$@"\n'
        )
        wrapper.chmod(0o755)

    @contextmanager
    def closed(self, name: str) -> Iterator[None]:
        """Exports of this connector get as far as spark-submit, and no further while this lasts."""
        mark = self.folder / "closed" / name
        mark.touch()
        try:
            yield
        finally:
            mark.unlink()

    def has_come(self, name: str) -> bool:
        return (self.folder / "came" / name).exists()
