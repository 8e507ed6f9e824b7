"""Are objects what the log says, and what Kafka holds? One object, and one range, at a time."""

from __future__ import annotations

import contextlib
import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kafka_s3.attempts import Raised, attempt
from kafka_s3.bucket.findings import Finding
from kafka_s3.errors import DataLoss, StoreRefused
from kafka_s3.log.entries import Interval, ObjectEntry, RangeEntry
from kafka_s3.naming import DataName, KeyLayout, format_data_key, parse_data_key
from kafka_s3.plan.batch import interval_of
from kafka_s3.ports import ObjectStore, RecordSource, Registries
from kafka_s3.ranges import OffsetRange
from kafka_s3.settings.formats import Compression, FileSettings, Format, Gzip
from kafka_s3.settings.model import Settings
from kafka_s3.write.object_group import Body, Member, OffsetSpan, WrittenObject
from kafka_s3.write.writer import RangeWriter, Written, may_be_a_records

_GZIP_WINDOW: Final = 31
_INFLATE_MAX: Final = 1024 * 1024
RECOVER: Final = (
    "Restore the object from the bucket's versions; its records can be read from Kafka while retention keeps them."
)


class _Content:
    """The uncompressed bytes of an object, hashed and their line feeds counted. Memory: a piece of 1 MiB."""

    def __init__(self, compression: Compression) -> None:
        self._inflate = zlib.decompressobj(_GZIP_WINDOW) if isinstance(compression, Gzip) else None
        self._digest = hashlib.sha256()
        self.line_feeds = 0

    def feed(self, data: bytes) -> None:
        """Raises `zlib.error` for what is not compressed as it should be."""
        if self._inflate is None:
            self._take(data)
            return
        while data:
            self._take(self._inflate.decompress(data, _INFLATE_MAX))
            data = self._inflate.unconsumed_tail

    def _take(self, plain: bytes) -> None:
        self._digest.update(plain)
        self.line_feeds += plain.count(b"\n")

    def sha256(self) -> str:
        if self._inflate is not None:
            self._take(self._inflate.flush())
            if not self._inflate.eof or self._inflate.unused_data:
                raise zlib.error("the stream does not end where the object does")
        return self._digest.hexdigest()


@dataclass(frozen=True, slots=True)
class ReadObject:
    """An object that was read: what is wrong with it, and the hash of its uncompressed content if that is known."""

    finding: Finding | None
    content_sha256: str | None = None


def read_object(store: ObjectStore, made: ObjectEntry, settings: Settings | None) -> ReadObject:
    """Compare an object's size, hash and number of records with its entry. `settings`: those it was made under.

    One request where all is well; no more of an object is read than it should have.
    """
    digest, size = hashlib.sha256(), 0
    content = _Content(_file_of(made, settings).compression) if settings is not None else None
    unreadable = None
    try:
        for chunk in store.read(made.key):
            size += len(chunk)
            if size > made.size:
                break
            digest.update(chunk)
            if content is not None and unreadable is None:
                try:
                    content.feed(chunk)
                except zlib.error as error:
                    unreadable = str(error)
    except StoreRefused as error:
        missing = store.head(made.key) is None
        return _wrong(made, f"{made.size} bytes", "no object" if missing else error.what.rstrip("."))
    if size != made.size:
        info = store.head(made.key)
        return _wrong(made, f"{made.size} bytes", "no object" if info is None else f"{info.size} bytes")
    if digest.hexdigest() != made.sha256:
        return _wrong(made, f"sha256 {made.sha256}", digest.hexdigest())
    if content is None or settings is None:
        return ReadObject(None)
    try:
        sha256 = content.sha256() if unreadable is None else None
    except zlib.error as error:
        sha256, unreadable = None, str(error)
    if sha256 is None:
        return _wrong(made, "a whole gzip stream", f"one that cannot be read: {unreadable}")
    if _one_line_each(_file_of(made, settings)) and content.line_feeds != made.records:
        return _wrong(made, f"{made.records} records", f"{content.line_feeds} lines")
    return ReadObject(None, sha256)


def look(store: ObjectStore, made: ObjectEntry) -> ReadObject:
    """Whether an object is there, with its size: of what nobody reads that is enough."""
    info = store.head(made.key)
    if info is None or info.size != made.size:
        found = "no object" if info is None else f"{info.size} bytes"
        return ReadObject(Finding(made.key, f"{made.size} bytes", found, ""))
    return ReadObject(None)


def _file_of(made: ObjectEntry, settings: Settings) -> FileSettings:
    """What an object is: values, or the keys of tombstones, beside which there are none."""
    keys = settings.format.keys
    if keys is None or any(each.what == Member.KEYS.value for each in made.companions):
        return settings.format.file
    return keys


def _first_of(names: Sequence[DataName], settings: Settings) -> FileSettings:
    """What the first of a family's objects is, by its name."""
    keys = settings.format.keys
    return keys if keys is not None and names[0].extension.startswith(".keys") else settings.format.file


def _one_line_each(file: FileSettings) -> bool:
    """Whether line feeds count records: bytes may hold the separator themselves, JSON is always on one line."""
    return file.format is Format.JSON


def _wrong(made: ObjectEntry, expected: str, found: str) -> ReadObject:
    return ReadObject(Finding(made.key, expected, found, RECOVER))


