"""Block-GZIP: what its first readers were promised, that a retry writes the same, and what the index says."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
import shutil
import subprocess
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_s3.naming import DataName, format_block_key, parse_block_key
from kafka_s3.settings.formats import Gzip
from kafka_s3.values.formats.block_gzip import BLOCK_BYTES, BlockGzipFormat
from kafka_s3.values.formats.block_index import BlockIndex
from kafka_s3.values.formats.compression import BLOCK
from kafka_s3.values.formats.lines import LineFormat
from kafka_s3.values.rows import Lines
from tools.parts.s3 import MotoServer


@dataclass(frozen=True)
class Written:
    """What became of one object's records."""

    data: bytes
    index_body: bytes
    plain_size: int

    @property
    def index(self) -> BlockIndex:
        return BlockIndex.parse(self.index_body, "an index")


def write(
    block_bytes: int,
    lines: Sequence[bytes],
    offsets: Sequence[int] | None = None,
    timestamps: Sequence[int | None] | None = None,
    cuts: Iterable[int] = (),
    compression: Gzip | None = None,
) -> Written:
    """One object, its records cut into calls of `encode` at `cuts`, as a writer does it."""
    offsets = range(len(lines)) if offsets is None else offsets
    encoder = BlockGzipFormat(block_bytes, compression or Gzip()).open(None)
    out, plain_size = [], 0
    for start, stop in itertools.pairwise([0, *sorted(min(cut, len(lines)) for cut in cuts), len(lines)]):
        if start < stop:
            encoder.note(offsets[start:stop], None if timestamps is None else timestamps[start:stop])
            data, size = encoder.encode(Lines(lines[start:stop]), 0, stop - start)
            out.append(data)
            plain_size += size
    out.append(encoder.finish())
    return Written(b"".join(out), encoder.companions()["index"], plain_size)


