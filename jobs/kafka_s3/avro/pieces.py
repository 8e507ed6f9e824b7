"""Bytes of many rows, each put together of pieces from here and there: one call for all of them.

A table says which piece comes when; Arrow copies them, and what it makes is the bytes of all rows, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_s3.avro.joined_rows import Joined

#: Beyond this rows are put together one by one: Arrow's offsets are 32 bits.
BYTES_MAX: Final = 1 << 30


class Texts:
    """A text for each row, or a few of which each row has one: their bytes, and where each ends. `codes`: which of them
    the rows have; `None`: each its own."""

    def __init__(self, data: bytes, ends: Any, codes: Any = None) -> None:
        self.data = data
        self.ends = ends
        self.codes = codes

    @classmethod
    def of(cls, texts: Sequence[bytes], codes: Any = None) -> Texts:
        return cls(b"".join(texts), np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts))), codes)

    def bytes_max(self, count: int) -> int:
        """No more than they take in so many rows."""
        return len(self.data) if self.codes is None else int(np.diff(self.ends, prepend=0).max(initial=0)) * count


def of_few(values: Sequence[Any], encode: Callable[[list[Any]], Sequence[bytes]]) -> Texts:
    """The texts of values of which many are the same, such as topics."""
    different = dict.fromkeys(values)
    codes = {value: code for code, value in enumerate(different)}
    return Texts.of(encode(list(different)), np.fromiter(map(codes.__getitem__, values), np.int32, len(values)))


class Extents:
    """A piece of each row of the source: where it begins and ends. Rows ascend, and pieces do not overlap."""

    def __init__(self, starts: Any, ends: Any) -> None:
        self.starts = starts
        self.ends = ends


#: The same bytes in each row are a text that all of them have.
Piece = bytes | Texts | Extents


def joined(source: bytes, pieces: Sequence[Piece], count: int) -> Joined | None:
    """Rows of these pieces, at least one; `None` if they are too large for that."""
    new: list[Texts] = [_texts(each) for each in pieces if not isinstance(each, Extents)]
    if len(source) + sum(len(each.data) + each.bytes_max(count) for each in new) > BYTES_MAX:
        return None
    runs = sorted((each for each in pieces if isinstance(each, Extents)), key=lambda run: (run.starts[0], run.ends[0]))
    bounds: Any = np.empty((count, len(runs), 2), dtype=np.int32)
    for number, run in enumerate(runs):
        bounds[:, number, 0], bounds[:, number, 1] = run.starts, run.ends
    every, known, size = [bounds.ravel()], count * len(runs), len(source)
    table: Any = np.empty((count, len(pieces)), dtype=np.int32)
    left = iter(new)
    for at, piece in enumerate(pieces):
        if isinstance(piece, Extents):
            table[:, at] = np.arange(runs.index(piece), count * len(runs), len(runs), dtype=np.int32)
            continue
        texts = next(left)
        edges: Any = np.empty((len(texts.ends), 2), dtype=np.int32)
        edges[:1, 0] = size
        edges[:, 1] = texts.ends
        edges[:, 1] += np.int32(size)
        edges[1:, 0] = edges[:-1, 1]
        every.append(edges.ravel())
        table[:, at] = np.arange(known, known + count, dtype=np.int32) if texts.codes is None else texts.codes + known
        known += len(texts.ends)
        size += len(texts.data)
    table *= 2  # what stands between two pieces is one, too
    data = b"".join((source, *(each.data for each in new)))
    offsets = np.concatenate(every)
    found = pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    made = found.take(pa.array(table.ravel()))
    ends = np.frombuffer(made.buffers()[1], np.int32)[len(pieces) : len(made) + 1 : len(pieces)].copy()
    return Joined(bytes(memoryview(made.buffers()[2])[: int(ends[-1])]), ends)


_ALL: Final = np.zeros(1, dtype=np.int32)


def _texts(piece: bytes | Texts) -> Texts:
    """`codes` of one number are those of all rows."""
    return piece if isinstance(piece, Texts) else Texts(piece, np.array([len(piece)]), _ALL)
