"""What few bytes of a datum can become under a registry's schema, beyond the values that are in them.

As JSON: the names of fields, and of every branch of a union, whose value is an object of them all. As columns: places
for all that a null, or another branch of a union, leaves empty. Symbols of enums in both. None of it is in the datum,
and a schema may have names of any length.

What all datums of a length can become at most is known of a schema; only where that is too much a datum is read, to
count what it does become.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from kafka_s3.avro.datum_reader import VALUES_MAX, VALUES_PER_BYTE_MAX, Datum, reader
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import (
    NO_PROPERTIES,
    Array,
    Enum,
    Fixed,
    Kind,
    Map,
    Node,
    Primitive,
    Record,
    Union,
    Visitor,
    is_null,
    parts,
)
from kafka_s3.values.converters.weight import FIELD, NAME_TIMES, TIMES_MAX, allowed, place, too_heavy
from kafka_s3.values.formats.json_text import json_name

#: Reads one value of a datum that is known to be valid, and says what it stands for beyond itself.
Weigh = Callable[[Datum], int]

_LONG: Final = reader(Primitive(Kind.LONG, NO_PROPERTIES))
_STRING: Final = reader(Primitive(Kind.STRING, NO_PROPERTIES))
_WIDTHS: Final = {Kind.NULL: 0, Kind.BOOLEAN: 1, Kind.LONG: 8, Kind.DOUBLE: 8}
_OTHER_WIDTH: Final = 4


class Weights:
    """One schema's, into columns or into JSON text."""

    def __init__(self, schema: Schema, columns: bool) -> None:
        root = graph(schema)
        weighers = _Weighers(columns)
        self._weigh, once = weighers.visit(root)
        self._once, self._each = once, weighers.heaviest_of_many(root)
        room = allowed(0) - self.most(0)
        times = self.most(1) - self.most(0) - TIMES_MAX
        #: A datum of no more bytes than this cannot be too heavy.
        self.length_max = room // times if times > 0 else sys.maxsize if room >= 0 else -1

    def most(self, length: int) -> int:
        """What no datum of that length stands for more than."""
        return self._once + self._each * (VALUES_MAX + VALUES_PER_BYTE_MAX * length)

    def weight(self, datum: bytes) -> int:
        """What a valid datum stands for beyond its values; takes the time of its length, whatever the schema."""
        return self._weigh(Datum(datum))

    def problem(self, datum: bytes) -> str | None:
        """Why a valid datum is too heavy."""
        if len(datum) <= self.length_max or (found := self.weight(datum)) <= allowed(len(datum)):
            return None
        why = "names, symbols and empty branches are the schema's"
        return too_heavy(len(datum), found, "what its schema adds to its values", why)


@lru_cache(maxsize=256)
def _weights(text: str, columns: bool) -> Weights:
    return Weights(Schema(text), columns)


def weights_of(schema: Schema, columns: bool) -> Weights:
    return _weights(schema.text, columns)


