"""adopt over memory: the sink's buckets of every layout, what does not agree, and a lost log of our own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.adopt.adopt import Found, Progress, adopt, look
from kafka_s3.adopt.decide import Basis, Choice
from kafka_s3.log.entries import Kind
from kafka_s3.ranges import TopicPartition
from kafka_s3.verify.verify import Verified, verify
from tests.adopt.sink import Encode, Sink, by_field, hourly
from tests.export.harness import MemoryExport
from tests.support import identified, make_settings, request, rows_of

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
GROUP = "connect-orders"
LAYOUTS: dict[str, Encode | None] = {"default": None, "hourly": hourly(5), "field": by_field(3)}


def sink_of(
    world: MemoryExport, encode: Encode | None = None, *, flush_size: int = 4, extension: str = ".json"
) -> Sink:
    return Sink("orders", flush_size, world.store.overwrite, encode, extension)


def find(world: MemoryExport, **choice: Any) -> Found:
    return look(world.exporter, world.broker, Choice(**{"group": GROUP, **choice}), lambda _: None)


def adopted(world: MemoryExport, **choice: Any) -> Found:
    found = find(world, **choice)
    assert found.is_settled, said(found)
    adopt(world.exporter, found, request("adopt"))
    return found


def positions(found: Found) -> dict[TopicPartition, int | None]:
    return {decision.tp: decision.position for decision in found.decisions}


def said(found: Found) -> str:
    """Everything that is disputed."""
    of_partitions = [f"{decision.tp}: {each}" for decision in found.decisions for each in decision.disputes]
    return "\n".join([*map(str, found.disputes), *of_partitions])


def noted(found: Found) -> str:
    return "\n".join([*found.notes, *(note for decision in found.decisions for note in decision.notes)])


def exported(world: MemoryExport) -> Counter[tuple[int, int]]:
    """Every record in the bucket, sink's and ours, by partition and offset."""
    bodies = {key: body for key, body in world.store.contents().items() if key.startswith("topics/")}
    return Counter((row["p"], row["o"]) for key, body in bodies.items() for row in rows_of(body, key))


def once(*spans: tuple[int, int]) -> Counter[tuple[int, int]]:
    """Offsets 0 to `end` of some partitions, each once."""
    return Counter((partition, offset) for partition, end in spans for offset in range(end))


def verified(world: MemoryExport) -> Verified:
    return verify(world.settings, world.exporter.log, None, tell=lambda _: None)


