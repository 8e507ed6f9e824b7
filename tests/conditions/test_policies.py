"""What is lost or begins anew in Kafka, where the configuration says to write it down and go on."""

from __future__ import annotations

import pytest

from kafka_s3.errors import EXIT_DATA
from kafka_s3.log.entries import Entry, Kind
from tests.conditions.conftest import MOMENTS, Make, recreation
from tests.conditions.harness import LiveTopic
from tests.conditions.meanwhile import Meanwhile, RunKilled, die

pytestmark = pytest.mark.faults

RECORD = {"export.on.data.loss": "record"}
RESTART = {"export.on.topic.recreated": "restart"}


def gaps(world: LiveTopic) -> list[tuple[int, int, int]]:
    """Partition, start and end of everything that the log says is lost; `status` says the same."""
    said = [gap for _, gap in world.status().gaps][::-1]
    assert said == [gap for entry in world.entries() for gap in entry.gaps]
    return [(gap.partition, gap.start, gap.end) for gap in said]


def restarts(world: LiveTopic) -> list[tuple[int, int, int]]:
    """Partition, position and generation of everything that began anew."""
    found = [restart for entry in world.entries() for restart in entry.restarts]
    assert not any(restart.withdrawn for restart in found)
    return [(restart.partition, restart.position, restart.generation) for restart in found]


def checkpoint(world: LiveTopic) -> Entry:
    """The entry that accepts something: there is one besides the first, and nothing but it moves a position."""
    _, *later = [entry for entry in world.entries() if entry.kind is Kind.CHECKPOINT]
    (entry,) = later
    assert entry.ranges == ()
    return entry


def test_lost_before_a_run(make_world: Make) -> None:
    """The gap is written to the log, the rest is exported by the same run, which succeeds; status and verify agree."""
    world = make_world(RECORD).create(2)
    world.send(0, 1)
    world.send(50, partition=1)
    world.run_well()
    world.send(2, 3, 4, 5)
    world.send(51, partition=1)
    world.delete_before(4)
    world.run_well()
    world.check({0: [0, 1, 4, 5], 1: [50, 51]}, gone=True)
    assert gaps(world) == [(0, 2, 4)]
    assert "offsets [2, 4) are gone from Kafka before they were exported" in (checkpoint(world).reason or "")
    assert world.positions() == {0: 6, 1: 2}
    assert world.status().is_ok
    assert world.run_well().committed == []


def test_lost_up_to_the_end(make_world: Make) -> None:
    """Where nothing is left the gap is all there is to write; what comes later is exported from there on."""
    world = make_world(RECORD).create()
    world.send(0, 1)
    world.run_well()
    world.send(2, 3, 4)
    world.delete_before(5)
    world.run_well()
    assert (gaps(world), world.positions()) == ([(0, 2, 5)], {0: 5})
    world.send(5)
    world.run_well()
    world.check([0, 1, 5], gone=True)


@pytest.mark.parametrize("start", [3, 6], ids=["in the middle", "up to the end"])
def test_lost_between_plan_and_reading(make_world: Make, start: int) -> None:
    """The planned range cannot be read: the same run closes its plan, writes the gap and exports the rest."""
    world = make_world(RECORD).create(2)
    world.send(*range(6))
    world.send(50, 51, partition=1)
    world.run_well(meanwhile=Meanwhile([lambda: world.delete_before(start)]))
    world.check({0: range(start, 6), 1: [50, 51]}, gone=True)
    assert (gaps(world), world.positions()) == ([(0, 0, start)], {0: 6, 1: 2})
    assert world.entries()[-1].failed == ()


def test_lost_between_two_batches(make_world: Make) -> None:
    """What was committed by the first batch stays, the gap begins behind it, and the run goes on behind the gap."""
    world = make_world(RECORD | {"export.batch.records.max": "3"}).create()
    world.send(*range(9))
    world.run_well(meanwhile=Meanwhile([lambda: None, lambda: world.delete_before(5)]))
    world.check([0, 1, 2, *range(5, 9)], gone=True)
    assert (gaps(world), world.positions()) == ([(0, 3, 5)], {0: 9})


