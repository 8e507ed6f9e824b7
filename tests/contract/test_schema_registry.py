"""One behaviour, whether a schema registry is real or in memory."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from typing import Protocol

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.adapters.registry import ConfluentRegistry
from kafka_s3.ports import KnownSchemas, RegisteredSchema, SchemaRegistry
from kafka_s3.settings.registry import RegistrySettings
from tools.parts.registry import SchemaRegistry as RegistryPart


class RegistryUnderTest(Protocol):
    """A registry from outside: where schemas are registered, and who asks for them."""

    def register(self, subject: str, schema: object, *, references: Sequence[tuple[str, str, int]] = ()) -> int: ...
    def opened(self) -> SchemaRegistry:
        """The registry for somebody who has not asked it yet."""


class MemoryWorld:
    def __init__(self) -> None:
        self.memory = MemoryRegistry()

    def register(self, subject: str, schema: object, *, references: Sequence[tuple[str, str, int]] = ()) -> int:
        return self.memory.register(subject, json.dumps(schema), references=[each[1:] for each in references])

    def opened(self) -> SchemaRegistry:
        return self.memory.again()


class RealWorld:
    def __init__(self, part: RegistryPart) -> None:
        self.part = part

    def register(self, subject: str, schema: object, *, references: Sequence[tuple[str, str, int]] = ()) -> int:
        named = [SchemaReference(*each) for each in references]
        return self.part.client().register_schema(subject, Schema(json.dumps(schema), "AVRO", named))

    def opened(self) -> ConfluentRegistry:
        return ConfluentRegistry(RegistrySettings({"url": self.part.url}))


@pytest.fixture(params=["memory", "real"])
def world(request: pytest.FixtureRequest) -> RegistryUnderTest:
    if request.param == "memory":
        return MemoryWorld()
    return RealWorld(request.getfixturevalue("registry_server"))


def record(name: str, **fields: object) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": fields[field]} for field in fields]}


def optional(name: str, *more: str) -> dict[str, object]:
    """A record whose fields after the first have defaults, so that every registry takes it as the next version."""
    later = [{"name": each, "type": ["null", "int"], "default": None} for each in more]
    return {"type": "record", "name": name, "fields": [{"name": "first", "type": "int"}, *later]}


def test_a_schema_by_its_id(world: RegistryUnderTest, topic_name: str) -> None:
    """What was registered comes back under its id, with its type and no references."""
    schema = record("Order", id="long", note="string")
    id = world.register(f"{topic_name}-value", schema)
    found = world.opened().schema(id)
    assert found is not None
    assert (found.id, json.loads(found.text), found.type, found.references) == (id, schema, "AVRO", ())


@pytest.mark.parametrize("id", [2**31 - 1, 2**31, 2**40, 0, -1, -(2**31)])
def test_no_such_id(world: RegistryUnderTest, id: int) -> None:
    """An id that nobody was given is not a schema, whatever number a record holds."""
    registry = world.opened()
    assert registry.schema(id) is None
    assert registry.schema(id) is None
    assert registry.known() == KnownSchemas()


@pytest.mark.parametrize("subject", ["no-such-subject", "a/b", "größe 🙂", "?", "%2e", "..", ".", "", "\ud800"])
def test_no_such_subject(world: RegistryUnderTest, subject: str) -> None:
    """A subject that is not there has no versions, however it is spelled."""
    registry = world.opened()
    assert registry.versions(subject) == {}
    assert registry.known() == KnownSchemas({}, {subject: {}})


@pytest.mark.parametrize("name", ["com.acme.Order", "orders value", "a/b", "größe", "50%"])
def test_subjects_have_any_name(world: RegistryUnderTest, topic_name: str, name: str) -> None:
    """A subject's name goes through the URL as it is."""
    subject = f"{topic_name}-{name}"
    id = world.register(subject, record("Order", id="long"))
    assert world.opened().versions(subject) == {id: 1}


