"""Block-GZIP: lines in gzip members of a bounded size, and an index of them.

An object is whole gzip members, one after the other: any gzip tool reads it as one stream of lines, and one member
can be fetched and read by itself. A member closes in front of the line that would make it larger than `block_bytes`,
so one record that is larger is a member of its own. What closes it are the records alone, so a retry, which cuts them
elsewhere, writes the same bytes.

Memory: what a compressor holds, and 360 bytes for each member that is closed, 860 while the index is made. There are
at most `2 * uncompressed bytes of the object / block_bytes + 1` members, and never more than records.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, cast

from kafka_s3.avro.model import Schema
from kafka_s3.settings.formats import Gzip
from kafka_s3.values.formats.block_index import BlockIndex, Chunk
from kafka_s3.values.formats.companions import EncoderWithCompanions, FormatWithCompanions
from kafka_s3.values.formats.compression import open_stream
from kafka_s3.values.rows import Lines

SEPARATOR: Final = b"\n"
BLOCK_BYTES: Final = 67_108_864
_GZIP: Final = Gzip()


@dataclass(frozen=True, slots=True)
class BlockGzipFormat(FormatWithCompanions):
    """An `ObjectFormat` whose encoders are told offsets (`note`) and have something to put beside the object."""

    block_bytes: int = BLOCK_BYTES
    compression: Gzip = _GZIP
    companion_extensions: ClassVar[Mapping[str, str]] = {"index": ".index.json"}

    def __post_init__(self) -> None:
        assert self.block_bytes > 0

    @property
    def extension(self) -> str:
        return ".gz"

    def open(self, schema: Schema | None) -> BlockGzipEncoder:  # noqa: ARG002  # lines are of any schema
        return BlockGzipEncoder(self.block_bytes, self.compression)


class BlockGzipEncoder(EncoderWithCompanions):
    """One object. Before rows are encoded their offsets are noted; after `finish`, `companions` has the index."""

    def __init__(self, block_bytes: int, compression: Gzip) -> None:
        self._block_bytes = block_bytes
        self._compression = compression
        self._offsets: Sequence[int] = ()
        self._timestamps: Sequence[int | None] | None = None
        self._chunks: list[Chunk] = []
        self._member = _Member(compression, 0)

    def note(self, offsets: Sequence[int], timestamps: Sequence[int | None] | None) -> None:
        """Only offsets at the edges of members are looked at: a view that makes them when asked is cheap."""
        assert timestamps is None or len(timestamps) == len(offsets)
        self._offsets, self._timestamps = offsets, timestamps

    def encode(self, rows: Lines, start: int, stop: int) -> tuple[bytes, int]:
        assert len(self._offsets) == stop - start, f"{len(self._offsets)} offsets noted for {stop - start} rows"
        data = rows.join(start, stop, SEPARATOR) if stop > start else b""
        if self._member.plain_size + len(data) <= self._block_bytes:
            encoded = self._append(data, 0, stop - start)
        else:
            encoded = self._append_split(data, _ends(rows, start, stop))
        self._offsets = ()  # of these rows: whoever forgets to note the next ones is told
        return encoded, len(data)

    def rows_until(self, rows: Lines, start: int, stop: int, room: int) -> int | None:
        ends = _ends(rows, start, stop)
        return bisect.bisect_left(ends, room) + 1 if ends and ends[-1] >= room else None

    def finish(self) -> bytes:
        return self._close()

    def companions(self) -> Mapping[str, bytes]:
        return {"index": BlockIndex.of(self._chunks).encode()}

    def _append_split(self, data: bytes, ends: Sequence[int]) -> bytes:
        """Rows that do not all fit into the open member; row i's line ends at `ends[i]` of `data`."""
        encoded = []
        row = begin = 0
        while row < len(ends):
            stop = bisect.bisect_right(ends, begin + self._block_bytes - self._member.plain_size, lo=row)
            if stop == row and self._member.records:
                encoded.append(self._next_member())
                continue
            stop = max(stop, row + 1)  # one line that is larger than a member may be
            encoded.append(self._append(data[begin : ends[stop - 1]], row, stop))
            row, begin = stop, ends[stop - 1]
        return b"".join(encoded)

    def _append(self, data: bytes, start: int, stop: int) -> bytes:
        """The noted rows `[start, stop)` go into the open member."""
        if start == stop:
            return b""
        timestamps = self._timestamps
        if timestamps is not None and (start, stop) != (0, len(timestamps)):
            timestamps = timestamps[start:stop]
        return self._member.append(data, stop - start, self._offsets[start], self._offsets[stop - 1], timestamps)

    def _next_member(self) -> bytes:
        last = self._close()
        self._member = _Member(self._compression, self._member.end)
        return last

    def _close(self) -> bytes:
        """Closes the open member. That of an object without records has no chunk, but makes it a gzip file."""
        last = self._member.close()
        if self._member.records:
            self._chunks.append(self._member.chunk())
        return last


