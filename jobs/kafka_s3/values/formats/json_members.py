"""Where the members of JSON objects stand in their text, for a whole batch at once.

Of objects whose text is what would be written of their values, too: those need no values to get other members. All
positions are found together; what is not seen to be such text is left to whoever reads values. So a record's bytes do
not depend on the way that it went.

Two things that hold for valid JSON without backslashes do most of it. What stands before `":` is a key, or a string
that begins with a colon; and `,"name":` is a key of that name, wherever it stands, as no string ends before a letter.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_s3.values.formats.json_text import as_jackson, schemaless

Ints = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]
_Words = npt.NDArray[np.uint64]

#: Bytes of a batch, and of one value of it: positions take some times their memory, and values are made of the rest.
_BATCH_MAX: Final = 1 << 26
_VALUE_MAX: Final = 1 << 20
#: Arrays in each other, in one value: with the object around them what may become values (`schemaless.NESTING_MAX`).
_ARRAYS_MAX: Final = 199
_SHAPES_MAX: Final = 8
_MEMBERS_MAX: Final = 1_000
#: Fewer rows of a shape are values.
_ROWS_MIN: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9_.$@#/-]{1,100}")
_SPACED_COLON: Final = re.compile(rb'" +:')
_LONG: Final = b"0" * 17
_ODD: Final = (b" ", b".", b"-0", b"0e", b"0E", _LONG)
_AS_ZEROS: Final = bytes.maketrans(b"123456789", b"0" * 9)
#: As many digits as always fit into 64 bits; with a point, as many as a double tells apart.
_DIGITS_MAX: Final = 16

_U64 = np.uint64
_NONE: Final = np.empty(0, dtype=np.int64)
_WORD: Final = 8
#: Around the text, so that words begin and end in it: the longest name's, and a word's.
_FRONT: Final = 128
_BEHIND: Final = b"\n" * _WORD
_ZEROS, _POINTS, _TO_TEN, _HIGH = (
    _U64(0x0101010101010101 * byte) for byte in (ord("0"), ord("0") ^ ord("."), 0x76, 0x80)
)
#: The bytes of a word that are its last so many.
_LAST: Final = np.array([0] + [2**64 - 2 ** (8 * (_WORD - count)) for count in range(1, _WORD + 1)], dtype=np.uint64)

_DECODE: Final = msgspec.json.Decoder().decode
_NAMES: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_CHECK: Final = msgspec.json.Decoder(msgspec.Raw).decode


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Objects with the same members in the same order.

    Of each member, and each row: where its head (`{"name":` or `,"name":`) begins in `data`, and where its value's text
    does and ends. `indexes`: the rows' places in the batch. `cut`: members behind whose values in some rows something
    stands that is not written.
    """

    indexes: Ints
    names: tuple[str, ...]
    data: bytes
    heads: Ints
    starts: Ints
    ends: Ints
    cut: frozenset[int] = frozenset()

    def pick(self, places: Any) -> Members:
        positions = self.heads[:, places], self.starts[:, places], self.ends[:, places]
        return Members(self.indexes[places], self.names, self.data, *positions, self.cut)


def members_of(values: Sequence[bytes]) -> list[Members]:
    """What of a batch is objects whose members' text can be taken as it is; the rest is in none of the groups."""
    try:
        deque(map(_CHECK, values), maxlen=0)
    except (msgspec.DecodeError, RecursionError):
        return []
    data = b"\n".join([b"\n" * (_FRONT - 1), *values, _BEHIND])
    if len(data) > _BATCH_MAX:
        return []
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return []
    return _Finder(data, values).found()


