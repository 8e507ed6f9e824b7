"""What may happen between a client and an S3 server, made to happen: a proxy with rules.

Requests reach the server as they were sent, their Host header too, so signatures hold. Each rule names the n-th
request that it matches, counted from when it was added, and what befalls it.
"""

from __future__ import annotations

import http.client
import http.server
import re
import socket
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, assert_never
from urllib.parse import parse_qsl, unquote, urlsplit

#: Before the server saw the request, or after it did what was asked.
BEFORE, AFTER = False, True
_UPSTREAM_TIMEOUT_S = 60
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with RST, not with FIN


@dataclass(frozen=True)
class Delay:
    """The request waits on its way."""

    seconds: float


@dataclass(frozen=True)
class Reset:
    """The connection is reset."""

    applied: bool


@dataclass(frozen=True)
class Silence:
    """No answer ever comes: the connection stays open until the client gives up."""

    applied: bool


@dataclass(frozen=True)
class Refuse:
    """An error instead of the server's answer. A 200 is S3's way to fail after it has begun to answer."""

    status: int
    code: str
    applied: bool = BEFORE


@dataclass(frozen=True)
class Cut:
    """The server's answer ends in the middle of its body, or of its first line where it has no body."""


@dataclass(frozen=True)
class Again:
    """The request is delivered twice; the client hears the first answer, or the second."""

    hears_second: bool


Fault = Delay | Reset | Silence | Refuse | Cut | Again


@dataclass
class Rule:
    """The requests from the `first`-th that match on, `times` of them (for ever: 0), every `step`-th."""

    fault: Fault
    operation: str = ""  # a regular expression at the beginning of the name
    key: str = ""  # a regular expression that is found in the key; of a list: in its prefix
    first: int = 1
    times: int = 1
    step: int = 1
    seen: int = 0
    struck: int = 0

    def strikes(self, operation: str, key: str) -> bool:
        if (self.operation and not re.match(self.operation, operation)) or not re.search(self.key, key):
            return False
        self.seen += 1
        due = self.seen >= self.first and (self.seen - self.first) % self.step == 0
        if not due or (self.times and self.struck == self.times):
            return False
        self.struck += 1
        return True


@dataclass(frozen=True)
class Passed:
    """One request as the proxy saw it, and the fault that it met."""

    operation: str
    key: str
    headers: dict[str, str] = field(repr=False)
    fault: Fault | None = None
    number: int = 0  # of a part


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    headers: Sequence[tuple[str, str]]
    body: bytes


@dataclass(frozen=True)
class _Answer:
    status: int
    reason: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    length: int  # as the head says: a HEAD's answer has no body and the object's length


