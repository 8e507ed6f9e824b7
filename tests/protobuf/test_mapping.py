"""Confluent's mapping of Protobuf to Connect, row by row: the schema of each type, and a value of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.protobuf.proto import Topic, proto3

TAG = "io.confluent.connect.protobuf.Tag"
TYPE = "io.confluent.connect.protobuf.Type"
META = "confluent/meta.proto"
CONNECT = "org.apache.kafka.connect.data"


def typed(avro: str, type: str | None = None, **more: Any) -> dict[str, Any]:
    """The Avro type of the field with the tag 1, as AvroData writes Connect's."""
    return {"type": avro, "connect.parameters": {**({TYPE: type} if type else {}), TAG: "1"}, **more}


def logical(avro: str, name: str, logical: str, **more: Any) -> dict[str, Any]:
    scale = {"scale": "2"} if name == "Decimal" else {}
    given = {"connect.parameters": {**scale, **more.pop("parameters", {}), TAG: "1"}}
    named = {"connect.name": f"{CONNECT}.{name}", "logicalType": logical}
    return {"type": avro, "connect.version": 1, **given, **named, **more}


def scalar(name: str, value: Any, avro: dict[str, Any], plain: Any = None) -> tuple[str, Any, Any, Any]:
    return f"message M {{ {name} f = 1; }}", lambda m: setattr(m, "f", value), avro, value if plain is None else plain


SCALARS = [
    scalar("int32", -5, typed("int")),
    scalar("sint32", -5, typed("int", "sint32")),
    scalar("sfixed32", -5, typed("int", "sfixed32")),
    scalar("uint32", 2**32 - 1, typed("long", "uint32")),
    scalar("fixed32", 2**32 - 1, typed("long", "fixed32")),
    scalar("int64", -(2**63), typed("long")),
    scalar("sint64", -(2**63), typed("long", "sint64")),
    scalar("sfixed64", -(2**63), typed("long", "sfixed64")),
    scalar("uint64", 2**63 - 1, typed("long", "uint64")),
    scalar("uint64", 2**64 - 1, typed("long", "uint64"), -1),
    scalar("fixed64", 2**63, typed("long", "fixed64"), -(2**63)),
    scalar("float", 0.5, typed("float")),
    scalar("double", 0.1, typed("double")),
    scalar("bool", True, typed("boolean")),
    scalar("string", "größe 🙂", typed("string")),
    scalar("bytes", b"\xff\0", typed("bytes")),
]


@pytest.mark.parametrize(("body", "fill", "avro", "plain"), SCALARS, ids=[each[0][12:20] for each in SCALARS])
def test_scalars(body: str, fill: Callable[[Any], None], avro: Any, plain: Any) -> None:
    """A scalar is Connect's type of its width; what that leaves out is its parameter Type, and its tag is one too."""
    topic = Topic(proto3(body))
    message = topic.type()
    fill(message)
    assert topic.fields() == [{"name": "f", "type": ["null", avro], "default": None}]
    assert topic.value(message) == {"f": plain}


def test_an_absent_scalar_is_its_default() -> None:
    """proto3 does not write zeros and empty texts: they are values, not nulls."""
    topic = Topic(
        proto3(
            "enum E { ZERO = 0; }"
            "message M { int32 i = 1; string s = 2; bytes b = 3; double d = 4; bool t = 5; E e = 6; }"
        )
    )
    assert topic.value(b"") == {"i": 0, "s": "", "b": b"", "d": 0.0, "t": False, "e": "ZERO"}


def test_an_optional_scalar_may_be_null() -> None:
    """With the word optional a field that is not there is null, and one that is there is not, zero or not."""
    topic = Topic(proto3("message M { optional int32 i = 1; optional string s = 2; }"))
    assert topic.value(b"") == {"i": None, "s": None}
    assert topic.value(topic.type(i=0, s="")) == {"i": 0, "s": ""}


