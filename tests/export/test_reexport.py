"""A window of time exported again: exactly its committed records, once, wherever they can still be had."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3 import crash_points
from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.bucket.window import of_window, parse_window, window_id
from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import (
    EXIT_DATA,
    EXIT_DONE,
    EXIT_TEMPORARY,
    ConfigurationError,
    DataError,
    Fenced,
    TemporaryError,
)
from kafka_s3.gc.gc import collect
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry, Interval, Kind, Plan, sha256_of
from kafka_s3.naming import KeyLayout
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.reexport import windows
from kafka_s3.reexport.run import prepare, run
from kafka_s3.rewind.rewind import look, rewind
from kafka_s3.settings import from_mapping
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.settings.paths import RunTime, TimePartitioner
from kafka_s3.settings.run import Policies
from kafka_s3.verify.verify import verify
from tests.export.logs import settings_of
from tests.export.place import TOPIC
from tests.export.windows import WINDOW, Windows
from tests.support import MINIMAL, hear, request

NAME = "19700101T000000.100Z-19700101T000000.200Z"
TP = TopicPartition(TOPIC, 0)


# What is in it.


def test_a_window_holds_its_records_late_ones_too_under_a_prefix_and_in_a_log_of_its_own() -> None:
    """Records of the window out of three commits, the late one too; keys and log are the window's, and what the live
    export has stays as it is."""
    place = Windows()
    place.export(50, 100, 150)
    place.export(199, 200, 300)
    place.export(400, 120)
    before = place.store.contents()
    assert place.again().exit_status == EXIT_DONE
    assert place.rows() == place.expected()
    assert [row[2] for row in place.rows()] == [100, 150, 199, 120]
    after = place.store.contents()
    assert {key: after[key] for key in before} == before
    new = sorted(key.rpartition("/")[0] for key in after.keys() - before.keys())
    assert set(new) == {
        "_kafka_s3/owners/reexport",
        f"_kafka_s3/orders/reexport/{NAME}/log",
        f"_kafka_s3/orders/reexport/{NAME}/plan",
        f"reexport/{NAME}/orders/partition=0",
    }


def test_every_offset_of_what_was_read_is_accounted_for() -> None:
    """What is outside the window is counted as such, beside tombstones, bad records and offsets without a record."""
    place = Windows(tolerate=True)
    place.add(150, 90)
    place.broker.append_holes(TOPIC, 0, 2)
    place.broker.append(TOPIC, 0, Record(4, b"{oops", timestamp_ms=160), Record(5, b"{oops", timestamp_ms=300))
    place.export(170, 250)
    place.again()
    [commit] = place.commits()
    [done] = commit.ranges
    assert (done.records, done.rejected, done.skipped_offsets, done.outside) == (2, 1, 2, 3)
    assert (done.start, done.next_offset, done.min_timestamp_ms, done.max_timestamp_ms) == (0, 8, 150, 170)
    assert done.dead_letters is not None
    assert done.dead_letters.key.startswith(f"_kafka_s3/orders/reexport/{NAME}/rejected/")


def test_the_log_says_how_old_records_are_only_where_it_is_asked_to() -> None:
    """Ranges and objects have the oldest and newest timestamp of their records, bad ones too in a range; `None` where
    nobody looks, or no record has one."""
    place = Windows(tolerate=True, flush_size=2)
    place.broker.append(TOPIC, 0, Record(0, b"{oops", timestamp_ms=7))
    place.export(50, 40, None, 60)
    place.export(None)
    first, second = place.entries()[1].ranges[0], place.entries()[2].ranges[0]
    assert (first.min_timestamp_ms, first.max_timestamp_ms) == (7, 60)
    assert [(made.min_timestamp_ms, made.max_timestamp_ms) for made in first.objects] == [(40, 50), (60, 60)]
    assert (second.min_timestamp_ms, second.objects[0].max_timestamp_ms) == (None, None)
    without = Windows(dated=False)
    without.export(50, 60)
    assert without.entries()[1].ranges[0].min_timestamp_ms is None


def test_an_entry_of_an_older_version_has_no_timestamps() -> None:
    """What older versions wrote is read as it is."""
    place = Windows()
    place.export(150)
    [planned] = [place.plan(1)]
    body = encode(planned)
    older = body.replace(b',"is_copied":false', b"").replace(b',"live":null', b"")
    assert older != body
    inner = older[older.index(b'"body":') + 7 : -1]
    fixed = b'{"sha256":"%s","body":%s}' % (sha256_of(inner).encode(), inner)
    assert decode(Plan, "plan", fixed) == planned


def test_a_window_without_records_is_committed_without_reading() -> None:
    """Nothing of an hour is an answer too: one entry, no objects, and no Spark is needed."""
    place = Windows()
    place.export(50)
    place.export(300)
    asked = request("empty", interval=(100, 200))
    assert prepare(place.exporter(), asked) is None
    [commit] = place.commits()
    assert (commit.ranges, commit.interval) == ((), WINDOW)
    assert place.keys_of_windows() == []


def test_ranges_without_timestamps_are_read_from_the_windows_first_offset() -> None:
    """Where the log does not say how old records are, Kafka says where the window can begin; the plan tells of it."""
    place = Windows(dated=False)
    place.broker.set_cleanup(TOPIC, "delete")
    place.export(10, 20, 30)
    place.export(40, 150, 90)
    place.export(210, 160)
    place.again()
    assert place.rows() == place.expected()
    planned = place.window_log().plan(0)
    assert planned is not None
    assert [(each.start, each.end) for each in planned.plan.ranges] == [(4, 6), (6, 8)]
    assert any("have no timestamps" in note for note in planned.plan.notes)


def test_what_a_rewind_withdrew_is_not_in_the_window_and_what_replaced_it_is() -> None:
    """Records that were exported twice, with a rewind between, are in the window once."""
    place = Windows()
    place.export(110, 120)
    place.export(130)
    exporter = place.exporter()
    rewind(exporter, look(exporter, {TP: 0}), request("by hand"))
    place.export(140)
    place.again()
    assert place.rows() == place.expected()
    assert [row[2] for row in place.rows()] == [110, 120, 130, 140]


def test_a_wall_clock_path_is_that_of_the_window() -> None:
    """Where paths are the run's time, those of a window are its own, a late record's included."""
    by_minute = TimePartitioner(1, "'at='SSS", "UTC", "en", RunTime())
    place = Windows(partitioner=by_minute)
    place.add(150)
    place.run("live", interval=(0, 1000))
    place.again()
    assert place.keys_of_windows() == [f"reexport/{NAME}/orders/at=100/orders+0+0000000000.json"]


# Where Kafka no longer has it.


def test_what_retention_took_is_copied_byte_for_byte_and_the_rest_is_read() -> None:
    """Objects inside the window are copied with their names, those outside are counted; a range that Kafka still has
    is read, though it is in both."""
    place = Windows(flush_size=2)
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


def test_records_of_a_topic_that_was_created_again_are_those_of_both() -> None:
    """The old topic's objects are copied, the new one's records are read: the same offsets, two generations."""
    place = Windows(policies=Policies(restart_recreated=True))
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
    place = Windows(policies=Policies(record_data_loss=True))
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
    place = Windows()
    place.export(110, 120, 130)
    state = place.broker._topics[TOPIC].partitions[0]
    del state.records[1]
    report = place.again()
    assert report.exit_status == EXIT_DONE
    assert place.rows() == place.expected()
    assert [entry.kind for entry in place.window_entries()] == [Kind.VOID, Kind.COMMIT]
    assert "compacted" in str(place.window_entries()[0].reason)


@pytest.mark.parametrize("dated", [False, True])
def test_objects_that_cannot_be_filtered_fail_the_window_and_are_named(dated: bool) -> None:
    """An object without timestamps, or across the window's edge, is not copied: the message names it and says what to
    do, and nothing is written."""
    place = Windows(dated=dated)
    place.export(190, 210)
    place.retain(0, 2)
    before = place.store.contents()
    with pytest.raises(DataError, match=r"topics/orders/partition=0/orders\+0\+0000000000\.json.*export\.timestamps"):
        place.again()
    assert place.store.contents() == before


def test_an_object_that_was_tampered_with_is_not_copied() -> None:
    """A copy is checked against the log: other bytes end the window, and nothing of it is committed."""
    place = Windows()
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
    place = Windows(part_size=20)
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


def scheduled(*hours: int, clock_ms: int = 10**6, **settings: object) -> Windows:
    """Hours of 100 ms with two records each, exported by punctual runs that do not look at timestamps."""
    place = Windows(dated=False, **settings)
    for hour in hours:
        place.add(hour * 100 + 10, hour * 100 + 20)
        interval = (hour * 100, hour * 100 + 100)
        assert place.run(f"hour {hour}", interval=interval, now_ms=clock_ms).exit_status == EXIT_DONE
    return place


def test_old_hours_that_are_gone_from_kafka_hold_up_no_later_window() -> None:
    """A plan ends in front of the first record after its interval: of older hours nothing can be in the window, though
    neither Kafka nor the log says how old their records are."""
    place = scheduled(0, 1, 2, 3)
    place.retain(0, 3)
    with pytest.raises(DataError, match="cannot be exported again"):
        place.again()  # a part of the hour itself is gone
    assert place.again("later", Interval(200, 300)).exit_status == EXIT_DONE
    assert place.rows(Interval(200, 300)) == place.expected(Interval(200, 300)) != []


def test_an_old_hour_whose_plan_went_beyond_its_end_is_not_taken_for_old() -> None:
    """Where a record from the future made a plan read up to the LSO, the plan says so, and proves nothing."""
    place = Windows(dated=False)
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
    place = Windows(dated=False, flush_size=2)
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


def test_what_dead_runs_left_is_deleted_once_the_window_is_committed() -> None:
    """Objects under a window's prefix that its commit does not list, and open uploads, go; strangers' files stay."""
    place = Windows(flush_size=1, part_size=20)
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
    place = Windows()
    place.export(110)
    place.again()
    place.export(120)
    for key in place.store.contents():
        if NAME in key:
            place.store.delete(key)
    assert place.again().exit_status == EXIT_DONE
    assert [row[2] for row in place.rows()] == [110, 120]


# Once.


def test_a_committed_window_is_left_as_it_is() -> None:
    """A second run is a quiet success: it does not ask Kafka, and writes nothing."""
    place = Windows()
    place.export(110)
    place.again()
    place.export(120)
    before, asked = place.store.contents(), len(place.broker.requests)
    report = place.again("once more")
    assert (report.committed, report.exit_status) == ([], EXIT_DONE)
    assert prepare(place.exporter(), request("a third", interval=(100, 200))) is None
    assert place.store.contents() == before
    assert len(place.broker.requests) == asked


def test_two_runs_of_one_window_make_one_commit() -> None:
    """The second finishes the first one's plan while that is at work: one commit, which both take for theirs."""
    place = Windows(flush_size=2)
    place.export(110, 120, 130)
    inner: list[int] = []

    def meanwhile() -> None:
        place.before_again = lambda: None
        inner.append(place.again("second").exit_status)

    place.before_again = meanwhile
    assert place.again("first").exit_status == EXIT_DONE
    assert inner == [EXIT_DONE]
    assert place.rows() == place.expected()
    assert len(place.keys_of_windows()) == 2


