"""Bad input: each a bad record with a reason, which quotes nothing of it, among good ones that are kept."""

from __future__ import annotations

import re

import pytest

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.protobuf.options import Options
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.shown import said
from kafka_s3.values.converters.protobuf import ProtobufValues
from kafka_s3.values.rows import Stage, Tombstone, Unwritable
from tests.protobuf.proto import Topic, proto3

BODY = """
message M {
  int32 n = 1; string s = 2; fixed64 f = 3; repeated int32 all = 4; M m = 5; repeated fixed32 four = 6;
  map<string, int32> by = 7; bytes b = 8; message Inner { string t = 1; }
}
message Other { string t = 1; }
"""


@pytest.fixture(scope="module")
def topic() -> Topic:
    return Topic(proto3(BODY))


MESSAGES = {
    "a text that is cut off": (b"\x12\x05sec", "it ends within the field s"),
    "a length beyond all": (b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "it ends within the field s"),
    "a number that is cut off": (b"\x08\xff", "it ends within a number"),
    "a number of 11 bytes": (b"\x08" + b"\xff" * 10 + b"\x01", "a number has more than 64 bits"),
    "8 bytes that are 7": (b"\x19" + b"1" * 7, "it ends within the field f"),
    "4 bytes of packed ones that are 3": (b"\x32\x03abc", "it ends within the field four"),
    "a packed number that is cut off": (b"\x22\x02\x01\xff", "it ends within a number"),
    "a message cut off inside": (b"\x2a\x05\x12\x04se", "it ends within the field m"),
    "a text inside longer than its message": (b"\x2a\x03\x12\x04s\x08\x01", "it ends within the field s"),
    "a number for a text": (b"\x10\x01", "field s is a varint, not bytes with a length"),
    "a text for a number": (b"\x0a\x01x", "field n is bytes with a length, not a varint"),
    "4 bytes for 8": (b"\x1d\x01\x02\x03\x04", "field f is 4 bytes, not 8 bytes"),
    "a group for a message": (b"\x2b\x2c", "field m is a group, not bytes with a length"),
    "field 0": (b"\x00\x01", "no field begins at byte"),
    "a wire type that there is not": (b"\x0e\x01", "no field begins at byte"),
    "the end of a group": (b"\x0c", "no field begins at byte"),
    "text that is not UTF-8": (b"\x12\x03\xff\xfe\xfd", "field s: the text is not UTF-8"),
    "a key that is not UTF-8": (b"\x3a\x03\x0a\x01\xff", "field key: the text is not UTF-8"),
    "messages 101 deep": (None, "nested more than 100 levels deep"),
    "unknown groups 101 deep": (b"\x53" * 101, "nested more than 100 levels deep"),
    "an unknown group without an end": (b"\x53\x58\x01", "a group has no end"),
    "an unknown group with another's end": (b"\x53\x5c", "a group ends that did not begin"),
    "an unknown field that is cut off": (b"\x52\x09abc", "it ends within a field that the schema does not have"),
}


def deep(levels: int) -> bytes:
    made = b""
    for _ in range(levels):
        length, head = len(made), b""
        while length > 0x7F:
            head, length = head + bytes([length & 0x7F | 0x80]), length >> 7
        made = b"\x2a" + head + bytes([length]) + made
    return made


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_that_is_none(topic: Topic, name: str) -> None:
    """What is wrong is said, with the field's name and nothing of the value; good records beside it are kept."""
    body, why = MESSAGES[name]
    found = topic.refusal(deep(100) if body is None else body)
    assert why in found
    hidden = said(found, content=False)
    assert "sec" not in hidden
    assert "73 65" not in hidden
    assert re.search(r"\(the value has \d+ bytes\)$", hidden)


def test_the_deepest_message(topic: Topic) -> None:
    """A hundred levels are what Protobuf's readers take."""
    value = topic.value(deep(99))
    for _ in range(99):
        value = value["m"]
    assert value["m"] is None