class _Finder:
    def __init__(self, data: bytes, values: Sequence[bytes]) -> None:
        self._data = data
        self._values = values
        self._bytes = np.frombuffer(data, np.uint8)
        self._words: _Words = np.ndarray((len(data) - _WORD + 1,), dtype="<u8", buffer=data, strides=(1,))
        sizes = np.fromiter(map(len, values), np.int64, len(values))
        self._row_ends = np.cumsum(sizes + 1) + (_FRONT - 1)
        self._rows = self._row_ends - sizes
        self._good = self._plain_rows(sizes)
        colons = self._bytes == ord(":")
        before = self._bytes == ord(" ")
        if np.logical_and(before[:-1], colons[1:], out=before[:-1])[:-1].any():
            rows = self._row_of(np.array([each.start() for each in _SPACED_COLON.finditer(data)], np.int64))
            self._good[rows] = False
        np.equal(self._bytes, ord('"'), out=before)
        #: Where names end, and perhaps more.
        self._closing: Ints = np.flatnonzero(np.logical_and(before[:-1], colons[1:], out=before[:-1])[:-1])

    def _plain_rows(self, sizes: Ints) -> _Flags:
        """Rows that may be what is looked for."""
        data = self._data
        good = (sizes >= 2) & (sizes <= _VALUE_MAX)
        good &= (self._bytes[self._rows] == ord("{")) & (self._bytes[self._row_ends - 1] == ord("}"))
        if b"\\" in data:
            good[self._row_of(np.flatnonzero(self._bytes == ord("\\")))] = False
        if not data.isascii():  # Jackson writes what Java has two chars for otherwise
            good[self._row_of(np.flatnonzero(self._bytes >= 0xF0))] = False
        breaks = np.count_nonzero(self._bytes == ord("\n")) - _FRONT - len(_BEHIND)
        if breaks != len(sizes) or b"\t" in data or b"\r" in data:
            spaces = np.flatnonzero(self._bytes < ord(" "))
            spaces = spaces[(spaces > self._rows[0]) & (spaces < self._row_ends[-1])]
            rows = self._row_of(spaces)
            good[rows[spaces != self._row_ends[rows]]] = False
        if np.count_nonzero(self._bytes == ord("{")) > np.count_nonzero(good):
            braces = np.bincount(self._row_of(np.flatnonzero(self._bytes == ord("{"))), minlength=len(sizes))
            good &= braces == 1
        for row in np.flatnonzero(good & (sizes > 2 * _ARRAYS_MAX)).tolist():
            if self._values[row].count(b"[") > _ARRAYS_MAX:
                good[row] = False
        return good

    def _row_of(self, positions: Ints) -> Ints:
        return np.searchsorted(self._row_ends, positions)

    def found(self) -> list[Members]:
        quotes = self._closing
        firsts, counts = self._counts(quotes)
        made: list[Members] = []
        left = self._good & (counts > 0) & (counts <= _MEMBERS_MAX)
        for _ in range(_SHAPES_MAX):
            rows = np.flatnonzero(left)
            if len(rows) < _ROWS_MIN:
                break
            count = int(counts[rows[0]])
            rows = rows[counts[rows] == count]
            if len(rows) * count == len(quotes):
                closing = np.ascontiguousarray(quotes.reshape(-1, count).T)
            else:
                closing = quotes[firsts[rows] + np.arange(count)[:, None]]
            same = self._of_shape(rows, closing, left)
            if same is not None:
                made.append(same)
        return made

    def _counts(self, positions: Ints) -> tuple[Ints, Ints]:
        """Of each row the first of some positions that are in it, by number, and how many are."""
        rows = len(self._rows)
        count, rest = divmod(len(positions), rows)
        if count and not rest:
            table = positions.reshape(rows, count)
            if (table[:, 0] > self._rows).all() and (table[:, -1] < self._row_ends).all():
                return np.arange(0, len(positions), count), np.full(rows, count)
        firsts = np.searchsorted(positions, self._rows)
        return firsts, np.diff(firsts, append=len(positions))

    def _of_shape(self, rows: Ints, closing: Ints, left: _Flags) -> Members | None:
        """Those of some rows that have the members of the first; `left` loses them. `closing`: where names end."""
        names = tuple(_NAMES(self._values[rows[0]]))
        left[rows[0]] = False
        if len(names) != len(closing) or not all(map(_NAME.fullmatch, names)):
            return None
        heads = closing - np.array([[len(name) + 2] for name in names])
        same = heads[0] == self._rows[rows]
        for at, name in enumerate(names):
            same &= self._stands(f'{"," if at else "{"}"{name}":'.encode(), closing[at])
        if not same.any():
            return None
        left[rows[same]] = False
        ends = np.empty_like(heads)
        ends[:-1], ends[-1] = heads[1:], self._row_ends[rows] - 1
        found = Members(rows, names, self._data, heads, closing + 2, ends)
        found = found if same.all() else found.pick(same)
        return self._written(found)

    def _stands(self, text: bytes, closing: Ints) -> Any:
        """Whether this text, of which the two last bytes do, stands at each of the positions."""
        same: Any = True
        for stop in range(len(text), 0, -_WORD):
            part = text[max(0, stop - _WORD) : stop]
            wanted = _U64(int.from_bytes(part.rjust(_WORD, b"\0"), "little"))
            words = self._words[closing - (_WORD - 2 + len(text) - stop)]
            same &= (words if len(part) == _WORD else words & _LAST[len(part)]) == wanted
        return same

    def _written(self, found: Members) -> Members | None:
        """The rows whose text is what is written of their values, or can be made that."""
        firsts, lasts = self._bytes[found.starts], self._bytes[found.ends - 1]
        fine = (firsts == ord('"')) & (lasts == ord('"'))
        cut: set[int] = set()
        new: list[tuple[int, int, bytes]] = []  # row, member, text
        for at in np.flatnonzero(~fine.all(axis=1)).tolist():
            odd, rows, fewer = self._look_at(found.starts[at], found.ends[at], firsts[at], lasts[at], fine[at])
            if len(rows):
                found.ends[at, rows] -= fewer
                cut.add(at)
            for row in odd:
                text = self._anew(found.data[found.starts[at, row] : found.ends[at, row]])
                fine[at, row] = text is not None
                new += [(row, at, text)] if text is not None else []
        if cut:
            found = replace(found, cut=frozenset(cut))
        if not (good := fine.all(axis=0)).all():
            places = np.flatnonzero(good)
            moved = dict(zip(places.tolist(), range(len(places)), strict=True))
            new = [(moved[row], at, text) for row, at, text in new if row in moved]
            found = found.pick(places)
        if not len(found.indexes):
            return None
        return _with_texts(found, new) if new else found

    def _look_at(self, starts: Ints, ends: Ints, first: Any, last: Any, fine: _Flags) -> tuple[list[int], Ints, Ints]:
        """One member of all rows: those that are `fine`, too, those that may be written otherwise, and those that have
        some zeros at their end that are not written."""
        sizes = ends - starts
        fine |= ((first == ord("t")) | (first == ord("n"))) & (sizes == 4)
        fine |= (first == ord("f")) & (sizes == 5)
        if fine.all():
            return [], _NONE, _NONE
        odd: list[int] = []
        lists = np.flatnonzero((first == ord("[")) & (last == ord("]")))
        if len(lists):
            odd = self._odd_lists(lists, starts, ends)
            fine[lists] = True
        digit = (first >= ord("0")) & (first <= ord("9"))
        rows = np.flatnonzero(~fine & (last >= ord("0")) & (last <= ord("9")) & (digit | (first == ord("-"))))
        if not len(rows):
            return odd, _NONE, _NONE
        of_number, unclear, zeros = self._numbers(starts[rows], ends[rows])
        fine[rows[of_number]] = True
        odd += rows[unclear].tolist()
        some = np.flatnonzero(zeros)
        return odd, rows[some], zeros[some]

    def _odd_lists(self, rows: Ints, starts: Ints, ends: Ints) -> list[int]:
        """Those whose text may not be what is written."""
        if not _is_odd(gathered(self._data, starts[rows], ends[rows])):
            return []
        pairs = zip(rows.tolist(), starts[rows].tolist(), ends[rows].tolist(), strict=True)
        return [row for row, start, end in pairs if _is_odd(self._data[start:end])]

    def _numbers(self, starts: Ints, ends: Ints) -> tuple[_Flags, _Flags, Ints]:
        """Which numbers are written as they stand, but for some zeros at the end, and which may be written otherwise;
        of the others nothing is known. And how many zeros that is.

        A number with a point is written as it stands where a double tells its digits apart, and Java writes it without
        an exponent.
        """
        minus = self._bytes[starts] == ord("-")
        starts = starts + minus
        sizes = ends - starts
        longest = int(sizes.max())
        low, low_odd = self._digits(ends, np.minimum(sizes, _WORD))
        odd = low_odd != 0
        if longest > _WORD:
            high, high_odd = self._digits(ends - _WORD, np.clip(sizes - _WORD, 0, _WORD))
            odd |= high_odd != 0
        else:
            high = high_odd = np.zeros_like(low)
        if longest > _DIGITS_MAX:
            odd |= sizes > _DIGITS_MAX
        no_whole = minus & (sizes == 1) & (self._bytes[starts] == ord("0"))  # what -0 is, others say
        plain = ~(odd | no_whole)
        zeros = np.zeros(len(starts), dtype=np.int64)
        rest = np.flatnonzero(odd)
        if not len(rest):
            return plain, odd, zeros
        is_point, more = self._points(
            starts[rest], ends[rest], (low[rest], high[rest]), (low_odd[rest], high_odd[rest])
        )
        plain[rest] = is_point
        zeros[rest] = more
        return plain, ~plain & (sizes <= _DIGITS_MAX + 1) & ~no_whole, zeros

    def _points(
        self, starts: Ints, ends: Ints, words: tuple[_Words, _Words], odd: tuple[_Words, _Words]
    ) -> tuple[_Flags, Ints]:
        """Which numbers of several are digits and a point that are written so, and how many zeros at their ends are
        left out."""
        sizes = ends - starts
        point = (sizes <= _DIGITS_MAX) & (np.bitwise_count(odd[0]) + np.bitwise_count(odd[1]) == 1)
        for word, marked in zip(words, odd, strict=True):
            there = (marked >> _U64(7)) * _U64(0xFF)
            point &= (word & there) == (_POINTS & there)
        is_low = odd[0] != 0
        behind = np.where(is_low, 7, 15) - (np.bitwise_count(np.where(is_low, odd[0], odd[1]) - _U64(1)) >> 3).astype(
            np.int64
        )
        first = self._bytes[starts]
        point &= (sizes - 1 - behind <= 7) & ((first != ord("0")) | (self._bytes[starts + 2] != ord("0")))
        zeros = np.zeros(len(starts), dtype=np.int64)
        rows = np.flatnonzero(point & (behind > 1))
        for at in range(1, _DIGITS_MAX):
            rows = rows[(self._bytes[ends[rows] - at] == ord("0")) & (behind[rows] > at)]
            if not len(rows):
                break
            zeros[rows] = at
        return point, zeros

    def _digits(self, ends: Ints, counts: Ints) -> tuple[_Words, _Words]:
        """The last bytes of some words, a digit being its number; and a bit for each byte that is no digit."""
        words: _Words = (self._words[ends - _WORD] ^ _ZEROS) & _LAST[counts]
        return words, (words + (_TO_TEN & _LAST[counts])) & _HIGH

    @staticmethod
    def _anew(text: bytes) -> bytes | None:
        """A value's text as it is written; `None` if others have to look at it."""
        if text.startswith(b"[") and _LONG in text.translate(_AS_ZEROS):
            return None  # a number that may not fit into 64 bits
        try:
            return as_jackson([msgspec.json.encode(schemaless(_DECODE(text)))])[0]
        except (ValueError, RecursionError):
            return None


