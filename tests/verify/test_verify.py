"""Verify: what is right passes, and every kind of damage is found, named and explained."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from kafka_s3.errors import KafkaUnavailable, StoreUnavailable
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry, Plan
from kafka_s3.records import Record
from kafka_s3.settings.formats import FileSettings, Format, Gzip
from kafka_s3.settings.values import NullValues
from kafka_s3.verify.verify import Kafka, Verified, verify
from tests.export.harness import MemoryExport
from tests.support import make_settings

RUNS = 3


def _world(**settings: object) -> MemoryExport:
    """Three commits over two partitions, with a bad record, a tombstone and holes among the offsets."""
    chosen = {"tolerate": True, "null_values": NullValues.IGNORE, "compression": Gzip()} | settings
    world = MemoryExport(settings=make_settings(**chosen))  # type: ignore[arg-type]
    for number in range(RUNS):
        world.produce(0, 5)
        world.broker.append("orders", 0, Record(world.end(0), b"{"))
        world.broker.append("orders", 0, Record(world.end(0), None))
        world.broker.append_holes("orders", 0, 2)
        world.produce(1, number)
        world.run()
    return world


def _verify(world: MemoryExport, *, kafka: bool = False, since: int = 0) -> Verified:
    both = Kafka(world.broker, world.broker) if kafka else None
    return verify(world.settings, world.exporter.log, both, since=since, tell=lambda _: None)


def _rewrite(world: MemoryExport, seq: int, change: Callable[[Entry], Entry]) -> None:
    """Edit an entry and its checksum, as somebody who knows the format would."""
    key = world.exporter.log.layout.log_key(seq)
    world.store.overwrite(key, encode(change(decode(Entry, key, world.store.contents()[key]))))


def _found(verified: Verified) -> str:
    return "\n".join(map(str, verified.findings))


def _data_keys(world: MemoryExport) -> list[str]:
    return [key for key in world.store.contents() if key.startswith("topics/")]


@pytest.mark.parametrize("kafka", [False, True])
def test_a_whole_export_has_no_findings(kafka: bool) -> None:
    """Entries, objects and records are all counted and right, and so is what Kafka holds."""
    world = _world()
    verified = _verify(world, kafka=kafka)
    assert verified.findings == ()
    assert (verified.entries, verified.records) == (RUNS + 1, RUNS * 5 + 3)
    assert verified.objects == len(_data_keys(world))
    assert verified.ranges_compared == (5 if kafka else 0)
    assert verified.orphans == ()
    assert verified.notes == ()


def test_it_writes_nothing() -> None:
    """A check leaves the bucket as it is."""
    world = _world()
    before = world.store.contents()
    _verify(world, kafka=True)
    assert world.store.contents() == before


@pytest.mark.parametrize("format", [Format.JSON, Format.BYTE_ARRAY])
def test_changed_bytes_are_found(format: Format) -> None:
    """An object of the same size with other bytes is found by its hash, whatever its format."""
    world = _world(format=format)
    key = _data_keys(world)[0]
    body = bytearray(world.store.contents()[key])
    body[-1] ^= 1
    world.store.overwrite(key, bytes(body))
    verified = _verify(world)
    assert [finding.where for finding in verified.findings] == [key]
    assert "sha256" in verified.findings[0].expected


def test_a_missing_and_a_shortened_object_are_found() -> None:
    """A deleted object, and one of another size, are named with what was expected."""
    world = _world()
    first, second = _data_keys(world)[:2]
    world.store.delete(first)
    world.store.overwrite(second, b"short")
    verified = _verify(world)
    assert {(each.where, each.found) for each in verified.findings} == {(first, "no object"), (second, "5 bytes")}
    assert all("Restore" in each.next for each in verified.findings)


def test_a_wrong_number_of_records_is_found_in_the_object() -> None:
    """An entry and an object that agree on hash and size and not on the number of lines are found out."""
    world = MemoryExport(settings=make_settings())
    world.produce(0, 2)
    world.run()

    def claim_three(entry: Entry) -> Entry:
        (done,) = entry.ranges
        made = msgspec.structs.replace(done.objects[0], records=3, last_offset=2)
        done = msgspec.structs.replace(done, records=3, next_offset=3, objects=(made,))
        return msgspec.structs.replace(entry, ranges=(done,))

    _rewrite(world, 1, claim_three)
    assert "expected 3 records, found 2 lines" in _found(_verify(world))


@pytest.mark.parametrize("seq", [0, 1, RUNS])
def test_a_damaged_entry_is_found_and_the_rest_is_checked(seq: int) -> None:
    """A truncated entry is named; all other entries and their objects are read all the same."""
    world = _world()
    key = world.exporter.log.layout.log_key(seq)
    world.store.overwrite(key, world.store.contents()[key][:-20])
    verified = _verify(world)
    assert [finding.where for finding in verified.findings] == [key]
    assert "truncated" in verified.findings[0].found
    assert verified.entries == RUNS
    assert verified.orphans is None  # the lost entry may list them


def test_an_edited_entry_breaks_the_chain() -> None:
    """An entry edited together with its checksum no longer is the one that the next entry names."""
    world = _world()
    _rewrite(world, 2, lambda entry: msgspec.structs.replace(entry, run_id="somebody else"))
    verified = _verify(world)
    assert [finding.where for finding in verified.findings] == [world.exporter.log.layout.log_key(2)]
    assert "which entry 3 names" in verified.findings[0].expected


@pytest.mark.parametrize("seq", [0, 2])
def test_a_deleted_entry_is_found(seq: int) -> None:
    """A number that is missing between others, or below the oldest, is a finding that names its key."""
    world = _world()
    key = world.exporter.log.layout.log_key(seq)
    world.store.delete(key)
    verified = _verify(world)
    assert key in [finding.where for finding in verified.findings]
    assert verified.orphans is None


def test_deleted_newest_entries_are_found_by_what_is_beside() -> None:
    """Without its newest two entries the log still looks whole, but a later plan shows what is missing."""
    world = _world()
    layout = world.exporter.log.layout
    world.store.delete(layout.log_key(RUNS))
    world.store.delete(layout.log_key(RUNS - 1))
    assert layout.log_key(RUNS - 1) in [finding.where for finding in _verify(world).findings]


def test_a_deleted_log_is_found() -> None:
    """A log that is gone as a whole is no empty export."""
    world = _world()
    for key in list(world.store.contents()):
        if "/log/" in key:
            world.store.delete(key)
    assert _verify(world).findings_count > 0


def test_an_edited_or_missing_plan_is_found() -> None:
    """A plan is what its entry says: by its hash, and by being there."""
    world = _world()
    layout = world.exporter.log.layout
    plan = decode(Plan, layout.plan_key(1), world.store.contents()[layout.plan_key(1)])
    world.store.overwrite(layout.plan_key(1), encode(msgspec.structs.replace(plan, engine="other")))
    world.store.delete(layout.plan_key(2))
    verified = _verify(world)
    assert {finding.where for finding in verified.findings} == {layout.plan_key(1), layout.plan_key(2)}


def test_a_position_that_ranges_do_not_reach_is_found() -> None:
    """Positions that jump, or go back, between two entries are found, with partition and entry."""
    for change in (+3, -3):
        world = _world()

        def move(entry: Entry, change: int = change) -> Entry:
            state = entry.topics["orders"]
            state = msgspec.structs.replace(state, positions={**state.positions, 0: state.positions[0] + change})
            return msgspec.structs.replace(entry, topics={"orders": state})

        _rewrite(world, RUNS, move)
        verified = _verify(world)
        assert [finding.where for finding in verified.findings] == [f"orders-0 in entry {RUNS}"]


def test_a_range_that_is_left_out_is_found() -> None:
    """An entry without one of its ranges no longer leads to its positions, nor covers its plan."""
    world = _world()
    _rewrite(world, RUNS, lambda entry: msgspec.structs.replace(entry, ranges=entry.ranges[1:]))
    found = _found(_verify(world))
    assert "where its ranges end" in found
    assert "no failure named" in found


def test_offsets_that_are_not_accounted_for_are_found() -> None:
    """A count that was changed breaks the sum of a range."""
    world = _world()

    def count_more(entry: Entry) -> Entry:
        done = msgspec.structs.replace(entry.ranges[0], skipped_offsets=9)
        return msgspec.structs.replace(entry, ranges=(done, *entry.ranges[1:]))

    _rewrite(world, RUNS, count_more)
    assert "every offset in exactly one count" in _found(_verify(world))


def test_content_that_is_not_kafkas_is_found_only_against_kafka() -> None:
    """An object and an entry forged together are found by reading Kafka again, and not without it."""
    world = MemoryExport(settings=make_settings())
    world.produce(0, 2)
    world.run()
    (key,) = _data_keys(world)
    forged = world.store.contents()[key].replace(b'"o": 0', b'"o": 7')
    world.store.overwrite(key, forged)

    def forge(entry: Entry) -> Entry:
        from kafka_s3.log.entries import sha256_of

        (done,) = entry.ranges
        made = msgspec.structs.replace(done.objects[0], sha256=sha256_of(forged))
        return msgspec.structs.replace(entry, ranges=(msgspec.structs.replace(done, objects=(made,)),))

    _rewrite(world, 1, forge)
    assert _verify(world).findings == ()
    assert [finding.where for finding in _verify(world, kafka=True).findings] == [key]


def test_other_bytes_of_the_same_content_pass() -> None:
    """An object that another engine compressed differently holds the same records: no finding."""
    world = MemoryExport(settings=make_settings(compression=Gzip()))
    world.produce(0, 3)
    world.run()
    (key,) = _data_keys(world)
    other = gzip.compress(gzip.decompress(world.store.contents()[key]), 9, mtime=0)
    world.store.overwrite(key, other)

    def name_other(entry: Entry) -> Entry:
        from kafka_s3.log.entries import sha256_of

        (done,) = entry.ranges
        made = msgspec.structs.replace(done.objects[0], sha256=sha256_of(other), size=len(other))
        return msgspec.structs.replace(entry, ranges=(msgspec.structs.replace(done, objects=(made,)),))

    _rewrite(world, 1, name_other)
    verified = _verify(world, kafka=True)
    assert verified.findings == ()
    assert verified.ranges_compared == 1


def test_an_object_under_the_next_free_name_is_compared_too() -> None:
    """A key with a collision's suffix is the same object to Kafka."""
    world = MemoryExport()
    world.produce(0, 2)
    world.run()  # writes positions and the first commit, so that a stranger's object is none of a first run's
    world.store.overwrite("topics/orders/partition=0/orders+0+0000000002.json", b"a stranger's")
    world.produce(0, 2)
    world.run()
    verified = _verify(world, kafka=True)
    assert verified.findings == ()
    assert [orphan.key for orphan in verified.orphans or ()] == ["topics/orders/partition=0/orders+0+0000000002.json"]


