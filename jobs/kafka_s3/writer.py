"""From batches of records to objects: which record goes where, and when an object closes.

Everything here follows from the records' own order, so that a retry writes the same objects. Boundaries never
depend on clocks or on how the broker cut its answers.

Memory: at most `part_size_bytes` of encoded bytes per open object, one more part while it is sent, and one batch;
`open_objects_max` objects are open at once.
"""

from __future__ import annotations

import enum
import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kafka_s3.converters.build import converter_for
from kafka_s3.formats.objects import ObjectEncoder, ObjectFormat, format_for
from kafka_s3.naming import DataName
from kafka_s3.partitioners.build import partitioner_for
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import RecordBatch
from kafka_s3.rows import Excluded, Rows, Tombstone, Unwritable
from kafka_s3.settings.content import NullValues
from kafka_s3.settings.model import Settings


class ClosedBy(enum.Enum):
    """Why an object closed; the word goes into the log, the page and the command line."""

    FLUSH_SIZE = "flush.size"
    ROTATE_INTERVAL = "rotate.interval.ms"
    OBJECT_BYTES = "export.object.bytes.max"
    OPEN_OBJECTS = "open.objects"
    END_OF_RANGE = "end_of_range"


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """An object that is in the store, under the key that was free or already held the same bytes."""

    key: str
    size: int
    sha256: str
    records: int
    first_offset: int
    last_offset: int
    closed_by: ClosedBy


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that the configuration lets us leave out, or the one that stopped a range."""

    tp: TopicPartition
    offset: int
    reason: str

    def __str__(self) -> str:
        return f"topic {self.tp.topic} partition {self.tp.partition} offset {self.offset}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Written:
    """What a range became. `stopped_at` is the bad record that ended it early, itself not counted anywhere."""

    objects: tuple[WrittenObject, ...] = ()
    records: int = 0
    bytes: int = 0
    rejected: tuple[Rejected, ...] = ()
    tombstones: int = 0
    stopped_at: Rejected | None = None


class Upload(Protocol):
    """One object on its way into the store; `close` or `abort` ends it."""

    def part(self, body: bytes) -> None: ...
    def close(self, last: bytes, *, size: int, sha256: str, records: int, first_offset: int, last_offset: int) -> str:
        """Makes the object visible and returns the key it has."""

    def abort(self) -> None: ...


OpenUpload = Callable[[DataName], Upload]


@dataclass(slots=True)
class _OpenObject:
    upload: Upload
    encoder: ObjectEncoder
    first_offset: int
    last_offset: int
    first_ms: int | None  # the time of its first record, where rotation asks for it
    records: int = 0
    plain_size: int = 0  # of its records, before compression
    size: int = 0
    pending: list[bytes] = field(default_factory=list)
    pending_size: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def feed(self, data: bytes, part_size: int) -> None:
        if not data:
            return
        self.pending.append(data)
        self.pending_size += len(data)
        self.size += len(data)
        self.digest.update(data)
        # Strictly more than a part: what is left over always makes the last part.
        while self.pending_size > part_size:
            body = b"".join(self.pending)
            self.upload.part(body[:part_size])
            self.pending = [body[part_size:]]
            self.pending_size -= part_size


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some records of a batch, converted: row i of `rows` is the batch's record `indexes[i]`."""

    batch: RecordBatch
    rows: Rows
    indexes: Sequence[int]
    times: int | Sequence[int] | None

    def offset_at(self, row: int) -> int:
        return self.batch.offset_at(self.indexes[row])

    def time_at(self, row: int) -> int | None:
        return self.times if isinstance(self.times, int | None) else self.times[self.indexes[row]]