@pytest.mark.parametrize(("type", "most"), [("int8", 127), ("int16", 32767)])
def test_connects_smaller_integers(type: str, most: int) -> None:
    """`connect.type` in the field's metadata makes an int8 or int16; a number beyond it is refused, not cut."""
    options = f'[(confluent.field_meta) = {{ params: [{{ key: "connect.type", value: "{type}" }}] }}]'
    topic = Topic(proto3(f"message M {{ int32 f = 1 {options}; }}", META))
    (field,) = topic.fields()
    assert field["type"][1] == typed("int", **{"connect.type": type})
    assert topic.value(topic.type(f=-most - 1)) == {"f": -most - 1}
    assert f"field f: the number is not an {type}" in topic.refusal(topic.type(f=most + 1))


def test_enums() -> None:
    """An enum is the name of its value; parameters say all of them, aliases too. An unknown number has Java's name."""
    body = "enum Colour { option allow_alias = true; RED = 0; BLUE = 1; AZURE = 1; } message M { Colour f = 1; }"
    topic = Topic(proto3(body), message=(0,))
    enum = "io.confluent.connect.protobuf.Enum"
    parameters = {enum: "Colour", f"{enum}.RED": "0", f"{enum}.BLUE": "1", f"{enum}.AZURE": "1", TAG: "1"}
    avro = {"type": "string", "connect.parameters": parameters, "connect.name": "Colour"}
    assert topic.fields()[0]["type"] == ["null", avro]
    assert topic.value(topic.type(f=1)) == {"f": "BLUE"}
    assert topic.value(topic.type(f=7)) == {"f": "UNKNOWN_ENUM_VALUE_Colour_7"}


def test_messages_are_structs() -> None:
    """A message inside is a struct of its own name, null where it is not there; empty is not null."""
    topic = Topic(proto3("message M { Inner one = 1; Inner two = 2; message Inner { int32 n = 3; } }"))
    inner = {"name": "n", "type": ["null", {"type": "int", "connect.parameters": {TAG: "3"}}], "default": None}
    struct = {"type": "record", "name": "Inner", "fields": [inner], "connect.parameters": {TAG: "1"}}
    one, two = topic.fields()
    assert one["type"] == ["null", {**struct, "connect.name": "Inner"}]
    assert two["type"] == ["null", "Inner"]
    assert topic.value(b"") == {"one": None, "two": None}
    assert topic.value(b"\x0a\0\x12\x02\x18\x09") == {"one": {"n": 0}, "two": {"n": 9}}


def test_repeated_fields_are_arrays() -> None:
    """Packed, one by one, and none at all: a list, never null."""
    topic = Topic(
        proto3(
            "message M { repeated sint32 n = 1; repeated string s = 2; repeated I i = 3; message I { int32 x = 1; } }"
        )
    )
    avro = topic.fields()[0]["type"]
    item = {"type": "int", "connect.parameters": {TYPE: "sint32"}}
    assert avro == ["null", {"type": "array", "items": ["null", item], "connect.parameters": {TAG: "1"}}]
    assert topic.value(b"") == {"n": [], "s": [], "i": []}
    whole = topic.type(n=[1, -1, 0], s=["a", "", "b"], i=[topic.type.I(x=1), topic.type.I()])
    assert topic.value(whole) == {"n": [1, -1, 0], "s": ["a", "", "b"], "i": [{"x": 1}, {"x": 0}]}
    assert topic.value(b"\x08\x02\x08\x01") == {"n": [1, -1], "s": [], "i": []}  # not packed, though the schema says so


