"""A server on this machine that records what it is sent and answers as it was told."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Seen:
    """One request as a server saw it; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class ScriptedServer:
    """Answers each request with the next of `answers`, raw bytes, then as `otherwise` says; `None` hangs up."""

    def __init__(
        self, otherwise: Callable[[Seen], bytes | None] | None = None, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self.answers: list[bytes | None] = []
        self.seen: list[Seen] = []
        script = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.close_connection = True
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                seen = Seen(self.command, self.path, headers, body)
                script.seen.append(seen)
                self.close_connection = True
                answer = script.answers.pop(0) if script.answers or otherwise is None else otherwise(seen)
                if answer is not None:
                    self.wfile.write(answer)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def answer(status: int, body: bytes = b"", *, length: int | None = None, **headers: str) -> bytes:
    """An HTTP answer; `length` claims another Content-Length than the body's."""
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body


def refusal(status: int, code: str, message: str = "Because.") -> bytes:
    """S3's error document."""
    return answer(status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode())


CREATED_UPLOAD = answer(200, b"<R><UploadId>u1</UploadId></R>")
PART = WRITTEN = answer(200, ETag='"p"')
COMPLETED = answer(200, b"<R><ETag>e</ETag></R>")


def as_s3_does(seen: Seen) -> bytes:
    """Success, whatever is asked."""
    if seen.method == "POST":
        return CREATED_UPLOAD if "?uploads" in seen.path else COMPLETED
    return PART if seen.method == "PUT" else answer(200)