def test_two_plans_at_the_same_moment() -> None:
    """One of them is written; the other run is fenced, and its retry finds it."""
    place = Windows()
    place.export(110)
    asked = request("first", interval=(100, 200))

    def other(point: CrashPoint) -> None:
        if point is CrashPoint.MADE_PLAN:
            crash_points.listener = None
            prepare(place.exporter(), request("second", interval=(100, 200)))

    crash_points.listener = other
    try:
        with pytest.raises(Fenced):
            prepare(place.exporter(), asked)
    finally:
        crash_points.listener = None
    assert place.again("first").exit_status == EXIT_DONE
    assert place.rows() == place.expected()


@pytest.mark.parametrize("retained", [False, True])
@pytest.mark.parametrize("point", CrashPoint)
def test_a_run_that_died_anywhere_is_finished_by_the_next_one(point: CrashPoint, retained: bool) -> None:
    """Wherever and however often it dies, the next run makes the window what it would have been, with one commit."""
    calm = _two_commits(retained)
    calm.again()
    deaths = 0
    while deaths < 5:
        place = _two_commits(retained)
        if not place.dies_at(point, deaths):
            break
        deaths += 1
        assert place.again("next").exit_status == EXIT_DONE
        assert place.rows() == place.expected() == calm.rows()
        assert place.keys_of_windows() == calm.keys_of_windows()
        assert list(place.store.uploads("")) == []
    in_parts = (CrashPoint.PROBING_STORE, CrashPoint.STARTED_UPLOAD, CrashPoint.SENT_PART)
    never = (CrashPoint.WROTE_POSITIONS, *in_parts)  # in calm
    assert (deaths > 0) == (point not in never)


