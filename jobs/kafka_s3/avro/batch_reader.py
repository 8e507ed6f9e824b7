"""Batches of Avro's binary form, all rows at once.

The positions of all rows move together through the schema, field by field; only arrays and maps go round by round, an
item of each row that still has one. What this finds to be a valid datum is one (`walk` would say the same); about
others it says nothing: rows with long arrays, with blocks that tell their size, and those that are wrong. Schemas that
are recursive, very large, or have values beyond what their bytes allow have no columns at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_s3.avro import column_nodes as nodes
from kafka_s3.avro.arrow import arrow_type
from kafka_s3.avro.column_nodes import Node, Slow
from kafka_s3.avro.datum_reader import VALUES_MAX, VALUES_PER_BYTE_MAX, branch_name
from kafka_s3.avro.model import Schema, full_name
from kafka_s3.avro.physical_schema import bare
from kafka_s3.avro.splice import Splice
from kafka_s3.avro.vectors import BYTES_MAX, Buffer, Ints

#: Types in a schema, names replaced by what they stand for; with arrays each may be read in every round.
TYPES_MAX: Final = 5_000
TYPES_WITH_ITEMS_MAX: Final = 65_536 // (nodes.ROUNDS_MAX + 2)


class Columns:
    """How batches of one schema are read at once; made by `columns_of`, which keeps it."""

    def __init__(self, schema: Schema, node: Node) -> None:
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
        buffer.rounds = nodes.ROUNDS_MAX
        texts: list[nodes.Text] = []
        node = self._columns.node
        if isinstance(node, nodes.Record):
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
        """The valid rows, as `schemas.arrow` has them; `None` if that takes their values.

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
        if not self._any() or not isinstance(node, nodes.Record):
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

    def column(self, path: tuple[str, ...]) -> list[Any] | None:
        """A field of the valid rows; `None` if that takes their values, or there is no such field."""
        if not self._any():
            return []
        node, found, places = self._columns.node, self._found, None
        for step in (*path, None):
            if isinstance(node, nodes.Union) and (plain := node.plain) is not None:
                inner, found = node.place(found)
                places = _composed(places, inner)
                node = plain
                if found is None:
                    return [None] * (self._count if self.rows is None else len(self.rows))
            if step is None:
                break
            if not isinstance(node, nodes.Record) or step not in node.names:
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
    compiler = _Compiler()
    try:
        node = compiler.node(schema.avro, "")
        compiler.check()
    except Slow:
        return None
    if _beyond_bytes(node) > VALUES_MAX:
        return None  # its rows could have more values than `walk` allows
    return Columns(schema, node)


class _Compiler:
    """A schema to nodes, names replaced by what they stand for; `Slow` if it cannot have any."""

    def __init__(self) -> None:
        self._count = 0
        self._items = False
        self._named: dict[str, tuple[Any, str]] = {}
        self._open: set[str] = set()

    def check(self) -> None:
        if self._count > (TYPES_WITH_ITEMS_MAX if self._items else TYPES_MAX):
            raise Slow

    def node(self, avro: Any, space: str) -> Node:
        self._count += 1
        self.check()
        if isinstance(avro, str) and avro not in _SIMPLE:
            return self._named_type(*self._named[avro])
        if isinstance(avro, list):
            names = [branch_name(each, space) for each in avro]
            return nodes.Union(names, [self.node(each, space) for each in avro])
        kind = avro if isinstance(avro, str) else avro["type"]
        if kind in _SIMPLE:
            return _SIMPLE[kind]()
        if kind in ("record", "enum", "fixed"):
            self._named[full_name(avro, space)] = (avro, space)
            return self._named_type(avro, space)
        self._items = True
        inner = self.node(avro["items" if kind == "array" else "values"], space)
        if kind == "map":
            return nodes.Items(nodes.Record(["key", "value"], [nodes.Lengthy(True), inner]), True)
        if _may_be_empty(inner):
            raise Slow
        return nodes.Items(inner, False)

    def _named_type(self, avro: Any, space: str) -> Node:
        if avro["type"] == "enum":
            return nodes.Enum(avro["symbols"])
        if avro["type"] == "fixed":
            return nodes.Fixed(avro["size"])
        name = full_name(avro, space)
        if name in self._open:
            raise Slow
        self._open.add(name)
        own = name.rpartition(".")[0]
        fields = [self.node(field["type"], own) for field in avro["fields"]]
        self._open.discard(name)
        return nodes.Record([field["name"] for field in avro["fields"]], fields)


_SIMPLE: Final[dict[str, Callable[[], Node]]] = {
    "null": lambda: nodes.Null(),
    "boolean": lambda: nodes.Boolean(),
    "int": lambda: nodes.Integer(5),
    "long": lambda: nodes.Integer(10),
    "float": lambda: nodes.Real(4),
    "double": lambda: nodes.Real(8),
    "bytes": lambda: nodes.Lengthy(False),
    "string": lambda: nodes.Lengthy(True),
}


def _may_be_empty(node: Node) -> bool:
    """Whether values may take no bytes."""
    if isinstance(node, nodes.Record):
        return all(map(_may_be_empty, node.fields))
    return isinstance(node, nodes.Null) or (isinstance(node, nodes.Fixed) and node.size == 0)


def _beyond_bytes(node: Node) -> int:
    """How many values, counted as `walk` does, a row that the rounds get through may have beyond those that its bytes
    allow; less than nothing where it has bytes to spare."""
    if isinstance(node, nodes.Record):
        return 1 + len(node.fields) + sum(map(_beyond_bytes, node.fields))
    if isinstance(node, nodes.Union):
        return max(map(_beyond_bytes, node.branches), default=0) - VALUES_PER_BYTE_MAX
    if isinstance(node, nodes.Items):
        # The key and the value of an entry are counted as one, but a record here.
        each = _beyond_bytes(node.item) + (-2 if node.keyed else 1)
        return max(0, nodes.ITEMS_MAX * each) - VALUES_PER_BYTE_MAX
    if isinstance(node, nodes.Null):
        return 0
    return -VALUES_PER_BYTE_MAX * (node.size if isinstance(node, nodes.Fixed | nodes.Real) else 1)
