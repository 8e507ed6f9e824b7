"""Whether bytes are a value of a schema, without making it: what `datum_reader` reads to the end is valid, and nothing
else. It takes no memory, and a third of the time.

Where a datum is long, it also notes where its arrays and maps can be cut, so that their items are made some at a time
(`long_values`).
"""

# A visitor's methods are alike, and few need the type itself:
# ruff: noqa: ARG002

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Final, NamedTuple

from kafka_s3.avro.datum_reader import (
    NESTING_MAX,
    PRIMITIVES,
    Datum,
    blocks,
    enum_reader,
    fixed_reader,
    read_branch,
    read_string,
    whole,
)
from kafka_s3.avro.nodes import Array, Enum, Fixed, Map, Node, Primitive, Record, Union, Visitor

Check = Callable[[Datum], object]

#: An array is cut after so many items, or after the item that ends beyond so many bytes.
_ITEMS: Final = 512
_BYTES: Final = 8_192


class CutArray(NamedTuple):
    """`chunks`: of each the byte where it begins and where it ends, and the items before it."""

    chunks: list[tuple[int, int, int]]
    items: int
    end: int


class CutMap(NamedTuple):
    """`entries`: the byte where the value of each key begins, as a dictionary of them would have it: a key that comes
    twice stands where it was first, and has its last value."""

    entries: dict[str, int]
    end: int


class Cuts:
    """Where a datum's long arrays and maps begin, and how they are cut."""

    def __init__(self) -> None:
        self.found: dict[int, CutArray | CutMap] = {}
        self._begins: list[int] | None = None

    def are_light(self) -> bool:
        """Whether they may be kept for all long datums of a batch: those of maps have all their keys."""
        return not any(isinstance(each, CutMap) for each in self.found.values())

    def any_within(self, begin: int, end: int) -> bool:
        """Asked once all are found."""
        if self._begins is None:
            self._begins = sorted(self.found)
        place = bisect.bisect_left(self._begins, begin)
        return place < len(self._begins) and self._begins[place] < end


def checker(node: Node) -> Check:
    """A type as a function that checks its values; where a datum has `cuts`, it fills them."""
    return _Checkers().visit(node)


def check(checker: Check, data: bytes, cuts: Cuts | None = None) -> None:
    """`NotADatum` if the bytes are not exactly one value."""
    whole(checker, Datum(data, cuts))


#: Where each field of a record ends.
Bounds = Callable[[bytes], list[int]]


def bounds_reader(record: Record) -> Bounds:
    """A record's schema as a function that says of a datum, known to be one, where its fields end."""
    fields = _Checkers().visit_all(each.node for each in record.fields)

    def bounds(data: bytes) -> list[int]:
        datum = Datum(data)
        datum.enter()
        ends: list[int] = []
        for check_field in fields:
            check_field(datum)
            ends.append(datum.position)
        return ends

    return bounds


class _Checkers(Visitor[Check]):
    def primitive(self, node: Primitive) -> Check:
        return PRIMITIVES[node.kind]

    def fixed(self, node: Fixed) -> Check:
        return fixed_reader(node)

    def enum(self, node: Enum) -> Check:
        return enum_reader(node)

    def array(self, node: Array, item: Check) -> Check:
        return _array(item)

    def map(self, node: Map, item: Check) -> Check:
        return _map(item)

    def union(self, node: Union, branches: list[Check]) -> Check:
        def union(datum: Datum) -> None:
            branches[read_branch(datum, branches)](datum)

        return union

    def record(self, node: Record, fields: list[Check]) -> Check:
        return _record(fields)

    def again(self, node: Record) -> Check:
        return lambda datum: self.made[node](datum)


def _record(fields: list[Check]) -> Check:
    values = 1 + len(fields)

    def record(datum: Datum) -> None:
        # As `Datum.count` and `Datum.enter`, which say what is wrong.
        datum.left -= values
        datum.depth += 1
        if datum.left < 0 or datum.depth > NESTING_MAX:
            datum.depth -= 1
            datum.count(0)
            datum.enter()
        for field in fields:
            field(datum)
        datum.depth -= 1

    return record


def _is_empty(datum: Datum) -> bool:
    """An array or a map without items, as most that are made to cost much are: read at once."""
    at = datum.position
    if at < datum.end and not datum.data[at] and datum.depth < NESTING_MAX:
        datum.position = at + 1
        return True
    return False


def _array(item: Check) -> Check:
    def array(datum: Datum) -> None:
        if not _is_empty(datum):
            if datum.cuts is None:
                blocks(datum, "an array", lambda number: _some(datum, item, number))
            else:
                _cut_array(datum, item)

    return array


def _some(datum: Datum, item: Check, number: int) -> None:
    for _ in range(number):
        item(datum)


def _cut_array(datum: Datum, item: Check) -> None:
    start, count = datum.position, 0
    chunks: list[tuple[int, int, int]] = []

    def some(number: int) -> None:
        nonlocal count
        while number:
            begin, read = datum.position, 0
            end, most = begin + _BYTES, min(number, _ITEMS)
            while read < most:
                item(datum)
                read += 1
                if datum.position > end:
                    break
            chunks.append((begin, datum.position, count))
            count += read
            number -= read

    blocks(datum, "an array", some)
    if len(chunks) > 1:
        datum.cuts.found[start] = CutArray(chunks, count, datum.position)


def _map(value: Check) -> Check:
    def check_map(datum: Datum) -> None:
        if _is_empty(datum):
            return
        if datum.cuts is not None:
            _cut_map(datum, value)
            return

        def some(number: int) -> None:
            for _ in range(number):
                read_string(datum)
                value(datum)

        blocks(datum, "a map", some)

    return check_map


def _cut_map(datum: Datum, value: Check) -> None:
    start = datum.position
    entries: dict[str, int] = {}

    def some(number: int) -> None:
        for _ in range(number):
            key = read_string(datum)
            entries[key] = datum.position
            value(datum)

    blocks(datum, "a map", some)
    if len(entries) > _ITEMS or datum.position - start > _BYTES:
        datum.cuts.found[start] = CutMap(entries, datum.position)
