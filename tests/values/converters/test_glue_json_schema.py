"""JSON as AWS Glue's serializers write it under a JSON Schema: over a registry in memory and over moto's Glue.

The mapping is that of Amazon's converter for Connect, by its source; docs/json-schema.md names these tests.
"""

from __future__ import annotations

import json
import zlib
from typing import Any
from uuid import UUID

import boto3
import pytest

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.avro.model import Schema
from kafka_s3.ports import RegisteredSchema, SchemaRegistry
from kafka_s3.shown import plain
from kafka_s3.values.converters.glue_json_schema import GlueJsonSchema
from kafka_s3.values.rows import Stage, Tombstone, Unwritable
from kafka_s3.wiring import make_registries
from kafka_s3.write.object_group import Member
from tests.write.members import record, settings_with, write
from tools.parts.s3 import MotoServer

CONVERTER = "com.amazonaws.services.schemaregistry.kafkaconnect.jsonschema.JsonSchemaConverter"
ENUM = "com.amazonaws.services.schemaregistry.kafkaconnect.jsonschema.Enum"
DATA = "org.apache.kafka.connect.data."
IDS = [str(UUID(int=number << 120 | number)) for number in range(1, 8)]
TEXT = {"type": "string"}


def framed(value: Any, id: str = IDS[0], *, compressed: bool = False) -> bytes:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return bytes((3, 5 * compressed)) + UUID(id).bytes + (zlib.compress(data) if compressed else data)


def registry(schema: Any) -> MemoryRegistry:
    text = json.dumps(schema)
    kinds = [("JSON", "AVAILABLE"), ("JSON", "DELETING"), ("JSON", "PENDING"), ("AVRO", "AVAILABLE")]
    made = {
        id: RegisteredSchema(id, text, type, version=4, status=status)
        for id, (type, status) in zip(IDS, kinds, strict=False)
    }
    return MemoryRegistry({**made, IDS[5]: RegisteredSchema(IDS[5], "{", "JSON", version=1)})


def converted(schema: Any, *values: Any, given: SchemaRegistry | None = None, **more: bool) -> list[Any]:
    """The plain values, and the exclusions of those that have none."""
    raw = [each if each is None or isinstance(each, bytes) else framed(each) for each in values]
    rows = GlueJsonSchema(given or registry(schema), key=False, **more)(raw)
    found: list[Any] = []
    for index in range(len(raw)):
        if index in rows.excluded:
            found.append(rows.excluded[index])
            continue
        named = rows.schemas if isinstance(rows.schemas, Schema) else rows.schemas[index]
        found += rows.pick([index]).values(named)
    return found


def avro_of(schema: Any) -> Any:
    rows = GlueJsonSchema(registry(schema), key=False)._json.known[framed({})[:18]]
    assert not isinstance(rows, str), rows
    return rows.schema.avro


def field(schema: Any) -> Any:
    """The Avro type of a property."""
    return avro_of({"type": "object", "properties": {"x": schema}})["fields"][0]["type"]


def refusal(schema: Any, value: Any) -> str:
    (found,) = converted(schema, value)
    assert isinstance(found, Unwritable), found
    return plain(found.reason)


ORDER = {
    "type": "object",
    "properties": {
        "note": {"connect.index": 1, "oneOf": [{"type": "null"}, {"type": "string"}]},
        "id": {"type": "integer", "connect.type": "int32", "connect.index": 0},
    },
}


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "zlib"])
@pytest.mark.parametrize("count", [1, 40])
def test_values_of_one_version(count: int, compressed: bool) -> None:
    """The header is 18 bytes; what is behind these is JSON, compressed or not."""
    values = [framed({"id": 7, "note": "x", "more": 1}, compressed=compressed)] * count
    assert converted(ORDER, *values) == [{"id": 7, "note": "x"}] * count
    rows = GlueJsonSchema(registry(ORDER), key=False)(values)
    assert isinstance(rows.schemas, Schema)
    assert rows.schemas.version == 4
    assert converted(ORDER, *values, columns=True) == converted(ORDER, *values)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"\0\0\0\0\1\0", "not a value of AWS Glue's registry: 6 bytes, where its header takes 18"),
        (b"\0" + framed({})[1:], "not a value of AWS Glue's registry: the first byte is another, not 03"),
        (b"\3\1" + framed({})[2:], "not a value of AWS Glue's registry: the byte for its compression is another"),
        (framed({}, IDS[6]), f"AWS Glue has no schema version {IDS[6]}"),
        (framed({}, IDS[1]), f"the schema version {IDS[1]} of AWS Glue is DELETING, not AVAILABLE"),
        (framed({}, IDS[2]), f"the schema version {IDS[2]} of AWS Glue is PENDING, not AVAILABLE"),
        (framed({}, IDS[3]), f"the schema version {IDS[3]} of AWS Glue is of the type AVRO, not JSON"),
        (framed({}, IDS[5]), f"the schema of the version {IDS[5]} cannot be used: not JSON"),
        (
            framed({"id": "secret"}),
            f"not a value of the schema of the version {IDS[0]}: id: text of 6 characters is not an int32",
        ),
        (framed(b"{"), f"not a value of the schema of the version {IDS[0]}: not JSON"),
        (framed({}, compressed=True)[:-3], "its zlib data cannot be used"),
    ],
)
def test_what_is_none_of_it_is_bad(value: bytes, reason: str) -> None:
    """With the reason, which holds nothing of the value; the one beside it is read, and a null is a tombstone."""
    bad, good, null = converted(ORDER, value, {"id": 7}, None)
    assert isinstance(bad, Unwritable)
    assert bad.stage is Stage.VALUE_CONVERTER
    assert plain(bad.reason).startswith(reason)
    assert "secret" not in plain(bad.reason)
    assert good == {"id": 7, "note": None}
    assert isinstance(null, Tombstone)


