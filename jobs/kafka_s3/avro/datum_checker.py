"""Whether bytes are a value of a schema, without making it: what `datum_reader` reads to the end is valid, and nothing
else. It takes no memory, and a third of the time.

Where a datum is long, it also notes where its arrays and maps can be cut, so that their items are made some at a time
(`long_values`).
"""

# A visitor's methods are alike, and few need the type itself:
# ruff: noqa: ARG002

from __future__ import annotations

import bisect
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

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

#: What is compressed may hold this many values fewer for each item: reading an item takes longer than a field of it.
ITEM_VALUES: Final = 4
#: An array or a map of more items than this, or of more bytes, is long.
_ITEMS: Final = 512
_BYTES: Final = 8_192
#: Fields of records in each other that are checked as one, at most: names may stand for any number of them.
_LEAVES_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class Cut:
    """A long array, or map. Its items are `[first, first + count)` of its type's; its blocks begin with `blocks` of
    its items; it ends at byte `end`."""

    stretches: Stretches
    first: int
    count: int
    blocks: array[int]
    end: int


class Stretches:
    """The arrays, or maps, of one type in a datum, but for those without items; and the bytes where items begin.

    Those that are not within each other stand in their order.
    """

    __slots__ = ("begins", "counts", "ends", "items")

    def __init__(self) -> None:
        self.begins = array("i")
        self.counts = array("i")
        self.ends = array("i")
        self.items = array("i")  # none of items that take no bytes


class Cuts:
    """Where the items of a datum's arrays and maps begin: of each type, and of long ones by the byte where they begin.

    Memory: 4 bytes for each item, and 12 for each array.
    """

    def __init__(self) -> None:
        self.found: dict[int, Cut] = {}
        self.of: dict[Node, Stretches] = {}
        self.open = array("i")  # the items of arrays that were not read to their ends
        self.items = 0
        self._begins: list[int] | None = None

    def add(self, node: Node, begin: int, mark: int, blocks: array[int], count: int, end: int) -> None:
        """An array whose items stand behind `mark` in `open`, if they have bytes."""
        stretches = self.of.get(node)
        if stretches is None:
            stretches = self.of[node] = Stretches()
        if count > _ITEMS or end - begin > _BYTES:
            self.found[begin] = Cut(stretches, len(stretches.items), count, blocks, end)
        self.items += count
        stretches.begins.append(begin)
        stretches.counts.append(count)
        stretches.ends.append(end)
        stretches.items += self.open[mark:]
        del self.open[mark:]

    def any_within(self, begin: int, end: int) -> bool:
        """Whether a long one begins there; asked once all are found."""
        if self._begins is None:
            self._begins = sorted(self.found)
        place = bisect.bisect_left(self._begins, begin)
        return place < len(self._begins) and self._begins[place] < end


def checker(node: Node) -> Check:
    """A type as a function that checks its values; where a datum has `cuts`, it fills them."""
    return _Checkers().visit(node)


def check(checker: Check, data: bytes, cuts: Cuts | None = None, values_max: int | None = None) -> None:
    """`NotADatum` if the bytes are not exactly one value. `values_max`: it may hold fewer than its bytes allow, an
    item of an array or a map counted as `ITEM_VALUES`."""
    datum = Datum(data, cuts)
    if values_max is not None and values_max < datum.left:
        datum.left = values_max
        datum.item_values = ITEM_VALUES
    whole(checker, datum)


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


@dataclass(frozen=True, slots=True)
class _Flat:
    """A record of fields that have no parts, those of records within it among them: how many values it counts as, how
    deep these records lie, and what checks its fields one after the other."""

    values: int
    depth: int
    leaves: tuple[Check, ...]


