"""Messages checked byte by byte, one at a time: what is wrong with them, and how much they may become.

Protobuf's own readers take a field of another wire type than the schema's for an unknown one and leave it out; here
the message is bad. Fields whose number the schema does not have are unknown, and left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from kafka_s3.protobuf.compile import Schemas
from kafka_s3.protobuf.shapes import WORDS
from kafka_s3.shown import named

#: As Protobuf's own readers have it.
NESTING_MAX: Final = 100
VARINT, FIXED64, LENGTHY, GROUP, GROUP_END, FIXED32 = range(6)
WIRE_WORDS: Final = ("a varint", "8 bytes", "bytes with a length", "a group", "a group's end", "4 bytes")
WIRE_TYPES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool", "enum"), VARINT),
    **dict.fromkeys(("fixed64", "sfixed64", "double"), FIXED64),
    **dict.fromkeys(("fixed32", "sfixed32", "float"), FIXED32),
    **dict.fromkeys(("string", "bytes", "message"), LENGTHY),
    "group": GROUP,
}
_NO_WEIGHTS: Final[Mapping[str, int]] = {}
_TAG_MAX: Final = 2**32 - 1


class NotAMessage(ValueError):
    """The bytes are no message of the type, and why, for people."""


@dataclass(slots=True, eq=False)
class Part:
    """A field on the wire. `packed`: its values may also stand together. `known`: of a closed enum, its numbers."""

    name: str
    wire: int
    packed: bool
    message: Message | None
    text: bool
    enum: str | None
    known: frozenset[int] | None = None


@dataclass(slots=True, eq=False)
class Message:
    """A message type on the wire."""

    name: str
    parts: dict[int, Part] = field(default_factory=dict)


def message_of(schemas: Schemas, descriptor: Descriptor) -> Message:
    return _message_of(schemas, descriptor.full_name)


@lru_cache(maxsize=256)
def _message_of(schemas: Schemas, name: str) -> Message:
    made: dict[str, Message] = {}
    root = schemas.pool.FindMessageTypeByName(name)
    waiting: list[Descriptor] = [root]
    made[name] = Message(name)
    while waiting:
        descriptor = waiting.pop()
        message = made[descriptor.full_name]
        for each in descriptor.fields:
            inner = each.message_type
            if inner is not None and inner.full_name not in made:
                made[inner.full_name] = Message(inner.full_name)
                waiting.append(inner)
            below = None if inner is None else made[inner.full_name]
            message.parts[each.number] = _part(schemas, each, below, descriptor.full_name)
    return made[name]


def _part(schemas: Schemas, each: FieldDescriptor, below: Message | None, owner: str) -> Part:
    word = WORDS[each.type]
    wire = WIRE_TYPES[word]
    known, enum = None, None if each.enum_type is None else each.enum_type.full_name
    if owner in schemas.entries and each.enum_type is not None and each.enum_type.is_closed:
        known = frozenset(value.number for value in each.enum_type.values)  # else the whole entry would be unknown
    packed = bool(each.is_repeated) and wire not in (LENGTHY, GROUP)
    return Part(each.name, wire, packed, below, word == "string", enum, known)


class Inspection:
    """One look at the bytes of a message. `weights`: what each message and each value of an enum adds to `weight`."""

    __slots__ = ("data", "weight", "weights")

    def __init__(self, data: bytes, weights: Mapping[str, int] = _NO_WEIGHTS) -> None:
        self.data = data
        self.weights = weights
        self.weight = 0

    def message(self, at: int, end: int, message: Message, depth: int = 1) -> None:
        """Looks at the message in bytes `[at, end)`; `NotAMessage` if it is none."""
        if depth > NESTING_MAX:
            raise NotAMessage(f"nested more than {NESTING_MAX} levels deep")
        self.weight += self.weights.get(message.name, 0)
        parts, data = message.parts, self.data
        while at < end:
            if (tag := data[at]) < 0x80:
                at += 1
            else:
                tag, at = self._varint(at, end)
            number, wire = tag >> 3, tag & 7
            position = at - 1
            if tag > _TAG_MAX or number == 0 or wire > FIXED32 or wire == GROUP_END:
                raise NotAMessage(f"not a message of {named(message.name)}: no field begins at byte {position}")
            part = parts.get(number)
            if part is None:
                at = self._skip(at, end, wire, number, depth)
            elif wire == part.wire and part.message is None:
                at = self._scalar(at, end, part)
            elif wire == LENGTHY and part.wire == LENGTHY and part.message is not None:
                size, at = self._length(at, end, part)
                if size or depth == NESTING_MAX:
                    self.message(at, at + size, part.message, depth + 1)
                    at += size
                else:  # without fields, as most that are made to cost much are
                    self.weight += self.weights.get(part.message.name, 0)
            elif wire == LENGTHY and part.packed:
                at = self._packed(at, end, part)
            else:
                word, wanted = WIRE_WORDS[wire], WIRE_WORDS[part.wire]
                raise NotAMessage(f"field {named(part.name)} is {word}, not {wanted}")

    def _scalar(self, at: int, end: int, part: Part) -> int:
        if part.wire == VARINT:
            value, at = self._varint(at, end)
            if part.enum is not None:
                self.weight += self.weights.get(part.enum, 0)
            if part.known is not None and _signed32(value) not in part.known:
                raise NotAMessage(f"field {named(part.name)} has a number that its enum has no name for")
            return at
        if part.wire == LENGTHY:
            size, at = self._length(at, end, part)
            if part.text:
                self._text(at, at + size, part)
            return at + size
        at += 8 if part.wire == FIXED64 else 4
        if at > end:
            raise NotAMessage(f"it ends within the field {named(part.name)}")
        return at

    def _text(self, at: int, end: int, part: Part) -> None:
        try:
            self.data[at:end].decode("utf-8")
        except UnicodeDecodeError:
            raise NotAMessage(f"field {named(part.name)}: the text is not UTF-8") from None

    def _packed(self, at: int, end: int, part: Part) -> int:
        size, at = self._length(at, end, part)
        stop = at + size
        if part.wire != VARINT:
            if size % (8 if part.wire == FIXED64 else 4):
                raise NotAMessage(f"it ends within the field {named(part.name)}")
            return stop
        each = 0 if part.enum is None else self.weights.get(part.enum, 0)
        if self.data[at:stop].isascii():  # numbers of one byte
            self.weight += each * size
            return stop
        while at < stop:
            _, at = self._varint(at, stop)
            self.weight += each
        return stop

    def _skip(self, at: int, end: int, wire: int, number: int, depth: int) -> int:
        """Past a field that the schema does not have."""
        if wire == VARINT:
            return self._varint(at, end)[1]
        if wire == LENGTHY:
            size, at = self._varint(at, end)
            at += size
        elif wire != GROUP:
            at += 8 if wire == FIXED64 else 4
        else:
            return self._skip_group(at, end, number, depth + 1)
        if at > end:
            raise NotAMessage("it ends within a field that the schema does not have")
        return at

    def _skip_group(self, at: int, end: int, opened: int, depth: int) -> int:
        if depth > NESTING_MAX:
            raise NotAMessage(f"nested more than {NESTING_MAX} levels deep")
        while at < end:
            tag, at = self._varint(at, end)
            number, wire = tag >> 3, tag & 7
            position = at - 1
            if tag > _TAG_MAX or number == 0 or wire > FIXED32:
                raise NotAMessage(f"no field begins at byte {position}")
            if wire == GROUP_END:
                if number != opened:
                    raise NotAMessage("a group ends that did not begin")
                return at
            at = self._skip(at, end, wire, number, depth)
        raise NotAMessage("a group has no end")

    def _length(self, at: int, end: int, part: Part) -> tuple[int, int]:
        if at < end and (byte := self.data[at]) < 0x80:
            size, at = byte, at + 1
        else:
            size, at = self._varint(at, end)
        if size > end - at:
            raise NotAMessage(f"it ends within the field {named(part.name)}")
        return size, at

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        data, number = self.data, 0
        if at < end and (byte := data[at]) < 0x80:
            return byte, at + 1
        for place in range(10):
            if at >= end:
                raise NotAMessage("it ends within a number")
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                if number >> 64:
                    break
                return number, at
        raise NotAMessage("a number has more than 64 bits")


def _signed32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value
