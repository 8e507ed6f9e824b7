"""A connector, its bucket, its Kafka and its programs, and the rules that hold whatever they do."""

from __future__ import annotations

import contextlib
import functools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kafka_s3 import ordered_pool
from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.adopt import adopt
from kafka_s3.errors import ExporterError
from kafka_s3.log.entries import Interval
from kafka_s3.naming import MARKER_NAME
from kafka_s3.publish.announce import Event
from kafka_s3.ranges import TopicPartition
from kafka_s3.report import first_timestamps
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings
from kafka_s3.verify import verify
from tests.interleavings import programs, sides
from tests.interleavings.book import HOME, WINDOWS, Book, Violation, WindowBook, check_redriven, check_reported
from tests.interleavings.bucket import SteppedBucket
from tests.interleavings.claims import check_event, check_marker
from tests.interleavings.scheduler import Actor, Scheduler
from tests.interleavings.sides import Inline, SteppedBroker, Transport, Weather
from tests.interleavings.truth import Snapshot, Truth
from tests.scenario.kafka import TOPICS, Sort
from tests.scenario.ledger import LOG

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
T0 = 1_795_161_600_000  # 2026-11-20T08:00Z
STEP_MS = 50
_POOLS = ((ordered_pool, "ThreadPoolExecutor"), (verify, "ThreadPoolExecutor"), (adopt, "ThreadPoolExecutor"),
          (first_timestamps, "ThreadPoolExecutor"))  # fmt: skip
