"""The world as one program sees it: S3 through the real adapter, Kafka, a topic of dead letters, and pools of threads.

In front of every request the program stops (`Scheduler.point`), and the weather decides what becomes of it.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from botocore import exceptions as aws

from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.adapters.retry import Retrying
from kafka_s3.adapters.s3 import S3Store
from kafka_s3.dead_letter import DeadLetter
from kafka_s3.errors import KafkaUnavailable, StoreUnavailable
from kafka_s3.ranges import OffsetRange
from kafka_s3.settings.credentials import Anonymous
from kafka_s3.settings.s3 import RetrySettings, S3Settings
from tests.interleavings import wire
from tests.interleavings.bucket import SteppedBucket
from tests.interleavings.scheduler import Actor, ProgramKilled, Scheduler

SETTINGS = S3Settings(
    "archive",
    "us-east-1",
    "http://s3.test",
    credentials=Anonymous(),
    retry=RetrySettings(3, 200),
    expect_continue=False,
)


@dataclass
class Weather:
    """How often a request fails: the seed's. What is still on its way to the store is `in_flight`."""

    chance: random.Random
    store: float = 0.0
    kafka: float = 0.0
    in_flight: list[tuple[str, wire.Request]] = field(default_factory=list)

    def fate(self, request: wire.Request) -> str:
        if self.chance.random() >= self.store:
            return "passes"
        fates = ["503", "500", "is not sent"]
        if request.is_write:
            fates += ["loses its answer", "loses its answer", "comes late", "500 though it is done"]
        elif request.operation == "GetObject":
            fates += ["loses half of its answer"]
        else:
            fates += ["loses its answer"]
        if request.is_conditional:
            fates.append("409")
        if request.operation == "CompleteMultipartUpload":
            fates += ["200 with an error", "200 with an error though it is done"]
        return self.chance.choice(fates)


@dataclass
class Transport:
    """Answers what boto3 would send. One for each history; the client is shared by all of a process."""

    bucket: SteppedBucket
    scheduler: Scheduler
    weather: Weather

    def store(self) -> S3Store:
        """The adapter of one program, with retries that wait for the scheduler and not for the clock."""
        base = _base()
        twin = S3Store.__new__(S3Store)
        twin.__dict__.update(base.__dict__)
        passed = [0.0]

        def sleep(seconds: float) -> None:
            passed[0] += seconds
            self.scheduler.point("waits to try again")

        twin._retrying = Retrying(
            SETTINGS.retry,
            retry_on=StoreUnavailable,
            clock=lambda: passed[0],
            sleep=sleep,
            uniform=self.weather.chance.uniform,
        )
        return twin

    def answer(self, event_name: str, prepared: Any) -> Any:
        request = wire.read_request(event_name, prepared)
        if self.scheduler.current is None:  # no history is played: it is just a store
            return wire.to_boto(request, wire.apply(self.bucket, request))
        actor = self.scheduler.point(str(request), functools.partial(self.send, request) if request.is_write else None)
        fate = self.weather.fate(request)
        if fate != "passes":
            actor.failures += 1
            self.scheduler.trace.say(actor.name, f"  {fate}")
        url, is_head = request.url, request.operation == "HeadObject"
        match fate:
            case "503":
                return wire.to_boto(request, wire.error(503, "SlowDown", is_head=is_head))
            case "500":
                return wire.to_boto(request, wire.error(500, "InternalError", is_head=is_head))
            case "409":
                return wire.to_boto(request, wire.error(409, "ConditionalRequestConflict"))
            case "200 with an error":
                return wire.to_boto(request, wire.error(200, "InternalError"))
            case "is not sent":
                raise aws.EndpointConnectionError(endpoint_url=url)
            case "comes late":
                self.send(request)
                raise aws.ReadTimeoutError(endpoint_url=url)
        response = wire.apply(self.bucket, request)
        if not (request.is_write or request.operation == "GetObject") or response.status >= 300:
            self.scheduler.trace.say(actor.name, f"  {response.status}")
        match fate:
            case "loses its answer":
                raise aws.ConnectionClosedError(endpoint_url=url)
            case "500 though it is done":
                return wire.to_boto(request, wire.error(500, "InternalError"))
            case "200 with an error though it is done":
                return wire.to_boto(request, wire.error(200, "InternalError"))
        return wire.to_boto(request, response, cut=fate == "loses half of its answer")

    def send(self, request: wire.Request) -> None:
        """It has left, and is applied some time."""
        self.weather.in_flight.append((str(self.scheduler.current or "a dead program"), request))

    def arrive(self, which: int) -> None:
        who, request = self.weather.in_flight.pop(which)
        response = wire.apply(self.bucket, request)
        self.scheduler.trace.say("(late)", f"{request} of {who}: {response.status}")


