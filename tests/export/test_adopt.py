"""adopt over memory: the sink's buckets of every layout, what does not agree, and a lost log of our own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.adopt.adopt import Found, Progress, adopt, look
from kafka_s3.adopt.decide import Basis, Choice
from kafka_s3.errors import ConfigurationError, Fenced, LogMissing
from kafka_s3.log.entries import Kind
from kafka_s3.ports import ObjectInfo, TopicView
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.formats import Format, Gzip
from kafka_s3.verify.verify import Verified, verify
from tests.export.sink import Encode, Sink, by_field, hourly
from tests.export.world import World
from tests.support import identified, make_settings, request, rows_of

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
GROUP = "connect-orders"
LAYOUTS: dict[str, Encode | None] = {"default": None, "hourly": hourly(5), "field": by_field(3)}


def sink_of(world: World, encode: Encode | None = None, *, flush_size: int = 4, extension: str = ".json") -> Sink:
    return Sink("orders", flush_size, world.store.overwrite, encode, extension)


def find(world: World, **choice: Any) -> Found:
    return look(world.exporter, world.broker, Choice(**{"group": GROUP, **choice}), lambda _: None)


def adopted(world: World, **choice: Any) -> Found:
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


def exported(world: World) -> Counter[tuple[int, int]]:
    """Every record in the bucket, sink's and ours, by partition and offset."""
    bodies = {key: body for key, body in world.store.contents().items() if key.startswith("topics/")}
    return Counter((row["p"], row["o"]) for key, body in bodies.items() for row in rows_of(body, key))


def once(*spans: tuple[int, int]) -> Counter[tuple[int, int]]:
    """Offsets 0 to `end` of some partitions, each once."""
    return Counter((partition, offset) for partition, end in spans for offset in range(end))


def verified(world: World) -> Verified:
    return verify(world.settings, world.exporter.log, None, tell=lambda _: None)


