"""From batches of records to objects: which record goes where, and when an object closes.

Everything here follows from the records' own order, so that a retry writes the same objects. Boundaries never
depend on clocks or on how the broker cut its answers.

Memory: at most `part_size_bytes` of encoded bytes per open object, one more part while it is sent, and one batch;
`open_objects_max` object groups are open at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafka_s3.attempts import attempt
from kafka_s3.naming import DataName
from kafka_s3.ports import Registries
from kafka_s3.records import RecordBatch, one_by_one
from kafka_s3.settings.model import Settings
from kafka_s3.settings.values import NullValues
from kafka_s3.shown import said
from kafka_s3.values.converters.record_converter import RecordConverter
from kafka_s3.values.partitioners.build import partitioner_for
from kafka_s3.values.partitioners.paths import Paths
from kafka_s3.values.rows import Excluded, Filtered, Rows, Stage, Tombstone, Unwritable
from kafka_s3.write.chunks import Chunk, Prepared, note, rehearse
from kafka_s3.write.object_group import ClosedBy, ObjectGroup, StartUpload, TimestampSpan, WrittenObject
from kafka_s3.write.rejections import Refuse, Rejected, Rejections, may_be_a_records, reason_of
from kafka_s3.write.routing import GroupKey, ObjectRouter, in_folders

if TYPE_CHECKING:  # loaded where there are transforms
    from kafka_s3.values.transforms.chain import Chain


@dataclass(frozen=True, slots=True)
class Written:
    """What a range became. `stopped_at` is the bad record that ended it early, itself not counted anywhere.

    `refusals`: how often records were rejected at which stage and why, the commonest reasons first.
    """

    objects: tuple[WrittenObject, ...] = ()
    records: int = 0
    bytes: int = 0
    rejected: int = 0
    tombstones: int = 0
    stopped_at: Rejected | None = None
    tombstones_written: int = 0  # among the records
    times: TimestampSpan | None = (
        None  # of all records, bad ones and tombstones too, where the configuration looks at them
    )
    refusals: tuple[tuple[tuple[Stage, str], int], ...] = ()
    filtered: int = 0  # that transforms dropped


#: Of records in an object: how often its size is looked at where `export.object.bytes.of=object`. What an encoder has
#: let go of at such a place follows from its records alone, however they came.
LOOK_EVERY: Final = 256 * 1024


class RangeWriter:
    """Writes the records of one range; `write` each batch in order, then `finish`, or `abort`.

    `at_ms` is the logical time of the range, which the extractor Wallclock tells. `refuse` is told of every record
    that is left out because it is bad. `careful`: see `write`; it costs about twice as much. `full_at`: the last
    offsets of objects that closed for their size in the store, where they are written again to be compared and another
    library may have made them smaller or larger.
    """

    def __init__(
        self,
        settings: Settings,
        generation: int,
        at_ms: int,
        start_upload: StartUpload,
        *,
        registries: Registries = Registries(),
        refuse: Refuse | None = None,
        careful: bool = False,
        full_at: Container[int] | None = None,
    ) -> None:
        self._settings = settings
        self._full_at = full_at
        self._careful = careful
        self._content = settings.dead_letters.include_messages
        self._generation = generation
        self._start_upload = start_upload
        self._columns = RecordConverter(settings, registries)
        self._chain = _chain(settings, registries)
        self._router = ObjectRouter(settings)
        self._paths = partitioner_for(settings, at_ms, self._router.longest_extension)
        self._open: dict[GroupKey, ObjectGroup] = {}
        self._objects: list[WrittenObject] = []
        self._records = self._bytes = self._tombstones = self._tombstones_written = 0
        self._filtered = 0
        self._stopped_at: Rejected | None = None
        self._times: TimestampSpan | None = None
        self._rejections = Rejections(refuse)

    def write(self, batch: RecordBatch) -> bool:
        """Write a batch; False once a record that may not be skipped has ended the range.

        What a converter, a partitioner or a format raises over a record comes out as it is, and leaves a writer that
        can only be aborted: objects may be half written. A careful one finds the record instead, and leaves it out.
        """
        return self._write_carefully(batch) if self._careful else self._take(self._prepare(batch))

    def _prepare(self, batch: RecordBatch) -> Prepared:
        """Convert a batch and say where its records go. No object is touched."""
        changed = batch if self._chain is None else self._chain(batch)
        columns = self._columns(changed)
        paths = self._paths(changed, columns[0])
        excluded, nulls = self._excluded(columns, paths)
        if nulls:
            paths = self._with_tombstones(batch, paths, nulls)
        paths = in_folders(paths, changed)
        keys = self._router.keys(columns, paths, nulls, excluded, len(batch))
        return Prepared(batch, columns, paths, excluded, keys)

    def _take(self, prepared: Prepared) -> bool:
        """Account for a batch's records, and write them."""
        batch = prepared.batch
        stop = self._pass_over(batch, prepared.excluded)
        if self._settings.notes_timestamps:
            stamps = batch.timestamps()
            span = TimestampSpan.of(stamps if stop == len(batch) else stamps[:stop])
            self._times = self._times if span is None else span.joined(self._times)
        if isinstance(prepared.keys, GroupKey):
            for key, chunk in prepared.chunks(stop):
                self._append(key, chunk)
        else:
            self._append_each(prepared, stop)
        return self._stopped_at is None

    def _write_carefully(self, batch: RecordBatch) -> bool:
        """The same, a batch at a time where that goes well, else record by record: who raises is a bad record.

        Each is written for show first, so that no object is half written, and nothing that a batch in vain has
        decided about later records is kept: the objects are those of records alone, however they came in batches.
        """
        if len(batch) > 1:
            kept = self._router.kept()
            made = attempt(self._rehearsed, batch)
            if isinstance(made, Prepared):
                return self._take(made)
            if not may_be_a_records(made.error):
                raise made.error
            self._router.restore(kept)
        return all(self._write_one(one) for one in one_by_one(batch))

    def _write_one(self, batch: RecordBatch) -> bool:
        made = attempt(self._rehearsed, batch)
        if isinstance(made, Prepared):
            return self._take(made)
        if not may_be_a_records(made.error):
            raise made.error
        doing = self._columns.doing if self._chain is None or self._chain.is_done else self._chain.doing
        why = Unwritable(reason_of(made.error, doing), doing)
        return self._take(Prepared(batch, (), Paths(""), {0: why}, [None]))

    def _rehearsed(self, batch: RecordBatch) -> Prepared:
        prepared = self._prepare(batch)
        measured = self._settings.limits.object_bytes_max is not None
        for key, chunk in prepared.chunks(len(batch)):
            rehearse(key, chunk, self._columns.ready(chunk.columns), measured=measured)
        return prepared

    def finish(self) -> Written:
        """Close what is open and say what was written."""
        for key in self._oldest_first():
            self._close(key, ClosedBy.END_OF_RANGE)
        counted = sum(written.holds.records for written in self._objects)
        assert counted == self._records, f"{counted} records in objects, {self._records} written"
        return Written(
            tuple(sorted(self._objects, key=lambda written: (written.holds.first_offset, written.key))),
            self._records,
            self._bytes,
            self._rejections.count,
            self._tombstones,
            self._stopped_at,
            self._tombstones_written,
            self._times,
            self._rejections.commonest(),
            self._filtered,
        )

    def abort(self) -> None:
        """Give up what is open; objects that are closed stay, as orphans that a retry adopts."""
        for group in self._open.values():
            group.upload.abort()
        self._open.clear()

    def _excluded(self, columns: Sequence[Rows], paths: Paths) -> tuple[dict[int, Excluded], frozenset[int]]:
        """The records that are not written, and the tombstones that are."""
        values, *others = columns
        nulls: frozenset[int] = frozenset()
        if self._settings.format.null_values is NullValues.WRITE and values.excluded:
            nulls = frozenset(index for index, why in values.excluded.items() if isinstance(why, Tombstone))
        excluded: dict[int, Excluded] = {
            # A reason may be the very thing that stood in the path's place, which nobody further on has to know.
            index: Unwritable(str(reason), Stage.TASK_PUT)
            for index, reason in paths.bad.items()
            if index not in nulls
        }
        for column in reversed(others):
            excluded.update(column.excluded)
        excluded.update((index, why) for index, why in values.excluded.items() if index not in nulls)
        return excluded, nulls

    def _with_tombstones(self, batch: RecordBatch, paths: Paths, nulls: frozenset[int]) -> Paths:
        """The same paths, but for tombstones: theirs is configured, and their time is the record's own."""
        each = [paths.each] * len(batch) if isinstance(paths.each, str) else list(paths.each)
        times = paths.times if isinstance(paths.times, int | None) else list(paths.times)
        stamps = batch.timestamps() if isinstance(times, list) else ()
        for index in nulls:
            each[index] = self._settings.format.tombstone_path
            if isinstance(times, list):
                times[index] = stamps[index] or 0
        return Paths(each, paths.bad, times)

    def _pass_over(self, batch: RecordBatch, excluded: Mapping[int, Excluded]) -> int:
        """Account for the records that are not written; the index at which the range stops, or the batch's length."""
        for index in sorted(excluded):
            why = excluded[index]
            if isinstance(why, Filtered):
                self._filtered += 1
                continue
            if isinstance(why, Tombstone):
                if self._settings.format.null_values is NullValues.IGNORE:
                    self._tombstones += 1
                    if self._settings.tolerate_bad_records and self._settings.format.report_null_values:
                        reported = Rejected(batch.tp, batch.offset_at(index), "the value is null", Stage.TASK_PUT)
                        self._rejections.tell(reported, batch, index)
                    continue
                why = Unwritable("the value is null and behavior.on.null.values is fail", Stage.TASK_PUT)
            rejected = Rejected(batch.tp, batch.offset_at(index), said(why.reason, content=self._content), why.stage)
            if not self._settings.tolerate_bad_records:
                self._stopped_at = rejected
                return index
            self._rejections.take(rejected, batch, index)
        return len(batch)

    def _append_each(self, prepared: Prepared, stop: int) -> None:
        """Records of several object groups.

        A batch's records of one group are written together: different objects have nothing to do with each other,
        unless so many are open that one has to close for another.
        """
        together = prepared.together(stop)
        groups: Iterable[tuple[GroupKey, Sequence[int]]] = together.items()
        if len(self._open.keys() | together.keys()) > self._settings.limits.open_objects_max:
            runs = itertools.groupby(prepared.kept(stop), key=prepared.keys.__getitem__)  # type: ignore[index]
            groups = ((key, list(run)) for key, run in runs)
        for key, group in groups:
            self._append(key, prepared.picked(key, group))

    def _append(self, key: GroupKey, chunk: Chunk) -> None:
        columns = self._columns.ready(chunk.columns)
        stamps = chunk.timestamps() if key.kind.has_index or self._settings.notes_timestamps else None
        start, stop = 0, len(chunk.indexes)
        while start < stop:
            group = self._open.get(key)
            if group is not None and self._is_over(group, chunk.time_at(start)):
                self._close(key, ClosedBy.ROTATE_INTERVAL)
                group = None
            group = group or self._open_group(key, chunk, start)
            count, closed_by = self._fitting(group, columns[0], chunk, start)
            if stamps is not None:
                group.dated(stamps[start : start + count])
                if key.kind.has_index:
                    note(group.encoders[0], chunk, stamps, start, start + count)
            size = group.append(columns, start, start + count, chunk.offset_at(start + count - 1))
            self._records += count
            self._tombstones_written += count if key.is_tombstone else 0
            self._bytes += size
            start += count
            if closed_by is ClosedBy.OBJECT_BYTES and not self._is_full(group):
                continue
            if closed_by is not None:
                self._close(key, closed_by)

    def _fitting(self, group: ObjectGroup, rows: Any, chunk: Chunk, start: int) -> tuple[int, ClosedBy | None]:
        """How many rows from `start` on belong to an object, at least one, and what closes it after them."""
        limits = self._settings.limits
        count, closed_by = len(chunk.indexes) - start, None
        if limits.flush_size is not None and group.records + count >= limits.flush_size:
            count, closed_by = limits.flush_size - group.records, ClosedBy.FLUSH_SIZE
        if limits.object_bytes_max is not None:
            room = limits.object_bytes_max - group.plain_size
            if limits.object_bytes_written:
                room = LOOK_EVERY - group.plain_size % LOOK_EVERY
            full = group.encoders[0].rows_until(rows, start, start + count, room)
            if full is not None and (full < count or closed_by is None):
                count, closed_by = full, ClosedBy.OBJECT_BYTES
        if limits.rotate_interval_ms is not None and isinstance(chunk.times, Sequence):
            for row in range(start + 1, start + count):
                if self._is_over(group, chunk.time_at(row)):
                    # The record is the first of the next object, which `_append` sees when it comes to it.
                    return row - start, None
        return count, closed_by

    def _is_full(self, group: ObjectGroup) -> bool:
        """Whether an object that is filled to a place where it is looked at closes there."""
        limits = self._settings.limits
        if not limits.object_bytes_written or limits.object_bytes_max is None:
            return True
        if self._full_at is not None:
            return group.last_offset in self._full_at
        return group.written_size >= limits.object_bytes_max

    def _is_over(self, group: ObjectGroup, at_ms: int | None) -> bool:
        """Whether a record of this time comes `rotate.interval.ms` or more after an object's first one."""
        interval_ms = self._settings.limits.rotate_interval_ms
        if interval_ms is None or at_ms is None or group.first_ms is None:
            return False
        return at_ms - group.first_ms >= interval_ms

    def _open_group(self, key: GroupKey, chunk: Chunk, row: int) -> ObjectGroup:
        while len(self._open) >= self._settings.limits.open_objects_max:
            self._close(self._oldest_first()[0], ClosedBy.OPEN_OBJECTS)
        tp, first, kind = chunk.batch.tp, chunk.offset_at(row), key.kind
        names = [
            DataName(tp.topic, key.path, tp.partition, first, extension, generation=self._generation, folder=key.folder)
            for extension in kind.extensions
        ]
        group = ObjectGroup(
            upload=self._start_upload(names),
            members=kind.members,
            encoders=tuple(made.open(target) for made, target in zip(kind.formats, key.targets, strict=True)),
            part_size=self._settings.limits.part_size_bytes,
            first_offset=first,
            last_offset=first,
            first_ms=chunk.time_at(row),
            schema_id=key.targets[0].id if key.targets[0] is not None else None,
        )
        self._open[key] = group
        self._router.opened(key)
        return group

    def _oldest_first(self) -> list[GroupKey]:
        """The open object groups; by offset, since how batches were cut shows in the order of opening."""
        return sorted(self._open, key=lambda key: self._open[key].first_offset)

    def _close(self, key: GroupKey, closed_by: ClosedBy) -> None:
        self._objects.append(self._open[key].close(closed_by))
        del self._open[key]  # only now: a close that failed is still to be aborted
        self._router.closed(key)


def _chain(settings: Settings, registries: Registries) -> Chain | None:
    if not settings.chain.transforms:
        return None
    from kafka_s3.values.transforms.chain import Chain

    return Chain(settings, registries)