HEADS = {
    "nothing": (b"", "not Protobuf of a schema registry: 0 bytes, where a zero byte and a schema's id take 5"),
    "another first byte": (b"\x01\0\0\0\x01\0", "the first byte is another, not 00"),
    "an id that is not there": (b"\0\0\0\0\x63\0", "the schema registry has no schema of the id 99"),
    "an id beyond all": (b"\0\xff\xff\xff\xff\0", "the schema registry has no schema of the id 4294967295"),
    "no indexes": (b"\0\0\0\0\x01", "the value ends within its message indexes"),
    "half of the indexes": (b"\0\0\0\0\x01\x04\x00", "the value ends within its message indexes"),
    "an index past the last": (
        b"\0\0\0\0\x01\x02\x04",
        "the message index that a record names is past the last of its 2",
    ),
    "an index past those inside": (b"\0\0\0\0\x01\x04\x00\x04", "is past the 2 inside shop.M"),
    "a negative index": (b"\0\0\0\0\x01\x02\x01", "a message index is negative"),
    "a negative number of indexes": (b"\0\0\0\0\x01\x01", "the number of its message indexes is not 1 to 64"),
    "many indexes": (b"\0\0\0\0\x01\xfe\xff\xff\xff\x0f", "the number of its message indexes is not 1 to 64"),
    "an index of many bytes": (b"\0\0\0\0\x01\x02" + b"\xff" * 9, "a message index has more than 32 bits"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_names_no_message(topic: Topic, name: str) -> None:
    """Every value of a batch that does not name a message of a schema is refused by itself."""
    head, why = HEADS[name]
    good = topic.framed(b"")
    rows = topic.converter()([good, head, good])
    assert list(rows.excluded) == [1]
    refused = rows.excluded[1]
    assert isinstance(refused, Unwritable)
    assert refused.stage is Stage.VALUE_CONVERTER
    assert why in said(refused.reason, content=False)


def test_an_index_that_names_another_message() -> None:
    """The message that the indexes name is read: the second, or one inside the first; both forms of the first's."""
    topic = Topic(proto3("message M { int32 n = 1; message Inner { string t = 1; } } message Other { string t = 1; }"))
    converter = topic.converter()
    other, inner = topic.framed(b"\x0a\x01x", b"\x02\x02"), topic.framed(b"\x0a\x01y", b"\x04\x00\x00")
    rows = converter([other, inner, topic.framed(b"\x08\x05"), topic.framed(b"\x08\x05", b"\x02\x00")])
    assert not rows.excluded
    assert [each.name for each in rows.schemas] == ["Other", "Inner", "M", "M"]  # type: ignore[union-attr]
    assert rows.pick([0]).values(rows.schemas[0]) == [{"t": "x"}]  # type: ignore[index]
    long_and_short = rows.pick([2, 3])
    schema = long_and_short.schemas
    assert [each["n"] for each in long_and_short.values(schema[0])] == [5, 5]  # type: ignore[index]
    assert long_and_short.arrow(schema[0]).field("n").to_pylist() == [5, 5]  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (proto3("message M { Missing m = 1; }"), "it is not a Protobuf schema"),
        (
            proto3("message M { int32 a = 1; }", "gone.proto"),
            "it imports gone.proto, which is not among its references",
        ),
        ("message {", "it is not a Protobuf schema"),
        ("", "is past the last of its 0 messages"),
    ],
)
def test_a_schema_that_cannot_be_used(text: str, why: str) -> None:
    """A schema that protoc refuses, or that lacks a reference, makes its records bad, and says why."""
    registry = MemoryRegistry()
    id = registry.register("orders-value", text, type="PROTOBUF")
    convert = ProtobufValues(registry, SubjectNames.TOPIC, "orders", Options(), key=True)
    rows = convert([b"\0" + id.to_bytes(4, "big") + b"\0", None])
    refused, tombstone = rows.excluded[0], rows.excluded[1]
    assert isinstance(refused, Unwritable)
    assert f"the schema of the id {id} cannot be used: " in refused.reason
    assert why in refused.reason
    assert refused.stage is Stage.KEY_CONVERTER
    assert tombstone == Tombstone()


