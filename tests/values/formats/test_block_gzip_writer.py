"""Block-GZIP as the writer of objects asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.settings.formats import FileSettings, Format, Gzip
from kafka_s3.values.formats.block_gzip import BLOCK_BYTES, BlockGzipEncoder, BlockGzipFormat
from kafka_s3.values.formats.block_index import BlockIndex
from kafka_s3.values.formats.lines import LineFormat
from kafka_s3.values.rows import Lines
from tests.values.formats.test_block_gzip import LONG, line

# What the writer asks of it.


def test_a_block_is_as_large_as_the_settings_have_it() -> None:
    """The default of compressed_block_size stands in one way in both places."""
    assert FileSettings(Format.BLOCK_GZIP).block_bytes == BlockGzipFormat().block_bytes == BLOCK_BYTES


def test_rows_that_were_not_noted_are_refused() -> None:
    """Whoever forgets the offsets of some rows is told, and does not get those of others."""
    encoder = BlockGzipFormat().open(None)
    encoder.note([0], None)
    encoder.encode(Lines([b"a"]), 0, 1)
    with pytest.raises(AssertionError, match="0 offsets noted for 1 rows"):
        encoder.encode(Lines([b"b"]), 0, 1)
    encoder.note([0], None)
    with pytest.raises(AssertionError, match="do not follow 0"):
        encoder.encode(Lines([b"b"]), 0, 1)


class Watched(Sequence[int]):
    """Offsets that count how often one is asked for."""

    def __init__(self, offsets: range) -> None:
        self._offsets = offsets
        self.asked = 0

    def __len__(self) -> int:
        return len(self._offsets)

    def __getitem__(self, index: Any) -> Any:
        self.asked += 1
        return self._offsets[index]


def test_offsets_are_asked_for_at_the_edges_of_members_only() -> None:
    """A batch whose offsets cost something to make is asked for two of each member."""
    encoder = BlockGzipFormat(208 * 1000).open(None)
    for start in range(0, 8000, 2000):
        offsets = Watched(range(start, start + 2000))
        encoder.note(offsets, None)
        encoder.encode(Lines(LONG[start : start + 2000]), 0, 2000)
        assert offsets.asked == 4
    encoder.finish()
    assert len(BlockIndex.parse(encoder.companions()["index"], "").chunks) == 8


@given(st.lists(line, max_size=10), st.integers(-5, 200))
def test_rows_until_is_where_an_object_is_full(lines: list[bytes], room: int) -> None:
    """It is the fewest rows that fill the room, as `LineFormat` counts them."""
    encoder: BlockGzipEncoder = BlockGzipFormat().open(None)
    ours = LineFormat(".gz", b"\n", Gzip()).open(None)
    assert encoder.rows_until(Lines(lines), 0, len(lines), room) == ours.rows_until(Lines(lines), 0, len(lines), room)
