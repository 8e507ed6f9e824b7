"""When a window may be committed: not while Kafka shows a record of it that the live export has not."""

from __future__ import annotations

import contextlib

import pytest

from kafka_s3.errors import EXIT_DATA, EXIT_DONE, EXIT_TEMPORARY, TemporaryError
from kafka_s3.log.entries import Interval
from kafka_s3.ranges import TopicPartition
from kafka_s3.rewind.rewind import accept_by_hand, look, rewind
from kafka_s3.settings.run import Policies
from tests.export.place import TOPIC, DiedError, die
from tests.reexport.windows import WINDOW, WindowExport
from tests.support import LATER_MS, hear, request

TP = TopicPartition(TOPIC, 0)
FUTURE_MS = 2 * LATER_MS


def waits(place: WindowExport, *said: str, window: Interval = WINDOW) -> None:
    """Refused with 75, which names what is missing; nothing is written."""
    before = place.store.contents()
    with pytest.raises(TemporaryError) as refused:
        place.again(window=window)
    assert refused.value.exit_status == EXIT_TEMPORARY
    assert all(each in str(refused.value) for each in said), refused.value
    assert place.store.contents() == before


def is_whole(place: WindowExport, *times: int) -> None:
    assert place.again().exit_status == EXIT_DONE
    assert [row[2] for row in place.rows()] == list(times)
    assert place.rows() == place.expected()


def test_a_backlog_in_batches_is_waited_for() -> None:
    """A run works off a backlog, its second batch is under way: what is unfinished begins behind the window, and the
    window is refused all the same until its own records are exported."""
    place = WindowExport(flush_size=2, batch_records_max=2)
    place.add(110, 120, 130, 140, 150, 160, 230)
    place.before_execute = lambda: setattr(place, "before_execute", die)
    with pytest.raises(DiedError):
        place.run("first", interval=(200, 300))
    assert place.newest.unfinished == Interval(200, 300)
    waits(place, "orders-0 is exported up to offset 2,", "go on to 6")
    place.before_execute = lambda: None
    assert place.run("first", interval=(200, 300), try_number=2).exit_status == EXIT_DONE
    is_whole(place, 110, 120, 130, 140, 150, 160)


def test_a_partition_that_was_left_out_is_waited_for() -> None:
    """It had no leader while the hour's run was planned. The boundary says that the hour is done; the window waits,
    with the partition's name, while it is away and until it is exported."""
    place = WindowExport(2)
    place.run("before", interval=(0, 100))
    place.add(110)
    place.add(120, partition=1)
    place.broker.lead(TOPIC, 1, up=False)
    assert place.run("hour", interval=(100, 200)).exit_status == EXIT_TEMPORARY
    waits(place, "orders-1: it has no leader")
    place.broker.lead(TOPIC, 1, up=True)
    waits(place, "orders-1 is exported up to offset 0,", "go on to 1")
    place.export()
    is_whole(place, 110, 120)


def test_what_was_rewound_is_waited_for() -> None:
    """The boundary stays where it was, and the position does not."""
    place = WindowExport()
    place.export(110, 120)
    place.run("hour", interval=(100, 200))
    exporter = place.exporter()
    rewind(exporter, look(exporter, {TP: 0}), request("by hand"))
    waits(place, "orders-0 is exported up to offset 0,", "go on to 2")
    place.export()
    is_whole(place, 110, 120)


@pytest.mark.parametrize("dated", [False, True])
def test_late_records_that_were_rewound_are_waited_for(dated: bool) -> None:
    """They lie behind Kafka's first record after the window, where positions say nothing; the log knows what it took
    back."""
    place = WindowExport(dated=dated)
    place.export(110, 230)
    place.export(120)
    exporter = place.exporter()
    rewind(exporter, look(exporter, {TP: 2}), request("by hand"))
    waits(place, "orders-0 was rewound", "up to 3 only [0, 2) is again")
    place.export()
    is_whole(place, 110, 120)


def test_what_nobody_can_export_again_is_not_waited_for() -> None:
    """What was rewound was cut off in Kafka before it was exported again: no such offsets come back."""
    place = WindowExport()
    place.export(110, 230)
    place.export(120)
    exporter = place.exporter()
    rewind(exporter, look(exporter, {TP: 2}), request("by hand"))
    place.broker.truncate(TOPIC, 0, 2)
    is_whole(place, 110)


