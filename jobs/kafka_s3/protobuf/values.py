"""One class for each kind of value that messages are read by at once; `columns` puts them together.

`scan` takes where some rows' values begin and where their message ends, and gives what is behind them and what was
found, as `avro.column_nodes` makes columns of it. A row in which anything is not as it is written as a rule (fields out
of order, twice or unknown, an enum's unknown number) is led beyond the end of its message, to be read by itself.
"""

# The values have one method, and few need all that it is given:
# ruff: noqa: ARG002

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from kafka_s3.avro import column_nodes as nodes
from kafka_s3.avro.column_nodes import Column, Rows, Text
from kafka_s3.avro.vectors import Buffer, Ints

#: Days before 1970 of the first day of a month, counted from March of the year 0.
_DAYS_BEFORE_1970: Final = 719_468
_MONTH_DAYS: Final = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], dtype=np.int64)
_NANOS: Final = 1_000_000_000
_SECONDS: Final = (-62_135_596_800, 253_402_300_799)
_INT32: Final = 32


class FieldValue(Protocol):
    """How the value of a field is read; `node` makes its column."""

    @property
    def node(self) -> Column: ...
    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]: ...


@dataclass(frozen=True, slots=True)
class Varint:
    """`word`: the scalar's. `bits`: of Connect's smaller integers, else 0."""

    word: str
    bits: int = 0

    @property
    def node(self) -> Column:
        return nodes.Boolean() if self.word == "bool" else nodes.Integer(10)

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        if self.word == "sint64":
            values, after = buffer.varints(at)
            return after, values
        raw, after = buffer.unsigned(at)
        match self.word:
            case "bool":
                return after, (raw != 0).astype(np.uint8)
            case "int32":
                values = raw.astype(np.uint32).view(np.int32).astype(np.int64)
            case "uint32":
                values = raw.astype(np.uint32).astype(np.int64)
            case "sint32":
                low = raw.astype(np.uint32).astype(np.int64)
                values = (low >> 1) ^ -(low & 1)
            case _:  # 64 bits as they are
                values = raw.view(np.int64)
        return _within_bits(buffer, after, values, self.bits), values


@dataclass(frozen=True, slots=True)
class Fixed:
    word: str
    bits: int = 0

    @property
    def node(self) -> Column:
        match self.word:
            case "float":
                return nodes.Real(4)
            case "double":
                return nodes.Real(8)
        return nodes.Integer(10)

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        match self.word:
            case "float":
                return buffer.advance(at, 4), buffer.floats[at]
            case "double":
                return buffer.advance(at, 8), buffer.doubles[at]
            case "fixed64" | "sfixed64":
                return buffer.advance(at, 8), buffer.words[at].view(np.int64)
        raw = buffer.words[at].astype(np.uint32)
        after = buffer.advance(at, 4)
        values = (raw if self.word == "fixed32" else raw.view(np.int32)).astype(np.int64)
        return _within_bits(buffer, after, values, self.bits), values


def _within_bits(buffer: Buffer, after: Ints, values: Ints, bits: int) -> Ints:
    if not bits:
        return after
    half = 1 << bits - 1
    return buffer.poison(after, (values < -half) | (values >= half))


@dataclass(frozen=True, slots=True)
class Symbol:
    """An enum, by its name or its number. `numbers`: those that the schema knows, ascending, and `symbols` theirs."""

    numbers: Ints
    symbols: list[str]
    as_number: bool
    closed: bool

    @property
    def node(self) -> Column:
        return nodes.Integer(10) if self.as_number else nodes.Enum(self.symbols)

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Ints]:
        raw, after = buffer.unsigned(at)
        values = raw.astype(np.uint32).view(np.int32).astype(np.int64)
        if self.as_number and not self.closed:
            return after, values
        index = np.minimum(np.searchsorted(self.numbers, values), len(self.numbers) - 1)
        after = buffer.poison(after, self.numbers[index] != values)
        return after, values if self.as_number else index


@dataclass(frozen=True, slots=True)
class Lengthy:
    """Strings and bytes."""

    text: bool

    @property
    def node(self) -> Column:
        return nodes.Lengthy(self.text)

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Text]:
        starts, sizes, stops = stretch(buffer, at, ends)
        found = Text(starts, sizes, rows)
        if self.text:
            texts.append(found)
        return stops, found


