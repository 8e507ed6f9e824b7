"""What readers get from an event: the objects of its log entry, checked, and nothing that the event makes up."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kafka_s3.errors import DataError, LogDamaged
from kafka_s3.export.run import run
from kafka_s3.log.entries import Kind
from kafka_s3.log.store import Log
from kafka_s3.naming import LogLayout
from kafka_s3.publish.announce import announcement, mark
from kafka_s3.publish.committed import announced, committed_by, newest, objects_of, read
from tests.export.harness import MemoryExport
from tests.support import LATER_MS, request

BUCKET = "bucket"


@pytest.fixture
def world() -> MemoryExport:
    """Two partitions with seven and two records, exported; an object holds three."""
    world = MemoryExport()
    world.produce(0, 7)
    world.produce(1, 2)
    world.run()
    return world


@pytest.fixture
def event(world: MemoryExport) -> dict[str, Any]:
    """What the commit's event says."""
    mark(world.exporter.log, 0)
    [event, _] = announcement(world.exporter.log, BUCKET, lambda _: True).events
    return event.extra


def test_from_an_event_to_the_records(world: MemoryExport, event: dict[str, Any]) -> None:
    """The event's entry lists its objects by partition and offset; each is read as it was committed."""
    entry = committed_by(world.exporter.log, BUCKET, event).entry
    found = list(objects_of(entry))
    assert [(each.tp.partition, each.object.first_offset, each.object.records) for each in found] == [
        (0, 0, 3),
        (0, 3, 3),
        (0, 6, 1),
        (1, 0, 2),
    ]
    assert [each.object.key for each in found] == event["keys"]
    assert sum(read(world.store, each.object).count(b"\n") for each in found) == event["records"] == 9
    assert list(objects_of(entry, "refunds")) == []
    assert list(objects_of(entry, "orders")) == found
    assert announced(world.exporter.log, BUCKET, event) == found
    assert announced(world.exporter.log, BUCKET, {**event, "topic": "refunds"}) == []


def test_an_event_of_an_empty_hour_has_no_objects(world: MemoryExport) -> None:
    """It names its own entry as proof of where everything stands; what others hold was announced before."""
    mark(world.exporter.log, 1)
    asked = request("empty", interval=(0, 10), now_ms=LATER_MS)
    run(world.exporter, asked, world._execute, lambda _: None)
    [empty, _] = announcement(world.exporter.log, BUCKET, lambda _: True, LATER_MS).events
    assert (empty.extra["kind"], empty.extra["complete_until_ms"]) == ("empty", 10)
    assert empty.extra["sha256"] == committed_by(world.exporter.log, BUCKET, empty.extra).sha256
    assert announced(world.exporter.log, BUCKET, empty.extra) == []


def test_without_an_event(world: MemoryExport, event: dict[str, Any]) -> None:
    """The newest entry with objects is what a reader gets; before anything was exported, nothing."""
    head = world.exporter.log.newest()
    assert head is not None
    void = msgspec.structs.replace(
        head.entry, seq=2, previous_sha256=head.sha256, kind=Kind.VOID, ranges=(), plan_sha256=None
    )
    world.exporter.log.put_entry(void)
    assert newest(world.exporter.log) == announced(world.exporter.log, BUCKET, event)
    assert newest(MemoryExport().exporter.log) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"key": "topics/orders/partition=0/orders+0+0000000000.json"}, "names no key under _kafka_s3/orders/log/"),
        ({"key": "_kafka_s3/refunds/log/9999999999999999998.json"}, "names no key under _kafka_s3/orders/log/"),
        ({"key": "_kafka_s3/orders/log/../log/9999999999999999998.json"}, "names no key under"),
        ({"key": "_kafka_s3/orders/plan/9999999999999999998.json"}, "names no key under"),
        ({"key": None}, "names no key under"),
        ({"key": ["x\n" * 500]}, "names no key under"),
        ({"key": "_kafka_s3/orders/log/9999999999999999000.json"}, "and there is none"),
        ({"sha256": "0" * 64}, "its event says '000"),
        ({"sha256": None}, "its event says None"),
        ({"entries": None}, "names no entries: None"),
        ({"entries": ["x" * 500]}, "names no entries"),
        ({"entries": [{}]}, "names no key under"),
        ({"bucket": "another"}, "names another bucket than bucket: 'another'"),
    ],
)
def test_an_event_is_not_believed(world: MemoryExport, event: dict[str, Any], wrong: dict[str, Any], said: str) -> None:
    """Whatever an event names beside an entry of this log, with this checksum, is an error that says so in one line."""
    with pytest.raises(DataError) as raised:
        announced(world.exporter.log, BUCKET, {**event, **wrong})
    named = {name: value for name, value in wrong.items() if name in ("key", "sha256")}
    if named:  # and so in each of the entries that it says are new
        with pytest.raises(DataError):
            announced(world.exporter.log, BUCKET, {**event, "entries": [{**event["entries"][0], **named}]})
    assert said in str(raised.value)
    assert len(raised.value.what) < 600
    assert "\n" not in raised.value.what


def test_an_entry_of_another_connector_under_our_key(world: MemoryExport, event: dict[str, Any]) -> None:
    """A log entry that is not this connector's is refused, wherever it was put."""
    moved = Log(world.store, LogLayout("_kafka_s3", "refunds"))
    key = event["key"].replace("/orders/", "/refunds/")
    world.store.put_if_absent(key, world.store.get(event["key"]) or b"")
    with pytest.raises(LogDamaged, match="says it is number 1 of connector orders"):
        committed_by(moved, BUCKET, {**event, "key": key})


@pytest.mark.parametrize("body", [None, b"", b"other bytes of the same kind\n"])
def test_an_object_that_is_another(world: MemoryExport, event: dict[str, Any], body: bytes | None) -> None:
    """An object that is gone, or was overwritten, is an error with its key, never fewer records."""
    made = next(objects_of(committed_by(world.exporter.log, BUCKET, event).entry)).object
    world.store.delete(made.key)
    if body is not None:
        world.store.put_if_absent(made.key, body)
    with pytest.raises(LogDamaged, match=made.key.replace("+", r"\+")):
        read(world.store, made)
