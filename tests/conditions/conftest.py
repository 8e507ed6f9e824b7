"""Topics on the session's broker, each with an export of its own; and a log cleaner that does not rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from tests.conditions.harness import LiveTopic
from tests.conditions.meanwhile import Meanwhile
from tools.parts.kafka import KafkaBroker

Make = Callable[..., LiveTopic]


@pytest.fixture
def make_world(kafka: KafkaBroker, topic_name: str) -> Make:
    """Makes a world whose topic is still to be created; properties are the connector's, `client` librdkafka's."""

    def make(
        properties: dict[str, str] | None = None, *, topic: str = topic_name, client: dict[str, str] | None = None
    ) -> LiveTopic:
        return LiveTopic(kafka, topic, properties or {}, client or {})

    return make


@pytest.fixture
def world(make_world: Make) -> LiveTopic:
    """One topic of one partition, exported in objects of three records."""
    return make_world().create()


@pytest.fixture(scope="session")
def cleaner(kafka: KafkaBroker) -> Iterator[None]:
    """The broker's log cleaner looks for work ten times a second instead of every 15 s."""
    _alter(kafka, AlterConfigOpType.SET)
    yield
    _alter(kafka, AlterConfigOpType.DELETE)


def _alter(kafka: KafkaBroker, operation: AlterConfigOpType) -> None:
    name = "log.cleaner.backoff.ms"
    entry = ConfigEntry(name, "100", incremental_operation=operation)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    admin = kafka.admin()
    admin.incremental_alter_configs([resource])[resource].result(30)


#: Of a run, when something happens to its topic.
MOMENTS: Final = ("before the reading", "while it is read", "after the last record")


def recreation(world: LiveTopic, when: str) -> Meanwhile:
    """Of a topic whose records 0 and 1 are exported and 2 to 1199 are not: at a moment of the next run it is created
    again, with 5000 to 6199 in it."""
    world.send(0, 1)
    world.run_well()
    _fill(world, range(2, 1200))

    def recreate() -> None:
        world.recreate()
        _fill(world, range(5000, 6200))

    before, midway, after = MOMENTS
    happens = {before: Meanwhile([recreate]), midway: Meanwhile(midway=recreate), after: Meanwhile(after=recreate)}
    return happens[when]


def _fill(world: LiveTopic, numbers: Iterable[int]) -> None:
    for number in numbers:
        world.send_bytes(b'{"n":%d}' % number, now=False)
    world.flush()