def _two_commits(retained: bool) -> Windows:
    place = Windows(flush_size=2)
    place.export(110, 120)
    place.export(90, 130, 140)
    if retained:
        place.retain(0, 2)
    return place


def test_a_plan_that_retention_overtook_is_made_anew_in_the_same_run() -> None:
    """The records vanish between plan and reading: the plan is voided, and the next one copies the objects."""
    place = Windows()
    place.export(110, 120)

    def vanish() -> None:
        place.before_again = lambda: None
        place.retain(0, 2)

    place.before_again = vanish
    assert place.again().exit_status == EXIT_DONE
    assert place.rows() == place.expected()
    assert [entry.kind for entry in place.window_entries()] == [Kind.VOID, Kind.COMMIT]


def test_a_bad_record_ends_the_window_and_nothing_is_committed() -> None:
    """Where no bad record may be left out, one in the window fails it; the log says why, the next run tries again."""
    place = Windows(tolerate=True)
    place.broker.append(TOPIC, 0, Record(0, b"{oops", timestamp_ms=150))
    place.export(160)
    place.settings = replace(place.settings, tolerate_bad_records=False)
    report = place.again()
    assert (report.exit_status, place.commits()) == (EXIT_DATA, [])
    [void] = place.window_entries()
    assert (void.kind, "A bad record" in str(void.reason)) == (Kind.VOID, True)
    place.settings = replace(place.settings, tolerate_bad_records=True)
    assert place.again("next").exit_status == EXIT_DONE
    assert place.rows() == place.expected()


