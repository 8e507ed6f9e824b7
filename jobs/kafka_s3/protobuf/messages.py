"""The fields of a message, of all rows of a batch at once, and the message that they make.

Fields are looked for in the order of their numbers, which is the order that every writer of Protobuf has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_s3.avro import column_nodes as nodes
from kafka_s3.avro.column_nodes import ITEMS_MAX, Column, Rows, Text
from kafka_s3.avro.vectors import Buffer, Ints
from kafka_s3.protobuf import shapes, values
from kafka_s3.protobuf.shapes import Choice, Slot
from kafka_s3.protobuf.values import FieldValue, stretch, tag_of
from kafka_s3.protobuf.wire import LENGTHY

_NULL: Final = nodes.Null()
_NOTHING: Final = np.empty(0, dtype=np.int64)


def _all(count: int, column: Any, *, nullable: bool) -> Any:
    """What was found of a field that every row has; in the form of a union with null, where its type is one."""
    return (count, [(_NOTHING, None), (np.arange(count), column)]) if nullable else column


def _some(count: int, mine: Ints | None, column: Any) -> Any:
    """What was found of a field that only some rows have; `None`: all of them."""
    return (count, [(_NOTHING, None), (np.arange(count) if mine is None else mine, column)])


@dataclass(slots=True)
class _Found:
    """A field of a batch: in which rows (`None`: all), its values there, and where it would have begun in all."""

    mine: Ints | None
    column: Any
    before: Ints


class Single:
    """A field that is there once, or not."""

    def __init__(self, slot: Slot, value: FieldValue, wire: int) -> None:
        self.slot = slot
        self.value = value
        self.tag = tag_of(slot.number, wire)
        inner = value.node
        self.node: Column = nodes.Union([_NULL, inner]) if slot.optional else inner

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, _Found]:
        mine = self.tag.here(buffer, at, ends)
        before = at
        if mine is None:
            after, column = self.value.scan(buffer, at + self.tag.size, ends, rows, texts)
            return after, _Found(None, column, before)
        if self.slot.required or self.slot.generated or (not self.slot.absent and not self._fills):
            at = np.full(len(at), buffer.limit)
            at[mine] = before[mine]
        column = None
        if len(mine):
            after, column = self.value.scan(
                buffer, before[mine] + self.tag.size, ends[mine], mine if rows is None else rows[mine], texts
            )
            at = at.copy()
            at[mine] = after
        return at, _Found(mine, column, before)

    @property
    def _fills(self) -> bool:
        """Whether there is a value for rows without the field."""
        match self.value:
            case values.Varint() | values.Fixed():
                return True
            case values.Symbol(as_number=True):
                return True
            case values.Symbol(symbols=symbols):
                return self.slot.default in symbols
            case values.Lengthy():
                return not self.slot.default
        return False

    def assembled(self, found: _Found) -> Any:
        count = len(found.before)
        if self.slot.absent:
            return _some(count, found.mine, found.column)
        column = found.column if found.mine is None else self._filled(count, found)
        return _all(count, column, nullable=self.slot.optional)

    def _filled(self, count: int, found: _Found) -> Any:
        """The column, with the default in the rows that do not have the field."""
        mine, default = found.mine, self.slot.default
        assert mine is not None
        match self.value:
            case values.Lengthy():
                starts, sizes = found.before.copy(), np.zeros(count, dtype=np.int64)
                if len(mine):
                    starts[mine], sizes[mine] = found.column.starts, found.column.sizes
                return Text(starts, sizes, None)
            case values.Symbol(symbols=symbols, as_number=False):
                made = np.full(count, symbols.index(default) if default in symbols else 0, dtype=np.int64)
            case values.Fixed(word="float"):
                made = np.full(count, default, dtype=np.float32)
            case values.Fixed(word="double"):
                made = np.full(count, default, dtype=np.float64)
            case values.Varint(word="bool"):
                made = np.full(count, default, dtype=np.uint8)
            case values.Varint() | values.Fixed() | values.Symbol():
                made = np.full(count, default, dtype=np.int64)
            case _:
                return found.column  # a row without it is read by itself
        if len(mine):
            made[mine] = found.column
        return made


class Repeated:
    """A field that is there any number of times; or once, with all its values together, where it is packed."""

    def __init__(self, slot: Slot, value: FieldValue, wire: int, packed: bool) -> None:
        self.slot = slot
        self.value = value
        self.packed = packed
        self.keyed = isinstance(slot.value, shapes.MapOf)
        self.tag = tag_of(slot.number, LENGTHY if packed else wire)
        self.node: Column = nodes.Union([_NULL, nodes.Items(self._item(value), self._is_map(slot))])

    def _item(self, value: FieldValue) -> Column:
        return value.node if self.keyed else nodes.Union([_NULL, value.node])

    @staticmethod
    def _is_map(slot: Slot) -> bool:
        """Whether it is a map in Avro too, and not an array of entries."""
        found = slot.value
        return isinstance(found, shapes.MapOf) and not found.key.optional and found.key.value == shapes.Leaf("string")

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        out = at.copy()
        counts = np.zeros(len(at), dtype=np.int64)
        rounds: list[tuple[Ints, Any]] = []
        active, here, stops = self._begin(buffer, at, ends, out)
        while len(active):
            if len(rounds) == ITEMS_MAX or buffer.rounds == 0:
                out[active] = buffer.limit
                break
            buffer.rounds -= 1
            chosen = active if rows is None else rows[active]
            here, column = self.value.scan(buffer, here, stops, chosen, texts)
            rounds.append((active, column if self.keyed else _all(len(active), column, nullable=True)))
            counts[active] += 1
            out[active] = here
            active, here, stops = self._next(buffer, active, here, stops, out)
        if self.keyed:
            out = self._without_twins(buffer, out, rounds)
        return out, (counts, rounds)

    def _begin(self, buffer: Buffer, at: Ints, ends: Ints, out: Ints) -> tuple[Ints, Ints, Ints]:
        mine = self.tag.here(buffer, at, ends)
        active = np.arange(len(at)) if mine is None else mine
        here, stops = at[active] + self.tag.size, ends[active]
        if not self.packed:
            return active, here, stops
        here, sizes, stops = stretch(buffer, here, stops)
        out[active] = stops
        more = np.flatnonzero((sizes > 0) & (stops < buffer.limit))
        return active[more], here[more], stops[more]

    def _next(self, buffer: Buffer, active: Ints, here: Ints, stops: Ints, out: Ints) -> tuple[Ints, Ints, Ints]:
        if self.packed:
            out[active[here > stops]] = buffer.limit
            more = np.flatnonzero(here < stops)
            return active[more], here[more], stops[more]
        mine = self.tag.here(buffer, here, stops)
        if mine is None:
            return active, here + self.tag.size, stops
        return active[mine], here[mine] + self.tag.size, stops[mine]

    def _without_twins(self, buffer: Buffer, out: Ints, rounds: list[tuple[Ints, Any]]) -> Ints:
        """A key that a map has twice is for `reader` to settle."""
        if len(rounds) < 2:
            return out
        assert isinstance(self.value, Inside)
        key = self.value.value.node.fields[0]
        kind = _key_kind(key)
        keys = pa.concat_arrays([key.arrow(buffer, column[1][0], kind) for _, column in rounds])
        coded = keys.dictionary_encode()
        where = np.concatenate([active for active, _ in rounds])
        pairs = where * max(len(coded.dictionary), 1) + coded.indices.to_numpy()
        _, first, counts = np.unique(pairs, return_index=True, return_counts=True)
        twice = where[first[counts > 1]]
        if len(twice):
            out[twice] = buffer.limit
        return out


def _key_kind(node: Column) -> pa.DataType:
    match node:
        case nodes.Union():
            return _key_kind(node.branches[1])
        case nodes.Lengthy():
            return pa.binary()
        case nodes.Boolean():
            return pa.bool_()
    return pa.int64()


class Union:
    """A oneof that is a struct of its own: of its fields one is there, or none is."""

    def __init__(self, choice: Choice, members: list[Single]) -> None:
        self.name = choice.name
        self.members = members
        record = nodes.Record([each.slot.name for each in members], [each.node for each in members])
        self.node: Column = nodes.Union([_NULL, record])

    def assembled(self, count: int, found: list[_Found]) -> Any:
        taken = np.zeros(count, dtype=np.bool_)
        for each in found:
            taken[slice(None) if each.mine is None else each.mine] = True
        mine = np.flatnonzero(taken)
        inside = []
        for each in found:
            place = np.arange(count) if each.mine is None else each.mine
            inside.append((len(mine), [(_NOTHING, None), (np.searchsorted(mine, place), each.column)]))
        return _some(count, mine, (len(mine), inside))


class Message:
    """A message, its fields in the order of their numbers on the wire; `parts` make its columns in their order."""

    def __init__(self, fields: list[Single | Repeated], parts: list[Single | Repeated | Union]) -> None:
        self.fields = sorted(fields, key=lambda each: each.slot.number)
        self.parts = parts
        names = [each.slot.name if isinstance(each, Single | Repeated) else each.name for each in parts]
        self.node = nodes.Record(names, [each.node for each in parts])
        #: Fields of which a message has one at most.
        self.choices: list[list[Single]] = []

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        """The message that ends at `ends`; a row is right where that is where its fields end."""
        count = len(at)
        found: dict[Single | Repeated, Any] = {}
        for each in self.fields:
            at, found[each] = each.scan(buffer, at, ends, rows, texts)
        for members in self.choices:
            at = _one_of(buffer, at, [found[each] for each in members])
        columns = []
        for part in self.parts:
            if isinstance(part, Union):
                columns.append(part.assembled(count, [found[each] for each in part.members]))
            elif isinstance(part, Single):
                columns.append(part.assembled(found[part]))
            else:
                columns.append(_all(count, found[part], nullable=True))
        return at, (count, columns)


def _one_of(buffer: Buffer, at: Ints, found: list[_Found]) -> Ints:
    """The last of two fields of a oneof is meant: such a row is for `reader`."""
    times = np.zeros(len(at), dtype=np.int8)
    for each in found:
        times[slice(None) if each.mine is None else each.mine] += 1
    return buffer.poison(at, times > 1)


@dataclass(frozen=True, slots=True)
class Inside:
    """A message as the value of a field."""

    value: Message

    @property
    def node(self) -> Column:
        return self.value.node

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        at, _, stops = stretch(buffer, at, ends)
        at, found = self.value.scan(buffer, at, stops, rows, texts)
        return buffer.poison(stops, at != stops), found


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A message of google/protobuf/wrappers.proto: the scalar inside, or its zero."""

    inner: Message

    @property
    def node(self) -> Column:
        return self.inner.node.fields[0]

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        after, (_, columns) = Inside(self.inner).scan(buffer, at, ends, rows, texts)
        return after, columns[0]


