"""JSON text of rows; that of a long datum is written from its bytes.

A byte of a datum may be an array or a record, which takes hundreds as values of Python's: `json_text` writes those.
Here nothing is made but the text, and it is the same. Datums are known to be valid.
"""

# A visitor's methods are alike, and few need the type itself:
# ruff: noqa: ARG002

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from kafka_s3.avro.datum_reader import (
    LONG,
    PRIMITIVES,
    Datum,
    Read,
    blocks,
    enum_reader,
    fixed_reader,
    read_branch,
    reader,
)
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Array, Enum, Fixed, Kind, Map, Primitive, Record, Union, Visitor
from kafka_s3.settings.formats import DecimalFormat
from kafka_s3.values.formats.json_text import (
    as_jackson,
    branch_names,
    is_map_entry,
    is_text,
    json_name,
    ready_for,
    writer_for,
)

#: Reads a value, and writes it behind what was written.
_Put = Callable[[Datum, bytearray], None]

_ENCODE: Final = msgspec.json.Encoder().encode
_STRING: Final = PRIMITIVES[Kind.STRING]
_INTEGERS: Final = (Kind.INT, Kind.LONG)


def row_writer(schema: Schema | None, decimals: DecimalFormat) -> Callable[[Any], Sequence[bytes]]:
    """What makes JSON text of rows, one for each. A long datum is never made into values: these take more memory than
    its bytes account for."""
    write = writer_for(schema, decimals)
    if schema is None:
        return lambda rows: write(rows.values(None))

    def write_rows(rows: Any) -> Sequence[bytes]:
        sizes = rows.sizes()
        if max(sizes, default=0) < LONG:
            return write(rows.values(schema))
        if not rows.has_datums(schema):
            return write(rows.long_values(schema))
        of_long = datum_writer(schema, decimals)
        short = [row for row, size in enumerate(sizes) if size < LONG]
        lines = dict(zip(short, write(rows.pick(short).values(schema)), strict=True)) if short else {}
        for row, size in enumerate(sizes):
            if size >= LONG:
                [datum] = rows.part(row, row + 1).datums(schema)
                lines[row] = of_long(datum)
        return [lines[row] for row in range(len(sizes))]

    return write_rows


def datum_writer(schema: Schema, decimals: DecimalFormat) -> Callable[[bytes], bytes]:
    """What writes the JSON text of a datum of a schema."""
    put = _put(schema.text, decimals)

    def write(datum: bytes) -> bytes:
        out = bytearray()
        put(Datum(datum), out)
        return as_jackson([bytes(out)])[0]

    return write


@lru_cache(maxsize=64)
def _put(text: str, decimals: DecimalFormat) -> _Put:
    return _Puts(decimals).visit(graph(Schema(text)))


class _Puts(Visitor[_Put]):
    def __init__(self, decimals: DecimalFormat) -> None:
        super().__init__()
        self._decimals = decimals
        self._entries: dict[Record, list[_Put]] = {}

    def primitive(self, node: Primitive) -> _Put:
        if node.kind is Kind.NULL:
            return _null
        if node.kind is Kind.BOOLEAN:
            return _boolean
        read = PRIMITIVES[node.kind]
        if node.kind in _INTEGERS:
            return lambda datum, out: out.extend(b"%d" % read(datum))
        return _encoded(read, ready_for(node, self._decimals))

    def fixed(self, node: Fixed) -> _Put:
        return _encoded(fixed_reader(node), ready_for(node, self._decimals))

    def enum(self, node: Enum) -> _Put:
        return _encoded(enum_reader(node), None)

    def array(self, node: Array, item: _Put) -> _Put:
        entry = node.item
        if isinstance(entry, Record) and is_map_entry(entry):
            key = entry.fields[0].node
            put_entry = _keyed(reader(key)) if is_text(key) else _pair
            # Within itself it is not known yet how its parts are written.
            return _entries(put_entry, lambda: self._entries[entry], is_text(key))
        return _array(item)

    def map(self, node: Map, item: _Put) -> _Put:
        return _entries(_keyed(_STRING), lambda: [item, item], True)

    def union(self, node: Union, branches: list[_Put]) -> _Put:
        if node.is_plain:
            return _plain_union(branches)
        around = list(_around(node))

        def union(datum: Datum, out: bytearray) -> None:
            index = read_branch(datum, branches)
            before, after = around[index]
            out += before
            branches[index](datum, out)
            out += after

        return union

    def record(self, node: Record, fields: list[_Put]) -> _Put:
        self._entries[node] = fields
        names = [json_name(each) for each in node.fields]
        named = [
            (b"%b%b:" % (b"," if at else b"{", _ENCODE(name)), put)
            for at, (name, put) in enumerate(zip(names, fields, strict=True))
        ]
        record = _record(named)
        if len(set(names)) == len(names):
            return record

        def some_twice(datum: Datum, out: bytearray) -> None:
            begin = len(out)
            record(datum, out)
            _once_each(out, begin)

        return some_twice

    def again(self, node: Record) -> _Put:
        made = self.made
        return lambda datum, out: made[node](datum, out)


