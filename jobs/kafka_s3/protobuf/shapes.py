"""What ProtobufConverter makes of a message type: Confluent's mapping to Connect's types, row by row.

A shape says what a value becomes and which field of the wire it comes from; how the schema is written
(`values.converters.protobuf_schema`) and how values are read (`reader`, `columns`) both follow from it.

| Protobuf | Connect |
|---|---|
| int32, sint32, sfixed32 | int32; int8 or int16 where `confluent.field_meta` has `connect.type` |
| uint32, fixed32, int64, sint64, sfixed64 | int64 |
| uint64, fixed64 | int64, the same 64 bits: numbers from 2^63 on are negative, as in Java |
| float, double, bool, string, bytes | float32, float64, boolean, string, bytes |
| enum | string, the value's name; int32 with `int.for.enums` |
| message | struct |
| repeated | array; map where it is one of a `...Entry` with a key and a value |
| oneof | struct `<name>_<index>` of all its fields, of which one is set |
| google.protobuf.Timestamp | Timestamp, in milliseconds |
| google.type.Date, google.type.TimeOfDay | Date, Time in milliseconds |
| confluent.type.Decimal | Decimal of the scale in `confluent.field_meta` |
| google.protobuf.Int32Value and its like | the type inside, null where it is absent |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Final

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from kafka_s3.protobuf.compile import ProtoError, Schemas
from kafka_s3.protobuf.options import Options
from kafka_s3.shown import named

WORDS: Final[Mapping[int, str]] = {
    each.number: each.name.removeprefix("TYPE_").lower() for each in FieldDescriptorProto.Type.DESCRIPTOR.values
}
_WRAPPERS: Final = {
    f"google.protobuf.{name}Value": word
    for name, word in (
        ("Double", "double"),
        ("Float", "float"),
        ("Int64", "int64"),
        ("UInt64", "uint64"),
        ("Int32", "int32"),
        ("UInt32", "uint32"),
        ("Bool", "bool"),
        ("String", "string"),
        ("Bytes", "bytes"),
    )
}
_FIELD_META: Final = "confluent.field_meta"
_SMALL: Final = {"int8": 8, "int16": 16}
_PRECISION_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar. `bits`: 8 or 16 of Connect's smaller integers, else 0."""

    word: str
    bits: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Enumerated:
    """An enum; `symbols` in the order of the file, aliases too. `numbers`: it is read as its number."""

    name: str
    plain: str
    full: str
    symbols: tuple[tuple[str, int], ...]
    numbers: bool
    closed: bool
    word: ClassVar[str] = "enum"

    @property
    def by_number(self) -> dict[int, str]:
        """The first name of each number, as Java has it."""
        return {number: symbol for symbol, number in reversed(self.symbols)}


@dataclass(frozen=True, slots=True)
class Instant:
    """google.protobuf.Timestamp."""


@dataclass(frozen=True, slots=True)
class Day:
    """google.type.Date."""


@dataclass(frozen=True, slots=True)
class Clock:
    """google.type.TimeOfDay."""


@dataclass(frozen=True, slots=True)
class Number:
    """confluent.type.Decimal. `precision`: what the field's metadata says."""

    scale: int
    precision: int | None


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A message of google/protobuf/wrappers.proto that stands for the scalar inside."""

    leaf: Leaf


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    """A map; `declared`: as one, so that of two entries with one key the last is meant."""

    entry: str
    name: str
    key: Slot
    value: Slot
    declared: bool


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """A message; `slots`, and `fields` with those of oneofs, are there once all are: they may lead back to it."""

    full: str
    name: str
    descriptor: Descriptor
    slots: tuple[Slot | Choice, ...] = ()
    fields: tuple[Slot, ...] = ()

    @property
    def choices(self) -> tuple[Choice, ...]:
        return tuple(each for each in self.slots if isinstance(each, Choice))


Value = Leaf | Enumerated | Instant | Day | Clock | Number | Wrapped | MapOf | Struct


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A field. `optional`: in Connect's schema. `absent`: a message without it has null there, not its default.

    `default`: of a scalar that is not absent; plain, as `avro.model` has it. `generated`: where it is absent, the
    struct of all defaults stands in its place (`generate.struct.for.nulls`). `packed`: its values stand together.
    """

    name: str
    number: int
    value: Value
    repeated: bool
    optional: bool
    absent: bool
    required: bool
    default: Any
    generated: bool = False
    packed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A oneof. `flat`: its fields are those of the message, and no struct of their own."""

    name: str
    plain: str
    full: str
    members: tuple[Slot, ...]
    flat: bool


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What messages of one type become: `root` is a struct, or the scalar in a wrapper."""

    schemas: Schemas
    descriptor: Descriptor
    options: Options
    root: Struct | Wrapped
    structs: Mapping[str, Struct] = field(default_factory=dict)


