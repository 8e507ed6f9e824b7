"""A real registry: JSON Schemas with references, and what the serializer for Python writes under them."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafka_s3.adapters.known_schemas import known_schemas
from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.adapters.registry import ConfluentRegistry
from kafka_s3.json_schema.options import Options
from kafka_s3.ports import SchemaRegistry
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.registry import RegistrySettings, SubjectNames
from kafka_s3.shown import said
from kafka_s3.values.converters.json_schema import JsonSchemaValues
from tests.json_schema.topic import framed
from tests.support import make_settings
from tools.parts.registry import SchemaRegistry as RegistryPart

COUNTRY = json.dumps({"type": "object", "title": "Country", "properties": {"code": {"type": "string"}}})
ADDRESS = json.dumps({"type": "object", "title": "Address", "properties": {"in": {"$ref": "country.json"}}})
ORDER = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "title": "Order",
        "properties": {"to": {"$ref": "address.json"}, "from": {"$ref": "country.json"}},
    }
)
VALUE = {"to": {"in": {"code": "NZ"}}, "from": {"code": "DE"}}


def real(part: RegistryPart, topic: str) -> tuple[int, SchemaRegistry]:
    client = part.client()
    client.register_schema(f"{topic}-country", Schema(COUNTRY, "JSON"))
    country = SchemaReference("country.json", f"{topic}-country", 1)
    client.register_schema(f"{topic}-address", Schema(ADDRESS, "JSON", [country]))
    address = SchemaReference("address.json", f"{topic}-address", 1)
    id = client.register_schema(f"{topic}-value", Schema(ORDER, "JSON", [address, country]))
    return id, ConfluentRegistry(RegistrySettings({"url": part.url}))


def memory(topic: str) -> tuple[int, SchemaRegistry]:
    registry = MemoryRegistry()
    registry.register("country", COUNTRY, type="JSON")
    registry.register("address", ADDRESS, type="JSON", references=[("country", 1)], names=["country.json"])
    needed, names = [("address", 1), ("country", 1)], ["address.json", "country.json"]
    return registry.register(f"{topic}-value", ORDER, type="JSON", references=needed, names=names), registry


@pytest.mark.parametrize("kind", ["memory", "real"])
def test_schemas_that_refer_to_others(request: pytest.FixtureRequest, topic_name: str, kind: str) -> None:
    """What a schema refers to comes from its references, however far down; the subject's version is the schema's."""
    part = request.getfixturevalue("registry_server") if kind == "real" else None
    id, registry = memory(topic_name) if part is None else real(part, topic_name)
    rows = JsonSchemaValues(registry, SubjectNames.TOPIC, topic_name, Options(), key=False)([framed(id, VALUE)])
    assert not rows.excluded, rows.excluded
    schema: Any = rows.schemas
    assert (schema.name, schema.version, schema.id) == ("Order", 1, id)
    assert rows.values(schema) == [VALUE]


def test_workers_know_what_the_driver_asked(registry_server: RegistryPart, topic_name: str) -> None:
    """A driver hands schemas, references and their names to its tasks, which ask nobody."""
    id, registry = real(registry_server, topic_name)
    plain = make_settings()
    settings = replace(plain, format=replace(plain.format, value=ConverterSettings(Converter.JSON_SCHEMA)))
    known = pickle.loads(pickle.dumps(known_schemas(registry, settings, [topic_name], key=False)))
    assert set(known.schemas[id].names) == {"address.json", "country.json"}
    unreachable = ConfluentRegistry(RegistrySettings({"url": "http://127.0.0.1:9"}, retry_timeout_ms=0), known)
    rows = JsonSchemaValues(unreachable, SubjectNames.TOPIC, topic_name, Options(), key=False)([framed(id, VALUE)])
    assert rows.values(rows.schemas) == [VALUE]  # type: ignore[arg-type]


def test_what_a_serializer_writes(registry_server: RegistryPart, topic_name: str) -> None:
    """confluent-kafka's own serializer registers the schema; its bytes are read."""
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "M", "type": "object"}
    schema["properties"] = {"n": {"type": "integer"}, "s": {"type": ["string", "null"]}}  # type: ignore[assignment]
    serialize = JSONSerializer(json.dumps(schema), registry_server.client())
    raw = serialize({"n": 5, "s": None}, SerializationContext(topic_name, MessageField.VALUE))
    registry = ConfluentRegistry(RegistrySettings({"url": registry_server.url}))
    rows = JsonSchemaValues(registry, SubjectNames.TOPIC, topic_name, Options(), key=False)([raw])
    assert rows.values(rows.schemas) == [{"n": 5, "s": None}]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("names", "subject"),
    [
        (SubjectNames.TOPIC, "orders-value"),
        (SubjectNames.RECORD, "shop.M"),
        (SubjectNames.TOPIC_RECORD, "orders-shop.M"),
    ],
)
def test_the_version_is_that_of_the_subject(names: SubjectNames, subject: str) -> None:
    """Which subject's versions count is what the strategy says; a schema's name is its title."""
    registry = MemoryRegistry()
    schema = {"title": "shop.M", "type": "object", "properties": {"a": {"type": ["integer", "null"]}}}
    registry.register(subject, json.dumps(schema), type="JSON")
    id = registry.register(subject, json.dumps({**schema, "description": "newer"}), type="JSON")
    rows = JsonSchemaValues(registry, names, "orders", Options(), key=False)([framed(id, {})])
    assert rows.schemas.version == 2  # type: ignore[union-attr]


def test_a_subject_without_a_name() -> None:
    """A strategy that calls subjects by titles needs one."""
    registry = MemoryRegistry()
    id = registry.register("M", json.dumps({"type": "object", "properties": {}}), type="JSON")
    (why,) = JsonSchemaValues(registry, SubjectNames.RECORD, "orders", Options(), key=False)(
        [framed(id, {})]
    ).excluded.values()
    assert "it has no title, by which its subject is called" in said(why.reason, content=False)  # type: ignore[union-attr]