@pytest.mark.parametrize("with_group", [True, False])
@pytest.mark.parametrize("extension", [".json", ".json.gz"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_run_after_the_adoption_takes_every_offset_once(layout: str, extension: str, with_group: bool) -> None:
    """Default, hourly and field layouts, plain and gzip, with the group's offsets and without: each record once."""
    world = MemoryExport()
    sink = sink_of(world, LAYOUTS[layout], extension=extension)
    world.produce(0, 30)
    world.produce(1, 7)
    sink.put(0, range(22))  # five rotations, two records in files that were never closed
    sink.put(1, range(7))  # one rotation
    assert sink.committed == {P0: 20, P1: 4}
    if with_group:
        world.broker.set_group(GROUP, sink.committed)

    found = adopted(world)
    assert positions(found) == {P0: 20, P1: 4}
    assert world.run().exit_status == 0
    assert exported(world) == once((0, 30), (1, 7))
    result = verified(world)
    assert (result.findings, result.orphans) == ((), ())


@given(
    encoded=st.lists(st.integers(0, 3), min_size=1, max_size=40),
    flush_size=st.integers(1, 12),
    holes=st.sets(st.integers(0, 39)),
    idle_rotations=st.sets(st.integers(0, 39)),
    with_group=st.booleans(),
)
@settings(deadline=None)
def test_however_records_interleave_each_is_there_once(
    encoded: Sequence[int], flush_size: int, holes: set[int], idle_rotations: set[int], with_group: bool
) -> None:
    """The law: any interleaving over encoded partitions, any rotations, holes in Kafka; after the run each once."""
    world = MemoryExport()
    sink = sink_of(world, lambda offset: f"f={encoded[offset]}", flush_size=flush_size)
    visible = [offset for offset in range(len(encoded)) if offset not in holes]
    for offset in range(len(encoded)):
        if offset in holes:
            world.broker.append_holes("orders", 0)
        else:
            world.broker.append("orders", 0, identified(0, offset))
            sink.put(0, [offset])
        if offset in idle_rotations:
            sink.rotate(0)
    if with_group:
        world.broker.set_group(GROUP, sink.committed)
    if sink.committed:
        assert positions(adopted(world))[P0] == sink.committed[P0]
    world.run()
    assert exported(world) == Counter((0, offset) for offset in visible)


def test_only_the_last_objects_are_read() -> None:
    """With the default partitioner one object of each partition is read, however many there are."""
    world = MemoryExport()
    world.produce(0, 400)
    sink = sink_of(world)
    sink.put(0, range(400))
    world.store.requests.clear()
    told: list[Progress] = []
    found = look(world.exporter, world.broker, Choice(GROUP), told.append)
    assert positions(found)[P0] == 400
    read = [each.key for each in world.store.requests if each.operation == "GetObject" and "topics/" in each.key]
    assert [key for key in read if "owners" not in key] == ["topics/orders/partition=0/orders+0+0000000396.json"]
    assert told == [Progress(0, 1), Progress(1, 1)]
    starts = [each.start for each in found.decisions[0].evidence.objects.values]
    assert (starts[0], starts[-1], len(starts)) == (0, 396, 100)


def test_what_is_written_is_an_adopt_entry() -> None:
    """The first entry: kind adopt, topic ids, every partition's position, where each came from, and owner claims."""
    world = MemoryExport()
    world.produce(0, 4)
    sink = sink_of(world)
    sink.put(0, range(4))
    world.broker.set_group(GROUP, sink.committed)
    world.broker.set_log_start("orders", 1, 3)
    found = adopted(world)
    head = world.exporter.log.newest()
    assert head is not None
    entry = head.entry
    assert (entry.kind, entry.seq, entry.previous_sha256, entry.plan_sha256) == (Kind.ADOPT, 0, None, None)
    assert entry.topics["orders"].positions == {0: 4, 1: 3}
    assert entry.topics["orders"].topic_id == world.broker.topics()["orders"].topic_id
    assert entry.reason == "orders-0 at 4: group connect-orders; orders-1 at 3: auto.offset.reset=earliest"
    assert world.store.get("_kafka_s3/owners/topics/orders.json") is not None
    epoch = found.log.layout.epoch
    assert (entry.epoch, world.exporter.log.layout.epoch) == (epoch, epoch)


def test_nothing_is_written_while_looking() -> None:
    """Looking puts nothing into the bucket."""
    world = MemoryExport()
    world.produce(0, 4)
    sink_of(world).put(0, range(4))
    before = world.store.contents()
    find(world)
    assert world.store.contents() == before


# What does not agree.


def test_objects_above_the_groups_offset_are_refused() -> None:
    """A task that died between its files and its commit: they are named; --from-objects and --positions settle."""
    world = MemoryExport()
    world.produce(0, 10)
    sink = sink_of(world)
    sink.put(0, range(4))
    sink.put(0, range(4, 7))
    sink.rotate(0, commit=False)
    world.broker.set_group(GROUP, sink.committed)

    refused = find(world)
    assert "1 object (topics/orders/partition=0/orders+0+0000000004.json) at or above the offset 4" in said(refused)
    with pytest.raises(AssertionError):
        adopt(world.exporter, refused, request())
    assert positions(find(world, basis=Basis.OBJECTS)) == {P0: 7, P1: 0}
    assert "group connect-orders has committed 4" in noted(find(world, basis=Basis.OBJECTS))

    settled = adopted(world, given={P0: 4})
    assert "shows them twice until you delete these objects" in noted(settled)
    world.run()
    assert verified(world).orphans is not None
    assert [orphan.key for orphan in verified(world).orphans or ()] == [
        "topics/orders/partition=0/orders+0+0000000004.json"
    ]


def test_records_missing_below_the_groups_offset_are_refused() -> None:
    """A record that the sink skipped is not told from one that got lost: a person has to say."""
    world = MemoryExport()
    world.produce(0, 10)
    sink = sink_of(world)
    sink.put(0, [0, 1, 2, 3, 4, 6, 7])
    sink.rotate(0)
    world.broker.set_group(GROUP, sink.committed)
    refused = find(world)
    assert "The objects' records lead to 7, the group's offset is 8" in said(refused)
    assert "--from-group connect-orders" in said(refused)
    assert positions(adopted(world, basis=Basis.GROUP)) == {P0: 8, P1: 0}


def test_more_records_than_the_group_committed_are_refused() -> None:
    """An object that began below the group's offset and goes beyond it."""
    world = MemoryExport()
    world.produce(0, 10)
    sink = sink_of(world)
    sink.put(0, range(4))
    world.broker.set_group(GROUP, {P0: 2})
    for basis in (Basis.AGREED, Basis.GROUP):
        assert "has committed 2, and the objects hold records up to 4" in said(find(world, basis=basis))


def test_holes_explain_the_difference_where_kafka_shows_them() -> None:
    """Markers of transactions: fewer records than offsets, and the group is right."""
    world = MemoryExport()
    world.produce(0, 2)
    world.broker.append_holes("orders", 0, 2)
    world.produce(0, 2)
    sink = sink_of(world)
    sink.put(0, [0, 1, 4, 5])
    world.broker.set_group(GROUP, sink.committed)
    found = find(world)
    assert (positions(found)[P0], said(found)) == (6, "")
    assert "no record to export, as Kafka shows" in noted(found)
    world.broker.set_group(GROUP, {})
    found = find(world)
    assert (positions(found)[P0], said(found)) == (6, "")
    assert "holes: 2 offsets" in noted(found)


def test_a_count_that_kafka_cannot_confirm_needs_a_word() -> None:
    """Retention took the counted records: the count alone is refused, and taken with --from-objects."""
    world = MemoryExport()
    world.produce(0, 10)
    sink_of(world).put(0, range(8))
    world.broker.set_log_start("orders", 0, 6)
    refused = find(world)
    assert "Counting records leads to 8, and Kafka cannot confirm it: the log starts at 6, above 4" in said(refused)
    found = adopted(world, basis=Basis.OBJECTS)
    assert positions(found)[P0] == 8
    assert "not confirmed by Kafka" in noted(found)


def test_a_record_that_the_sink_skipped_is_seen_without_a_group() -> None:
    """As many records as Kafka has up to an offset, but others: the last one tells."""
    world = MemoryExport()
    world.produce(0, 10)
    sink = sink_of(world)
    sink.put(0, [0, 1, 3])
    sink.rotate(0)
    found = find(world, basis=Basis.OBJECTS)
    assert "as many records as Kafka has up to 3, but they do not end with these records" in said(found)


def test_a_topic_that_was_created_again_is_refused() -> None:
    """Objects of an older topic of the same name: Kafka's log is shorter, or holds something else."""
    world = MemoryExport()
    world.produce(0, 8)
    sink = sink_of(world)
    sink.put(0, range(8))
    world.broker.recreate_topic("orders")
    world.produce(0, 3)
    assert "Kafka can be read up to 3, and an object begins at 4" in said(find(world))
    world.broker.set_group(GROUP, sink.committed)
    assert "the log ends at 3, below the position 8" in said(find(world))
    assert "the log ends at 3, below the position 9" in said(find(world, given={P0: 9}))


def test_a_position_below_kafkas_log_is_refused() -> None:
    """Retention was faster than the sink: a gap is only accepted by a position that names it."""
    world = MemoryExport()
    world.produce(0, 10)
    sink = sink_of(world)
    sink.put(0, range(4))
    world.broker.set_group(GROUP, sink.committed)
    world.broker.set_log_start("orders", 0, 6)
    assert "offsets [4, 6) are gone from Kafka" in said(find(world))
    assert positions(adopted(world, given={P0: 6}))[P0] == 6


def test_a_group_with_members_is_refused_whatever_is_given() -> None:
    """A connector that still runs would go on writing."""
    world = MemoryExport()
    world.produce(0, 4)
    sink = sink_of(world)
    sink.put(0, range(4))
    world.broker.set_group(GROUP, sink.committed, members=2)
    found = find(world, given={P0: 4, P1: 0})
    assert "Group connect-orders has 2 members: the connector still runs" in said(found)
    assert not found.is_settled


def test_objects_of_a_partition_that_the_group_does_not_know() -> None:
    """The group has offsets of the other partition only: whose objects are these?"""
    world = MemoryExport()
    world.produce(0, 4)
    world.produce(1, 4)
    sink = sink_of(world)
    sink.put(0, range(4))
    sink.put(1, range(4))
    world.broker.set_group(GROUP, {P0: 4})
    assert "orders-1: Group connect-orders has committed offsets of other partitions" in said(find(world))
    assert positions(adopted(world, basis=Basis.OBJECTS)) == {P0: 4, P1: 4}


def test_a_committed_offset_without_an_object() -> None:
    """The group says 4 and nothing is there: lost, moved or never written, a person has to say."""
    world = MemoryExport()
    world.produce(0, 6)
    world.broker.set_group(GROUP, {P0: 4})
    assert "The group has committed 4, and the bucket has no object" in said(find(world))
    assert positions(adopted(world, basis=Basis.GROUP))[P0] == 4


def test_latest_without_a_trace_of_the_sink_is_refused() -> None:
    """auto.offset.reset=latest and no offset: records that waited for their first file would be passed over."""
    world = MemoryExport(make_settings(start="latest"))
    world.produce(0, 4)
    world.produce(1, 2)
    sink = sink_of(world)
    sink.put(0, range(4))
    world.broker.set_group(GROUP, sink.committed)
    assert "2 offsets in Kafka that may wait" in said(find(world))
    assert positions(adopted(world, given={P1: 0})) == {P0: 4, P1: 0}