def test_what_retention_took_is_not_checkable_and_no_error() -> None:
    """Ranges that Kafka no longer has are noted with their offsets; the others are compared."""
    world = _world()
    world.broker.set_log_start("orders", 0, 10)
    verified = _verify(world, kafka=True)
    assert verified.findings == ()
    assert verified.ranges_compared == 3
    assert sum("not checkable: orders-0" in note for note in verified.notes) == 2


def test_a_topic_created_again_is_not_checkable() -> None:
    """The records of another topic of the same name are not compared."""
    world = _world()
    world.broker.recreate_topic("orders")
    verified = _verify(world, kafka=True)
    assert verified.findings == ()
    assert verified.ranges_compared == 0
    assert "created again" in verified.notes[0]


def test_kafka_that_falls_silent_is_one_finding() -> None:
    """Without an answer of Kafka every entry and object is still read, and Kafka is not asked again."""
    world = _world()
    world.broker.fail_next("topics", KafkaUnavailable("Kafka did not answer."))
    world.broker.requests.clear()
    verified = _verify(world, kafka=True)
    assert [finding.expected for finding in verified.findings] == ["an answer of Kafka"]
    assert verified.objects == len(_data_keys(world))
    assert world.broker.requests == ["topics"]


def test_a_silent_store_is_an_error() -> None:
    """Where the store does not answer nothing can be said: the error is raised."""
    world = _world()
    world.store.fail_next("ListObjectsV2", StoreUnavailable("out"))
    with pytest.raises(StoreUnavailable):
        _verify(world)


