"""How requests are sent and answers are read: confluent-kafka's client, and the limits that it lacks.

Its own retries are off: `retry.py` has them all.
"""

from __future__ import annotations

import contextlib
import os
import random
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import httpx2
from confluent_kafka.schema_registry import SchemaRegistryClient

from kafka_s3.adapters.registry.translation import LIBRARY_ERRORS, is_missing, translate
from kafka_s3.adapters.retry import Retrying
from kafka_s3.errors import RegistryUnavailable
from kafka_s3.settings.registry import RegistrySettings
from kafka_s3.settings.s3 import RetrySettings

#: Connecting, and each silence of the server (the property `timeout`).
REQUEST_TIMEOUT_S: Final = 10.0
#: A whole answer: what comes byte by byte is never silent.
ANSWER_TIMEOUT_S: Final = 60.0
#: Confluent's registry keeps a schema in one Kafka message, 1 MiB by default.
ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
BACKOFF_MS: Final = 100
#: Between tries it waits at most so long: a registry that is back is found soon.
WAIT_MAX_S: Final = 5.0
_RETRIES_MAX: Final = 100_000  # the time is the limit

#: Numbers among the client's properties, which it takes as such only.
_CHANCE: Final = random.SystemRandom()
_NUMBERS: Final = ("timeout", "cache.capacity", "cache.latest.ttl.sec")
_CLUSTER_HEADER: Final = "target-sr-cluster"

#: Certificates and keys as text, which the library has no properties for, and what it has for its own.
_IN_MEMORY: Final = ("ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem")
_OWN: Final = ("ssl.certificate.location", "ssl.key.location", "ssl.key.password")

#: A subject and one of its versions.
Reference = tuple[str, int]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """A schema as the registry answered it. `names`: what it calls each of its references, in their order."""

    id: int
    text: str
    type: str
    references: tuple[Reference, ...]
    names: tuple[str, ...] = ()


