"""Random messages of a few schemas, and what each is by Protobuf's own reflection: maps as maps, in its own classes."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import strategies as st

from kafka_s3.avro.model import Schema
from kafka_s3.ports import RegisteredSchema
from kafka_s3.protobuf import compile as compiler
from kafka_s3.protobuf.options import Options
from kafka_s3.protobuf.shapes import shape_of
from kafka_s3.values.converters.glue_protobuf import OPTIONS
from kafka_s3.values.converters.protobuf_schema import protobuf_schema
from tests.protobuf.proto import proto3

_SCALARS = ["double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"]
_SCALARS += ["fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes", "Colour"]
_ENUM = "enum Colour { RED = 0; GREEN = 5; BLUE = -1; }"
_COMMON = [f"google/protobuf/{each}.proto" for each in ("timestamp", "wrappers", "duration")]
_COMMON += ["google/type/date.proto", "google/type/timeofday.proto"]


def _all(label: str) -> str:
    return " ".join(f"{label} {each} f{number} = {number};" for number, each in enumerate(_SCALARS, 1))


#: What is read; `F`: of a path by fields.
TEXTS: dict[str, str] = {
    "scalars": proto3(f"message M {{ {_all('')} }} {_ENUM}"),
    "optional scalars": proto3(f"message M {{ {_all('optional')} }} {_ENUM}"),
    "lists": proto3(f"message M {{ {_all('repeated')} }} {_ENUM}"),
    "messages": proto3(
        "message M { I one = 1; repeated I many = 200; string f = 3;"
        " oneof k { I i = 4; int64 n = 900; string s = 6; } }"
        "message I { J j = 1; optional int32 n = 2; repeated string t = 3; bool b = 4; } message J { double d = 1; }"
    ),
    "maps": proto3(
        "message M { map<string, int64> a = 1; map<int32, J> b = 2; map<bool, string> c = 3;"
        " map<sint64, bytes> d = 4; }"
        "message J { repeated sint32 n = 1; }"
    ),
    "common types": proto3(
        "message M { google.protobuf.Timestamp at = 1; google.type.Date day = 2; google.type.TimeOfDay clock = 3;"
        " google.protobuf.Int64Value w = 4; google.protobuf.StringValue s = 5; google.protobuf.BytesValue b = 6;"
        " google.protobuf.FloatValue x = 7; repeated google.protobuf.Timestamp all = 8;"
        " google.protobuf.Duration d = 9; }",
        *_COMMON,
    ),
    "proto2": (
        'syntax = "proto2"; package shop; message M { required int32 a = 1; optional string s = 2 [default = "x"];'
        " optional E e = 3; repeated int32 n = 4; repeated int32 p = 5 [packed = true]; optional M m = 6;"
        " enum E { A = 1; } }"
    ),
    "editions": (
        'edition = "2023"; package shop; message M { int32 a = 1; int32 b = 2 [features.field_presence = IMPLICIT];'
        " repeated int32 e = 3 [features.repeated_field_encoding = EXPANDED]; string s = 4; }"
    ),
    "recursive": proto3("message M { int32 n = 1; M next = 2; repeated M all = 3; map<string, M> by = 4; }"),
}


@cache
def glue_schema(name: str) -> Schema:
    """The Avro schema of a text's messages with the options that Glue's converter has."""
    return protobuf_schema(shape_of(compiler.schemas(TEXTS[name]), (0,), OPTIONS), None)


@dataclass(frozen=True)
class Source:
    """A schema: its messages' class as protoc's own classes are, and the Avro schema that they get."""

    text: str
    type: Any
    schema: Schema
    recursive: bool
    registered: RegisteredSchema


@cache
def source(name: str) -> Source:
    text = TEXTS[name]
    pool = descriptor_pool.DescriptorPool()
    compiled = compiler._compiled({compiler.MAIN: text}, compiler.MAIN)
    for each in descriptor_pb2.FileDescriptorSet.FromString(compiled).file:
        pool.Add(each)
    found = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.M"))
    schema = protobuf_schema(shape_of(compiler.schemas(text), (0,), Options()), None)
    return Source(text, found, schema, name in ("recursive", "proto2"), RegisteredSchema(1, text, "PROTOBUF"))


_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(allow_nan=False),
    FieldDescriptor.CPPTYPE_FLOAT: st.floats(width=32, allow_nan=False),
}


def _scalar(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.type == FieldDescriptor.TYPE_STRING:
        return st.text(max_size=8)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return st.binary(max_size=8)
    if field.enum_type is not None:
        return st.sampled_from([each.number for each in field.enum_type.values])
    return _INTEGERS[field.cpp_type]


_SECONDS = st.integers(-62_135_596_800, 253_402_300_799)
_KNOWN: dict[str, Callable[[st.DrawFn, Any], None]] = {}


def _fill_known(draw: st.DrawFn, message: Any) -> bool:
    match message.DESCRIPTOR.full_name:
        case "google.protobuf.Timestamp":
            message.seconds, message.nanos = draw(_SECONDS), draw(st.integers(0, 999_999_999))
        case "google.type.Date":
            day = draw(st.dates())
            message.year, message.month, message.day = day.year, day.month, day.day
        case "google.type.TimeOfDay":
            time = draw(st.times())
            message.hours, message.minutes, message.seconds = time.hour, time.minute, time.second
            message.nanos = time.microsecond * 1000
        case _:
            return False
    return True


def fill(draw: st.DrawFn, message: Any, depth: int = 3, entries: int = 3) -> None:
    """Sets random fields of a message, some of them, or all that it requires. `entries`: of a map, at most."""
    message.SetInParent()
    if _fill_known(draw, message):
        return
    for field in message.DESCRIPTOR.fields:
        if not field.is_required and draw(st.integers(0, 3)) == 0:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            _fill_map(draw, message, field, depth, entries)
        elif field.message_type is not None:
            if depth and field.is_repeated:
                for _ in range(draw(st.integers(0, 3))):
                    fill(draw, getattr(message, field.name).add(), depth - 1, entries)
            elif depth:
                fill(draw, getattr(message, field.name), depth - 1, entries)
        elif field.is_repeated:
            getattr(message, field.name).extend(draw(st.lists(_scalar(field), max_size=4)))
        else:
            setattr(message, field.name, draw(_scalar(field)))


def _fill_map(draw: st.DrawFn, message: Any, field: FieldDescriptor, depth: int, most: int) -> None:
    value = field.message_type.fields_by_name["value"]
    entries = getattr(message, field.name)
    for key in draw(st.lists(_scalar(field.message_type.fields_by_name["key"]), max_size=most)):
        if value.message_type is None:
            entries[key] = draw(_scalar(value))
        elif depth:
            fill(draw, entries[key], depth - 1, most)


@st.composite
def messages(draw: st.DrawFn, name: str) -> Any:
    message = source(name).type()
    fill(draw, message)
    return message


# What a message is, by reflection.


def expected(message: Any, *, glue: bool = False) -> dict[str, Any]:
    """The plain value of a message, with Confluent's defaults; `glue`: with the options that Glue's converter has."""
    found: dict[str, Any] = {}
    descriptor: Descriptor = message.DESCRIPTOR
    real = [each for each in descriptor.oneofs if not each.name.startswith("_")]
    for index, oneof in enumerate(real):
        which = message.WhichOneof(oneof.name)
        inner = {each.name: _field(message, each, glue) if each.name == which else None for each in oneof.fields}
        found[oneof.name if glue else f"{oneof.name}_{index}"] = None if which is None else inner
    for field in descriptor.fields:
        if field.containing_oneof not in real:
            found[field.name] = _field(message, field, glue)
    return found


_MOMENTS = ("google.protobuf.Timestamp", "google.type.Date", "google.type.TimeOfDay")


def _field(message: Any, field: FieldDescriptor, glue: bool) -> Any:
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, item = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        return [{"key": _one(each, key, glue), "value": _one(value[each], item, glue)} for each in value]
    if field.is_repeated:
        return [_one(each, field, glue) for each in value]
    is_struct = field.message_type is not None and field.message_type.full_name not in _MOMENTS
    if field.has_presence and not message.HasField(field.name) and not (glue and is_struct):
        return None
    return _one(value, field, glue)


def _one(value: Any, field: FieldDescriptor, glue: bool) -> Any:
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name
    if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64:
        return value - (value >= 2**63) * 2**64
    if field.message_type is None:
        return value
    match field.message_type.full_name:
        case "google.protobuf.Timestamp":
            return value.seconds * 1000 + value.nanos // 10**6
        case "google.type.Date":
            return (datetime.date(value.year, value.month, value.day) - datetime.date(1970, 1, 1)).days
        case "google.type.TimeOfDay":
            return ((value.hours * 60 + value.minutes) * 60 + value.seconds) * 1000 + value.nanos // 10**6
        case name if name.startswith("google.protobuf.") and name.endswith("Value") and not glue:
            return value.value
    return expected(value, glue=glue)


def in_order(value: Any) -> Any:
    """The same with the entries of maps in the order of their keys: reflection has them in one of its own."""
    if isinstance(value, dict):
        return {name: in_order(each) for name, each in value.items()}
    if isinstance(value, list):
        items = [in_order(each) for each in value]
        is_map = all(isinstance(each, dict) and list(each) == ["key", "value"] for each in items)
        return sorted(items, key=lambda each: each["key"]) if is_map else items
    return value
