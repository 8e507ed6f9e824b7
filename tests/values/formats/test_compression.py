"""Compressed streams: the same bytes for the same input, whatever the pieces it came in."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import random
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import cramjam
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from isal import isal_zlib

from kafka_s3.settings.formats import Bzip2, Compression, Gzip, Lz4, NoCompression, Snappy, Zstd
from kafka_s3.values.formats.compression import BLOCK, FRAME, extension_suffix, open_stream, without_suffix
from kafka_s3.values.formats.expansion import expansion_of

GZIPS = [Gzip(), *map(Gzip, range(10))]
OTHERS: list[Compression] = [Zstd(), Zstd(1), Zstd(22), Snappy(), Lz4(), Lz4(12), Bzip2(), Bzip2(1)]
KINDS: list[Compression] = [NoCompression(), *GZIPS, *OTHERS]
LONG = b"".join(b'{"id": %d, "name": "%x"}\n' % (n, n * 2654435761 % 2**32) for n in range(40_000))
assert len(LONG) > 4 * BLOCK


def compress(kind: Compression, pieces: Iterable[bytes]) -> bytes:
    stream = open_stream(kind)
    return b"".join([*(stream.compress(piece) for piece in pieces), stream.finish()])


def pieces_of(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def expand(kind: Compression, data: bytes) -> bytes:
    match kind:
        case Gzip():
            return gzip.decompress(data)
        case Bzip2():
            return bz2.decompress(data)
        case Zstd():
            return pa.CompressedInputStream(io.BytesIO(data), "zstd").read() if data else b""
        case Snappy() | Lz4():
            return b"".join(_of_hadoop(data, cramjam.snappy if isinstance(kind, Snappy) else cramjam.lz4))
    return data


def _of_hadoop(data: bytes, codec: Any) -> Iterator[bytes]:
    """Blocks as BlockDecompressorStream reads them, by a library that is not the writer's."""
    while data:
        size, packed = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:8], "big")
        assert packed < 262_144, "more than Hadoop's buffer holds"
        chunk = data[8 : 8 + packed]
        if codec is cramjam.snappy:
            plain = bytes(codec.decompress_raw(chunk))
        else:
            plain = bytes(codec.decompress_block(chunk, output_len=size))
        assert len(plain) == size <= FRAME
        yield plain
        data = data[8 + packed :]


near_blocks = st.integers(0, 4).flatmap(lambda n: st.integers(n * BLOCK - 2, n * BLOCK + 2).filter(lambda at: at >= 0))
near_frames = st.integers(0, 8).flatmap(lambda n: st.integers(n * FRAME - 2, n * FRAME + 2).filter(lambda at: at >= 0))


@given(
    st.sampled_from([NoCompression(), Gzip(), Gzip(1), Gzip(6), Zstd(), Zstd(9), Snappy(), Lz4(), Lz4(3), Bzip2(1)]),
    st.integers(0, len(LONG)) | near_blocks | near_frames,
    st.lists(st.integers(0, len(LONG)) | near_blocks | near_frames, max_size=6),
)
def test_the_bytes_do_not_depend_on_the_pieces(kind: Compression, length: int, cuts: list[int]) -> None:
    """However the input is cut, empty pieces and block edges included, the output is the same and holds the input."""
    data = LONG[:length]
    whole = compress(kind, [data])
    assert compress(kind, pieces_of(data, cuts)) == whole
    assert expand(kind, whole) == data


