"""Compacted topics: what is missing in the middle, at either end, and what goes while a run is at work."""

from __future__ import annotations

import itertools
import json

import pytest

from tests.conditions.conftest import Make
from tests.conditions.harness import LiveTopic, until
from tests.conditions.meanwhile import Meanwhile, RunKilled, die

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("cleaner")]

#: Every batch closes a segment, as its records are a second younger than those before; what is closed is cleaned.
COMPACTED = {
    "cleanup_policy": "compact",
    "min_cleanable_dirty_ratio": "0.001",
    "segment_ms": "500",
    "delete_retention_ms": "0",
    "segment_index_bytes": "1024",
}


class Compacted(LiveTopic):
    """A compacted topic. Each call of `put` is a batch, and a segment of its own."""

    clock_ms = 1_000_000

    def put(self, *numbers: int) -> None:
        """Numbers of the same last two digits have the same key: the later one is to stay."""
        self.clock_ms += 1000
        for number in numbers:
            self.send_bytes(_value(number), timestamp_ms=self.clock_ms, key=_key(number), now=False)
        self.flush()

    def remove(self, number: int) -> None:
        """A tombstone."""
        self.clock_ms += 1000
        self.send_bytes(None, timestamp_ms=self.clock_ms, key=_key(number))

    def until_readable(self, *offsets: int) -> None:
        """Wait for the cleaner to leave nothing but these offsets."""
        until(f"{offsets} are left of {sorted(self.readable())}", lambda: tuple(sorted(self.readable())) == offsets)


def _value(number: int) -> bytes:
    return b'{"n":%d}' % number


def _key(number: int) -> bytes:
    return b"%d" % (number % 100)


@pytest.fixture
def compacted(make_world: Make) -> Compacted:
    made = make_world({"behavior.on.null.values": "ignore"})
    world = Compacted(made.part, made.topic, made.properties)
    world.create(**COMPACTED)
    return world


def test_holes_everywhere(compacted: Compacted) -> None:
    """First, middle and last offsets of batches are gone, and one batch as a whole: what is left is exported once, and
    the rest is counted as holes."""
    compacted.put(0, 1, 2)  # offsets 0 to 2: the first goes
    compacted.put(3, 4, 5)  # 3 to 5: the middle goes
    compacted.put(6, 7, 8)  # 6 to 8: the last goes
    compacted.put(9, 10)  # 9 and 10: both go
    compacted.put(11, 100, 104, 108, 109, 110, 12)
    compacted.put(13)
    compacted.until_readable(1, 2, 3, 5, 6, 7, *range(11, 19))
    compacted.run_well()
    compacted.check([1, 2, 3, 5, 6, 7, 11, 100, 104, 108, 109, 110, 12, 13])
    assert (compacted.positions(), compacted.skipped()) == ({0: 19}, 5)


def test_ranges_of_holes_only(make_world: Make) -> None:
    """Planned ranges in which compaction has left nothing, at the start, in the middle and before the last record."""
    made = make_world({"export.range.records.max": "3"})
    compacted = Compacted(made.part, made.topic, made.properties)
    compacted.create(**COMPACTED)
    for number in range(0, 2500, 100):
        compacted.put(number)  # one key: the last one of what is closed stays, and what is open
    compacted.put(1)
    compacted.until_readable(24, 25)
    compacted.run_well()
    compacted.check([2400, 1])
    assert (compacted.positions(), compacted.skipped(), len(compacted.ranges())) == ({0: 26}, 24, 9)


def test_compaction_between_runs(compacted: Compacted) -> None:
    """What was exported stays exported when Kafka forgets it; the next run goes on at its position, though no record
    is left there."""
    compacted.put(0, 1, 2)
    compacted.run_well()
    compacted.check([0, 1, 2])
    compacted.put(3, 4)
    compacted.put(103, 101, 5)
    compacted.put(6)
    compacted.until_readable(0, 2, 4, 5, 6, 7, 8)
    compacted.run_well()
    assert compacted.numbers() == {0: [0, 1, 2, 4, 103, 101, 5, 6]}
    compacted.check_accounts()
    assert compacted.positions() == {0: 9}


