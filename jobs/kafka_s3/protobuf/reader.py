"""Messages to plain values, one at a time: by Protobuf's own runtime, after `wire` has looked at the bytes."""

from __future__ import annotations

import collections
import datetime
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from google.protobuf import message_factory
from google.protobuf.message import DecodeError

from kafka_s3.avro.long_values import ITEMS, LongArray
from kafka_s3.protobuf.shapes import (
    Choice,
    Clock,
    Day,
    Enumerated,
    Instant,
    Leaf,
    MapOf,
    Number,
    Shape,
    Slot,
    Struct,
    Value,
    Wrapped,
)
from kafka_s3.protobuf.wire import Inspection, Message, NotAMessage, message_of
from kafka_s3.shown import named

#: A message, or a scalar as the runtime has it, to its plain value.
Read = Callable[[Any], Any]
#: A struct into whose dictionary a field's value goes.
_Fill = Callable[[Any, dict[str, Any]], None]

#: Names of an enum's unknown numbers that are kept: a message may have one of them a million times.
_UNKNOWN_MAX: Final = 4096
_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()
_NANOS: Final = 1_000_000_000
_SECONDS: Final = (-62_135_596_800, 253_402_300_799)  # the years 1 to 9999


class Reader:
    """Reads messages of one shape."""

    def __init__(self, shape: Shape) -> None:
        self.message: Message = message_of(shape.schemas, shape.descriptor)
        self._class: Any = message_factory.GetMessageClass(shape.descriptor)
        self._read = _Readers().value(shape.root)
        self._read_long = _LongReaders().value(shape.root)
        self._try = _Tries().value(shape.root) if _may_have_none(shape) else None

    def look(self, data: bytes, at: int, weights: Mapping[str, int]) -> int:
        """What the message from byte `at` on weighs (`wire.Inspection`); `NotAMessage` if it is none."""
        inspection = Inspection(data, weights)
        inspection.message(at, len(data), self.message)
        return inspection.weight

    def read(self, data: bytes, at: int) -> Any:
        """The plain value of the message from byte `at` on, which was looked at; `NotAMessage` if it has none."""
        return self._read(self._parsed(data, at))

    def read_long(self, data: bytes, at: int) -> Any:
        """Like `read`; where there are many messages in a list, it makes them when they are read."""
        message = self._parsed(data, at)
        if self._try is not None:
            self._try(message)
        return self._read_long(message)

    def _parsed(self, data: bytes, at: int) -> Any:
        try:
            message = self._class.FromString(data[at:])
        except DecodeError:
            raise NotAMessage(f"not a message of {named(self.message.name)}") from None
        if not message.IsInitialized():
            raise NotAMessage(f"a message of {named(self.message.name)} without a field that it requires")
        return message


def _may_have_none(shape: Shape) -> bool:
    """Whether there are values that Connect has none for, in a message that is one."""
    for slot in (slot for struct in shape.structs.values() for slot in struct.fields):
        match slot.value:
            case Instant() | Day() | Clock() | Number() | MapOf(declared=False):
                return True
            case MapOf(key=key, value=value):
                if any(isinstance(each.value, _FALLIBLE) or _is_small(each.value) for each in (key, value)):
                    return True
            case value if _is_small(value):
                return True
    return False


_FALLIBLE: Final = (Instant, Day, Clock, Number)


def _has_all_values(value: Value) -> bool:
    """Whether there is one for all that such a field may be, or what is within says itself that there is none."""
    return isinstance(value, Struct | Enumerated) or (
        isinstance(value, Leaf) and not value.bits and value.word != "string"
    )


def _is_small(value: Value) -> bool:
    return isinstance(value, Leaf) and value.bits > 0