class _Checkers(Visitor[Check]):
    def __init__(self) -> None:
        super().__init__()
        self._flat: dict[Check, _Flat] = {}

    def primitive(self, node: Primitive) -> Check:
        return self._leaf(PRIMITIVES[node.kind], node.nullable)

    def fixed(self, node: Fixed) -> Check:
        return self._leaf(fixed_reader(node), node.size == 0)

    def enum(self, node: Enum) -> Check:
        return self._leaf(enum_reader(node), False)

    def _leaf(self, check: Check, empty: bool) -> Check:
        self._flat[check] = _Flat(0, 0, () if empty else (check,))
        return check

    def array(self, node: Array, item: Check) -> Check:
        flat = self._flat.get(item)
        return _array(node, item, None if flat is None or flat.leaves else flat)

    def map(self, node: Map, item: Check) -> Check:
        return _map(node, item)

    def union(self, node: Union, branches: list[Check]) -> Check:
        return _union(branches)

    def record(self, node: Record, fields: list[Check]) -> Check:
        exact = _record(fields)
        parts = [self._flat.get(each) for each in fields]
        known = [each for each in parts if each is not None]
        leaves = tuple(leaf for each in known for leaf in each.leaves)
        if len(known) < len(parts) or len(leaves) > _LEAVES_MAX:
            return exact
        values = 1 + len(fields) + sum(each.values for each in known)
        flat = _Flat(values, 1 + max((each.depth for each in known), default=0), leaves)
        made = _flat_record(flat, exact)
        self._flat[made] = flat
        return made

    def again(self, node: Record) -> Check:
        made = self.made
        return lambda datum: made[node](datum)


def _union(branches: list[Check]) -> Check:
    # Most have one byte that says which.
    of_byte = {2 * index: check for index, check in enumerate(branches[:64])}

    def union(datum: Datum) -> None:
        at = datum.position
        if at < datum.end and (check := of_byte.get(datum.data[at])) is not None:
            datum.position = at + 1
            check(datum)
        else:
            branches[read_branch(datum, branches)](datum)

    return union


def _record(fields: list[Check]) -> Check:
    values = 1 + len(fields)
    if len(fields) == 1:
        [one] = fields

        def of_one(datum: Datum) -> None:
            datum.left -= 2
            datum.depth += 1
            if datum.left < 0 or datum.depth > NESTING_MAX:
                _refuse(datum)
            one(datum)
            datum.depth -= 1

        return of_one

    def record(datum: Datum) -> None:
        datum.left -= values
        datum.depth += 1
        if datum.left < 0 or datum.depth > NESTING_MAX:
            _refuse(datum)
        for field in fields:
            field(datum)
        datum.depth -= 1

    return record


def _refuse(datum: Datum) -> None:
    """A record counted and entered, beyond what there may be: said as `Datum.count` and `Datum.enter` do."""
    datum.depth -= 1
    datum.count(0)
    datum.enter()


def _flat_record(flat: _Flat, exact: Check) -> Check:
    """A record as its leaves. `exact`: says what is wrong where it has too many values or lies too deep."""
    values, leaves, deepest = flat.values, flat.leaves, NESTING_MAX - flat.depth
    one = leaves[0] if len(leaves) == 1 else None

    def record(datum: Datum) -> None:
        left = datum.left - values
        if left < 0 or datum.depth > deepest:
            exact(datum)
        datum.left = left
        if one is not None:
            one(datum)
        else:
            for leaf in leaves:
                leaf(datum)

    return record


def _is_empty(datum: Datum) -> bool:
    """An array or a map without items, as most that are made to cost much are: read at once."""
    at = datum.position
    if at < datum.end and not datum.data[at] and datum.depth < NESTING_MAX:
        datum.position = at + 1
        return True
    return False


def _array(node: Array, item: Check, empty: _Flat | None) -> Check:
    """`empty`: of items that take no bytes."""

    def check_array(datum: Datum) -> None:
        if _is_empty(datum):
            return
        begin, count, cuts = datum.position, 0, datum.cuts
        mark = 0 if cuts is None else len(cuts.open)
        heads = array("i")

        def some(number: int) -> None:
            nonlocal count
            heads.append(count)
            count += number
            if empty is not None and datum.left >= number * empty.values and datum.depth + empty.depth <= NESTING_MAX:
                datum.left -= number * empty.values
            elif cuts is None or empty is not None:
                for _ in range(number):
                    item(datum)
            else:
                add = cuts.open.append
                for _ in range(number):
                    add(datum.position)
                    item(datum)

        blocks(datum, "an array", some)
        if cuts is not None:
            cuts.add(node, begin, mark, heads, count, datum.position)

    return check_array


def _map(node: Map, value: Check) -> Check:
    def check_map(datum: Datum) -> None:
        if _is_empty(datum):
            return
        begin, count, cuts = datum.position, 0, datum.cuts
        mark = 0 if cuts is None else len(cuts.open)
        heads = array("i")

        def some(number: int) -> None:
            nonlocal count
            heads.append(count)
            count += number
            for _ in range(number):
                if cuts is not None:
                    cuts.open.append(datum.position)
                read_string(datum)
                value(datum)

        blocks(datum, "a map", some)
        if cuts is not None:
            cuts.add(node, begin, mark, heads, count, datum.position)

    return check_map