class Requests:
    """What is asked of a registry. Errors: `RegistryUnavailable` after the retries, `RegistryRefused` at once."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        try:
            self._client = _make_client(settings)
        except LIBRARY_ERRORS as error:
            raise translate(settings, error, "") from None  # its text may hold a secret
        self._retrying = Retrying(
            RetrySettings(_RETRIES_MAX, BACKOFF_MS),
            retry_on=RegistryUnavailable,
            time_max_s=settings.retry_timeout_ms / 1000,
            uniform=lambda low, high: _CHANCE.uniform(low, min(high, WAIT_MAX_S)),
        )

    def schema(self, id: int) -> Answer | None:
        return self._ask(f"schema {id}", lambda: _answer(self._client.get_schema(id), id))

    def versions(self, subject: str) -> list[int]:
        """Every version of a subject, deleted ones too; empty if there is no such subject."""

        def versions() -> list[int]:
            return [_positive(each) for each in self._client.get_versions(subject, deleted=True)]

        return self._ask(f"the versions of {subject!r:.100}", versions) or []

    def version(self, subject: str, number: int) -> Answer | None:
        def version() -> Answer:
            found = self._client.get_version(subject, number, deleted=True)
            return _answer(found.schema, found.schema_id)

        return self._ask(f"version {number} of {subject!r:.100}", version)

    def _ask(self, what: str, ask: Callable[[], T]) -> T | None:
        def attempt() -> T | None:
            try:
                return ask()
            except LIBRARY_ERRORS as error:
                if is_missing(error):
                    return None
                raise translate(self._settings, error, what) from None
            finally:
                self._client.clear_caches()  # it would keep every answer; whoever asks here keeps what is needed

        return self._retrying(attempt)


def _answer(schema: Any, id: object) -> Answer:
    """What the client made of an answer, checked: it takes anything for anything."""
    references = [(_text(each.subject), _positive(each.version)) for each in schema.references or ()]
    names = tuple(_text(each.name) for each in schema.references or ())
    return Answer(_positive(id), _text(schema.schema_str), _text(schema.schema_type), tuple(references), names)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} stands where a text belongs")
    return value


def _positive(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**31:
        raise TypeError(f"{value!r:.40} stands where an id or a version belongs")
    return value


def _make_client(settings: RegistrySettings) -> SchemaRegistryClient:
    properties: dict[str, Any] = dict(settings.client)
    for name in _NUMBERS:
        if name in properties:
            properties[name] = float(properties[name])
    # A try of its own must not outlast the time that there is for all of them by much.
    timeout_s = min(REQUEST_TIMEOUT_S, max(1.0, settings.retry_timeout_ms / 1000))
    properties = {"timeout": timeout_s, **properties, "max.retries": 0}
    if properties.get("bearer.auth.credentials.source"):
        # Confluent Cloud's; the client wants it of everybody, Connect of nobody.
        properties.setdefault("bearer.auth.logical.cluster", "")
    taken = _IN_MEMORY if "ssl.certificate.pem" not in properties else (*_IN_MEMORY, *_OWN)
    in_memory = {name: str(properties.pop(name)) for name in taken if name in properties}
    client = SchemaRegistryClient(properties)
    if in_memory:
        _use(client._rest_client, in_memory)
    session = client._rest_client.session  # what bounds an answer has no property
    session.headers["accept-encoding"] = "identity"
    session.event_hooks = {"request": [_leave_out_no_cluster], "response": [_bound]}
    return client


def _use(rest: Any, tls: dict[str, str]) -> None:
    """Give the client certificates that are in no file: it knows files only, and OpenSSL here reads keys from them."""
    context = ssl.create_default_context(cadata=tls["ssl.ca.pem"]) if "ssl.ca.pem" in tls else rest.verify
    if "ssl.certificate.pem" in tls:
        with contextlib.ExitStack() as files:
            certificate = files.enter_context(_memory_file(tls["ssl.certificate.pem"]))
            key = tls.get("ssl.key.location") or files.enter_context(_memory_file(tls.get("ssl.key.pem", "")))
            context.load_cert_chain(certificate, key, tls.get("ssl.key.password"))
    rest.session.close()
    rest.session = httpx2.Client(verify=context, auth=rest.auth, proxy=rest.proxy, timeout=rest.timeout)


@contextlib.contextmanager
def _memory_file(text: str) -> Iterator[str]:
    """The name of a file that is in memory and on no disk, which Linux alone has."""
    if sys.platform != "linux":
        raise ValueError("a key store is read on Linux only: convert it to PEM and set ssl.keystore.type=PEM")
    with os.fdopen(os.memfd_create("kafka-s3"), "wb", buffering=0) as file:
        file.write(text.encode())
        yield f"/proc/self/fd/{file.fileno()}"


def _leave_out_no_cluster(request: Any) -> None:
    if not request.headers.get(_CLUSTER_HEADER):
        request.headers.pop(_CLUSTER_HEADER, None)


def _bound(response: Any) -> None:
    """Called before the body is read."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ValueError("the answer is compressed, which was not asked for")
    response.stream = _Bounded(response.stream)


class _Bounded(httpx2.SyncByteStream):
    """A body of at most `ANSWER_BYTES_MAX`, in at most `ANSWER_TIMEOUT_S`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._deadline = time.monotonic() + ANSWER_TIMEOUT_S

    def __iter__(self) -> Iterator[bytes]:
        taken = 0
        for chunk in self._stream:
            taken += len(chunk)
            if taken > ANSWER_BYTES_MAX:
                raise ValueError(f"the answer is larger than {ANSWER_BYTES_MAX} bytes")
            if time.monotonic() > self._deadline:
                raise httpx2.ReadTimeout(f"the answer did not end within {ANSWER_TIMEOUT_S:.0f} s")
            yield chunk

    def close(self) -> None:
        self._stream.close()