class _Weighers(Visitor[tuple[Weigh, int]]):
    """With what a value stands for at most, but for the items of arrays and maps, and for itself further down."""

    def __init__(self, columns: bool) -> None:
        super().__init__()
        self._columns = columns
        self._empty = EmptyPlaces()
        self._circular: list[Record] = []

    def heaviest_of_many(self, root: Node) -> int:
        """What each value can stand for of those that a datum may have any number of; asked after `visit`."""
        heaviest: dict[type[Node], int] = {}
        seen: set[Node] = set()
        waiting = [(root, False), *((each, True) for each in self._circular)]
        known: set[tuple[Node, bool]] = set(waiting)
        while waiting:
            node, many = waiting.pop()
            if many and node not in seen:
                seen.add(node)
                heaviest[type(node)] = max(heaviest.get(type(node), 0), self._share(node))
            below = [(each, many or isinstance(node, Array | Map)) for each in parts(node)]
            waiting += [each for each in below if each not in known]
            known.update(below)
        return sum(heaviest.values())  # a union's branch may be an enum, or a record

    def _share(self, node: Node) -> int:
        """What a type adds for each value that `Datum.count` is told of."""
        match node:
            case Enum(symbols=symbols):
                return max(map(_text, symbols), default=0)
            case Union():
                return max(self._beside(node), default=0)
            case Record():
                return -(-self._names(node) // (1 + len(node.fields)))
        return 0

    def _names(self, node: Record) -> int:
        return 0 if self._columns else sum(_text(json_name(each)) for each in node.fields)

    def _beside(self, node: Union) -> Sequence[int]:
        """What each branch of a union leaves empty, and what that takes."""
        if self._columns:
            empty = self._empty.visit_all(node.branches)
            return [sum(empty) - each for each in empty]
        if node.is_plain:
            return [0] * len(node.branches)
        named = sum(FIELD + _text(each.name) for each in node.others)
        return [0 if is_null(each) else named for each in node.branches]

    def primitive(self, node: Primitive) -> tuple[Weigh, int]:
        return _nothing(reader(node)), 0

    def fixed(self, node: Fixed) -> tuple[Weigh, int]:
        return _nothing(reader(node)), 0

    def enum(self, node: Enum) -> tuple[Weigh, int]:
        texts = list(map(_text, node.symbols))
        return (lambda datum: texts[_LONG(datum)]), max(texts, default=0)

    def array(self, node: Array, item: tuple[Weigh, int]) -> tuple[Weigh, int]:  # noqa: ARG002  # the visitor's
        weigh, _ = item
        return (lambda datum: _blocks(datum, weigh)), 0

    def map(self, node: Map, item: tuple[Weigh, int]) -> tuple[Weigh, int]:  # noqa: ARG002  # the visitor's
        weigh, _ = item

        def entry(datum: Datum) -> int:
            _STRING(datum)
            return weigh(datum)

        return (lambda datum: _blocks(datum, entry)), 0

    def union(self, node: Union, branches: list[tuple[Weigh, int]]) -> tuple[Weigh, int]:
        beside = self._beside(node)
        table = [(weigh, more) for (weigh, _), more in zip(branches, beside, strict=True)]

        def union(datum: Datum) -> int:
            weigh, more = table[_LONG(datum)]
            return more + weigh(datum)

        return union, max((most + more for (_, most), more in zip(branches, beside, strict=True)), default=0)

    def record(self, node: Record, fields: list[tuple[Weigh, int]]) -> tuple[Weigh, int]:
        names = self._names(node)
        weighs = [weigh for weigh, _ in fields]

        def record(datum: Datum) -> int:
            found = names
            for weigh in weighs:
                found += weigh(datum)
            return found

        return record, names + sum(most for _, most in fields)

    def again(self, node: Record) -> tuple[Weigh, int]:
        self._circular.append(node)
        return (lambda datum: self.made[node][0](datum)), 0


class EmptyPlaces(Visitor[int]):
    """What a value takes in its columns where there is none."""

    def primitive(self, node: Primitive) -> int:
        return place(_WIDTHS.get(node.kind, _OTHER_WIDTH) if node.logical is None else 32)

    def fixed(self, node: Fixed) -> int:
        return place(max(node.size, 32))

    def enum(self, node: Enum) -> int:  # noqa: ARG002  # the visitor's
        return place(_OTHER_WIDTH)

    def array(self, node: Array, item: int) -> int:  # noqa: ARG002  # the visitor's
        return place(_OTHER_WIDTH)

    def map(self, node: Map, item: int) -> int:  # noqa: ARG002  # the visitor's
        return place(_OTHER_WIDTH)

    def union(self, node: Union, branches: list[int]) -> int:  # noqa: ARG002  # the visitor's
        return sum(branches)

    def record(self, node: Record, fields: list[int]) -> int:  # noqa: ARG002  # the visitor's
        return sum(fields)

    def again(self, node: Record) -> int:  # noqa: ARG002  # the visitor's
        return 0  # columns cannot have it: it is refused for that


def _text(name: str) -> int:
    return NAME_TIMES * len(json.dumps(name))


def _nothing(read: Callable[[Datum], Any]) -> Weigh:
    def nothing(datum: Datum) -> int:
        read(datum)
        return 0

    return nothing


def _blocks(datum: Datum, one: Weigh) -> int:
    found = 0
    while number := _LONG(datum):
        if number < 0:
            number = -number
            _LONG(datum)  # the block's size
        for _ in range(number):
            found += one(datum)
    return found
