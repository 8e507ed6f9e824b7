"""Batches of messages, all rows at once, without a Python object for any value.

Fields are looked for in the order of their numbers, which is the order that every writer of Protobuf has. What this
finds to be a message of its shape is one (`wire` and `reader` would say the same). It says nothing about other rows:
those with fields in another order, twice, or unknown, and those that are wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from kafka_s3.avro.batch_reader import TYPES_MAX, TYPES_WITH_ITEMS_MAX, Columns, Scan
from kafka_s3.avro.column_nodes import ROUNDS_MAX, Slow, Text
from kafka_s3.avro.model import Schema
from kafka_s3.avro.vectors import Ints
from kafka_s3.protobuf import shapes, values
from kafka_s3.protobuf.messages import Decimal, Inside, Message, Repeated, Single, Union, Wrapper, leaf, plain_slot
from kafka_s3.protobuf.shapes import Shape, Slot, Struct, Value
from kafka_s3.protobuf.values import FieldValue
from kafka_s3.protobuf.wire import LENGTHY, WIRE_TYPES


class MessageColumns(Columns):
    """How batches of one shape are read at once; made by `columns_of`, which keeps it."""

    def __init__(self, schema: Schema, message: Message) -> None:
        super().__init__(schema, message.node)
        self.message = message

    def scan(self, datums: Sequence[bytes], skip: int = 0) -> Scan:
        return _MessageScan(self, datums, skip)


class _MessageScan(Scan):
    def _wrong(self, rows: Ints | None) -> Ints:
        buffer = self._buffer
        starts, ends = (buffer.starts, buffer.ends) if rows is None else (buffer.starts[rows], buffer.ends[rows])
        buffer.rounds = ROUNDS_MAX
        texts: list[Text] = []
        assert isinstance(self._columns, MessageColumns)
        at, self._found = self._columns.message.scan(buffer, starts, ends, None, texts)
        wrong = np.flatnonzero(at != ends)
        if len(wrong):
            return wrong
        bad: set[int] = set()
        for text in texts:
            bad.update(text.not_utf8(buffer))
        return np.array(sorted(bad), dtype=np.int64)


@lru_cache(maxsize=256)
def columns_of(shape: Shape, schema: Schema) -> MessageColumns | None:
    """The columns of a shape, whose values have this schema; `None` if it has none."""
    if not isinstance(shape.root, Struct):
        return None
    try:
        return MessageColumns(schema, _Compiler().message(shape.root))
    except Slow:
        return None


class _Compiler:
    """Shapes to what reads them; `Slow` if a shape is too large, or holds itself."""

    def __init__(self) -> None:
        self._count = 0
        self._items = False
        self._open: set[str] = set()

    def message(self, struct: Struct) -> Message:
        if struct.full in self._open:
            raise Slow
        self._open.add(struct.full)
        fields: list[Single | Repeated] = []
        parts: list[Single | Repeated | Union] = []
        choices: list[list[Single]] = []
        for each in struct.slots:
            if isinstance(each, Slot):
                field = self._repeated(each) if each.repeated else self._single(each)
                fields.append(field)
                parts.append(field)
            else:
                members = [self._single(member) for member in each.members]
                choices.append(members)
                fields += members
                parts += members if each.flat else [Union(each, members)]
        self._open.discard(struct.full)
        made = Message(fields, parts)
        made.choices = choices
        return made

    def _single(self, slot: Slot) -> Single:
        return Single(slot, self._value(slot.value), _wire(slot.value))

    def _repeated(self, slot: Slot) -> Repeated:
        self._items = True
        return Repeated(slot, self._value(slot.value), _wire(slot.value), slot.packed)

    def _value(self, value: Value) -> FieldValue:
        self._count += 1
        if self._count > (TYPES_WITH_ITEMS_MAX if self._items else TYPES_MAX):
            raise Slow
        match value:
            case shapes.Leaf(word, bits):
                return leaf(word, bits)
            case shapes.Enumerated():
                return _symbol(value)
            case shapes.Instant():
                return values.Instant()
            case shapes.Day():
                return values.Day()
            case shapes.Clock():
                return values.Clock()
            case shapes.Number(scale):
                return Decimal(scale)
            case shapes.Wrapped(inner):
                single = Single(plain_slot("value", 1, inner.word, _zero(inner.word)), leaf(inner.word), _wire(inner))
                return Wrapper(Message([single], [single]))
            case shapes.MapOf():
                entry: list[Single | Repeated] = [self._single(value.key), self._single(value.value)]
                return Inside(Message(entry, list(entry)))
            case Struct():
                return Inside(self.message(value))


def _symbol(enum: shapes.Enumerated) -> values.Symbol:
    by_number = dict(sorted(enum.by_number.items()))
    numbers = np.array(list(by_number), dtype=np.int64)
    return values.Symbol(numbers, list(by_number.values()), enum.numbers, enum.closed)


def _wire(value: Value) -> int:
    return WIRE_TYPES[value.word] if isinstance(value, shapes.Leaf | shapes.Enumerated) else LENGTHY


def _zero(word: str) -> object:
    return {"string": "", "bytes": b""}.get(word, 0)