def _null(datum: Datum, out: bytearray) -> None:  # noqa: ARG001
    out += b"null"


def _boolean(datum: Datum, out: bytearray) -> None:
    out += b"true" if PRIMITIVES[Kind.BOOLEAN](datum) else b"false"


def _encoded(read: Read, ready: Callable[[Any], Any] | None) -> _Put:
    if ready is None:
        return lambda datum, out: out.extend(_ENCODE(read(datum)))
    return lambda datum, out: out.extend(_ENCODE(ready(read(datum))))


def _plain_union(branches: list[_Put]) -> _Put:
    # Most have one byte that says which.
    of_byte = {2 * index: put for index, put in enumerate(branches[:64])}

    def union(datum: Datum, out: bytearray) -> None:
        at = datum.position
        if (put := of_byte.get(datum.data[at])) is not None:
            datum.position = at + 1
            put(datum, out)
        else:
            branches[read_branch(datum, branches)](datum, out)

    return union


def _record(fields: list[tuple[bytes, _Put]]) -> _Put:
    if len(fields) == 1:
        [(before, put_one)] = fields

        def of_one(datum: Datum, out: bytearray) -> None:
            out += before
            put_one(datum, out)
            out += b"}"

        return of_one
    end = b"}" if fields else b"{}"

    def record(datum: Datum, out: bytearray) -> None:
        for name, put in fields:
            out += name
            put(datum, out)
        out += end

    return record


def _array(item: _Put) -> _Put:
    def array(datum: Datum, out: bytearray) -> None:
        if not datum.data[datum.position]:
            datum.position += 1
            out += b"[]"
            return

        def some(number: int) -> None:
            at, start = datum.position, len(out)
            item(datum, out)
            out.extend(b",")
            if datum.position == at:  # an item without bytes, as all are
                out.extend(out[start:] * (number - 1))
                return
            for _ in range(number - 1):
                item(datum, out)
                out.extend(b",")

        out += b"["
        begin = len(out)
        blocks(datum, "an array", some)
        if len(out) > begin:
            del out[-1]
        out += b"]"

    return array


def _entries(entry: Callable[..., Any], parts: Callable[[], Sequence[_Put]], text: bool) -> _Put:
    """A map, or Connect's array of entries: an object where keys are text, else a list of pairs."""
    begin, end = (b"{", b"}") if text else (b"[", b"]")

    def entries(datum: Datum, out: bytearray) -> None:
        start, count = len(out), 0
        key, value = parts()
        seen: set[Any] = set()

        def some(number: int) -> None:
            nonlocal count
            for _ in range(number):
                seen.add(entry(datum, out, key, value))
                out.extend(b",")
            count += number

        out += begin
        blocks(datum, "a map", some)
        if count:
            del out[-1]
        out += end
        if text and len(seen) < count:
            _once_each(out, start)

    return entries


def _keyed(read: Read) -> Callable[[Datum, bytearray, _Put, _Put], Any]:
    def keyed(datum: Datum, out: bytearray, _: _Put, value: _Put) -> str:
        found = read(datum)
        key = "null" if found is None else found  # Jackson's name for a null key
        out += _ENCODE(key)
        out += b":"
        value(datum, out)
        return key

    return keyed


def _pair(datum: Datum, out: bytearray, key: _Put, value: _Put) -> None:
    out += b"["
    key(datum, out)
    out += b","
    value(datum, out)
    out += b"]"


def _once_each(out: bytearray, begin: int) -> None:
    """An object that has a name twice: as a dictionary, which keeps the first place and the last value."""
    once = msgspec.json.decode(memoryview(out)[begin:].tobytes(), type=dict[str, msgspec.Raw])
    out[begin:] = _ENCODE(once)


def _around(node: Union) -> Iterator[tuple[bytes, bytes]]:
    """What stands before and after the value of each branch: the others, as nulls."""
    shown = branch_names(node)
    names = list(dict.fromkeys(shown.values()))
    for branch in node.branches:
        if branch.nullable:
            yield b"", b""
            continue
        at = names.index(shown[branch.name])
        parts = [_ENCODE(name) + b":" for name in names]
        before = b"".join(each + b"null," for each in parts[:at]) + parts[at]
        yield b"{" + before, b"".join(b"," + each + b"null" for each in parts[at + 1 :]) + b"}"