def test_evolving_schema(world: RegistryUnderTest, topic_name: str) -> None:
    """Versions count from 1 in the order of registration; who asked before is not told of later ones."""
    subject = f"{topic_name}-value"
    first = world.register(subject, optional("Order"))
    early = world.opened()
    assert early.versions(subject) == {first: 1}
    second = world.register(subject, optional("Order", "a"))
    third = world.register(subject, optional("Order", "a", "b"))
    assert world.register(subject, optional("Order", "a")) == second
    assert early.versions(subject) == {first: 1}
    assert world.opened().versions(subject) == {first: 1, second: 2, third: 3}


def test_one_schema_of_two_subjects(world: RegistryUnderTest, topic_name: str) -> None:
    """A schema has one id, and in each subject a version of its own."""
    one, other = f"{topic_name}-value", f"{topic_name}-other"
    world.register(other, optional("Shared"))
    ids = [world.register(subject, optional("Shared", "a")) for subject in (one, other)]
    assert ids[0] == ids[1]
    registry = world.opened()
    assert (registry.versions(one)[ids[0]], registry.versions(other)[ids[0]]) == (1, 2)


def test_references(world: RegistryUnderTest, topic_name: str) -> None:
    """What a schema refers to comes with it, once, each before those that need it."""
    country, address, order = record("Country", code="string"), record("Address", country="Country"), "Order"
    world.register(f"{topic_name}-country", country)
    to_country = ("Country", f"{topic_name}-country", 1)
    world.register(f"{topic_name}-address", address, references=[to_country])
    to_address = ("Address", f"{topic_name}-address", 1)
    whole = record(order, at="Address", origin="Country")
    id = world.register(f"{topic_name}-value", whole, references=[to_address, to_country])
    found = world.opened().schema(id)
    assert found is not None
    assert [json.loads(text) for text in found.references] == [country, address]
    assert json.loads(found.text) == whole


def test_known(world: RegistryUnderTest, topic_name: str) -> None:
    """What was asked for is known: schemas, versions and that a subject is not there."""
    subject, other = f"{topic_name}-value", f"{topic_name}-key"
    first, second = (world.register(subject, optional(topic_name.replace("-", "_"), *more)) for more in ((), ("a",)))
    registry = world.opened()
    assert registry.known() == KnownSchemas()
    schema = registry.schema(second)
    registry.versions(subject)
    registry.versions(other)
    assert registry.known() == KnownSchemas({second: schema}, {subject: {first: 1, second: 2}, other: {}})
    assert pickle.loads(pickle.dumps(registry.known())) == registry.known()


def test_deleted_version(registry_server: RegistryPart, topic_name: str) -> None:
    """A version that was deleted, not for good, is still one: records were written with it."""
    subject, world = f"{topic_name}-value", RealWorld(registry_server)
    first = world.register(subject, optional("Deleted"))
    second = world.register(subject, optional("Deleted", "a"))
    registry_server.client().delete_version(subject, 1)
    registry = world.opened()
    assert registry.versions(subject) == {first: 1, second: 2}
    schema = registry.schema(first)
    assert schema is not None
    assert json.loads(schema.text) == optional("Deleted")


@pytest.mark.parametrize(
    ("type", "text"),
    [
        ("JSON", '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}'),
        ("PROTOBUF", 'syntax = "proto3";\nmessage M {\n  int32 a = 1;\n}\n'),
    ],
)
def test_other_types(registry_server: RegistryPart, topic_name: str, type: str, text: str) -> None:
    """A schema that is not Avro comes with its type, for a converter to refuse."""
    id = registry_server.client().register_schema(topic_name, Schema(text, type))
    found = RealWorld(registry_server).opened().schema(id)
    assert found is not None
    assert found.type == type


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(['"int"', '"long"', '"string"', '"bytes"']))))
def test_memory_numbers_as_a_registry_does(registered: list[tuple[str, str]]) -> None:
    """Whatever is registered where: one id per text, ids and versions without gaps, every version's schema there."""
    memory = MemoryRegistry()
    ids = {text: memory.register(subject, text) for subject, text in registered}
    assert sorted(ids.values()) == list(range(1, len(ids) + 1))
    for subject in "abc":
        texts = dict.fromkeys(text for where, text in registered if where == subject)
        assert memory.versions(subject) == {ids[text]: number for number, text in enumerate(texts, 1)}
    for text, id in ids.items():
        assert memory.schema(id) == RegisteredSchema(id, text)
