"""Batches of Avro's binary form, all rows at once.

The positions of all rows move together through the schema, field by field; only arrays and maps go round by round, an
item of each row that still has one. What this finds to be a valid datum is one (`datum_reader` would say the same). It
says nothing about others: rows with long arrays, with blocks that tell their size, and those that are wrong. Schemas
that are recursive, very large, or have values beyond what their bytes allow have no columns at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_s3.avro import column_nodes as columns
from kafka_s3.avro.arrow import arrow_type
from kafka_s3.avro.column_nodes import Column, Slow
from kafka_s3.avro.datum_reader import VALUES_MAX, VALUES_PER_BYTE_MAX
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Array, Enum, Fixed, Kind, Map, Node, Primitive, Record, Union
from kafka_s3.avro.physical_schema import bare
from kafka_s3.avro.pieces import Extents
from kafka_s3.avro.splice import Copied, Splice
from kafka_s3.avro.vectors import BYTES_MAX, Buffer, Ints

#: Types in a schema, names replaced by what they stand for; with arrays each may be read in every round.
TYPES_MAX: Final = 5_000
TYPES_WITH_ITEMS_MAX: Final = 65_536 // (columns.ROUNDS_MAX + 2)


class Columns:
    """How batches of one schema are read at once; made by `columns_of`, which keeps it."""

    def __init__(self, schema: Schema, node: Column) -> None:
        self.schema = schema
        self.node = node

    def scan(self, datums: Sequence[bytes], skip: int = 0) -> Scan:
        """`skip`: bytes at the beginning of each that are none of the datum's; each is at least as long."""
        return Scan(self, datums, skip)


