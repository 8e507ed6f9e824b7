"""The values of one long datum, made some at a time.

An item of an array or a map may have a byte or less, and takes hundreds as a value of Python's. So arrays and maps that
are long come as sequences that know where their items are in the datum, and make some hundred of them when they are
asked for one. They are read from the first item to the last, as pyarrow does; what was read is forgotten.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Protocol, overload

from kafka_s3.avro.batch_decoder import Decode, batch_decoder
from kafka_s3.avro.datum_checker import Cut, Cuts
from kafka_s3.avro.datum_reader import Datum, Read, Readers, read_string
from kafka_s3.avro.nodes import Array, Map, Node

Convert = Callable[[Any], Any]

#: How many items are made at once, or those that begin within how many bytes.
ITEMS: Final = 512
_BYTES: Final = 8_192


class LongValues:
    """Of one type; what that takes is made when the first long datum comes."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._read: Read | None = None

    def value(self, datum: bytes, cuts: Cuts) -> Any:
        """The value of a datum that was checked, with its own cuts."""
        if self._read is None:
            self._read = _Readers().visit(self._node)
        return self._read(Datum(datum, cuts))


class _Readers(Readers):
    """Of datums whose cuts are known."""

    def array(self, node: Array, item: Read) -> Read:
        short = super().array(node, item)
        decoder = cache(lambda: batch_decoder(node.item))

        def array(datum: Datum) -> Any:
            cut = datum.cuts.found.get(datum.position)
            if cut is None:
                return short(datum)
            datum.position = cut.end
            return LongArray(_Items(datum.data, datum.cuts, cut, item, decoder))

        return array

    def map(self, node: Map, item: Read) -> Read:
        short = super().map(node, item)

        def read_map(datum: Datum) -> Any:
            cut = datum.cuts.found.get(datum.position)
            if cut is None:
                return short(datum)
            datum.position = cut.end
            return LongMap(datum.data, datum.cuts, _entries(datum.data, cut), item)

        return read_map


def _entries(data: bytes, cut: Cut) -> dict[str, int]:
    """The byte where the value of each key begins, as a dictionary of them would have it: a key that comes twice
    stands where it was first, and has its last value."""
    datum = Datum(data)
    entries: dict[str, int] = {}
    for place in range(cut.first, cut.first + cut.count):
        datum.position = cut.stretches.items[place]
        key = read_string(datum)
        entries[key] = datum.position
    return entries


class Items(Protocol):
    """What a long array has: how many items, and some of them from one on, as many as are made at once."""

    @property
    def count(self) -> int: ...
    def some(self, first: int) -> list[Any]: ...


class _Items:
    """The items of an array in a datum."""

    def __init__(self, data: bytes, cuts: Cuts, cut: Cut, read: Read, decoder: Callable[[], Decode | None]) -> None:
        self.count = cut.count
        self._data = data
        self._cuts = cuts
        self._cut = cut
        self._read = read
        self._decoder = decoder

    def some(self, first: int) -> list[Any]:
        """An item and those after it: some hundred of one block, or those that begin within some bytes."""
        cut, items, base = self._cut, self._cut.stretches.items, self._cut.first
        if not items:  # they have no bytes
            return [self._read(Datum(b""))] * min(cut.count - first, ITEMS)
        block = bisect.bisect_right(cut.blocks, first)
        most = min(first + ITEMS, cut.blocks[block] if block < len(cut.blocks) else cut.count)
        begin = items[base + first]
        last = bisect.bisect_right(items, begin + _BYTES, base + first, base + most) - base - 1
        end = items[base + last]  # where what is before the last one ends
        if not self._cuts.any_within(begin, end) and (decode := self._decoder()) is not None:
            return [*decode(last - first, self._data[begin:end]), self._one(end)]
        return [self._one(items[base + place]) for place in range(first, last + 1)]

    def _one(self, at: int) -> Any:
        return self._read(Datum(self._data, self._cuts, at))


class LongArray(Sequence[Any]):
    def __init__(self, items: Items, convert: Convert | None = None) -> None:
        self._items = items
        self._convert = convert
        self._first = 0
        self._made: list[Any] = []

    def __len__(self) -> int:
        return self._items.count

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        place = index - self._first
        if not 0 <= place < len(self._made):
            place = self._load(index)
        return self._made[place]

    def _load(self, index: int) -> int:
        """Makes an item and some after it; where the item is among these."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        self._first = index
        self._made = self._items.some(index)
        if (convert := self._convert) is not None:
            self._made = [convert(each) for each in self._made]
        return 0

    def __iter__(self) -> Iterator[Any]:
        first, count = 0, len(self)
        while first < count:
            some = self._items.some(first)
            yield from some if self._convert is None else map(self._convert, some)
            first += len(some)

    def converted(self, convert: Convert) -> LongArray:
        """Of items that were not converted yet."""
        assert self._convert is None
        return LongArray(self._items, convert)


class LongMap(Sequence[tuple[str, Any]]):
    """A map's entries, as pyarrow takes them."""

    def __init__(
        self, data: bytes, cuts: Cuts, entries: Mapping[str, int], read: Read, convert: Convert | None = None
    ) -> None:
        self._data = data
        self._cuts = cuts
        self._entries = entries
        self._read = read
        self._convert = convert
        self._next = 0
        self._left: Iterator[tuple[str, int]] = iter(entries.items())

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> tuple[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        if index < self._next:
            self._next, self._left = 0, iter(self._entries.items())
        while True:
            key, position = next(self._left)
            self._next += 1
            if self._next > index:
                break
        value = self._read(Datum(self._data, self._cuts, position))
        return key, value if self._convert is None else self._convert(value)

    def converted(self, convert: Convert) -> LongMap:
        assert self._convert is None
        return LongMap(self._data, self._cuts, self._entries, self._read, convert)