@lru_cache(maxsize=256)
def shape_of(schemas: Schemas, indexes: tuple[int, ...], options: Options) -> Shape:
    """The shape of the message type of these indexes; `ProtoError` if Connect has none for it."""
    descriptor = schemas.message(indexes)
    made = _Shapes(schemas, options)
    try:
        leaf = made.wrapped(descriptor) if options.wrapper_for_raw_primitives else None
        root: Struct | Wrapped = made.struct(descriptor) if leaf is None else leaf
    except RecursionError:
        raise ProtoError("its messages are nested too deeply") from None
    _check_generated(made.structs.values())
    return Shape(schemas, descriptor, options, root, made.structs)


class _Shapes:
    """Each message type is made once, however often it is named."""

    def __init__(self, schemas: Schemas, options: Options) -> None:
        self._schemas = schemas
        self._options = options
        self.structs: dict[str, Struct] = {}

    def struct(self, descriptor: Descriptor) -> Struct:
        known = self.structs.get(descriptor.full_name)
        if known is not None:
            return known
        name = descriptor.full_name if self._options.enhanced_protobuf_schema_support else descriptor.name
        made = self.structs[descriptor.full_name] = Struct(descriptor.full_name, name, descriptor)
        proto = self._schemas.protos[descriptor.full_name]
        synthetic = {each.oneof_index for each in proto.field if each.proto3_optional}
        slots: list[Slot | Choice] = []
        fields: dict[str, Slot] = {}
        for index, oneof in enumerate(descriptor.oneofs):
            if index not in synthetic:
                members = tuple(self._slot(each, proto, member=True) for each in oneof.fields)
                fields.update((each.name, each) for each in members)
                slots.append(self._choice(oneof, index, members))
        for each in (descriptor.fields_by_name[found.name] for found in proto.field):
            if each.name not in fields:
                slot = fields[each.name] = self._slot(each, proto)
                slots.append(slot)
        object.__setattr__(made, "slots", tuple(slots))
        object.__setattr__(made, "fields", tuple(fields.values()))
        return made

    def wrapped(self, descriptor: Descriptor) -> Wrapped | None:
        word = _WRAPPERS.get(descriptor.full_name)
        return None if word is None else Wrapped(Leaf(word))

    def _choice(self, oneof: OneofDescriptor, index: int, members: tuple[Slot, ...]) -> Choice:
        name = f"{oneof.name}_{index}" if self._options.generate_index_for_unions else oneof.name
        return Choice(name, oneof.name, oneof.full_name, members, self._options.flatten_unions)

    def _slot(
        self,
        each: FieldDescriptor,
        message: descriptor_pb2.DescriptorProto,
        *,
        member: bool = False,
        entry: bool = False,
    ) -> Slot:
        """A field; `member`: of a oneof, `entry`: of a map's entry, which has a key and a value whatever is written."""
        proto = next(found for found in message.field if found.name == each.name)
        value = self._value(each, proto)
        repeated = bool(each.is_repeated)
        optional_word = self._has_optional_word(each, proto)
        absent = (not repeated and not entry) and (
            member
            or not isinstance(value, Leaf | Enumerated)
            or proto.proto3_optional
            or (optional_word and self._options.optional_for_proto2)
        )
        if isinstance(value, Leaf) and not repeated:
            options = self._options
            optional = optional_word if options.optional_for_nullables else not options.wrapper_for_nullables
            optional = optional or absent  # Connect refuses a null that it finds in a field that is not optional
        else:
            optional = True
        has_default = isinstance(value, Leaf | Enumerated) and not absent and not repeated
        generated = isinstance(value, Struct) and not repeated and not member
        return Slot(
            each.name,
            each.number,
            value,
            repeated,
            optional,
            absent,
            bool(each.is_required),
            _default(each, value) if has_default else None,
            generated and self._options.generate_struct_for_nulls,
            bool(each.is_packed),
        )

    def _has_optional_word(self, each: FieldDescriptor, proto: FieldDescriptorProto) -> bool:
        """Whether the field is marked as one that may be absent; in editions, by its presence."""
        if proto.proto3_optional:
            return True
        if each.is_repeated or each.is_required or each.containing_oneof is not None:
            return False
        file = self._schemas.files[each.file.name]
        return file.syntax in ("", "proto2") or (file.syntax == "editions" and bool(each.has_presence))

    def _value(self, each: FieldDescriptor, proto: FieldDescriptorProto) -> Value:
        word = WORDS[each.type]
        if word == "group":
            raise ProtoError(f"{named(each.full_name)} is a group, which Connect has no type for")
        if word == "enum":
            return self._enum(each.enum_type)
        if word == "message":
            return self._message(each, proto)
        params = self._params(proto) if word in ("int32", "sint32", "sfixed32") else {}
        return Leaf(word, _SMALL.get(params.get("connect.type", ""), 0))

    def _enum(self, enum: EnumDescriptor) -> Enumerated:
        symbols = tuple((each.name, each.number) for each in enum.values)
        name = enum.full_name if self._options.enhanced_protobuf_schema_support else enum.name
        return Enumerated(name, enum.name, enum.full_name, symbols, self._options.int_for_enums, bool(enum.is_closed))

    def _message(self, each: FieldDescriptor, proto: FieldDescriptorProto) -> Value:
        message = each.message_type
        match message.full_name:
            case "google.protobuf.Timestamp":
                return Instant()
            case "google.type.Date":
                return Day()
            case "google.type.TimeOfDay":
                return Clock()
            case "confluent.type.Decimal":
                return self._decimal(each, self._params(proto))
        if self._options.wrapper_for_nullables or self._options.wrapper_for_raw_primitives:
            leaf = self.wrapped(message)
            if leaf is not None:
                return leaf
        if each.is_repeated and _is_entry(message):
            return self._map(message)
        return self.struct(message)

    def _decimal(self, each: FieldDescriptor, params: Mapping[str, str]) -> Number:
        precision, scale = _int(params.get("precision")), _int(params.get("scale")) or 0
        if precision is not None and precision < 1:
            raise ProtoError(f"{named(each.full_name)} is a decimal whose precision is not above 0")
        return Number(scale, precision)

    def _map(self, message: Descriptor) -> MapOf:
        proto = self._schemas.protos[message.full_name]
        key, value = (self._slot(message.fields_by_name[name], proto, entry=True) for name in ("key", "value"))
        name = message.full_name if self._options.enhanced_protobuf_schema_support else message.name
        return MapOf(message.full_name, _map_name(name), key, value, message.full_name in self._schemas.entries)

    def _params(self, proto: FieldDescriptorProto) -> dict[str, str]:
        """The parameters in a field's `confluent.field_meta`."""
        if not proto.HasField("options"):
            return {}
        try:
            extension = self._schemas.pool.FindExtensionByName(_FIELD_META)
            options = self._schemas.pool.FindMessageTypeByName("google.protobuf.FieldOptions")
        except KeyError:
            return {}
        found = message_factory.GetMessageClass(options).FromString(proto.options.SerializeToString())
        return {each.key: each.value for each in found.Extensions[extension].params}


