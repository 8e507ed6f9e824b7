"""Markers of completeness over the ports in memory: they never lie, and every complete partition of time gets one."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from kafka_s3.adopt.objects import sort_out
from kafka_s3.bucket import owners
from kafka_s3.errors import ConfigurationError, LogDamaged
from kafka_s3.export.run import prepare, run
from kafka_s3.gc.gc import collect
from kafka_s3.log.entries import Interval
from kafka_s3.naming import marker_key
from kafka_s3.plan.batch import RunRequest
from kafka_s3.publish.completeness import Ran, mark_complete
from kafka_s3.verify.verify import verify
from tests.publish.markers import TICK_MS, TOPICS, MarkedExport, hour, make
from tests.support import HOUR_MS, hear


@pytest.fixture
def world() -> MarkedExport:
    return MarkedExport()


BY_DAY = {
    "partitioner_class": "TimeBasedPartitioner",
    "path_format": "YYYY-MM-dd",
    "partition_duration_ms": "3600000",
}
PARTITION = st.tuples(st.sampled_from(TOPICS), st.sampled_from((0, 1)))
STEPS = st.one_of(
    st.just(("tick",)),
    st.tuples(st.just("produce"), PARTITION, st.integers(-6, 5)),
    st.tuples(st.just("hold"), PARTITION),
    st.tuples(st.just("release"), PARTITION),
    st.tuples(st.just("run"), st.lists(PARTITION, max_size=2), st.sampled_from((1, 1000))),
    st.just(("now",)),
    st.just(("die",)),
)


@pytest.mark.heavy
@hypothesis_settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=40), st.sampled_from(("0", str(HOUR_MS), str(TICK_MS))), st.booleans())
def test_a_marker_never_lies_and_every_complete_hour_gets_one(
    steps: list[tuple[Any, ...]], lateness: str, by_day: bool
) -> None:
    """Whatever is produced, late or dated ahead, held back by transactions, read by runs that end well, fail for some
    partitions or die: where a marker stands, every record that came in time is committed. And once all is calm, each
    hour (or day, where paths are of days over buckets of an hour) from the first on has its marker."""
    world = MarkedExport(make(export_completeness_lateness_ms=lateness, **(BY_DAY if by_day else {})))
    for name, *what in steps:
        match name:
            case "tick":
                world.now_ms += TICK_MS
            case "produce":
                (topic, partition), ticks = what
                world.produce(world.now_ms + ticks * TICK_MS, topic, partition)
            case "hold":
                [(topic, partition)] = what
                world.broker.set_last_stable(topic, partition, len(world.arrived.get((topic, partition), [])))
            case "release":
                [(topic, partition)] = what
                world.broker.set_last_stable(topic, partition, None)
            case "run":
                world.run(*what[:1], most=what[1])
            case "now":
                world.run(now=True)
            case "die":
                world.die()
        world.check()
    for topic in TOPICS:
        for partition in (0, 1):
            world.broker.set_last_stable(topic, partition, None)
    for _ in range(30 if by_day else 8):
        world.now_ms += HOUR_MS
        world.run()
        world.check()
    for topic in TOPICS:
        spans = [(each.start_ms, each.end_ms) for each in world.markers(topic)]
        assert all(before[1] == after[0] for before, after in itertools.pairwise(spans))
        whole_ms = (24 if by_day else 1) * HOUR_MS
        assert spans[-1][1] + int(lateness) > world.interval.end_ms - whole_ms


def test_an_hour_is_marked_when_its_run_has_ended(world: MarkedExport) -> None:
    """The marker stands beside the hour's objects and holds what proves it: per Kafka partition the position and the
    first offset of the next hour, and the log entry that says so. An hour without any record gets one, too, and so
    does a topic without any."""
    world.produce(hour(0) + 5)
    world.now_ms = hour(1) + 10
    world.produce(hour(1) + 7)
    assert world.run() == [
        "topics/orders/year=2026/month=11/day=20/hour=08/_COMPLETE.json",
        "topics/refunds/year=2026/month=11/day=20/hour=08/_COMPLETE.json",
    ]
    [marker] = world.markers()
    head = world.exporter.log.newest()
    assert head is not None
    assert (marker.start_ms, marker.end_ms, marker.lateness_ms, marker.due_ms) == (hour(0), hour(1), 0, hour(1))
    assert (marker.seq, marker.sha256) == (head.entry.seq, head.sha256)
    assert marker.key == world.exporter.log.layout.log_key(marker.seq)
    assert msgspec.to_builtins(marker.partitions) == {
        "0": {"position": 1, "first_offset": 1, "first_timestamp_ms": hour(1) + 7, "log_end": None},
        "1": {"position": 0, "first_offset": None, "first_timestamp_ms": None, "log_end": 0},
    }
    assert f"before the first one dated {hour(1)} or later" in marker.rule
    for number in (2, 3):
        world.now_ms = hour(number)
        assert len(world.run()) == 2
    assert world.hours() == world.hours("refunds") == [0, 1, 2]


def test_lateness(world: MarkedExport) -> None:
    """With an hour of lateness the marker comes an hour later, and waits for what belongs to it; what comes later still
    goes into its path all the same, beside a marker that stays as it is."""
    world.settings = make(export_completeness_lateness_ms=str(HOUR_MS))
    world.produce(hour(0) + 5)
    world.now_ms = hour(1)
    world.run()
    assert world.hours() == [-1]
    world.produce(hour(0) + 6)
    world.produce(hour(1) + 1)
    world.now_ms = hour(2) + 1
    world.produce(hour(2) + 1)
    world.run()
    assert world.hours() == [-1, 0]
    [_, marker] = world.markers()
    assert (marker.due_ms, marker.partitions["0"].position, marker.partitions["0"].first_offset) == (hour(2), 3, 3)
    before = world.objects()
    world.now_ms = hour(2) + 5
    world.produce(hour(0) + 7)
    world.now_ms = hour(3)
    world.run()
    [late] = set(world.objects()) - set(before) - {key for key in world.objects() if "hour=08" not in key}
    assert late == "topics/orders/year=2026/month=11/day=20/hour=08/orders+0+0000000004.json"
    assert world.markers()[1] == marker


def test_an_open_transaction_holds_its_hour_back(world: MarkedExport) -> None:
    """What a transaction holds may belong to the hour: there is no marker until it has ended and is exported."""
    world.produce(hour(0) + 5)
    world.broker.set_last_stable("orders", 0, 0)
    world.now_ms = hour(1)
    world.produce(hour(1) + 5)
    world.run()
    assert (world.hours(), world.hours("refunds")) == ([], [0])
    world.broker.set_last_stable("orders", 0, None)
    world.now_ms = hour(2)
    world.run()
    assert world.hours() == [0, 1]


def test_a_topic_that_fails_holds_back_no_other(world: MarkedExport) -> None:
    """A partition that fails keeps the markers of its topic back, those of another topic come; later runs make up."""
    for topic in TOPICS:
        world.produce(hour(0) + 5, topic)
    world.now_ms = hour(1)
    world.run(failing=[("orders", 0)])
    assert (world.hours(), world.hours("refunds")) == ([], [0])
    world.now_ms = hour(2)
    world.run()
    assert (world.hours(), world.hours("refunds")) == ([0, 1], [0, 1])


def test_a_topic_that_goes_away_after_its_run(world: MarkedExport) -> None:
    """What can no longer be asked about is not marked, and the other topic is."""
    world.now_ms = hour(1)
    run(world.exporter, world.request(), world.execute, lambda _: None)
    world.broker.delete_topic("refunds")
    world.mark(interval=world.interval)
    assert (world.hours(), world.hours("refunds")) == ([0], [])


def test_a_run_that_dies_marks_nothing(world: MarkedExport) -> None:
    """After a run that left its plan open, whatever its task was marked as afterwards, nothing is complete."""
    world.produce(hour(0) + 5)
    world.now_ms = hour(1)
    world.produce(hour(1) + 5)
    world.die()
    world.mark(interval=world.interval)
    assert (world.hours(), world.hours("refunds")) == ([], [])
    world.run()
    assert (world.hours(), world.hours("refunds")) == ([0], [0])


def test_a_clock_ahead_marks_nothing_too_early(world: MarkedExport) -> None:
    """A record dated two days ahead is no proof of the hours between: their markers come when they are over."""
    world.produce(hour(48))
    for number in (1, 2):
        world.now_ms = hour(number)
        world.produce(hour(number) - 5)
        world.run()
    assert world.hours() == [0, 1]
    assert world.exporter.log.newest().entry.topics["orders"].positions[0] == 3  # type: ignore[union-attr]


def test_an_interval_that_is_not_over(world: MarkedExport) -> None:
    """A run for an hour that is under way says nothing about it."""
    world.now_ms = hour(1)
    world.run()
    world.produce(hour(1) + 5)
    world.now_ms = hour(2) - TICK_MS
    whole = RunRequest("early", 1, Interval(hour(1), hour(2)), world.now_ms)
    assert run(world.exporter, whole, world.execute, lambda _: None).committed
    assert world.mark(interval=whole.interval) == []
    world.now_ms = hour(2)
    assert len(world.run()) == 2


def test_a_pause_is_made_up_for(world: MarkedExport) -> None:
    """After a pause each missed hour gets its marker, so many a run; a run writes none twice, and none without an
    interval."""
    world.now_ms = hour(1)
    world.run()
    world.now_ms = hour(8)
    assert world.run(now=True) == []
    assert [len(world.run(most=4)) for _ in range(5)] == [4, 4, 4, 2, 0]
    assert world.hours() == world.hours("refunds") == [*range(8)]


def test_lost_state_is_no_harm(world: MarkedExport) -> None:
    """After a crash between markers and the note of how far they are, the next run puts them again: nothing changes,
    and it goes on from there."""
    world.now_ms = hour(1)
    world.run()
    world.now_ms = hour(2)
    world.run()
    before = world.markers()
    [newest, *_] = world.store.list("_kafka_s3/orders/complete/")
    world.store.delete(newest.key)
    world.now_ms = hour(3)
    assert len(world.run()) == 4
    assert world.markers()[:2] == before
    assert world.hours() == [0, 1, 2]


def test_from_the_end_on(world: MarkedExport) -> None:
    """With auto.offset.reset=latest the hour under way lacks its beginning: markers begin with the next."""
    world.settings = make(consumer_override_auto_offset_reset="latest")
    for number in (1, 2, 3):
        world.now_ms = hour(number) + TICK_MS
        world.run()
    assert world.hours() == [2]


def test_paths_of_days_over_buckets_of_an_hour(world: MarkedExport) -> None:
    """Where the path is coarser than the duration, its marker comes with its last hour, for the whole day."""
    world.settings = make(**BY_DAY)
    for number in range(1, 18):
        world.now_ms = hour(number)
        world.run()
        assert len(world.markers()) == (number >= 16)
    [marker] = world.markers()
    assert marker.path == "2026-11-20"
    assert (marker.start_ms, marker.end_ms) == (hour(-8), hour(16))


def test_clocks_that_are_set_back(world: MarkedExport) -> None:
    """The hour that clocks in Berlin show twice is one path of two hours, with one marker; no hour is left out."""
    world.settings = make(timezone="Europe/Berlin")
    midnight = 1_792_879_200_000  # 2026-10-25T00:00+02:00
    for number in range(1, 6):
        world.now_ms = midnight + number * HOUR_MS
        world.run()
    spans = [((each.start_ms - midnight) // HOUR_MS, (each.end_ms - midnight) // HOUR_MS) for each in world.markers()]
    assert spans == [(0, 1), (1, 2), (2, 4), (4, 5)]
    assert [each.path[-2:] for each in world.markers()] == ["00", "01", "02", "03"]


def test_by_the_logical_time(world: MarkedExport) -> None:
    """Under the extractor Wallclock a path is of runs: its marker comes when the hour's run has come to its end, and
    no later run of the schedule writes there. One that failed for a topic leaves that topic's hour open."""
    world.settings = make(timestamp_extractor="Wallclock")
    world.produce(hour(-5))
    world.produce(hour(0), "refunds")
    world.now_ms = hour(1)
    world.run(failing=[("refunds", 0)])
    assert (world.hours(), world.hours("refunds")) == ([0], [])
    before = world.objects()
    assert [key.rpartition("/")[0][-7:] for key in before] == ["hour=08"]
    assert world.markers()[0].partitions["0"].position == 1
    assert "begins before" in world.markers()[0].rule
    world.produce(hour(-4))
    world.now_ms = hour(2)
    world.run()
    assert (world.hours(), world.hours("refunds")) == ([0, 1], [0, 1])
    assert [key for key in world.objects() if "hour=08" in key] == before


