"""A registry at a URL, and what stands in its place or in front of it."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from kafka_s3.adapters.registry import ConfluentRegistry
from kafka_s3.settings.registry import RegistrySettings
from tests.adapters.loopback import ScriptedServer, Seen, answer
from tools.parts.registry import SchemaRegistry

STRING = answer(200, b'{"schema":"\\"string\\""}')
NO_SUBJECT = answer(404, b'{"error_code":40401,"message":"Subject not found"}')


def registry_at(url: str, *, retry_timeout_ms: int = 0, **properties: str) -> ConfluentRegistry:
    """A registry with some of confluent-kafka's properties, `_` for `.`."""
    client = {"url": url, **{name.replace("_", "."): value for name, value in properties.items()}}
    return ConfluentRegistry(RegistrySettings(client, retry_timeout_ms))


@contextmanager
def scripted(
    *answers: bytes | None, otherwise: Callable[[Seen], bytes | None] | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[ScriptedServer]:
    server = ScriptedServer(otherwise, tls=tls)
    server.answers.extend(answers)
    try:
        yield server
    finally:
        server.stop()


def forwarding(to: SchemaRegistry, *, authorization: str | None = None) -> Callable[[Seen], bytes]:
    """What a proxy in front of a real registry answers, which may ask for credentials."""
    place = urlsplit(to.url)

    def forward(seen: Seen) -> bytes:
        if authorization is not None and seen.headers.get("authorization") != authorization:
            said = f"not {seen.headers.get('authorization')}"  # the worst that a server could say
            return answer(401, json.dumps({"error_code": 401, "message": said}).encode())
        connection = http.client.HTTPConnection(place.netloc, timeout=30)
        try:
            connection.request(seen.method, place.path + seen.path, seen.body, {"Accept": seen.headers["accept"]})
            found = connection.getresponse()
            return answer(found.status, found.read())
        finally:
            connection.close()

    return forward
