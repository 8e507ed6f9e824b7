"""Counts records: in the bucket's objects, and in Kafka where it still has them. Reads only."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kafka_s3.adopt.objects import Counted, Stored, Tail, Uncounted
from kafka_s3.errors import DataLoss, StoreRefused
from kafka_s3.ports import ObjectStore, RecordSource
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.formats import Compression, Format
from kafka_s3.settings.values import FormatSettings
from kafka_s3.values.converters.build import converter_for
from kafka_s3.values.formats.compression import name_of, without_suffix
from kafka_s3.values.formats.expansion import Damaged, expansion_of
from kafka_s3.values.formats.json_lines import JsonLinesFormat
from kafka_s3.values.formats.lines import LineFormat
from kafka_s3.values.formats.objects import format_for
from kafka_s3.values.rows import Lines

#: Of a record that is counted, unpacked: a small object that unpacks to more fills no memory.
RECORD_BYTES_MAX: Final = 64 * 1024 * 1024


def separator_of(extension: str, settings: FormatSettings) -> bytes | None:
    """What ends each record of an object with this extension; `None` if its records cannot be counted.

    The configured format knows best; a bucket may hold objects from before a change of compression or format.
    """
    plain, _ = without_suffix(extension)
    configured = format_for(settings.file)
    if plain == without_suffix(configured.extension)[0]:
        if isinstance(configured, JsonLinesFormat):
            return b"\n"
        return (configured.separator or None) if isinstance(configured, LineFormat) else None
    if plain == ".json":
        return b"\n"
    return (settings.file.byte_array_separator or None) if plain == settings.file.byte_array_extension else None


def count_object(store: ObjectStore, stored: Stored, settings: FormatSettings) -> Counted | Uncounted:
    """Count one object's records. Memory: a chunk, at most 1 MiB of what it unpacks to, and the longest record."""
    separator = separator_of(stored.name.extension, settings)
    assert separator, f"{stored.key}: no separator"
    _, compression = without_suffix(stored.name.extension)
    records, rest, last = 0, b"", b""
    try:
        for piece in _plain(store.read(stored.key), compression):
            *whole, rest = (rest + piece).split(separator)
            if len(rest) > RECORD_BYTES_MAX:
                return Uncounted(f"{stored.key} holds a record of more than {RECORD_BYTES_MAX} bytes, or no separator")
            records += len(whole)
            last = whole[-1] if whole else last
    except Damaged as error:
        return Uncounted(f"{stored.key} is not a whole {name_of(compression)} stream ({error})")
    except StoreRefused as error:  # deleted between the listing and the reading, or not ours to read
        return Uncounted(f"{stored.key} could not be read: {error.what}")
    if rest or not records:
        return Uncounted(f"{stored.key} does not end with the end of a record: it is damaged, or of another format")
    return Counted(stored.start, records, last)


def _plain(chunks: Iterable[bytes], compression: Compression) -> Iterator[bytes]:
    """The uncompressed bytes; raises `Damaged` for what is not one whole stream."""
    expansion = expansion_of(compression)
    for chunk in chunks:
        yield from expansion.feed(chunk)
    expansion.end()


@dataclass(frozen=True, slots=True)
class InKafka:
    """The objects' records, found again in Kafka.

    `end`: the offset after the last of them. `whole`: from the first object on, Kafka has no record more than they
    hold. `same_records`: the last of these records in Kafka is what one of the objects ends with, and what each of the
    others ends with is among them (a record too few in Kafka's count would leave an object's end outside). `beyond`:
    records from `end` up to the offset that was asked about.
    """

    end: int
    whole: bool
    same_records: bool
    beyond: int


@dataclass(frozen=True, slots=True)
class Contradicted:
    """What Kafka holds cannot be what the objects were made of."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """Kafka cannot tell (any more), and why."""

    reason: str


def find_in_kafka(
    source: RecordSource, settings: FormatSettings, tp: TopicPartition, tail: Tail, last_stable: int, upto: int = 0
) -> InKafka | Contradicted | Unread:
    """Walk through Kafka's records from the first counted object on until as many have passed as the objects hold.

    Only records that can be written count: tombstones and what is not valid under the converter never became part
    of an object. Holes of transactions and compaction do not matter here.
    """
    if last_stable <= tail.start:
        return Contradicted(f"Kafka can be read up to {last_stable}, and an object begins at {tail.start}")
    walk = _Counting(settings, tail, upto)
    try:
        with contextlib.closing(source.open(OffsetRange(tp, tail.start, last_stable))) as reader:
            for batch in reader:
                values = batch.values()
                rows = walk.convert(values)
                for index in range(len(values)):
                    if index not in rows.excluded:
                        assert isinstance(rows, Lines)  # only formats of lines are counted
                        walk.passed(batch.offset_at(index), rows.lines[index])
                if walk.is_over or walk.contradiction:
                    break
    except DataLoss as error:
        return Unread(error.what.rstrip("."))
    return walk.result(last_stable)


class _Counting:
    """Counts records as they pass; at each object's start the records of it and all later ones are still to come."""

    def __init__(self, settings: FormatSettings, tail: Tail, upto: int) -> None:
        self.convert = converter_for(settings.value, settings.file)
        self._normal = _normal_json if settings.file.format is Format.JSON else bytes
        self._tail = tail
        self._lasts = frozenset(self._normal(each.last) for each in tail.objects)
        self._unseen = set(self._lasts)
        self._starts = sorted(tail.records_from().items(), reverse=True)  # the next one is the last of the list
        self._upto = upto
        self._first_needs = self._starts[-1][1]
        self._passed = 0
        self._needed = 0  # this many must have passed at the end
        self._end: int | None = None
        self._same_records = False
        self._beyond = 0
        self._at = 0
        self.contradiction = ""

    @property
    def is_over(self) -> bool:
        return self._end is not None and self._at + 1 >= self._upto

    def passed(self, offset: int, line: bytes) -> None:
        self._at = offset
        if self._starts and offset >= self._starts[-1][0]:
            start, records = self._starts.pop()
            if offset != start:
                self.contradiction = f"an object begins at {start}, where Kafka has no record to write"
            self._needed = max(self._needed, self._passed + records)
        if self._end is not None:
            self._beyond += offset < self._upto
            return
        self._passed += 1
        normal = self._normal(line)
        self._unseen.discard(normal)
        if not self._starts and self._passed == self._needed:
            self._end = offset + 1
            self._same_records = normal in self._lasts and not self._unseen

    def result(self, last_stable: int) -> InKafka | Contradicted:
        if self.contradiction:
            return Contradicted(self.contradiction)
        if self._end is None:
            missing = self._starts[-1][0] if self._starts else None
            if missing is not None:
                return Contradicted(f"an object begins at {missing}, where Kafka has no record to write")
            held = f"the objects from {self._tail.start} on hold {self._needed} records"
            return Contradicted(f"{held}, Kafka has {self._passed} up to {last_stable}")
        return InKafka(self._end, self._first_needs == self._needed, self._same_records, self._beyond)


def _normal_json(line: bytes) -> bytes:
    """A JSON line in one spelling, for the sink writes anew what it read: spaces, escapes and the order of keys."""
    try:
        return json.dumps(json.loads(line), sort_keys=True).encode()
    except (ValueError, RecursionError):
        return line
