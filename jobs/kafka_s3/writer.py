"""From batches of records to objects: which record goes where, and when an object closes.

Everything here follows from the records' own order, so that a retry writes the same objects. Boundaries never
depend on clocks or on how the broker cut its answers.

Memory: at most `part_size_bytes` of encoded bytes per open object, one more part while it is sent, and one batch.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from kafka_s3.converters import Excluded, Rows, Tombstone, converter_for
from kafka_s3.formats.lines import LineFormat, ObjectEncoder, format_for
from kafka_s3.naming import DataName
from kafka_s3.partitioners import encode_batch
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import RecordBatch
from kafka_s3.settings.model import NullValues, Settings


class ClosedBy(enum.Enum):
    """Why an object closed; the word goes into the log, the page and the command line."""

    FLUSH_SIZE = "flush.size"
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
    records: int = 0
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


class RangeWriter:
    """Writes the records of one range; `write` each batch in order, then `finish`, or `abort`."""

    def __init__(self, settings: Settings, generation: int, open_upload: OpenUpload) -> None:
        self._settings = settings
        self._generation = generation
        self._open_upload = open_upload
        self._format: LineFormat = format_for(settings.format)
        self._convert = converter_for(settings.format)
        self._open: dict[str, _OpenObject] = {}
        self._objects: list[WrittenObject] = []
        self._rejected: list[Rejected] = []
        self._records = self._bytes = self._tombstones = 0
        self._stopped_at: Rejected | None = None

    def write(self, batch: RecordBatch) -> bool:
        """Write a batch; False once a record that may not be skipped has ended the range."""
        rows = self._convert(batch.values())
        for start, stop in self._writable(batch, rows):
            self._append(encode_batch(self._settings.partitioner, batch), batch, rows, start, stop)
        return self._stopped_at is None

    def finish(self) -> Written:
        """Close what is open and say what was written."""
        for encoded in list(self._open):
            self._close(encoded, ClosedBy.END_OF_RANGE)
        counted = sum(written.records for written in self._objects)
        assert counted == self._records, f"{counted} records in objects, {self._records} written"
        return Written(
            tuple(self._objects),
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

    def _writable(self, batch: RecordBatch, rows: Rows) -> Iterator[tuple[int, int]]:
        """The runs of indexes that can be written, in order; what lies between them is accounted for."""
        start = 0
        for index in sorted(rows.excluded):
            if index > start:
                yield start, index
            if not self._pass_over(batch, index, rows.excluded[index]):
                return
            start = index + 1
        if start < len(batch):
            yield start, len(batch)

    def _pass_over(self, batch: RecordBatch, index: int, excluded: Excluded) -> bool:
        """Account for one record that is not written; False if it must not be passed over."""
        if isinstance(excluded, Tombstone):
            if self._settings.format.null_values is NullValues.IGNORE:
                self._tombstones += 1
                return True
            reason = "the value is null and behavior.on.null.values is fail"
        else:
            reason = excluded.reason
        rejected = Rejected(batch.tp, batch.offset_at(index), reason)
        if self._settings.tolerate_bad_records:
            self._rejected.append(rejected)
            return True
        self._stopped_at = rejected
        return False

    def _append(self, encoded: str, batch: RecordBatch, rows: Rows, start: int, stop: int) -> None:
        limits = self._settings.limits
        while start < stop:
            opened = self._open.get(encoded) or self._open_object(encoded, batch, start)
            count = min(stop - start, limits.flush_size - opened.records)
            data, size = opened.encoder.encode(rows, start, start + count)
            opened.feed(data, limits.part_size_bytes)
            opened.records += count
            opened.last_offset = batch.offset_at(start + count - 1)
            self._records += count
            self._bytes += size
            start += count
            if opened.records == limits.flush_size:
                self._close(encoded, ClosedBy.FLUSH_SIZE)

    def _open_object(self, encoded: str, batch: RecordBatch, index: int) -> _OpenObject:
        first = batch.offset_at(index)
        name = DataName(
            batch.tp.topic, encoded, batch.tp.partition, first, self._format.extension, generation=self._generation
        )
        opened = _OpenObject(self._open_upload(name), self._format.open(), first, first)
        self._open[encoded] = opened
        return opened

    def _close(self, encoded: str, closed_by: ClosedBy) -> None:
        opened = self._open[encoded]
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
        del self._open[encoded]  # only now: a close that failed is still to be aborted
        self._objects.append(
            WrittenObject(key, opened.size, sha256, opened.records, opened.first_offset, opened.last_offset, closed_by)
        )
