"""Programs that die, lose answers, or fall asleep at any request, and wake when somebody wants them to.

A program that may sleep runs in a thread of its own, but never beside anything else: whoever starts or wakes it
waits until it ends or sleeps. So a history is the same every time it is played.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, TypeVar

from kafka_s3 import crash_points
from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import ExporterError, KafkaUnavailable, StoreUnavailable
from kafka_s3.export import append, closing
from kafka_s3.gc import gc
from kafka_s3.log import documents, entries
from kafka_s3.plan import planner
from kafka_s3.ports import GET_BYTES_MAX, MultipartUpload, ObjectInfo, OpenUpload, Put
from kafka_s3.ranges import OffsetRange
from kafka_s3.reexport import plan, select

Answer = TypeVar("Answer")


class ProcessKilled(BaseException):
    """kill -9: nothing of this program runs any more."""


class What(enum.Enum):
    DIE = "dies"
    FAIL = "gets an error"
    SLEEP = "falls asleep"


@dataclass(frozen=True)
class Fate:
    """What happens to a program at its `at`-th request (of those called `name`), or the `at`-th time it passes `point`.

    `after`: the request was answered by then; it is the answer that an error stands for. `requests`: how many in a
    row get an error.
    """

    what: What
    at: int
    after: bool = False
    point: CrashPoint | None = None
    requests: int = 1
    name: str | None = None

    def __str__(self) -> str:
        where = self.name or "request" if self.point is None else self.point.name
        return f"{self.what.value} at {where} {self.at}"

    def is_met(self, names: Sequence[str], after: bool) -> bool:
        """Whether the newest of all requests so far is the one."""
        if self.point is not None or self.after is not after or (self.name is not None and names[-1] != self.name):
            return False
        return self.at == (len(names) if self.name is None else names.count(self.name))


@dataclass(frozen=True)
class Engine:
    """A release of the exporter, on some machine: what it writes into plans and entries, and what it can read."""

    bytes_version: int = 1
    format_version: int = 1
    level: int = 1  # of gzip: another machine may make other bytes of the same records

    def install(self) -> None:
        """Make the modules that are imported this release."""
        versions = {"format_version": self.format_version}
        _set(entries, "FORMAT_VERSION", self.format_version)
        _set(documents, "FORMAT_VERSION", self.format_version)
        _set(closing, "BYTES_VERSION", self.bytes_version)
        _set(append, "Entry", functools.partial(entries.Entry, **versions))
        _set(gc, "workers", _one_by_one)
        _set(select, "workers", _one_by_one)
        for module in (planner, plan):
            _set(module, "Plan", functools.partial(entries.Plan, bytes_version=self.bytes_version, **versions))


class _Inline(Executor):
    """Does what it is given at once: a program here is one thread."""

    def submit(self, function: Callable[..., Answer], /, *given: Any, **named: Any) -> Future[Answer]:
        done: Future[Answer] = Future()
        done.set_result(function(*given, **named))
        return done


@contextlib.contextmanager
def _one_by_one(parallel: int) -> Iterator[Executor]:
    yield _Inline()


def _set(module: ModuleType, name: str, value: object) -> None:
    assert hasattr(module, name), f"{module.__name__} has no {name} any more: releases cannot be told apart"
    setattr(module, name, value)


THIS = Engine(entries.BYTES_VERSION, entries.FORMAT_VERSION)
READER = replace(THIS, format_version=10**6)  # whoever only looks


@dataclass(eq=False)
class Process:
    """One program. `store` and `broker` are the world as it sees it; `error` is what it ended with."""

    inner_store: MemoryStore
    inner_broker: MemoryBroker
    engine: Engine = THIS
    fates: list[Fate] = field(default_factory=list)
    error: BaseException | None = None
    dead: bool = False
    asleep: bool = False
    requests: list[str] = field(default_factory=list)
    passed: list[CrashPoint] = field(default_factory=list)
    _failing: int = 0
    _thread: threading.Thread | None = None
    _go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _back: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def store(self) -> StoreSide:
        return StoreSide(self)

    @property
    def broker(self) -> ProcessBroker:
        return ProcessBroker(self)

    def start(self, body: Callable[[], object]) -> None:
        """Run until it ends or sleeps. Whatever is neither an error for people nor a death is raised here."""
        if any(fate.what is What.SLEEP for fate in self.fates):
            self._thread = threading.Thread(target=self._run, args=(body, self._back.release), daemon=True)
            self._hand_over(self._thread.start)
        else:
            self._listen()
            self._run(body, lambda: None)
            self._ended()

    def wake(self) -> None:
        """Go on where it fell asleep."""
        self._hand_over(self._go.release)

    def kill(self) -> None:
        """The end of one that sleeps."""
        self.dead = True
        if self.asleep:
            self.wake()

    @property
    def writes(self) -> list[str]:
        return [name for name in self.requests if name.split()[0] in WRITES]

    def request(self, name: str, call: Callable[[], Answer], unavailable: type[ExporterError]) -> Answer:
        """One request to the world, with what fate has in store around it."""
        self.requests.append(name)
        self._meet(lambda fate: fate.is_met(self.requests, after=False), unavailable)
        answer = call()
        self._meet(lambda fate: fate.is_met(self.requests, after=True), unavailable)
        return answer

    def passing(self, point: CrashPoint) -> None:
        """The program is at a named place."""
        self.passed.append(point)
        times = self.passed.count(point)
        self._meet(lambda fate: fate.point is point and fate.at == times, None)

    def _meet(self, now: Callable[[Fate], bool], unavailable: type[ExporterError] | None) -> None:
        if self.dead:
            raise ProcessKilled
        for fate in [fate for fate in self.fates if now(fate)]:
            self.fates.remove(fate)
            match fate.what:
                case What.DIE:
                    self.dead = True
                    raise ProcessKilled
                case What.SLEEP:
                    self._sleep()
                case What.FAIL:
                    self._failing = fate.requests
        if self._failing and unavailable is not None:
            self._failing -= 1
            raise unavailable("Nobody answers.")

    def _sleep(self) -> None:
        self.asleep = True
        self._back.release()
        self._go.acquire()
        self.asleep = False
        if self.dead:
            raise ProcessKilled

    def _run(self, body: Callable[[], object], ended: Callable[[], object]) -> None:
        try:
            body()
        except BaseException as error:  # whoever waits for this program raises it
            self.error = error
        finally:
            ended()

    def _hand_over(self, go: Callable[[], object]) -> None:
        self._listen()
        go()
        self._back.acquire()
        if self._thread is not None and not self.asleep:
            self._thread.join()
        self._ended()

    def _listen(self) -> None:
        self.engine.install()
        crash_points.listener = self.passing

    def _ended(self) -> None:
        crash_points.listener = None
        READER.install()
        if self.error is not None and not isinstance(self.error, ExporterError | ProcessKilled):
            raise self.error


@dataclass
class StoreSide:
    """The `ObjectStore` of one program. Requests have names such as "PUT plan" or "LIST data"."""

    process: Process

    def _ask(self, method: str, key: str, call: Callable[[], Answer]) -> Answer:
        return self.process.request(f"{method} {_part_of(key)}", call, StoreUnavailable)

    @property
    def _inner(self) -> MemoryStore:
        return self.process.inner_store

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        *,
        metadata: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Put:
        return self._ask("PUT", key, lambda: self._inner.put_if_absent(key, body, metadata=metadata, tags=tags))

    def put_tags(self, key: str, tags: Mapping[str, str]) -> None:
        self._ask("TAG", key, lambda: self._inner.put_tags(key, tags))

    def get(self, key: str, *, limit: int = GET_BYTES_MAX) -> bytes | None:
        return self._ask("GET", key, lambda: self._inner.get(key, limit=limit))

    def read(self, key: str, *, limit: int | None = None) -> Iterator[bytes]:
        yield from self._ask("GET", key, lambda: [*self._inner.read(key, limit=limit)])

    def head(self, key: str) -> ObjectInfo | None:
        return self._ask("HEAD", key, lambda: self._inner.head(key))

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[ObjectInfo]:
        found = self._ask("LIST", prefix, lambda: [*self._inner.list(prefix, start_after=start_after, limit=limit)])
        yield from found

    def start_multipart(self, key: str) -> MultipartUpload:
        return UploadSide(self, key, self._ask("START", key, lambda: self._inner.start_multipart(key)))

    def uploads(self, prefix: str) -> Iterator[OpenUpload]:
        yield from self._ask("UPLOADS", prefix, lambda: [*self._inner.uploads(prefix)])

    def abort_upload(self, upload: OpenUpload) -> None:
        self._ask("ABORT", upload.key, lambda: self._inner.abort_upload(upload))

    def delete(self, key: str) -> None:
        self._ask("DELETE", key, lambda: self._inner.delete(key))


WRITES = ("PUT", "TAG", "START", "PART", "COMPLETE", "ABORT", "DELETE")


def _part_of(key: str) -> str:
    """Whether a key is one of a plan, the log, an owner, dead letters, or data."""
    parts = key.split("/")
    if not parts[0].startswith("_"):
        return "data"
    return parts[1] if parts[1] == "owners" else parts[2]


@dataclass
class UploadSide:
    """A `MultipartUpload` of one program."""

    store: StoreSide
    key: str
    inner: MultipartUpload

    def put_part(self, body: bytes) -> None:
        self.store._ask("PART", self.key, lambda: self.inner.put_part(body))

    def complete_if_absent(self) -> Put:
        return self.store._ask("COMPLETE", self.key, self.inner.complete_if_absent)

    def abort(self) -> None:
        """As the port says it raises nothing: parts that cannot be deleted stay."""
        with contextlib.suppress(StoreUnavailable):
            self.store._ask("ABORT", self.key, self.inner.abort)


@dataclass
class ProcessBroker:
    """The `Broker` and `RecordSource` of one program; each batch that it reads is a request."""

    process: Process

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.process.inner_broker, name)
        return lambda *given, **named: self.process.request(name, lambda: method(*given, **named), KafkaUnavailable)

    def open(self, offsets: OffsetRange) -> ProcessReader:
        return ProcessReader(self.process, self.process.inner_broker.open(offsets))


@dataclass
class ProcessReader:
    """A `RangeReader` of one program."""

    process: Process
    inner: Any

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.inner)
        while (batch := self.process.request("read", lambda: next(batches, None), KafkaUnavailable)) is not None:
            yield batch

    @property
    def leader_epoch(self) -> int | None:
        return self.inner.leader_epoch  # type: ignore[no-any-return]

    def close(self) -> None:
        self.inner.close()
