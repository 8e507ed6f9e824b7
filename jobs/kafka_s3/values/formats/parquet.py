"""ParquetFormat: the fields of a record as columns.

A file's bytes follow from its records alone, on one version of pyarrow: a row group closes with the record that fills
it, and each of its columns is written from one piece.

Memory of an open object: `row_group_bytes` of columns, the same again while a row group is put together, its encoded
columns, and one piece of a batch.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_s3.avro.arrow import arrow_type, may_be_null
from kafka_s3.avro.graph import avro_of, graph
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.avro.nodes import Node, Record
from kafka_s3.settings.formats import ParquetCodec
from kafka_s3.values.rows import Structs

#: Offsets into a column's text are 32 bits: what fills a row group and one record of any size stay below.
ROW_GROUP_BYTES_MAX: Final = 1 << 30
_PIECE_BYTES: Final = 64 << 20  # of a batch, at once
_LOOSE_MAX: Final = 128  # arrays that are kept as they came; each has some hundred bytes for every column
_PAGE_BYTES: Final = 1 << 20  # the same ratio as 64 KiB, and a little cheaper
#: parquet-avro, which Connect's sink writes with, keeps the Avro schema there and reads it from there.
_AVRO_SCHEMA: Final = "parquet.avro.schema"


@dataclass(frozen=True, slots=True)
class _Codec:
    extension: str
    name: str
    level: int | None = None


# CPU-seconds per million records of 133 bytes and the ratio: gzip 1 1.5, 2.63; 6 3.0, 2.76; brotli 1 0.55, 2.95;
# 6 2.5, 3.09; zstd 1 0.37, 3.23; 3 0.50, 3.04; snappy 0.31, 1.82.
_CODECS: Final[Mapping[ParquetCodec, _Codec]] = {
    ParquetCodec.NONE: _Codec(".parquet", "none"),
    ParquetCodec.SNAPPY: _Codec(".snappy.parquet", "snappy"),
    ParquetCodec.GZIP: _Codec(".gz.parquet", "gzip", 1),
    ParquetCodec.BROTLI: _Codec(".br.parquet", "brotli", 1),
    ParquetCodec.ZSTD: _Codec(".zstd.parquet", "zstd", 1),
    ParquetCodec.LZ4_RAW: _Codec(".lz4raw.parquet", "lz4"),  # as Arrow calls Parquet's LZ4_RAW
}


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Parquet files with a codec.

    A record's fields are the columns; any other value is the only one, which is called `wrap`.
    """

    codec: ParquetCodec
    row_group_bytes: int
    wrap: str = "value"

    @property
    def extension(self) -> str:
        return _CODECS[self.codec].extension

    def open(self, schema: Schema | None) -> ParquetEncoder:
        assert schema is not None, "values without a schema reached ParquetFormat"
        return ParquetEncoder(schema, self.codec, self.row_group_bytes, self.wrap)


