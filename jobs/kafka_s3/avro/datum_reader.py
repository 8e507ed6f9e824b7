"""Avro's binary form, one value at a time: strict, bounded, and able to say what is wrong.

`reader(node)` compiles a type into functions that read a value and check all of it; `datum_checker` only checks. They
are the last word on what is a valid datum; what is faster (`batch_reader`, fastavro) is held against them.
"""

# A visitor's methods are alike, and few need the type itself:
# ruff: noqa: ARG002

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sized
from typing import Any, Final

from kafka_s3.avro.model import Branch
from kafka_s3.avro.nodes import Array, Enum, Fixed, Kind, Map, Node, Primitive, Record, Union, Visitor
from kafka_s3.shown import quoted

#: How deep records, arrays and maps may lie in each other in one value.
NESTING_MAX: Final = 100
#: A datum may hold this many values, and 4 more for each of its bytes: what has no bytes could be without end. An item
#: of an array that is a record of one field is 3, and takes a byte or more; beyond that is what is made to cost much:
#: nulls and empty records, and records of one field far down in each other. A value takes some 100 bytes of memory, so
#: that 2,000 datums of a few bytes take at most 200 MB, and one of a MB 400.
VALUES_MAX: Final = 1_000
VALUES_PER_BYTE_MAX: Final = 4

#: Fewer datums than this are read one by one: reading a batch at once has a price of its own, that of some 30 datums.
FEW: Final = 32
#: A datum of so many bytes is long: what it is made into could take more memory than its bytes account for.
LONG: Final = 32_768

_INT_MAX, _INT_BYTES = 2**31 - 1, 5
_LONG_MAX, _LONG_BYTES = 2**63 - 1, 10
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")


class NotADatum(ValueError):
    """The bytes are no value of the schema, and why, for people."""


class TooManyValues(NotADatum):
    """There are more of them than the bytes may hold."""


class Datum:
    """The bytes of a value, and how far they have been read. `cuts`: where long arrays and maps are cut (`cuts`).
    `item_values`: as how many values an item of theirs counts."""

    __slots__ = ("cuts", "data", "depth", "end", "item_values", "left", "position")

    def __init__(self, data: bytes, cuts: Any = None, position: int = 0) -> None:
        self.data = data
        self.cuts = cuts
        self.end = len(data)
        self.position = position
        self.depth = 0
        self.item_values = 1
        self.left = VALUES_MAX + VALUES_PER_BYTE_MAX * len(data)

    def count(self, values: int) -> None:
        self.left -= values
        if self.left < 0:
            raise TooManyValues(f"more values than {self.end} bytes may hold")

    def enter(self) -> None:
        self.depth += 1
        if self.depth > NESTING_MAX:
            raise NotADatum(f"nested more than {NESTING_MAX} levels deep")


Read = Callable[[Datum], Any]


def read(reader: Read, data: bytes) -> Any:
    """The value that the bytes are, exactly; `NotADatum` if they are none."""
    return whole(reader, Datum(data))


def whole(reader: Callable[[Datum], Any], datum: Datum) -> Any:
    value = reader(datum)
    if datum.position != datum.end:
        raise NotADatum(f"{datum.end - datum.position} bytes too many, after {datum.position} of the value")
    return value


def reader(node: Node) -> Read:
    """A schema as a function that reads its values, as `avro.model` has them."""
    return Readers().visit(node)


class Readers(Visitor[Read]):
    def primitive(self, node: Primitive) -> Read:
        return PRIMITIVES[node.kind]

    def fixed(self, node: Fixed) -> Read:
        return fixed_reader(node)

    def enum(self, node: Enum) -> Read:
        return enum_reader(node)

    def array(self, node: Array, item: Read) -> Read:
        return _array(item)

    def map(self, node: Map, item: Read) -> Read:
        return _map(item)

    def union(self, node: Union, branches: list[Read]) -> Read:
        return _union(node, branches)

    def record(self, node: Record, fields: list[Read]) -> Read:
        return _record([(each.name, read) for each, read in zip(node.fields, fields, strict=True)])

    def again(self, node: Record) -> Read:
        return lambda datum: self.made[node](datum)


def _varint(datum: Datum, bytes_max: int, largest: int, what: str) -> int:
    data, position, end = datum.data, datum.position, datum.end
    number = shift = 0
    while position < end:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            datum.position = position
            if number > 2 * largest + 1:
                raise NotADatum(f"{what} at byte {position} is out of range")
            return (number >> 1) ^ -(number & 1)
        shift += 7
        if shift == 7 * bytes_max:
            raise NotADatum(f"{what} at byte {position - bytes_max} is longer than {bytes_max} bytes")
    raise NotADatum(f"ends within {what} at byte {datum.position}")


def _null(datum: Datum) -> None:  # noqa: ARG001
    return None


def _boolean(datum: Datum) -> bool:
    byte = _take(datum, 1, "a boolean")[0]
    if byte > 1:
        raise NotADatum(f"a boolean at byte {datum.position - 1} is {quoted(byte, kind='neither 0 nor 1')}")
    return byte == 1


# Most numbers have one byte, and are read where they stand.


def _int(datum: Datum) -> int:
    at = datum.position
    if at < datum.end and (byte := datum.data[at]) < 0x80:
        datum.position = at + 1
        return (byte >> 1) ^ -(byte & 1)
    return _varint(datum, _INT_BYTES, _INT_MAX, "an int")


