"""One class for each Avro type that a batch is read by at once.

`scan` takes the positions of some rows and gives those behind the value, and what it found. `arrow` makes a column of
that, of a given type; `values` plain values, where that is cheap (`None` where it is not).
"""

# Every node has the same three methods, and few need all that they are given:
# ruff: noqa: ARG002

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_s3.avro.vectors import Buffer, Ints, spread

#: Items of an array or a map that are read at once, one for each row; and of all arrays and maps of a schema together.
ITEMS_MAX: Final = 64
ROUNDS_MAX: Final = 128

Rows = Ints | None  # which rows of the batch the positions belong to; None: all


class Slow(Exception):
    """A column has to be made of values after all."""


class Column(Protocol):
    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]: ...
    def arrow(self, buffer: Buffer, found: Any, kind: pa.DataType) -> pa.Array: ...
    def values(self, buffer: Buffer, found: Any) -> list[Any] | None: ...


def _chosen(rows: Rows, some: Ints) -> Ints:
    return some if rows is None else rows[some]


class Null:
    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, int]:
        return at, len(at)

    def arrow(self, buffer: Buffer, found: int, kind: pa.DataType) -> pa.Array:
        return pa.nulls(found, kind)

    def values(self, buffer: Buffer, found: int) -> list[Any]:
        return [None] * found


class Boolean:
    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        found = buffer.bytes.take(at)
        return buffer.poison(buffer.advance(at, 1), found > 1), found

    def arrow(self, buffer: Buffer, found: Any, kind: pa.DataType) -> pa.Array:
        bits = np.packbits(found, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(found), [None, pa.py_buffer(bits)])

    def values(self, buffer: Buffer, found: Any) -> list[Any]:
        values: list[Any] = found.view(np.bool_).tolist()
        return values


@dataclass(frozen=True, slots=True)
class Integer:
    """An int or a long."""

    bytes_max: int

    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Ints]:
        found, after = buffer.varints(at, self.bytes_max)
        return after, found

    def arrow(self, buffer: Buffer, found: Ints, kind: pa.DataType) -> pa.Array:
        narrow = found.astype(f"i{kind.bit_width // 8}")
        if kind.bit_width < 32 and (narrow != found).any():
            raise Slow  # from_values says which
        return pa.Array.from_buffers(kind, len(found), [None, pa.py_buffer(narrow)])

    def values(self, buffer: Buffer, found: Ints) -> list[Any]:
        values: list[Any] = found.tolist()
        return values


@dataclass(frozen=True, slots=True)
class Real:
    """A float or a double."""

    size: int

    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        windows = buffer.floats if self.size == 4 else buffer.doubles
        return buffer.advance(at, self.size), windows[at]

    def arrow(self, buffer: Buffer, found: Any, kind: pa.DataType) -> pa.Array:
        return pa.Array.from_buffers(kind, len(found), [None, pa.py_buffer(found)])

    def values(self, buffer: Buffer, found: Any) -> list[Any]:
        values: list[Any] = found.tolist()
        return values


class Text:
    """Strings or bytes that a scan found: where they are, and themselves once they were asked for."""

    __slots__ = ("_gathered", "rows", "sizes", "starts")

    def __init__(self, starts: Ints, sizes: Ints, rows: Rows) -> None:
        self.starts, self.sizes, self.rows = starts, sizes, rows
        self._gathered: pa.Array | None = None

    def gathered(self, buffer: Buffer) -> pa.Array:
        if self._gathered is None:
            self._gathered = buffer.gather(self.starts, self.sizes)
        return self._gathered

    def not_utf8(self, buffer: Buffer) -> list[int]:
        """Rows in which this is not UTF-8."""
        if buffer.are_utf8(self.starts, self.sizes):
            return []
        found = [index for index, each in enumerate(self.gathered(buffer).to_pylist()) if not _is_utf8(each)]
        return found if self.rows is None else self.rows[found].tolist()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Lengthy:
    """Strings and bytes."""

    text: bool

    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Text]:
        sizes, starts = buffer.lengths(at)
        found = Text(starts, sizes, rows)
        if self.text:
            texts.append(found)
        return buffer.advance(starts, sizes), found

    def arrow(self, buffer: Buffer, found: Text, kind: pa.DataType) -> pa.Array:
        return _bytes_or_decimals(buffer, found, kind)

    def values(self, buffer: Buffer, found: Text) -> list[Any]:
        gathered = found.gathered(buffer)
        _, offsets, data = gathered.buffers()
        bounds = np.frombuffer(offsets, np.int32, len(gathered) + 1).tolist() if len(gathered) else [0]
        raw = data.to_pybytes() if data is not None else b""
        pairs = pairwise(bounds)
        if not self.text:
            return [raw[start:stop] for start, stop in pairs]
        if raw.isascii():
            text = raw.decode("ascii")
            return [text[start:stop] for start, stop in pairs]
        return [raw[start:stop].decode("utf-8") for start, stop in pairs]


