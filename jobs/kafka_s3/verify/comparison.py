"""Are objects what Kafka holds? One range at a time.

A range is written a second time, into nothing, and the hashes of its objects are compared with those of the log. Where
they differ, another library or another version of it may have compressed the same records: then the range is written
once more, and what its objects hold is compared (`values.formats.content_digest`), with no more memory than that takes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from kafka_s3.attempts import Raised, attempt
from kafka_s3.bucket.findings import Finding
from kafka_s3.errors import DataLoss, StoreRefused, TemporaryError
from kafka_s3.log.entries import Interval, ObjectEntry, RangeEntry
from kafka_s3.naming import DataName, KeyLayout, format_data_key, parse_data_key
from kafka_s3.plan.batch import interval_of
from kafka_s3.ports import ObjectStore, RecordSource, Registries
from kafka_s3.ranges import OffsetRange
from kafka_s3.settings.formats import FileSettings, Format, Gzip
from kafka_s3.settings.model import Settings
from kafka_s3.settings.properties import UserDefined
from kafka_s3.values.formats.content_digest import ContentDigest, IndexDigest, StreamDigest, Unreadable
from kafka_s3.verify.objects import file_of, member_of
from kafka_s3.write.object_group import Body, ClosedBy, FinishedUpload, Member, OffsetSpan, WrittenObject
from kafka_s3.write.rejections import may_be_a_records
from kafka_s3.write.writer import RangeWriter, Written


@dataclass(frozen=True, slots=True)
class NotCheckable:
    """A range that Kafka cannot prove or disprove any more, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Compared:
    """What Kafka and the log disagree on. `other_bytes`: objects of the same records that other bytes say."""

    findings: Sequence[Finding]
    other_bytes: int = 0


@dataclass(slots=True)
class _Unkept:
    """A `writer.Upload` that keeps nothing but what the objects in `contents` hold."""

    layout: KeyLayout
    names: Sequence[DataName]
    contents: Mapping[str, ContentDigest]
    keys: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.keys = [format_data_key(self.layout, name) for name in self.names]

    def part(self, member: int, body: bytes) -> None:
        if (content := self.contents.get(self.keys[member])) is not None:
            content.feed(body)

    def finish(self, bodies: Sequence[Body], holds: OffsetSpan) -> FinishedUpload:  # noqa: ARG002  # the port's signature
        for member, body in enumerate(bodies):
            self.part(member, body.last)
        return FinishedUpload.of(self.keys, bodies)

    def abort(self) -> None:
        return


@dataclass(frozen=True, slots=True)
class _Pair:
    """An object of the log, and what Kafka's records make under another hash."""

    key: str
    twin: str
    member: Member