@dataclass(frozen=True, slots=True)
class NotCheckable:
    """A range that Kafka cannot prove or disprove any more, and why."""

    reason: str


@dataclass(slots=True)
class _HashingUpload:
    """A `writer.Upload` that keeps nothing but hashes."""

    layout: KeyLayout
    names: Sequence[DataName]
    content: _Content  # of the first member: the others are compared by the hash of their bytes alone
    contents: dict[str, str]

    def part(self, member: int, body: bytes) -> None:
        if member == 0:
            self.content.feed(body)

    def close(self, bodies: Sequence[Body], holds: OffsetSpan) -> Sequence[str]:  # noqa: ARG002  # the port's signature
        self.content.feed(bodies[0].last)
        keys = [format_data_key(self.layout, name) for name in self.names]
        self.contents[keys[0]] = self.content.sha256()
        return keys

    def abort(self) -> None:
        return


@dataclass(frozen=True, slots=True)
class Comparison:
    """Writes committed ranges a second time, from Kafka into nothing, and compares."""

    source: RecordSource
    settings: Settings  # those that the range was made under
    generation: int
    entry_interval: Interval | None
    contents: Mapping[str, str] = field(default_factory=dict)  # of the objects in the store, uncompressed, by key
    registries: Registries = Registries()
    compacted: bool = False  # Kafka may have fewer records by now than were exported

    def compare(self, done: RangeEntry) -> list[Finding] | NotCheckable:
        """What Kafka and the log disagree on. Raises `KafkaUnavailable`."""
        found = attempt(self._compare, done)
        if not isinstance(found, Raised):
            return found
        if not may_be_a_records(found.error):
            raise found.error
        return self._compare(done, careful=True)

    def _compare(self, done: RangeEntry, *, careful: bool = False) -> list[Finding] | NotCheckable:
        offsets = OffsetRange(done.tp, done.start, done.next_offset)
        written_contents: dict[str, str] = {}

        def open_upload(names: Sequence[DataName]) -> _HashingUpload:
            content = _Content(_first_of(names, self.settings).compression)
            return _HashingUpload(self.settings.layout, names, content, written_contents)

        at_ms = interval_of(done.interval, self.entry_interval).start_ms
        writer = RangeWriter(
            self.settings, self.generation, at_ms, open_upload, registries=self.registries, careful=careful
        )
        seen = 0
        try:
            with contextlib.closing(self.source.open(offsets)) as reader:
                for batch in reader:
                    seen += len(batch)
                    if not writer.write(batch):
                        break
                written = writer.finish()
        except DataLoss as error:
            return NotCheckable(f"{offsets}: {error.what}")
        gone = offsets.size - seen - done.skipped_offsets
        if self.compacted and gone > 0:
            return NotCheckable(f"{offsets}, of which compaction took {gone} records since")
        if written.stopped_at is not None:
            wrong = f"a record that is refused: {written.stopped_at}"
            return [Finding(str(offsets), "records that can be written", wrong, _ASK)]
        return [*self._counts(offsets, done, written, seen), *self._objects(done, written, written_contents)]

    def _counts(self, offsets: OffsetRange, done: RangeEntry, written: Written, seen: int) -> list[Finding]:
        logged = (done.records, done.rejected, done.tombstones, done.skipped_offsets)
        found = (written.records, written.rejected, written.tombstones, offsets.size - seen)
        if logged == found:
            return []
        words = "{} records, {} rejected, {} tombstones and {} offsets without a record"
        return [Finding(str(offsets), words.format(*logged), f"in Kafka {words.format(*found)}", _ASK)]

    def _objects(self, done: RangeEntry, written: Written, contents: Mapping[str, str]) -> list[Finding]:
        again = {made.key: made for made in written.objects}
        findings = []
        for made in done.objects:
            twin = again.pop(self._plain_key(done, made.key), None)
            if twin is None:
                findings.append(Finding(made.key, "an object that Kafka's records make too", "none", _ASK))
            elif (difference := self._difference(made, twin, contents)) is not None:
                findings.append(Finding(made.key, *difference, _ASK))
        findings += [Finding(key, "no such object", "records in Kafka that make it", _ASK) for key in again]
        return findings

    def _difference(
        self, made: ObjectEntry, twin: WrittenObject, contents: Mapping[str, str]
    ) -> tuple[str, str] | None:
        """What the log says and what Kafka's records make, or `None` if they are the same."""
        if (made.records, made.first_offset, made.last_offset) != (twin.records, twin.first_offset, twin.last_offset):
            return (
                f"{made.records} records from {made.first_offset} to {made.last_offset}",
                f"in Kafka {twin.records} from {twin.first_offset} to {twin.last_offset}",
            )
        if made.sha256 == twin.sha256:
            return None
        # Another engine or CPU may compress differently: then the content counts. An object that could not be read
        # has a finding of its own already.
        stored = self.contents.get(made.key)
        if stored is None or stored == contents[twin.key]:
            return None
        return f"content of sha256 {stored}", f"in Kafka {contents[twin.key]}"

    def _plain_key(self, done: RangeEntry, key: str) -> str:
        """The key without the suffix it got because its name was taken."""
        name = parse_data_key(self.settings.layout, done.topic, key)
        return key if name is None else format_data_key(self.settings.layout, replace(name, collision=0))


_ASK: Final = "If the topic is compacted, Kafka has fewer records by now; else keep the bucket as it is and report it."
