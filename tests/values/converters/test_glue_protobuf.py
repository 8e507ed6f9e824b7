"""Protobuf as AWS Glue's serializers write it: bytes made by hand, over a registry in memory and over moto's Glue."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import boto3
import pytest

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.avro.model import Schema
from kafka_s3.ports import RegisteredSchema, SchemaId, SchemaRegistry
from kafka_s3.shown import plain
from kafka_s3.values.converters.glue_protobuf import GlueProtobuf
from kafka_s3.values.rows import Stage, Tombstone, Unwritable
from kafka_s3.wiring import make_registries
from kafka_s3.write.object_group import Member
from tests.write.members import record, settings_with, write
from tools.parts.s3 import MotoServer

CONVERTER = "com.amazonaws.services.schemaregistry.kafkaconnect.protobuf.ProtobufSchemaConverter"
IDS = [str(UUID(int=number << 120 | number)) for number in range(1, 8)]
#: The example of the serializer's source, and messages beside it; in the order of full names: B, B.A, B.A.D, B.C, Z.
NESTED = """syntax = "proto3"; package p;
message Z { map<string, int32> m = 1; }
message B { message C { int32 c = 1; } message A { message D { int32 d = 1; } int32 a = 1; } int32 b = 1; }
"""
ORDER = """syntax = "proto3";
message Order {
  int32 id = 1; Place place = 2; repeated string tags = 3;
  oneof contact { string mail = 4; int64 phone = 5; }
}
message Place { string city = 1; optional int32 floor = 2; }
"""
ENDLESS = 'syntax = "proto3"; message M { M next = 1; int32 n = 2; }'


def framed(message: bytes, id: str = IDS[0], *, place: bytes = b"\0", compressed: bool = False) -> bytes:
    data = place + message
    return bytes((3, 5 * compressed)) + UUID(id).bytes + (zlib.compress(data) if compressed else data)


def registry() -> MemoryRegistry:
    schemas: dict[SchemaId, RegisteredSchema] = {
        IDS[0]: RegisteredSchema(IDS[0], ORDER, "PROTOBUF", version=4),
        IDS[1]: RegisteredSchema(IDS[1], NESTED, "PROTOBUF", version=1),
        IDS[2]: RegisteredSchema(IDS[2], ORDER, "PROTOBUF", version=3, status="DELETING"),
        IDS[3]: RegisteredSchema(IDS[3], '"int"', "AVRO", version=1),
        IDS[4]: RegisteredSchema(IDS[4], "message", "PROTOBUF", version=1),
        IDS[5]: RegisteredSchema(IDS[5], ENDLESS, "PROTOBUF", version=1),
    }
    return MemoryRegistry(schemas)


def converted(values: Sequence[bytes | None], registry: SchemaRegistry, **more: bool) -> list[Any]:
    """The plain values, and the exclusions of those that have none."""
    rows = GlueProtobuf(registry, key=False, **more)(values)
    found: list[Any] = []
    for index in range(len(values)):
        if index in rows.excluded:
            found.append(rows.excluded[index])
            continue
        schema = rows.schemas if isinstance(rows.schemas, Schema) else rows.schemas[index]
        found += rows.pick([index]).values(schema)
    return found


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "zlib"])
@pytest.mark.parametrize("count", [1, 40])
def test_messages_of_one_version(count: int, compressed: bool) -> None:
    """The header is 18 bytes and a varint; what is behind these is the message, compressed with the varint or not."""
    body = b"\x08\x07\x12\x05\x0a\x03Ulm\x1a\x01x\x28\x05"
    order = {"contact": {"mail": None, "phone": 5}, "id": 7, "place": {"city": "Ulm", "floor": None}, "tags": ["x"]}
    values = [framed(body, compressed=compressed)] * count
    assert converted(values, registry()) == [order] * count
    rows = GlueProtobuf(registry(), key=False)(values)
    assert isinstance(rows.schemas, Schema)
    assert rows.schemas.version == 4


def test_what_is_absent_has_its_default() -> None:
    """A message that is not there is one of defaults; a oneof without any of its fields is null."""
    place = {"city": "", "floor": None}
    assert converted([framed(b"")], registry()) == [{"contact": None, "id": 0, "place": place, "tags": []}]


@pytest.mark.parametrize(
    ("place", "message", "value"),
    [
        (0, b"\x08\x05", {"b": 5}),
        (1, b"\x08\x05", {"a": 5}),
        (2, b"\x08\x05", {"d": 5}),
        (3, b"\x08\x05", {"c": 5}),
        (4, b"\x0a\x05\x0a\x01k\x10\x05", {"m": [{"key": "k", "value": 5}]}),
    ],
)
def test_messages_are_numbered_by_their_names(place: int, message: bytes, value: object) -> None:
    """In the order of full names: the serializer's own example, with a message in front of it in the file."""
    assert converted([framed(message, IDS[1], place=bytes([place]))], registry()) == [value]


