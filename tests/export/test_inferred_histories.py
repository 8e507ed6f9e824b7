"""Inferred schemas after failures, rewinds and re-exports, and in logs that are signed, over memory."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from kafka_s3.bucket.window import log_layout, of_window
from kafka_s3.errors import KafkaUnavailable, LogDamaged
from kafka_s3.export.opening import PLANNINGS_MAX
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import Interval
from kafka_s3.log.store import Log
from kafka_s3.plan.results import RangeResult
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.reexport.run import run as run_again
from kafka_s3.rewind.rewind import look, rewind
from tests.export.test_inferred_schemas import TOPIC, Inferring, settings_of
from tests.support import hear, request

WINDOW = Interval(0, 1000)


def test_a_rewind_goes_on_with_the_newest_schema() -> None:
    """Offsets that are exported again have all the columns that the topic has by now."""
    place = Inferring()
    place.send({"id": 1})
    place.run("one")
    place.send({"id": 2, "new": 1})
    place.run("two")
    before = place.schema()
    found = look(place.exporter, {TopicPartition(TOPIC, 0): 0})
    rewind(place.exporter, found, request("by-hand"))
    assert place.schema() == before
    place.run("three")
    assert place.schema() == before
    assert place.rows()[-2:] == [{"id": 1, "new": None, "_rest": None}, {"id": 2, "new": 1, "_rest": None}]


def test_a_failed_range_comes_again_as_it_was() -> None:
    """A range that failed is planned with the schema of its first try, though newer records have more fields."""
    place = Inferring(partitions=2)
    place.send({"id": 1}, partition=0)
    place.send({"id": 2}, partition=1)
    place.fails = 1
    assert place.run("one").exit_status != 0
    assert place.newest.failed
    place.fails = None
    first = place.schema()
    place.send({"id": 3, "new": 1}, partition=0)
    place.run("two")
    kept = [each.entry for each in place.log.entries()][::-1]
    repeated = next(each for each in kept if any(done.partition == 1 for done in each.ranges))
    text = repeated.topics[TOPIC].schema_text
    assert text is not None
    assert [each["name"] for each in json.loads(text)["fields"]] == list(first)
    assert sorted(row["id"] for row in place.rows()) == [1, 2, 3]


def windowed() -> Inferring:
    """Two commits of dated records, the second one with a field more."""
    place = Inferring(timezone="UTC", locale="en", export_timestamps_enable="true")
    for number, value in enumerate([{"id": 1}, {"id": 2.5, "new": 1}]):
        place.broker.append(TOPIC, 0, Record(number, json.dumps(value).encode(), timestamp_ms=100))
        place.run(f"live-{number}")
    return place


def test_a_window_has_the_live_schema() -> None:
    """What is exported again is written under the live log's newest schema, which the window's own plan pins."""
    place = windowed()
    mine = of_window(place.settings, WINDOW)

    def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        return [export_range(mine, task, place.store, place.broker) for task in tasks]

    asked = request("again", interval=(WINDOW.start_ms, WINDOW.end_ms))
    assert run_again(place.exporter, asked, execute, hear([])).exit_status == 0
    head = Log(place.store, log_layout(place.settings, WINDOW)).newest()
    assert head is not None
    assert sum(done.records for done in head.entry.ranges) == 2
    assert head.entry.topics[TOPIC].value_schema == place.newest.topics[TOPIC].value_schema


def test_a_window_without_a_live_schema_samples() -> None:
    """The live export wrote JSON lines once: a window under today's configuration finds a schema for itself."""
    place = Inferring()
    place.settings = settings_of(
        format_class="io.confluent.connect.s3.format.json.JsonFormat",
        export_value_schema="",
        export_timestamps_enable="true",
    )
    place.broker.append(TOPIC, 0, Record(0, b'{"id": 1}', timestamp_ms=100))
    place.run("lines")
    assert place.newest.topics[TOPIC].value_schema is None
    place.settings = settings_of(export_timestamps_enable="true")
    place.run("nothing")
    mine = of_window(place.settings, WINDOW)

    def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        return [export_range(mine, task, place.store, place.broker) for task in tasks]

    asked = request("again", interval=(WINDOW.start_ms, WINDOW.end_ms))
    assert run_again(place.exporter, asked, execute, hear([])).exit_status == 0
    head = Log(place.store, log_layout(place.settings, WINDOW)).newest()
    assert head is not None
    assert "id" in str(head.entry.topics[TOPIC].schema_text)


def test_a_signed_log_has_signed_schemas() -> None:
    """The schema is part of the document: another one under the same signature is refused."""
    place = Inferring(export_log_key="0123456789abcdef0123456789abcdef")
    place.send({"id": 1})
    place.run()
    head = place.log.newest()
    assert head is not None
    key = place.log.layout.log_key(head.entry.seq)
    body = place.store.contents()[key]
    place.store.delete(key)
    place.store.put_if_absent(key, body.replace(rb"\"id\"", rb"\"is\""))
    place.send({"id": 2})
    with pytest.raises(LogDamaged):
        place.run("next")


def test_a_sample_that_fails_is_kafkas_failure() -> None:
    """Kafka that cannot be read before a plan ends the run as it ends any: nothing is planned."""
    place = Inferring()
    place.send({"id": 1})
    for _ in range(PLANNINGS_MAX):
        place.broker.fail_next("open", KafkaUnavailable("no leader"))
    with pytest.raises(KafkaUnavailable):
        place.run()
    head = place.log.newest()
    assert head is not None
    assert place.log.open_plan(head) is None
