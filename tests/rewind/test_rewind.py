"""Positions set by hand: what is exported again, what readers of the log skip, and what is refused."""

from __future__ import annotations

import json

import pytest

from kafka_s3.errors import EXIT_DATA, EXIT_DONE, ConfigurationError, Fenced, KafkaUnavailable, LogMissing
from kafka_s3.log.entries import Kind
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.rewind.rewind import Found, accept_by_hand, look, rewind
from kafka_s3.settings.kafka import KafkaSettings
from kafka_s3.settings.run import Policies
from kafka_s3.verify.verify import verify
from tests.export.harness import MemoryExport
from tests.export.place import TOPIC, SimpleExport
from tests.support import hear, identified, make_settings, request, rows_of

TP = TopicPartition(TOPIC, 0)


def exported(*counts: int, **settings: object) -> SimpleExport:
    """One run of partition 0 for each count, and three records of partition 1 in the first."""
    place = SimpleExport(**settings)
    place.produce(1, 3)
    for number, count in enumerate(counts):
        place.produce(0, count)
        assert place.run(f"run-{number}").exit_status == EXIT_DONE
    return place


def go_back(place: SimpleExport, to: int) -> Found:
    found = look(place.exporter(), {TP: to})
    rewind(place.exporter(), found, request("by-hand"))
    return found


def read_log(place: SimpleExport, partition: int = 0) -> list[int]:
    """The offsets that a reader of the log finds: it skips the ranges that are withdrawn."""
    contents = place.store.contents()
    live: list[tuple[int, list[int]]] = []
    kept: list[int] = []
    for entry in place.entries():
        for restart in entry.restarts:
            if restart.partition == partition and restart.withdrawn:
                live = [(start, offsets) for start, offsets in live if start < restart.position]
            elif restart.partition == partition:
                kept += [offset for _, offsets in live for offset in offsets]
                live = []
        for done in entry.ranges:
            if done.partition == partition:
                rows = [row for made in done.objects for row in rows_of(contents[made.key], made.key)]
                live.append((done.start, [row["o"] for row in rows]))
    return kept + [offset for _, offsets in live for offset in offsets]


def test_offsets_are_exported_again_and_read_once() -> None:
    """Two ranges are withdrawn; nothing is deleted or edited; the next run writes them under another generation."""
    place = exported(4, 4, 4)
    before = place.store.contents()
    found = go_back(place, 4)
    (move,) = found.moves
    assert (move.before, move.position, move.records) == (12, 4, 8)
    assert move.keys == sorted(key for key in place.data() if "orders+0+" in key)[-len(move.keys) :]
    assert (place.newest.kind, place.positions()) == (Kind.REWIND, {0: 4, 1: 3})
    assert read_log(place) == [0, 1, 2, 3]
    assert place.run("again").exit_status == EXIT_DONE
    assert read_log(place) == list(range(12))
    assert before.items() <= place.store.contents().items()
    assert all("+g1" in made.key for done in place.newest.ranges for made in done.objects)
    assert read_log(place, 1) == [0, 1, 2]


def test_it_goes_back_to_where_a_range_begins() -> None:
    """An object is withdrawn whole or not at all."""
    place = exported(4, 4, 4)
    (move,) = go_back(place, 6).moves
    assert (move.asked, move.position) == (6, 4)


def test_a_second_rewind_below_the_first() -> None:
    """What the first withdrew is not counted again; what came after it is."""
    place = exported(4, 4, 4)
    go_back(place, 8)
    assert place.run("again").exit_status == EXIT_DONE
    (move,) = go_back(place, 4).moves
    assert [(done.start, done.next_offset) for done in move.withdrawn] == [(8, 12), (4, 8)]
    assert place.run("and again").exit_status == EXIT_DONE
    assert read_log(place) == list(range(12))
    assert place.newest.topics[TOPIC].generation == 2