class _Readers:
    def __init__(self) -> None:
        self._structs: dict[str, list[Read]] = {}

    def value(self, value: Value) -> Read:
        match value:
            case Leaf(word, bits):
                return _leaf(word, bits)
            case Enumerated():
                return _enum(value)
            case Instant():
                return _instant
            case Day():
                return _day
            case Clock():
                return _clock
            case Number():
                return _decimal(value)
            case Wrapped(leaf):
                inner = _leaf(leaf.word, 0)
                return lambda message: inner(message.value)
            case MapOf():
                return self._map(value)
            case Struct():
                return self._struct(value)

    def _struct(self, struct: Struct) -> Read:
        known = self._structs.get(struct.full)
        if known is not None:  # within itself it is not made yet
            return lambda message: known[0](message)
        made = self._structs[struct.full] = []
        fills = [self._slot(each) if isinstance(each, Slot) else self._choice(each) for each in struct.slots]

        def read(message: Any) -> dict[str, Any]:
            record: dict[str, Any] = {}
            for fill in fills:
                fill(message, record)
            return record

        made.append(read)
        return read

    def _slot(self, slot: Slot) -> _Fill:
        name, read = slot.name, self.value(slot.value)
        if not _has_all_values(slot.value):
            read = _named_reader(name, read)
        if slot.repeated and isinstance(slot.value, MapOf):
            return lambda message, record: record.__setitem__(name, read(getattr(message, name)))
        if slot.repeated:
            listed = self._listed(slot.value, read)
            return lambda message, record: record.__setitem__(name, listed(getattr(message, name)))
        if not slot.absent or slot.generated:
            return lambda message, record: record.__setitem__(name, read(getattr(message, name)))

        def fill(message: Any, record: dict[str, Any]) -> None:
            record[name] = read(getattr(message, name)) if message.HasField(name) else None

        return fill

    def _listed(self, value: Value, read: Read) -> Read:  # noqa: ARG002  # others ask what it is
        return lambda values: list(map(read, values))

    def _choice(self, choice: Choice) -> _Fill:
        fills = {each.name: self._slot(each) for each in choice.members}
        empty = dict.fromkeys(fills)
        name, oneof = choice.name, choice.plain
        if choice.flat:

            def flat(message: Any, record: dict[str, Any]) -> None:
                record.update(empty)
                if (which := message.WhichOneof(oneof)) is not None:
                    fills[which](message, record)

            return flat

        def union(message: Any, record: dict[str, Any]) -> None:
            record[name] = None
            if (which := message.WhichOneof(oneof)) is not None:
                inner = record[name] = dict(empty)
                fills[which](message, inner)

        return union

    def _map(self, found: MapOf) -> Read:
        key, value = self.value(found.key.value), self.value(found.value.value)
        as_map = not found.key.optional and found.key.value == Leaf("string")

        def read(entries: Any) -> Any:
            made: dict[Any, Any] = {}
            for entry in entries:
                made[key(entry.key)] = value(entry.value)
            if len(made) < len(entries) and not found.declared:
                raise NotAMessage(f"{named(found.name)} is a list, and a map to Connect: a key is there twice")
            if as_map:
                return made
            return [{"key": one, "value": other} for one, other in made.items()]

        return read if as_map else self._entries(found, key, value, read)

    def _entries(self, found: MapOf, key: Read, value: Read, read: Read) -> Read:  # noqa: ARG002  # others ask
        return read


class _LongReaders(_Readers):
    """Long lists of messages make these when they are read."""

    def _listed(self, value: Value, read: Read) -> Read:
        short = super()._listed(value, read)
        if not isinstance(value, Struct):
            return short
        return lambda messages: short(messages) if len(messages) < ITEMS else LongArray(_Messages(messages, read))

    def _entries(self, found: MapOf, key: Read, value: Read, read: Read) -> Read:
        if not found.declared:
            return read

        def entries(entries: Any) -> Any:
            if len(entries) < ITEMS:
                return read(entries)
            last = {key(entry.key): place for place, entry in enumerate(entries)}
            return LongArray(_Entries(entries, list(last.values()), key, value))

        return entries


