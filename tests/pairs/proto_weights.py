"""Messages of a MB or more that are made to weigh much: a schema, and the bytes of a message of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Final

from kafka_s3.ports import RegisteredSchema
from tests.pairs.avro_weights import Text
from tests.protobuf.proto import proto3

_COMMON: Final = tuple(f"google/protobuf/{each}.proto" for each in ("any", "struct", "timestamp", "wrappers"))


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def lengthy(number: int, body: bytes) -> bytes:
    """A field whose bytes have their length before them: a text, a message, or packed numbers."""
    return varint(number << 3 | 2) + varint(len(body)) + body


def _again(unit: bytes) -> Text:
    return lambda size: unit * max(size // len(unit), 1)


def _packed(unit: bytes) -> Text:
    return lambda size: lengthy(1, unit * max(size // len(unit), 1))


def _nested(levels: int, number: int = 1, inner: bytes = b"") -> bytes:
    return reduce(lambda below, _: lengthy(number, below), range(levels), inner)


def _entries(value: bytes) -> Text:
    def made(size: int) -> bytes:
        return b"".join(lengthy(1, b"\x0a\x06%06x" % at + value) for at in range(max(size // (10 + len(value)), 1)))

    return made


_FIELDS: Final = " ".join(f"int32 f{each} = {each};" for each in range(1, 201))
_TEXTS: Final = " ".join(f"string f{each} = {each};" for each in range(1, 16))
_LEVELS: Final = "message D0 { int32 a = 1; } " + " ".join(
    f"message D{each} {{ D{each - 1} a = 1; }}" for each in range(1, 41)
)
_SELF: Final = "message M { M one = 1; repeated M all = 2; int32 n = 3; map<string, M> by = 4; }"
_LONG_NAME: Final = "n" * 5_000

#: The text of a schema, and messages of its first type.
PROTOBUF: Final[Mapping[str, tuple[str, Text]]] = {
    "packed varints": (proto3("message M { repeated int32 x = 1; }"), _packed(b"\1")),
    "packed longs": (proto3("message M { repeated sint64 x = 1; }"), _packed(b"\x80\1")),
    "packed long varints": (proto3("message M { repeated int64 x = 1; }"), _packed(b"\xff" * 9 + b"\1")),
    "packed booleans": (proto3("message M { repeated bool x = 1; }"), _packed(b"\1")),
    "packed doubles": (proto3("message M { repeated double x = 1; }"), _packed(b"\x18-DT\xfb!\t@")),
    "packed enums": (proto3("message M { repeated E x = 1; } enum E { A = 0; B = 1; }"), _packed(b"\1")),
    "packed unknown enums": (proto3("message M { repeated E x = 1; } enum E { A = 0; }"), _packed(b"\x7f")),
    "packed long names": (proto3(f"message M {{ repeated E x = 1; }} enum E {{ {_LONG_NAME} = 0; }}"), _packed(b"\0")),
    "loose varints": (proto3("message M { repeated int32 x = 1; }"), _again(b"\x08\1")),
    "one number again": (proto3("message M { int32 x = 1; }"), _again(b"\x08\1")),
    "one message again": (proto3("message M { I x = 1; } message I { int32 a = 1; }"), _again(b"\x0a\0")),
    "empty texts": (proto3("message M { repeated string x = 1; }"), _again(b"\x0a\0")),
    "short texts": (proto3("message M { repeated string x = 1; }"), _again(b"\x0a\2\xc3\xa9")),
    "empty bytes": (proto3("message M { repeated bytes x = 1; }"), _again(b"\x0a\0")),
    "a long text": (proto3("message M { string x = 1; }"), lambda size: lengthy(1, b"a" * size)),
    "one wide letter": (proto3("message M { string x = 1; }"), lambda size: lengthy(1, "😀".encode() + b"a" * size)),
    "control letters": (proto3("message M { string x = 1; }"), lambda size: lengthy(1, b"\1" * size)),
    "a letter beside": (proto3("message M { string x = 1; bytes y = 2; }"), lambda size: lengthy(2, b"\xff" * size)),
    "empty messages": (proto3("message M { repeated I x = 1; } message I { int32 a = 1; }"), _again(b"\x0a\0")),
    "messages without fields": (proto3("message M { repeated I x = 1; } message I { }"), _again(b"\x0a\0")),
    "small messages": (proto3("message M { repeated I x = 1; } message I { int32 a = 1; }"), _again(b"\x0a\2\x08\1")),
    "messages of texts": (
        proto3(f"message M {{ repeated I x = 1; }} message I {{ {_TEXTS} }}"),
        _again(lengthy(1, b"".join(lengthy(each, b"ab") for each in range(1, 16)))),
    ),
    "empty wide messages": (proto3(f"message M {{ repeated I x = 1; }} message I {{ {_FIELDS} }}"), _again(b"\x0a\0")),
    "full wide messages": (
        proto3(f"message M {{ repeated I x = 1; }} message I {{ {_FIELDS} }}"),
        _again(lengthy(1, b"".join(varint(each << 3) + b"\1" for each in range(1, 201)))),
    ),
    "long names": (
        proto3(f"message M {{ repeated I x = 1; }} message I {{ int32 {_LONG_NAME} = 1; }}"),
        _again(b"\x0a\0"),
    ),
    "deep messages": (proto3(f"message M {{ repeated D40 x = 1; }} {_LEVELS}"), _again(_nested(41))),
    "pairs of messages": (
        proto3("message M { repeated I x = 1; } message I { J a = 1; } message J { K a = 1; } message K { }"),
        _again(_nested(3)),
    ),
    "within itself": (proto3(_SELF), _again(_nested(90))),
    "lists within itself": (proto3(_SELF), _again(_nested(90, 2))),
    "trees": (proto3(_SELF), _again(lengthy(2, b"\x12\0" * 20))),
    "deeper than may be": (proto3(_SELF), _again(_nested(140))),
    "maps": (proto3("message M { map<string, int32> x = 1; }"), _entries(b"\x10\1")),
    "maps of messages": (proto3("message M { map<string, I> x = 1; } message I { int32 a = 1; }"), _entries(b"\x12\0")),
    "entries": (
        proto3("message M { map<int32, int32> x = 1; }"),
        lambda size: b"".join(lengthy(1, b"\x08" + varint(at) + b"\x10\1") for at in range(size // 9)),
    ),
    "one entry again": (proto3("message M { map<int32, int32> x = 1; }"), _again(b"\x0a\0")),
    "unknown fields": (proto3("message M { string x = 1; }"), _again(b"\x10\1")),
    "unknown groups": (proto3("message M { string x = 1; }"), _again(b"\x13" * 90 + b"\x14" * 90)),
    "unknown fields of messages": (proto3("message M { repeated I x = 1; } message I { }"), _again(b"\x0a\2\x08\1")),
    "one of many": (
        proto3("message M { repeated I x = 1; } message I { oneof k { int32 a = 1; string b = 2; I c = 3; } }"),
        _again(b"\x0a\2\x08\1\x0a\2\x12\0\x0a\2\x1a\0"),
    ),
    "wrappers": (proto3("message M { repeated google.protobuf.Int64Value x = 1; }", *_COMMON), _again(b"\x0a\0")),
    "timestamps": (proto3("message M { repeated google.protobuf.Timestamp x = 1; }", *_COMMON), _again(b"\x0a\0")),
    "anything": (
        proto3("message M { repeated google.protobuf.Any x = 1; }", *_COMMON),
        _again(lengthy(1, lengthy(1, b"a") + lengthy(2, b"b"))),
    ),
    "empty anythings": (proto3("message M { repeated google.protobuf.Any x = 1; }", *_COMMON), _again(b"\x0a\0")),
    "values": (
        proto3("message M { repeated google.protobuf.Value x = 1; }", *_COMMON),
        _again(lengthy(1, b"\x20\1")),
    ),
    "empty values": (proto3("message M { repeated google.protobuf.Value x = 1; }", *_COMMON), _again(b"\x0a\0")),
    "lists of values": (
        proto3("message M { google.protobuf.Value x = 1; }", *_COMMON),
        lambda size: lengthy(1, lengthy(6, b"\x0a\2\x32\0" * (size // 4))),
    ),
    "deep values": (
        proto3("message M { repeated google.protobuf.Value x = 1; }", *_COMMON),
        _again(lengthy(1, reduce(lambda below, _: lengthy(6, lengthy(1, below)), range(40), b""))),
    ),
    "structs": (
        proto3("message M { google.protobuf.Struct x = 1; }", *_COMMON),
        lambda size: lengthy(1, _entries(b"\x12\2\x20\1")(size)),
    ),
}


def registered(text: str) -> RegisteredSchema:
    return RegisteredSchema(1, text, "PROTOBUF")
