"""`verify --against-kafka` calls nothing wrong that is as it was exported, whatever has become of Kafka's log since."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.settings.run import Policies
from kafka_s3.verify.verify import Kafka, Verified, verify
from tests.export.harness import MemoryExport
from tests.export.overtaken import Overtaken
from tests.support import make_settings

TP = TopicPartition("orders", 0)


def other(offset: int) -> Record:
    return Record(offset, b'{"other":%d}' % offset)


def exported() -> MemoryExport:
    world = MemoryExport(make_settings(policies=Policies(record_data_loss=True, restart_recreated=True), flush_size=2))
    world.produce(0, 9)
    world.produce(1, 3)
    world.run()
    return world


def check(world: MemoryExport, broker: object | None = None) -> Verified:
    against = Kafka(broker or world.broker, broker or world.broker)  # type: ignore[arg-type]
    return verify(world.settings, world.exporter.log, against, tell=lambda _: None)


def truncate(world: MemoryExport) -> None:
    """An unclean election, and other records at the same offsets."""
    world.broker.truncate("orders", 0, 4)
    for offset in range(4, 12):
        world.broker.append("orders", 0, other(offset))


def begin_anew(world: MemoryExport) -> None:
    world.broker.recreate_topic("orders")
    for offset in range(9):
        world.broker.append("orders", 0, other(offset))


@pytest.mark.parametrize("method", ["topics", "offsets", "diverged", "cleanup_policies", "open"])
@pytest.mark.parametrize("happens", [truncate, begin_anew])
def test_another_log_at_any_moment_is_a_note(happens: Callable[[MemoryExport], None], method: str) -> None:
    """A log that is truncated, or a topic that is created again, before or while it is read: what lies at these offsets
    then are other records, and the objects are as they were."""
    world = exported()
    broker = Overtaken(world.broker, method, lambda: happens(world))
    if method == "diverged":
        world.broker.elect("orders", 0)
    verified = check(world, broker)
    assert broker.done
    assert verified.findings == ()
    assert any("not checkable: orders-0 [0, 9)" in note for note in verified.notes)


def test_what_compaction_took_is_a_note() -> None:
    """Kafka has fewer records than were exported, and the topic's cleanup.policy says why. Where it says something
    else, or other records are there, it is a finding."""
    world = exported()
    world.broker.compact("orders", 0, 5)
    assert check(world).findings_count
    world.broker.set_cleanup("orders", "delete")
    assert check(world).findings_count
    world.broker.set_cleanup("orders", "compact", "delete")
    verified = check(world)
    assert verified.findings == ()
    assert any("of which compaction took 1 records since" in note for note in verified.notes)
    assert verified.ranges_compared == 1


def test_a_wrong_object_stays_a_finding() -> None:
    """Nothing happened to Kafka, and the topic may be compacted: an object of other records is found all the same."""
    world = exported()
    world.broker.set_cleanup("orders", "compact")
    state = world.broker._partition(TP)
    state.records = [other(record.offset) if record.offset == 5 else record for record in state.records]
    assert any("sha256" in str(finding) for finding in check(world).findings)
