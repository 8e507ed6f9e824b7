"""A real registry: schemas of PROTOBUF with references, as text and as the serializer for Python registers them."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from kafka_s3.adapters.known_schemas import known_schemas
from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.adapters.registry import ConfluentRegistry
from kafka_s3.ports import SchemaRegistry
from kafka_s3.protobuf import compile as compiler
from kafka_s3.protobuf.options import Options
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.registry import RegistrySettings, SubjectNames
from kafka_s3.values.converters.protobuf import ProtobufValues
from tests.protobuf.proto import proto3
from tests.support import make_settings
from tools.parts.registry import SchemaRegistry as RegistryPart

COUNTRY = proto3("message Country { string code = 1; }")
ADDRESS = proto3("message Address { Country country = 1; }", "shop/country.proto")
ORDER = proto3(
    "message Unused { } message Order { Address to = 1; Country from = 2; google.protobuf.Timestamp at = 3; }",
    "shop/address.proto",
    "shop/country.proto",
    "google/protobuf/timestamp.proto",
)
VALUE = {"to": {"country": {"code": "NZ"}}, "from": {"code": "DE"}, "at": 1000}
BODY = b"\x0a\x06\x0a\x04\x0a\x02NZ\x12\x04\x0a\x02DE\x1a\x02\x08\x01"


def real(part: RegistryPart, topic: str) -> tuple[int, SchemaRegistry]:
    client = part.client()
    client.register_schema(f"{topic}-country", Schema(COUNTRY, "PROTOBUF"))
    country = SchemaReference("shop/country.proto", f"{topic}-country", 1)
    client.register_schema(f"{topic}-address", Schema(ADDRESS, "PROTOBUF", [country]))
    address = SchemaReference("shop/address.proto", f"{topic}-address", 1)
    id = client.register_schema(f"{topic}-value", Schema(ORDER, "PROTOBUF", [address, country]))
    return id, ConfluentRegistry(RegistrySettings({"url": part.url}))


def memory(topic: str) -> tuple[int, SchemaRegistry]:
    registry = MemoryRegistry()
    registry.register("country", COUNTRY, type="PROTOBUF")
    registry.register("address", ADDRESS, type="PROTOBUF", references=[("country", 1)], names=["shop/country.proto"])
    references = [("address", 1), ("country", 1)]
    names = ["shop/address.proto", "shop/country.proto"]
    return registry.register(f"{topic}-value", ORDER, type="PROTOBUF", references=references, names=names), registry


@pytest.mark.parametrize("kind", ["memory", "real"])
def test_schemas_that_refer_to_others(request: pytest.FixtureRequest, topic_name: str, kind: str) -> None:
    """What a schema imports comes from its references, however far down; the subject's version is the schema's."""
    part = request.getfixturevalue("registry_server") if kind == "real" else None
    id, registry = memory(topic_name) if part is None else real(part, topic_name)
    convert = ProtobufValues(registry, SubjectNames.TOPIC, topic_name, Options(), key=False)
    rows = convert([b"\0" + id.to_bytes(4, "big") + b"\2\2" + BODY])
    assert not rows.excluded
    schema: Any = rows.schemas
    assert (schema.name, schema.version, schema.id) == ("Order", 1, id)
    assert rows.values(schema) == [VALUE]


def test_workers_know_what_the_driver_asked(registry_server: RegistryPart, topic_name: str) -> None:
    """A driver hands schemas, references and their names to its tasks, which ask nobody."""
    id, registry = real(registry_server, topic_name)
    plain = make_settings()
    settings = replace(plain, format=replace(plain.format, value=ConverterSettings(Converter.PROTOBUF)))
    known = pickle.loads(pickle.dumps(known_schemas(registry, settings, [topic_name], key=False)))
    assert known.schemas[id].names == ("shop/address.proto", "shop/country.proto")
    unreachable = ConfluentRegistry(RegistrySettings({"url": "http://127.0.0.1:9"}, retry_timeout_ms=0), known)
    convert = ProtobufValues(unreachable, SubjectNames.TOPIC, topic_name, Options(), key=False)
    rows = convert([b"\0" + id.to_bytes(4, "big") + b"\2\2" + BODY])
    assert rows.values(rows.schemas) == [VALUE]  # type: ignore[arg-type]


def test_what_a_serializer_writes(registry_server: RegistryPart, topic_name: str) -> None:
    """confluent-kafka's own serializer registers a descriptor in base64; its bytes are read, a nested message's too."""
    text = proto3("message Outer { message Inner { int32 n = 1; map<string, int32> by = 2; } string s = 1; }")
    pool = descriptor_pool.DescriptorPool()
    for each in descriptor_pb2.FileDescriptorSet.FromString(
        compiler._compiled({f"{topic_name}.proto": text}, f"{topic_name}.proto")
    ).file:
        pool.Add(each)
    outer, inner = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in ("shop.Outer", "shop.Outer.Inner")
    )
    client = registry_server.client()
    raw = []
    for message in (outer(s="x"), inner(n=5, by={"a": 1})):
        topic = f"{topic_name}-{message.DESCRIPTOR.name}"
        serialize = ProtobufSerializer(type(message), client, {"use.deprecated.format": False})
        raw.append(serialize(message, SerializationContext(topic, MessageField.VALUE)))
    registry = ConfluentRegistry(RegistrySettings({"url": registry_server.url}))
    convert = ProtobufValues(registry, SubjectNames.TOPIC, f"{topic_name}-Outer", Options(), key=False)
    rows = convert(raw)
    assert not rows.excluded
    found = [rows.pick([row]).values(rows.schemas[row])[0] for row in range(2)]  # type: ignore[index]
    assert found == [{"s": "x"}, {"n": 5, "by": [{"key": "a", "value": 1}]}]


@pytest.mark.parametrize(
    ("names", "subject"),
    [
        (SubjectNames.TOPIC, "orders-value"),
        (SubjectNames.RECORD, "shop.M"),
        (SubjectNames.TOPIC_RECORD, "orders-shop.M"),
    ],
)
def test_the_version_is_that_of_the_subject(names: SubjectNames, subject: str) -> None:
    """Which subject's versions count is what the strategy says; a message's name is its full one."""
    registry = MemoryRegistry()
    registry.register(subject, proto3("message M { int32 a = 1; }"), type="PROTOBUF")
    id = registry.register(subject, proto3("message M { int32 a = 1; int32 b = 2; }"), type="PROTOBUF")
    rows = ProtobufValues(registry, names, "orders", Options(), key=False)([b"\0" + id.to_bytes(4, "big") + b"\0"])
    assert rows.schemas.version == 2  # type: ignore[union-attr]
