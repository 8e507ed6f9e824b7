"""What a container file of Avro holds: its schema, what else is said in its header, and its records in their order.

How they were parted into blocks, and how these were compressed, says nothing.
"""

from __future__ import annotations

import bz2
import hashlib
import zlib
from collections.abc import Iterator
from typing import Any, Final

from kafka_s3.settings.formats import AvroCodec
from kafka_s3.values.formats.content_digest import ContentDigest, Unreadable
from kafka_s3.values.formats.expansion import PIECE

_MAGIC: Final = b"Obj\x01"
_MARKER: Final = 16
_RAW_DEFLATE: Final = -15
_HEADER_MAX: Final = 64 * PIECE
#: A header is read from its beginning until it is there as a whole, so it has few entries: a codec, a schema.
_ENTRIES_MAX: Final = 1_000
#: A block is less than 64 KiB and one record.
_BLOCK_MAX: Final = 512 * PIECE
_LONG_BYTES: Final = 10


class _More(Exception):
    """The next part is not there as a whole."""


class AvroDigest(ContentDigest):
    """One container file, parsed block by block."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._at = 0
        self._codec: AvroCodec | None = None
        self._marker = b""
        self._records = 0
        self._digest = hashlib.sha256()

    def feed(self, data: bytes) -> None:
        self._bytes += data
        while self._at < len(self._bytes):
            before = self._at
            try:
                self._part()
            except _More:
                self._at = before
                break
        del self._bytes[: self._at]
        self._at = 0

    def digest(self) -> str:
        if self._codec is None or self._bytes:
            raise Unreadable("the container file ends within its header or a block")
        self._digest.update(b"%d records" % self._records)
        return self._digest.hexdigest()

    def _part(self) -> None:
        if self._codec is None:
            self._header()
            return
        count, size = self._long(), self._long()
        if count < 0 or not 0 <= size <= _BLOCK_MAX:
            raise Unreadable(f"a block says that it has {count} records in {size} bytes")
        data = self._take(size)
        if self._take(_MARKER) != self._marker:
            raise Unreadable("a block does not end with the file's marker")
        self._records += count
        for piece in _inflated(self._codec, data):
            self._digest.update(piece)

    def _header(self) -> None:
        if len(self._bytes) > _HEADER_MAX:
            raise Unreadable(f"a header of more than {_HEADER_MAX} bytes is not compared")
        if self._take(len(_MAGIC)) != _MAGIC:
            raise Unreadable("no container file of Avro")
        said: dict[bytes, bytes] = {}
        entries = 0
        while count := self._long():
            if count < 0:
                count = -count
                self._long()
            entries += count
            if entries > _ENTRIES_MAX:
                raise Unreadable(f"a header of more than {_ENTRIES_MAX} entries is not compared")
            for _ in range(count):
                name = self._take(self._long())
                said[name] = self._take(self._long())
        self._marker = self._take(_MARKER)
        codec = said.pop(b"avro.codec", b"null").decode("utf-8", "replace")
        try:
            self._codec = AvroCodec(codec)
        except ValueError:
            raise Unreadable("a codec that this engine does not write") from None
        for name, value in sorted(said.items()):
            self._digest.update(b"%d %d " % (len(name), len(value)) + name + value)

    def _take(self, size: int) -> bytes:
        if size < 0:
            raise Unreadable("a length below zero")
        if self._at + size > len(self._bytes):
            raise _More
        taken = bytes(self._bytes[self._at : self._at + size])
        self._at += size
        return taken

    def _long(self) -> int:
        number = 0
        for place in range(_LONG_BYTES):
            byte = self._take(1)[0]
            number |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
        raise Unreadable("a number that is longer than 10 bytes")


def _inflated(codec: AvroCodec, data: bytes) -> Iterator[bytes]:
    match codec:
        case AvroCodec.NULL:
            yield data
        case AvroCodec.DEFLATE:
            yield from _deflate(data)
        case AvroCodec.BZIP2:
            yield from _bzip2(data)
        case AvroCodec.SNAPPY:
            yield _snappy(data)
        case AvroCodec.ZSTANDARD:
            yield from _zstandard(data)


def _deflate(data: bytes) -> Iterator[bytes]:
    inflate = zlib.decompressobj(_RAW_DEFLATE)
    try:
        while data and not inflate.eof:
            yield inflate.decompress(data, PIECE)
            data = inflate.unconsumed_tail
        yield inflate.flush()
    except zlib.error as error:
        raise Unreadable(f"a block that is not deflate: {error}") from None
    if not inflate.eof or inflate.unused_data:
        raise Unreadable("a block whose deflate stream does not end where the block does")


def _bzip2(data: bytes) -> Iterator[bytes]:
    inflate = bz2.BZ2Decompressor()
    try:
        while not inflate.eof:
            piece = inflate.decompress(data, PIECE)
            data = b""
            if not piece and inflate.needs_input:
                break
            yield piece
    except OSError as error:
        raise Unreadable(f"a block that is not bzip2: {error}") from None
    if not inflate.eof or inflate.unused_data:
        raise Unreadable("a block whose bzip2 stream does not end where the block does")


def _snappy(data: bytes) -> bytes:
    import pyarrow as pa  # only for these codecs: it is large

    body, crc = data[:-4], data[-4:]
    size = 0
    for place, byte in enumerate(body[:5]):  # snappy's own length
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    if size > _BLOCK_MAX:
        raise Unreadable(f"a block of more than {_BLOCK_MAX} bytes is not compared")
    try:
        plain: Any = pa.Codec("snappy").decompress(body, decompressed_size=size, asbytes=True)
    except (pa.ArrowException, OSError) as error:
        raise Unreadable(f"a block that is not snappy: {error}") from None
    if zlib.crc32(plain).to_bytes(4, "big") != crc:
        raise Unreadable("a snappy block whose checksum is another")
    return bytes(plain)


def _zstandard(data: bytes) -> Iterator[bytes]:
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            while piece := stream.read(PIECE):
                yield piece
    except (pa.ArrowException, OSError) as error:
        raise Unreadable(f"a block that is not zstandard: {error}") from None