class ParquetEncoder:
    """One Parquet file; `ColumnsError` if its schema has no columns."""

    def __init__(self, schema: Schema, codec: ParquetCodec, row_group_bytes: int, wrap: str) -> None:
        self._schema = schema
        self._wrapped = not _has_fields(graph(schema))
        self._type = arrow_type(schema)
        field = pa.field(wrap, self._type, nullable=may_be_null(schema))
        self._columns = pa.schema([field] if self._wrapped else list(self._type))
        self._sink = _Sink()
        self._writer = pq.ParquetWriter(
            self._sink,
            self._columns,
            compression=_CODECS[codec].name,
            compression_level=_CODECS[codec].level,
            data_page_size=_PAGE_BYTES,
            store_schema=False,  # Parquet's own types say all of it, to every reader
        )
        record = _wrapper(schema, wrap) if self._wrapped else schema
        self._writer.add_key_value_metadata({_AVRO_SCHEMA: record.text})
        self._row_group_bits = 8 * min(row_group_bytes, ROW_GROUP_BYTES_MAX)
        self._merged: list[Any] = []
        self._loose: list[Any] = []
        self._bits = 0

    def encode(self, rows: Structs, start: int, stop: int) -> tuple[bytes, int]:
        part = rows.part(start, stop)
        ends = list(itertools.accumulate(part.sizes()))
        for first, last in _pieces(ends):
            self._add((part if last - first == len(ends) else part.part(first, last)).arrow(self._schema))
        return self._sink.drain(), ends[-1] if ends else 0

    def rows_until(self, rows: Structs, start: int, stop: int, room: int) -> int | None:
        ends = list(itertools.accumulate(rows.part(start, stop).sizes()))
        return bisect.bisect_left(ends, room) + 1 if ends and ends[-1] >= room else None

    def finish(self) -> bytes:
        if self._bits:
            self._close_row_group()
        self._writer.close()
        return self._sink.drain()

    def _add(self, array: Any) -> None:
        assert array.type == self._type, f"rows of {array.type} in an object of {self._type}"
        while len(array):
            room = self._row_group_bits - self._bits
            bits = _bits(array)
            if bits < room:
                return self._keep(array, bits)
            count = _rows_that_fill(array, room)
            self._keep(array.slice(0, count), room)
            self._close_row_group()
            array = array.slice(count)
        return None

    def _keep(self, array: Any, bits: int) -> None:
        self._bits += bits
        self._loose.append(array)
        if len(self._loose) == _LOOSE_MAX:
            self._merged.append(pa.concat_arrays(self._loose))
            self._loose = []

    def _close_row_group(self) -> None:
        array = pa.concat_arrays([*self._merged, *self._loose])
        self._merged, self._loose, self._bits = [], [], 0
        if self._wrapped:
            columns = [array]
        else:
            assert not array.null_count, "a record that is null has no columns: it is a tombstone"
            columns = [array.field(index) for index in range(len(self._columns))]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._columns), row_group_size=len(array))


class _Sink:
    """A file that the writer fills and we empty."""

    closed = False

    def __init__(self) -> None:
        self._written: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """There is nowhere to flush it to."""

    def close(self) -> None:
        self.closed = True

    def drain(self) -> bytes:
        written, self._written = self._written, []
        return b"".join(written)


def _has_fields(node: Node) -> bool:
    """Whether a value's fields are the columns: it is a record, or nothing (which is a tombstone, not a row)."""
    return isinstance(node, Record) or (node.nullable and isinstance(node.optional, Record))


def _wrapper(schema: Schema, wrap: str) -> Schema:
    """The record that a column around other values makes, called as Connect calls it: RecordKey{key}."""
    name = f"Record{wrap[:1].upper()}{wrap[1:]}"
    return schema_of({"type": "record", "name": name, "fields": [{"name": wrap, "type": avro_of(graph(schema))}]})


def _pieces(ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of rows of at most `_PIECE_BYTES`, or of one row; `ends` are their accumulated sizes."""
    first, before = 0, 0
    while first < len(ends):
        last = max(bisect.bisect_right(ends, before + _PIECE_BYTES, lo=first), first + 1)
        yield first, last
        first, before = last, ends[last - 1]


def _bits(array: Any) -> int:
    """What an array's rows take in memory, as a sum over its rows: however they are cut, the sum is the same.

    A leaf counts at least four bytes, which is what writing it takes, and every value has a bit for its validity.
    """
    count = len(array)
    if not count:
        return 0
    kind = array.type
    if pa.types.is_struct(kind):
        return count + sum(_bits(array.field(index)) for index in range(kind.num_fields))
    if pa.types.is_map(kind):
        first, last = _ends(array)
        return 33 * count + _bits(array.keys.slice(first, last - first)) + _bits(array.items.slice(first, last - first))
    if pa.types.is_list(kind):
        first, last = _ends(array)
        return 33 * count + _bits(array.values.slice(first, last - first))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        first, last = _ends(array)
        return 33 * count + 8 * (last - first)
    return count * (1 + (32 if pa.types.is_null(kind) else max(kind.bit_width, 32)))


def _rows_that_fill(array: Any, room: int) -> int:
    """The fewest rows that take `room` bits or more; all of them do."""
    return 1 + bisect.bisect_left(range(1, len(array)), room, key=lambda count: _bits(array.slice(0, count)))


def _ends(array: Any) -> tuple[int, int]:
    """Where the items of an array's first row begin and those of its last one end."""
    offsets = memoryview(array.buffers()[1]).cast("i")
    return offsets[array.offset], offsets[array.offset + len(array)]