def test_much_compressed_json_is_bad() -> None:
    """What a record of a few kB stands for is bounded."""
    (found,) = converted({"type": "array", "items": {"type": "boolean"}}, framed(b"[" + b" " * 4_000_000 + b"]"))
    assert found == []
    (found,) = converted(ORDER, framed(b" " * 4_000_000 + b"{}", compressed=True))
    assert isinstance(found, Unwritable)


# The mapping, where it is another than Confluent's.


def test_numbers_by_their_connect_type() -> None:
    """Without one an integer is a double, as a number is; one that a double would round is refused, not rounded."""
    assert field({"type": "integer", "connect.type": "INT32"}) == "int"
    assert field({"type": "integer"}) == field({"type": "number"}) == "double"
    whole = {"type": "object", "properties": {"x": {"type": "integer"}}}
    assert converted(whole, *[{"x": 2**53}] * 2) == [{"x": 2.0**53}] * 2
    assert converted(whole, {"x": 2**60}) == [{"x": 2.0**60}]
    assert "give it connect.type int64" in refusal(whole, {"x": 2**53 + 1})
    assert "not a number" in refusal(whole, {"x": "5"})


def test_names_and_words_of_connect() -> None:
    """connect.name and connect.doc; titles and descriptions say nothing, nor does the version in Glue."""
    made = avro_of({**ORDER, "title": "T", "description": "D", "connect.name": "shop.Order", "connect.doc": "doc"})
    assert (made["name"], made["namespace"], made["connect.doc"]) == ("Order", "shop", "doc")
    assert "connect.version" not in made
    assert avro_of({**ORDER, "title": "T"})["name"] == "ConnectDefault"
    assert avro_of({**ORDER, "connect.version": 3})["connect.version"] == 3


def test_the_order_of_fields() -> None:
    """By connect.index; properties without it come last, in the order of a Java HashMap."""
    names = {"b": TEXT, "zz": {**TEXT, "connect.index": 1}, "y": {**TEXT, "connect.index": 0}, "a": TEXT}
    made = avro_of({"type": "object", "properties": names})
    assert [each["name"] for each in made["fields"]] == ["y", "zz", "a", "b"]


def test_defaults_say_nothing() -> None:
    """The converter does not read them: a missing property is null, or makes the record bad."""
    schema = {"type": "object", "properties": {"x": {**TEXT, "default": "d"}}}
    assert "default" not in avro_of(schema)["fields"][0]
    assert "null or missing, but required" in refusal(schema, {})


def test_logical_types_by_connect_name() -> None:
    """Decimals as base64 or numbers, whatever decimal.format says; dates, times and timestamps as integers."""
    decimal = {"connect.type": "bytes", "connect.name": f"{DATA}Decimal", "connect.parameters": {"scale": "2"}}
    for kind, value in (("string", "AXI="), ("number", 3.7)):
        schema = {"type": "object", "properties": {"x": {"type": kind, **decimal}}}
        assert converted(schema, {"x": value}) == [{"x": (370).to_bytes(2)}]
    for name, kind, logical in (("Date", "int32", "date"), ("Timestamp", "int64", "timestamp-millis")):
        made = field({"type": "integer", "connect.type": kind, "connect.name": f"{DATA}{name}"})
        assert made["logicalType"] == logical