@dataclass(frozen=True, slots=True)
class Decimal:
    """confluent.type.Decimal of a scale: its unscaled value, as few bytes as that takes."""

    scale: int

    @property
    def node(self) -> Column:
        return nodes.Lengthy(False)

    def scan(self, buffer: Buffer, at: Ints, ends: Ints, rows: Rows, texts: list[Text]) -> tuple[Ints, Any]:
        after, (_, (text, precision, scale)) = Inside(_DECIMAL).scan(buffer, at, ends, rows, texts)
        first, second = buffer.bytes.take(text.starts), buffer.bytes.take(text.starts + 1)
        # One byte more than it takes, or none at all.
        bad = (text.sizes == 0) | (scale != self.scale)
        bad |= (text.sizes > 1) & (((first == 0) & (second < 0x80)) | ((first == 0xFF) & (second >= 0x80)))
        bad |= (precision > 0) & _has_more_digits(buffer, text, precision)
        return buffer.poison(after, bad), text


def _has_more_digits(buffer: Buffer, text: Text, precision: Ints) -> Any:
    """Whether a decimal may have more digits than its precision; said for sure of those of 8 bytes or less."""
    number = np.zeros(len(text.sizes), dtype=np.int64)
    negative = (buffer.bytes.take(text.starts) >= 0x80) & (text.sizes > 0)
    number[negative] = -1
    for place in range(8):
        there = place < text.sizes
        byte = buffer.bytes.take(text.starts + place, mode="clip").astype(np.int64)
        number = np.where(there, (number << 8) | byte, number)
    size = np.abs(number)
    bound = _POWERS[np.clip(precision, 0, 18)]
    fits = (text.sizes <= 8) & (number != np.iinfo(np.int64).min) & ((precision > 18) | (size < bound))
    return ~fits


_POWERS: Final = np.array([10**digits for digits in range(19)], dtype=np.int64)


def plain_slot(name: str, number: int, word: str, default: Any) -> Slot:
    """A field of a message that is known to everybody: there, or its default."""
    return Slot(name, number, shapes.Leaf(word), False, False, False, False, default)


def leaf(word: str, bits: int = 0) -> FieldValue:
    """How a scalar is read."""
    if word in ("string", "bytes"):
        return values.Lengthy(word == "string")
    if word in ("float", "double", "fixed32", "fixed64", "sfixed32", "sfixed64"):
        return values.Fixed(word, bits)
    return values.Varint(word, bits)


def _plain_message(*fields: tuple[str, int, str, Any]) -> Message:
    made: list[Any] = [
        Single(plain_slot(*each), leaf(each[2]), LENGTHY if each[2] == "bytes" else 0) for each in fields
    ]
    return Message(made, list(made))


_DECIMAL: Final = _plain_message(("value", 1, "bytes", b""), ("precision", 2, "uint32", 0), ("scale", 3, "int32", 0))