class Scan:
    """What a batch was found to hold.

    `rows`: those found valid, all else is doubtful; `None`: all. What is asked of a scan is about these.
    """

    def __init__(self, columns: Columns, datums: Sequence[bytes], skip: int) -> None:
        self._columns = columns
        self._count = len(datums)
        self.rows: Ints | None = np.empty(0, dtype=np.int64)
        if sum(map(len, datums)) > BYTES_MAX:
            return
        self._buffer = Buffer(datums, skip)
        rows: Ints | None = None
        # Once as a rule; again without the rows that were found wrong, so that columns hold valid rows alone.
        for _ in range(4):
            wrong = self._wrong(rows)
            if not len(wrong):
                self.rows = rows
                return
            kept = np.arange(self._count) if rows is None else rows
            rows = np.delete(kept, wrong)
            if not len(rows):
                return

    def _wrong(self, rows: Ints | None) -> Ints:
        """Which of some rows are doubtful, by their place among these."""
        buffer = self._buffer
        starts, ends = (buffer.starts, buffer.ends) if rows is None else (buffer.starts[rows], buffer.ends[rows])
        buffer.rounds = columns.ROUNDS_MAX
        texts: list[columns.Text] = []
        node = self._columns.node
        if isinstance(node, columns.Record):
            self._marks = [starts]
            at, self._found = node.scan(buffer, starts, None, texts, self._marks)
        else:
            at, self._found = node.scan(buffer, starts, None, texts)
        wrong = np.flatnonzero(at != ends)
        if len(wrong):
            return wrong
        bad: set[int] = set()
        for text in texts:
            bad.update(text.not_utf8(buffer))
        return np.array(sorted(bad), dtype=np.int64)

    def doubtful(self) -> list[int]:
        """Rows to be read one by one."""
        if self.rows is None:
            return []
        left = np.ones(self._count, dtype=np.bool_)
        left[self.rows] = False
        return np.flatnonzero(left).tolist()

    def arrow(self, schema: Schema | None = None) -> pa.Array | None:
        """The valid rows, as `avro.arrow` has them; `None` if that takes their values.

        `schema`: another one that reads the same bytes (`bare`).
        """
        kind = arrow_type(self._columns.schema if schema is None else schema)
        if not self._any():
            return pa.array([], kind)
        try:
            return self._columns.node.arrow(self._buffer, self._found, kind)
        except Slow:
            return None

    def projected(self, way: Splice, target: Schema, constants: Mapping[int, pa.Array]) -> pa.Array | None:
        """The valid rows, records, as columns of another schema; `None` if that takes more than these columns.

        `constants`: one row of each field that the source does not have, by its number.
        """
        kind, node = arrow_type(target), self._columns.node
        if not self._any() or not isinstance(node, columns.Record):
            return None
        count, found = self._found
        here, there = arrow_type(bare(self._columns.schema)), arrow_type(bare(target))
        children = []
        for number, origin in enumerate(way.origins):
            if origin is None:
                children.append(constants[number].take(pa.array(np.zeros(count, dtype=np.int32))))
                continue
            pair = here.field(origin).type, there.field(number).type
            if pair[0] != pair[1] and pair != (pa.int32(), pa.int64()):
                return None  # a union with more branches, or with a column inside that may be null now
            try:
                children.append(node.fields[origin].arrow(self._buffer, found[origin], kind.field(number).type))
            except Slow:
                return None
        return pa.Array.from_buffers(kind, count, [None], children=children)

    def spliced(self, way: Splice) -> list[bytes]:
        """The valid rows, records, as datums of another schema."""
        if not self._any():
            return []
        marks = self._marks
        return way.many(self._buffer.data, lambda field: marks[field].tolist(), len(marks[0]))

    def fields(self, kinds: Mapping[int, pa.DataType]) -> list[pa.Array] | None:
        """Some fields of the valid rows, records, by their numbers; `None` if that takes their values."""
        node = self._columns.node
        if not self._any() or not isinstance(node, columns.Record):
            return None
        found = self._found[1]
        try:
            return [node.fields[number].arrow(self._buffer, found[number], kind) for number, kind in kinds.items()]
        except Slow:
            return None

    def extents(self, runs: Sequence[Copied]) -> tuple[bytes, list[Extents]]:
        """Where runs of fields of the valid rows, records, stand in some bytes."""
        return self._buffer.data, [Extents(self._marks[each.first], self._marks[each.last]) for each in runs]

    def cut(self, runs: Sequence[Copied]) -> list[list[bytes]]:
        """The bytes of runs of fields of the valid rows, records: a list for each run."""
        if not self._any():
            return [[] for _ in runs]
        data = self._buffer.data
        edges = [(self._marks[each.first].tolist(), self._marks[each.last].tolist()) for each in runs]
        return [[data[start:end] for start, end in zip(*each, strict=True)] for each in edges]

    def cut_sizes(self, runs: Sequence[Copied]) -> Ints:
        """How many bytes those are, of each row."""
        sizes = np.zeros(len(self._marks[0]) if self._any() else 0, dtype=np.int64)
        for each in runs if self._any() else ():
            sizes += self._marks[each.last] - self._marks[each.first]
        return sizes

    def column(self, path: tuple[str, ...]) -> list[Any] | None:
        """A field of the valid rows; `None` if that takes their values, or there is no such field."""
        if not self._any():
            return []
        node, found, places = self._columns.node, self._found, None
        for step in (*path, None):
            if isinstance(node, columns.Union) and (plain := node.plain) is not None:
                inner, found = node.place(found)
                places = _composed(places, inner)
                node = plain
                if found is None:
                    return [None] * (self._count if self.rows is None else len(self.rows))
            if step is None:
                break
            if not isinstance(node, columns.Record) or step not in node.names:
                return None
            at = node.names.index(step)
            node, found = node.fields[at], found[1][at]
        values = node.values(self._buffer, found)
        if values is None or places is None:
            return values
        return [None if place < 0 else values[place] for place in places.tolist()]

    def _any(self) -> bool:
        return (self.rows is None and self._count > 0) or (self.rows is not None and len(self.rows) > 0)


def _composed(outer: Ints | None, inner: Ints | None) -> Ints | None:
    if outer is None or inner is None:
        return inner if outer is None else outer
    return np.where(outer < 0, -1, inner[outer])


def joined(arrays: Sequence[pa.Array], places: Sequence[int], count: int) -> pa.Array:
    """One array of `count` rows out of several: their rows, one after the other, come to these places. Places that are
    not named hold anything."""
    order = np.zeros(count, dtype=np.int64)
    order[list(places)] = np.arange(len(places))
    return pa.concat_arrays(arrays).take(pa.array(order))


