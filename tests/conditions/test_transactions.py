"""Transactions: aborted ones, markers, and open ones that hold the last stable offset."""

from __future__ import annotations

import pytest

from tests.conditions.conftest import Make
from tests.conditions.harness import LiveTopic
from tests.conditions.meanwhile import Meanwhile

pytestmark = pytest.mark.faults


def test_aborted_in_the_middle(world: LiveTopic) -> None:
    """Aborted records between others are passed over and counted as offsets without a record."""
    world.send(0, 1, 2)
    world.transaction().begin().send(90, 91, 92).abort()
    world.send(3, 4)
    world.run_well()
    world.check([0, 1, 2, 3, 4])
    assert (world.positions(), world.skipped()) == ({0: 9}, 4)


def test_aborted_at_the_tail(world: LiveTopic) -> None:
    """An export ends behind aborted records at the very end of the log, and a second run finds nothing new."""
    world.send(0, 1)
    world.transaction().begin().send(90, 91, 92).abort()
    world.run_well()
    world.check([0, 1])
    assert (world.positions(), world.skipped()) == ({0: 6}, 4)
    written = len(world.store.contents())
    assert world.run_well().committed == []
    assert len(world.store.contents()) == written


def test_nothing_but_aborted(world: LiveTopic) -> None:
    """A partition in which nobody may see a record makes no object, and its offsets are committed as holes."""
    world.transaction().begin().send(90, 91).abort()
    world.run_well()
    world.check([])
    assert (world.positions(), world.skipped(), world.objects()) == ({0: 3}, 3, [])


def test_markers_at_the_tail(world: LiveTopic) -> None:
    """The markers of committed transactions hold the last offsets of the log and are no records."""
    transaction = world.transaction()
    for number in range(3):
        transaction.begin().send(number).commit()
    world.run_well()
    world.check([0, 1, 2])
    assert (world.positions(), world.skipped()) == ({0: 6}, 3)


@pytest.mark.parametrize(
    "sent",
    ["aaa", "acc", "cca", "cac", "aacaa"],
    ids=["everything", "the first", "the last", "the middle", "all but the middle"],
)
def test_invisible_batches(make_world: Make, sent: str) -> None:
    """Whole batches that nobody sees, everywhere in a range and in ranges of their own, after SPARK-25005."""
    world = make_world({"export.range.records.max": "3"}).create()
    transaction = world.transaction()
    for number, what in enumerate(sent):
        begun = transaction.begin().send(10 * number, 10 * number + 1)
        begun.commit() if what == "c" else begun.abort()
    visible = [10 * number + n for number, what in enumerate(sent) if what == "c" for n in (0, 1)]
    world.run_well()
    world.check(visible)
    assert world.positions() == {0: 3 * len(sent)}
    assert world.skipped() == 3 * len(sent) - len(visible)


def test_many_small_aborted(world: LiveTopic) -> None:
    """A hundred aborted transactions, between and behind records, in one partition and in ranges of three offsets."""
    transaction = world.transaction()
    for number in range(100):
        transaction.begin().send(1000 + number).abort()
        if number % 25 == 0:
            world.send(number)
    world.run_well()
    world.check([0, 25, 50, 75])
    assert (world.positions(), world.skipped()) == ({0: 204}, 200)


def test_interleaved(world: LiveTopic) -> None:
    """Of two transactions that take turns in one partition the committed one is exported, the aborted one is not."""
    kept, dropped = world.transaction().begin(), world.transaction().begin()
    for number in range(6):
        kept.send(number)
        dropped.send(90 + number)
        world.send(60 + number)
    dropped.abort()
    kept.commit()
    world.run_well()
    world.check([number for n in range(6) for number in (n, 60 + n)])
    assert (world.positions(), world.skipped()) == ({0: 20}, 8)


