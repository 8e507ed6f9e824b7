"""Moto's S3 server, one request at a time: `python -m tools.parts.moto_main PORT_FILE`.

Moto's own command serves every request in a thread, and its conditional writes check first and write later: with
threads, two writers both win. One thread makes them atomic. It must not keep connections open then, or the first
client would lock the others out: without threads Werkzeug speaks HTTP/1.0, which closes after each answer.
The port is chosen by the system and written into PORT_FILE once the server listens.
"""

import os
import sys
from pathlib import Path
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

IDLE_TIMEOUT_S = 10


class _Handler(MotoRequestHandler):
    """Moto's handler, silent, and rid of clients that connect and say nothing."""

    protocol_version = "HTTP/1.0"
    timeout = IDLE_TIMEOUT_S

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Errors are logged; requests are not."""


def main(port_file: Path) -> None:
    """Serve until the process is ended."""
    app: Any = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, app, threaded=False, request_handler=_Handler)
    os.environ["MOTO_PORT"] = str(server.port)
    unfinished = port_file.with_suffix(".new")
    unfinished.write_text(str(server.port))
    unfinished.rename(port_file)
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