class S3Proxy:
    """A proxy in front of one server, on a port of its own; threads, no process."""

    def __init__(self, server_url: str) -> None:
        place = urlsplit(server_url)
        assert place.hostname is not None
        self._server = (place.hostname, place.port)
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._ended = threading.Event()
        self.passed: list[Passed] = []
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._listener = _Listener(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._listener.server_address[1]}"
        self._thread = threading.Thread(target=self._listener.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._listener.shutdown()
        self._thread.join()
        self._listener.server_close()  # waits for its threads

    def add(self, *rules: Rule) -> None:
        with self._lock:
            self._rules += rules

    def calm(self) -> None:
        """No rule from now on."""
        with self._lock:
            self._rules.clear()

    def clear(self) -> None:
        """No rule and no memory of requests."""
        with self._lock:
            self._rules.clear()
            self.passed.clear()

    def operations(self, *without: str) -> list[str]:
        return [each.operation for each in self.passed if each.operation not in without]

    @property
    def struck(self) -> list[Passed]:
        return [each for each in self.passed if each.fault is not None]

    # A request's way.

    def _fault_of(self, request: _Request) -> Fault | None:
        operation, key = named(request.method, request.path)
        headers = {name.lower(): value for name, value in request.headers}
        with self._lock:
            # Each rule counts every request, whichever of them strikes.
            hits = [rule.fault for rule in self._rules if rule.strikes(operation, key)]
            fault = hits[0] if hits else None
            part = re.search(r"[?&]partNumber=(\d+)", request.path)
            self.passed.append(Passed(operation, key, headers, fault, int(part[1]) if part else 0))
        return fault

    def handle(self, request: _Request, client: socket.socket) -> None:
        fault = self._fault_of(request)
        match fault:
            case None:
                _send(client, self._asked(request))
            case Delay(seconds):
                self._ended.wait(seconds)
                _send(client, self._asked(request))
            case Reset(applied):
                if applied:
                    self._asked(request)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            case Silence(applied):
                if applied:
                    self._asked(request)
                self._await_hang_up(client)
            case Refuse(status, code, applied):
                if applied:
                    self._asked(request)
                _send(client, _refusal(request.method, status, code))
            case Cut():
                _send(client, self._asked(request), cut=True)
            case Again(hears_second):
                answers = [self._asked(request), self._asked(request)]
                _send(client, answers[hears_second])
            case _:
                assert_never(fault)

    def _asked(self, request: _Request) -> _Answer:
        connection = http.client.HTTPConnection(*self._server, timeout=_UPSTREAM_TIMEOUT_S)
        try:
            connection.putrequest(request.method, request.path, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers:
                if name.lower() not in ("expect", "connection"):  # between two neighbours only
                    connection.putheader(name, value)
            connection.putheader("Connection", "close")
            connection.endheaders(request.body)
            answer = connection.getresponse()
            body = answer.read()
            length = int(answer.headers.get("Content-Length") or len(body))
            return _Answer(answer.status, answer.reason, answer.getheaders(), body, length)
        finally:
            connection.close()

    def _await_hang_up(self, client: socket.socket) -> None:
        client.settimeout(0.02)
        while not self._ended.is_set():
            try:
                if not client.recv(1):
                    return
            except TimeoutError:
                continue
            except OSError:
                return


class _Listener(http.server.ThreadingHTTPServer):
    daemon_threads = False  # they are waited for

    def shutdown_request(self, request: Any) -> None:
        """No FIN first: a reset is one."""
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what many rules are about."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    proxy: S3Proxy

    def handle_one_request(self) -> None:
        self.close_connection = True
        try:
            self.raw_requestline = self.rfile.readline(65537)
        except TimeoutError:
            return
        if not self.raw_requestline or not self.parse_request():
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = _Request(self.command, self.path, list(self.headers.items()), body)
        self.close_connection = True  # one request a connection: a fault then strikes nothing but its own
        self.proxy.handle(request, self.connection)


def _send(client: socket.socket, answer: _Answer, *, cut: bool = False) -> None:
    lines = [f"HTTP/1.1 {answer.status} {answer.reason}"]
    hops = ("connection", "transfer-encoding", "content-length")
    lines += [f"{name}: {value}" for name, value in answer.headers if name.lower() not in hops]
    lines += [f"Content-Length: {answer.length}", "Connection: close", "", ""]
    head = "\r\n".join(lines).encode("latin-1")
    if cut:
        client.sendall(head + answer.body[: len(answer.body) // 2] if answer.body else head[:10])
    else:
        client.sendall(head + answer.body)


def _refusal(method: str, status: int, code: str) -> _Answer:
    body = f"<Error><Code>{code}</Code><Message>So the proxy says.</Message></Error>".encode()
    if method == "HEAD":
        return _Answer(status, "Refused", [], b"", len(body))
    return _Answer(status, "Refused", [("Content-Type", "application/xml")], body, len(body))


_BY_QUERY = {
    ("PUT", "partNumber"): "UploadPart",
    ("PUT", "tagging"): "PutObjectTagging",
    ("POST", "uploads"): "CreateMultipartUpload",
    ("POST", "uploadId"): "CompleteMultipartUpload",
    ("DELETE", "uploadId"): "AbortMultipartUpload",
    ("GET", "uploads"): "ListMultipartUploads",
    ("GET", "list-type"): "ListObjectsV2",
}
_BY_METHOD = {"PUT": "PutObject", "GET": "GetObject", "HEAD": "HeadObject", "DELETE": "DeleteObject"}


def named(method: str, path: str) -> tuple[str, str]:
    """S3's name of a request in path style, and its key; of a list, the prefix.

    >>> named("PUT", "/lake/a%2Bb?partNumber=1&uploadId=7"), named("GET", "/lake?list-type=2&prefix=log%2F")
    (('UploadPart', 'a+b'), ('ListObjectsV2', 'log/'))
    """
    place = urlsplit(path)
    query = dict(parse_qsl(place.query, keep_blank_values=True))
    key = unquote(place.path).removeprefix("/").partition("/")[2]
    operation = next((name for (verb, word), name in _BY_QUERY.items() if verb == method and word in query), None)
    return operation or _BY_METHOD.get(method, method), query.get("prefix", key) if method == "GET" else key