def test_an_open_plan_of_another_configuration_is_voided() -> None:
    """What shapes bytes has changed: the window is planned anew under what is configured now."""
    place = Windows()
    place.export(110)
    assert place.dies_at(CrashPoint.WROTE_PLAN)
    place.settings = replace(place.settings, configuration_sha256="another")
    assert place.again().exit_status == EXIT_DONE
    assert [entry.kind for entry in place.window_entries()] == [Kind.VOID, Kind.COMMIT]


# When it may not be.


def test_a_window_that_the_live_export_has_not_reached_waits() -> None:
    """A window is written once, so not before all of it is exported: one that is not over, or whose records wait."""
    place = Windows()
    with pytest.raises(TemporaryError, match="has exported nothing yet"):
        place.again()
    place.export(110)
    place.add(150, 250)
    with pytest.raises(TemporaryError, match=r"orders-0 is exported up to offset 1, .* go on to 2"):
        place.again()
    asked = request("early", interval=(100, 200), now_ms=199)
    with pytest.raises(TemporaryError, match="is not over yet"):
        run(place.exporter(), asked, lambda _: [], hear(place.told))
    assert windows(place.settings, place.store) == ()
    place.export()
    assert place.again().exit_status == EXIT_DONE
    assert place.rows() == place.expected()


def test_what_is_newer_than_the_window_does_not_hold_it_up() -> None:
    """Positions count, and up to Kafka's first record behind the window alone."""
    place = Windows()
    place.add(110)
    place.run("hour", interval=(100, 200))
    place.add(230, 120)
    assert place.again().exit_status == EXIT_DONE
    assert [row[2] for row in place.rows()] == [110]


def test_a_run_without_a_window_fails_with_what_to_do() -> None:
    place = Windows()
    with pytest.raises(ConfigurationError, match="(?s)no data interval.*backfill"):
        run(place.exporter(), request(), lambda _: [], hear(place.told))


def test_a_partition_without_a_leader_is_waited_for() -> None:
    """Kafka has the records and cannot give them now: a retry will find a leader."""
    place = Windows()
    place.add(110)
    place.run("hour", interval=(100, 200))
    place.broker.lead(TOPIC, 0, up=False)
    with pytest.raises(TemporaryError, match="no leader"):
        place.again()
    place.broker.lead(TOPIC, 0, up=True)
    assert place.again().exit_status == EXIT_DONE


def test_two_connectors_do_not_share_the_windows_of_a_topic() -> None:
    """The same topic by another connector under the same prefix is refused, with the property to change."""
    place, other = Windows(), Windows(name="copy", layout=KeyLayout(topics_dir="elsewhere"))
    other.store, other.broker = place.store, place.broker
    place.export(110)
    other.export()
    place.again()
    with pytest.raises(
        ConfigurationError, match=r"(?s)belongs to connector orders.*another export\.reexport\.topics\.dir"
    ):
        other.again()
    other.settings = replace(other.settings, reexport_dir="reexport-of-copy")
    assert other.again().exit_status == EXIT_DONE