def test_compaction_between_plan_and_reading(compacted: Compacted) -> None:
    """Records that go between the plan and the reading are holes of its range, also the last ones before its end, and
    what replaced them comes in the next run."""
    compacted.put(0, 1, 2)
    compacted.put(3, 4)

    def compact() -> None:
        compacted.put(101, 103, 104)  # offsets 1, 3 and 4, the plan's last
        compacted.put(5)
        compacted.until_readable(0, 2, 5, 6, 7, 8)

    compacted.run_well(meanwhile=Meanwhile([compact]))
    compacted.check([0, 2])
    assert (compacted.positions(), compacted.skipped()) == ({0: 5}, 3)
    compacted.run_well()
    compacted.check([0, 2, 101, 103, 104, 5])


def test_compaction_while_ranges_are_read(make_world: Make) -> None:
    """Of a plan of several batches, one is read before the compaction and one after it: nothing comes twice."""
    made = make_world({"export.batch.records.max": "3", "flush.size": "3"})
    compacted = Compacted(made.part, made.topic, made.properties)
    compacted.create(**COMPACTED)
    compacted.put(0, 1, 2)
    compacted.put(3, 4, 5)

    def compact() -> None:
        compacted.put(102, 105)
        compacted.put(6)
        compacted.until_readable(0, 1, 3, 4, 6, 7, 8)

    compacted.run_well(meanwhile=Meanwhile([lambda: None, compact]))
    assert compacted.numbers() == {0: [0, 1, 2, 3, 4]}
    compacted.run_well()
    assert compacted.numbers() == {0: [0, 1, 2, 3, 4, 102, 105, 6]}
    compacted.check_accounts()


def test_compaction_after_a_run_that_died(compacted: Compacted) -> None:
    """A run wrote its objects and died; then Kafka forgot some of their records. The plan is finished with what is
    left, under another name where one is taken; no record is in the log twice, and what the dead run left is gone."""
    compacted.put(0, 1, 2)
    compacted.put(3, 4, 5)
    with pytest.raises(RunKilled):
        compacted.run(meanwhile=Meanwhile(after=die))
    compacted.put(101)
    compacted.put(6)
    compacted.until_readable(0, 2, 3, 4, 5, 6, 7)
    compacted.run_well()
    assert compacted.numbers() == {0: [0, 2, 3, 4, 5, 101, 6]}
    compacted.check_accounts()
    verified = compacted.verified()
    assert (verified.findings, verified.orphans) == ((), ())
    topic = compacted.topic
    names = [made.key.rpartition("/")[2] for made in compacted.objects()]
    assert names[:2] == [f"{topic}+0+0000000000+1.json", f"{topic}+0+0000000004.json"]


def test_deletions(compacted: Compacted) -> None:
    """Tombstones are counted while they are there and holes once they are cleaned away."""
    compacted.put(0, 1)
    compacted.remove(0)
    compacted.run_well()
    compacted.check([0, 1])
    assert sum(done.tombstones for done in compacted.ranges()) == 1
    compacted.remove(1)
    compacted.put(2)
    later = itertools.count(103, 100)

    def clean() -> bool:
        """A tombstone goes with the second cleaning after it, and there is none without something new."""
        compacted.put(next(later))
        return min(compacted.readable()) >= 4

    until("the tombstones are cleaned away", clean)
    compacted.run_well()
    left = [json.loads(value or b"")["n"] for value in compacted.readable().values()]
    assert compacted.numbers() == {0: [0, 1, *left]}
    assert sum(done.tombstones for done in compacted.ranges()) == 1
    compacted.check_accounts()
    assert compacted.positions() == {0: compacted.end()}


def test_compacted_transactions(make_world: Make) -> None:
    """Of aborted transactions that were cleaned only the markers are left, which Kafka still lists: they end no range
    early and hide no record behind them."""
    world = make_world().create(**{**COMPACTED, "segment_ms": "1"})  # markers are of the present, so everything is
    transaction = world.transaction()
    for number in range(20):
        transaction.begin().send(900 + number, key=b"%d" % number).abort()
    world.send(0, key=b"0")
    transaction.begin().send(1, key=b"1").commit()
    world.send(2, key=b"2")
    until("the aborted ones are cleaned", lambda: [*world.readable(isolation="read_uncommitted")] == [40, 41, 43])
    world.send(3, key=b"3")
    world.run_well()
    world.check([0, 1, 2, 3])
    assert world.positions() == {0: 45}
    assert world.skipped() == 41
