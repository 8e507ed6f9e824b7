"""The bytes of a batch, and reading at many positions of them at once.

A position never leads out of the buffer: one that would is set to `Buffer.limit`, which lies behind the end of every
row and never comes back, as positions only grow. So what is wrong anywhere in a row is known at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

#: Beyond this a batch is not joined: Arrow's offsets are 32 bits.
BYTES_MAX: Final = 2**30
_PADDING: Final = bytes(32)

_U64 = np.uint64
_HIGH, _ONE, _BYTE = _U64(0x8080808080808080), _U64(1), _U64(3)
_SEVEN = _U64(0x7F7F7F7F7F7F7F7F)
_FOLDS: Final = [
    (_U64(0x007F007F007F007F), _U64(0x7F007F007F007F00), _U64(1)),
    (_U64(0x00003FFF00003FFF), _U64(0x3FFF00003FFF0000), _U64(2)),
    (_U64(0x000000000FFFFFFF), _U64(0x0FFFFFFF00000000), _U64(4)),
]
#: What a varint of one byte says; those with a high bit are not asked for.
_ZIGZAG: Final = np.array([(byte >> 1) ^ -(byte & 1) for byte in range(256)], dtype=np.int64)


class Buffer:
    """The datums of a batch, one after the other. Memory: their bytes once more, and 16 bytes a row.

    `starts`, `ends`: of each row in it. `skip`: bytes at the beginning of each that are none of the datum's.
    """

    __slots__ = ("arrow", "bytes", "cuts", "data", "doubles", "ends", "floats", "limit", "rounds", "starts", "words")

    def __init__(self, datums: Sequence[bytes], skip: int = 0) -> None:
        data = b"".join((*datums, _PADDING))
        self.ends = np.cumsum(np.fromiter(map(len, datums), np.int64, len(datums)), dtype=np.int64)
        self.starts = np.empty_like(self.ends)
        self.starts[:1] = 0
        self.starts[1:] = self.ends[:-1]
        self.starts += skip
        self.limit = len(data) - len(_PADDING) + 1
        self.data = data
        self.arrow = pa.py_buffer(data)
        self.bytes: Bytes = np.frombuffer(data, np.uint8)
        self.words = _windows(data, "<u8", 8)
        self.floats = _windows(data, "<f4", 4)
        self.doubles = _windows(data, "<f8", 8)
        self.rounds = 0
        self.cuts: Any = None  # of the only datum, where they are known

    def advance(self, positions: Ints, by: Any) -> Ints:
        moved: Ints = np.minimum(positions + by, self.limit)
        return moved

    def poison(self, positions: Ints, bad: npt.NDArray[np.bool_]) -> Ints:
        """The positions, those of bad rows beyond the end."""
        return np.where(bad, self.limit, positions)

    def varints(self, positions: Ints, bytes_max: int = 10) -> tuple[Ints, Ints]:
        """The numbers at the positions, and where each ends. `bytes_max`: 5 for an int, 10 for a long."""
        first = self.bytes.take(positions)
        if not len(first) or first.max() < 0x80:
            return _ZIGZAG.take(first), np.minimum(positions + 1, self.limit)
        number, size, bad = self._numbers(positions)
        values = (number >> _ONE).view(np.int64) ^ -(number & _ONE).view(np.int64)
        if bytes_max == 5:
            wide = (size > 5) | (values != values.astype(np.int32))
            bad = wide if bad is None else bad | wide
        after = positions + size
        if bad is not None and bad.any():
            after[bad] = self.limit
            values[bad] = 0
        return values, np.minimum(after, self.limit, out=after)

    def unsigned(self, positions: Ints) -> tuple[npt.NDArray[np.uint64], Ints]:
        """Like `varints`, of numbers that are written as they are, without a zigzag."""
        first = self.bytes.take(positions)
        if not len(first) or first.max() < 0x80:
            return first.astype(np.uint64), np.minimum(positions + 1, self.limit)
        number, size, bad = self._numbers(positions)
        after = positions + size
        if bad is not None and bad.any():
            after[bad] = self.limit
            number[bad] = 0
        return number, np.minimum(after, self.limit, out=after)

    def _numbers(self, positions: Ints) -> tuple[npt.NDArray[np.uint64], Ints, npt.NDArray[np.bool_] | None]:
        """The bits of the numbers at the positions, how many bytes each takes, and which are none, if there are any."""
        word = self.words[positions]
        stop = ~word & _HIGH
        low = stop & (~stop + _ONE)  # the lowest bit that ends a number; 0 if none of eight bytes does
        mask = low ^ (low - _ONE)
        size = (np.bitwise_count(mask) >> 3).astype(np.int64)
        number = word & mask & _SEVEN
        for keep, move, by in _FOLDS:
            number = (number & keep) | ((number & move) >> by)
        bad = None
        if not stop.all():
            bad = self._long_ones(np.flatnonzero(stop == 0), positions, number, size)
        return number, size, bad

    def _long_ones(
        self, long: Ints, positions: Ints, number: npt.NDArray[np.uint64], size: Ints
    ) -> npt.NDArray[np.bool_]:
        """Completes numbers of nine and ten bytes; says which are none."""
        at = positions[long]
        ninth = self.bytes[at + 8].astype(np.uint64)
        tenth = self.bytes[at + 9].astype(np.uint64)
        more = ninth >= _U64(0x80)
        number[long] |= (ninth & _U64(0x7F)) << _U64(56)
        number[long] |= np.where(more, tenth & _ONE, _U64(0)) << _U64(63)
        size[long] = np.where(more, 10, 9)
        bad = np.zeros(len(positions), dtype=np.bool_)
        bad[long] = more & (tenth > _ONE)
        return bad

    def lengths(self, positions: Ints) -> tuple[Ints, Ints]:
        """Like `varints`, of numbers that are lengths: one that cannot be is 0, and its row is bad."""
        values, after = self.varints(positions)
        bad = values.view(np.uint64) > _U64(self.limit)  # so are negative ones
        if bad.any():
            values[bad] = 0
            after[bad] = self.limit
        return values, after

    def gather(self, starts: Ints, sizes: Ints) -> pa.Array:
        """Bytes from here and there, as one binary array. The pieces stand in the buffer's order and do not overlap."""
        count = len(starts)
        if not count:
            return pa.array([], pa.binary())
        pieces = self._pieces(starts, sizes, pa.binary(), None)
        return pieces.take(pa.array(np.arange(0, 2 * count - 1, 2, dtype=np.int32)))

    def are_utf8(self, starts: Ints, sizes: Ints) -> bool:
        """Whether all of these pieces are UTF-8; they are looked at where they are."""
        count = len(starts)
        if not count:
            return True
        try:
            # What stands between two pieces is null, and so not looked at.
            self._pieces(starts, sizes, pa.string(), pa.py_buffer(b"\x55" * (count // 4 + 1))).validate(full=True)
        except pa.ArrowInvalid:
            return False
        return True

    def _pieces(self, starts: Ints, sizes: Ints, kind: pa.DataType, present: pa.Buffer | None) -> pa.Array:
        """Pieces of the buffer, and what stands between each two of them."""
        count = len(starts)
        offsets = np.empty(2 * count, dtype=np.int32)
        offsets[0::2] = starts
        offsets[1::2] = starts + sizes
        return pa.Array.from_buffers(kind, 2 * count - 1, [present, pa.py_buffer(offsets), self.arrow])

    def decimals(self, starts: Ints, sizes: Ints, kind: pa.DataType) -> pa.Array | None:
        """Unscaled values, the highest byte first, as decimals; `None` if one has more bytes or digits than that."""
        width, count = kind.byte_width, len(starts)
        longest = int(sizes.max(initial=0))
        if longest > width:
            return None
        lowest = starts + sizes - 1
        # A value without bytes is zero; its start may be where another's bytes are.
        negative = (self.bytes.take(starts) >= 0x80) & (sizes > 0)
        made = np.repeat(np.where(negative, 0xFF, 0).astype(np.uint8)[:, None], width, axis=1)
        for place in range(longest):
            made[:, place] = np.where(place < sizes, self.bytes.take(lowest - place, mode="clip"), made[:, place])
        array = pa.Array.from_buffers(kind, count, [None, pa.py_buffer(made)])
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            return None
        return array


def spread(array: pa.Array, places: Ints, *, nullable: bool = True) -> pa.Array:
    """The array's values in other places, by index; nulls where that is -1.

    Below a null struct, and where `nullable` is not said, there are empty values instead: Parquet's writer takes no
    null in a column that may have none, even where nobody will ever see it.
    """
    kind, count = array.type, len(places)
    if pa.types.is_struct(kind):
        children = [
            spread(array.field(index), places, nullable=kind.field(index).nullable) for index in range(kind.num_fields)
        ]
        bits = None
        if nullable:
            # One more at the end, for -1.
            present = np.append(array.is_valid().to_numpy(zero_copy_only=False), False)
            bits = pa.py_buffer(np.packbits(present.take(places, mode="wrap"), bitorder="little"))
        return pa.Array.from_buffers(kind, count, [bits], children=children)
    made = array.take(pa.array(places, mask=places < 0))
    if nullable or not made.null_count:
        return made
    if pa.types.is_nested(kind):
        return pa.Array.from_buffers(kind, count, [None, made.buffers()[1]], children=[made.values])
    return pa.Array.from_buffers(kind, count, [None, *made.buffers()[1:]])


def among_nulls(array: pa.Array, there: Sequence[bool]) -> pa.Array:
    """The array's values, one after the other, where there are some; nulls elsewhere."""
    present = np.array(there, dtype=np.bool_)
    return spread(array, np.where(present, np.cumsum(present) - 1, -1))


def _windows(data: bytes, kind: str, size: int) -> Any:
    """A view in which item i begins at byte i."""
    return np.ndarray((len(data) - size + 1,), dtype=kind, buffer=data, strides=(1,))