def taken(array: pa.Array, places: Sequence[int]) -> pa.Array:
    """Some rows of an array; consecutive ones are not copied."""
    if isinstance(places, range) and places.step == 1:
        return array[places.start : places.stop]
    return array.take(pa.array(places, pa.int64()))


def columns_of(schema: Schema) -> Columns | None:
    """The columns of a schema, or `None` if it has none."""
    return _columns_of(schema.text)


@lru_cache(maxsize=256)
def _columns_of(text: str) -> Columns | None:
    schema = Schema(text)
    compiler = Compiler()
    try:
        node = compiler.column(graph(schema))
        compiler.check()
    except Slow:
        return None
    if _beyond_bytes(node) > VALUES_MAX:
        return None  # its rows could have more values than `datum_reader` allows
    return Columns(schema, node)


class Compiler:
    """A schema to columns, names replaced by what they stand for; `Slow` if it cannot have any. `count`: of types."""

    def __init__(self) -> None:
        self.count = 0
        self._items = False
        self._open: set[Record] = set()

    def check(self) -> None:
        if self.count > (TYPES_WITH_ITEMS_MAX if self._items else TYPES_MAX):
            raise Slow

    def column(self, node: Node) -> Column:
        self.count += 1
        self.check()
        match node:
            case Primitive(kind):
                return _SIMPLE[kind]()
            case Fixed(size=size):
                return self.fixed(size)
            case Enum():
                return columns.Enum(list(node.symbols))
            case Union(branches):
                return columns.Union([self.column(each) for each in branches])
            case Record():
                return self._record(node)
            case Array(item):
                self._items = True
                return self.items(node, self.column(item))
            case Map(item):
                self._items = True
                entry = columns.Record(["key", "value"], [columns.Lengthy(True), self.column(item)])
                return self.items(node, entry)

    def fixed(self, size: int) -> Column:
        return columns.Fixed(size)

    def items(self, node: Array | Map, item: Column) -> Column:
        keyed = isinstance(node, Map)
        if not keyed and _may_be_empty(item):
            raise Slow
        return columns.Items(item, keyed)

    def _record(self, node: Record) -> Column:
        if node in self._open:
            raise Slow
        self._open.add(node)
        fields = [self.column(each.node) for each in node.fields]
        self._open.discard(node)
        return columns.Record([each.name for each in node.fields], fields)


_SIMPLE: Final[Mapping[Kind, Callable[[], Column]]] = {
    Kind.NULL: lambda: columns.Null(),
    Kind.BOOLEAN: lambda: columns.Boolean(),
    Kind.INT: lambda: columns.Integer(5),
    Kind.LONG: lambda: columns.Integer(10),
    Kind.FLOAT: lambda: columns.Real(4),
    Kind.DOUBLE: lambda: columns.Real(8),
    Kind.BYTES: lambda: columns.Lengthy(False),
    Kind.STRING: lambda: columns.Lengthy(True),
}


def _may_be_empty(node: Column) -> bool:
    """Whether values may take no bytes."""
    if isinstance(node, columns.Record):
        return all(map(_may_be_empty, node.fields))
    return isinstance(node, columns.Null) or (isinstance(node, columns.Fixed) and node.size == 0)


def _beyond_bytes(node: Column) -> int:
    """How many values, counted as `datum_reader` does, a row that the rounds get through may have beyond those that its
    bytes allow; less than nothing where it has bytes to spare."""
    if isinstance(node, columns.Record):
        return 1 + len(node.fields) + sum(map(_beyond_bytes, node.fields))
    if isinstance(node, columns.Union):
        return max(map(_beyond_bytes, node.branches), default=0) - VALUES_PER_BYTE_MAX
    if isinstance(node, columns.Items):
        # The key and the value of an entry are counted as one, but a record here.
        each = _beyond_bytes(node.item) + (-2 if node.keyed else 1)
        return max(0, columns.ITEMS_MAX * each) - VALUES_PER_BYTE_MAX
    if isinstance(node, columns.Null):
        return 0
    return -VALUES_PER_BYTE_MAX * (node.size if isinstance(node, columns.Fixed | columns.Real) else 1)