def test_before_the_first_sight_if_kafka_has_it() -> None:
    """auto.offset.reset=latest began at 5: what is older can be had, too, and nothing is withdrawn for it twice."""
    place = SimpleExport(start="latest")
    place.produce(0, 5)
    place.run("first")
    place.produce(0, 2)
    place.run("second")
    assert read_log(place) == [5, 6]
    go_back(place, 1)
    place.run("third")
    assert read_log(place) == [1, 2, 3, 4, 5, 6]


def test_an_open_plan_is_given_up() -> None:
    """The rewind takes its slot, so the run that wakes with it is fenced, and its objects stay unlisted."""
    place = exported(4)
    place.produce(0, 4)
    place.die_while_exporting()
    found = go_back(place, 0)
    assert found.closes is not None
    assert place.newest.plan_sha256 == found.closes.sha256
    assert place.run("again").exit_status == EXIT_DONE
    assert read_log(place) == list(range(8))


def test_a_run_at_work_is_fenced() -> None:
    place = exported(4)
    place.produce(0, 4)

    def meanwhile() -> None:
        place.before_execute = lambda: None
        go_back(place, 0)

    place.before_execute = meanwhile
    with pytest.raises(Fenced, match="by-hand"):
        place.run("at work")
    assert place.run("again").exit_status == EXIT_DONE
    assert read_log(place) == list(range(8))


def test_a_rewind_that_somebody_overtook_writes_nothing() -> None:
    place = exported(4)
    found = look(place.exporter(), {TP: 0})
    place.produce(0, 1)
    place.run("other")
    before = place.store.contents()
    with pytest.raises(Fenced):
        rewind(place.exporter(), found, request("by-hand"))
    assert place.store.contents() == before


def test_what_failed_there_is_planned_afresh() -> None:
    """A bad record holds the partition up; behind the rewind its range is another one."""
    place = exported(4)
    place.poison(0)
    place.produce(0, 1)
    assert place.run("bad").exit_status == EXIT_DATA
    go_back(place, 0)
    assert place.newest.failed == ()
    assert place.run("again").exit_status == EXIT_DATA
    assert read_log(place) == [0, 1, 2, 3]


def test_failures_of_another_configuration_are_not_carried_on() -> None:
    """The rewind is written under the new one, whose runs would plan the old bounds again."""
    place = exported(4)
    place.produce(1, 2)
    place.broker.fail_next("read", KafkaUnavailable("out"))
    place.run("fails")
    assert [(each.partition, each.start) for each in place.newest.failed] == [(1, 3)]
    place.settings = make_settings(flush_size=7)
    go_back(place, 0)
    assert place.newest.failed == ()


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ((TP, 8), "not below its position 8"),
        ((TopicPartition(TOPIC, 7), 0), "the log does not know this partition"),
        ((TopicPartition("nothing", 0), 0), "the log does not know this partition"),
    ],
)
def test_what_cannot_be_is_refused(target: tuple[TopicPartition, int], says: str) -> None:
    place = exported(4, 4)
    before = place.store.contents()
    with pytest.raises(ConfigurationError, match=says):
        look(place.exporter(), dict([target]))
    assert place.store.contents() == before


def test_every_problem_is_said_at_once() -> None:
    place = exported(4)
    with pytest.raises(ConfigurationError) as caught:
        look(place.exporter(), {TP: 9, TopicPartition(TOPIC, 7): 0})
    assert len(caught.value.problems) == 2


def test_what_kafka_no_longer_has_is_not_withdrawn() -> None:
    """Withdrawn and not to be had again would be lost."""
    place = exported(4, 4)
    place.broker.set_log_start(TOPIC, 0, 2)
    with pytest.raises(ConfigurationError, match="Kafka holds nothing below 2 any more"):
        look(place.exporter(), {TP: 3})
    (move,) = go_back(place, 5).moves
    assert move.position == 4


