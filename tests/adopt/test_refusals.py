"""adopt over memory: what cannot be counted, when it is refused as a whole, and a lost log of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.adopt.adopt import adopt
from kafka_s3.adopt.decide import Basis
from kafka_s3.errors import ConfigurationError, Fenced, LogMissing
from kafka_s3.ports import ObjectInfo, TopicView
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.formats import Format, Gzip
from tests.adopt.sink import Sink, by_field
from tests.adopt.test_adopt import (
    GROUP,
    P0,
    P1,
    adopted,
    exported,
    find,
    noted,
    once,
    positions,
    said,
    sink_of,
    verified,
)
from tests.export.harness import MemoryExport
from tests.support import make_settings, request

# What cannot be counted.


def body_of(lines: int) -> bytes:
    return Sink("orders", 1, lambda *_: None).body(0, range(lines))


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ({"partition=0/orders+0+0000000000.avro": b"Obj\x01"}, "only JSON lines and ByteArray"),
        ({"partition=0/orders+0+0000000000.json.gz": b"no gzip"}, "is not a whole gzip stream"),
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
    world = MemoryExport()
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
    world = MemoryExport()
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
    world = MemoryExport(settings)
    for offset, value in enumerate([b"one", b"two", b"three", b"four"]):
        world.broker.append("orders", 0, Record(offset, value))
    world.store.overwrite("topics/orders/partition=0/orders+0+0000000000.bin", b"one\ntwo\nthree\n")
    assert positions(find(world))[P0] == 3
    world.store.overwrite("topics/orders/partition=0/orders+0+0000000000.bin", b"one\ntw\no\n")
    assert "they do not end with these records" in said(find(world))


def test_tombstones_in_kafka_are_no_records_of_the_sink() -> None:
    """Records without a value never got into an object: they are passed over when Kafka is compared."""
    world = MemoryExport()
    world.produce(0, 2)
    world.broker.append("orders", 0, Record(2, None))
    world.produce(0, 3)
    sink = sink_of(world)
    sink.put(0, [0, 1, 3, 4])
    found = find(world)
    assert (positions(found)[P0], said(found)) == (5, "")


def test_objects_of_a_partition_that_is_not_there() -> None:
    """A topic with fewer partitions than the bucket."""
    world = MemoryExport()
    world.store.overwrite("topics/orders/partition=7/orders+7+0000000000.json", body_of(1))
    assert "is of partition 7, which topic orders does not have" in said(find(world))


# When adopt is refused as a whole.


def test_nothing_to_adopt() -> None:
    """An empty bucket and no group: a first run, or the wrong place."""
    with pytest.raises(ConfigurationError, match="nothing to adopt: no object under topics/orders/ in bucket bucket"):
        find(MemoryExport())
    with pytest.raises(ConfigurationError, match="Group connect-x has no committed offset"):
        find(MemoryExport(), group="connect-x", basis=Basis.GROUP)


def test_a_log_that_exists_is_refused() -> None:
    """adopt is for data without a log."""
    world = MemoryExport()
    world.produce(0, 3)
    world.run()
    with pytest.raises(ConfigurationError, match="has a log already: the newest entry is 1 \\(commit\\)"):
        find(world)


def test_another_connectors_topic_is_refused() -> None:
    """The owner of a topic's keys is another connector."""
    world = MemoryExport()
    world.produce(0, 3)
    world.run()
    other = MemoryExport(make_settings(name="other"), world.store, world.broker)
    with pytest.raises(ConfigurationError, match="belongs to connector orders"):
        find(other)


def test_positions_of_unknown_partitions_are_refused() -> None:
    """A typing error in the file of positions."""
    world = MemoryExport()
    with pytest.raises(ConfigurationError, match="orders-9, ordres-0"):
        find(world, given={TopicPartition("ordres", 0): 1, TopicPartition("orders", 9): 1})


def test_a_run_or_an_adoption_that_was_first_fences() -> None:
    """Two adoptions: one entry; the second one is told whose it is."""
    world = MemoryExport()
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
    world = MemoryExport(broker=broker)
    world.produce(0, 10)
    broker.set_group(GROUP, {P0: 4, P1: 0})
    broker.does = world.run
    with pytest.raises(ConfigurationError, match="has a log already: the newest entry is 1 \\(commit\\)"):
        find(world, basis=Basis.GROUP)


def test_a_log_is_restored_while_an_adoption_waits() -> None:
    """Its epoch is there, too, so the claim alone would not fence the adoption."""
    world = MemoryExport()
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
    world = MemoryExport()
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


def lose_log(world: MemoryExport) -> None:
    for key in world.store.contents():
        if "/log/" in key:
            world.store.delete(key)


def test_a_lost_log_is_begun_anew() -> None:
    """Plans and owners without a log: run points to adopt, which begins another epoch; then all is proved."""
    world = MemoryExport()
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
    world = MemoryExport()
    world.produce(0, 9)
    world.run()
    lose_log(world)
    world.store.delete("topics/orders/partition=0/orders+0+0000000003.json")
    assert "The objects from 0 on hold fewer records than there are offsets up to 9" in said(find(world))
    world.broker.set_group(GROUP, {P0: 2})  # of a time before: it does not count for what is ours
    assert "hold fewer records" in said(find(world))


def test_a_lost_log_over_a_doubled_object_is_refused() -> None:
    """A name with +1 beside the first: which of the two was committed, only the log knew."""
    world = MemoryExport()
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
    world = MemoryExport(broker=broker)
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