def plain(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def json_line(offset: int) -> bytes:
    return b'{"offset":%d,"name":"%x"}' % (offset, offset * 2654435761 % 2**32)


def json_lines(count: int, size: int) -> list[bytes]:
    """Lines of `size` bytes, the separator included, with names that no other line has."""
    chance = random.Random(11)
    start = b'{"id":%07d,"kind":"order","state":"shipped","customer":"%016x","sku":"%08x","note":"'
    made = (start % (n, chance.getrandbits(64), n % 5000 * 2654435761) for n in range(count))
    return [each + b"n" * (size - 3 - len(each)) + b'"}' for each in made]


# What holds of every object.

line = st.binary(max_size=40).map(lambda data: data.replace(b"\n", b" "))


@st.composite
def records(draw: st.DrawFn) -> tuple[int, list[bytes], list[int], list[int | None] | None, list[int]]:
    """A size of blocks, lines some of which are larger, offsets with holes, timestamps, and cuts."""
    count = draw(st.integers(0, 40))
    lines = draw(st.lists(line, min_size=count, max_size=count))
    steps = draw(st.lists(st.sampled_from([1, 1, 1, 2, 7]), min_size=count, max_size=count))
    offsets = list(itertools.accumulate(steps, initial=draw(st.integers(0, 10**13))))[1:]
    moments = st.lists(st.none() | st.integers(-1, 10**13), min_size=count, max_size=count)
    cuts = draw(st.lists(st.integers(0, count), max_size=6))
    return draw(st.integers(1, 120)), lines, offsets, draw(st.none() | moments), cuts


@given(records())
def test_the_bytes_do_not_depend_on_how_the_records_were_cut(
    case: tuple[int, list[bytes], list[int], list[int | None] | None, list[int]],
) -> None:
    """Object and index are the same for the same records, however they came, and say how large the lines are."""
    block_bytes, lines, offsets, timestamps, cuts = case
    whole = write(block_bytes, lines, offsets, timestamps)
    assert write(block_bytes, lines, offsets, timestamps, cuts) == whole
    assert gzip.decompress(whole.data) == plain(lines)
    assert whole.plain_size == len(plain(lines))


LONG = json_lines(8_000, 208)


@given(
    st.sampled_from([BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 77, 10**9]),
    st.integers(0, len(LONG)),
    st.lists(st.integers(0, len(LONG)), max_size=4),
)
def test_nor_do_those_of_members_larger_than_a_piece(block: int, count: int, cuts: list[int]) -> None:
    """The same with members of several of the compressor's own blocks, whose sizes show in its output."""
    whole = write(block, LONG[:count])
    assert write(block, LONG[:count], cuts=cuts) == whole
    assert gzip.decompress(whole.data) == plain(LONG[:count])


@given(records())
@example((10, [b"0123456789", b"", b"012345678", b"x"], [0, 1, 2, 3], None, []))
@example((4, [], [], None, []))
def test_the_chunks_tile_the_object(
    case: tuple[int, list[bytes], list[int], list[int | None] | None, list[int]],
) -> None:
    """Each chunk is a gzip file by itself and says what is in it; together they are the object and its records."""
    block_bytes, lines, offsets, timestamps, cuts = case
    written = write(block_bytes, lines, offsets, timestamps, cuts)
    row = end = 0
    for chunk, after in itertools.zip_longest(written.index.chunks, written.index.chunks[1:]):
        stop = row + chunk.num_records
        member = gzip.decompress(written.data[chunk.byte_offset : chunk.byte_offset + chunk.byte_length])
        assert chunk.byte_offset == end
        assert member == plain(lines[row:stop])
        assert chunk.byte_length_uncompressed == len(member)
        assert chunk.crc32 == zlib.crc32(member)
        assert (chunk.first_record_offset, chunk.last_record_offset) == (offsets[row], offsets[stop - 1])
        assert chunk.next_offset == (after.first_record_offset if after else offsets[-1] + 1)
        stamps = (timestamps or [])[row:stop]
        dated = [each for each in stamps if each is not None]
        spans = (min(dated), max(dated)) if dated and len(dated) == len(stamps) else (None, None)
        assert (chunk.min_timestamp, chunk.max_timestamp) == spans
        assert len(member) <= block_bytes or chunk.num_records == 1
        if after:
            assert len(member) + len(lines[stop]) + 1 > block_bytes, "the next line would have fitted"
        row, end = stop, end + chunk.byte_length
    assert row == len(lines)
    assert end == len(written.data) or not lines


@given(records())
def test_any_offset_is_found(case: tuple[int, list[bytes], list[int], list[int | None] | None, list[int]]) -> None:
    """`find` has the chunk of every record and none for what a hole between chunks holds."""
    block_bytes, lines, offsets, timestamps, cuts = case
    index = write(block_bytes, lines, offsets, timestamps, cuts).index
    owners = [chunk for chunk in index.chunks for _ in range(chunk.num_records)]
    by_offset = dict(zip(offsets, owners, strict=True))
    around = range(offsets[0] - 2, offsets[-1] + 3) if offsets else range(-1, 3)
    for offset in around:
        found = index.find(offset)
        if offset in by_offset:
            assert found == by_offset[offset]
        else:
            assert found is None or found.first_record_offset < offset < found.last_record_offset


@pytest.mark.parametrize("compression", [Gzip(), Gzip(1), Gzip(9)], ids=str)
def test_the_systems_gzip_reads_an_object(compression: Gzip) -> None:
    """`gzip -dc` of the whole object is the lines, whatever the level, and `gzip -t` finds nothing wrong."""
    written = write(10_000, LONG[:1000], compression=compression)
    assert len(written.index.chunks) > 10
    assert gzip.decompress(written.data) == plain(LONG[:1000])
    tool = shutil.which("gzip")
    if tool is None:
        pytest.skip("no gzip on this machine's PATH; Python's read it")
    subprocess.run([tool, "-t"], input=written.data, check=True, timeout=60)
    read = subprocess.run([tool, "-dc"], input=written.data, capture_output=True, check=True, timeout=60)
    assert read.stdout == plain(LONG[:1000])
    assert read.stderr == b""


def test_a_members_header_holds_no_time_and_no_name() -> None:
    """Each member's mtime is 0 and its flags are 0."""
    written = write(5_000, LONG[:500])
    for chunk in written.index.chunks:
        assert written.data[chunk.byte_offset :][:8] == b"\x1f\x8b\x08\0\0\0\0\0"


def test_a_record_larger_than_a_block_is_a_member_of_its_own() -> None:
    """What stands before it and behind it is in others."""
    lines = [b"a", b"b", b"x" * 500, b"c", b"d"]
    chunks = write(100, lines).index.chunks
    assert [(chunk.num_records, chunk.byte_length_uncompressed) for chunk in chunks] == [(2, 4), (1, 501), (2, 4)]


def test_an_index_costs_next_to_nothing() -> None:
    """At blocks of 64 MiB an object is at most 1 % larger than plain gzip makes it; here it is 130 MiB of lines."""
    lines, total = json_lines(20_000, 208), 130 * 1024 * 1024
    members = BlockGzipFormat().open(None)
    stream = LineFormat(".json.gz", b"\n", Gzip()).open(None)
    sizes, plain_size, offset = [0, 0], 0, 0
    for start in itertools.cycle(range(0, len(lines), 2000)):
        rows = Lines(lines[start : start + 2000])
        members.note(range(offset, offset + 2000), None)
        encoded, size = members.encode(rows, 0, 2000)
        sizes[0] += len(encoded)
        sizes[1] += len(stream.encode(rows, 0, 2000)[0])
        offset, plain_size = offset + 2000, plain_size + size
        if plain_size >= total:
            break
    sizes[0] += len(members.finish())
    sizes[1] += len(stream.finish())
    index = members.companions()["index"]
    assert len(BlockIndex.parse(index, "").chunks) == 3
    assert sizes[0] + len(index) <= sizes[1] * 1.01


# The documentation of the connector that the format comes from, followed with nothing but gzip and json.


def readme_read(moto: MotoServer, bucket: str, topic: str, partition: int, offset: int, to_end: bool = False) -> bytes:
    """The bytes of the chunk that may hold an offset, or of everything from that chunk on."""
    client = moto.client()
    # List bucket contents and locate the chunk that the offset is in.
    shape = rf"systest/\d{{4}}-\d\d-\d\d/{topic}-{partition:05d}-(\d{{12}})\.gz"
    first_offsets = {int(found[1]): key for key in moto.keys(bucket) if (found := re.fullmatch(shape, key))}
    key = first_offsets[max(first for first in first_offsets if first <= offset)]
    # Download the *.index.json file for that chunk.
    index = json.loads(client.get_object(Bucket=bucket, Key=key.replace(".gz", ".index.json"))["Body"].read())
    # Iterate through the chunks: first_record_offset and num_records say where the offset is; with holes among the
    # offsets only the first of them does, or our last_record_offset.
    for chunk in index["chunks"]:
        if chunk["first_record_offset"] <= offset < chunk["first_record_offset"] + chunk["num_records"]:
            assert chunk["first_record_offset"] <= offset <= chunk["last_record_offset"]
            break
    else:
        (chunk,) = [each for each in index["chunks"] if each["first_record_offset"] <= offset < each["next_offset"]]
    # A range request for the block, or from the block to the end of the file.
    begin = chunk["byte_offset"]
    end = "" if to_end else begin + chunk["byte_length"] - 1
    body = client.get_object(Bucket=bucket, Key=key, Range=f"bytes={begin}-{end}")["Body"].read()
    assert to_end or len(body) == chunk["byte_length"]
    return gzip.decompress(body)


def put(
    moto: MotoServer, bucket: str, name: DataName, lines: Sequence[bytes], offsets: Sequence[int], block: int
) -> None:
    """An object and its index, under their names."""
    written = write(block, lines, offsets)
    moto.client().put_object(Bucket=bucket, Key=format_block_key("systest", name), Body=written.data)
    beside = DataName(**{**_fields(name), "extension": BlockGzipFormat.companion_extensions["index"]})
    moto.client().put_object(Bucket=bucket, Key=format_block_key("systest", beside), Body=written.index_body)


def _fields(name: DataName) -> dict[str, Any]:
    return {field: getattr(name, field) for field in DataName.__slots__}


HOLES = [offset for offset in range(600) if offset % 50 not in {7, 8, 31, 32, 33} and not 200 <= offset < 260]


@pytest.mark.parametrize("offsets", [list(range(300)), HOLES], ids=["no holes", "holes"])
def test_the_old_documentation_finds_any_offset(moto: MotoServer, bucket_name: str, offsets: list[int]) -> None:
    """List, index, range request, gunzip: the record is there, and to the end of the file all that follow it are."""
    moto.create_bucket(bucket_name)
    for start in range(0, len(offsets), 150):
        held = offsets[start : start + 150]
        name = DataName("system-test", "2016-02-24", 3, held[0], ".gz")
        put(moto, bucket_name, name, [json_line(offset) for offset in held], held, block=700)
    edges = {0, 149, 150, len(offsets) - 1, *range(0, len(offsets), 13)}
    for offset in [offsets[at] for at in sorted(edges)]:
        lines = readme_read(moto, bucket_name, "system-test", 3, offset).splitlines()
        assert len(lines) < 40, "no more than a chunk was fetched"
        assert json_line(offset) in lines
    for offset in (offsets[5], offsets[80], offsets[149]):
        rest = readme_read(moto, bucket_name, "system-test", 3, offset, to_end=True)
        assert plain(json_line(each) for each in offsets[offsets.index(offset) : 150]) in rest


TREE = [
    "system-test-00000-000000000000.gz",
    "system-test-00000-000000000000.index.json",
    "system-test-00000-000000000100.gz",
    "system-test-00000-000000000100.index.json",
    "system-test-00000-000000000200.gz",
    "system-test-00000-000000000200.index.json",
    "system-test-00001-000000000000.gz",
    "system-test-00001-000000000000.index.json",
    "system-test-00002-000000000000.gz",
    "system-test-00002-000000000000.index.json",
]


def test_the_old_documentations_tree(moto: MotoServer, bucket_name: str) -> None:
    """Three partitions in objects of 100 records: the names are those that its example shows, index files included."""
    moto.create_bucket(bucket_name)
    for partition, count in enumerate((300, 100, 100)):
        for start in range(0, count, 100):
            name = DataName("system-test", "2016-02-24", partition, start, BlockGzipFormat().extension)
            held = range(start, start + 100)
            put(moto, bucket_name, name, [json_line(offset) for offset in held], held, block=BLOCK_BYTES)
    assert moto.keys(bucket_name) == [f"systest/2016-02-24/{file}" for file in TREE]
    for key in moto.keys(bucket_name):
        found = parse_block_key("systest", "system-test", key)
        assert found is not None
        index = json.loads(
            moto.client().get_object(Bucket=bucket_name, Key=key.replace(".gz", ".index.json"))["Body"].read()
        )
        assert [chunk["first_record_offset"] for chunk in index["chunks"]] == [found.start_offset]
        assert [chunk["num_records"] for chunk in index["chunks"]] == [100]


def test_the_old_documentations_index() -> None:
    """Its example of two chunks: 100 records in 2,890 bytes, then 123 in 3,121, found by the fields it names."""
    first = [b"%-26s%d" % (b"system test message", n) for n in range(100)]
    second = [b"x" * 299, *(b"%022d" % n for n in range(107)), *(b"%023d" % n for n in range(15))]
    written = write(3121, first + second)
    index = json.loads(written.index_body)
    one, two = index["chunks"]
    fields = ["byte_length_uncompressed", "num_records", "byte_length", "byte_offset", "first_record_offset"]
    assert list(one)[:5] == list(two)[:5] == fields
    assert [one[field] for field in fields] == [2890, 100, two["byte_offset"], 0, 0]
    assert [two[field] for field in fields] == [
        3121,
        123,
        len(written.data) - one["byte_length"],
        one["byte_length"],
        100,
    ]


def test_what_ours_says_beside_it() -> None:
    """The whole index of two records with a hole between them."""
    written = write(4, [b"abc", b"xyz"], [5, 9], [1000, None])
    first, second = gzip.compress(b"abc\n", mtime=0), gzip.compress(b"xyz\n", mtime=0)
    length = len(written.data) // 2
    assert gzip.decompress(written.data) == gzip.decompress(first + second)
    assert json.loads(written.index_body) == {
        "chunks": [
            {
                "byte_length_uncompressed": 4,
                "num_records": 1,
                "byte_length": length,
                "byte_offset": 0,
                "first_record_offset": 5,
                "last_record_offset": 5,
                "next_offset": 9,
                "min_timestamp": 1000,
                "max_timestamp": 1000,
                "crc32": zlib.crc32(b"abc\n"),
            },
            {
                "byte_length_uncompressed": 4,
                "num_records": 1,
                "byte_length": length,
                "byte_offset": length,
                "first_record_offset": 9,
                "last_record_offset": 9,
                "next_offset": 10,
                "min_timestamp": None,
                "max_timestamp": None,
                "crc32": zlib.crc32(b"xyz\n"),
            },
        ],
        "format_version": 1,
    }
