"""Values to Avro's binary form.

Our own, and not fastavro's: that finds the branch of a union by looking at the whole value once for each, and takes
some values (a tuple, a map with the key `-type`) for words of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafka_s3.avro.datum_reader import branch_name
from kafka_s3.avro.model import Avro, full_name

Write = Callable[[Any, bytearray], None]


def writer(avro: Avro) -> Write:
    """A schema as a function that appends a value's bytes. Values are trusted to be of the schema."""
    return _compile(avro, "", {})


def field_writers(record: Avro) -> list[Write]:
    """A record's schema as one function for each of its fields."""
    assert isinstance(record, dict)
    named: dict[str, Write] = {}
    own = full_name(record).rpartition(".")[0]
    writers = [_compile(field["type"], own, named) for field in record["fields"]]
    named[full_name(record)] = _record([(each["name"], w) for each, w in zip(record["fields"], writers, strict=True)])
    return writers


def _compile(node: Any, namespace: str, named: dict[str, Write]) -> Write:
    if isinstance(node, str):
        if node in _PRIMITIVES:
            return _PRIMITIVES[node]
        found = named.get(node)
        return found if found is not None else lambda value, out: named[node](value, out)
    if isinstance(node, list):
        return _union(node, namespace, named)
    kind = node["type"]
    if kind in _PRIMITIVES:
        return _PRIMITIVES[kind]
    if kind == "array":
        return _array(_compile(node["items"], namespace, named))
    if kind == "map":
        return _map(_compile(node["values"], namespace, named))
    name = full_name(node, namespace)
    if kind == "enum":
        made = _enum(node["symbols"])
    elif kind == "fixed":
        made = _fixed
    else:
        own = name.rpartition(".")[0]
        made = _record([(field["name"], _compile(field["type"], own, named)) for field in node["fields"]])
    named[name] = made
    return made


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


_PRIMITIVES: Final[Mapping[str, Write]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _long,
    "long": _long,
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": _string,
}


def _enum(symbols: list[str]) -> Write:
    numbers = {symbol: long_bytes(index) for index, symbol in enumerate(symbols)}

    def enum(value: str, out: bytearray) -> None:
        out += numbers[value]

    return enum


def _union(branches: list[Any], namespace: str, named: dict[str, Write]) -> Write:
    writers = [_compile(branch, namespace, named) for branch in branches]
    names = [branch_name(branch, namespace) for branch in branches]
    numbers = {name: long_bytes(index) for index, name in enumerate(names)}
    some = [index for index, name in enumerate(names) if name != "null"]
    null = numbers.get("null", b"")
    by_name = dict(zip(names, writers, strict=True))

    def several(value: Any, out: bytearray) -> None:
        if value is None:
            out += null
            return
        name, inner = value
        out += numbers[name]
        by_name[name](inner, out)

    if len(some) != 1:
        return several
    number, only = long_bytes(some[0]), writers[some[0]]

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