def test_the_bytes_do_not_depend_on_the_memory_around() -> None:
    """What lies in front of the input and behind it in memory, its own copies above all, changes nothing."""
    chance = random.Random(7)
    for _ in range(40):
        data = LONG[: chance.randrange(100, 120_000)]
        turned = data[len(data) // 3 :] + data[: len(data) // 3]
        found = set()
        for around in (b"\0", b"\xff", data, turned, chance.randbytes(1000)):
            side = (around * (2**17 // len(around) + 1))[: 2**17 - chance.randrange(64)]
            memory = memoryview(side + data + side)
            stream = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
            found.add(stream.compress(memory[len(side) : len(side) + len(data)]) + stream.flush())
        assert len(found) == 1


def test_isal_itself_does_depend_on_the_pieces() -> None:
    """Why there are blocks: fed in other sizes, ISA-L writes other bytes."""

    def directly(size: int) -> bytes:
        stream = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
        fed = [stream.compress(LONG[at : at + size]) for at in range(0, len(LONG), size)]
        return b"".join([*fed, stream.flush()])

    assert directly(1000) != directly(len(LONG))


@pytest.mark.parametrize("kind", GZIPS, ids=str)
def test_a_header_holds_no_time_and_no_name(kind: Gzip) -> None:
    """gzip's mtime is 0 and its flags are 0: no name, no comment, no extra field."""
    header = compress(kind, [b"x"])[:10]
    assert header[:3] == b"\x1f\x8b\x08"
    assert header[3] == 0
    assert header[4:8] == b"\0\0\0\0"


@pytest.mark.parametrize("level", range(10))
def test_an_explicit_level_is_zlibs(level: int) -> None:
    """s3.compression.level=n writes what zlib writes at level n, inside gzip's frame."""
    stream = zlib.compressobj(level, zlib.DEFLATED, -15)
    deflated = b"".join(stream.compress(LONG[at : at + BLOCK]) for at in range(0, len(LONG), BLOCK)) + stream.flush()
    assert compress(Gzip(level), [LONG])[10:-8] == deflated


def test_the_default_level_is_isals() -> None:
    """Without a level it is ISA-L level 1, fed in blocks."""
    stream = isal_zlib.compressobj(1, isal_zlib.DEFLATED, -15)
    deflated = b"".join(stream.compress(LONG[at : at + BLOCK]) for at in range(0, len(LONG), BLOCK)) + stream.flush()
    assert compress(Gzip(), [LONG])[10:-8] == deflated


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_nothing_in_is_an_empty_stream(kind: Compression) -> None:
    """A stream without input is a valid one, and random bytes come back too."""
    noise = random.Random(7).randbytes(BLOCK + 1)
    assert expand(kind, compress(kind, [])) == b""
    assert expand(kind, compress(kind, [noise])) == noise


def test_the_extension_says_the_codec() -> None:
    """What readers choose a codec by; the codec is found again by it."""
    kinds = [NoCompression(), Gzip(3), Zstd(3), Snappy(), Lz4(3), Bzip2(3)]
    assert [extension_suffix(each) for each in kinds] == ["", ".gz", ".zst", ".snappy", ".lz4", ".bz2"]
    for each in kinds:
        plain, found = without_suffix(f".json{extension_suffix(each)}")
        assert (plain, type(found)) == (".json", type(each))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("step", [1_000, 70_000, 10_000_000])
def test_what_is_written_is_expanded(kind: Compression, step: int) -> None:
    """However the compressed bytes are cut, the expansion is what went in, in pieces of at most 1 MiB."""
    body = compress(kind, [LONG])
    expansion = expansion_of(kind)
    pieces = [piece for at in range(0, len(body), step) for piece in expansion.feed(body[at : at + step])]
    expansion.end()
    assert b"".join(pieces) == LONG
    assert kind == NoCompression() or max(map(len, pieces)) <= 1 << 20


@pytest.mark.parametrize("kind", OTHERS, ids=str)
def test_a_block_is_compressed_by_itself(kind: Compression) -> None:
    """So what an open object holds in memory is a block, and not a compressor's window and tables."""
    block = kind.level * 100_000 if isinstance(kind, Bzip2) and kind.level else 900_000 if kind == Bzip2() else FRAME
    data = LONG * (2 * block // len(LONG) + 1)
    apart = compress(kind, [data[:block]]) + compress(kind, [data[block : 2 * block]])
    assert compress(kind, [data[: 2 * block]]) == apart