def test_markers_are_no_data(world: MarkedExport) -> None:
    """`verify` finds nothing wrong and no orphan, `gc` nothing to delete, `adopt` nothing strange."""
    world.produce(hour(0) + 5)
    world.now_ms = hour(1)
    world.run()
    assert world.hours() == [0]
    verified = verify(world.settings, world.exporter.log, None, tell=lambda _: None)
    assert (verified.findings_count, verified.orphans) == (0, ())
    garbage = collect(world.settings, world.exporter.log)
    assert garbage is not None
    assert (garbage.objects, garbage.waiting) == ((), ())
    stored = sort_out(world.settings.layout, "orders", world.store.list("topics/orders/"))
    assert (stored.strangers, list(stored.partitions)) == ((), [0])


def test_another_owner_s_topic_is_not_marked(world: MarkedExport) -> None:
    """A marker lies among the topic's data keys, which have one owner: also where nothing was exported yet."""
    world.broker.delete_topic("refunds")
    world.settings = make(topics="orders")
    other = replace(world.exporter, settings=replace(world.settings, name="other"))
    world.now_ms = hour(1)
    prepare(world.exporter, world.request())
    owners.claim(other.log, other.settings, "orders")
    with pytest.raises(ConfigurationError, match="belongs to connector other"):
        world.run()
    assert world.markers() == []


