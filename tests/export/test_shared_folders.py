"""Topics whose objects lie in one folder (`export.topic.folder=false`), the bucket's root: told apart by names."""

from __future__ import annotations

import pytest

from kafka_s3.errors import EXIT_DONE, LogMissing
from kafka_s3.file_template import parse_file_template
from kafka_s3.naming import KeyLayout
from kafka_s3.verify.verify import Kafka, verify
from tests.export.place import DiedError, SimpleExport, die
from tests.support import objects_of

NAMES = parse_file_template("{{topic}}-{{partition}}-{{start_offset}}", shared=True)
LAYOUT = KeyLayout(topics_dir="", file_template=NAMES, topic_folder=False, folders="partition=[^/]+")
#: Neither is a prefix of the other's names by chance only: all of them are.
TOPICS = ("orders", "orders-0", "orders-0-0")


def made() -> SimpleExport:
    place = SimpleExport(partitions=1, flush_size=4, layout=LAYOUT, topics=TOPICS)
    for topic in TOPICS[1:]:
        place.broker.create_topic(topic, 1)
    return place


def data(place: SimpleExport) -> set[str]:
    return {key for key in place.store.contents() if not key.startswith("_kafka_s3/")}


def names(topic: str, *starts: int) -> set[str]:
    return {f"partition=0/{topic}-0-{start}.json" for start in starts}


def test_a_retry_finds_the_objects_of_every_topic() -> None:
    """What a dead run left is taken by the next one, each object by the topic it is of."""
    place = made()
    for topic in TOPICS:
        place.produce(0, 6, topic=topic)
    place.while_reading = die
    with pytest.raises(DiedError):
        place.run("dead")
    place.while_reading = lambda: None
    assert place.run("next").exit_status == EXIT_DONE
    expected = set.union(*(names(topic, 0, 4) for topic in TOPICS))
    assert {each.key for each in objects_of(place.log.entries())} == expected == data(place)
    found = verify(place.settings, place.log, Kafka(place.broker, place.broker), tell=lambda _: None)
    assert (found.findings, found.notes, found.orphans) == ((), (), ())


def test_a_topic_that_comes_later_finds_others_there() -> None:
    """Objects of other topics are no reason to refuse it; objects of its own that no log lists are."""
    place = SimpleExport(partitions=1, flush_size=4, layout=LAYOUT, topics=(), topics_regex="orders.*")
    place.produce(0, 3)
    assert place.run("first").exit_status == EXIT_DONE
    place.broker.create_topic(TOPICS[1], 1)
    place.produce(0, 3, topic=TOPICS[1])
    assert place.run("second").exit_status == EXIT_DONE
    assert data(place) == names(TOPICS[0], 0) | names(TOPICS[1], 0)
    place.store.overwrite(f"partition=0/{TOPICS[2]}-0-0.json", b"{}\n")
    place.broker.create_topic(TOPICS[2], 1)
    with pytest.raises(LogMissing, match="Topic orders-0-0 has objects under"):
        place.run("third")


def test_what_others_have_there_is_no_orphan() -> None:
    """Names of another shape, in another folder or of another topic; an object of ours that nobody lists is one."""
    place = made()
    place.produce(0, 3)
    assert place.run("first").exit_status == EXIT_DONE
    others = ("backup/partition=0/orders-0-1.json", "orders-0-1.json", "partition=0/others-0-1.json", "readme.txt")
    for key in (*others, "partition=0/orders-0-1.json"):
        place.store.overwrite(key, b"{}\n")
    found = verify(place.settings, place.log, Kafka(place.broker, place.broker), tell=lambda _: None)
    assert [orphan.key for orphan in found.orphans or ()] == ["partition=0/orders-0-1.json"]
