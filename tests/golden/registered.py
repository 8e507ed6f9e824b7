"""Protobuf and JSON under the schemas of registries: messages on the wire made by hand, JSON as `json` writes it."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import UUID

from kafka_s3.ports import RegisteredSchema

_FIRST: Final = """syntax = "proto3"; package n;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Row {
  int64 id = 1; string hue = 2; google.protobuf.Timestamp at = 3; string said = 4;
  message Inner { enum Kind { RED = 0; BLUE = 1; } Kind kind = 1; optional int32 depth = 2; }
  Inner inner = 5; google.protobuf.StringValue name = 6; bool ok = 7; double d = 8; bytes raw = 9;
  map<string, double> tags = 10; repeated sint32 list = 11;
  oneof either { string text = 12; uint64 number = 13; }
"""
PROTOS: Final = (f"{_FIRST}}}", f"{_FIRST} optional int32 more = 14; }}")


def _varint(number: int) -> bytes:
    number %= 2**64
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def _field(tag: int, value: Any) -> bytes:
    """As its kind says: bytes and text with a length, numbers as varints, floats in eight bytes; none where null."""
    match value:
        case None:
            return b""
        case float():
            return _varint(tag << 3 | 1) + struct.pack("<d", value)
        case int():
            return _varint(tag << 3) + _varint(value)
        case _:
            data = value.encode() if isinstance(value, str) else value
            return _varint(tag << 3 | 2) + _varint(len(data)) + data


def _message(made: dict[str, Any], number: int, more: int | None) -> bytes:
    seconds, millis = divmod(int(made["at"].timestamp() * 1000), 1000)
    inner = _field(1, int(made["inner"]["kind"] == "BLUE")) + _field(2, made["inner"]["depth"])
    fields = [
        *(_field(1, made["id"]), _field(2, made["hue"])),
        _field(3, _field(1, seconds) + _field(2, millis * 1_000_000)),
        *(_field(4, made["said"]), _field(5, inner)),
        _field(6, None if made["name"] is None else _field(1, made["name"])),
        *(_field(7, int(made["ok"])), _field(8, made["d"]), _field(9, made["raw"])),
        *(_field(10, _field(1, key) + _field(2, each)) for key, each in made["tags"].items()),
        _field(11, b"".join(_varint((each << 1) ^ (each >> 31)) for each in range(number % 4))),
        _field(12, "x") if number % 3 == 1 else _field(13, 2**64 - number) if number % 3 else b"",
        _field(14, more),
    ]
    return b"".join(fields)


def protobuf(rows: Sequence[dict[str, Any]]) -> Iterable[bytes | None]:
    for number, made in enumerate(rows):
        which = number // 3 % 2
        raw = b"\0" + (which + 1).to_bytes(4, "big") + b"\0" + _message(made, number, number if which else None)
        special = {
            11: None,
            17: b"\0\0\0\0\1\0\x0a\x80",  # ends within a field
            19: b"\0\0\0\0\1\2\x06" + raw[6:],  # the message 3 of the file, which has one
            23: b"no magic",
            29: b"\0\0\0\0\x63" + raw[5:],
        }
        yield special.get(number, raw)


# JSON.

_PROPERTIES: Final[list[tuple[str, dict[str, Any]]]] = [
    ("id", {"type": "integer", "connect.type": "int64"}),
    ("hue", {"type": "string"}),
    ("at", {"type": "integer", "connect.type": "int64"}),
    ("said", {"type": "string"}),
    ("name", {"oneOf": [{"type": "null"}, {"type": "string"}]}),
    ("ok", {"type": "boolean"}),
    ("small", {"type": "integer", "connect.type": "int32"}),
    ("count", {"type": "integer"}),
    ("d", {"type": "number"}),
    ("price", {"type": "number", "connect.type": "bytes", "connect.parameters": {"scale": "2"}}),
    ("tags", {"type": "object", "connect.type": "map", "additionalProperties": {"type": ["number", "null"]}}),
    ("list", {"type": "array", "items": {"type": "integer", "connect.type": "int16"}}),
    ("colour", {"enum": ["RED", "BLUE"]}),
    ("either", {"oneOf": [{"type": "string"}, {"type": "boolean"}]}),
    ("inner", {"type": "object", "properties": {"kind": {"type": "string"}, "depth": {"type": ["integer", "null"]}}}),
]


def _schema(name_word: str, *more: tuple[str, dict[str, Any]]) -> str:
    properties = {name: {**each, "connect.index": index} for index, (name, each) in enumerate([*_PROPERTIES, *more])}
    connect = "org.apache.kafka.connect.data"
    properties["at"][name_word], properties["price"][name_word] = f"{connect}.Timestamp", f"{connect}.Decimal"
    return json.dumps({"type": "object", name_word: "n.Row", "properties": properties})


_MORE: Final = ("more", {"oneOf": [{"type": "null"}, {"type": "string"}]})
JSON_SCHEMAS: Final = (_schema("title"), _schema("title", _MORE))
#: The versions of a schema in Glue, and two of which nothing can be read.
_IDS: Final = [UUID(int=number << 100 | number) for number in range(1, 5)]
GLUE_VERSIONS: Final = tuple(
    RegisteredSchema(str(id), text, type, version=number, status=status)
    for number, (id, text, type, status) in enumerate(
        (
            (_IDS[0], _schema("connect.name"), "JSON", "AVAILABLE"),
            (_IDS[1], _schema("connect.name", _MORE), "JSON", "AVAILABLE"),
            (_IDS[2], _schema("connect.name"), "JSON", "DELETING"),
            (_IDS[3], '"int"', "AVRO", "AVAILABLE"),
        ),
        1,
    )
)


def _json(made: dict[str, Any], number: int) -> bytes:
    value = {
        **{name: made[name] for name in ("id", "hue", "said", "name", "ok", "small", "tags", "inner")},
        "at": int(made["at"].timestamp() * 1000),
        "count": number * 1000,
        "d": (0.1, 1e300, -5e-324, 3)[number % 4],
        "price": (1.25, -3, 0.1)[number % 3],
        "list": list(range(number % 4)),
        "colour": "RED" if number % 2 else "BLUE",
        "either": (True, "text")[number % 2],
        "unknown": number,
    }
    if number // 3 % 2:
        value["more"] = None if number % 2 else "m"
    if number == 23:
        value["small"] = "text"
    return b"{broken" if number == 17 else json.dumps(value).encode()


def json_schema(rows: Sequence[dict[str, Any]]) -> Iterable[bytes | None]:
    for number, made in enumerate(rows):
        raw = b"\0" + (number // 3 % 2 + 1).to_bytes(4, "big") + _json(made, number)
        yield {11: None, 13: raw[:5] + b"null", 29: b"\0\0\0\0\x63" + raw[5:], 31: b"no magic"}.get(number, raw)


def glue_json_schema(rows: Sequence[dict[str, Any]]) -> Iterable[bytes | None]:
    """None compressed: zlib's bytes are its version's own."""
    for number, made in enumerate(rows):
        which = {29: 2, 31: 3}.get(number, number // 3 % 2)
        yield None if number == 11 else b"\3\0" + _IDS[which].bytes + _json(made, number)