def test_windows_never_lie_among_live_data() -> None:
    """A blank topics.dir and a topic of the windows' folder's name: refused before anything is written."""
    place = Windows(layout=KeyLayout(topics_dir=""))
    place.settings = replace(place.settings, reexport_dir=TOPIC)
    place.export(110)
    with pytest.raises(ConfigurationError, match="among the live data of topic orders"):
        place.again()


# Beside the live export.


def test_verify_and_gc_take_nothing_of_a_window_for_garbage() -> None:
    """Neither is a window's object an orphan, nor its log a part of the live one; a zombie's plan neither."""
    place = Windows()
    place.export(110, 120)
    place.again()
    place.dies_at(CrashPoint.WROTE_OBJECT, window=Interval(0, 115))
    place.export(130)
    verified = verify(place.settings, place.log, None, tell=lambda _: None)
    assert (verified.findings_count, verified.orphans) == (0, ())
    garbage = collect(place.settings, place.log)
    assert garbage is not None
    assert (garbage.objects, garbage.uploads, garbage.waiting) == ((), (), ())
    assert place.again("next", Interval(0, 115)).exit_status == EXIT_DONE


def test_windows_are_listed_newest_first() -> None:
    """What the page and `status` show: committed or not, what is in it, where, and who wrote it."""
    place = Windows()
    place.export(50, 110, 120, 250)
    place.again("one")
    place.again("two", Interval(200, 300))
    assert place.dies_at(CrashPoint.WROTE_PLAN, window=Interval(0, 100))
    listed = windows(place.settings, place.store)
    assert [(each.start_ms, each.end_ms) for each in listed] == [(200, 300), (100, 200), (0, 100)]
    assert [(each.is_committed, each.records, each.objects, each.run_id) for each in listed] == [
        (True, 1, 1, "two"),
        (True, 2, 1, "one"),
        (False, 0, 0, "dead"),
    ]
    assert listed[1].prefix == f"reexport/{NAME}/"
    assert listed[1].entry_key == place.window_log().layout.log_key(0)
    assert listed[1].bytes == sum(len(place.store.contents()[key]) for key in place.keys_of_windows() if NAME in key)
    assert listed[2].entry_key is None
    assert windows(place.settings, place.store, 1) == listed[:1]


@given(st.integers(-(2**45), 2**47), st.integers(1, 2**40))
def test_a_windows_name_says_which_it_is(start_ms: int, size_ms: int) -> None:
    """`window_id` and `parse_window` are inverse."""
    window = Interval(start_ms, start_ms + size_ms)
    assert parse_window(window_id(window)) == window


@pytest.mark.parametrize("text", ["", "20261121T100000Z", f"{NAME}-", "20261121T110000Z-20261121T100000Z", "x-y"])
def test_other_names_are_no_windows(text: str) -> None:
    assert parse_window(text) is None


# Whatever happened before.

_TIMES = st.lists(st.sampled_from([None, 0, 99, 100, 150, 199, 200, 250]), max_size=4)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("export"), st.integers(0, 1), _TIMES),
        st.tuples(st.just("retain"), st.integers(0, 1), st.integers(0, 12)),
        st.tuples(st.just("rewind"), st.integers(0, 1), st.integers(0, 12)),
        st.tuples(st.just("truncate"), st.integers(0, 1), st.integers(0, 12)),
        st.tuples(st.just("recreate"), st.just(0), st.just(0)),
        st.tuples(st.just("dated"), st.booleans(), st.just(0)),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(_STEPS, st.integers(1, 3), st.sampled_from([None, *CrashPoint]))
def test_a_window_holds_exactly_its_committed_records(
    steps: list[tuple[str, int, object]], flush_size: int, death: CrashPoint | None
) -> None:
    """Whatever was exported, rewound, cut off, created again or taken by retention, and wherever a run died before: a
    window that is committed holds exactly the live export's records of its time; one that cannot is not there."""
    place = Windows(
        2, flush_size=flush_size, policies=Policies(record_data_loss=True, restart_recreated=True), dated=True
    )
    place.export(0, 150)
    for name, number, what in steps:
        _step(place, name, number, what)
    place.export()
    if death is not None:
        with contextlib.suppress(DataError):
            place.dies_at(death)
    cannot_be_filtered = ""
    try:
        assert place.again().exit_status == EXIT_DONE, place.told
    except DataError as error:
        cannot_be_filtered = str(error)
    if cannot_be_filtered:
        assert "which records of topics/orders/" in cannot_be_filtered
        assert place.commits() == []
        return
    assert place.rows() == place.expected()
    assert verify(place.settings, place.log, None, tell=lambda _: None).ok