@pytest.mark.parametrize("path", ["../up.proto", "/etc/passwd", "a//b.proto", "a/./b.proto", "x" * 5000, ""])
def test_a_reference_that_leads_out(path: str) -> None:
    """A reference is a file of the schema's own folder, wherever its name would lead; nothing else is written."""
    registry = MemoryRegistry()
    registry.register("other", proto3("message X { }"), type="PROTOBUF")
    text = proto3("message M { int32 a = 1; }")
    id = registry.register("orders-value", text, type="PROTOBUF", references=[("other", 1)], names=[path])
    convert = ProtobufValues(registry, SubjectNames.TOPIC, "orders", Options(), key=False)
    (refused,) = convert([b"\0" + id.to_bytes(4, "big") + b"\0"]).excluded.values()
    assert "which is not a path of a .proto file" in str(refused)


def test_a_schema_of_another_type() -> None:
    """A record of Avro's, in a topic that is read as Protobuf, says what it is."""
    registry = MemoryRegistry()
    id = registry.register("orders-value", '"int"')
    convert = ProtobufValues(registry, SubjectNames.TOPIC, "orders", Options(), key=False)
    (refused,) = convert([b"\0" + id.to_bytes(4, "big") + b"\0"]).excluded.values()
    assert f"the schema of the id {id} is of the type AVRO, not PROTOBUF" in str(refused)


def test_a_required_field_that_is_missing() -> None:
    """proto2's required fields are required: a message without one is bad, inside another too."""
    topic = Topic('syntax = "proto2"; message M { required int32 a = 1; optional M m = 2; }')
    assert topic.value(b"\x08\x05") == {"a": 5, "m": None}
    assert (
        "a message of M without a field that it requires" in topic.converter()([topic.framed(b"")]).excluded[0].reason
    )
    many = [topic.framed(b"\x08\x05")] * 40 + [topic.framed(b"\x08\x05\x12\x00")]
    assert list(topic.converter()(many).excluded) == [40]


def test_an_unknown_number_in_a_map_of_enums() -> None:
    """A closed enum's unknown number would make a map lose the entry: the record is bad."""
    topic = Topic('syntax = "proto2"; message M { map<string, E> m = 1; enum E { Z = 0; A = 1; } }')
    assert topic.value(b"\x0a\x05\x0a\x01k\x10\x01") == {"m": [{"key": "k", "value": "A"}]}
    assert "field value has a number that its enum has no name for" in topic.refusal(b"\x0a\x05\x0a\x01k\x10\x02")


def test_unknown_fields_are_left_out(topic: Topic) -> None:
    """Fields that the schema does not have are skipped, groups too, and the others are kept."""
    unknown = b"\x50\x01\x59abcdefgh\x52\x03xyz\x5dabcd" + b"\x53\x58\x01\x54"
    assert topic.value(unknown + b"\x08\x05" + unknown)["n"] == 5


def test_a_field_that_is_there_twice(topic: Topic) -> None:
    """Of a scalar the last is meant, and of a message both together, as every reader of Protobuf has it."""
    assert topic.value(b"\x08\x01\x08\x02")["n"] == 2
    merged = topic.value(b"\x2a\x02\x08\x01\x2a\x03\x12\x01x")["m"]
    assert (merged["n"], merged["s"]) == (1, "x")
    assert topic.value(b"\x12\x01x\x08\x07")["n"] == 7  # fields in another order


def test_text_of_proto2_that_is_not_utf8() -> None:
    """proto2's readers take any bytes for text; here it is UTF-8 or the record is bad, by itself and among others."""
    topic = Topic('syntax = "proto2"; message M { optional string s = 1; repeated string t = 2; }')
    assert "field s: the text is not UTF-8" in topic.refusal(b"\x0a\x02a\xff")
    assert "field t: the text is not UTF-8" in topic.refusal(b"\x12\x01a\x12\x02a\xff")


def test_two_fields_of_a_oneof() -> None:
    """Of two fields of a oneof the last is meant, also where both stand in the order of their numbers."""
    topic = Topic(proto3("message M { oneof k { string s = 1; int32 n = 2; } int32 a = 3; }"))
    assert topic.value(b"\x0a\x01x\x10\x05\x18\x07") == {"k_0": {"s": None, "n": 5}, "a": 7}