def _bytes_or_decimals(buffer: Buffer, found: Text, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_decimal(kind):
        return found.gathered(buffer).view(kind)
    made = buffer.decimals(found.starts, found.sizes, kind)
    if made is None:
        raise Slow  # from_values says which is too large
    return made


@dataclass(frozen=True, slots=True)
class Fixed:
    size: int

    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Text]:
        return buffer.advance(at, self.size), Text(at, np.full(len(at), self.size, dtype=np.int64), rows)

    def arrow(self, buffer: Buffer, found: Text, kind: pa.DataType) -> pa.Array:
        if not pa.types.is_fixed_size_binary(kind):
            return _bytes_or_decimals(buffer, found, kind)
        gathered = found.gathered(buffer)
        data = gathered.buffers()[2] if len(gathered) else pa.py_buffer(b"")
        return pa.Array.from_buffers(kind, len(gathered), [None, data])

    def values(self, buffer: Buffer, found: Text) -> list[Any]:
        values: list[Any] = found.gathered(buffer).to_pylist()
        return values


@dataclass(frozen=True, slots=True)
class Enum:
    symbols: list[str]

    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Ints]:
        found, after = buffer.varints(at, 5)
        return _within(buffer, found, after, len(self.symbols))

    def arrow(self, buffer: Buffer, found: Ints, kind: pa.DataType) -> pa.Array:
        return pa.array(self.symbols, kind).take(pa.array(found))

    def values(self, buffer: Buffer, found: Ints) -> list[Any]:
        return [self.symbols[index] for index in found.tolist()]


def _within(buffer: Buffer, found: Ints, after: Ints, count: int) -> tuple[Ints, Ints]:
    bad = found.view(np.uint64) >= np.uint64(count)
    if bad.any():
        found[bad] = 0
        after[bad] = buffer.limit
    return after, found


@dataclass(frozen=True, slots=True)
class Record:
    names: list[str]
    fields: list[Column]

    def scan(
        self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text], ends: list[Ints] | None = None
    ) -> tuple[Ints, tuple[int, list[Any]]]:
        """`ends` gets where each field ends."""
        found = []
        count = len(at)
        for field in self.fields:
            at, column = field.scan(buffer, at, rows, texts)
            found.append(column)
            if ends is not None:
                ends.append(at)
        return at, (count, found)

    def arrow(self, buffer: Buffer, found: tuple[int, list[Any]], kind: pa.DataType) -> pa.Array:
        count, columns = found
        children = [
            field.arrow(buffer, column, kind.field(index).type)
            for index, (field, column) in enumerate(zip(self.fields, columns, strict=True))
        ]
        return pa.Array.from_buffers(kind, count, [None], children=children)

    def values(self, buffer: Buffer, found: tuple[int, list[Any]]) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Union:
    """A union of one type and null is a column of that type."""

    branches: list[Column]

    @property
    def plain(self) -> Column | None:
        """The only branch that is not null, if there is only one."""
        others = [each for each in self.branches if not isinstance(each, Null)]
        return others[0] if len(others) == 1 else None

    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        index, after = buffer.varints(at, 5)
        after, index = _within(buffer, index, after, len(self.branches))
        found = []
        for number, branch in enumerate(self.branches):
            mine = np.flatnonzero(index == number)
            if len(mine) == len(index):
                after, column = branch.scan(buffer, after, rows, texts)
            elif len(mine) and not isinstance(branch, Null):
                after[mine], column = branch.scan(buffer, after[mine], _chosen(rows, mine), texts)
            else:
                column = None
            found.append((mine, column))
        return after, (len(index), found)

    def place(self, found: Any) -> tuple[Ints | None, Any]:
        """Of a plain union: where each row's value stands in the branch's column (-1: null; None: in order)."""
        count, columns = found
        pairs = zip(self.branches, columns, strict=True)
        [(mine, column)] = [each for branch, each in pairs if not isinstance(branch, Null)]
        return (None if len(mine) == count else _places(count, mine)), column

    def arrow(self, buffer: Buffer, found: Any, kind: pa.DataType) -> pa.Array:
        count, columns = found
        some = [
            (branch, mine, column)
            for branch, (mine, column) in zip(self.branches, columns, strict=True)
            if not isinstance(branch, Null)
        ]
        if not some:
            return pa.nulls(count, kind)
        if len(some) == 1:
            return _spread(buffer, count, some[0], kind)
        children = [_spread(buffer, count, each, kind.field(index).type) for index, each in enumerate(some)]
        present = np.zeros(count, dtype=np.bool_)
        for _, mine, _ in some:
            present[mine] = True
        bits = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
        return pa.Array.from_buffers(kind, count, [bits], children=children)

    def values(self, buffer: Buffer, found: Any) -> None:
        return None