def test_lost_while_it_is_read(make_world: Make) -> None:
    """A start that passes the reader: the gap is from the range's start on, since nothing of it was committed."""
    one_batch = {"max.partition.fetch.bytes": "1000", "queued.min.messages": "1", "queued.max.messages.kbytes": "1"}
    world = make_world(RECORD, client=one_batch).create()
    for first in range(0, 3000, 100):
        for number in range(first, first + 100):
            world.send_bytes(b'{"n":%d,"blank":"%s"}' % (number, b" " * 1500), now=False)
        world.flush()
    world.run_well(meanwhile=Meanwhile(midway=lambda: world.delete_before(2990)))
    world.check_accounts()
    assert world.numbers() == {0: [*range(2990, 3000)]}
    assert gaps(world) == [(0, 0, 2990)]


def test_lost_inside_an_aborted_transaction(make_world: Make) -> None:
    """A log that begins between aborted records and their marker shows none of them."""
    world = make_world(RECORD).create()
    world.send(0)
    world.run_well()
    aborted = world.transaction().begin()
    for number in range(6):
        aborted.send(90 + number)
    aborted.abort()
    world.send(1, 2)
    world.delete_before(4)
    world.run_well()
    world.check([0, 1, 2], gone=True)
    assert (gaps(world), world.positions()) == ([(0, 1, 4)], {0: 10})


def test_a_partition_that_lost_its_head_before_it_was_seen(make_world: Make) -> None:
    """A partition that is added to a known topic begins at 0: what it lost before it was seen is a loss too."""
    for properties in ({}, RECORD):
        world = make_world(properties, topic=f"topic-{len(properties)}-{make_world().topic}").create()
        world.send(0)
        world.run_well()
        world.add_partitions(2)
        world.send(50, 51, 52, partition=1)
        world.delete_before(2, partition=1)
        report = world.run()
        if properties:
            assert report.exit_status == 0
            world.check({0: [0], 1: [52]}, gone=True)
            assert gaps(world) == [(1, 0, 2)]
        else:
            assert report.exit_status == EXIT_DATA
            world.check({0: [0]})


@pytest.mark.parametrize("count", [2, 3, 9], ids=["fewer records", "as many records", "more records"])
def test_recreated_between_runs(make_world: Make, count: int) -> None:
    """The new topic is exported from 0 on beside the old one, under keys of their own, in the same run."""
    world = make_world(RESTART).create()
    world.send(0, 1, 2)
    world.run_well()
    before = world.store.contents()
    (old,) = world.entries()[-1].topics.values()
    world.recreate()
    world.send(*range(90, 90 + count))
    world.run_well()
    assert before.items() <= world.store.contents().items()
    assert (world.numbers(), world.numbers(1)) == ({0: [0, 1, 2]}, {0: [*range(90, 90 + count)]})
    assert restarts(world) == [(0, 0, 1)]
    assert old.topic_id in (checkpoint(world).reason or "")
    assert world.status().is_ok
    verified = world.verified()
    assert ([str(finding) for finding in verified.findings], verified.orphans) == ([], ())
    world.check_accounts()
    world.send(7)
    world.run_well()
    assert world.numbers(1) == {0: [*range(90, 90 + count), 7]}


@pytest.mark.parametrize("when", MOMENTS)
def test_recreated_during_a_run(make_world: Make, when: str) -> None:
    """Nothing of the plan's range is committed, whichever topic it was read from; the same run restarts and has all of
    the new topic, once."""
    world = make_world(RESTART).create()
    world.run_well(meanwhile=recreation(world, when))
    assert (world.numbers(), world.numbers(1)) == ({0: [0, 1]}, {0: [*range(5000, 6200)]})
    assert restarts(world) == [(0, 0, 1)]
    world.check_accounts()
    assert world.entries()[-1].failed == ()


@pytest.mark.parametrize(("before", "after"), [(3, 1), (1, 3)], ids=["fewer", "more"])
def test_recreated_with_other_partitions(make_world: Make, before: int, after: int) -> None:
    """A topic that comes back with fewer or with more partitions: all of them begin at 0, and none of the old is
    waited for."""
    world = make_world(RESTART).create(before)
    for partition in range(before):
        world.send(partition, partition=partition)
    world.run_well()
    world.recreate(after)
    for partition in range(after):
        world.send(10 + partition, partition=partition)
    world.run_well()
    assert world.numbers() == {p: [p] for p in range(before)}
    assert world.numbers(1) == {p: [10 + p] for p in range(after)}
    assert world.positions() == dict.fromkeys(range(after), 1)
    assert world.run_well().committed == []
    assert world.verified().findings == ()
    assert world.status().is_ok