class _Member:
    """One gzip member, from `byte_offset` of the object on."""

    def __init__(self, compression: Gzip, byte_offset: int) -> None:
        self._stream = open_stream(compression)
        self._byte_offset = byte_offset
        self.end = byte_offset  # what of it is out
        self.plain_size = 0
        self.records = 0
        self._first_offset = self._last_offset = -1
        self._min_ms: int | None = None
        self._max_ms: int | None = None
        self._all_dated = True
        self._crc32 = 0

    def append(
        self, data: bytes, records: int, first_offset: int, last_offset: int, timestamps: Sequence[int | None] | None
    ) -> bytes:
        assert self._last_offset < first_offset <= last_offset - records + 1, (
            f"{records} records of offsets {first_offset} to {last_offset} do not follow {self._last_offset}"
        )
        if not self.records:
            self._first_offset = first_offset
        self._last_offset = last_offset
        self.records += records
        self.plain_size += len(data)
        if timestamps is not None:
            self._see(timestamps)
        encoded = self._stream.compress(data)
        self.end += len(encoded)
        return encoded

    def _see(self, timestamps: Sequence[int | None]) -> None:
        try:
            earliest, latest = _extremes(cast("Sequence[int]", timestamps))
        except TypeError:  # to look for None beforehand costs half as much again, and is rarely there
            self._all_dated = False
            return
        self._min_ms = earliest if self._min_ms is None else min(self._min_ms, earliest)
        self._max_ms = latest if self._max_ms is None else max(self._max_ms, latest)

    def close(self) -> bytes:
        last = self._stream.finish()
        self.end += len(last)
        # gzip's trailer: the checksum of what went in, and its size modulo 2^32
        self._crc32 = int.from_bytes(last[-8:-4], "little")
        assert int.from_bytes(last[-4:], "little") == self.plain_size % 2**32
        return last

    def chunk(self) -> Chunk:
        return Chunk(
            byte_length_uncompressed=self.plain_size,
            num_records=self.records,
            byte_length=self.end - self._byte_offset,
            byte_offset=self._byte_offset,
            first_record_offset=self._first_offset,
            last_record_offset=self._last_offset,
            next_offset=self._last_offset + 1,
            min_timestamp=self._min_ms if self._all_dated else None,
            max_timestamp=self._max_ms if self._all_dated else None,
            crc32=self._crc32,
        )


def _ends(rows: Lines, start: int, stop: int) -> list[int]:
    """Where each line ends, its separator included, counted from the first one's beginning."""
    return list(itertools.accumulate(len(line) + len(SEPARATOR) for line in rows.lines[start:stop]))


def _extremes(timestamps: Sequence[int]) -> tuple[int, int]:
    """The earliest and the latest; `TypeError` if one is `None`."""
    earliest, latest = min(timestamps), max(timestamps)
    if earliest is None:  # it was the only one, so it met no other
        raise TypeError
    return earliest, latest
