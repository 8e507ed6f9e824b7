"""All of it mixed: random histories of one topic on a real broker, and what the log says at their end."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable

import pytest

from kafka_s3.errors import EXIT_DONE, EXIT_TEMPORARY
from tests.conditions.conftest import Make
from tests.conditions.harness import LiveTopic, Transaction, rows_of
from tests.conditions.meanwhile import Meanwhile, RunKilled, die, nothing

pytestmark = pytest.mark.faults

STEPS = 40
STARTS_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
HOUR = 3_600_000


class History:
    """What happens to a topic, and which records its readers may ever see."""

    def __init__(self, world: LiveTopic, dice: random.Random) -> None:
        self.world = world.create(2)
        self.dice = dice
        self.partitions = 2
        self.topic_id = self._topic_id()
        self.clock_ms = STARTS_MS
        self.number = 0
        #: Numbers by topic id, partition and offset: of all that is or was visible.
        self.visible: dict[tuple[str, int], dict[int, int]] = {}
        self.producer = world.transaction()
        self.open: list[tuple[int, int, int]] | None = None  # partition, offset and number of what is sent in it

    def sent(self, count: int, partition: int) -> list[tuple[int, int, int]]:
        """Send records, some with wrong clocks, in one batch; where they are."""
        begin = self.world.end(partition)
        numbers = list(range(self.number, self.number + count))
        self.number += count
        self.clock_ms += self.dice.randrange(HOUR)
        early = self.dice.choice([0, 0, 0, 2 * HOUR, -3 * HOUR])
        to: LiveTopic | Transaction = self.world if self.open is None else self.producer
        to.send(*numbers, partition=partition, timestamp_ms=self.clock_ms + early)
        assert self.world.end(partition) == begin + count
        return [(partition, begin + index, number) for index, number in enumerate(numbers)]

    def show(self, records: list[tuple[int, int, int]]) -> None:
        for partition, offset, number in records:
            self.visible.setdefault((self.topic_id, partition), {})[offset] = number

    def send(self) -> None:
        held, self.open = self.open, None  # beside the transaction, not in it
        self.show(self.sent(self.dice.randint(1, 8), self.dice.randrange(self.partitions)))
        self.open = held

    def transact(self) -> None:
        """A step of a transaction: it begins, goes on, or ends."""
        if self.open is None:
            self.producer.begin()
            self.open = []
        if len(self.open) < self.dice.randint(1, 12):
            self.open += self.sent(self.dice.randint(1, 4), self.dice.randrange(self.partitions))
        else:
            self.end_transaction()

    def end_transaction(self) -> None:
        records, self.open = self.open, None
        if records is None:
            return
        if self.dice.random() < 0.5:
            self.producer.commit()
            self.show(records)
        else:
            self.producer.abort()

    def lose(self) -> None:
        """Retention, at most up to the end."""
        partition = self.dice.randrange(self.partitions)
        self.world.delete_before(self.dice.randint(self.world.begin(partition), self.world.end(partition)), partition)

    def grow(self) -> None:
        if self.partitions < 4:
            self.end_transaction()
            self.partitions += 1
            self.world.add_partitions(self.partitions)
            self.producer = self.world.transaction()  # the old one would learn of it in its own time

    def recreate(self) -> None:
        self.end_transaction()
        self.partitions = self.dice.randint(1, 3)
        self.world.recreate(self.partitions)
        self.producer = self.world.transaction()
        self.topic_id = self._topic_id()

    def _topic_id(self) -> str:
        return self.world.exporter().broker.topics()[self.world.topic].topic_id

    def something(self) -> Callable[[], None]:
        return self.dice.choice([*[self.send] * 4, *[self.transact] * 5, self.lose, self.grow, self.recreate])

    def run(self) -> None:
        """A run, by interval or not, during which something may happen, or which dies before its commit."""
        interval = (self.clock_ms - 2 * HOUR, self.clock_ms - HOUR) if self.dice.random() < 0.4 else None
        happens = [self.something() for _ in range(2)]
        kind = self.dice.choice(["quiet", "quiet", "before", "midway", "after", "dies"])
        meanwhile = {
            "quiet": Meanwhile(),
            "before": Meanwhile(happens),
            "midway": Meanwhile(midway=happens[0]),
            "after": Meanwhile(after=happens[0]),
            "dies": Meanwhile([nothing, happens[0]], after=die),
        }[kind]
        with contextlib.suppress(RunKilled):
            report = self.world.run(interval=interval, meanwhile=meanwhile)
            allowed = {EXIT_DONE} if kind in ("quiet", "dies") else {EXIT_DONE, EXIT_TEMPORARY}
            assert report.exit_status in allowed, (kind, report.problems())

    def check(self) -> None:
        """Of each topic of the name, what readers could see is exported once, where the log says that offsets are."""
        world = self.world
        world.check_accounts()
        contents = world.store.contents()
        found: dict[tuple[str, int], list[tuple[int, int]]] = {}
        covered: dict[tuple[str, int], set[int]] = {}
        for entry in world.entries():
            for done in entry.ranges:
                at = (entry.topics[world.topic].topic_id, done.partition)
                offsets = set(range(done.start, done.next_offset))
                assert not covered.get(at, set()) & offsets, f"{at}: an offset twice"
                covered.setdefault(at, set()).update(offsets)
                for made in done.objects:
                    rows = rows_of(contents[made.key], made.key)
                    found.setdefault(at, []).extend((row["_kafka_offset"], row["n"]) for row in rows)
        for at in self.visible.keys() | found.keys():
            wanted = {offset: n for offset, n in self.visible.get(at, {}).items() if offset in covered.get(at, ())}
            assert sorted(found.get(at, [])) == sorted(wanted.items()), at


@pytest.mark.parametrize("seed", range(6))
def test_random_histories(make_world: Make, seed: int) -> None:
    """Sending, transactions, retention, new partitions and new topics in any order, before runs and in the middle of
    them, with runs that die: the log accounts for every offset, and each visible record is in it once."""
    dice = random.Random(seed)
    world = make_world(
        {
            "export.on.data.loss": "record",
            "export.on.topic.recreated": "restart",
            "export.read.timeout.ms": "10000",
            "export.range.records.max": "9",
            "export.batch.records.max": "20",
        }
    )
    history = History(world, dice)
    for _ in range(STEPS):
        dice.choice([history.something(), history.run])()
    history.end_transaction()
    for _ in range(2):
        world.run_well()
    history.check()
    assert {p: world.positions().get(p, 0) for p in range(history.partitions)} == {
        p: world.end(p) for p in range(history.partitions)
    }
    verified = world.verified()
    assert [str(finding) for finding in verified.findings] == []