def test_enums_are_texts() -> None:
    """An enum alone, beside a type, beside null: text, with its symbols as parameters of Amazon's name."""
    for schema in ({"enum": ["A", "B"]}, {"type": "string", "enum": ["A", "B"]}):
        made = field(schema)
        assert (made["type"], made["connect.parameters"]) == ("string", {f"{ENUM}.A": "A", f"{ENUM}.B": "B"})
    (_, made) = field({"oneOf": [{"type": "null"}, {"type": "string", "enum": ["A"]}]})
    assert made["connect.parameters"] == {f"{ENUM}.A": "A"}


def test_unions() -> None:
    """Type and null are the type, optional; others a struct oneOf of field1, field2, … of which one is set."""
    for optional in ({"oneOf": [{"type": "null"}, TEXT]}, {"anyOf": [TEXT, {"type": "null"}]}):
        assert field(optional) == ["null", "string"]
    assert field({"type": ["string", "null"]}) == ["null", "string"]
    either = {"type": "object", "properties": {"x": {"oneOf": [TEXT, {"type": "integer"}]}}}
    assert converted(either, {"x": "a"}, {"x": 5}) == [
        {"x": {"field1": "a", "field2": None}},
        {"x": {"field1": None, "field2": 5.0}},
    ]
    assert field(either["properties"]["x"])["name"] == "oneOf"  # type: ignore[index]


def test_maps_and_references() -> None:
    """As Confluent's: objects and arrays of entries are maps; a struct may hold itself."""
    maps = {
        "type": "object",
        "connect.type": "map",
        "additionalProperties": {"type": "integer", "connect.type": "int8"},
    }
    assert converted({"type": "object", "properties": {"x": maps}}, {"x": {"a": 1}}) == [{"x": {"a": 1}}]
    entry = {"type": "object", "properties": {"key": {"type": "boolean"}, "value": TEXT}}
    listed = {"type": "array", "connect.type": "map", "items": entry}
    made = converted({"type": "object", "properties": {"x": listed}}, {"x": [{"key": True, "value": "a"}]})
    assert made == [{"x": [{"key": True, "value": "a"}]}]
    tree = {"type": "object", "properties": {"next": {"oneOf": [{"type": "null"}, {"$ref": "#"}]}}}
    assert converted(tree, {"next": {}}) == [{"next": {"next": None}}]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", **ORDER}, "not one of the drafts 4, 6 and 7"),
        ({"type": "null"}, "Connect has no type for null"),
        ({"type": "object", "properties": {"x": {}}}, "x: Connect has no type for a schema that names no type"),
        ({"type": "object", "properties": {"x": {"$ref": "other.json"}}}, "it refers to other.json"),
        ({"type": "array"}, "an array does not say the type of its items"),
        ({"type": "number", "connect.type": "text"}, "the connect.type of a number is not one"),
        ({**ORDER, "connect.name": 5}, "connect.name is not a string"),
    ],
)
def test_schemas_that_cannot_be_used(schema: Any, why: str) -> None:
    """Each in one sentence, in the name of the version."""
    said = refusal(schema, {})
    assert said.startswith(f"the schema of the version {IDS[0]} cannot be used: ")
    assert why in said


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "zlib"])
def test_values_of_a_schema_at_moto(moto: MotoServer, topic_name: str, compressed: bool) -> None:
    """A schema that was registered as a producer does it, in lines of JSON; a deleted one is not a schema."""
    keys = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "a-secret-access-key"}
    client = boto3.client("glue", region_name="us-west-2", endpoint_url=moto.endpoint_url, **keys)
    registered = client.create_schema(
        SchemaName=topic_name, DataFormat="JSON", Compatibility="NONE", SchemaDefinition=json.dumps(ORDER)
    )
    settings = settings_with(
        {"aws.access.key.id": "AKIAEXAMPLE", "aws.secret.access.key": "a-secret-access-key"},
        {"value.converter": CONVERTER, "value.converter.endpoint": moto.endpoint_url},
    )
    value = framed({"id": 7, "note": "x"}, registered["SchemaVersionId"], compressed=compressed)
    made = write(settings, [record(0, value)], registries=make_registries(settings))
    assert made.why == {}
    [written] = made.written.objects
    assert made.members(written)[Member.VALUES] == [{"id": 7, "note": "x"}]
    client.delete_schema(SchemaId={"RegistryName": "default-registry", "SchemaName": topic_name})
    (found,) = converted(None, value, given=make_registries(settings).values)
    assert isinstance(found, Unwritable)
    assert plain(found.reason).startswith("AWS Glue has no schema version")