@pytest.mark.parametrize("with_group", [True, False])
@pytest.mark.parametrize("extension", [".json", ".json.gz"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_run_after_the_adoption_leaves_no_offset_out_and_none_twice(
    layout: str, extension: str, with_group: bool
) -> None:
    """Default, hourly and field layouts, plain and gzip, with the group's offsets and without: each record once."""
    world = World()
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
    world = World()
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
    world = World()
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
    world = World()
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
    world = World()
    world.produce(0, 4)
    sink_of(world).put(0, range(4))
    before = world.store.contents()
    find(world)
    assert world.store.contents() == before


# What does not agree.


def test_objects_above_the_groups_offset_are_refused() -> None:
    """A task that died between its files and its commit: they are named; --from-objects and --positions settle."""
    world = World()
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


def test_records_missing_below_the_groups_offset_are_refused_unless_the_group_is_believed() -> None:
    """A record that the sink skipped is not told from one that got lost: a person has to say."""
    world = World()
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
    world = World()
    world.produce(0, 10)
    sink = sink_of(world)
    sink.put(0, range(4))
    world.broker.set_group(GROUP, {P0: 2})
    for basis in (Basis.AGREED, Basis.GROUP):
        assert "has committed 2, and the objects hold records up to 4" in said(find(world, basis=basis))


def test_holes_explain_the_difference_where_kafka_shows_them() -> None:
    """Markers of transactions: fewer records than offsets, and the group is right."""
    world = World()
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
    world = World()
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
    world = World()
    world.produce(0, 10)
    sink = sink_of(world)
    sink.put(0, [0, 1, 3])
    sink.rotate(0)
    found = find(world, basis=Basis.OBJECTS)
    assert "as many records as Kafka has up to 3, but they do not end with these records" in said(found)


def test_a_topic_that_was_created_again_is_refused() -> None:
    """Objects of an older topic of the same name: Kafka's log is shorter, or holds something else."""
    world = World()
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
    world = World()
    world.produce(0, 10)
    sink = sink_of(world)
    sink.put(0, range(4))
    world.broker.set_group(GROUP, sink.committed)
    world.broker.set_log_start("orders", 0, 6)
    assert "offsets [4, 6) are gone from Kafka" in said(find(world))
    assert positions(adopted(world, given={P0: 6}))[P0] == 6


def test_a_group_with_members_is_refused_whatever_is_given() -> None:
    """A connector that still runs would go on writing."""
    world = World()
    world.produce(0, 4)
    sink = sink_of(world)
    sink.put(0, range(4))
    world.broker.set_group(GROUP, sink.committed, members=2)
    found = find(world, given={P0: 4, P1: 0})
    assert "Group connect-orders has 2 members: the connector still runs" in said(found)
    assert not found.is_settled


def test_objects_of_a_partition_that_the_group_does_not_know() -> None:
    """The group has offsets of the other partition only: whose objects are these?"""
    world = World()
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
    world = World()
    world.produce(0, 6)
    world.broker.set_group(GROUP, {P0: 4})
    assert "The group has committed 4, and the bucket has no object" in said(find(world))
    assert positions(adopted(world, basis=Basis.GROUP))[P0] == 4


def test_latest_without_a_trace_of_the_sink_is_refused_where_records_wait() -> None:
    """auto.offset.reset=latest and no offset: records that waited for their first file would be passed over."""
    world = World(make_settings(start="latest"))
    world.produce(0, 4)
    world.produce(1, 2)
    sink = sink_of(world)
    sink.put(0, range(4))
    world.broker.set_group(GROUP, sink.committed)
    assert "2 offsets in Kafka that may wait" in said(find(world))
    assert positions(adopted(world, given={P1: 0})) == {P0: 4, P1: 0}


# What cannot be counted.


def body_of(lines: int) -> bytes:
    return Sink("orders", 1, lambda *_: None).body(0, range(lines))


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ({"partition=0/orders+0+0000000000.avro": b"Obj\x01"}, "only JSON lines and ByteArray, plain or gzip"),
        ({"partition=0/orders+0+0000000000.json.gz": b"no gzip"}, "is no whole gzip stream"),
        ({"partition=0/orders+0+0000000000.json": b'{"p":0}\n{"p"'}, "does not end with the end of a record"),
        ({"partition=0/orders+0+0000000000.json": b""}, "does not end with the end of a record"),
        ({"a/orders+0+0000000000.json": body_of(2), "b/orders+0+0000000000.json": body_of(2)}, "at the same offset"),
        ({"tombstone/orders+0+0000000000.keys.avro": b"Obj"}, "files of keys or headers only"),
        (
            {"f=0/orders+0+0000000000.json": body_of(2), "tombstone/orders+0+0000000002.keys.avro": b"Obj"},
            "has no file of values beside it",
        ),
        ({"partition=0/orders+0+0000000000+g1.json": body_of(2)}, "is of generation 1"),
        ({"partition=0/orders+0+7.json": body_of(2)}, "names that this configuration does not make"),
        ({"_SUCCESS": b""}, "names that this configuration does not make"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(objects: Mapping[str, bytes], reason: str) -> None:
    """Formats, damage, doubles, tombstones and strange names: the reason and the way out; a position settles it."""
    world = World()
    world.produce(0, 6)
    world.store.overwrite("topics/orders/partition=1/orders+1+0000000000.json", body_of(1))
    for key, body in objects.items():
        world.store.overwrite(f"topics/orders/{key}", body)
    refused = said(find(world, given={P1: 0}))
    assert reason in refused
    assert "--positions" in refused
    assert positions(adopted(world, given={P0: 3, P1: 0}))[P0] == 3


def test_keys_beside_values_and_empty_folders_change_nothing() -> None:
    """Files of keys and headers belong to their values; a folder that the console made is none of them."""
    world = World()
    world.produce(0, 4)
    sink_of(world).put(0, range(4))
    world.store.overwrite("topics/orders/partition=0/orders+0+0000000000.keys.avro", b"Obj")
    world.store.overwrite("topics/orders/partition=0/orders+0+0000000000.headers.json.gz", b"Obj")
    world.store.overwrite("topics/orders/partition=0/", b"")
    found = find(world)
    assert (positions(found)[P0], said(found), noted(found)) == (4, "", "")


def test_bytes_are_counted_by_their_separator() -> None:
    """ByteArray: a record that holds the separator itself does not move the position unseen."""
    settings = make_settings(converter=Converter.BYTE_ARRAY, format=Format.BYTE_ARRAY, compression=Gzip())
    world = World(settings)
    for offset, value in enumerate([b"one", b"two", b"three", b"four"]):
        world.broker.append("orders", 0, Record(offset, value))
    world.store.overwrite("topics/orders/partition=0/orders+0+0000000000.bin", b"one\ntwo\nthree\n")
    assert positions(find(world))[P0] == 3
    world.store.overwrite("topics/orders/partition=0/orders+0+0000000000.bin", b"one\ntw\no\n")
    assert "they do not end with these records" in said(find(world))


def test_tombstones_in_kafka_are_no_records_of_the_sink() -> None:
    """Records without a value never got into an object: they are passed over when Kafka is compared."""
    world = World()
    world.produce(0, 2)
    world.broker.append("orders", 0, Record(2, None))
    world.produce(0, 3)
    sink = sink_of(world)
    sink.put(0, [0, 1, 3, 4])
    found = find(world)
    assert (positions(found)[P0], said(found)) == (5, "")


def test_objects_of_a_partition_that_is_not_there() -> None:
    """A topic with fewer partitions than the bucket."""
    world = World()
    world.store.overwrite("topics/orders/partition=7/orders+7+0000000000.json", body_of(1))
    assert "is of partition 7, which topic orders does not have" in said(find(world))


# When adopt is refused as a whole.


def test_nothing_to_adopt() -> None:
    """An empty bucket and no group: a first run, or the wrong place."""
    with pytest.raises(ConfigurationError, match="nothing to adopt: no object under topics/orders/ in bucket bucket"):
        find(World())
    with pytest.raises(ConfigurationError, match="Group connect-x has no committed offset"):
        find(World(), group="connect-x", basis=Basis.GROUP)


def test_a_log_that_exists_is_refused() -> None:
    """adopt is for data without a log."""
    world = World()
    world.produce(0, 3)
    world.run()
    with pytest.raises(ConfigurationError, match="has a log already: the newest entry is 1 \\(commit\\)"):
        find(world)


def test_another_connectors_topic_is_refused() -> None:
    """The owner of a topic's keys is another connector."""
    world = World()
    world.produce(0, 3)
    world.run()
    other = World(make_settings(name="other"), world.store, world.broker)
    with pytest.raises(ConfigurationError, match="belongs to connector orders"):
        find(other)


def test_positions_of_unknown_partitions_are_refused() -> None:
    """A typing error in the file of positions."""
    world = World()
    with pytest.raises(ConfigurationError, match="orders-9, ordres-0"):
        find(world, given={TopicPartition("ordres", 0): 1, TopicPartition("orders", 9): 1})


def test_a_run_or_an_adoption_that_was_first_fences() -> None:
    """Two adoptions: one entry; the second one is told whose it is."""
    world = World()
    world.produce(0, 4)
    sink_of(world).put(0, range(4))
    first, second = find(world), find(world)
    adopt(world.exporter, first, request("first"))
    with pytest.raises(Fenced, match="Run first wrote log entry 0 \\(adopt\\) first"):
        adopt(world.exporter, second, request("second"))


class Meanwhile(MemoryBroker):
    """Somebody else does something just before the first question about topics is answered."""

    does: Callable[[], object] | None = None

    def topics(self) -> Mapping[str, TopicView]:
        does, self.does = self.does, None
        if does is not None:
            does()
        return super().topics()


def test_a_first_run_while_an_adoption_looks() -> None:
    """The run's entry and its plan come while Kafka is asked: that plan is no trace of a lost log."""
    broker = Meanwhile()
    world = World(broker=broker)
    world.produce(0, 10)
    broker.set_group(GROUP, {P0: 4, P1: 0})
    broker.does = world.run
    with pytest.raises(ConfigurationError, match="has a log already: the newest entry is 1 \\(commit\\)"):
        find(world, basis=Basis.GROUP)


def test_a_log_that_is_restored_while_an_adoption_waits_for_its_answer() -> None:
    """Its epoch is there, too, so the claim alone would not fence the adoption."""
    world = World()
    world.produce(0, 8)
    world.run()
    log = {key: body for key, body in world.store.contents().items() if "/log/" in key}
    lose_log(world)
    found = find(world)
    for key, body in log.items():
        world.store.overwrite(key, body)
    with pytest.raises(Fenced, match="Run run-1 wrote log entry 1 \\(commit\\) first"):
        adopt(world.exporter, found, request("adopt"))


def test_a_group_that_may_not_be_seen() -> None:
    """Without Describe on the group its offsets are unknown: refused, unless they are not needed."""
    world = World()
    world.produce(0, 4)
    sink_of(world).put(0, range(4))
    world.broker.fail_next("committed", ConfigurationError("No access.", next="Get it."))
    with pytest.raises(ConfigurationError, match="No access.\nGet it. Without it: --from-objects"):
        find(world)
    world.broker.fail_next("committed", ConfigurationError("No access."))
    found = find(world, basis=Basis.OBJECTS)
    assert positions(found)[P0] == 4
    assert "Group connect-orders was not looked at: No access." in noted(found)


# A lost log of our own.


def lose_log(world: World) -> None:
    for key in world.store.contents():
        if "/log/" in key:
            world.store.delete(key)


def test_a_lost_log_is_begun_anew() -> None:
    """Plans and owners without a log: run points to adopt, which begins another epoch; then all is proved."""
    world = World()
    world.produce(0, 8)
    world.run()
    world.produce(0, 2)
    world.run()
    lose_log(world)
    with pytest.raises(LogMissing, match="`kafka-s3 adopt CONFIG`"):
        world.run()
    found = adopted(world)
    assert (found.log.claims, positions(found)) == (1, {P0: 10, P1: 0})
    world.produce(0, 5)
    world.produce(1, 1)
    assert world.run().exit_status == 0
    assert exported(world) == once((0, 15), (1, 1))
    result = verified(world)
    assert (result.findings, result.orphans) == ((), ())


def test_a_lost_log_over_objects_with_a_gap_is_refused() -> None:
    """A failed range may have left later objects without earlier ones: the end of the last one proves nothing."""
    world = World()
    world.produce(0, 9)
    world.run()
    lose_log(world)
    world.store.delete("topics/orders/partition=0/orders+0+0000000003.json")
    assert "The objects from 0 on hold fewer records than there are offsets up to 9" in said(find(world))
    world.broker.set_group(GROUP, {P0: 2})  # of a time before: it does not count for what is ours
    assert "hold fewer records" in said(find(world))


def test_a_lost_log_over_a_doubled_object_is_refused() -> None:
    """A name with +1 beside the first: which of the two was committed, only the log knew."""
    world = World()
    world.produce(0, 3)
    world.run()
    lose_log(world)
    world.store.overwrite("topics/orders/partition=0/orders+0+0000000000+1.json", body_of(2))
    assert "begin at the same offset" in said(find(world))


# More than one topic.


def test_prefixes_that_hold_other_topics_too() -> None:
    """With `-` as the delimiter of directories orders' prefix holds orders-eu's keys: they are told apart."""
    from kafka_s3.adopt.objects import sort_out
    from kafka_s3.naming import DataName, KeyLayout, format_data_key

    layout = KeyLayout(directory_delim="-")
    keys = [format_data_key(layout, DataName(topic, "partition=0", 0, 5, ".json")) for topic in ("orders", "orders-eu")]
    found = sort_out(layout, "orders", [ObjectInfo(key, 1) for key in keys], ["orders", "orders-eu"])
    assert [each.key for each in found.partitions[0].values] == [keys[0]]
    assert found.strangers == ()


def test_a_new_topic_with_data_beside_a_log() -> None:
    """A topic of the sink's that is added to a connector that runs: refused, with the way out."""
    broker = MemoryBroker()
    world = World(broker=broker)
    world.produce(0, 3)
    world.run()
    broker.create_topic("added")
    world.settings = make_settings(topics=("orders", "added"))
    world.store.overwrite("topics/added/partition=0/added+0+0000000000.json", body_of(1))
    with pytest.raises(LogMissing, match="Give the topic to a connector of its own"):
        world.run()


def test_the_layouts_of_these_tests_are_the_sinks() -> None:
    """The layout that the tests write is the documented one (s3-sink-behaviour §2.4's example)."""
    made: dict[str, bytes] = {}
    sink = Sink("t", 5, made.__setitem__, by_field(4))
    sink.put(0, range(11))
    sizes = {key: len(body.splitlines()) for key, body in made.items()}
    assert sizes == {
        "topics/t/f=0/t+0+0000000000.json": 2,
        "topics/t/f=1/t+0+0000000001.json": 1,
        "topics/t/f=2/t+0+0000000002.json": 1,
        "topics/t/f=3/t+0+0000000003.json": 1,
        "topics/t/f=1/t+0+0000000005.json": 2,
        "topics/t/f=2/t+0+0000000006.json": 1,
        "topics/t/f=3/t+0+0000000007.json": 1,
        "topics/t/f=0/t+0+0000000008.json": 1,
    }
    assert sink.committed == {TopicPartition("t", 0): 10}
