"""The dead letters that commits list, read back: found in the log, checked against it, one letter at a time."""

from __future__ import annotations

import hashlib
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Final

import msgspec

from kafka_s3.dead_letter import DeadLetter, decode, letter_bytes_max, letters_layout, letters_name
from kafka_s3.errors import LogDamaged
from kafka_s3.log.entries import Kind, ObjectEntry, RangeEntry
from kafka_s3.log.store import Log
from kafka_s3.naming import parse_data_key
from kafka_s3.ports import ObjectStore

SPOOL_BYTES: Final = 16 * 1024 * 1024  # of an object in memory; the rest of a larger one is in a file without a name
LINE_BYTES_MAX: Final = 512 * 1024 * 1024  # a record of 380 MB; no broker takes one by default
_CHUNK: Final = 1024 * 1024
_GZIP_WINDOW: Final = 31
_RESTORE: Final = "Nothing of it was sent. Restore the object from the bucket's versions."


@dataclass(frozen=True, slots=True)
class CommittedDeadLetters:
    """The ranges of one commit that have dead letters, in the order of their offsets; without their data objects."""

    seq: int
    ranges: tuple[RangeEntry, ...]


def commits_with_letters(log: Log, *, after_seq: int = -1) -> tuple[int, list[CommittedDeadLetters]]:
    """The newest entry (-1 for none) and the commits after `after_seq` that have dead letters, oldest first; whether
    a rewind withdrew them since or not.

    Memory: an entry, and one small value for each object of dead letters.
    """
    newest, found = after_seq, []
    for committed in log.entries(after_seq=after_seq):
        newest = max(newest, committed.entry.seq)
        ranges = with_letters(committed.entry.ranges) if committed.entry.kind is Kind.COMMIT else []
        if ranges:
            found.append(CommittedDeadLetters(committed.entry.seq, tuple(ranges)))
    return newest, found[::-1]


def with_letters(ranges: Iterable[RangeEntry]) -> list[RangeEntry]:
    """Those of an entry's ranges that have dead letters, in the order of their offsets; without their data objects."""
    found = [
        msgspec.structs.replace(done, objects=())
        for done in ranges
        if done.dead_letters is not None and done.dead_letters.records
    ]
    return sorted(found, key=lambda done: (done.tp, done.start))


def read_letters(log: Log, done: RangeEntry) -> Iterator[DeadLetter]:
    """The dead letters of a range, offsets ascending; none of an object that is not what the entry says.

    Raises `LogDamaged`: at once for an entry that names no dead letters of its range, else when the first is asked
    for. Memory: SPOOL_BYTES and the longest letter.
    """
    made = done.dead_letters
    assert made is not None
    check_entry(log, done, made)
    return _letters(log.store, done, made)


def _letters(store: ObjectStore, done: RangeEntry, made: ObjectEntry) -> Iterator[DeadLetter]:
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spool:
        _fetch(store, made, spool)
        spool.seek(0)
        last, count = made.first_offset - 1, 0
        for line in _lines(spool, made):
            letter = decode(line)
            if letter.tp != done.tp or not last < letter.offset <= made.last_offset:
                raise LogDamaged(
                    f"{made.key}: a letter of {letter.tp} offset {letter.offset} where one of {done.tp} "
                    f"[{last + 1}, {made.last_offset + 1}) belongs."
                )
            last, count = letter.offset, count + 1
            if count > made.records:
                raise LogDamaged(f"{made.key} holds more than the {made.records} dead letters of its log entry.")
            yield letter
    if count != made.records:
        raise LogDamaged(f"{made.key} holds {count} dead letters, its log entry says {made.records}.")


def check_entry(log: Log, done: RangeEntry, made: ObjectEntry) -> None:
    """Keys and offsets come out of the bucket: only a key of dead letters of this very range is read."""
    name = parse_data_key(letters_layout(log.layout.root, log.layout.connector), done.topic, made.key)
    expected = letters_name(done.tp, made.first_offset)
    if name is None or (name.encoded_partition, name.partition, name.start_offset, name.extension) != (
        expected.encoded_partition,
        expected.partition,
        expected.start_offset,
        expected.extension,
    ):
        raise LogDamaged(f"{made.key} is not the key of dead letters of {done.tp} from offset {made.first_offset} on.")
    if not done.start <= made.first_offset <= made.last_offset < done.next_offset:
        raise LogDamaged(
            f"{made.key}: dead letters [{made.first_offset}, {made.last_offset}] outside of their range "
            f"{done.tp} [{done.start}, {done.next_offset})."
        )


def _fetch(store: ObjectStore, made: ObjectEntry, spool: IO[bytes]) -> None:
    """Copy an object into the spool and check it: what is read afterwards is what was checked."""
    if store.head(made.key) is None:
        raise LogDamaged(f"The dead letters {made.key} are gone.", next="Restore them from the bucket's versions.")
    digest, size = hashlib.sha256(), 0
    for chunk in store.read(made.key):
        size += len(chunk)
        if size > made.size:
            break
        digest.update(chunk)
        spool.write(chunk)
    if size != made.size:
        much = f"more than {made.size}" if size > made.size else str(size)
        raise LogDamaged(f"{made.key} has {much} bytes, its log entry says {made.size}.", next=_RESTORE)
    if digest.hexdigest() != made.sha256:
        raise LogDamaged(f"{made.key} has sha256 {digest.hexdigest()}, its entry says {made.sha256}.", next=_RESTORE)


def _lines(spool: IO[bytes], made: ObjectEntry) -> Iterator[bytes]:
    line, most = bytearray(), min(LINE_BYTES_MAX, letter_bytes_max(made.size))
    for piece in _inflated(spool, made):
        *ends, rest = piece.split(b"\n")
        for end in ends:
            line += end
            yield bytes(line)
            line.clear()
        line += rest
        if len(line) > most:
            raise LogDamaged(
                f"{made.key} ({made.size} bytes) unpacks to a dead letter of more than {most} bytes, more than the"
                " exporter ever writes.",
                next="Nothing more of it is read. Restore the object from the bucket's versions.",
            )
    if line:
        raise LogDamaged(f"{made.key} ends within a line.")


def _inflated(spool: IO[bytes], made: ObjectEntry) -> Iterator[bytes]:
    inflate = zlib.decompressobj(_GZIP_WINDOW)
    try:
        while data := spool.read(_CHUNK):
            while data:
                yield inflate.decompress(data, _CHUNK)
                data = inflate.unconsumed_tail
        yield inflate.flush()
    except zlib.error as error:
        raise LogDamaged(f"{made.key} is not gzip: {error}.") from None
    if not inflate.eof or inflate.unused_data:
        raise LogDamaged(f"{made.key} is not gzip: the stream does not end where the object does.")
