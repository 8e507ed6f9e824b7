"""Compressed streams that were not written here, or not to be read: each is refused with no more than its piece."""

from __future__ import annotations

import bz2
import gzip
import random
import tracemalloc
from collections.abc import Callable

import pyarrow as pa
import pytest

from kafka_s3.settings.formats import Bzip2, Compression, Gzip, Lz4, Snappy, Zstd
from kafka_s3.values.formats.compression import open_stream
from kafka_s3.values.formats.content_digest import StreamDigest, Unreadable
from kafka_s3.values.formats.expansion import FRAME_MAX, PIECE, Damaged, expansion_of

CODECS: list[Compression] = [Gzip(), Zstd(), Snappy(), Lz4(), Bzip2(1)]
DATA = b"".join(b"%d,%d\n" % (number, number * number) for number in range(40_000))


def compressed(kind: Compression, data: bytes = DATA) -> bytes:
    stream = open_stream(kind)
    return stream.compress(data) + stream.finish()


def expanded(kind: Compression, body: bytes) -> bytes:
    expansion = expansion_of(kind)
    found = b"".join(expansion.feed(body))
    expansion.end()
    return found


@pytest.mark.parametrize("kind", CODECS, ids=str)
def test_what_is_cut_off_is_damaged(kind: Compression) -> None:
    """Wherever a stream breaks off inside a frame, whoever reads it is told."""
    body = compressed(kind, DATA[:100_000])
    for end in {1, 2, 3, 4, 5, 7, 9, 11, 17, len(body) // 2, len(body) - 4, len(body) - 1}:
        with pytest.raises(Damaged):
            expanded(kind, body[:end])


@pytest.mark.parametrize("kind", CODECS, ids=str)
def test_flipped_bits_are_damage_or_other_bytes(kind: Compression) -> None:
    """Whatever bit is another one, nothing but `Damaged` comes out, and never memory that nobody wrote."""
    body = compressed(kind, DATA[:60_000])
    chance = random.Random(3)
    for _ in range(300):
        turned = bytearray(body)
        turned[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
        try:
            assert len(expanded(kind, bytes(turned))) <= FRAME_MAX
        except Damaged:
            continue


@pytest.mark.parametrize("kind", CODECS, ids=str)
def test_noise_is_damage(kind: Compression) -> None:
    """Bytes of another kind are refused."""
    for seed in range(50):
        noise = random.Random(seed).randbytes(1 + seed * 97)
        with pytest.raises(Damaged):
            expanded(kind, noise)


@pytest.mark.parametrize(
    ("kind", "bomb"),
    [
        (Gzip(), lambda: gzip.compress(b"a" * 200_000_000, 9)),
        (Bzip2(), lambda: bz2.compress(b"a" * 50_000_000, 9)),
        (Zstd(), lambda: pa.Codec("zstd").compress(b"a" * 200_000_000, asbytes=True)),
        (Snappy(), lambda: (200_000_000).to_bytes(4, "big") + (9).to_bytes(4, "big") + bytes(9)),
        (Lz4(), lambda: (200_000_000).to_bytes(4, "big") + (9).to_bytes(4, "big") + bytes(9)),
        (Snappy(), lambda: (9).to_bytes(4, "big") + (1 << 31).to_bytes(4, "big") + bytes(9)),
    ],
    ids=["gzip", "bzip2", "zstd", "snappy", "lz4", "snappy block"],
)
def test_a_bomb_fills_no_memory(kind: Compression, bomb: Callable[[], bytes]) -> None:
    """Of a small object that expands to very much, a piece at most is in memory, or it is refused by its header."""
    expansion, body = expansion_of(kind), bomb()
    tracemalloc.start()
    try:
        assert max(map(len, expansion.feed(body)), default=0) <= PIECE
    except Damaged as error:
        assert "read at once" in str(error) or "a block of" in str(error)  # noqa: PT017  # either is right
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 8 * PIECE


@pytest.mark.parametrize(("kind", "codec"), [(Snappy(), "snappy"), (Lz4(), "lz4_raw")])
def test_a_block_holds_what_it_says(kind: Compression, codec: str) -> None:
    """A block that says it holds more than it does is damaged: the rest would be memory that nobody wrote."""
    packed = pa.Codec(codec).compress(b"abc" * 100, asbytes=True)
    for said in (299, 301, 4000):
        with pytest.raises(Damaged):
            expanded(kind, said.to_bytes(4, "big") + len(packed).to_bytes(4, "big") + packed)


def test_a_zstd_frame_that_says_no_size_is_refused() -> None:
    """Streams of other writers say nothing about how much they hold: they are not counted, by name."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(DATA)
    with pytest.raises(Damaged, match="a frame of an unknown number of bytes"):
        expanded(Zstd(), sink.getvalue().to_pybytes())


@pytest.mark.parametrize("kind", CODECS, ids=str)
def test_content_is_that_of_the_records(kind: Compression) -> None:
    """Where frames end says nothing: the same records under any level, or after one another, have one digest."""
    found = set()
    for body in (compressed(kind), compressed(kind, DATA[:1000]) + compressed(kind, DATA[1000:])):
        content = StreamDigest(kind)
        for at in range(0, len(body), 999):
            content.feed(body[at : at + 999])
        found.add(content.digest())
    assert len(found) == 1
    content = StreamDigest(kind)
    with pytest.raises(Unreadable, match="no whole [a-z0-9]+ stream: "):  # noqa: PT012  # either of the two says it
        content.feed(compressed(kind)[:-1])
        content.digest()


def test_one_gzip_member_is_all_that_an_object_has() -> None:
    """What stands behind the stream of an object of lines is damage, unless members may follow."""
    with pytest.raises(Damaged, match="does not end where the object does"):
        expanded(Gzip(), compressed(Gzip()) + compressed(Gzip()))
