"""Compressed streams back to what they hold, piece by piece, whoever made them.

Of zstd, snappy and lz4 only frames are read that say how much they hold, at most FRAME_MAX bytes: this exporter writes
no others, and a small object that expands to more fills no memory.

Memory: a piece of 1 MiB and, of these three, one frame.
"""

from __future__ import annotations

import bz2
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Final, Protocol, assert_never

from kafka_s3.settings.formats import Bzip2, Compression, Gzip, Lz4, NoCompression, Snappy, Zstd

PIECE: Final = 1024 * 1024
FRAME_MAX: Final = PIECE
#: Of a frame, compressed: what cannot be made smaller grows by a header, and each codec's bound is below this.
_PACKED_MAX: Final = FRAME_MAX + FRAME_MAX // 6 + 1024
_GZIP_WINDOW: Final = 31
_ENDS: Final = "the stream does not end where the object does"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"


class Damaged(ValueError):
    """The bytes are no stream of this codec, and why."""


class Expansion(Protocol):
    """One stream. `end` is called after all of its bytes."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the next bytes expand to, none of it longer than PIECE but plain bytes; `Damaged` if they cannot be."""

    def end(self) -> None:
        """`Damaged` if there should have been more."""


def expansion_of(compression: Compression, *, members: bool = False) -> Expansion:
    """`members`: of gzip there may be several, one after the other, as Block-GZIP writes them."""
    match compression:
        case NoCompression():
            return _Plain()
        case Gzip():
            return _Gzip(members)
        case Zstd():
            return _ZstdFrames()
        case Snappy():
            return _SnappyBlocks()
        case Lz4():
            return _Lz4Blocks()
        case Bzip2():
            return _Bzip2()
        case _ as never:
            assert_never(never)


class _Plain:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data

    def end(self) -> None:
        return


class _Gzip:
    def __init__(self, members: bool) -> None:
        self._members = members
        self._inflate = zlib.decompressobj(_GZIP_WINDOW)
        self._begun = not members  # an object of no members is empty, one that is a member is not

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflate.eof:
                if not self._members:
                    raise Damaged(_ENDS)
                self._inflate = zlib.decompressobj(_GZIP_WINDOW)
            self._begun = True
            try:
                yield self._inflate.decompress(data, PIECE)
            except zlib.error as error:
                raise Damaged(str(error)) from None
            data = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail

    def end(self) -> None:
        if self._begun and not self._inflate.eof:
            raise Damaged(_ENDS)


class _Bzip2:
    """Streams one after the other."""

    def __init__(self) -> None:
        self._expand = bz2.BZ2Decompressor()
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not self._expand.needs_input:
            if self._expand.eof:
                if not data:
                    return
                self._expand = bz2.BZ2Decompressor()
            self._begun = True
            try:
                piece = self._expand.decompress(data, PIECE)
            except (OSError, ValueError) as error:
                raise Damaged(str(error)) from None
            yield piece
            data = self._expand.unused_data if self._expand.eof else b""

    def end(self) -> None:
        if self._begun and not self._expand.eof:
            raise Damaged(_ENDS)


class _Framed(ABC):
    """Frames that are expanded one by one."""

    def __init__(self, codec: str) -> None:
        import pyarrow as pa  # only for these codecs: it is large

        self._codec = pa.Codec(codec)
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        data = self._rest + data if self._rest else data
        at = 0
        while (frame := self._next(data, at)) is not None:
            piece, at = frame
            yield piece
        self._rest = data[at:]

    def end(self) -> None:
        if self._rest:
            raise Damaged(_ENDS)

    @abstractmethod
    def _next(self, data: bytes, at: int) -> tuple[bytes, int] | None:
        """What the frame at `at` holds and where it ends; `None` if not all of it is there."""

    def _plain(self, packed: bytes, size: int) -> bytes:
        try:
            made: Any = self._codec.decompress(packed, decompressed_size=size, asbytes=True)
        except (OSError, ValueError) as error:
            raise Damaged(str(error)) from None
        assert isinstance(made, bytes)
        return made