def test_maps_with_optional_keys() -> None:
    """Connect's keys are optional here: Avro has a list of entries in the wire's order, of a key twice the last."""
    topic = Topic(proto3("message M { map<string, int64> line_items = 1; }"))
    avro = topic.fields()[0]["type"][1]
    assert (avro["type"], avro["connect.name"]) == ("array", "line_items")
    assert avro["items"]["connect.internal.type"] == "MapEntry"
    pairs = b"".join(b"\x0a\x05\x0a\x01%c\x10%c" % pair for pair in ((b"b", 1), (b"a", 2), (b"b", 3)))
    assert topic.value(pairs) == {"line_items": [{"key": "b", "value": 3}, {"key": "a", "value": 2}]}
    assert topic.value(b"\x0a\0") == {"line_items": [{"key": "", "value": 0}]}


def test_a_list_that_connect_takes_for_a_map() -> None:
    """A message `...Entry` of a key and a value is a map to Confluent; a key twice in it is refused, not lost."""
    topic = Topic(
        proto3("message M { repeated ItemEntry items = 1; } message ItemEntry { int32 key = 1; int32 value = 2; }")
    )
    entry = b"\x0a\x04\x08\x01\x10"
    assert topic.value(entry + b"\x05") == {"items": [{"key": 1, "value": 5}]}
    assert "a map to Connect: a key is there twice" in topic.refusal(entry + b"\x05" + entry + b"\x06")


def test_oneofs_are_structs() -> None:
    """A oneof is a struct of its fields, its index in its name, in front of the fields; of two on the wire the last."""
    topic = Topic(proto3("message M { int32 a = 1; oneof kind { string s = 2; int32 n = 3; } }"))
    union, plain = topic.fields()
    assert (union["name"], plain["name"]) == ("kind_0", "a")
    assert union["type"][1]["connect.name"] == "io.confluent.connect.protobuf.Union.kind"
    assert topic.value(b"") == {"kind_0": None, "a": 0}
    assert topic.value(topic.type(s="")) == {"kind_0": {"s": "", "n": None}, "a": 0}
    assert topic.value(b"\x12\x01x\x18\x05\x08\x01") == {"kind_0": {"s": None, "n": 5}, "a": 1}


def test_timestamps() -> None:
    """google.protobuf.Timestamp is Connect's, in milliseconds: what is finer is cut off, downwards."""
    topic = Topic(proto3("message M { google.protobuf.Timestamp f = 1; }", "google/protobuf/timestamp.proto"))
    assert topic.fields()[0]["type"][1] == logical("long", "Timestamp", "timestamp-millis")
    assert topic.value(b"") == {"f": None}
    message = topic.type()
    message.f.seconds, message.f.nanos = -1, 999_999_999
    assert topic.value(message) == {"f": -1}
    message.f.nanos = 10**9
    assert "field f: the timestamp is not within" in topic.refusal(message)
    message.f.seconds, message.f.nanos = 253_402_300_800, 0
    assert "field f: the timestamp is not within" in topic.refusal(message)


@pytest.mark.parametrize(
    ("date", "days"),
    [((1970, 1, 1), 0), ((1969, 12, 31), -1), ((2000, 2, 29), 11016), ((1, 1, 1), -719162), ((9999, 12, 31), 2932896)],
)
def test_dates(date: tuple[int, int, int], days: int) -> None:
    """google.type.Date is Connect's Date, in days of today's calendar; one that is none, or not whole, is refused."""
    topic = Topic(proto3("message M { google.type.Date f = 1; }", "google/type/date.proto"))
    assert topic.fields()[0]["type"][1] == logical("int", "Date", "date")
    message = topic.type()
    message.f.year, message.f.month, message.f.day = date
    assert topic.value(message) == {"f": days}
    for wrong in ((1900, 2, 29), (2001, 0, 1), (2001, 1, 0), (0, 1, 1), (2001, 13, 1), (10000, 1, 1)):
        message.f.year, message.f.month, message.f.day = wrong
        assert "field f: there is no such date" in topic.refusal(message)


