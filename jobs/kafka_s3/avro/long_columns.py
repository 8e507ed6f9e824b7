"""Columns of one long datum, without a value made of it.

Where the items of its arrays and maps begin is known once it was checked (`datum_checker.Cuts`), so that each type is
read at once for all the items that it has. Arrow takes about a tenth of the time and the memory that values take.
"""

# Every node has the same three methods, and few need all that they are given:
# ruff: noqa: ARG002

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_s3.avro import column_nodes as columns
from kafka_s3.avro.batch_reader import TYPES_MAX, Compiler
from kafka_s3.avro.column_nodes import Column, Rows, Slow, Text
from kafka_s3.avro.datum_checker import Cuts, Stretches
from kafka_s3.avro.nodes import Array, Map, Node
from kafka_s3.avro.vectors import BYTES_MAX, Buffer, Ints

#: A type is read at once at the price of some values of Python's: worth it for so many items per type.
_ITEMS_PER_TYPE: Final = 8


class LongColumns:
    """Of one type; `None` of `made` where it has no columns."""

    def __init__(self, node: Node) -> None:
        compiler = _Compiler()
        try:
            self._column: Column | None = compiler.column(node)
        except Slow:
            self._column = None
        self._types = compiler.count

    def made(self, datum: bytes, cuts: Cuts, kind: pa.DataType) -> pa.Array | None:
        """The datum, which was checked, as an array of one row; `None` if that takes its values, or is no faster."""
        if self._column is None or cuts.items < _ITEMS_PER_TYPE * self._types or len(datum) > BYTES_MAX:
            return None
        buffer = Buffer([datum])
        buffer.cuts = cuts
        end, found = self._column.scan(buffer, buffer.starts, None, [])
        assert end[0] == len(datum), "a valid datum is read to its end"
        try:
            return self._column.arrow(buffer, found, kind)
        except Slow:
            return None


class _Compiler(Compiler):
    """Datums were checked: there are no more values than their bytes allow."""

    def check(self) -> None:
        if self.count > TYPES_MAX:
            raise Slow

    def fixed(self, size: int) -> Column:
        return super().fixed(size) if size else _Nothings()

    def items(self, node: Array | Map, item: Column) -> Column:
        return _KnownItems(node, item, isinstance(node, Map))


@dataclass(frozen=True, slots=True)
class _Nothings:
    """A fixed without bytes."""

    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, int]:
        return at, len(at)

    def arrow(self, buffer: Buffer, found: int, kind: pa.DataType) -> pa.Array:
        offsets = pa.py_buffer(np.zeros(found + 1, dtype=np.int32))
        return pa.Array.from_buffers(kind, found, [None, offsets, pa.py_buffer(b"")])

    def values(self, buffer: Buffer, found: int) -> None:
        return None


@dataclass(frozen=True, slots=True)
class _KnownItems:
    """An array whose items are known; a map is one of records with a key and a value."""

    node: Node
    item: Column
    keyed: bool

    def scan(self, buffer: Buffer, at: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        counts = np.zeros(len(at), dtype=np.int32)
        out = at + 1  # behind those without items
        known = buffer.cuts.of.get(self.node)
        if known is None:
            return out, (counts, None)
        begins = np.frombuffer(known.begins, np.int32)
        places = np.minimum(np.searchsorted(begins, at), len(begins) - 1)
        mine = np.flatnonzero(begins[places] == at)
        places = places[mine]
        counts[mine] = np.frombuffer(known.counts, np.int32)[places]
        out[mine] = np.frombuffer(known.ends, np.int32)[places]
        if not len(places):
            return out, (counts, None)
        _, found = self.item.scan(buffer, _stretches(known, places), None, texts)
        return out, (counts, found)

    def arrow(self, buffer: Buffer, found: Any, kind: pa.DataType) -> pa.Array:
        counts, items = found
        offsets = np.zeros(len(counts) + 1, dtype=np.int32)
        np.cumsum(counts, out=offsets[1:])
        inner = pa.struct([kind.key_field, kind.item_field]) if self.keyed else kind.value_type
        children = pa.array([], inner) if items is None else self.item.arrow(buffer, items, inner)
        if self.keyed:
            columns.no_key_twice(children.field(0), counts)
        return pa.Array.from_buffers(kind, len(counts), [None, pa.py_buffer(offsets)], children=[children])

    def values(self, buffer: Buffer, found: Any) -> None:
        return None


def _stretches(known: Stretches, places: Ints) -> Ints:
    """Where the items of some of the arrays begin, one after the other; anywhere where they have no bytes."""
    items, counts = np.frombuffer(known.items, np.int32), np.frombuffer(known.counts, np.int32)
    if not len(items):
        return np.zeros(int(counts[places].sum(dtype=np.int64)), dtype=np.int64)
    if len(places) == len(counts):
        return items.astype(np.int64)
    mine = np.zeros(len(counts), dtype=np.bool_)
    mine[places] = True
    return items[np.repeat(mine, counts)].astype(np.int64)
