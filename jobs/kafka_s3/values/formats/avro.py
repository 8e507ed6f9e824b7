"""AvroFormat: Avro's object container files.

    "Obj" 1, the schema and the codec, a marker of 16 bytes
    blocks of: how many records, how many bytes, the records in Avro's binary form and compressed, the marker

A file's bytes follow from its records alone. The marker is made of schema and codec rather than by chance, a block
closes with the record that fills it, and each is compressed by one call.

Memory: one block, and what one call of `encode` was given. A block is less than BLOCK bytes and one record.
"""

from __future__ import annotations

import bisect
import bz2
import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, assert_never

from isal import isal_zlib

from kafka_s3.avro.joined_rows import sizes_of, together
from kafka_s3.avro.model import Schema
from kafka_s3.settings.formats import AvroCodec
from kafka_s3.values.rows import Structs

BLOCK: Final = 64 * 1024
_RAW_DEFLATE: Final = -15
# CPU-seconds per million records of 123 bytes and the ratio: level 1 0.18, 2.70; 2 0.20, 2.69; zlib 6 2.0, 2.59.
_ISAL_LEVEL: Final = 1
# The same: level 1 0.19, 2.91; 3 0.27, 2.85; 6 0.83, 2.74.
_ZSTD_LEVEL: Final = 1
_BZIP2_LEVEL: Final = 9

Compress = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """Container files with a codec."""

    codec: AvroCodec
    extension: str = ".avro"

    def open(self, schema: Schema | None) -> AvroEncoder:
        assert schema is not None, "values without a schema reached AvroFormat"
        return AvroEncoder(schema, self.codec)


class AvroEncoder:
    """One container file."""

    def __init__(self, schema: Schema, codec: AvroCodec) -> None:
        self._schema = schema
        self._compress = _compressor(codec)
        head = _header(schema.text, codec)
        self._marker = hashlib.sha256(head).digest()[:16]
        self._head = head + self._marker
        # The block that is open: its records' bytes, how many they are, and how far it is filled.
        self._open: list[bytes] = []
        self._count = 0
        self._filled = 0
        self._ahead: tuple[Structs, int, Sequence[bytes]] | None = None

    def encode(self, rows: Structs, start: int, stop: int) -> tuple[bytes, int]:
        datums = self._datums(rows, start, stop)
        self._ahead = None
        sizes = _sizes(datums)
        ends = list(itertools.accumulate(sizes))
        out = [self._head]
        self._head = b""
        first, before = 0, 0
        while (last := bisect.bisect_left(ends, BLOCK - self._filled + before, lo=first)) < len(ends):
            self._open.append(together(datums, first, last + 1))
            self._count += last + 1 - first
            out += self._block()
            first, before = last + 1, ends[last]
        if first < len(datums):
            self._open.append(together(datums, first, len(datums)))
            self._count += len(datums) - first
            self._filled += ends[-1] - before
        return b"".join(out), ends[-1] if ends else 0

    def rows_until(self, rows: Structs, start: int, stop: int, room: int) -> int | None:
        datums = self._datums(rows, start, stop)
        self._ahead = rows, start, datums
        ends = list(itertools.accumulate(_sizes(datums)))
        return bisect.bisect_left(ends, room) + 1 if ends and ends[-1] >= room else None

    def finish(self) -> bytes:
        assert not self._head, "an object without records"
        return b"".join(self._block()) if self._count else b""

    def _datums(self, rows: Structs, start: int, stop: int) -> Sequence[bytes]:
        """Of rows `[start, stop)`; those that `rows_until` was just asked about are made once."""
        if self._ahead is not None:
            asked, at, datums = self._ahead
            if asked is rows and at == start and len(datums) >= stop - start:
                return datums[: stop - start]
        return rows.part(start, stop).datums(self._schema)

    def _block(self) -> list[bytes]:
        data = self._compress(b"".join(self._open))
        block = [_long(self._count), _long(len(data)), data, self._marker]
        self._open, self._count, self._filled = [], 0, 0
        return block


def _sizes(datums: Sequence[bytes]) -> list[int]:
    """The records' bytes; one for a record of none (a null), so that a file of these has limits too."""
    sizes = sizes_of(datums)
    return [size or 1 for size in sizes] if 0 in sizes else sizes


def _header(schema: str, codec: AvroCodec) -> bytes:
    entries = [(b"avro.codec", codec.value.encode()), (b"avro.schema", schema.encode())]
    pairs = b"".join(_long(len(each)) + each for entry in entries for each in entry)
    return b"Obj\x01" + _long(len(entries)) + pairs + _long(0)


def _long(value: int) -> bytes:
    """Avro's form of a number that is not negative.

    >>> _long(0), _long(63), _long(64)
    (b'\\x00', b'~', b'\\x80\\x01')
    """
    rest = value << 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _compressor(codec: AvroCodec) -> Compress:
    match codec:
        case AvroCodec.NULL:
            return bytes
        case AvroCodec.DEFLATE:
            return partial(isal_zlib.compress, level=_ISAL_LEVEL, wbits=_RAW_DEFLATE)
        case AvroCodec.SNAPPY:
            return partial(_snappy, _arrow_codec("snappy"))
        case AvroCodec.BZIP2:
            return partial(bz2.compress, compresslevel=_BZIP2_LEVEL)
        case AvroCodec.ZSTANDARD:
            return _arrow_codec("zstd", _ZSTD_LEVEL)
        case _ as never:
            assert_never(never)


def _arrow_codec(name: str, level: int | None = None) -> Compress:
    import pyarrow as pa  # only for these codecs: it is large

    return partial(pa.Codec(name, compression_level=level).compress, asbytes=True)


def _snappy(compress: Compress, data: bytes) -> bytes:
    """Avro ends a snappy block with the CRC-32 of what is in it."""
    return compress(data) + isal_zlib.crc32(data).to_bytes(4, "big")
