"""The values of one long datum, made some at a time.

An item of an array or a map may have a byte or less, and takes hundreds as a value of Python's. So arrays and maps that
are long come as sequences that know where their items are in the datum, and make some hundred of them when they are
asked for one. They are read from the first item to the last, as pyarrow does; what was read is forgotten.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, overload

from kafka_s3.avro.batch_decoder import Decode, batch_decoder
from kafka_s3.avro.datum_checker import Check, CutArray, CutMap, Cuts, check
from kafka_s3.avro.datum_reader import Datum, Read, Readers
from kafka_s3.avro.nodes import Array, Map, Node

Convert = Callable[[Any], Any]


class LongValues:
    """Of one type; what that takes is made when the first long datum comes."""

    def __init__(self, node: Node, check: Check) -> None:
        self._node = node
        self._check = check
        self._read: Read | None = None

    def value(self, datum: bytes, cuts: Cuts | None) -> Any:
        """The value of a datum that was checked. `cuts`: its own, if they are known."""
        if self._read is None:
            self._read = _Readers().visit(self._node)
        if cuts is None:
            cuts = Cuts()
            check(self._check, datum, cuts)
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
            return LongArray(_Chunks(datum.data, datum.cuts, cut, item, decoder))

        return array

    def map(self, node: Map, item: Read) -> Read:
        short = super().map(node, item)

        def read_map(datum: Datum) -> Any:
            cut = datum.cuts.found.get(datum.position)
            if cut is None:
                return short(datum)
            datum.position = cut.end
            return LongMap(datum.data, datum.cuts, cut, item)

        return read_map


class _Chunks:
    """The items of an array, by the chunks that it was cut into."""

    def __init__(
        self, data: bytes, cuts: Cuts, cut: CutArray, read: Read, decoder: Callable[[], Decode | None]
    ) -> None:
        self.cut = cut
        self._data = data
        self._cuts = cuts
        self._read = read
        self._decoder = decoder

    def items(self, chunk: int) -> list[Any]:
        chunks = self.cut.chunks
        begin, end, first = chunks[chunk]
        count = (chunks[chunk + 1][2] if chunk + 1 < len(chunks) else self.cut.items) - first
        if not self._cuts.any_within(begin, end) and (decode := self._decoder()) is not None:
            return decode(count, self._data[begin:end])
        datum = Datum(self._data, self._cuts, begin)
        return [self._read(datum) for _ in range(count)]


class LongArray(Sequence[Any]):
    def __init__(self, chunks: _Chunks, convert: Convert | None = None) -> None:
        self._chunks = chunks
        self._convert = convert
        self._first = 0
        self._made: list[Any] = []

    def __len__(self) -> int:
        return self._chunks.cut.items

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
        """Makes the chunk that an item is in; where the item is in that."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        cut = self._chunks.cut
        chunk = bisect.bisect_right(cut.chunks, index, key=lambda each: each[2]) - 1
        self._first = cut.chunks[chunk][2]
        self._made = self._chunks.items(chunk)
        if (convert := self._convert) is not None:
            self._made = [convert(each) for each in self._made]
        return index - self._first

    def converted(self, convert: Convert) -> LongArray:
        """Of items that were not converted yet."""
        assert self._convert is None
        return LongArray(self._chunks, convert)


class LongMap(Sequence[tuple[str, Any]]):
    """A map's entries, as pyarrow takes them."""

    def __init__(self, data: bytes, cuts: Cuts, cut: CutMap, read: Read, convert: Convert | None = None) -> None:
        self._data = data
        self._cuts = cuts
        self._cut = cut
        self._read = read
        self._convert = convert
        self._next = 0
        self._entries: Iterator[tuple[str, int]] = iter(cut.entries.items())

    def __len__(self) -> int:
        return len(self._cut.entries)

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
            self._next, self._entries = 0, iter(self._cut.entries.items())
        while True:
            key, position = next(self._entries)
            self._next += 1
            if self._next > index:
                break
        value = self._read(Datum(self._data, self._cuts, position))
        return key, value if self._convert is None else self._convert(value)

    def converted(self, convert: Convert) -> LongMap:
        assert self._convert is None
        return LongMap(self._data, self._cuts, self._cut, self._read, convert)
