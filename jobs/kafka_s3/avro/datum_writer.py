"""Values to Avro's binary form.

Our own, and not fastavro's: that finds the branch of a union by looking at the whole value once for each, and takes
some values (a tuple, a map with the key `-type`) for words of its own.
"""

# A visitor's methods are alike, and few need the type itself:
# ruff: noqa: ARG002

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kafka_s3.avro.nodes import Array, Enum, Fixed, Kind, Map, Node, Primitive, Record, Union, Visitor

Write = Callable[[Any, bytearray], None]


def writer(node: Node) -> Write:
    """A schema as a function that appends a value's bytes. Values are trusted to be of the schema."""
    return _Writers().visit(node)


class _Writers(Visitor[Write]):
    def primitive(self, node: Primitive) -> Write:
        return _PRIMITIVES[node.kind]

    def fixed(self, node: Fixed) -> Write:
        return _fixed

    def enum(self, node: Enum) -> Write:
        return _enum(node.symbols)

    def array(self, node: Array, item: Write) -> Write:
        return _array(item)

    def map(self, node: Map, item: Write) -> Write:
        return _map(item)

    def union(self, node: Union, branches: list[Write]) -> Write:
        return _union(node, branches)

    def record(self, node: Record, fields: list[Write]) -> Write:
        return _record([(each.name, write) for each, write in zip(node.fields, fields, strict=True)])

    def again(self, node: Record) -> Write:
        return lambda value, out: self.made[node](value, out)


def long_bytes(number: int) -> bytes:
    """A long's bytes: zigzag, then seven bits a byte, the lowest first."""
    number = (number << 1) ^ (number >> 63)
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


_SMALL: Final = {number: long_bytes(number) for number in range(-64, 1024)}


def _long(value: int, out: bytearray) -> None:
    out += _SMALL.get(value) or long_bytes(value)


def _null(value: None, out: bytearray) -> None:
    pass


def _boolean(value: bool, out: bytearray) -> None:
    out.append(1 if value else 0)


_pack_float, _pack_double = struct.Struct("<f").pack, struct.Struct("<d").pack


def _float(value: float, out: bytearray) -> None:
    out += _pack_float(value)


def _double(value: float, out: bytearray) -> None:
    out += _pack_double(value)


def _bytes(value: bytes, out: bytearray) -> None:
    size = len(value)
    out += _SMALL.get(size) or long_bytes(size)
    out += value


def _string(value: str, out: bytearray) -> None:
    _bytes(value.encode("utf-8"), out)


def _fixed(value: bytes, out: bytearray) -> None:
    out += value


_PRIMITIVES: Final[Mapping[Kind, Write]] = {
    Kind.NULL: _null,
    Kind.BOOLEAN: _boolean,
    Kind.INT: _long,
    Kind.LONG: _long,
    Kind.FLOAT: _float,
    Kind.DOUBLE: _double,
    Kind.BYTES: _bytes,
    Kind.STRING: _string,
}


def _enum(symbols: Sequence[str]) -> Write:
    numbers = {symbol: long_bytes(index) for index, symbol in enumerate(symbols)}

    def enum(value: str, out: bytearray) -> None:
        out += numbers[value]

    return enum


def _union(node: Union, writers: list[Write]) -> Write:
    numbers = {each.name: long_bytes(index) for index, each in enumerate(node.branches)}
    null = numbers.get(Kind.NULL.value, b"")
    by_name = {each.name: write for each, write in zip(node.branches, writers, strict=True)}

    def several(value: Any, out: bytearray) -> None:
        if value is None:
            out += null
            return
        name, inner = value
        out += numbers[name]
        by_name[name](inner, out)

    if (one := node.optional) is None:
        return several
    number, only = numbers[one.name], by_name[one.name]

    def optional(value: Any, out: bytearray) -> None:
        if value is None and null:
            out += null
            return
        out += number
        only(value, out)

    return optional


def _record(fields: list[tuple[str, Write]]) -> Write:
    def record(value: dict[str, Any], out: bytearray) -> None:
        for name, field in fields:
            field(value[name], out)

    return record


def _array(item: Write) -> Write:
    def array(values: list[Any], out: bytearray) -> None:
        if values:
            _long(len(values), out)
            for value in values:
                item(value, out)
        out.append(0)

    return array


def _map(below: Write) -> Write:
    def write_map(entries: dict[str, Any], out: bytearray) -> None:
        if entries:
            _long(len(entries), out)
            for key, value in entries.items():
                _string(key, out)
                below(value, out)
        out.append(0)

    return write_map
