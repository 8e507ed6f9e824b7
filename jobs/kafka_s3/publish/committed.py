"""For readers: from what an event says to the objects of the log entry that it names, checked.

An event comes from Airflow's database, and anybody who may create events can write one. So it is believed only as a
pointer: the key must be one of the connector's log, the file's checksum the one that the event names, and what the
entry says of an object is checked against the object's bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from kafka_s3.errors import DataError, LogDamaged
from kafka_s3.log.entries import Entry, ObjectEntry
from kafka_s3.log.store import Committed, Log
from kafka_s3.naming import parse_log_key
from kafka_s3.ports import ObjectStore
from kafka_s3.ranges import TopicPartition

NEWEST_MAX: Final = 100  # entries looked through for one with objects
_WAY_OUT: Final = "Did another connector, or somebody's hand, send the event? Its content was not used."


@dataclass(frozen=True, slots=True)
class CommittedObject:
    """An object of an entry, and whose records it holds."""

    tp: TopicPartition
    object: ObjectEntry


def committed_by(log: Log, bucket: str, event: Mapping[str, Any]) -> Committed:
    """The entry that an event names; `DataError` if it is none of this connector's, or another than the event says."""
    key, sha256 = event.get("key"), event.get("sha256")
    if event.get("bucket") != bucket:
        raise DataError(f"An event names another bucket than {bucket}: {_shown(event.get('bucket'))}.", next=_WAY_OUT)
    of = parse_log_key(log.layout, key) if isinstance(key, str) else None
    if of is None:
        raise DataError(f"An event names no key under {log.layout.name}: {_shown(key)}.", next=_WAY_OUT)
    layout, seq = of  # an event may have been told before the log was begun anew
    committed = (log if layout == log.layout else replace(log, layout=layout, epoch=None)).entry(seq)
    if committed is None:
        raise DataError(f"An event names the log entry {key}, and there is none.", next=_WAY_OUT)
    if committed.sha256 != sha256:
        raise DataError(
            f"The log entry {key} has the SHA-256 {committed.sha256}, its event says {_shown(sha256)}.",
            next="Compare the entry with the bucket's versions: entries never change.",
        )
    return committed


def announced(log: Log, bucket: str, event: Mapping[str, Any]) -> list[CommittedObject]:
    """The objects that are new with an event, of its topic where it has one; none where nothing was new."""
    committed_by(log, bucket, event)
    entries, topic = event.get("entries"), event.get("topic")
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise DataError(f"An event names no entries: {_shown(entries)}.", next=_WAY_OUT)
    of_topic = topic if isinstance(topic, str) else None
    return [
        each
        for named in entries
        for each in objects_of(committed_by(log, bucket, {**named, "bucket": bucket}).entry, of_topic)
    ]


def newest(log: Log) -> list[CommittedObject]:
    """The objects of the newest entry that has any, among the last so many: for a reader whom no event has started."""
    for committed in islice(log.entries(), NEWEST_MAX):
        found = list(objects_of(committed.entry))
        if found:
            return found
    return []


def objects_of(entry: Entry, topic: str | None = None) -> Iterator[CommittedObject]:
    """The objects that an entry commits, of all topics or of one, by Kafka partition and offset."""
    for done in sorted(entry.ranges, key=lambda done: (done.topic, done.partition, done.start)):
        if topic in (None, done.topic):
            for made in done.objects:
                yield CommittedObject(done.tp, made)


def read(store: ObjectStore, made: ObjectEntry) -> bytes:
    """An object's bytes, which are those that were committed; in memory, so as many as the object has.

    Raises `LogDamaged` if the object is gone, or another.
    """
    body = store.get(made.key, limit=made.size)
    if body is None:
        raise LogDamaged(
            f"{made.key} is in the log and not in the bucket.", next="`kafka-s3 verify` says what else is missing."
        )
    found = (len(body), hashlib.sha256(body).hexdigest())
    if found != (made.size, made.sha256):
        raise LogDamaged(
            f"{made.key} has {found[0]} bytes with the SHA-256 {found[1]}, the log says {made.size} and {made.sha256}.",
            next="Something has overwritten it: restore it from the bucket's versions.",
        )
    return body


def _shown(value: object) -> str:
    """What somebody wrote into an event, on one line and short."""
    return re.sub(r"[^\x20-\x7e]", "?", repr(value))[:200]
