"""An object group: the values of some records and what is stored beside them, under one name and in one commit.

Most groups have one member. With `store.kafka.keys` and `store.kafka.headers` there are files of those beside the
values, and Block-GZIP has an index; a tombstone that is written has keys and no value.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kafka_s3.naming import DataName
from kafka_s3.values.formats.companions import EncoderWithCompanions
from kafka_s3.values.formats.objects import ObjectEncoder


class ClosedBy(enum.Enum):
    """Why an object closed; the word goes into the log, the page and the command line."""

    FLUSH_SIZE = "flush.size"
    ROTATE_INTERVAL = "rotate.interval.ms"
    OBJECT_BYTES = "export.object.bytes.max"
    OPEN_OBJECTS = "open.objects"
    END_OF_RANGE = "end_of_range"


@dataclass(frozen=True, slots=True)
class TimestampSpan:
    """The oldest and the newest timestamp of some records, milliseconds since the epoch; both are in it."""

    min_ms: int
    max_ms: int

    @classmethod
    def of(cls, stamps: Sequence[int | None]) -> TimestampSpan | None:
        """
        >>> TimestampSpan.of([7, None, 3]), TimestampSpan.of([None]), TimestampSpan.of([])
        (TimestampSpan(min_ms=3, max_ms=7), None, None)
        """
        known: Sequence[int] = [stamp for stamp in stamps if stamp is not None] if None in stamps else stamps  # type: ignore[assignment]
        return cls(min(known), max(known)) if known else None

    def joined(self, other: TimestampSpan | None) -> TimestampSpan:
        return self if other is None else TimestampSpan(min(self.min_ms, other.min_ms), max(self.max_ms, other.max_ms))


class Member(enum.Enum):
    """What an object of a group holds; the word goes into the log."""

    VALUES = "values"
    KEYS = "keys"
    HEADERS = "headers"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class Body:
    """The end of one member: its last bytes, and the size and hash of all of them."""

    last: bytes
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class OffsetSpan:
    """The records of an object group."""

    records: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One member of an object group, in the store."""

    key: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class FinishedUpload:
    """An object group that is in the store: an object for each member, under a key that was free or already held the
    same bytes."""

    objects: tuple[StoredObject, ...]

    @classmethod
    def of(cls, keys: Sequence[str], bodies: Sequence[Body]) -> FinishedUpload:
        return cls(tuple(StoredObject(key, body.size, body.sha256) for key, body in zip(keys, bodies, strict=True)))


class Upload(Protocol):
    """An object group on its way into the store: it is open until `finish` or `abort` ends it."""

    def part(self, member: int, body: bytes) -> None:
        """The next part of one member."""

    def finish(self, bodies: Sequence[Body], holds: OffsetSpan) -> FinishedUpload:
        """Makes the objects visible, the first one last."""

    def abort(self) -> None: ...


#: One name for each member; they differ in their extensions.
StartUpload = Callable[[Sequence[DataName]], Upload]


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """An object of values, and the `upload` that finished it: nothing else can be listed (`uploads.object_entry`).

    `schema_id`: the registry's, of what its values are written under. `times`: of its records, where the configuration
    looks at timestamps and every record has one.
    """

    upload: FinishedUpload
    members: tuple[Member, ...]
    holds: OffsetSpan
    closed_by: ClosedBy
    schema_id: int | None = None
    times: TimestampSpan | None = None

    @property
    def stored(self) -> StoredObject:
        return self.upload.objects[0]

    @property
    def key(self) -> str:
        return self.stored.key

    @property
    def beside(self) -> tuple[tuple[Member, StoredObject], ...]:
        """The other members of its group."""
        return tuple(zip(self.members, self.upload.objects, strict=True))[1:]


@dataclass(slots=True)
class PartBuffer:
    """The encoded bytes of one member. Memory: one part, and what is fed at once."""

    member: int
    pending: list[bytes] = field(default_factory=list)
    pending_size: int = 0
    size: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def feed(self, data: bytes, upload: Upload, part_size: int) -> None:
        if not data:
            return
        self.pending.append(data)
        self.pending_size += len(data)
        self.size += len(data)
        self.digest.update(data)
        # Strictly more than a part: what is left over always makes the last part.
        while self.pending_size > part_size:
            body = b"".join(self.pending)
            upload.part(self.member, body[:part_size])
            self.pending = [body[part_size:]]
            self.pending_size -= part_size

    def body(self) -> Body:
        return Body(b"".join(self.pending), self.size, self.digest.hexdigest())


@dataclass(slots=True)
class ObjectGroup:
    """The open objects of one path and one group of schemas, with the same records each.

    `members` says what each encoder writes; those without one (an index) come out of the first encoder at the end.
    """

    upload: Upload
    members: tuple[Member, ...]
    encoders: tuple[ObjectEncoder, ...]
    part_size: int
    first_offset: int
    last_offset: int
    first_ms: int | None  # the time of its first record, where rotation asks for it
    schema_id: int | None = None
    records: int = 0
    plain_size: int = 0  # of its records in the first member, before compression
    times: TimestampSpan | None = None
    all_dated: bool = True
    streams: tuple[PartBuffer, ...] = ()

    def __post_init__(self) -> None:
        self.streams = tuple(PartBuffer(number) for number in range(len(self.members)))

    def append(self, columns: Sequence[Any], start: int, stop: int, last_offset: int) -> int:
        """Write rows `[start, stop)` of every column; their size in the first member before compression."""
        sizes = []
        for encoder, stream, rows in zip(self.encoders, self.streams, columns, strict=False):
            data, size = encoder.encode(rows, start, stop)
            stream.feed(data, self.upload, self.part_size)
            sizes.append(size)
        self.records += stop - start
        self.plain_size += sizes[0]
        self.last_offset = last_offset
        return sizes[0]

    @property
    def written_size(self) -> int:
        """Bytes of the first member that have left its encoder."""
        return self.streams[0].size

    def dated(self, stamps: Sequence[int | None]) -> None:
        """Take the timestamps of rows that are written."""
        if None in stamps:
            self.all_dated = False
        elif self.all_dated:
            span = TimestampSpan.of(stamps)
            self.times = self.times if span is None else span.joined(self.times)

    def close(self, closed_by: ClosedBy) -> WrittenObject:
        for encoder, stream in zip(self.encoders, self.streams, strict=False):
            stream.feed(encoder.finish(), self.upload, self.part_size)
        for stream, body in zip(self.streams[len(self.encoders) :], self._at_the_end(), strict=True):
            stream.feed(body, self.upload, self.part_size)
        bodies = [stream.body() for stream in self.streams]
        holds = OffsetSpan(self.records, self.first_offset, self.last_offset)
        times = self.times if self.all_dated else None
        finished = self.upload.finish(bodies, holds)
        return WrittenObject(finished, self.members, holds, closed_by, self.schema_id, times)

    def _at_the_end(self) -> Sequence[bytes]:
        """What the first encoder has to say about its object once that is complete."""
        last = self.members[len(self.encoders) :]
        if not last:
            return ()
        first = self.encoders[0]
        assert isinstance(first, EncoderWithCompanions), "a format with `beside` has such encoders"
        said = first.companions()
        return [said[member.value] for member in last]
