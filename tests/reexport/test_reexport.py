"""A window of time exported again: exactly its committed records, once, wherever they can still be had."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_s3 import crash_points
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
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Kind, Plan, sha256_of
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.reexport.run import prepare
from kafka_s3.rewind.rewind import look, rewind
from kafka_s3.settings.paths import RunTime, TimePartitioner
from kafka_s3.settings.run import Policies
from kafka_s3.verify.verify import verify
from tests.export.place import TOPIC
from tests.reexport.windows import WINDOW, WindowExport
from tests.support import request

NAME = "19700101T000000.100Z-19700101T000000.200Z"
TP = TopicPartition(TOPIC, 0)


# What is in it.


def test_a_window_holds_its_records_and_has_a_log_of_its_own() -> None:
    """Records of the window out of three commits, the late one too; keys and log are the window's, and what the live
    export has stays as it is."""
    place = WindowExport()
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
    place = WindowExport(tolerate=True)
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


def test_the_log_says_how_old_records_are_if_asked_to() -> None:
    """Ranges and objects have the oldest and newest timestamp of their records, bad ones too in a range; `None` where
    nobody looks, a range without any, or an object with a record that has none."""
    place = WindowExport(tolerate=True, flush_size=2)
    place.broker.append(TOPIC, 0, Record(0, b"{oops", timestamp_ms=7))
    place.export(50, 40, None, 60)
    place.export(None)
    first, second = place.entries()[1].ranges[0], place.entries()[2].ranges[0]
    assert (first.min_timestamp_ms, first.max_timestamp_ms) == (7, 60)
    assert [(made.min_timestamp_ms, made.max_timestamp_ms) for made in first.objects] == [(40, 50), (None, None)]
    assert (second.min_timestamp_ms, second.objects[0].max_timestamp_ms) == (None, None)
    without = WindowExport(dated=False)
    without.export(50, 60)
    assert without.entries()[1].ranges[0].min_timestamp_ms is None


def test_an_entry_of_an_older_version_has_no_timestamps() -> None:
    """What older versions wrote is read as it is."""
    place = WindowExport()
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
    place = WindowExport()
    place.export(50)
    place.export(300)
    asked = request("empty", interval=(100, 200))
    assert prepare(place.exporter(), asked) is None
    [commit] = place.commits()
    assert (commit.ranges, commit.interval) == ((), WINDOW)
    assert place.keys_of_windows() == []


def test_undated_ranges_are_read_from_the_windows_first_offset() -> None:
    """Where the log does not say how old records are, Kafka says where the window can begin; the plan tells of it."""
    place = WindowExport(dated=False)
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


def test_what_replaced_a_withdrawn_range_is_in_the_window() -> None:
    """Records that were exported twice, with a rewind between, are in the window once."""
    place = WindowExport()
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
    place = WindowExport(partitioner=by_minute)
    place.add(150)
    place.run("live", interval=(0, 1000))
    place.again()
    assert place.keys_of_windows() == [f"reexport/{NAME}/orders/at=100/orders+0+0000000000.json"]


# Once.


def test_a_committed_window_is_left_as_it_is() -> None:
    """A second run is a quiet success: it does not ask Kafka, and writes nothing."""
    place = WindowExport()
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
    place = WindowExport(flush_size=2)
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
    place = WindowExport()
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


def _two_commits(retained: bool) -> WindowExport:
    place = WindowExport(flush_size=2)
    place.export(110, 120)
    place.export(90, 130, 140)
    if retained:
        place.retain(0, 2)
    return place


def test_a_plan_that_retention_overtook_is_made_anew() -> None:
    """The records vanish between plan and reading: the plan is voided, and the next one copies the objects."""
    place = WindowExport()
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
    place = WindowExport(tolerate=True)
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
    place = WindowExport()
    place.export(110)
    assert place.dies_at(CrashPoint.WROTE_PLAN)
    place.settings = replace(place.settings, configuration_sha256="another")
    assert place.again().exit_status == EXIT_DONE
    assert [entry.kind for entry in place.window_entries()] == [Kind.VOID, Kind.COMMIT]


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


@example([("export", 1, [None, 100]), ("retain", 1, 1)], 2, None)  # an object with a record of no time
@settings(max_examples=150, deadline=None)
@given(_STEPS, st.integers(1, 3), st.sampled_from([None, *CrashPoint]))
def test_a_window_holds_exactly_its_committed_records(
    steps: list[tuple[str, int, object]], flush_size: int, death: CrashPoint | None
) -> None:
    """Whatever was exported, rewound, cut off, created again or taken by retention, and wherever a run died before: a
    window that is committed holds exactly the live export's records of its time; one that cannot is not there."""
    place = WindowExport(
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


def _step(place: WindowExport, name: str, number: int, what: object) -> None:
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
