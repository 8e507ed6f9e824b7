"""Places to export from, for one test and for a file of tests."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.adapters.registry_side import forwarding
from tests.readers.place import Gate, Place
from tools.parts.kafka import KafkaBroker
from tools.parts.registry import SchemaRegistry
from tools.parts.s3 import MotoServer

MakePlace = Callable[..., Place]


@pytest.fixture(scope="session")
def make_place(
    kafka: KafkaBroker, moto: MotoServer, registry_server: SchemaRegistry, tmp_path_factory: pytest.TempPathFactory
) -> MakePlace:
    """Makes a topic that no other test has, and what is around it."""

    def make(partitions: int = 1) -> Place:
        topic = f"topic-{uuid.uuid4().hex[:12]}"
        kafka.create_topic(topic, partitions)
        return Place(topic, tmp_path_factory.mktemp(topic), kafka, moto, registry_server)

    return make


@pytest.fixture
def place(make_place: MakePlace) -> Place:
    return make_place()


@pytest.fixture
def gate(registry_server: SchemaRegistry) -> Iterator[Gate]:
    """An open gate before the real registry."""
    made = Gate(forwarding(registry_server))
    made.open()
    yield made
    made.close()
