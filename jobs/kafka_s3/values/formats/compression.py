"""Compressed streams that are the same bytes for the same input, however it was cut into pieces.

ISA-L's output depends on the sizes it is fed, so input is collected and fed in blocks of BLOCK bytes. gzip headers
carry no time and no name.
"""

from __future__ import annotations

import zlib
from typing import Final, Protocol, assert_never

from isal import isal_zlib

from kafka_s3.settings.formats import Compression, Gzip, NoCompression

BLOCK: Final = 256 * 1024
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


def open_stream(compression: Compression) -> Compressor:
    """A new stream: ISA-L at the default level, zlib at an explicit one (`s3.compression.level`)."""
    match compression:
        case NoCompression():
            return _Plain()
        case Gzip(level=None):
            return _Blocks(isal_zlib.compressobj(_ISAL_LEVEL, isal_zlib.DEFLATED, _GZIP_WINDOW))
        case Gzip(level=level):
            assert level is not None
            return _Blocks(zlib.compressobj(level, zlib.DEFLATED, _GZIP_WINDOW))
        case _ as never:
            assert_never(never)


def extension_suffix(compression: Compression) -> str:
    """What the compression adds to a file's extension."""
    return ".gz" if isinstance(compression, Gzip) else ""
