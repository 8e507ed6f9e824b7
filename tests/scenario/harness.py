"""A connector in a world that is against it: what can happen, and what its runs do about it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import LogDamaged, TopicMissing
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.gc.gc import collect, delete
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import Broker, ObjectStore
from kafka_s3.ranges import TopicPartition
from kafka_s3.rewind.rewind import accept_by_hand, look, rewind
from kafka_s3.settings.formats import FileSettings, Format, Gzip, NoCompression
from kafka_s3.settings.model import Settings
from kafka_s3.settings.paths import (
    DefaultPartitioner,
    FieldPartitioner,
    Partitioner,
    RecordTime,
    RunTime,
    TimePartitioner,
)
from kafka_s3.settings.run import Policies
from kafka_s3.settings.schedule import ScheduleSettings
from kafka_s3.settings.values import NullValues
from kafka_s3.verify.verify import Kafka as Against
from kafka_s3.verify.verify import verify
from tests.scenario.kafka import TOPICS, Fact, Kafka, Sort
from tests.scenario.ledger import Ledger
from tests.scenario.processes import READER, THIS, Engine, Fate, Process
from tests.support import make_settings, request

MINUTE_MS = 60_000
FUTURE_MS = 4_102_444_800_000  # 2100
ANCIENT_MS = 1
SLEEPERS_MAX = 3
# By field, each record has a path of its own; by time, records of several paths take turns.
PARTITIONERS: tuple[Partitioner, ...] = (
    DefaultPartitioner(),
    FieldPartitioner(("o",)),
    TimePartitioner(1000, "ss", "UTC", "en", RecordTime()),
    TimePartitioner(1000, "mm", "UTC", "en", RunTime()),
)


@dataclass(frozen=True)
class HistoryShape:
    """What a user may change between two runs, and what shapes bytes."""

    flush_size: int = 2
    partitioner: Partitioner = PARTITIONERS[0]  # frozen
    gzip: bool = False


@dataclass
class HistoryExport:
    """`sides`: keys, headers and tombstones are written, and bad records kept as dead letters. Otherwise a bad record
    stops its partition for good."""

    sides: bool = False
    shape: HistoryShape = HistoryShape()  # frozen
    engine: Engine = THIS
    engines: list[Engine] = field(default_factory=lambda: [THIS])
    kafka: Kafka = field(default_factory=Kafka)
    store: MemoryStore = field(default_factory=lambda: MemoryStore(part_bytes_min=1))
    sleepers: list[Process] = field(default_factory=list)
    batch_records_max: int = 9
    noticed: set[str] = field(default_factory=set)
    clock_ms: int = 10 * MINUTE_MS  # of whoever produces
    last: RunRequest = field(default_factory=lambda: request("run-0"))
    runs: int = 0
    policies: Policies = field(default_factory=Policies)
    chances: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.ledger = self.make_ledger()
        self.kafka.create(TOPICS[0], 2)
        self.kafka.create(TOPICS[1], 1)

    def make_ledger(self) -> Ledger:
        return Ledger(self.kafka, self.sides)

    # What a user sets.

    def settings(self, engine: Engine) -> Settings:
        made = make_settings(
            topics=TOPICS,
            flush_size=self.shape.flush_size,
            tolerate=self.sides,
            compression=Gzip(engine.level) if self.shape.gzip else NoCompression(),
            part_size=60,
            range_records_max=4,
            batch_records_max=self.batch_records_max,
            catchup=3,
            null_values=NullValues.WRITE if self.sides else NullValues.IGNORE,
            partitioner=self.shape.partitioner,
            open_objects_max=2,
            policies=self.policies,
        )
        beside = FileSettings(Format.JSON, made.format.file.compression)
        format = replace(made.format, keys=beside, headers=beside) if self.sides else made.format
        # The hash knows of no machine.
        return replace(made, format=format, schedule=ScheduleSettings(MINUTE_MS), configuration_sha256=str(self.shape))

    def exporter(self, store: ObjectStore, broker: Broker, engine: Engine) -> Exporter:
        return Exporter(self.settings(engine), store, broker, chance=lambda: f"{next(self.chances):016x}")

    # What happens to Kafka.

    def produce(self, tp: TopicPartition, sort: Sort, count: int, timestamps: Sequence[int]) -> None:
        """`timestamps`: relative to the clock, or absolute where they are that far from it; they take turns."""
        for number in range(count):
            self.clock_ms += MINUTE_MS // 3
            shift = timestamps[number % len(timestamps)]
            at_ms = shift if shift in (FUTURE_MS, ANCIENT_MS) else self.clock_ms + shift
            self.kafka.produce(tp, sort, at_ms)

    def tps(self) -> list[TopicPartition]:
        return sorted(self.kafka.now)

    # What runs.

    def ask(self, *, boundaries: int | None, clock_shift_ms: int, again: bool) -> RunRequest:
        """A new run, or a retry of the last one. `boundaries`: how many of the schedule its interval lies behind the
        producers' clock; `None`: it reads up to now."""
        now_ms = self.clock_ms + clock_shift_ms
        if again:
            self.last = replace(self.last, try_number=self.last.try_number + 1, now_ms=now_ms)
            return self.last
        self.runs += 1
        end = self.clock_ms // MINUTE_MS * MINUTE_MS - (boundaries or 0) * MINUTE_MS
        interval = None if boundaries is None else (end - MINUTE_MS, end)
        self.last = request(f"run-{self.runs}", interval=interval, now_ms=now_ms)
        return self.last

    def run(self, asked: RunRequest, fates: Sequence[Fate] = (), engine: Engine | None = None) -> Process:
        """A run until it ends or falls asleep."""
        self.ledger.moments.setdefault(asked.run_id, self.kafka.moment())

        def body(exporter: Exporter) -> None:
            def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
                return [export_range(exporter.settings, task, exporter.store, exporter.broker) for task in tasks]  # type: ignore[arg-type]

            run(exporter, asked, execute, lambda _: None)

        return self._start(body, fates, engine)

    def rewind(self, tp: TopicPartition, offset: int, fates: Sequence[Fate] = ()) -> Process:
        """`kafka-s3 rewind --to`."""
        asked = self._by_hand()
        return self._start(lambda exporter: rewind(exporter, look(exporter, {tp: offset}), asked), fates)

    def accept(self, name: str, fates: Sequence[Fate] = ()) -> Process:
        """`kafka-s3 rewind --accept`."""
        asked = self._by_hand()
        return self._start(lambda exporter: accept_by_hand(exporter, [name], asked, lambda _: None), fates)

    def collect(self, fates: Sequence[Fate] = ()) -> Process:
        """`kafka-s3 gc --delete --lost`."""

        def body(exporter: Exporter) -> None:
            garbage = collect(exporter.settings, exporter.log, with_lost=True, parallel=1)
            if garbage is not None:
                delete(exporter.log, garbage, parallel=1)

        return self._start(body, fates)

    def reached(self) -> set[str]:
        """What this history came to: entries of which kinds, and what is rare."""
        ledger = self.ledger
        names = [name for key in ledger.listed if (name := ledger.name_of(key)) is not None]
        lost = any(taken.lost and taken.start < taken.end for each in ledger.taken.values() for taken in each)
        found = {
            "a second name": any(name.collision for name in names),
            "a range withdrawn": ledger.withdrawn > 0,
            "a restart": ledger.restarts > 0,
            "offsets lost": lost,
            "an orphan collected": ledger.collected > 0,
            "a later generation exported": any(
                name.generation for key in ledger.listed if (name := ledger.name_of(key))
            ),
            "a plan finished by another run": ledger.finished_by_another,
            "a time reached": ledger.claims > 0,
        }
        return {*ledger.kinds, *(what for what, is_so in found.items() if is_so), *self.noticed}

    def _by_hand(self) -> RunRequest:
        self.runs += 1
        return request(f"by-hand-{self.runs}", now_ms=self.clock_ms)

    def _start(
        self, body: Callable[[Exporter], object], fates: Sequence[Fate], engine: Engine | None = None
    ) -> Process:
        process = Process(self.store, self.kafka.broker, engine or self.engine, list(fates))
        exporter = self.exporter(process.store, process.broker, process.engine)  # type: ignore[arg-type]
        process.start(lambda: body(exporter))
        if process.asleep:
            self.sleepers.append(process)
        return process

    def undisturbed(self, asked: RunRequest, engine: Engine | None = None) -> None:
        """A run that nothing happens to ends without an error, unless a topic was never there."""
        process = self.run(asked, engine=engine)
        if isinstance(process.error, TopicMissing):
            assert not all(self.kafka.exists(topic) for topic in TOPICS)
        elif process.error is not None:
            raise process.error

    def run_an_older_one(self, asked: RunRequest, engine: Engine) -> None:
        """A release that cannot read the newest plan and entry stops, and writes nothing."""
        if self._newest_format() > engine.format_version:
            process = self.run(asked, engine=engine)
            assert isinstance(process.error, LogDamaged), process.error
            assert process.writes == []
        else:
            self.undisturbed(asked, engine)

    def _newest_format(self) -> int:
        """Of the newest entry, and of the plan that is open."""
        log = self.exporter(self.store, self.kafka.broker, self.engine).log
        head = log.newest()
        planned = log.open_plan(head) if head is not None else None
        return max(
            0 if head is None else head.entry.format_version, 0 if planned is None else planned.plan.format_version
        )

    def wake(self, which: int) -> None:
        process = self.sleepers.pop(which % len(self.sleepers))
        process.wake()
        self.noticed |= {"a sleeper woke", f"a sleeper ended: {type(process.error).__name__}"}
        if process.asleep:
            self.sleepers.append(process)

    def kill(self, which: int) -> None:
        self.sleepers.pop(which % len(self.sleepers)).kill()

    def kill_all(self) -> None:
        while self.sleepers:
            self.kill(0)

    # What is found.

    def check(self) -> None:
        READER.install()
        deleted = {request.key for request in self.store.requests if request.operation == "DeleteObject"}
        self.store.requests.clear()
        self.ledger.check(self.contents(), deleted)

    def contents(self) -> dict[str, bytes]:
        """The live export's part of the bucket."""
        return dict(self.store.contents())

    def finish(self) -> None:
        """However the history went, a few undisturbed runs export all that Kafka has; then `verify` finds no fault."""
        while self.sleepers:
            self.wake(0)
            self.check()
        self.kafka.end_transactions()
        for topic in TOPICS:
            if not self.kafka.exists(topic):
                self.kafka.create(topic, 1)
        self.policies = Policies(record_data_loss=True, restart_recreated=True)
        for _ in range(3):
            self.undisturbed(self.ask(boundaries=None, clock_shift_ms=0, again=False))
            self.check()
        head = self.ledger.head
        assert head is not None
        stopped = {tp: fact for tp in self.tps() if (fact := self._stops(tp)) is not None}
        for tp in self.tps():
            expected = stopped[tp].offset if tp in stopped else self.kafka.view(tp).high_watermark
            assert self.ledger.position(tp) == expected, f"{tp}: {self.ledger.position(tp)} of {expected}"
        for failed in head.failed:
            assert failed.tp in stopped or failed.end > self.kafka.view(failed.tp).high_watermark, failed
        self._verify()
        self.clean_up()

    def clean_up(self) -> None:
        """A collection leaves nothing that may be deleted. The plans here do not say enough to know by them what was
        configured: it looks once for the keys of either extension."""
        for gzip in (True, False):
            self.shape = replace(self.shape, gzip=gzip)
            error = self.collect().error
            if error is not None:
                raise error
        self.check()
        left = [key for key in self.store.contents() if self.ledger.is_collectable(key)]
        left += [upload.key for upload in self.store.uploads("") if self.ledger.is_collectable(upload.key)]
        assert left == []

    def _stops(self, tp: TopicPartition) -> Fact | None:
        """The bad record that stops a partition for good."""
        bad = (fact for fact in self.kafka.now[tp] if fact.sort is Sort.BAD and fact.gone is None)
        return None if self.sides else next(bad, None)

    def _verify(self) -> None:
        exporter = self.exporter(self.store, self.kafka.broker, self.engine)
        against = None if self.kafka.compacted else Against(self.kafka.broker, self.kafka.broker)
        verified = verify(exporter.settings, exporter.log, against, tell=lambda _: None)
        assert verified.findings == ()
        assert self.ledger.withdrawn or verified.records == len(self._in_objects())

    def _in_objects(self) -> list[int]:
        letters = {number for number, key in self.ledger.live.items() if key.startswith("_")}
        return [number for number in self.ledger.live if number not in letters]