def test_times_of_day() -> None:
    """google.type.TimeOfDay is Connect's Time, in milliseconds."""
    topic = Topic(proto3("message M { google.type.TimeOfDay f = 1; }", "google/type/timeofday.proto"))
    assert topic.fields()[0]["type"][1] == logical("int", "Time", "time-millis")
    message = topic.type()
    message.f.hours, message.f.minutes, message.f.seconds, message.f.nanos = 23, 59, 59, 999_999_999
    assert topic.value(message) == {"f": 86_399_999}
    message.f.hours = 24
    assert "field f: there is no such time of day" in topic.refusal(message)


def test_decimals() -> None:
    """confluent.type.Decimal is Connect's, of the scale in the metadata; a value of another scale is refused."""
    options = '[(confluent.field_meta) = { params: [{ key: "precision", value: "9" }, { key: "scale", value: "2" }] }]'
    topic = Topic(
        proto3(f"message M {{ confluent.type.Decimal f = 1 {options}; }}", "confluent/type/decimal.proto", META)
    )
    parameters = {"connect.decimal.precision": "9"}
    wanted = logical("bytes", "Decimal", "decimal", parameters=parameters, scale=2, precision=9)
    assert topic.fields()[0]["type"][1] == wanted
    message = topic.type()
    message.f.value, message.f.scale, message.f.precision = b"\xff\x85", 2, 3
    assert topic.value(message) == {"f": b"\x85"}  # -123, as few bytes as it takes
    message.f.scale = 3
    assert "field f: the decimal has another scale than the schema's 2" in topic.refusal(message)
    message.f.scale, message.f.precision = 2, 2
    assert "field f: the decimal has more digits than its precision" in topic.refusal(message)
    message.f.value = b""
    assert "field f: the decimal has no value" in topic.refusal(message)


WRAPPERS = [("Int32", -1), ("Int64", 2**40), ("UInt32", 2**32 - 1), ("UInt64", 5), ("Float", 0.5), ("Double", 0.1)]
WRAPPERS += [("Bool", True), ("String", "x"), ("Bytes", b"x")]


@pytest.mark.parametrize(("name", "value"), WRAPPERS)
def test_wrappers(name: str, value: Any) -> None:
    """A wrapper is the value inside: null where it is not there, zero where it is and holds nothing."""
    topic = Topic(proto3(f"message M {{ google.protobuf.{name}Value f = 1; }}", "google/protobuf/wrappers.proto"))
    assert topic.value(b"") == {"f": None}
    assert topic.value(b"\x0a\0") == {"f": type(value)()}
    message = topic.type()
    message.f.value = value
    assert topic.value(message) == {"f": value}


def test_a_wrapper_as_the_whole_value() -> None:
    """A record that is a wrapper is the value inside, as producers of plain numbers write it."""
    wrappers = 'syntax = "proto3"; package google.protobuf; message Int32Value { int32 value = 1; }'
    topic = Topic(wrappers)
    assert topic.schema().avro == {"type": "int", "connect.version": 1}
    assert topic.value(topic.type(value=-7)) == -7


def test_recursive_messages() -> None:
    """A message may hold itself, by a field, a list, a map or a oneof; Avro calls it by its name there."""
    body = "int32 n = 1; Node next = 2; repeated Node all = 3; map<string, Node> by = 4; oneof k { Node o = 5; }"
    body = f"message Node {{ {body} }}"
    topic = Topic(proto3(body))
    message = topic.type(n=1)
    message.next.n = 2
    message.all.add().o.n = 3
    empty = {"k_0": None, "n": 0, "next": None, "all": [], "by": []}
    found = topic.value(message)
    assert found["next"] == {**empty, "n": 2}
    assert found["all"] == [{**empty, "k_0": {"o": {**empty, "n": 3}}}]


def test_a_group_has_no_type() -> None:
    """Connect has no type for a group: the schema is refused, by the name of the field."""
    topic = Topic('syntax = "proto2"; message M { optional group G = 1 { optional int32 a = 1; } }')
    (why,) = topic.rows(b"").excluded.values()
    assert "M.g is a group, which Connect has no type for" in str(why)
