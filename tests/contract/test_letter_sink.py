"""What every `DeadLetterSink` does: in memory, and over a real broker."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from kafka_s3.adapters.kafka import DeadLetterTopic
from kafka_s3.adapters.memory import MemoryBroker, MemoryDeadLetters, MemoryStore
from kafka_s3.dead_letter import DeadLetter
from kafka_s3.dead_letters.delivery import report
from kafka_s3.errors import LogDamaged
from kafka_s3.export.exporter import Exporter
from kafka_s3.log.store import Log
from kafka_s3.naming import LogLayout
from kafka_s3.ports import DeadLetterSink
from kafka_s3.settings.connect import DeadLetters
from kafka_s3.settings.kafka import KafkaSettings
from kafka_s3.settings.model import Settings
from tests.adapters.test_letter_topic import read
from tests.dead_letters.letters import commit_letters, letter
from tests.support import make_settings
from tools.parts.kafka import KafkaBroker


@dataclass
class Place:
    """A sink, and how to see the values of what is in it."""

    sink: DeadLetterSink
    settings: Settings
    values: Callable[[int], list[bytes | None]]


@pytest.fixture(params=["memory", "kafka"])
def place(request: pytest.FixtureRequest, topic_name: str) -> Iterator[Place]:
    settings = replace(make_settings(tolerate=True), dead_letters=DeadLetters(topic_name, replication=1))
    if request.param == "memory":
        memory = MemoryDeadLetters()
        yield Place(memory, settings, lambda _: [each.value for each in memory.sent])
        return
    kafka: KafkaBroker = request.getfixturevalue("kafka")
    settings = replace(settings, kafka=KafkaSettings({"bootstrap.servers": kafka.bootstrap_servers}))
    with contextlib.closing(DeadLetterTopic(settings)) as sink:
        yield Place(sink, settings, lambda count: [each.value() for each in read(kafka, topic_name, count)])


def numbered(*offsets: int) -> list[DeadLetter]:
    return [replace(letter(offset), value=str(offset).encode()) for offset in offsets]


def test_in_order_and_at_once(place: Place) -> None:
    """What `send` returns from is there, in its order; nothing at all is fine, and so is sending on."""
    place.sink.send([])
    place.sink.send(iter(numbered(3, 1)))
    assert place.values(2) == [b"3", b"1"]
    place.sink.send(numbered(3))
    assert place.values(3) == [b"3", b"1", b"3"]


def test_an_error_of_the_letters(place: Place) -> None:
    """Letters that cannot be read on end `send` with that error; it can be used again."""

    def damaged() -> Iterator[DeadLetter]:
        yield from numbered(1)
        raise LogDamaged("no letter")

    with pytest.raises(LogDamaged):
        place.sink.send(damaged())
    place.sink.send(numbered(2))
    assert b"2" in place.values(2)


def test_from_a_commit_into_the_topic(place: Place) -> None:
    """Reporting brings the letters of a commit into it, once."""
    log = Log(MemoryStore(), LogLayout("_kafka_s3", "orders"))
    commit_letters(log, *numbered(4, 7))
    exporter = Exporter(place.settings, log.store, MemoryBroker())
    assert report(exporter, place.sink, lambda _: None) == 2
    assert report(exporter, place.sink, lambda _: None) == 0
    assert place.values(2) == [b"4", b"7"]


def test_closed_twice(place: Place) -> None:
    """Closing is harmless when repeated, with and without anything sent."""
    place.sink.close()
    place.sink.close()
