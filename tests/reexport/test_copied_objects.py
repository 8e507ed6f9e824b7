"""A window of which Kafka no longer has every record: what is gone is copied from the live objects."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import (
    EXIT_DATA,
    EXIT_DONE,
    DataError,
)
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry, Interval, Kind
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.settings.run import Policies
from tests.export.place import TOPIC
from tests.reexport.test_reexport import NAME
from tests.reexport.windows import WindowExport

# Where Kafka no longer has it.


def test_what_retention_took_is_copied_byte_for_byte() -> None:
    """Objects inside the window are copied with their names, those outside are counted; a range that Kafka still has
    is read, though it is in both."""
    place = WindowExport(flush_size=2)
    place.export(110, 120, 210, 220)
    place.export(130, 230)
    place.retain(0, 1)  # a part of the first range is gone, so it is taken from the bucket as a whole
    place.again()
    assert place.rows() == place.expected()
    first, second = place.commits()[0].ranges
    assert (first.records, first.outside, second.records, second.outside) == (2, 2, 1, 1)
    [copied] = first.objects
    original = place.entries()[1].ranges[0].objects[0]
    assert copied.key == original.key.replace("topics/", f"reexport/{NAME}/")
    assert (copied.sha256, place.store.contents()[copied.key]) == (
        original.sha256,
        place.store.contents()[original.key],
    )


def test_records_of_a_topic_created_again_are_those_of_both() -> None:
    """The old topic's objects are copied, the new one's records are read: the same offsets, two generations."""
    place = WindowExport(policies=Policies(restart_recreated=True))
    place.export(110, 120)
    place.broker.recreate_topic(TOPIC)
    place.export(130, 140)
    place.again()
    assert place.rows() == place.expected()
    assert [row[2] for row in place.rows()] == [110, 120, 130, 140]
    assert [key.rpartition("/")[2] for key in place.keys_of_windows()] == [
        "orders+0+0000000000+g1.json",
        "orders+0+0000000000.json",
    ]


@pytest.mark.parametrize("noticed", [False, True])
def test_what_an_unclean_election_cut_off_is_copied(noticed: bool) -> None:
    """Below the cut Kafka is read, above it there are other records: whether or not the live log knows by now."""
    place = WindowExport(policies=Policies(record_data_loss=True))
    place.export(110, 120)
    place.export(130, 140)
    place.broker.truncate(TOPIC, 0, 2)
    place.add(*([150, 160] if noticed else [250, 260]), 170)
    if noticed:
        place.export()
    place.again()
    assert place.rows() == place.expected()
    assert [row[2] for row in place.rows()][:4] == [110, 120, 130, 140]
    planned = place.window_log().plan(0)
    assert planned is not None
    assert [each.is_copied for each in planned.plan.ranges][:2] == [False, True]


def test_what_compaction_took_is_copied() -> None:
    """A log that lacks records in the middle shows when it is read; then the objects are copied, in the same run."""
    place = WindowExport()
    place.export(110, 120, 130)
    state = place.broker._topics[TOPIC].partitions[0]
    del state.records[1]
    report = place.again()
    assert report.exit_status == EXIT_DONE
    assert place.rows() == place.expected()
    assert [entry.kind for entry in place.window_entries()] == [Kind.VOID, Kind.COMMIT]
    assert "compacted" in str(place.window_entries()[0].reason)


@pytest.mark.parametrize("dated", [False, True])
def test_objects_that_cannot_be_filtered_fail_the_window(dated: bool) -> None:
    """An object without timestamps, or across the window's edge, is not copied: the message names it and says what to
    do, and nothing is written."""
    place = WindowExport(dated=dated)
    place.export(190, 210)
    place.retain(0, 2)
    before = place.store.contents()
    with pytest.raises(DataError, match=r"topics/orders/partition=0/orders\+0\+0000000000\.json.*export\.timestamps"):
        place.again()
    assert place.store.contents() == before


def test_an_object_that_was_tampered_with_is_not_copied() -> None:
    """A copy is checked against the log: other bytes end the window, and nothing of it is committed."""
    place = WindowExport()
    place.export(110)
    place.retain(0, 1)
    [made] = place.entries()[1].ranges[0].objects
    body = place.store.contents()[made.key]
    place.store.delete(made.key)
    place.store.put_if_absent(made.key, body.replace(b"110", b"111"))
    report = place.again()
    assert (report.exit_status, place.commits()) == (EXIT_DATA, [])
    assert "is not what was committed" in report.problems()[0]


def test_companions_are_copied_and_large_objects_in_parts() -> None:
    """Keys beside values keep their names; what is larger than a part is sent in several, and what a copy left open is
    aborted."""
    place = WindowExport(part_size=20)
    place.store = MemoryStore(part_bytes_min=1)
    place.settings = replace(place.settings, format=replace(place.settings.format, keys=FileSettings(Format.JSON)))
    place.export(110, 120, 130)
    place.retain(0, 3)
    place.again()
    [made] = place.commits()[0].ranges[0].objects
    assert [each.what for each in made.companions] == ["keys"]
    contents = place.store.contents()
    for each in (made, *made.companions):
        assert contents[each.key] == contents[each.key.replace(f"reexport/{NAME}/", "topics/")]
    assert list(place.store.uploads("reexport/")) == []


def scheduled(*hours: int, clock_ms: int = 10**6, **settings: object) -> WindowExport:
    """Hours of 100 ms with two records each, exported by punctual runs that do not look at timestamps."""
    place = WindowExport(dated=False, **settings)
    for hour in hours:
        place.add(hour * 100 + 10, hour * 100 + 20)
        interval = (hour * 100, hour * 100 + 100)
        assert place.run(f"hour {hour}", interval=interval, now_ms=clock_ms).exit_status == EXIT_DONE
    return place


def test_old_hours_gone_from_kafka_hold_up_no_later_window() -> None:
    """A plan ends in front of the first record after its interval: of older hours nothing can be in the window, though
    neither Kafka nor the log says how old their records are."""
    place = scheduled(0, 1, 2, 3)
    place.retain(0, 3)
    with pytest.raises(DataError, match="cannot be exported again"):
        place.again()  # a part of the hour itself is gone
    assert place.again("later", Interval(200, 300)).exit_status == EXIT_DONE
    assert place.rows(Interval(200, 300)) == place.expected(Interval(200, 300)) != []


def test_an_old_hour_planned_beyond_its_end_is_not_old() -> None:
    """Where a record from the future made a plan read up to the LSO, the plan says so, and proves nothing."""
    place = WindowExport(dated=False)
    place.add(10, 5000, 150)
    place.run("hour 0", interval=(0, 100), now_ms=200)
    assert any("in the future" in note for note in place.plan(1).notes)
    place.add(160)
    place.run("hour 1", interval=(100, 200), now_ms=200)
    place.retain(0, 3)
    with pytest.raises(DataError, match="cannot be exported again"):
        place.again()


def test_the_index_beside_an_object_says_how_old_it_is() -> None:
    """Objects of Block-GZIP from before the log had timestamps are dated by their indexes, which are checked first."""
    by_index = FileSettings(Format.BLOCK_GZIP)
    place = WindowExport(dated=False, flush_size=2)
    place.settings = replace(place.settings, format=replace(place.settings.format, file=by_index))
    place.export(110, 120, 210, 220)
    for key, body in place.store.contents().items():
        if "/log/" in key:  # as an older version wrote it
            entry = decode(Entry, key, body)
            undated = [
                msgspec.structs.replace(
                    done,
                    objects=tuple(
                        msgspec.structs.replace(made, min_timestamp_ms=None, max_timestamp_ms=None)
                        for made in done.objects
                    ),
                )
                for done in entry.ranges
            ]
            place.store.delete(key)
            place.store.put_if_absent(key, encode(msgspec.structs.replace(entry, ranges=tuple(undated))))
    place.retain(0, 4)
    place.again()
    [done] = place.commits()[0].ranges
    assert (done.records, done.outside) == (2, 2)
    [index] = [each for made in done.objects for each in made.companions]
    assert (
        place.store.contents()[index.key] == place.store.contents()[index.key.replace(f"reexport/{NAME}/", "topics/")]
    )


def test_what_dead_runs_left_goes_with_the_commit() -> None:
    """Objects under a window's prefix that its commit does not list, and open uploads, go; strangers' files stay."""
    place = WindowExport(flush_size=1, part_size=20)
    place.store = MemoryStore(part_bytes_min=1)
    place.export(110, 120)
    assert place.dies_at(CrashPoint.WROTE_OBJECT)
    place.settings = replace(place.settings, limits=replace(place.settings.limits, flush_size=2))
    place.settings = replace(place.settings, configuration_sha256="another")
    orphan = f"reexport/{NAME}/orders/partition=0/orders+0+0000000001.json"
    stranger = f"reexport/{NAME}/orders/_SUCCESS"
    place.store.start_multipart(orphan).put_part(b"left")
    place.store.put_if_absent(orphan, b"left")
    place.store.put_if_absent(stranger, b"")
    assert place.again().exit_status == EXIT_DONE
    assert place.rows() == place.expected()
    assert list(place.store.uploads("reexport/")) == []
    assert stranger in place.keys_of_windows()
    assert orphan not in place.keys_of_windows()


def test_a_window_that_was_deleted_by_hand_is_exported_again() -> None:
    """Objects and log together: then it was never there, and holds what has come late since."""
    place = WindowExport()
    place.export(110)
    place.again()
    place.export(120)
    for key in place.store.contents():
        if NAME in key:
            place.store.delete(key)
    assert place.again().exit_status == EXIT_DONE
    assert [row[2] for row in place.rows()] == [110, 120]