def _step(place: Windows, name: str, number: int, what: object) -> None:
    tp = TopicPartition(TOPIC, int(number))
    seen = place.broker.offsets([tp])[tp]
    if name == "export":
        assert isinstance(what, list)
        place.export(*what, partition=tp.partition)
    elif name == "dated":
        place.settings = replace(place.settings, notes_timestamps=bool(number))
    elif name == "recreate":
        place.broker.recreate_topic(TOPIC)
    else:
        assert isinstance(what, int)
        at = max(seen.log_start, min(what, seen.high_watermark))
        if name == "retain":
            place.retain(tp.partition, at)
        elif name == "truncate":
            place.broker.truncate(TOPIC, tp.partition, at)
        else:
            exporter = place.exporter()
            with contextlib.suppress(ConfigurationError):  # not below what Kafka has, say
                rewind(exporter, look(exporter, {tp: at}), request("by hand"))


def test_exit_statuses() -> None:
    """A window that waits is tried again by Airflow; one that cannot be is not."""
    assert (TemporaryError("").exit_status, DataError("").exit_status) == (EXIT_TEMPORARY, EXIT_DATA)


# By its properties.


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "reexport/{}/orders/"),
        ({"export.reexport.topics.dir": "again/and/again"}, "again/and/again/{}/orders/"),
        ({"directory.delim": "-"}, "reexport-{}-orders-"),
    ],
)
def test_where_windows_lie(more: dict[str, str], expected: str) -> None:
    """`export.reexport.topics.dir` is what a window's keys begin with; it is no part of the configuration's hash, and
    what shapes bytes stays as it is."""
    live, again = settings_of(), of_window(from_mapping({**MINIMAL, **more}, offline=True).settings, WINDOW)
    assert again.layout.topic_prefix("orders") == expected.format(NAME)
    assert (again.name, again.log_root) == (NAME, "_kafka_s3/orders/reexport")
    assert (again.configuration_sha256 == live.configuration_sha256) == ("directory.delim" not in more)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"export.reexport.topics.dir": "topics"}, "mixed with the data"),
        ({"topics.dir": "", "export.reexport.topics.dir": "orders/again"}, "mixed with the data"),
        ({"export.reexport.topics.dir": "_kafka_s3/x"}, "mixed with the logs"),
        ({"export.reexport.topics.dir": "/x"}, "must be a key prefix"),
        ({"name": "orders__reexport"}, "must not end with __reexport"),
        ({"name": "x" * 245, "export.reexport.enable": "true"}, "requires a shorter connector name"),
        ({"export.reexport.max.active.runs": "0"}, "must be at least 1"),
    ],
)
def test_what_cannot_be_configured(more: dict[str, str], said: str) -> None:
    """Windows never lie among live data or logs, and no two DAGs have one id."""
    with pytest.raises(ConfigurationError, match=said):
        from_mapping({**MINIMAL, **more}, offline=True)


@pytest.mark.parametrize(
    ("more", "looked_at"),
    [
        ({}, False),
        ({"export.timestamps.enable": "true"}, True),
        ({"export.envelope": "offset,timestamp"}, True),
        ({"export.envelope": "offset"}, False),
        ({"partitioner.class": "HourlyPartitioner", "timestamp.extractor": "Record"}, True),
        ({"partitioner.class": "HourlyPartitioner", "timestamp.extractor": "Wallclock"}, False),
    ],
)
def test_who_looks_at_timestamps(more: dict[str, str], looked_at: bool) -> None:
    """`export.timestamps.enable`, and whatever needs every record's timestamp anyway, lets the log say how old records
    are; it changes no byte of any object, so no hash either."""
    place = Windows()
    by_time = {"locale": "en", "timezone": "UTC"} if "partitioner.class" in more else {}
    place.settings = from_mapping(
        {**MINIMAL, **by_time, "value.converter.schemas.enable": "false", **more}, offline=True
    ).settings
    assert place.settings.notes_timestamps is looked_at
    place.export(150, 170)
    made = place.entries()[1].ranges[0]
    assert (made.min_timestamp_ms, made.max_timestamp_ms) == ((150, 170) if looked_at else (None, None))
    if set(more) <= {"export.timestamps.enable"}:
        assert place.settings.configuration_sha256 == settings_of().configuration_sha256
