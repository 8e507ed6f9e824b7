"""Compressed streams that are the same bytes for the same input, however it was cut into pieces.

ISA-L's output depends on the sizes it is fed, so input is collected and fed in blocks of BLOCK bytes. gzip headers
carry no time and no name.

The other codecs compress each block by itself, so that a stream holds no more than one block in memory, and its bytes
follow from the block alone: frames of zstd and streams of bzip2, one after the other, which every reader takes for one
file, and blocks of snappy and lz4 in Hadoop's framing. That is what readers expect that choose a codec by the extension
(Hadoop's BlockDecompressorStream in Spark and Hive, Trino and Athena): the frame formats of snappy and lz4 have no
codec there, and DuckDB and polars read neither.

    block of snappy and lz4: its size before compression, its size after it (4 bytes each, big endian), its bytes

Memory: a block of input and one of output.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, assert_never

from isal import isal_zlib

from kafka_s3.settings.formats import Bzip2, Compression, Gzip, Lz4, NoCompression, Snappy, Zstd

BLOCK: Final = 256 * 1024
#: Of zstd, snappy and lz4: below the 218,422 bytes that Hadoop's own writers put into a block, whose readers have
#: buffers of 256 KiB; zstd compresses records of 200 bytes no better in frames of 1 MiB.
FRAME: Final = 128 * 1024
BZIP2_UNIT: Final = 100_000  # of a block, for each level: a stream of ours has one block, or two after long runs
ZSTD_LEVEL: Final = 3  # zstd's own default; pyarrow's is 1
BZIP2_LEVEL: Final = 9
_GZIP_WINDOW: Final = 31  # 15 bits of window, +16: a gzip header and trailer
_EMPTY_BLOCK: Final = b"\x00\x00\x00\xff\xff"  # RFC 1951, 3.2.4: not the last one, stored, of 0 bytes
_ISAL_LEVEL: Final = 1  # smaller output than level 2 here, and cheaper (0.47 s a million records against 0.54 s)


class Compressor(Protocol):
    """One stream. `finish` ends it; nothing may follow."""

    def compress(self, data: bytes) -> bytes: ...
    def pad(self, size: int) -> bytes:
        """What was taken so far, and that many bytes at least which hold nothing, where the format has such."""

    def finish(self) -> bytes: ...


class _Plain:
    def compress(self, data: bytes) -> bytes:
        return data

    def pad(self, size: int) -> bytes:  # noqa: ARG002  # plain bytes have none
        return b""

    def finish(self) -> bytes:
        return b""


class _Deflate(Protocol):
    def compress(self, data: memoryview, /) -> bytes: ...
    def flush(self, mode: int = ..., /) -> bytes: ...


class _Blocks:
    """Feeds a deflate stream in whole blocks."""

    def __init__(self, stream: _Deflate) -> None:
        self._stream = stream
        self._rest = b""

    def compress(self, data: bytes) -> bytes:
        data = self._rest + data if self._rest else data
        whole = len(data) - len(data) % BLOCK
        view = memoryview(data)
        out = [self._stream.compress(view[at : at + BLOCK]) for at in range(0, whole, BLOCK)]
        self._rest = bytes(view[whole:])
        return b"".join(out)

    def pad(self, size: int) -> bytes:
        # After a sync flush the stream stands at a whole byte, where stored blocks of nothing may follow.
        rest, self._rest = self._rest, b""
        taken = self._stream.compress(memoryview(rest)) + self._stream.flush(zlib.Z_SYNC_FLUSH)
        return taken + _EMPTY_BLOCK * (-(-size // len(_EMPTY_BLOCK)))

    def finish(self) -> bytes:
        return self._stream.compress(memoryview(self._rest)) + self._stream.flush()


class _Frames:
    """Blocks that are compressed each by itself."""

    def __init__(self, size: int, frame: Callable[[bytes], bytes]) -> None:
        self._size = size
        self._frame = frame
        self._rest = b""

    def compress(self, data: bytes) -> bytes:
        data = self._rest + data if self._rest else data
        size, frame = self._size, self._frame
        whole = len(data) - len(data) % size
        out = [frame(data[at : at + size]) for at in range(0, whole, size)]
        self._rest = data[whole:]
        return b"".join(out)

    def pad(self, size: int) -> bytes:  # noqa: ARG002  # these have none
        return b""

    def finish(self) -> bytes:
        return self._frame(self._rest) if self._rest else b""


def _arrow(name: str, level: int | None = None) -> Callable[[bytes], bytes]:
    import pyarrow as pa  # only for these codecs: it is large

    return partial(pa.Codec(name, compression_level=level).compress, asbytes=True)


def _in_hadoops_frame(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    def frame(block: bytes) -> bytes:
        packed = compress(block)
        return b"".join((len(block).to_bytes(4, "big"), len(packed).to_bytes(4, "big"), packed))

    return frame


def open_stream(compression: Compression) -> Compressor:
    """A new stream: at a codec's default level, or at an explicit one (`s3.compression.level`).

    Of gzip the default is ISA-L, the others are zlib's.
    """
    match compression:
        case NoCompression():
            return _Plain()
        case Gzip(level=None):
            return _Blocks(isal_zlib.compressobj(_ISAL_LEVEL, isal_zlib.DEFLATED, _GZIP_WINDOW))
        case Gzip(level=level):
            assert level is not None
            return _Blocks(zlib.compressobj(level, zlib.DEFLATED, _GZIP_WINDOW))
        case Zstd(level=level):
            return _Frames(FRAME, _arrow("zstd", ZSTD_LEVEL if level is None else level))
        case Snappy():
            return _Frames(FRAME, _in_hadoops_frame(_arrow("snappy")))
        case Lz4(level=level):
            return _Frames(FRAME, _in_hadoops_frame(_arrow("lz4_raw", level)))
        case Bzip2(level=level):
            level = BZIP2_LEVEL if level is None else level
            return _Frames(level * BZIP2_UNIT, partial(bz2.compress, compresslevel=level))
        case _ as never:
            assert_never(never)


def extension_suffix(compression: Compression) -> str:
    """What the compression adds to a file's extension; readers choose the codec by it."""
    match compression:
        case NoCompression():
            return ""
        case Gzip():
            return ".gz"
        case Zstd():
            return ".zst"
        case Snappy():
            return ".snappy"
        case Lz4():
            return ".lz4"
        case Bzip2():
            return ".bz2"
        case _ as never:
            assert_never(never)


#: Every codec by what it adds to an extension; what was compressed at one level is expanded as at any other.
BY_SUFFIX: Final[dict[str, Compression]] = {
    extension_suffix(each): each for each in (Gzip(), Zstd(), Snappy(), Lz4(), Bzip2())
}


def without_suffix(extension: str) -> tuple[str, Compression]:
    """An extension without what a compression adds, and that compression.

    >>> without_suffix(".json.zst"), without_suffix(".json")
    (('.json', Zstd(level=None)), ('.json', NoCompression()))
    """
    for suffix, compression in BY_SUFFIX.items():
        if extension.endswith(suffix):
            return extension.removesuffix(suffix), compression
    return extension, NoCompression()


def name_of(compression: Compression) -> str:
    """What people call it: the word in the configuration."""
    return type(compression).__name__.lower()