def test_a_topic_that_began_anew_is_waited_for() -> None:
    """Restarted at 0 by the live export, or not yet: its records of the window are not exported."""
    place = WindowExport()
    place.export(110)
    place.run("hour", interval=(100, 200))
    place.broker.recreate_topic(TOPIC)
    place.add(120, 130)
    waits(place, "orders-0 is exported up to offset 0,", "go on to 2")
    place.settings = WindowExport(policies=Policies(restart_recreated=True)).settings
    place.export()
    is_whole(place, 110, 120, 130)


def test_a_topic_that_began_anew_and_is_empty_is_not_waited_for() -> None:
    """Nothing of the window is missing: the old topic's records are exported, and the new one has none."""
    place = WindowExport()
    place.export(110)
    place.broker.recreate_topic(TOPIC)
    place.add(230)
    is_whole(place, 110)


def test_records_behind_an_unclean_election_are_waited_for() -> None:
    """The live export has not noticed yet that other records lie below its position."""
    place = WindowExport(policies=Policies(record_data_loss=True))
    place.export(110, 120, 130)
    place.run("hour", interval=(100, 200))
    place.broker.truncate(TOPIC, 0, 2)
    place.add(140)
    waits(place, "orders-0 is exported up to offset 2,", "go on to 3")
    place.export()
    is_whole(place, 110, 120, 130, 140)


def test_what_kafka_lost_is_waited_for_until_it_is_accepted() -> None:
    """Offsets that were never exported are gone: somebody has to say that the export goes on without them."""
    place = WindowExport()
    place.export(110)
    place.add(120, 130)
    place.retain(0, 2)
    assert place.run("hour", interval=(100, 200)).exit_status == EXIT_DATA
    waits(place, "orders-0: offsets [1, 2) are gone from Kafka")
    accept_by_hand(place.exporter(), [str(TP)], request("by hand"), hear(place.told))
    waits(place, "orders-0 is exported up to offset 2,", "go on to 3")
    place.export()
    is_whole(place, 110, 130)


def test_a_range_that_failed_is_waited_for() -> None:
    """A bad record of the window stops its partition: the window names it, and what is wrong with it."""
    place = WindowExport()
    place.add(110)
    place.poison(0)
    place.add(150)
    assert place.run("hour", interval=(100, 200)).exit_status == EXIT_DATA
    waits(place, "orders-0 is exported up to offset 1,", "go on to 3", "A bad record")


def test_a_late_record_that_failed_is_waited_for() -> None:
    """It lies behind Kafka's first record after the window, and it is the next one to be exported."""
    place = WindowExport(flush_size=2)
    place.export(110, 230)
    place.add(120)
    place.while_reading = lambda: place.broker.lead(TOPIC, 0, up=False)
    place.run("late")
    place.while_reading = lambda: None
    place.broker.lead(TOPIC, 0, up=True)
    assert [each.start for each in place.newest.failed] == [2]
    waits(place, "orders-0 is exported up to offset 2,", "go on to 3", "leader went away")
    place.export()
    is_whole(place, 110, 120)


def test_one_wrong_clock_does_not_let_a_window_pass() -> None:
    """Kafka's first record after the window is dated in the future: it says nothing of those behind it, whether it is
    exported or not."""
    place = WindowExport()
    place.export(110)
    place.add(FUTURE_MS, 120)
    waits(place, "orders-0 is exported up to offset 1,", "go on to 3")
    place.export()
    place.add(130)
    waits(place, "orders-0 is exported up to offset 3,", "go on to 4")
    place.export(230)
    place.add(240)
    is_whole(place, 110, 120, 130)


def test_all_partitions_that_are_waited_for_are_named() -> None:
    """Up to ten of them, and how many there are more."""
    place = WindowExport(13)
    place.export(110)
    for partition in range(13):
        place.add(120, partition=partition)
    waits(place, *(f"orders-{p} is exported up to" for p in range(10)), "and 3 partitions more")
    place.export()
    with contextlib.suppress(TemporaryError):
        place.again()
    assert len(place.rows()) == 14


def test_a_new_partition_is_waited_for() -> None:
    """The live export has not seen it yet, and it has a record of the window."""
    place = WindowExport()
    place.export(110)
    place.run("hour", interval=(100, 200))
    place.broker.create_topic(TOPIC, 2)
    place.add(120, partition=1)
    waits(place, "orders-1 is exported up to offset 0,", "go on to 1")
    place.export()
    is_whole(place, 110, 120)
