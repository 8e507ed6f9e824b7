"""Objects of the live export that are copied into a window, byte for byte, where Kafka no longer has their records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import msgspec

from kafka_s3.bucket.dead_letter_objects import read_letters
from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.errors import DataError
from kafka_s3.log.entries import Companion, Interval, ObjectEntry, PlannedRange, RangeEntry, sha256_of
from kafka_s3.log.store import Log
from kafka_s3.naming import DataName, KeyLayout, LogLayout, parse_data_key
from kafka_s3.plan.results import RangeResult, TaskPorts
from kafka_s3.ports import GET_BYTES_MAX, ObjectStore
from kafka_s3.settings.model import Settings
from kafka_s3.values.formats.block_index import BlockIndex
from kafka_s3.write.dead_letter_writer import dead_letter_writer
from kafka_s3.write.object_group import Body, Member, OffsetSpan, PartBuffer
from kafka_s3.write.uploads import ObjectGroupUpload, given_up_unless_finished, object_entry

_RESTORE = "Restore it from the bucket's versions; `kafka-s3 verify` finds whatever else was changed."


@dataclass(frozen=True, slots=True)
class CopyTask:
    """What is done for a range that is not read from Kafka but copied from the live export's objects.

    `done`: what became of it there, with timestamps of every object; `layout` is that of their keys, `generation` that
    of the copies' names. `log`: where the live log lies.
    """

    is_read: ClassVar = False
    planned: PlannedRange
    done: RangeEntry
    layout: KeyLayout
    window: Interval
    generation: int
    log: LogLayout

    def export(
        self,
        settings: Settings,
        ports: TaskPorts,
        *,
        careful: bool,  # noqa: ARG002 - no record is looked at
    ) -> RangeResult:
        entry = copy(settings, self, ports.store)
        entry.check_accounting()
        crash_point(CrashPoint.FINISHED_RANGE)
        return RangeResult(self.planned, entry, None)


def is_inside(made: ObjectEntry, window: Interval) -> bool | None:
    """Whether an object's records are in a window: all, none, or `None`: that cannot be said without reading it."""
    oldest, newest = made.min_timestamp_ms, made.max_timestamp_ms
    if oldest is None or newest is None:
        return None
    if window.start_ms <= oldest and newest < window.end_ms:
        return True
    return False if newest < window.start_ms or oldest >= window.end_ms else None


def dated(store: ObjectStore, done: RangeEntry) -> RangeEntry:
    """The range with timestamps for those objects whose index companions know them although the log does not."""
    return msgspec.structs.replace(done, objects=tuple(_dated(store, made) for made in done.objects))


def _dated(store: ObjectStore, made: ObjectEntry) -> ObjectEntry:
    index = next((each for each in made.companions if each.what == Member.INDEX.value), None)
    if made.min_timestamp_ms is not None or index is None:
        return made
    body = store.get(index.key, limit=min(index.size, GET_BYTES_MAX))
    if body is None or sha256_of(body) != index.sha256:
        raise DataError(f"The index {index.key} is missing, or not the one that was committed.", next=_RESTORE)
    oldest = [chunk.min_timestamp for chunk in BlockIndex.parse(body, index.key).chunks]
    newest = [chunk.max_timestamp for chunk in BlockIndex.parse(body, index.key).chunks]
    if None in oldest or None in newest:
        return made
    return msgspec.structs.replace(made, min_timestamp_ms=min(oldest), max_timestamp_ms=max(newest))  # type: ignore[type-var]


#: The stage that letters of tombstones have: a transform may have refused a record without a value, too.
_OF_TOMBSTONES = "TASK_PUT"


def copy(settings: Settings, what: CopyTask, store: ObjectStore) -> RangeEntry:
    """Copy the objects of a range that are in the window; the range's entry in the window's log.

    `settings` are the window's. Dead letters of its time go into an object of its own; tombstones without a key, and
    what transforms dropped, stay counted as they were, whatever their time; `bytes` is in proportion. Raises
    `DataError` if an object is not what was committed.
    """
    done = what.done
    chosen = [made for made in done.objects if is_inside(made, what.window)]
    layout = replace(what.layout, topics_dir=settings.layout.topics_dir)
    copied = tuple(_copied(settings, what, made, layout, store) for made in chosen)
    records = sum(made.records for made in chosen)
    rejected, letters = _letters(settings, what, store)
    return msgspec.structs.replace(
        done,
        records=records,
        rejected=rejected,
        refusals=(),
        outside=done.records - records + done.rejected - rejected,
        bytes=done.bytes * records // max(1, done.records),
        tombstones_written=min(records, done.tombstones_written),
        interval=None,
        objects=copied,
        dead_letters=letters,
    )


def _letters(settings: Settings, what: CopyTask, store: ObjectStore) -> tuple[int, ObjectEntry | None]:
    """How many bad records are in the window, and their letters: an object that the live log lists is in no window."""
    done = what.done
    if done.dead_letters is None:
        return done.rejected, None
    # Those of tombstones, where they are told too, are not counted as rejected; no other letter lacks a value then.
    of_tombstones = done.dead_letters.records > done.rejected
    rejected = 0
    file = dead_letter_writer(settings, what.generation, store)
    with given_up_unless_finished(file):
        for letter in read_letters(Log(store, what.log, settings.log_key), done):
            if letter.timestamp_ms is not None and what.window.start_ms <= letter.timestamp_ms < what.window.end_ms:
                file.take(letter)
                rejected += not (of_tombstones and letter.value is None and letter.stage == _OF_TOMBSTONES)
        made = file.finish()
    return rejected, None if made is None else object_entry(made)


def _copied(
    settings: Settings, what: CopyTask, made: ObjectEntry, layout: KeyLayout, store: ObjectStore
) -> ObjectEntry:
    sources: list[ObjectEntry | Companion] = [made, *made.companions]
    names = [replace(_name(what.layout, what.done.topic, each.key), generation=what.generation) for each in sources]
    upload = ObjectGroupUpload(store, layout, names, tagging=settings.s3.tagging)
    with given_up_unless_finished(upload):
        bodies = [
            _body(store, each, PartBuffer(number), upload, settings.limits.part_size_bytes)
            for number, each in enumerate(sources)
        ]
        finished = upload.finish(bodies, OffsetSpan(made.records, made.first_offset, made.last_offset))
    first, *others = finished.objects
    beside = zip(made.companions, others, strict=True)
    companions = tuple(msgspec.structs.replace(each, key=copied.key) for each, copied in beside)
    return msgspec.structs.replace(made, key=first.key, companions=companions)


def _name(layout: KeyLayout, topic: str, key: str) -> DataName:
    name = parse_data_key(layout, topic, key)
    if name is None:
        raise DataError(f"{key} is not a key that its plan's configuration makes.", next=_RESTORE)
    return name


def _body(
    store: ObjectStore, source: ObjectEntry | Companion, stream: PartBuffer, upload: ObjectGroupUpload, part_size: int
) -> Body:
    """Send an object on, but for its last bytes, and look whether it is the one that was committed."""
    for chunk in store.read(source.key, limit=source.size):
        stream.feed(chunk, upload, part_size)
    body = stream.body()
    if (body.size, body.sha256) != (source.size, source.sha256):
        raise DataError(
            f"{source.key} is not what was committed: {source.size} bytes of sha256 {source.sha256[:12]}… expected,"
            f" {body.size} of {body.sha256[:12]}… found.",
            next=_RESTORE,
        )
    return body