CURRENT: list[Transport] = []  # the history that is played


@functools.cache
def _base() -> S3Store:
    store = S3Store(SETTINGS)

    def answer(event_name: str, request: Any, **_: Any) -> Any:
        return CURRENT[-1].answer(event_name, request)

    store._client.meta.events.register("before-send.s3", answer)
    _quicken(store._client)
    return store


def _quicken(client: Any) -> None:
    """A third of what a request costs is what boto3 finds out anew each time: who it is, and where the bucket is."""
    who = client._user_agent_creator.to_string()
    client._user_agent_creator.to_string = lambda: who
    where: dict[str, Any] = {}
    construct = client._ruleset_resolver.construct_endpoint

    def kept(operation_model: Any, call_args: Any, request_context: Any) -> Any:
        if operation_model.name not in where:
            where[operation_model.name] = construct(operation_model, call_args, request_context)
        return where[operation_model.name]

    client._ruleset_resolver.construct_endpoint = kept


@dataclass
class SteppedBroker:
    """The `Broker` and `RecordSource` of one program; each batch that it reads is a request."""

    inner: MemoryBroker
    scheduler: Scheduler
    weather: Weather

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name == "cluster_id":
            return method
        return lambda *given, **named: self.ask(name, lambda: method(*given, **named))

    def ask(self, name: str, call: Callable[[], Any]) -> Any:
        actor = self.scheduler.point(f"Kafka: {name}")
        if self.weather.chance.random() < self.weather.kafka:
            actor.failures += 1
            self.scheduler.trace.say(actor.name, "  Kafka does not answer")
            raise KafkaUnavailable("Nobody answers.")
        return call()

    def open(self, offsets: OffsetRange) -> SteppedReader:
        return SteppedReader(self, self.inner.open(offsets), str(offsets))


@dataclass
class SteppedReader:
    side: SteppedBroker
    inner: Any
    name: str

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.inner)
        while (batch := self.side.ask(f"read {self.name}", lambda: next(batches, None))) is not None:
            yield batch

    @property
    def leader_epoch(self) -> int | None:
        return self.inner.leader_epoch  # type: ignore[no-any-return]

    def close(self) -> None:
        self.inner.close()


@dataclass
class LettersSide:
    """A `LetterSink`: what is sent stays, whatever becomes of its sender."""

    sent: list[int]  # the records' numbers
    scheduler: Scheduler
    weather: Weather

    def send(self, letters: Iterable[DeadLetter]) -> None:
        for letter in letters:
            actor = self.scheduler.point(f"sends the letter of {letter.tp} offset {letter.offset}")
            fails = self.weather.chance.random() < self.weather.kafka
            if not fails or self.weather.chance.random() < 0.5:
                self.sent.append(int(letter.key or b""))
            if fails:
                actor.failures += 1
                raise KafkaUnavailable("The letters are not all safe.")

    def close(self) -> None:
        pass


class Inline(Executor):
    """Does what it is given at once: a program is one thread, but for the tasks of its runs."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(function(*given, **named))
        except ProgramKilled:
            raise
        except BaseException as error:  # as a future has it
            done.set_exception(error)
        return done


def current(scheduler: Scheduler) -> Actor:
    assert scheduler.current is not None
    return scheduler.current