def stretch(buffer: Buffer, at: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Where bytes with their length begin, how many they are, and where they end; not beyond their message."""
    raw, starts = buffer.unsigned(at)
    bad = raw > (ends - np.minimum(starts, ends)).view(np.uint64)
    if bad.any():
        raw[bad] = 0
    sizes = raw.view(np.int64)
    stops = starts + sizes
    return starts, sizes, buffer.poison(stops, bad) if bad.any() else np.minimum(stops, buffer.limit)


class Part:
    """Reads one scalar field of a message of few scalars, in their order; absent ones are zero."""

    def __init__(self, number: int, value: FieldValue, wire: int) -> None:
        self.tag = tag_of(number, wire)
        self.value = value

    def scan(self, buffer: Buffer, at: Ints, ends: Ints) -> tuple[Ints, Ints]:
        values = np.zeros(len(at), dtype=np.int64)
        mine = self.tag.here(buffer, at, ends)
        if mine is None:
            return self.value.scan(buffer, at + self.tag.size, ends, None, [])
        if len(mine):
            after, found = self.value.scan(buffer, at[mine] + self.tag.size, ends[mine], None, [])
            values[mine] = found
            at = at.copy()
            at[mine] = after
        return at, values


@dataclass(frozen=True, slots=True)
class Tag:
    """The bytes in front of a field."""

    bits: int
    size: int

    def here(self, buffer: Buffer, at: Ints, ends: Ints) -> Ints | None:
        """The rows in which the field is next; `None`: all of them."""
        if self.size == 1:
            found = buffer.bytes.take(at) == self.bits
        else:
            found = (buffer.words[at] & np.uint64((1 << 8 * self.size) - 1)) == np.uint64(self.bits)
        found &= at < ends
        return None if found.all() else np.flatnonzero(found)


def tag_of(number: int, wire: int) -> Tag:
    """
    >>> tag_of(1, 0), tag_of(16, 2)
    (Tag(bits=8, size=1), Tag(bits=386, size=2))
    """
    left, bits, size = number << 3 | wire, 0, 0
    while left > 0x7F:
        bits |= (left & 0x7F | 0x80) << 8 * size
        left, size = left >> 7, size + 1
    return Tag(bits | left << 8 * size, size + 1)


def _parts(buffer: Buffer, at: Ints, ends: Ints, parts: tuple[Part, ...]) -> tuple[Ints, list[Ints]]:
    """A message with its length in front, of scalars alone."""
    at, _, stops = stretch(buffer, at, ends)
    found = []
    for part in parts:
        at, values = part.scan(buffer, at, stops)
        found.append(values)
    return buffer.poison(stops, at != stops), found


_SCALARS: Final = tuple(Part(number, Varint("int32"), 0) for number in (1, 2, 3, 4))
_INSTANT: Final = (Part(1, Varint("int64"), 0), Part(2, Varint("int32"), 0))


@dataclass(frozen=True, slots=True)
class Instant:
    """google.protobuf.Timestamp, in milliseconds."""

    @property
    def node(self) -> Column:
        return nodes.Integer(10)

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Ints]:
        after, (seconds, nanos) = _parts(buffer, at, ends, _INSTANT)
        low, high = _SECONDS
        bad = (seconds < low) | (seconds > high) | (nanos < 0) | (nanos >= _NANOS)
        return buffer.poison(after, bad), np.where(bad, 0, seconds) * 1000 + nanos // 1_000_000


@dataclass(frozen=True, slots=True)
class Clock:
    """google.type.TimeOfDay, in milliseconds."""

    @property
    def node(self) -> Column:
        return nodes.Integer(10)

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Ints]:
        after, (hours, minutes, seconds, nanos) = _parts(buffer, at, ends, _SCALARS)
        bad = (hours < 0) | (hours > 23) | (minutes < 0) | (minutes > 59) | (seconds < 0) | (seconds > 59)
        bad |= (nanos < 0) | (nanos >= _NANOS)
        return buffer.poison(after, bad), ((hours * 60 + minutes) * 60 + seconds) * 1000 + nanos // 1_000_000


@dataclass(frozen=True, slots=True)
class Day:
    """google.type.Date, in days since 1970 began."""

    @property
    def node(self) -> Column:
        return nodes.Integer(10)

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Ints]:
        after, (year, month, day) = _parts(buffer, at, ends, _SCALARS[:3])
        bad = (year < 1) | (year > 9999) | (month < 1) | (month > 12)
        month = np.where(bad, 1, month)
        leap = (month == 2) & (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
        bad |= (day < 1) | (day > _MONTH_DAYS[month] + leap)
        # Years begin in March, so that the leap day is the last of its year.
        shifted, since = year - (month <= 2), (month + 9) % 12
        days = 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400 + (153 * since + 2) // 5 + day - 1
        return buffer.poison(after, bad), np.where(bad, 0, days - _DAYS_BEFORE_1970)