class _Entries:
    """A map's entries, of each key the one that counts."""

    def __init__(self, entries: Any, places: list[int], key: Read, value: Read) -> None:
        self.count = len(places)
        self._entries = entries
        self._places = places
        self._key = key
        self._value = value

    def some(self, first: int) -> list[Any]:
        chosen = (self._entries[place] for place in self._places[first : first + ITEMS])
        return [{"key": self._key(each.key), "value": self._value(each.value)} for each in chosen]


class _Messages:
    """The items of a long array of messages."""

    def __init__(self, messages: Any, read: Read) -> None:
        self.count = len(messages)
        self._messages = messages
        self._read = read

    def some(self, first: int) -> list[Any]:
        return list(map(self._read, self._messages[first : first + ITEMS]))


class _Tries(_Readers):
    """Reads all, and keeps nothing of lists."""

    def _listed(self, value: Value, read: Read) -> Read:  # noqa: ARG002
        return lambda values: collections.deque(map(read, values), maxlen=0)


def _named_reader(name: str, read: Read) -> Read:
    """Says which field it is that has no value."""

    def reader(message: Any) -> Any:
        try:
            return read(message)
        except _NoValue as error:
            raise NotAMessage(f"field {named(name)}: {error}") from None

    return reader


class _NoValue(ValueError):
    """A field that Connect has no value for, and why, for people."""


def _leaf(word: str, bits: int) -> Read:
    if bits:
        low, high = -(1 << bits - 1), 1 << bits - 1

        def small(number: int) -> int:
            if not low <= number < high:
                raise _NoValue(f"the number is not an int{bits}")
            return number

        return small
    match word:
        case "uint64" | "fixed64":
            return lambda number: number - (1 << 64) if number >= 1 << 63 else number
        case "string":
            return _text
        case _:
            return lambda value: value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _NoValue("the text is not UTF-8")
    return value


def _enum(enum: Enumerated) -> Read:
    if enum.numbers:
        return lambda number: number
    names, plain = enum.by_number, enum.plain

    @lru_cache(maxsize=_UNKNOWN_MAX)
    def unknown(number: int) -> str:
        return f"UNKNOWN_ENUM_VALUE_{plain}_{number}"  # as Java names it

    return lambda number: names.get(number) or unknown(number)


def _instant(message: Any) -> int:
    seconds, nanos = message.seconds, message.nanos
    if not (_SECONDS[0] <= seconds <= _SECONDS[1] and 0 <= nanos < _NANOS):
        raise _NoValue("the timestamp is not within the years 1 to 9999, or its nanoseconds are not those of a second")
    return int(seconds * 1000 + nanos // 1_000_000)


def _day(message: Any) -> int:
    try:
        return datetime.date(message.year, message.month, message.day).toordinal() - _EPOCH
    except (ValueError, OverflowError):
        raise _NoValue("there is no such date") from None


def _clock(message: Any) -> int:
    hours, minutes, seconds, nanos = message.hours, message.minutes, message.seconds, message.nanos
    if not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 60 and 0 <= nanos < _NANOS):
        raise _NoValue("there is no such time of day")
    return int(((hours * 60 + minutes) * 60 + seconds) * 1000 + nanos // 1_000_000)


#: Digits of a decimal are counted in text, which takes the square of their number.
_DECIMAL_BYTES_MAX: Final = 1024


def _decimal(number: Number) -> Read:
    scale = number.scale

    def read(message: Any) -> bytes:
        if not message.value:
            raise _NoValue("the decimal has no value")
        if message.scale != scale:
            raise _NoValue(f"the decimal has another scale than the schema's {scale}")
        if len(message.value) > _DECIMAL_BYTES_MAX:
            raise _NoValue(f"the decimal has more than {_DECIMAL_BYTES_MAX} bytes")
        unscaled = int.from_bytes(message.value, signed=True)
        if message.precision and len(str(abs(unscaled))) > message.precision:
            raise _NoValue("the decimal has more digits than its precision")
        return unscaled.to_bytes((unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1, signed=True)

    return read