CLASSES = "io.confluent.connect"
BASE = {
    "name": LOG.connector,
    "topics": ",".join(TOPICS),
    "s3.bucket.name": "archive",
    "storage.class": f"{CLASSES}.s3.storage.S3Storage",
    "format.class": f"{CLASSES}.s3.format.json.JsonFormat",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "timezone": "UTC",
    "locale": "en",
    "flush.size": "2",
    "export.range.records.max": "4",
    "partitioner.max.open.files": "2",
    "export.errors.fraction.max": "1",
    "export.errors.fraction.attention": "1",
    "behavior.on.null.values": "ignore",
}
WITH_SIDES = {
    "errors.tolerance": "all",
    "behavior.on.null.values": "write",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "header.converter": "org.apache.kafka.connect.storage.StringConverter",
    "store.kafka.keys": "true",
    "keys.format.class": f"{CLASSES}.s3.format.json.JsonFormat",
    "store.kafka.headers": "true",
    "headers.format.class": f"{CLASSES}.s3.format.json.JsonFormat",
    "errors.deadletterqueue.topic.name": "letters",
}
BY_TIME = {
    "partitioner.class": f"{CLASSES}.storage.partitioner.TimeBasedPartitioner",
    "path.format": "'hour'=YYYY-MM-dd-HH",
    "partition.duration.ms": str(HOUR_MS),
    "timestamp.extractor": "Record",
}
LOGS = (LOG.log_prefix, LOG.epoch_prefix)
MARKERS = {**BY_TIME, "export.completeness.marker.enable": "true"}


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Pools of the engine do at once what they are given, while a history is played."""
    kept = [(module, name, getattr(module, name)) for module, name in _POOLS]
    for module, name, _ in kept:
        setattr(module, name, Inline)
    try:
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


@functools.cache
def _settings(mapping: tuple[tuple[str, str], ...], part_size: int) -> Settings:
    made = from_mapping(dict(mapping), offline=True).settings
    return replace(made, limits=replace(made.limits, part_size_bytes=part_size))


@dataclass
class Rules:
    """What is checked after every step that changed the bucket. A broken rule is told where it is noticed."""

    world: InterleavedExport
    book: Book
    windows: WindowBook
    changes: list[tuple[str, str, str]] = field(default_factory=list)
    left_out: frozenset[str] = frozenset()  # rules that are not looked at
    said: Violation | None = None

    def broken(self, rule: str, what: str) -> None:
        """In a program, which may not end by this: it is raised after its step."""
        if rule not in self.left_out:
            self.said = self.said or Violation(rule, what)

    def hold(self, check: Callable[[], None]) -> None:
        """Raise what a check finds, unless its rule is left out."""
        try:
            check()
        except Violation as found:
            if found.rule not in self.left_out:
                raise
            self.world.reached[f"left out: {found.rule}"] += 1

    def check(self) -> None:
        world = self.world
        changes, self.changes = self.changes, []
        contents = world.bucket.contents() if changes else {}
        if any(operation == "DELETE" or key.startswith(LOGS) for _, operation, key in changes):
            deleted, world.bucket.deleted = world.bucket.deleted, set()
            self.book.read(contents, deleted)
            self.windows.check_kept(contents)
        for author, operation, key in changes:
            if operation == "PUT":
                self.hold(functools.partial(self._written, author, key, contents))
        if self.said is not None:
            raise self.said

    def _written(self, author: str, key: str, contents: dict[str, bytes]) -> None:
        world = self.world
        if key.endswith(MARKER_NAME):
            check_marker(world.truth, self.book, contents[key], world.snapshots[author])
            world.reached["a marker"] += 1
        elif key.startswith(WINDOWS) and "/log/" in key:
            self.windows.entry(key, contents, world.began, world.heads.get(author, -1))
            world.reached["an entry of a window"] += 1
            if self.windows.withdrawn:
                world.reached["objects of a window withdrawn"] += 1
        elif key.startswith(f"{HOME}reported/"):
            check_reported(self.book, key, world.reported)
            world.reached["letters reported"] += 1
        elif key.startswith(f"{HOME}redriven/"):
            check_redriven(contents, key, world.redriven)
            world.reached["letters redriven"] += 1


@dataclass
class InterleavedExport:
    """`mapping`: the configuration now. `began`: Kafka when a run was first planned, by its id; `snapshots`: when a
    program started, by its name; `heads`: the newest entry then."""

    chance: random.Random
    mapping: dict[str, str] = field(default_factory=lambda: dict(BASE))
    part_size: int = 60
    extra_ms: int = 0
    began: dict[str, Snapshot] = field(default_factory=dict)
    intervals: dict[str, Interval | None] = field(default_factory=dict)
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    heads: dict[str, int] = field(default_factory=dict)
    at: dict[int, Snapshot] = field(default_factory=dict)  # when an hour was over
    next_ms: int = T0
    reported: list[int] = field(default_factory=list)
    redriven: list[int] = field(default_factory=list)
    entries_told: set[int] = field(default_factory=set)
    reached: Counter[str] = field(default_factory=Counter)
    numbers: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        with_sides = "errors.tolerance" in self.mapping
        self.truth = Truth(MemoryBroker(batch_records=3), sides=with_sides)
        self.bucket = SteppedBucket(lambda: self.clock_ms, on_write=self._on_write)
        self.scheduler = Scheduler(self.chance, expected=(ExporterError,), on_end=self._on_end)
        self.weather = Weather(self.chance)
        self.transport = Transport(self.bucket, self.scheduler, self.weather)
        book = Book(self.truth, with_sides)
        self.rules = Rules(self, book, WindowBook(self.truth, book))
        self.author = ""
        sides.CURRENT[:] = [self.transport]

    @property
    def clock_ms(self) -> int:
        return T0 + self.extra_ms + self.scheduler.steps * STEP_MS

    @property
    def book(self) -> Book:
        return self.rules.book

    def settings(self) -> Settings:
        return _settings(tuple(sorted(self.mapping.items())), self.part_size)

    def broker(self) -> SteppedBroker:
        return SteppedBroker(self.truth.broker, self.scheduler, self.weather)

    def produce(self, tp: TopicPartition, sort: Sort, count: int, *shifts: int) -> None:
        for number in range(count):
            self.extra_ms += MINUTE_MS
            self.tick()
            self.truth.produce(tp, sort, self.clock_ms + shifts[number % len(shifts)])

    def name(self, what: str) -> str:
        self.numbers[what] += 1
        return f"{what} {self.numbers[what]}"

    def start(self, name: str, body: programs.Body, asked: programs.ProgramRun | None = None) -> Actor:
        """A program. What Kafka holds by now is what it may not overlook."""
        self.tick()
        self.snapshots[name] = self.truth.snapshot()
        self.heads[name] = -1 if self.book.head is None else self.book.head.seq
        if asked is not None:
            self.began.setdefault(asked.run_id, self.snapshots[name])
            self.book.moments.setdefault(asked.run_id, self.truth.moment())
            self.intervals[asked.run_id] = asked.interval
        return self.scheduler.start(name, body)

    def tick(self) -> None:
        """What Kafka held when an hour was over is what nobody may overlook who calls it complete."""
        while self.next_ms <= self.clock_ms:
            self.at[self.next_ms] = self.truth.snapshot()
            self.next_ms += HOUR_MS

    def told(self, actor: Actor, events: Sequence[Event]) -> None:
        """Airflow has stored the events of a task that ended well."""
        self.rules.check()
        for event in events:
            self.scheduler.trace.say(
                actor.name, f"tells {event.topic or 'all'} until {event.extra['complete_until_ms']}"
            )
            self.entries_told |= {each["seq"] for each in event.extra["entries"]}
            if event.extra["complete_until_ms"] is not None:
                self.reached["an hour told complete"] += 1
            self.tick()
            self.rules.hold(functools.partial(check_event, self.truth, self.book, event, self.at))

    def _on_write(self, operation: str, key: str) -> None:
        actor = self.scheduler.current
        self.rules.changes.append((self.author or (actor.name if actor else ""), operation, key))

    def _on_end(self, actor: Actor) -> None:
        if actor.error is not None:
            self.reached[f"ended: {type(actor.error).__name__}"] += 1