def test_records_of_a_log_that_is_gone_stay() -> None:
    """Behind a restart the offsets are of another log: nothing of it can be exported again."""
    place = exported(4, policies=Policies(record_data_loss=True))
    place.broker.truncate(TOPIC, 0, 2)
    for offset in range(2, 8):
        place.broker.append(TOPIC, 0, Record(offset, json.dumps({"o": offset + 100}).encode()))
    assert place.run("second").exit_status == EXIT_DONE
    with pytest.raises(ConfigurationError, match="below 2 its records are of a log that Kafka no longer has"):
        look(place.exporter(), {TP: 1})
    go_back(place, 5)
    assert place.positions()[0] == 2
    assert place.run("third").exit_status == EXIT_DONE
    assert read_log(place) == [0, 1, 2, 3, *range(102, 108)]


def test_records_of_a_partition_that_was_gone_for_a_while_stay() -> None:
    """A topic created again with fewer partitions, which it gets back later: its old records are of another log."""
    place = exported(4, policies=Policies(restart_recreated=True))
    place.broker.delete_topic(TOPIC)
    place.broker.create_topic(TOPIC, 1)
    assert place.run("fewer").exit_status == EXIT_DONE
    place.broker.create_topic(TOPIC, 2)
    place.produce(1, 2)
    assert place.run("again").exit_status == EXIT_DONE
    rewind(place.exporter(), look(place.exporter(), {TopicPartition(TOPIC, 1): 0}), request("by-hand"))
    assert place.run("rewound").exit_status == EXIT_DONE
    assert read_log(place, 1) == [0, 1, 2, 0, 1]
    assert verify(place.settings, place.log, None, tell=lambda _: None).findings == ()


def test_without_a_log_there_is_nothing_to_rewind() -> None:
    with pytest.raises(LogMissing, match="nothing to rewind"):
        look(SimpleExport().exporter(), {TP: 0})


# Accepting.


def test_a_loss_is_accepted_once() -> None:
    """The entry holds the gap; the next loss is an error again."""
    place = exported(4)
    place.produce(0, 4)
    place.broker.set_log_start(TOPIC, 0, 6)
    assert place.run("fails").exit_status == EXIT_DATA
    _, (left,) = accept_by_hand(place.exporter(), ["orders-0"], request("by-hand"), hear(place.told))
    assert "[4, 6) are gone" in str(left)
    assert [(gap.start, gap.end) for gap in place.newest.gaps] == [(4, 6)]
    assert place.run("goes on").exit_status == EXIT_DONE
    place.produce(0, 4)
    place.broker.set_log_start(TOPIC, 0, 10)
    assert place.run("fails again").exit_status == EXIT_DATA


def test_a_topic_created_again_is_accepted_by_its_name() -> None:
    place = exported(4)
    place.broker.recreate_topic(TOPIC)
    place.produce(0, 2)
    accept_by_hand(place.exporter(), ["orders"], request("by-hand"), hear(place.told))
    assert place.run("goes on").exit_status == EXIT_DONE
    assert read_log(place) == [0, 1, 2, 3, 0, 1]


def test_what_is_well_or_beyond_help_is_not_accepted() -> None:
    place = exported(4)
    with pytest.raises(ConfigurationError, match="nothing is wrong with it"):
        accept_by_hand(place.exporter(), ["orders-0"], request("by-hand"), hear(place.told))
    place.broker.delete_topic(TOPIC)
    place.broker.create_topic("other")
    with pytest.raises(ConfigurationError, match="was deleted"):
        accept_by_hand(place.exporter(), ["orders"], request("by-hand"), hear(place.told))


def test_a_topic_can_go_back_below_its_first_position() -> None:
    """A topic whose first positions are not in the log's first entry is rewound below them like any other."""
    late = TopicPartition("late", 0)
    world = MemoryExport(
        settings=make_settings(topics=(), topics_regex="orders|late", kafka=KafkaSettings({}, start="latest"))
    )
    world.produce(0, 2)
    world.run()
    world.broker.create_topic("late", 1)
    for offset in range(8):
        world.broker.append("late", 0, identified(0, offset))
        if offset == 4:
            world.run()
    world.run()
    (move,) = look(world.exporter, {late: 2}).moves
    assert (move.before, move.position, [done.start for done in move.withdrawn]) == (8, 2, [5])