def test_orphans_are_listed_and_are_no_error() -> None:
    """Data objects that no entry lists are shown, with whether any run may still commit them."""
    world = _world()
    end = world.end(0)
    below = "topics/orders/partition=0/orders+0+0000000001.json.gz"
    above = f"topics/orders/partition=0/orders+0+{end:010d}.json.gz"
    for key in (below, above, "topics/orders/readme.txt"):
        world.store.overwrite(key, b"")
    verified = _verify(world)
    assert verified.findings == ()
    assert [(orphan.key, orphan.deletable) for orphan in verified.orphans or ()] == [(below, True), (above, False)]


def test_since_checks_only_the_newer_entries() -> None:
    """Entries below the number given are not checked, but the chain into them is."""
    world = _world()
    layout = world.exporter.log.layout
    world.store.delete(layout.plan_key(1))
    verified = _verify(world, since=2)
    assert verified.findings == ()
    assert verified.entries == 2
    assert verified.orphans is None
    _rewrite(world, 1, lambda entry: msgspec.structs.replace(entry, run_id="somebody else"))
    assert [finding.where for finding in _verify(world, since=2).findings] == [layout.log_key(1)]


def test_ranges_after_a_bad_record_are_whole() -> None:
    """A range that a bad record ended early is right, and its rest is accounted for by the failure."""
    world = MemoryExport()
    world.produce(0, 2)
    world.broker.append("orders", 0, Record(2, b"{"))
    world.produce(0, 2)
    world.run()
    world.run()
    assert _verify(world, kafka=True).findings == ()


