"""Exactly once, whatever happens: lists of operations over the in-memory ports, then the standing invariants.

An operation is something the world does (records, holes, retention, more partitions), a run that ends well, or a
run that meets one accident: it dies, an answer gets lost, the store is out for a moment, or it stands still (a
zombie) while another run does everything, and then goes on. Accidents happen at the n-th request to the store, so
every window between two requests is hit.

After every operation: nothing lost, nothing twice, positions never back, no object ever changed, the log whole.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.commit_log import ObjectEntry
from kafka_s3.errors import ExporterError, StoreUnavailable
from kafka_s3.export.log import Committed
from kafka_s3.export.run import Exporter, run
from kafka_s3.export.task import RangeResult, RangeTask, export_range
from kafka_s3.letters import decode
from kafka_s3.memory import MemoryBroker, MemoryStore
from kafka_s3.naming import KeyLayout, parse_data_key
from kafka_s3.ports import MultipartUpload, ObjectInfo, Put
from kafka_s3.records import Record
from kafka_s3.settings.content import FileSettings, Format, NullValues
from kafka_s3.settings.model import (
    DefaultPartitioner,
    FieldPartitioner,
    Partitioner,
    RecordTime,
    RunTime,
    Settings,
    TimePartitioner,
)
from tests.support import identified, make_settings, objects_of, request, rows_of

CASES = 2500
TOPIC = "orders"


class Died(BaseException):
    """kill -9, at some request to the store: nothing of this process runs any more."""


@dataclass
class Accident:
    """What happens at the `at`-th request of a run; `after`: once the store has done it."""

    at: int
    after: bool
    happens: Callable[[], None]
    seen: int = 0


@dataclass
class StoreWithAccident:
    """An `ObjectStore` that lets one accident happen."""

    inner: MemoryStore
    accident: Accident | None

    def _hit(self, after: bool) -> None:
        accident = self.accident
        if accident is None:
            return
        if not after:
            accident.seen += 1
        if accident.seen == accident.at and accident.after is after:
            self.accident = None
            accident.happens()

    def _around(self, call: Callable[[], object]) -> object:
        self._hit(after=False)
        answer = call()
        self._hit(after=True)
        return answer

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        *,
        metadata: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Put:
        return self._around(lambda: self.inner.put_if_absent(key, body, metadata=metadata, tags=tags))  # type: ignore[return-value]

    def put_tags(self, key: str, tags: Mapping[str, str]) -> None:
        self._around(lambda: self.inner.put_tags(key, tags))

    def get(self, key: str) -> bytes | None:
        return self._around(lambda: self.inner.get(key))  # type: ignore[return-value]

    def read(self, key: str) -> Iterator[bytes]:
        yield self.get(key) or b""

    def head(self, key: str) -> ObjectInfo | None:
        return self._around(lambda: self.inner.head(key))  # type: ignore[return-value]

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[ObjectInfo]:
        found = self._around(lambda: list(self.inner.list(prefix, start_after=start_after, limit=limit)))
        return iter(found)  # type: ignore[call-overload, no-any-return]

    def start_multipart(self, key: str) -> MultipartUpload:
        upload = self._around(lambda: self.inner.start_multipart(key))
        return UploadWithAccident(self, upload)  # type: ignore[arg-type]


@dataclass
class UploadWithAccident:
    store: StoreWithAccident
    inner: MultipartUpload

    def put_part(self, body: bytes) -> None:
        self.store._around(lambda: self.inner.put_part(body))

    def complete_if_absent(self) -> Put:
        return self.store._around(self.inner.complete_if_absent)  # type: ignore[return-value]

    def abort(self) -> None:
        self.inner.abort()


@dataclass
class World:
    """A broker, a bucket, and what they are held to."""

    partitions: int = 2
    flush_size: int = 2
    partitioner: Partitioner = DefaultPartitioner()  # noqa: RUF009  # frozen
    sides: bool = False  # keys, headers and tombstones are written, bad records kept as dead letters
    store: MemoryStore = field(default_factory=lambda: MemoryStore(part_bytes_min=1))
    broker: MemoryBroker = field(default_factory=lambda: MemoryBroker(batch_records=3))
    visible: dict[tuple[int, int], bool] = field(default_factory=dict)
    bad: set[tuple[int, int]] = field(default_factory=set)
    frozen: dict[str, bytes] = field(default_factory=dict)
    runs: int = 0
    clock_ms: int = 1000

    def __post_init__(self) -> None:
        self.broker.create_topic(TOPIC, self.partitions)

    def settings(self) -> Settings:
        made = make_settings(
            flush_size=self.flush_size,
            tolerate=self.sides,
            part_size=60,
            range_records_max=4,
            batch_records_max=9,
            null_values=NullValues.WRITE if self.sides else NullValues.IGNORE,
            partitioner=self.partitioner,
            open_objects_max=2,
        )
        if not self.sides:
            return made
        beside = FileSettings(Format.JSON)
        return replace(made, format=replace(made.format, keys=beside, headers=beside))

    def exporter(self, accident: Accident | None = None) -> Exporter:
        return Exporter(self.settings(), StoreWithAccident(self.store, accident), self.broker)

    # What can happen.

    def produce(self, partition: int, count: int, tombstone: bool) -> None:
        partition %= self.partitions
        for _ in range(count):
            offset = self.end(partition)
            self.clock_ms += 400
            value = None if tombstone else identified(partition, offset).value
            self._append(partition, offset, value)
            self.visible[(partition, offset)] = not tombstone or self.sides

    def produce_bad(self, partition: int) -> None:
        """A record that is no JSON: only where bad records are tolerated, it would stop its partition for good."""
        if self.sides:
            partition %= self.partitions
            offset = self.end(partition)
            self._append(partition, offset, b"oops")
            self.bad.add((partition, offset))

    def _append(self, partition: int, offset: int, value: bytes | None) -> None:
        key, headers = b"%d" % offset, (("h", b"%d" % offset),)
        self.broker.append(TOPIC, partition, Record(offset, value, key, self.clock_ms, headers))

    def holes(self, partition: int, count: int) -> None:
        self.broker.append_holes(TOPIC, partition % self.partitions, count)

    def grow(self) -> None:
        if self.partitions < 4:
            self.partitions += 1
            self.broker.create_topic(TOPIC, self.partitions)

    def reconfigure(self) -> None:
        self.flush_size = 5 - self.flush_size

    def repartition(self, partitioner: Partitioner) -> None:
        self.partitioner = partitioner

    def unreachable_kafka(self, skip: int) -> None:
        self.broker.fail_next("read", ExporterErrorForTests("Kafka is out for one request."), skip=skip)

    def run(self, accident: Accident | None = None, *, same_run: bool = False, by_time: bool = False) -> None:
        """A run, as a DAG run or as the retry of the last one; what it raises is what a user would see."""
        self.runs += 0 if same_run else 1
        interval = (self.clock_ms - 2000, self.clock_ms - 500) if by_time and self.clock_ms > 3000 else None
        exporter = self.exporter(accident)
        with contextlib.suppress(ExporterError, Died):
            run(exporter, request(f"run-{self.runs}", interval=interval), self._execute(exporter), lambda _: None)

    def run_then_other(self, at: int, after: bool) -> None:
        """A zombie: it stands still at a request while another run does all there is to do, then it goes on."""
        self.run(Accident(at, after, lambda: self.run()))

    def die(self, at: int, after: bool) -> None:
        self.run(Accident(at, after, _raise(Died())))

    def lose_answer(self, at: int, after: bool, same_run: bool) -> None:
        self.run(Accident(at, after, _raise(StoreUnavailable("out"))))
        if same_run:
            self.run(same_run=True)

    def end(self, partition: int) -> int:
        view = self.broker.offsets([_tp(partition)])[_tp(partition)]
        return view.high_watermark

    @staticmethod
    def _execute(exporter: Exporter) -> Callable[[list[RangeTask]], list[RangeResult]]:
        return lambda tasks: [  # type: ignore[return-value]
            export_range(exporter.settings, task, exporter.store, exporter.broker)  # type: ignore[arg-type]
            for task in tasks
        ]

    # What always holds.

    def check(self) -> None:
        contents = self.store.contents()
        for key, body in self.frozen.items():
            assert contents.get(key) == body, f"{key} changed or vanished"
        self.frozen = contents
        entries = list(self.exporter().log.entries())[::-1]  # checks the chain
        seen: dict[tuple[int, int], str] = {}
        position: dict[int, int] = {}
        for committed in entries:
            if committed.entry.plan_sha256 is not None:
                planned = self.exporter().log.plan(committed.entry.seq)
                assert planned is not None
                assert planned.sha256 == committed.entry.plan_sha256, "an entry closes the plan in its own slot"
            for done in committed.entry.ranges:
                done.check_accounting()
                assert done.start == position.get(done.partition, 0), f"a gap in {done}"
                position[done.partition] = done.next_offset
            stated = committed.entry.topics[TOPIC].positions if committed.entry.topics else {}
            for partition, offset in stated.items():
                assert offset == position.get(partition, 0), f"entry {committed.entry.seq} states another position"
        for made in objects_of(entries):
            body = contents[made.key]
            assert (len(body), hashlib.sha256(body).hexdigest()) == (made.size, made.sha256), made.key
            rows = self._records_in(made, contents)
            assert len(rows) == made.records
            assert rows[0][1] == made.first_offset
            assert rows[-1][1] == made.last_offset
            for row in rows:
                assert row not in seen, f"{row} is in {seen[row]} and in {made.key}"
                seen[row] = made.key
        expected = {at for at, wanted in self.visible.items() if wanted and at[1] < position.get(at[0], 0)}
        assert set(seen) == expected
        self._check_letters(entries, contents, position)

    def _records_in(self, made: ObjectEntry, contents: Mapping[str, bytes]) -> list[tuple[int, int]]:
        """The records of an object; of what lies beside it, that these are the same ones, in the same order."""
        name = parse_data_key(KeyLayout(), TOPIC, made.key)
        assert name is not None
        rows = rows_of(contents[made.key], made.key)
        # The keys of tombstones stand alone; a key, and a header, is its record's offset.
        offsets = [int(row) if isinstance(row, str) else row["o"] for row in rows if not isinstance(row, list)]
        for beside in made.companions:
            other = parse_data_key(KeyLayout(), TOPIC, beside.key)
            assert other == replace(name, extension=other.extension if other else "")
            body = contents[beside.key]
            assert (len(body), hashlib.sha256(body).hexdigest()) == (beside.size, beside.sha256)
            theirs = rows_of(body, beside.key)
            assert [int(row["headers"][0]["value"] if beside.what == "headers" else row) for row in theirs] == offsets
        return [(name.partition, offset) for offset in offsets]

    def _check_letters(
        self, entries: Sequence[Committed], contents: Mapping[str, bytes], position: Mapping[int, int]
    ) -> None:
        """Every bad record that was passed over is in one dead-letter object, once, as it was."""
        found: list[tuple[int, int]] = []
        for letters in (done.dead_letters for each in entries for done in each.entry.ranges if done.dead_letters):
            body = contents[letters.key]
            assert hashlib.sha256(body).hexdigest() == letters.sha256
            told = [decode(line) for line in gzip.decompress(body).splitlines()]
            assert all(letter.value == b"oops" and letter.key == b"%d" % letter.offset for letter in told)
            found += [(letter.partition, letter.offset) for letter in told]
        assert sorted(found) == sorted(at for at in self.bad if at[1] < position.get(at[0], 0))

    def check_complete(self) -> None:
        """After runs without accidents everything is exported, however the history went."""
        self.broker._failures.clear()  # no more accidents
        for _ in range(3):
            self.run()
        self.check()
        newest = self.exporter().log.newest()
        assert newest is not None
        for partition in range(self.partitions):
            assert (newest.entry.position(_tp(partition)) or 0) == self.end(partition)
        assert newest.entry.failed == ()


class ExporterErrorForTests(StoreUnavailable):
    """Any temporary error will do."""


def _raise(error: BaseException) -> Callable[[], None]:
    def happen() -> None:
        raise error

    return happen


def _tp(partition: int):  # type: ignore[no-untyped-def]
    from kafka_s3.ranges import TopicPartition

    return TopicPartition(TOPIC, partition)


# By field, each record has a path of its own; by time, in seconds, records of several paths take turns.
PARTITIONERS: list[Partitioner] = [
    DefaultPartitioner(),
    FieldPartitioner(("o",)),
    TimePartitioner(1000, "ss", "UTC", "en", RecordTime()),
    TimePartitioner(1000, "ss", "UTC", "en", RunTime()),
]
small = st.integers(0, 3)
request_number = st.integers(1, 45)
operations = st.one_of(
    st.builds(lambda p, n, t: lambda w: w.produce(p, n, t), small, st.integers(1, 8), st.booleans()),
    st.builds(lambda p, n: lambda w: w.produce(p, n, False), small, st.integers(1, 12)),
    st.builds(lambda p, n: lambda w: w.holes(p, n), small, st.integers(1, 3)),
    st.builds(lambda t: lambda w: w.run(by_time=t), st.booleans()),
    st.builds(lambda a, f: lambda w: w.die(a, f), request_number, st.booleans()),
    st.builds(lambda a, f, s: lambda w: w.lose_answer(a, f, s), request_number, st.booleans(), st.booleans()),
    st.builds(lambda a, f: lambda w: w.run_then_other(a, f), request_number, st.booleans()),
    st.builds(lambda n: lambda w: w.unreachable_kafka(n), st.integers(0, 4)),
    st.just(lambda w: w.grow()),
    st.just(lambda w: w.reconfigure()),
    st.builds(lambda p: lambda w: w.repartition(p), st.sampled_from(PARTITIONERS)),
)


with_bad = st.one_of(operations, st.builds(lambda p: lambda w: w.produce_bad(p), small))


@given(st.lists(with_bad, min_size=2, max_size=8))
@settings(max_examples=CASES // 5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_what_lies_beside_records_and_bad_records_are_kept_exactly_once(
    history: list[Callable[[World], None]],
) -> None:
    """The same with keys, headers, tombstones and bad records: families stay together, letters are neither lost nor
    doubled."""
    world = World(sides=True)
    world.produce(0, 5, False)
    for operation in history:
        operation(world)
        world.check()
    world.check_complete()


@given(st.lists(operations, min_size=2, max_size=8))
@settings(max_examples=CASES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_record_is_exported_exactly_once_whatever_happens(history: list[Callable[[World], None]]) -> None:
    """No history of accidents loses a record, exports one twice, changes an object, or breaks the log."""
    world = World()
    world.produce(0, 5, False)
    for operation in history:
        operation(world)
        world.check()
    world.check_complete()