def test_recreated_and_lost(make_world: Make) -> None:
    """A new topic whose head is gone already: a restart, and with `record` a gap behind it."""
    world = make_world(RESTART | RECORD).create()
    world.send(0, 1, 2)
    world.run_well()
    world.recreate()
    world.send(*range(90, 96))
    world.delete_before(4)
    world.run_well()
    assert (world.numbers(), world.numbers(1)) == ({0: [0, 1, 2]}, {0: [94, 95]})
    assert (restarts(world), gaps(world)) == ([(0, 0, 1)], [(0, 0, 4)])
    world.check_accounts()


def test_recreated_again_and_again(make_world: Make) -> None:
    """Each time the topic comes back its generation rises, and no two objects ever share a key."""
    world = make_world(RESTART).create()
    for generation in range(4):
        if generation:
            world.recreate()
        world.send(10 * generation, 10 * generation + 1)
        world.run_well()
        assert world.numbers(generation) == {0: [10 * generation, 10 * generation + 1]}
    assert restarts(world) == [(0, 0, 1), (0, 0, 2), (0, 0, 3)]
    assert len({made.key for made in world.objects()}) == 4
    world.check_accounts()


def test_deleted_and_created_later(make_world: Make) -> None:
    """While the topic is missing its connector fails, with any policy; once it is back it restarts."""
    world = make_world(RESTART | RECORD).create()
    world.send(0)
    world.run_well()
    world.part.delete_topic(world.topic)
    report = world.run()
    assert report.exit_status == EXIT_DATA
    assert "was deleted: remove it from `topics`, or create it again." in report.problems()[0]
    world.create()
    world._producer = world.producer()
    world.send(1)
    world.run_well()
    assert (world.numbers(), world.numbers(1)) == ({0: [0]}, {0: [1]})


@pytest.mark.parametrize("policy", ["fail", "record"])
def test_lost_after_a_run_that_died(make_world: Make, policy: str) -> None:
    """A run wrote its objects and died; then Kafka lost the start of its plan's range. What the dead run wrote is
    nobody's: the log says that these offsets are lost, or nothing until somebody decides."""
    world = make_world({"export.on.data.loss": policy}).create(2)
    world.send(*range(6))
    world.send(50, partition=1)
    with pytest.raises(RunKilled):
        world.run(meanwhile=Meanwhile(after=die))
    world.delete_before(4)
    report = world.run()
    if policy == "fail":
        assert report.exit_status == EXIT_DATA
        assert "offsets [0, 4) are gone from Kafka before they were exported" in " ".join(report.problems())
        assert (world.numbers(), world.positions()) == ({1: [50]}, {0: 0, 1: 1})
        assert world.run().exit_status == EXIT_DATA
    else:
        assert report.exit_status == 0
        assert (world.numbers(), world.positions()) == ({0: [4, 5], 1: [50]}, {0: 6, 1: 1})
        assert gaps(world) == [(0, 0, 4)]
    world.check_accounts()
    assert world.verified().findings == ()


@pytest.mark.parametrize("policy", ["fail", "restart"])
def test_recreated_after_a_run_that_died(make_world: Make, policy: str) -> None:
    """A run wrote its objects and died, and its topic is another one now: nothing of its plan is ever committed."""
    world = make_world({"export.on.topic.recreated": policy}).create()
    world.send(0, 1)
    world.run_well()
    world.send(2, 3)
    with pytest.raises(RunKilled):
        world.run(meanwhile=Meanwhile(after=die))
    world.recreate()
    world.send(*range(90, 96))
    report = world.run()
    assert report.exit_status == (EXIT_DATA if policy == "fail" else 0)
    assert world.numbers() == {0: [0, 1]}
    assert world.numbers(1) == ({} if policy == "fail" else {0: [*range(90, 96)]})
    world.check_accounts()


def test_each_policy_allows_its_own(make_world: Make) -> None:
    """`record` does not let a new topic pass for the old one, nor does `restart` let a loss pass."""
    world = make_world(RECORD).create()
    world.send(0)
    world.run_well()
    world.recreate()
    assert world.run().exit_status == EXIT_DATA
    other = make_world(RESTART, topic=f"{world.topic}-other").create()
    other.send(0)
    other.run_well()
    other.send(1, 2)
    other.delete_before(2)
    assert other.run().exit_status == EXIT_DATA
    assert (world.positions(), other.positions()) == ({0: 1}, {0: 1})
