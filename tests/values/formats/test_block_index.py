"""The index of Block-GZIP: what is read back, and what is not believed."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.errors import DataError
from kafka_s3.values.formats.block_gzip import BlockGzipFormat
from kafka_s3.values.formats.block_index import BlockIndex, Chunk
from kafka_s3.values.rows import Lines


def index_of(records: int, step: int = 2) -> BlockIndex:
    """The index of some records with holes between them, three to a chunk."""
    encoder = BlockGzipFormat(30).open(None)
    offsets = range(0, records * step, step)
    encoder.note(offsets, [1000 + offset for offset in offsets])
    encoder.encode(Lines([b"%09d" % offset for offset in offsets]), 0, records)
    encoder.finish()
    return BlockIndex.parse(encoder.companions()["index"], "x.index.json")


GOOD = json.loads(index_of(10).encode())


@given(st.integers(1, 40), st.integers(1, 5))
def test_parse_gives_back_what_encode_was_given(records: int, step: int) -> None:
    """parse(encode(index)) is the index."""
    index = index_of(records, step)
    assert BlockIndex.parse(index.encode(), "x") == index
    assert len(index.chunks) == -(-records // 3)


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.integers(0, len(GOOD["chunks"]) - 1),
    st.sampled_from([field.name for field in fields(Chunk)]),
    st.integers(-3, 60) | anything,
)
def test_a_field_of_another_value_is_believed_if_it_can_be_so(at: int, field: str, value: Any) -> None:
    """One field changed is an error, or one that nothing in the index contradicts: never another exception."""
    chunks = [{**chunk, field: value} if number == at else chunk for number, chunk in enumerate(GOOD["chunks"])]
    body = json.dumps({**GOOD, "chunks": chunks}).encode()
    try:
        index = BlockIndex.parse(body, "x.index.json")
    except DataError:
        return
    end = 0
    for number, chunk in enumerate(index.chunks):
        assert chunk.byte_offset == end
        end += chunk.byte_length
        assert index.find(chunk.first_record_offset) == index.find(chunk.last_record_offset) == chunk
        assert index.find(chunk.last_record_offset + 1) in (None, *index.chunks[number + 1 : number + 2])
        assert chunk.num_records <= chunk.last_record_offset - chunk.first_record_offset + 1
        assert chunk.last_record_offset < chunk.next_offset


@given(st.binary(max_size=50) | anything.map(lambda value: json.dumps(value).encode()) | st.integers(0, 2000))
def test_what_is_no_index_is_refused(body: bytes | int) -> None:
    """Any bytes, and an index that ends early: an error that says which object, never another exception."""
    whole = index_of(10).encode()
    data = whole[: body % len(whole)] if isinstance(body, int) else body
    with pytest.raises(DataError, match=r"x\.index\.json"):
        BlockIndex.parse(data, "x.index.json")


def test_an_index_made_to_hurt_is_refused() -> None:
    """Depth and numbers without end are errors too."""
    for body in (b'{"format_version":1,"chunks":' + b"[" * 1_000_000, b'{"format_version":' + b"9" * 1_000_000 + b"}"):
        with pytest.raises(DataError, match="truncated or no index"):
            BlockIndex.parse(body, "x.index.json")


@pytest.mark.parametrize(
    ("at", "change", "said"),
    [
        (0, {"byte_offset": 1}, "chunk 0 has byte_offset 1 and not 0"),
        (1, {"byte_offset": 0}, "chunk 1 has byte_offset 0 and not"),
        (1, {"first_record_offset": 4}, "chunk 1 begins with offset 4, and the one before it ends with 4"),
        (1, {"num_records": 6}, "chunk 1 cannot have 6 records at the offsets 6 to 10"),
        (1, {"num_records": 1}, "chunk 1 cannot have one record at both offsets 6 and 10"),
        (1, {"byte_length_uncompressed": 2}, "chunk 1 cannot have 3 lines in 2 bytes"),
        (1, {"min_timestamp": None}, "chunk 1 has min_timestamp None and max_timestamp 1010"),
        (1, {"max_timestamp": 5}, "chunk 1 has min_timestamp 1006 and max_timestamp 5"),
        (1, {"next_offset": 11}, "chunk 1 has next_offset 11, and the next begins with offset 12"),
        (3, {"next_offset": 20}, "the last chunk has next_offset 20 and not 19"),
    ],
)
def test_an_index_that_contradicts_itself_says_where(at: int, change: dict[str, int | None], said: str) -> None:
    """The message names the chunk, what it says and what it should."""
    chunks = [{**chunk, **change} if number == at else chunk for number, chunk in enumerate(GOOD["chunks"])]
    with pytest.raises(DataError, match=f"contradicts itself: {said}"):
        BlockIndex.parse(json.dumps({**GOOD, "chunks": chunks}).encode(), "x.index.json")


def test_indexes_of_others_are_told_apart() -> None:
    """One without a version is the older connector's, one with a higher version a newer exporter's."""
    with pytest.raises(DataError, match="no format_version"):
        BlockIndex.parse(json.dumps({"chunks": []}).encode(), "x")
    with pytest.raises(DataError, match="has format version 2, this exporter knows 1"):
        BlockIndex.parse(json.dumps({"chunks": [], "format_version": 2}).encode(), "x")