def _places(count: int, mine: Ints) -> Ints:
    places = np.full(count, -1, dtype=np.int64)
    places[mine] = np.arange(len(mine))
    return places


def _spread(buffer: Buffer, count: int, branch: tuple[Column, Ints, Any], kind: pa.DataType) -> pa.Array:
    """A column of the rows that have this branch, with nulls where the others are."""
    node, mine, column = branch
    made = node.arrow(buffer, column, kind) if len(mine) else pa.array([], kind)
    return made if len(mine) == count else spread(made, _places(count, mine))


@dataclass(frozen=True, slots=True)
class Items:
    """An array; a map is one of records with a key and a value."""

    item: Column
    keyed: bool

    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        left, out = self._heads(buffer, at)
        counts = np.zeros(len(at), dtype=np.int64)
        rounds: list[tuple[Ints, Any]] = []
        active = np.flatnonzero(left)
        left, here = left[active], out[active]
        while len(active):
            if len(rounds) == ITEMS_MAX or buffer.rounds == 0:
                out[active] = buffer.limit
                break
            buffer.rounds -= 1
            here, column = self.item.scan(buffer, here, _chosen(rows, active), texts)
            rounds.append((active, column))
            counts[active] += 1
            left -= 1
            ended = np.flatnonzero(left == 0)
            if len(ended):
                left[ended], here[ended] = self._heads(buffer, here[ended])
                out[active] = here
                more = left > 0
                active, left, here = active[more], left[more], here[more]
        return out, (counts, rounds)

    def _heads(self, buffer: Buffer, at: Ints) -> tuple[Ints, Ints]:
        """How many items the next blocks have. Those with their size before them are left to the slow way."""
        number, after = buffer.varints(at)
        bad = number.view(np.uint64) > np.uint64(ITEMS_MAX)
        if bad.any():
            number[bad] = 0
            after[bad] = buffer.limit
        return number, after

    def arrow(self, buffer: Buffer, found: Any, kind: pa.DataType) -> pa.Array:
        counts, rounds = found
        offsets = np.zeros(len(counts) + 1, dtype=np.int32)
        np.cumsum(counts, out=offsets[1:])
        inner = pa.struct([kind.key_field, kind.item_field]) if self.keyed else kind.value_type
        if not rounds:
            children = pa.array([], inner)
        else:
            places = np.concatenate([offsets[active] + number for number, (active, _) in enumerate(rounds)])
            order = np.empty(len(places), dtype=np.int64)
            order[places] = np.arange(len(places))
            children = pa.concat_arrays([self.item.arrow(buffer, column, inner) for _, column in rounds])
            children = children.take(pa.array(order))
        if self.keyed:
            no_key_twice(children.field(0), counts)
        return pa.Array.from_buffers(kind, len(counts), [None, pa.py_buffer(offsets)], children=[children])

    def values(self, buffer: Buffer, found: Any) -> None:
        return None


def no_key_twice(keys: pa.Array, counts: npt.NDArray[np.int64]) -> None:
    """A key that a map has twice has one value where maps are dictionaries: the last."""
    if not len(keys):
        return
    coded = keys.dictionary_encode()
    rows = np.repeat(np.arange(len(counts)), counts)
    pairs = rows * len(coded.dictionary) + coded.indices.to_numpy()
    if len(np.unique(pairs)) < len(pairs):
        raise Slow