def _long(datum: Datum) -> int:
    at = datum.position
    if at < datum.end and (byte := datum.data[at]) < 0x80:
        datum.position = at + 1
        return (byte >> 1) ^ -(byte & 1)
    return _varint(datum, _LONG_BYTES, _LONG_MAX, "a long")


def _float(datum: Datum) -> float:
    return float(_FLOAT.unpack(_take(datum, 4, "a float"))[0])


def _double(datum: Datum) -> float:
    return float(_DOUBLE.unpack(_take(datum, 8, "a double"))[0])


def _take(datum: Datum, size: int, what: str) -> bytes:
    start = datum.position
    if size > datum.end - start:
        raise NotADatum(
            f"ends within {what} at byte {start}: {quoted(size, kind='more')} bytes expected, {datum.end - start} left"
        )
    datum.position = start + size
    return datum.data[start : start + size]


def _bytes(datum: Datum, what: str = "bytes") -> bytes:
    start = datum.position
    if start < datum.end and (byte := datum.data[start]) < 0x80 and not byte & 1:
        size, datum.position = byte >> 1, start + 1
    else:
        size = _varint(datum, _LONG_BYTES, _LONG_MAX, f"the length of {what}")
    if size < 0:
        raise NotADatum(f"the length of {what} at byte {start} is {quoted(size, kind='below zero')}")
    return _take(datum, size, what)


def read_string(datum: Datum) -> str:
    start = datum.position
    try:
        return _bytes(datum, "a string").decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotADatum(f"a string at byte {start} is not UTF-8") from error


PRIMITIVES: Final[Mapping[Kind, Read]] = {
    Kind.NULL: _null,
    Kind.BOOLEAN: _boolean,
    Kind.INT: _int,
    Kind.LONG: _long,
    Kind.FLOAT: _float,
    Kind.DOUBLE: _double,
    Kind.BYTES: _bytes,
    Kind.STRING: read_string,
}


def fixed_reader(node: Fixed) -> Read:
    size = node.size
    return lambda datum: _take(datum, size, "a fixed value")


def enum_reader(node: Enum) -> Read:
    name, symbols = node.name, node.symbols

    def enum(datum: Datum) -> str:
        start = datum.position
        index = _varint(datum, _INT_BYTES, _INT_MAX, "an enum")
        if not 0 <= index < len(symbols):
            raise NotADatum(f"{name} at byte {start} is symbol {quoted(index, kind='beyond those')} of {len(symbols)}")
        return symbols[index]

    return enum


def read_branch(datum: Datum, branches: Sized) -> int:
    """Which branch of a union a value has."""
    start = datum.position
    if start < datum.end and (byte := datum.data[start]) < 0x80 and not byte & 1 and byte >> 1 < len(branches):
        datum.position = start + 1
        return byte >> 1
    # Java reads an index as an int.
    index = _varint(datum, _INT_BYTES, _INT_MAX, "the branch of a union")
    if not 0 <= index < len(branches):
        raise NotADatum(f"the branch of a union at byte {start} is {quoted(index, kind='none')} of {len(branches)}")
    return index


def _union(node: Union, readers: list[Read]) -> Read:
    # Of a null, and where there is but one type beside it, the value says it all.
    names = [None if node.is_plain or each.nullable else each.name for each in node.branches]

    def union(datum: Datum) -> Any:
        index = read_branch(datum, readers)
        value = readers[index](datum)
        name = names[index]
        return value if name is None else Branch(name, value)

    return union


def _record(fields: list[tuple[str, Read]]) -> Read:
    def record(datum: Datum) -> dict[str, Any]:
        datum.count(1 + len(fields))
        datum.enter()
        value = {name: field(datum) for name, field in fields}
        datum.depth -= 1
        return value

    return record


def _array(item: Read) -> Read:
    def array(datum: Datum) -> list[Any]:
        items: list[Any] = []
        blocks(datum, "an array", lambda number: items.extend([item(datum) for _ in range(number)]))
        return items

    return array


def _map(value: Read) -> Read:
    def read_map(datum: Datum) -> dict[str, Any]:
        entries: dict[str, Any] = {}

        def some(number: int) -> None:
            for _ in range(number):
                key = read_string(datum)
                entries[key] = value(datum)

        blocks(datum, "a map", some)
        return entries

    return read_map


def blocks(datum: Datum, what: str, some: Callable[[int], object]) -> None:
    """The items of an array or a map: blocks of them, each after its number, and after its size where that is < 0.
    `some` reads so many items."""
    datum.enter()
    while True:
        start = datum.position
        if start < datum.end and (byte := datum.data[start]) < 0x80:
            number, datum.position = (byte >> 1) ^ -(byte & 1), start + 1
        else:
            number = _varint(datum, _LONG_BYTES, _LONG_MAX, f"the number of items in {what}")
        if number == 0:
            break
        size = None
        if number < 0:
            number = -number
            size = _varint(datum, _LONG_BYTES, _LONG_MAX, f"the size of a block of {what}")
        datum.count(number * datum.item_values)
        begin = datum.position
        some(number)
        if size is not None and datum.position - begin != size:
            told = quoted(size, kind="another number")
            raise NotADatum(f"a block of {what} at byte {start} has {datum.position - begin} bytes, and says {told}")
    datum.depth -= 1