def test_somebody_else_s_file_is_left_alone(world: MarkedExport) -> None:
    """A file of the marker's name that is none stays as it is, and holds nothing up."""
    key = marker_key(world.settings.layout, "orders", "year=2026/month=11/day=20/hour=08")
    world.now_ms = hour(1)
    prepare(world.exporter, world.request())
    world.store.put_if_absent(key, b"mine")
    said: list[str] = []
    run(world.exporter, world.request(), lambda tasks: [], lambda _: None)
    mark_complete(world.exporter, Ran(world.interval, world.now_ms), hear(said))
    assert any("not a marker of this exporter" in line for line in said)
    assert world.store.get(key) == b"mine"
    world.now_ms = hour(2)
    assert len(world.run()) == 2


@pytest.mark.parametrize(
    "body", [b"", b"[1]", b'{"through": {"orders": "x"}}', b'{"format_version": 9, "through": {}}']
)
def test_a_note_that_cannot_be_read(world: MarkedExport, body: bytes) -> None:
    """How far the markers are is not believed unread: a damaged note is an error with its key."""
    world.now_ms = hour(1)
    world.run()
    key = world.exporter.log.layout.complete_key(1)
    world.store.put_if_absent(key, body)
    world.now_ms = hour(2)
    with pytest.raises(LogDamaged, match=key):
        world.run()


def test_without_the_property_nothing_is_written(world: MarkedExport) -> None:
    """No marker and no note, unless export.completeness.marker.enable asks for them."""
    world.settings = make(export_completeness_marker_enable="false")
    world.produce(hour(0))
    world.now_ms = hour(1)
    assert world.run() == []
    assert world.markers() == []
    assert not list(world.store.list("_kafka_s3/orders/complete/"))


def test_markers_shape_no_bytes() -> None:
    """Markers and lateness are no part of the configuration's hash: an unfinished plan is finished under others."""
    hashes = {
        make(export_completeness_marker_enable=on, export_completeness_lateness_ms=late).configuration_sha256
        for on, late in (("true", "0"), ("true", "60000"), ("false", "0"))
    }
    assert len(hashes) == 1
