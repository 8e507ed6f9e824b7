"""A topic is seen for the first time by an entry of its own, whenever in a run that is."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.bucket.owners import probe
from kafka_s3.errors import LogDamaged, LogMissing
from kafka_s3.log.entries import Kind
from kafka_s3.ports import TopicView
from kafka_s3.rewind.rewind import accept_by_hand
from tests.export.harness import MemoryExport
from tests.support import identified, make_settings, request


class Recovering(MemoryBroker):
    """A topic has no leader at the first look of a run, and has one from the second on."""

    def topics(self) -> Mapping[str, TopicView]:
        seen = super().topics()
        self.lead("returns", 0, up=True)
        return seen


def _world(broker: MemoryBroker) -> MemoryExport:
    world = MemoryExport(settings=make_settings(topics=("orders", "returns")), broker=broker)
    world.broker.create_topic("returns")
    world.broker.append("returns", 0, identified(0, 0))
    world.broker.lead("returns", 0, up=False)
    world.produce(0, 2)
    return world


def test_a_topic_that_comes_between_two_looks_has_an_entry() -> None:
    """The topic is in the log before anything of it is planned, as one that was there from the beginning."""
    world = _world(Recovering())
    assert world.run().exit_status == 0
    entries = [committed.entry for committed in world.exporter.log.entries()][::-1]
    first = next(entry for entry in entries if "returns" in entry.topics)
    assert (first.kind, first.ranges) == (Kind.CHECKPOINT, ())
    assert entries[-1].topics["returns"].positions == {0: 1}


def test_objects_of_a_topic_that_comes_late_are_looked_for() -> None:
    """Objects that lie there already are not exported a second time: the run refuses the topic by name."""
    world = _world(Recovering())
    world.store.put_if_absent("topics/returns/partition=0/returns+0+0000000000.json", b"{}\n")
    with pytest.raises(LogMissing, match="Topic returns has objects"):
        world.run()


def test_accepting_a_loss_is_no_first_sight_of_a_topic() -> None:
    """An entry that accepts a loss says nothing of a topic that the log does not know: a run looks for its objects."""
    world = _world(MemoryBroker())
    world.run()
    world.produce(0, 2)
    world.broker.set_log_start("orders", 0, 3)
    world.broker.lead("returns", 0, up=True)
    accept_by_hand(world.exporter, ["orders-0"], request("by-hand"), lambda _: None)
    head = world.exporter.log.newest()
    assert head is not None
    assert [gap.tp.topic for gap in head.entry.gaps] == ["orders"]
    assert "returns" not in head.entry.topics
    assert world.run().exit_status == 0


def test_an_entry_that_is_gone_is_not_put_again_as_nothing() -> None:
    """Whoever deletes the log while a store is tried out for the first time finds no empty entry in it."""
    world = _world(MemoryBroker())
    with pytest.raises(LogDamaged, match="something deletes log entries"):
        probe(world.exporter.log, 0)
    assert world.store.contents() == {}
