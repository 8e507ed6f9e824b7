"""Are objects what the log says? One object at a time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from kafka_s3.bucket.findings import Finding
from kafka_s3.errors import StoreRefused
from kafka_s3.log.entries import ObjectEntry
from kafka_s3.ports import ObjectStore
from kafka_s3.settings.formats import Compression, FileSettings, Format
from kafka_s3.settings.model import Settings
from kafka_s3.values.formats.compression import name_of
from kafka_s3.values.formats.expansion import Damaged, expansion_of
from kafka_s3.write.object_group import Member

RECOVER: Final = (
    "Restore the object from the bucket's versions; its records can be read from Kafka while retention keeps them."
)


class _Lines:
    """The uncompressed bytes of an object, whose line feeds are counted. Memory: a piece of 1 MiB."""

    def __init__(self, compression: Compression) -> None:
        self._expansion = expansion_of(compression)
        self.line_feeds = 0

    def feed(self, data: bytes) -> None:
        """Raises `Damaged` for what is not compressed as it should be."""
        for piece in self._expansion.feed(data):
            self.line_feeds += piece.count(b"\n")

    def end(self) -> None:
        self._expansion.end()


@dataclass(frozen=True, slots=True)
class ReadObject:
    """An object that was read, and what is wrong with it."""

    finding: Finding | None


def read_object(store: ObjectStore, made: ObjectEntry, settings: Settings | None) -> ReadObject:
    """Compare an object's size, hash and number of records with its entry. `settings`: those it was made under.

    One request where all is well; no more of an object is read than it should have.
    """
    digest, size = hashlib.sha256(), 0
    file = file_of(member_of(made, settings), settings) if settings is not None else None
    lines = _Lines(file.compression) if file is not None else None
    unreadable = None
    try:
        for chunk in store.read(made.key):
            size += len(chunk)
            if size > made.size:
                break
            digest.update(chunk)
            if lines is not None and unreadable is None:
                try:
                    lines.feed(chunk)
                except Damaged as error:
                    unreadable = str(error)
    except StoreRefused as error:
        missing = store.head(made.key) is None
        return _wrong(made, f"{made.size} bytes", "no object" if missing else error.what.rstrip("."))
    if size != made.size:
        info = store.head(made.key)
        return _wrong(made, f"{made.size} bytes", "no object" if info is None else f"{info.size} bytes")
    if digest.hexdigest() != made.sha256:
        return _wrong(made, f"sha256 {made.sha256}", digest.hexdigest())
    if lines is None or file is None:
        return ReadObject(None)
    try:
        if unreadable is None:
            lines.end()
    except Damaged as error:
        unreadable = str(error)
    if unreadable is not None:
        return _wrong(made, f"a whole {name_of(file.compression)} stream", f"one that cannot be read: {unreadable}")
    if _one_line_each(file) and lines.line_feeds != made.records:
        return _wrong(made, f"{made.records} records", f"{lines.line_feeds} lines")
    return ReadObject(None)


def look(store: ObjectStore, made: ObjectEntry) -> ReadObject:
    """Whether an object is there, with its size: of what nobody reads that is enough."""
    info = store.head(made.key)
    if info is None or info.size != made.size:
        found = "no object" if info is None else f"{info.size} bytes"
        return ReadObject(Finding(made.key, f"{made.size} bytes", found, ""))
    return ReadObject(None)


def member_of(made: ObjectEntry, settings: Settings) -> Member:
    """What an object itself is: values, or the keys of tombstones, beside which there are none."""
    keys_beside = any(each.what == Member.KEYS.value for each in made.companions)
    return Member.VALUES if settings.format.keys is None or keys_beside else Member.KEYS


def file_of(member: Member, settings: Settings) -> FileSettings:
    """How values, keys or headers are written."""
    format = settings.format
    file = {Member.KEYS: format.keys, Member.HEADERS: format.headers}.get(member, format.file)
    assert file is not None, "a companion that the settings do not make"
    return file


def _one_line_each(file: FileSettings) -> bool:
    """Whether line feeds count records: bytes may hold the separator themselves, JSON is always on one line."""
    return file.format is Format.JSON


def _wrong(made: ObjectEntry, expected: str, found: str) -> ReadObject:
    return ReadObject(Finding(made.key, expected, found, RECOVER))