@pytest.mark.parametrize("size", [3, 4, 7])
def test_ranges_begin_inside_transactions(make_world: Make, size: int) -> None:
    """Ranges that begin and end between the batches, or between a batch and the marker, of aborted and of committed
    transactions show what the whole shows."""
    world = make_world({"export.range.records.max": str(size), "flush.size": "1"}).create()
    dropped, kept = world.transaction().begin(), world.transaction().begin()
    for number in range(10):
        dropped.send(900 + number)
        if number % 3 == 0:
            kept.send(number)
            world.send(100 + number)
    dropped.abort()
    dropped.begin().send(990, 991, 992, 993, 994).abort()
    kept.commit()
    world.run_well()
    world.check([number for n in (0, 3, 6, 9) for number in (n, 100 + n)])
    assert world.positions() == {0: 26}
    assert len(world.ranges()) == -(-26 // size)


def test_a_log_that_begins_inside_an_aborted_transaction(world: LiveTopic) -> None:
    """Of an aborted transaction whose first records are gone the others are still invisible."""
    aborted = world.transaction().begin()
    for number in range(6):
        aborted.send(90 + number)
    aborted.abort()
    world.send(0, 1)
    world.delete_before(3)
    world.run_well()
    world.check([0, 1])
    assert (world.positions(), world.skipped()) == ({0: 9}, 4)


@pytest.mark.parametrize("ends", ["commit", "abort"])
def test_a_log_emptied_under_an_open_transaction(make_world: Make, ends: str) -> None:
    """Retention takes what an open transaction has written: that is a loss like any other, and what it writes later
    is exported if it commits."""
    world = make_world({"export.on.data.loss": "record"}).create()
    world.send(0)
    world.run_well()
    transaction = world.transaction().begin().send(90, 91)
    world.delete_before(world.end())
    world.run_well()
    transaction.send(92)
    world.run_well()
    getattr(transaction, ends)()
    world.send(1)
    world.run_well()
    world.check([0, 92, 1] if ends == "commit" else [0, 1], gone=True)
    assert world.positions() == {0: world.end()}


def test_over_partitions(make_world: Make) -> None:
    """A transaction over several partitions is exported from each of them, or from none."""
    world = make_world().create(3)
    transaction = world.transaction()
    transaction.begin().send(1, partition=0).send(2, partition=1).send(3, partition=2).commit()
    transaction.begin().send(91, partition=0).send(92, partition=1).abort()
    world.run_well()
    world.check({0: [1], 1: [2], 2: [3]})
    assert world.positions() == {0: 4, 1: 4, 2: 2}


@pytest.mark.parametrize("ends", ["commit", "abort"])
def test_open_during_whole_runs(world: LiveTopic, ends: str) -> None:
    """An open transaction holds back what follows it for run after run; once it ends, all of that comes once."""
    world.send(0, 1)
    transaction = world.transaction().begin().send(90, 91)
    world.send(2, 3)
    for _ in range(2):
        world.run_well()
        world.check([0, 1])
        assert world.positions() == {0: 2}
    (partition,) = world.status().partitions
    assert (partition.offsets.last_stable, partition.offsets.high_watermark) == (2, 6)  # type: ignore[union-attr]
    getattr(transaction, ends)()
    world.run_well()
    world.check([0, 1, 90, 91, 2, 3] if ends == "commit" else [0, 1, 2, 3])
    assert world.positions() == {0: 7}


@pytest.mark.parametrize("ends", ["commit", "abort"])
def test_ends_while_a_plan_is_read(world: LiveTopic, ends: str) -> None:
    """A transaction that ends between the plan and the reading changes nothing of the plan; the next run has it."""
    world.send(0, 1)
    transaction = world.transaction().begin().send(90, 91)
    world.send(2)
    world.run_well(meanwhile=Meanwhile([getattr(transaction, ends)]))
    world.check([0, 1])
    world.run_well()
    world.check([0, 1, 90, 91, 2] if ends == "commit" else [0, 1, 2])


def test_open_under_an_interval(world: LiveTopic) -> None:
    """By interval too, nothing behind an open transaction is taken, and nothing of it is missing afterwards."""
    hour = 3_600_000
    world.send(0, timestamp_ms=hour + 1)
    transaction = world.transaction().begin().send(90, timestamp_ms=hour + 2)
    world.send(1, timestamp_ms=hour + 3)
    world.send(2, timestamp_ms=2 * hour + 1)
    world.run_well(interval=(hour, 2 * hour))
    world.check([0])
    transaction.commit()
    world.send(3, timestamp_ms=3 * hour)
    world.run_well(interval=(2 * hour, 3 * hour))
    world.check([0, 90, 1, 2])
    world.run_well(interval=(3 * hour, 4 * hour))
    world.check([0, 90, 1, 2, 3])


def test_read_uncommitted(make_world: Make) -> None:
    """With `consumer.override.isolation.level=read_uncommitted` open and aborted records are exported like any other;
    a marker is none there either."""
    world = make_world({"consumer.override.isolation.level": "read_uncommitted"}).create()
    world.send(0)
    world.transaction().begin().send(90, 91).abort()
    still_open = world.transaction().begin().send(1)
    world.run_well()
    world.check([0, 90, 91, 1])
    still_open.abort()
    world.send(2)
    world.run_well()
    world.check([0, 90, 91, 1, 2])
    assert (world.positions(), world.skipped()) == ({0: 7}, 2)
    assert {entry.isolation_level for entry in world.entries()} == {"read_uncommitted"}
