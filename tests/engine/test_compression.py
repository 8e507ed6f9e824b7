"""Compressed streams: the same bytes for the same input, whatever the pieces it came in."""

from __future__ import annotations

import gzip
import itertools
import random
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from isal import isal_zlib

from kafka_s3.settings.formats import Compression, Gzip, NoCompression
from kafka_s3.values.formats.compression import BLOCK, extension_suffix, open_stream

KINDS: list[Compression] = [NoCompression(), Gzip(), *(Gzip(level) for level in range(10))]
LONG = b"".join(b'{"id": %d, "name": "%x"}\n' % (n, n * 2654435761 % 2**32) for n in range(40_000))
assert len(LONG) > 4 * BLOCK


def compress(kind: Compression, pieces: Iterable[bytes]) -> bytes:
    stream = open_stream(kind)
    return b"".join([*(stream.compress(piece) for piece in pieces), stream.finish()])


def pieces_of(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def expand(kind: Compression, data: bytes) -> bytes:
    return gzip.decompress(data) if isinstance(kind, Gzip) else data


near_blocks = st.integers(0, 4).flatmap(lambda n: st.integers(n * BLOCK - 2, n * BLOCK + 2).filter(lambda at: at >= 0))


@given(
    st.sampled_from([NoCompression(), Gzip(), Gzip(1), Gzip(6)]),
    st.integers(0, len(LONG)) | near_blocks,
    st.lists(st.integers(0, len(LONG)) | near_blocks, max_size=6),
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


@pytest.mark.parametrize("kind", KINDS[1:], ids=str)
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


def test_the_extension_says_gzip() -> None:
    """`.gz` for gzip, nothing otherwise."""
    assert (extension_suffix(Gzip(3)), extension_suffix(NoCompression())) == (".gz", "")