@dataclass(frozen=True, slots=True)
class Comparison:
    """Writes committed ranges a second time, from Kafka into nothing, and compares."""

    source: RecordSource
    settings: Settings  # those that the range was made under
    generation: int
    entry_interval: Interval | None
    store: ObjectStore
    sound: Container[str]  # keys of objects that are as the log says: the others have findings of their own
    registries: Registries = field(default_factory=Registries)
    compacted: bool = False  # Kafka may have fewer records by now than were exported

    def compare(self, done: RangeEntry) -> Compared | NotCheckable:
        """What Kafka and the log disagree on. Raises `KafkaUnavailable`."""
        found = attempt(self._compare, done)
        if not isinstance(found, Raised):
            return found
        if not may_be_a_records(found.error):
            raise found.error
        return self._compare(done, careful=True)

    def _compare(self, done: RangeEntry, *, careful: bool = False) -> Compared | NotCheckable:
        offsets = OffsetRange(done.tp, done.start, done.next_offset)
        try:
            written, seen = self._write(done, {}, careful)
            gone = offsets.size - seen - done.skipped_offsets
            if self.compacted and gone > 0:
                return NotCheckable(f"{offsets}, of which compaction took {gone} records since")
            if written.stopped_at is not None:
                wrong = f"a record that is refused: {written.stopped_at}"
                return Compared([Finding(str(offsets), "records that can be written", wrong, _ASK)])
            findings = self._counts(offsets, done, written, seen)
            differing: list[_Pair] = []
            findings += self._objects(done, written, differing)
            contents = {pair.twin: self._content(pair.member) for pair in differing}
            if contents:
                self._write(done, contents, careful)
        except DataLoss as error:
            return NotCheckable(f"{offsets}: {error.what}")
        wrong_ones = [found for pair in differing if (found := self._unlike(pair, contents[pair.twin])) is not None]
        return Compared([*findings, *wrong_ones], len(differing) - len(wrong_ones))

    def _write(self, done: RangeEntry, contents: Mapping[str, ContentDigest], careful: bool) -> tuple[Written, int]:
        """What the range becomes, and how many records Kafka had of it."""
        at_ms = interval_of(done.interval, self.entry_interval).start_ms
        writer = RangeWriter(
            self.settings,
            self.generation,
            at_ms,
            lambda names: _Unkept(self.settings.layout, names, contents),
            registries=self.registries,
            careful=careful,
            full_at={made.last_offset for made in done.objects if made.closed_by == ClosedBy.OBJECT_BYTES.value},
        )
        seen = 0
        with contextlib.closing(self.source.open(OffsetRange(done.tp, done.start, done.next_offset))) as reader:
            for batch in reader:
                seen += len(batch)
                if not writer.write(batch):
                    break
            return writer.finish(), seen

    def _counts(self, offsets: OffsetRange, done: RangeEntry, written: Written, seen: int) -> list[Finding]:
        logged = (done.records, done.rejected, done.tombstones, done.filtered, done.skipped_offsets)
        found = (written.records, written.rejected, written.tombstones, written.filtered, offsets.size - seen)
        if logged == found:
            return []
        words = "{} records, {} rejected, {} tombstones, {} dropped by transforms and {} offsets without a record"
        return [Finding(str(offsets), words.format(*logged), f"in Kafka {words.format(*found)}", _ASK)]

    def _objects(self, done: RangeEntry, written: Written, differing: list[_Pair]) -> Iterator[Finding]:
        """What is wrong with the objects; those that are there with other bytes go into `differing`."""
        again = {made.key: made for made in written.objects}
        for made in done.objects:
            twin = again.pop(self._plain_key(done, made.key), None)
            if twin is None:
                yield Finding(made.key, "an object that Kafka's records make too", "none", _ASK)
            elif (difference := _held(made)) != (found := _held(twin.holds)):
                yield Finding(made.key, difference, f"in Kafka {found}", _ASK)
            else:
                yield from self._members(made, twin, differing)
        for key in again:
            yield Finding(key, "no such object", "records in Kafka that make it", _ASK)

    def _members(self, made: ObjectEntry, twin: WrittenObject, differing: list[_Pair]) -> Iterator[Finding]:
        """An object and what lies beside it."""
        if made.sha256 != twin.stored.sha256:
            self._differ(made.key, twin.key, member_of(made, self.settings), differing)
        beside = {member.value: (member, each) for member, each in twin.beside}
        for each in made.companions:
            other = beside.pop(each.what, None)
            if other is None:
                yield Finding(each.key, "a companion that Kafka's records make too", "none", _ASK)
            elif each.sha256 != other[1].sha256:
                self._differ(each.key, other[1].key, other[0], differing)
        for what in beside:
            yield Finding(made.key, f"no {what} beside it", "records in Kafka that make them", _ASK)

    def _differ(self, key: str, twin: str, member: Member, differing: list[_Pair]) -> None:
        if key in self.sound:
            differing.append(_Pair(key, twin, member))

    def _content(self, member: Member) -> ContentDigest:
        return IndexDigest() if member is Member.INDEX else _digest_of(file_of(member, self.settings))

    def _unlike(self, pair: _Pair, twin: ContentDigest) -> Finding | None:
        """What is wrong with an object whose bytes are others."""
        try:
            stored = self._content(pair.member)
            for chunk in self.store.read(pair.key):
                stored.feed(chunk)
            holds, found = stored.digest(), twin.digest()
        except StoreRefused as error:
            return Finding(pair.key, "the object, to compare it with Kafka", error.what.rstrip("."), _ASK)
        except Unreadable as error:
            return Finding(pair.key, "content that can be compared with Kafka's records", str(error), _ASK)
        if holds == found:
            return None
        return Finding(pair.key, f"content of sha256 {holds}", f"in Kafka {found}", _ASK)

    def _plain_key(self, done: RangeEntry, key: str) -> str:
        """The key without the suffix it got because its name was taken."""
        name = parse_data_key(self.settings.layout, done.topic, key)
        return key if name is None else format_data_key(self.settings.layout, replace(name, collision=0))


def _digest_of(file: FileSettings) -> ContentDigest:
    match file.format:
        case Format.AVRO:
            from kafka_s3.values.formats.avro_digest import AvroDigest

            return AvroDigest()
        case Format.PARQUET:
            from kafka_s3.values.formats.parquet_digest import ParquetDigest

            return ParquetDigest()
        case Format.BLOCK_GZIP:
            return StreamDigest(Gzip())
        case Format.JSON | Format.BYTE_ARRAY | Format.CSV | UserDefined():
            return StreamDigest(file.compression)
        case _ as never:
            assert_never(never)


def other_bytes(objects: int) -> str:
    """A note on that many objects."""
    hold = "1 object holds" if objects == 1 else f"{objects:,} objects hold"
    return f"{hold} the same records in other bytes: another library wrote them, or another version"


def unanswered(where: str, error: TemporaryError) -> Finding:
    return Finding(where, "an answer of Kafka", str(error), "Run verify again when Kafka answers.")


def _held(made: ObjectEntry | OffsetSpan) -> str:
    return f"{made.records} records from {made.first_offset} to {made.last_offset}"


_ASK: Final = "If the topic is compacted, Kafka has fewer records by now; else keep the bucket as it is and report it."