def test_an_export_made_under_another_configuration_is_checked() -> None:
    """After a change of configuration older entries are checked by hash and size, and noted where not by content."""
    world = _world()
    world.settings = make_settings(flush_size=2)
    world.produce(0, 3)
    world.run()
    verified = _verify(world, kafka=True)
    assert verified.findings == ()
    assert verified.ranges_compared == 1
    assert any("entry 1 is not checkable" in note for note in verified.notes)


def test_an_empty_bucket_is_right() -> None:
    """Before the first run there is nothing to find."""
    verified = _verify(MemoryExport())
    assert (verified.entries, verified.findings, verified.orphans) == (0, (), ())


def test_keys_of_another_format_are_read_as_what_they_are() -> None:
    """Tombstones whose keys are Avro, beside values of JSON and gzip: nothing is taken for a broken gzip stream."""
    world = MemoryExport(settings=make_settings(null_values=NullValues.WRITE, compression=Gzip()))
    keys = FileSettings(Format.AVRO)
    world.settings = replace(world.settings, format=replace(world.settings.format, keys=keys))
    world.broker.append("orders", 0, *(Record(n, b"{}", b"key") for n in range(5)), Record(5, None, b"gone"))
    assert world.run().exit_status == 0
    verified = _verify(world, kafka=True)
    assert verified.findings == ()
    assert verified.ranges_compared == 1