def _is_odd(text: bytes) -> bool:
    """Whether text of arrays may not be what is written: spaces, fractions, exponents, long numbers, -0."""
    zeros = text.translate(_AS_ZEROS)
    return any(sign in zeros for sign in _ODD)


def _with_texts(found: Members, new: list[tuple[int, int, bytes]]) -> Members:
    """The same with other texts in some places."""
    new.sort()
    pieces: list[bytes] = []
    before = 0
    more = np.zeros((len(found.indexes), len(found.names)), dtype=np.int64)  # in the order of the text
    for row, at, text in new:
        start, end = int(found.starts[at, row]), int(found.ends[at, row])
        pieces += (found.data[before:start], text)
        before = end
        more[row, at] = len(text) - (end - start)
    data = b"".join([*pieces, found.data[before:]])
    moved = np.cumsum(more.ravel()).reshape(more.shape)
    earlier = (moved - more).T
    positions = found.heads + earlier, found.starts + earlier, found.ends + moved.T
    return Members(found.indexes, found.names, data, *positions, found.cut)


def gathered(data: bytes, starts: Ints, ends: Ints) -> bytes:
    """Pieces of some bytes, one after the other. They ascend and do not overlap."""
    offsets = np.empty(2 * len(starts), dtype=np.int32)
    offsets[0::2], offsets[1::2] = starts, ends
    pieces = pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    found = pieces.take(pa.array(np.arange(0, len(offsets), 2, dtype=np.int32)))
    return bytes(memoryview(found.buffers()[2])[: int(np.sum(ends - starts))])