def _bounded(size: int | None) -> int:
    if size is None or size > FRAME_MAX:
        held = "an unknown number of" if size is None else f"{size:,}"
        raise Damaged(f"a frame of {held} bytes, and only {FRAME_MAX:,} are read at once")
    return size


class _HadoopBlocks(_Framed):
    """Blocks in Hadoop's framing, with one chunk each."""

    def _next(self, data: bytes, at: int) -> tuple[bytes, int] | None:
        if len(data) < at + 4:
            return None
        size = _bounded(int.from_bytes(data[at : at + 4], "big"))
        if not size:  # a block of nothing has no chunk: Hadoop ends an empty file with it
            return b"", at + 4
        if len(data) < at + 8:
            return None
        packed_size = int.from_bytes(data[at + 4 : at + 8], "big")
        if packed_size > _PACKED_MAX:
            raise Damaged(f"a block of {size:,} bytes in {packed_size:,}")
        end = at + 8 + packed_size
        return (self._block(data[at + 8 : end], size), end) if len(data) >= end else None

    @abstractmethod
    def _block(self, packed: bytes, size: int) -> bytes:
        """A block that has to hold that many bytes."""


class _SnappyBlocks(_HadoopBlocks):
    def __init__(self) -> None:
        super().__init__("snappy")

    def _block(self, packed: bytes, size: int) -> bytes:
        # A block begins with its size, 7 bits a byte. pyarrow's buffer is as large as it was asked for, whatever is in
        # it.
        said = 0
        for number, byte in enumerate(packed[:5]):
            said |= (byte & 0x7F) << (7 * number)
            if byte < 0x80:
                break
        if said != size:
            raise Damaged(f"a block of {said:,} bytes instead of {size:,}")
        return self._plain(packed, size)


class _Lz4Blocks(_HadoopBlocks):
    def __init__(self) -> None:
        super().__init__("lz4_raw")

    def _block(self, packed: bytes, size: int) -> bytes:
        plain = self._plain(packed, size)
        # A block does not say how much it holds, and pyarrow does not either: not less if less has no room for it.
        try:
            self._codec.decompress(packed, decompressed_size=size - 1)
        except OSError:
            return plain
        raise Damaged(f"a block of fewer bytes than {size:,}")


class _ZstdFrames(_Framed):
    """Frames of RFC 8878 without a dictionary."""

    def __init__(self) -> None:
        super().__init__("zstd")

    def _next(self, data: bytes, at: int) -> tuple[bytes, int] | None:
        head = data[at : at + 18]  # the longest that there is
        if head[:4] != _ZSTD_MAGIC[: len(head)]:
            raise Damaged("a frame begins with another number")
        if len(head) < 5:
            return None
        flags = head[4]
        if flags & 0b1011:
            raise Damaged("a frame with a dictionary or a reserved flag")
        single, wide = flags >> 5 & 1, flags >> 6
        size_bytes = (single, 2, 4, 8)[wide]
        start = 5 + (not single)
        if len(head) < start + size_bytes:
            return None
        said = int.from_bytes(head[start : start + size_bytes], "little") + (256 if wide == 1 else 0)
        size = _bounded(said if size_bytes else None)
        end = _end_of_blocks(data, at + start + size_bytes, at)
        if end is None or len(data) < (end := end + (4 if flags & 4 else 0)):
            return None
        return self._plain(data[at:end], size), end


def _end_of_blocks(data: bytes, at: int, begin: int) -> int | None:
    """Where the last block of a frame ends; `None` if not all of them are there."""
    while True:
        if at - begin > _PACKED_MAX:
            raise Damaged(f"a frame of more than {_PACKED_MAX:,} bytes")
        if len(data) < at + 3:
            return None
        block = int.from_bytes(data[at : at + 3], "little")
        last, kind, size = block & 1, block >> 1 & 3, block >> 3
        at += 3 + (1 if kind == 1 else size)  # one byte that is repeated, or as many as it says
        if last:
            return at if at <= len(data) else None