def test_entries_of_maps_count_as_messages() -> None:
    """As the serializer counts them: Z.MEntry is behind Z, and is the sixth; there is no seventh."""
    entry, beyond = converted([framed(b"\x10\x05", IDS[1], place=b"\5"), framed(b"", IDS[1], place=b"\6")], registry())
    assert entry == {"key": "", "value": 5}
    assert isinstance(beyond, Unwritable)
    assert beyond.reason.startswith(f"the schema version {IDS[1]} of AWS Glue has 6 messages")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"\0\0\0\0\1\0", "not a value of AWS Glue's registry: 6 bytes, where its header takes 18"),
        (b"\2" + framed(b"")[1:], "not a value of AWS Glue's registry: the first byte is another, not 03"),
        (b"\3\1" + framed(b"")[2:], "not a value of AWS Glue's registry: the byte for its compression is another"),
        (framed(b"", place=b""), "not Protobuf of AWS Glue's registry: the value ends within its message index"),
        (framed(b"", place=b"\xff" * 6), "not Protobuf of AWS Glue's registry: the value ends within its message"),
        (framed(b"", IDS[6]), f"AWS Glue has no schema version {IDS[6]}"),
        (framed(b"", IDS[2]), f"the schema version {IDS[2]} of AWS Glue is DELETING, not AVAILABLE"),
        (framed(b"", IDS[3]), f"the schema version {IDS[3]} of AWS Glue is of the type AVRO, not PROTOBUF"),
        (framed(b"", IDS[4]), f"the schema version {IDS[4]} of AWS Glue cannot be used"),
        (framed(b"", IDS[5]), f"the schema version {IDS[5]} of AWS Glue cannot be used"),
        (framed(b"\x08"), f"not a value of the schema of the version {IDS[0]}"),
        (framed(b"", compressed=True)[:-3], "its zlib data cannot be used"),
    ],
)
def test_what_is_none_of_it_is_bad(value: bytes, reason: str) -> None:
    """With the reason; the message beside it is read, and a null is a tombstone."""
    bad, good, null = converted([value, framed(b"\x08\x07"), None], registry())
    assert isinstance(bad, Unwritable)
    assert bad.stage is Stage.VALUE_CONVERTER
    assert plain(bad.reason).startswith(reason)
    assert good["id"] == 7
    assert isinstance(null, Tombstone)


def test_columns_hold_the_same() -> None:
    """As Parquet asks for them."""
    body = framed(b"\x08\x07")
    assert converted([body] * 20, registry(), columns=True) == converted([body] * 20, registry())


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "zlib"])
def test_messages_of_a_schema_at_moto(moto: MotoServer, topic_name: str, compressed: bool) -> None:
    """A schema that was registered as a producer does it, in lines of JSON."""
    keys = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "a-secret-access-key"}
    client = boto3.client("glue", region_name="us-west-2", endpoint_url=moto.endpoint_url, **keys)
    made = client.create_schema(
        SchemaName=topic_name, DataFormat="PROTOBUF", Compatibility="NONE", SchemaDefinition=ORDER
    )
    settings = settings_with(
        {"aws.access.key.id": "AKIAEXAMPLE", "aws.secret.access.key": "a-secret-access-key"},
        {"value.converter": CONVERTER, "value.converter.endpoint": moto.endpoint_url},
    )
    value = framed(b"\x08\x07\x22\x01m", made["SchemaVersionId"], compressed=compressed)
    made = write(settings, [record(0, value)], registries=make_registries(settings))
    assert made.why == {}
    [written] = made.written.objects
    assert made.members(written)[Member.VALUES] == [
        {"contact": {"mail": "m", "phone": None}, "id": 7, "place": {"city": "", "floor": None}, "tags": []}
    ]
