"""The dead letters of one range into one object, which the range's entry lists.

Memory: one part of encoded bytes, and one letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from kafka_s3.dead_letter import (
    LETTER_RATIO_MAX,
    DeadLetter,
    encode,
    letter_bytes_max,
    letter_of,
    letters_layout,
    letters_name,
)
from kafka_s3.ports import ObjectStore
from kafka_s3.records import Record, RecordBatch
from kafka_s3.settings.formats import Gzip
from kafka_s3.settings.model import Settings
from kafka_s3.values.formats.compression import open_stream
from kafka_s3.write.object_group import ClosedBy, Member, OffsetSpan, PartBuffer, StartUpload, Upload, WrittenObject
from kafka_s3.write.rejections import Rejected
from kafka_s3.write.uploads import ObjectGroupUpload

SAID_MAX: Final = 20  # of a range's bad records that are logged one by one


class DeadLetterWriter:
    """Takes the refused records of a range (a `writer.Refuse`); `finish` or `abort` ends it."""

    def __init__(self, settings: Settings, generation: int, start_upload: StartUpload) -> None:
        self._connector = settings.name
        self._part_size = settings.limits.part_size_bytes
        self._generation = generation
        self._start_upload = start_upload
        self._upload: Upload | None = None
        self._stream = PartBuffer(0)
        self._compressor = open_stream(Gzip())
        self._batch: RecordBatch | None = None  # of the last record, whose columns are made once
        self._columns: tuple[Sequence[Any], ...] = ()
        self._records = 0
        self._longest = 0  # bytes of a letter
        self._first = self._last = 0
        self._said: list[str] | None = [] if settings.dead_letters.log else None

    def __call__(self, rejected: Rejected, batch: RecordBatch, index: int) -> None:
        if batch is not self._batch:
            self._batch = batch
            self._columns = (batch.values(), batch.keys(), batch.timestamps(), batch.headers())
        value, key, timestamp, headers = (column[index] for column in self._columns)
        record = Record(rejected.offset, value, key, timestamp, tuple(headers))
        if self._said is not None and self._records < SAID_MAX:
            self._said.append(str(rejected))
        self.take(
            letter_of(rejected.tp, record, stage=rejected.stage.value, error=rejected.reason, connector=self._connector)
        )

    def take(self, letter: DeadLetter) -> None:
        """The next letter; the connector that it is of is this one."""
        if self._upload is None:
            self._first = letter.offset
            self._upload = self._start_upload([letters_name(letter.tp, letter.offset, generation=self._generation)])
        line = encode(replace(letter, connector=self._connector)) + b"\n"
        self._longest = max(self._longest, len(line))
        self._stream.feed(self._compressor.compress(line), self._upload, self._part_size)
        self._last = letter.offset
        self._records += 1

    @property
    def said(self) -> tuple[str, ...]:
        """The first SAID_MAX of them in words, and how many more there are; nothing unless errors.log.enable is set."""
        if self._said is None:
            return ()
        more = self._records - len(self._said)
        return (*self._said, *([f"and {more} more in this range: see its dead letters"] if more else []))

    def finish(self) -> WrittenObject | None:
        """The object, or `None` if no record was refused."""
        if self._upload is None:
            return None
        if self._longest > letter_bytes_max(self._stream.size):
            # A reader would take it for a bomb: a record of many million equal bytes is one.
            self._stream.feed(self._compressor.pad(0), self._upload, self._part_size)
            missing = -(-self._longest // LETTER_RATIO_MAX) - self._stream.size
            self._stream.feed(self._compressor.pad(max(0, missing)), self._upload, self._part_size)
        self._stream.feed(self._compressor.finish(), self._upload, self._part_size)
        body = self._stream.body()
        holds = OffsetSpan(self._records, self._first, self._last)
        return WrittenObject(self._upload.finish([body], holds), (Member.VALUES,), holds, ClosedBy.END_OF_RANGE)

    def abort(self) -> None:
        if self._upload is not None:
            self._upload.abort()


def dead_letter_writer(settings: Settings, generation: int, store: ObjectStore) -> DeadLetterWriter:
    """Dead letters into the connector's own folder of the store."""
    layout = letters_layout(settings.log_root, settings.name)
    return DeadLetterWriter(settings, generation, partial(ObjectGroupUpload, store, layout))