def _check_generated(structs: Iterable[Struct]) -> None:
    """A struct that is made where a message is absent may not hold itself: it would never end."""
    below = {
        each.full: [slot.value.full for slot in each.fields if slot.generated and isinstance(slot.value, Struct)]
        for each in structs
    }
    ended: set[str] = set()
    while free := [name for name, inner in below.items() if name not in ended and ended.issuperset(inner)]:
        ended.update(free)
    if endless := next((name for name in below if name not in ended), None):
        raise ProtoError(f"generate.struct.for.nulls=true has no end: {named(endless)} holds itself")


def _is_entry(message: Descriptor) -> bool:
    """As Confluent tells a map, declared as one or not."""
    fields = list(message.fields)
    return (
        message.name.endswith("Entry")
        and len(fields) == 2
        and [each.name for each in fields] == ["key", "value"]
        and not any(each.is_repeated for each in fields)
    )


def _map_name(entry: str) -> str:
    """What Confluent calls the map of an entry type.

    >>> _map_name("LineItemsEntry"), _map_name("shop.Order.TagsEntry")
    ('line_items', 'shop._order._tags')
    """
    text = entry.removesuffix("Entry")
    return "".join(f"_{each.lower()}" if place and each.isupper() else each.lower() for place, each in enumerate(text))


def _int(text: str | None) -> int | None:
    """As Java's parseInt; `None` for what it refuses."""
    try:
        found = int(text or "")
    except ValueError:
        return None
    return found if -_PRECISION_MAX - 1 <= found <= _PRECISION_MAX else None


def _default(each: FieldDescriptor, value: Value) -> Any:
    """What a scalar is where a message does not have it."""
    found = each.default_value
    if isinstance(value, Enumerated):
        return found if value.numbers else value.by_number[found]
    if isinstance(value, Leaf) and value.word in ("uint64", "fixed64") and found >= 1 << 63:
        return found - (1 << 64)
    return found
