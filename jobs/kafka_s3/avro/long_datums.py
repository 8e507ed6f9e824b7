"""Longs to Avro's binary form, a batch at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from kafka_s3.avro.pieces import Texts
from kafka_s3.avro.vectors import Ints

_BYTES_MAX: Final = 10
_SEVEN, _LOW, _MORE = np.uint64(7), np.uint64(0x7F), np.uint8(0x80)
#: Zigzag numbers from which on a varint takes one byte more.
_EDGES: Final = np.array([1 << 7 * size for size in range(1, _BYTES_MAX)], dtype=np.uint64)


def as_longs(values: Sequence[int]) -> Ints:
    """Numbers as an array."""
    if isinstance(values, range):
        return np.arange(values.start, values.stop, values.step, dtype=np.int64)
    return np.array(values, dtype=np.int64)


def sums(constant: int, columns: Sequence[Sequence[int]], count: int) -> list[int]:
    """The sum of each row of columns, and of one number more."""
    made = np.full(count, constant, dtype=np.int64)
    for each in columns:
        made += np.asarray(each, dtype=np.int64)
    return made.tolist()


def long_sizes(numbers: Ints) -> Ints:
    """How many bytes each takes."""
    sizes: Ints = np.searchsorted(_EDGES, _zigzag(numbers), side="right") + 1
    return sizes


def long_datums(numbers: Ints, prefix: bytes = b"") -> Sequence[bytes]:
    """The datum of each number, behind the same bytes.

    >>> long_datums(np.array([0, -1, 64]), b"p")
    [b'p\\x00', b'p\\x01', b'p\\x80\\x01']
    """
    sizes = long_sizes(numbers)
    if not len(sizes):
        return []
    made, head = _table(numbers, sizes, prefix), len(prefix)
    longest = made.shape[1] - head
    whole: list[bytes] = made.view(f"V{head + longest}").ravel().tolist()
    if sizes.min() == longest:
        return whole
    return [each[:end] for each, end in zip(whole, (sizes + head).tolist(), strict=True)]


def long_texts(numbers: Ints, prefix: bytes = b"") -> Texts:
    """The same, one after the other."""
    sizes = long_sizes(numbers)
    made = _table(numbers, sizes, prefix)
    ends = np.cumsum(sizes + len(prefix))
    if sizes.min() < made.shape[1] - len(prefix):
        made = made[np.arange(made.shape[1]) < (sizes + len(prefix))[:, None]]
    return Texts(made.tobytes(), ends)


def _table(numbers: Ints, sizes: Ints, prefix: bytes) -> npt.NDArray[np.uint8]:
    """A row of bytes for each number; what stands behind short ones means nothing."""
    longest, head = int(sizes.max()), len(prefix)
    made = np.empty((len(numbers), head + longest), dtype=np.uint8)
    made[:, :head] = np.frombuffer(prefix, np.uint8)
    left = _zigzag(numbers)
    for place in range(longest):
        made[:, head + place] = (left & _LOW).astype(np.uint8) | np.where(sizes > place + 1, _MORE, np.uint8(0))
        left >>= _SEVEN
    return made


def _zigzag(numbers: Ints) -> npt.NDArray[np.uint64]:
    return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