class RangeWriter:
    """Writes the records of one range; `write` each batch in order, then `finish`, or `abort`.

    `at_ms` is the logical time of the range, which the extractor Wallclock tells.
    """

    def __init__(self, settings: Settings, generation: int, at_ms: int, open_upload: OpenUpload) -> None:
        self._settings = settings
        self._generation = generation
        self._open_upload = open_upload
        self._format: ObjectFormat = format_for(settings.format.file)
        self._convert = converter_for(settings.format.value, settings.format.file)
        self._paths = partitioner_for(settings, at_ms, self._format.extension)
        self._open: dict[str, _OpenObject] = {}  # by path
        self._objects: list[WrittenObject] = []
        self._rejected: list[Rejected] = []
        self._records = self._bytes = self._tombstones = 0
        self._stopped_at: Rejected | None = None

    def write(self, batch: RecordBatch) -> bool:
        """Write a batch; False once a record that may not be skipped has ended the range."""
        rows = self._convert(batch.values())
        paths = self._paths(batch, rows.excluded)
        excluded = {**{index: Unwritable(reason) for index, reason in paths.bad.items()}, **rows.excluded}
        stop = self._pass_over(batch, excluded)
        if isinstance(paths.each, str):
            for start, end in _runs(excluded, stop):
                self._append(paths.each, _Chunk(batch, rows.part(start, end), range(start, end), paths.times))
        else:
            indexes = [index for index in range(stop) if index not in excluded] if excluded else range(stop)
            self._append_each(batch, rows, paths.each, paths.times, indexes)
        return self._stopped_at is None

    def finish(self) -> Written:
        """Close what is open and say what was written."""
        for path in self._oldest_first():
            self._close(path, ClosedBy.END_OF_RANGE)
        counted = sum(written.records for written in self._objects)
        assert counted == self._records, f"{counted} records in objects, {self._records} written"
        return Written(
            tuple(sorted(self._objects, key=lambda written: written.first_offset)),
            self._records,
            self._bytes,
            tuple(self._rejected),
            self._tombstones,
            self._stopped_at,
        )

    def abort(self) -> None:
        """Give up what is open; objects that are closed stay, as orphans that a retry adopts."""
        for opened in self._open.values():
            opened.upload.abort()
        self._open.clear()

    def _pass_over(self, batch: RecordBatch, excluded: Mapping[int, Excluded]) -> int:
        """Account for the records that are not written; the index at which the range stops, or the batch's length."""
        for index in sorted(excluded):
            why = excluded[index]
            if isinstance(why, Tombstone):
                if self._settings.format.null_values is NullValues.IGNORE:
                    self._tombstones += 1
                    continue
                reason = "the value is null and behavior.on.null.values is fail"
            else:
                reason = why.reason
            rejected = Rejected(batch.tp, batch.offset_at(index), reason)
            if not self._settings.tolerate_bad_records:
                self._stopped_at = rejected
                return index
            self._rejected.append(rejected)
        return len(batch)

    def _append_each(
        self,
        batch: RecordBatch,
        rows: Rows,
        each: Sequence[str],
        times: int | Sequence[int] | None,
        indexes: Sequence[int],
    ) -> None:
        """Records with paths of their own.

        A batch's records of one path are written together: objects of different paths have nothing to do with each
        other, unless so many are open that one has to close for another.
        """
        together: dict[str, list[int]] = {}
        for index in indexes:
            together.setdefault(each[index], []).append(index)
        groups: Iterable[tuple[str, Sequence[int]]] = together.items()
        if len(self._open.keys() | together.keys()) > self._settings.limits.open_objects_max:
            groups = ((path, list(run)) for path, run in itertools.groupby(indexes, key=each.__getitem__))
        for path, group in groups:
            self._append(path, _Chunk(batch, rows.pick(group), group, times))

    def _append(self, path: str, chunk: _Chunk) -> None:
        start, stop = 0, len(chunk.indexes)
        while start < stop:
            opened = self._open.get(path)
            if opened is not None and self._is_over(opened, chunk.time_at(start)):
                self._close(path, ClosedBy.ROTATE_INTERVAL)
                opened = None
            opened = opened or self._open_object(path, chunk, start)
            count, closed_by = self._fitting(opened, chunk, start)
            data, size = opened.encoder.encode(chunk.rows, start, start + count)
            opened.feed(data, self._settings.limits.part_size_bytes)
            opened.records += count
            opened.plain_size += size
            opened.last_offset = chunk.offset_at(start + count - 1)
            self._records += count
            self._bytes += size
            start += count
            if closed_by is not None:
                self._close(path, closed_by)

    def _fitting(self, opened: _OpenObject, chunk: _Chunk, start: int) -> tuple[int, ClosedBy | None]:
        """How many rows from `start` on belong to an object, at least one, and what closes it after them."""
        limits = self._settings.limits
        count, closed_by = len(chunk.indexes) - start, None
        if opened.records + count >= limits.flush_size:
            count, closed_by = limits.flush_size - opened.records, ClosedBy.FLUSH_SIZE
        if limits.object_bytes_max is not None:
            full = opened.encoder.rows_until(
                chunk.rows, start, start + count, limits.object_bytes_max - opened.plain_size
            )
            if full is not None and (full < count or closed_by is None):
                count, closed_by = full, ClosedBy.OBJECT_BYTES
        if limits.rotate_interval_ms is not None and isinstance(chunk.times, Sequence):
            for row in range(start + 1, start + count):
                if self._is_over(opened, chunk.time_at(row)):
                    # The record is the first of the next object, which `_append` sees when it comes to it.
                    return row - start, None
        return count, closed_by

    def _is_over(self, opened: _OpenObject, at_ms: int | None) -> bool:
        """Whether a record of this time comes `rotate.interval.ms` or more after an object's first one."""
        interval_ms = self._settings.limits.rotate_interval_ms
        if interval_ms is None or at_ms is None or opened.first_ms is None:
            return False
        return at_ms - opened.first_ms >= interval_ms

    def _open_object(self, path: str, chunk: _Chunk, row: int) -> _OpenObject:
        while len(self._open) >= self._settings.limits.open_objects_max:
            self._close(self._oldest_first()[0], ClosedBy.OPEN_OBJECTS)
        batch, first = chunk.batch, chunk.offset_at(row)
        name = DataName(
            batch.tp.topic, path, batch.tp.partition, first, self._format.extension, generation=self._generation
        )
        opened = _OpenObject(self._open_upload(name), self._format.open(None), first, first, chunk.time_at(row))
        self._open[path] = opened
        return opened

    def _oldest_first(self) -> list[str]:
        """The open paths; by offset, since how batches were cut shows in the order of opening."""
        return sorted(self._open, key=lambda path: self._open[path].first_offset)

    def _close(self, path: str, closed_by: ClosedBy) -> None:
        opened = self._open[path]
        opened.feed(opened.encoder.finish(), self._settings.limits.part_size_bytes)
        sha256 = opened.digest.hexdigest()
        key = opened.upload.close(
            b"".join(opened.pending),
            size=opened.size,
            sha256=sha256,
            records=opened.records,
            first_offset=opened.first_offset,
            last_offset=opened.last_offset,
        )
        del self._open[path]  # only now: a close that failed is still to be aborted
        self._objects.append(
            WrittenObject(key, opened.size, sha256, opened.records, opened.first_offset, opened.last_offset, closed_by)
        )


def _runs(excluded: Mapping[int, object], stop: int) -> Iterator[tuple[int, int]]:
    """The runs of indexes below `stop` between those that are excluded."""
    start = 0
    for index in (*sorted(index for index in excluded if index < stop), stop):
        if index > start:
            yield start, index
        start = index + 1
