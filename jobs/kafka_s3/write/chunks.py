"""Converted batches, and the parts of them that belong to one object group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from kafka_s3.records import RecordBatch
from kafka_s3.values.formats.companions import EncoderWithCompanions
from kafka_s3.values.formats.objects import ObjectEncoder
from kafka_s3.values.partitioners.paths import Paths
from kafka_s3.values.rows import Excluded, Rows
from kafka_s3.write.routing import GroupKey


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some records of a batch for one object group: row i of each column is the batch's record `indexes[i]`."""

    batch: RecordBatch
    columns: tuple[Rows, ...]
    indexes: Sequence[int]
    times: int | Sequence[int] | None

    def offset_at(self, row: int) -> int:
        return self.batch.offset_at(self.indexes[row])

    def timestamps(self) -> Sequence[int | None]:
        stamps = self.batch.timestamps()
        return stamps if len(self.indexes) == len(stamps) else [stamps[index] for index in self.indexes]

    def time_at(self, row: int) -> int | None:
        return self.times if isinstance(self.times, int | None) else self.times[self.indexes[row]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A converted batch: where each record goes. `excluded`: those that go nowhere."""

    batch: RecordBatch
    columns: tuple[Rows, ...]
    paths: Paths
    excluded: Mapping[int, Excluded]
    keys: GroupKey | Sequence[GroupKey | None]

    def chunks(self, stop: int) -> Iterator[tuple[GroupKey, Chunk]]:
        """The records below `stop`, those of one object group together."""
        times = self.paths.times
        if isinstance(self.keys, GroupKey):
            for start, end in runs(self.excluded, stop):
                parts = tuple(column.part(start, end) for column in self.columns)
                yield self.keys, Chunk(self.batch, parts, range(start, end), times)
            return
        for key, group in self.together(stop).items():
            yield key, self.picked(key, group)

    def together(self, stop: int) -> dict[GroupKey, list[int]]:
        """The records of each group, where there may be several."""
        assert not isinstance(self.keys, GroupKey)
        found: dict[GroupKey, list[int]] = {}
        for index in self.kept(stop):
            found.setdefault(self.keys[index], []).append(index)  # type: ignore[arg-type]  # none of them is excluded
        return found

    def kept(self, stop: int) -> Sequence[int]:
        """The records below `stop` that go somewhere."""
        return [index for index in range(stop) if index not in self.excluded] if self.excluded else range(stop)

    def picked(self, key: GroupKey, group: Sequence[int]) -> Chunk:
        columns = tuple(self.columns[number].pick(group) for number in key.kind.columns)
        return Chunk(self.batch, columns, group, self.paths.times)


def note(encoder: ObjectEncoder, chunk: Chunk, stamps: Sequence[int | None], start: int, stop: int) -> None:
    """Tell a format with an index the offsets and timestamps of the rows that it gets next."""
    assert isinstance(encoder, EncoderWithCompanions), "a format with `beside` has such encoders"
    encoder.note(_Offsets(chunk, start, stop), stamps[start:stop])


def rehearse(key: GroupKey, chunk: Chunk, columns: Sequence[Any], *, measured: bool) -> None:
    """Write rows into objects that nobody gets: it raises what the real ones would raise over these rows.

    `measured`: objects close by their size, so that formats are asked for it.
    """
    count = len(chunk.indexes)
    for number, (made, target, rows) in enumerate(zip(key.kind.formats, key.targets, columns, strict=True)):
        encoder = made.open(target)
        if not number and key.kind.has_index:
            note(encoder, chunk, chunk.timestamps(), 0, count)
        if not number and measured:
            encoder.rows_until(rows, 0, count, 1 << 62)
        encoder.encode(rows, 0, count)
        encoder.finish()


@dataclass(frozen=True, slots=True)
class _Offsets(Sequence[int]):
    """The offsets of rows `[start, stop)`, made when they are asked for."""

    chunk: Chunk
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @overload
    def __getitem__(self, row: int) -> int: ...
    @overload
    def __getitem__(self, row: slice) -> list[int]: ...
    def __getitem__(self, row: int | slice) -> int | list[int]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        return self.chunk.offset_at(self.start + row if row >= 0 else self.stop + row)


def runs(excluded: Mapping[int, object], stop: int) -> Iterator[tuple[int, int]]:
    """The runs of indexes below `stop` between those that are excluded."""
    start = 0
    for index in (*sorted(index for index in excluded if index < stop), stop):
        if index > start:
            yield start, index
        start = index + 1
