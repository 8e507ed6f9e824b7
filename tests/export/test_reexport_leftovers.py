"""What dead, lost and sleeping runs of a window leave: nothing of it stays, and nothing else is touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.bucket.orphans import Fate as Kept
from kafka_s3.bucket.orphans import keys_of
from kafka_s3.bucket.window import of_window
from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import StoreRefused, TemporaryError
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.gc.gc import collect, delete
from kafka_s3.log.entries import Interval
from kafka_s3.naming import KeyLayout
from kafka_s3.plan.results import RangeResult
from kafka_s3.records import Record
from kafka_s3.reexport.run import prepare, run
from kafka_s3.settings import from_mapping
from kafka_s3.settings.formats import Format
from tests.export.logs import settings_of
from tests.export.place import TOPIC
from tests.export.windows import WINDOW, Windows
from tests.scenario.processes import THIS, Died, Fate, Process, What
from tests.support import MINIMAL, hear, request

NAME = "19700101T000000.100Z-19700101T000000.200Z"
LETTERS = f"_kafka_s3/orders/reexport/{NAME}/rejected/"
MID_UPLOAD = Fate(What.DIE, 1, after=True, name="PART data")


def begun() -> Windows:
    """Good and bad records of a window, of which both values and letters are so large that they go out in parts."""
    place = Windows(flush_size=3, part_size=20, tolerate=True)
    place.store = MemoryStore(part_bytes_min=1)
    place.add(110, 120, 130)
    bad = (Record(3 + number, b"{oops %d" % number * 20, key=b"k", timestamp_ms=140 + number) for number in range(3))
    place.broker.append(TOPIC, 0, *bad)
    place.add(150, 160)
    place.export()
    return place


def again(place: Windows, *fates: Fate, run_id: str = "again", meanwhile: Callable[[], None] | None = None) -> Process:
    """A run of the window, with what fate has for it; `meanwhile` happens before its first record is read."""
    program = Process(place.store, place.broker, fates=list(fates))
    exporter = Exporter(place.settings, program.store, program.broker)  # type: ignore[arg-type]
    mine = of_window(place.settings, WINDOW)
    asked = request(run_id, interval=(WINDOW.start_ms, WINDOW.end_ms))

    def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        if meanwhile is not None:
            meanwhile()
            program._listen()
        return [export_range(mine, task, program.store, program.broker) for task in tasks]  # type: ignore[arg-type]

    program.start(lambda: run(exporter, asked, execute, hear(place.told)))
    THIS.install()
    return program


def dies(place: Windows, fate: Fate, run_id: str = "again") -> None:
    assert isinstance(again(place, fate, run_id=run_id).error, Died)


def succeeds(place: Windows, run_id: str = "again", meanwhile: Callable[[], None] | None = None) -> None:
    error = again(place, run_id=run_id, meanwhile=meanwhile).error
    if error is not None:
        raise error


def left(place: Windows) -> list[str]:
    """Open uploads, and what lies under the window's keys and is not of its commit."""
    [commit] = place.commits()
    listed = set(keys_of(commit))
    keys = [key for key in place.store.contents() if key.startswith(("reexport", LETTERS))]
    return [f"upload of {each.key}" for each in place.store.uploads("")] + [key for key in keys if key not in listed]


def change_flush_size(place: Windows, flush_size: int = 50) -> None:
    limits = replace(place.settings.limits, flush_size=flush_size)
    place.settings = replace(place.settings, limits=limits, configuration_sha256=f"flush.size={flush_size}")


def by_a_run(place: Windows) -> None:
    succeeds(place, "later")


def by_prepare(place: Windows) -> None:
    assert prepare(place.exporter(), request("later", interval=(WINDOW.start_ms, WINDOW.end_ms))) is None


def by_gc(place: Windows) -> None:
    garbage = collect(place.settings, place.log)
    assert garbage is not None
    deleted = delete(place.log, garbage)
    assert deleted.complete
    assert deleted.objects == len(garbage.objects)


EVERYBODY = pytest.mark.parametrize("cleans", [by_a_run, by_prepare, by_gc])


def check(place: Windows) -> None:
    assert left(place) == []
    assert place.rows() == place.expected() != []


# Wherever it is killed.


def test_a_run_that_is_killed_at_any_request_leaves_nothing_behind() -> None:
    """Before or after it was answered: one more run, and there is the window and nothing else."""
    calm = again(begun())
    asked = Counter(name for name in calm.requests if name.split()[0] in ("START", "PART", "COMPLETE"))
    assert {name for name, _ in asked.items()} == {
        f"{verb} {what}" for verb in ("START", "PART", "COMPLETE") for what in ("data", "reexport")
    }
    for at in range(1, len(calm.requests) + 1):
        for after in (False, True):
            place = begun()
            dies(place, Fate(What.DIE, at, after))
            succeeds(place)
            check(place)


@EVERYBODY
def test_a_retry_that_is_killed_before_it_sweeps_leaves_that_to_whoever_comes_next(
    cleans: Callable[[Windows], None],
) -> None:
    """The upload of the first try stays open when the second dies between its commit and its sweep."""
    place = begun()
    dies(place, MID_UPLOAD)
    dies(place, Fate(What.DIE, 1, point=CrashPoint.COMMITTED))
    assert left(place)
    cleans(place)
    check(place)


@EVERYBODY
def test_objects_of_a_voided_plan_go_when_the_run_that_commits_cannot_sweep(cleans: Callable[[Windows], None]) -> None:
    """An object of another flush.size, whose records a plain listing would show twice."""
    place = begun()
    dies(place, Fate(What.DIE, 2, point=CrashPoint.WROTE_OBJECT))
    change_flush_size(place)
    dies(place, Fate(What.DIE, 1, point=CrashPoint.COMMITTED))
    assert left(place)
    cleans(place)
    check(place)


def test_a_run_that_commits_its_own_plan_sweeps_after_another() -> None:
    """Two runs at once: the second takes the first one's plan and dies; the first, which inherited nothing, cleans."""
    place = begun()
    succeeds(place, "first", meanwhile=lambda: dies(place, MID_UPLOAD, "second"))
    check(place)


def test_a_lost_answer_to_an_upload_s_beginning_leaves_none_open() -> None:
    """Nobody dies: the store opened an upload, its answer was lost, and the adapter asked again."""
    place = begun()
    start, lost = place.store.start_multipart, []

    def start_twice(key: str) -> object:
        if not lost and key.startswith("reexport/"):
            lost.append(start(key))
        return start(key)

    place.store.start_multipart = start_twice  # type: ignore[method-assign,assignment]
    succeeds(place)
    assert lost
    check(place)


@EVERYBODY
def test_what_a_run_writes_that_slept_through_the_commit_goes(cleans: Callable[[Windows], None]) -> None:
    """Its plan is voided and the window committed and swept when it wakes: it writes its objects, and has lost."""
    place = begun()
    sleeper = again(place, Fate(What.SLEEP, 1, point=CrashPoint.STARTED_RANGE), run_id="sleeper")
    change_flush_size(place)
    succeeds(place, "other")
    check(place)
    sleeper.wake()
    THIS.install()
    assert isinstance(sleeper.error, TemporaryError)
    assert left(place)
    cleans(place)
    check(place)


def test_who_may_not_list_uploads_deletes_objects_all_the_same() -> None:
    """s3:ListBucketMultipartUploads is a permission that no export needs: the run says so, and so does `gc`."""
    place = begun()
    dies(place, Fate(What.DIE, 2, point=CrashPoint.WROTE_OBJECT))
    change_flush_size(place)
    place.store.fail_next("ListMultipartUploads", StoreRefused("Uploads may not be listed."))
    succeeds(place, "other")
    check(place)
    assert "open uploads were not looked for: Uploads may not be listed." in place.told


@pytest.mark.parametrize(("operation", "kept"), [("DeleteObject", "objects"), ("AbortMultipartUpload", "open uploads")])
def test_what_cannot_be_deleted_is_told_and_the_rest_deleted(operation: str, kept: str) -> None:
    """A refusal of one kind does not keep the other, nor fail the run; the next one has it."""
    place = begun()
    dies(place, MID_UPLOAD)
    stray = f"reexport/{NAME}/orders/partition=0/orders+0+0000000077.json"
    place.store.put_if_absent(stray, b"left")
    place.store.fail_next(operation, StoreRefused("Not by you."))
    succeeds(place)
    assert left(place) == ([stray] if kept == "objects" else [f"upload of {place.keys_of_windows()[0]}"])
    assert f"{kept} that other runs of window {NAME} left were not all deleted: Not by you." in place.told
    succeeds(place)
    check(place)


def test_a_sweep_that_cannot_look_is_told() -> None:
    """The window is committed: no answer to a LIST makes that a failure."""
    place = begun()
    succeeds(place)
    place.store.fail_next("ListObjectsV2", StoreRefused("Not by you."), skip=2)
    succeeds(place)
    assert place.told[-1] == f"leftovers of other runs of window {NAME} were not deleted: Not by you."


# Dead letters.


def test_an_upload_of_dead_letters_goes_too() -> None:
    """Letters lie beside the window's log, and are swept like its objects."""
    place = begun()
    dies(place, Fate(What.DIE, 1, after=True, name="PART reexport"))
    assert [each.key.startswith(LETTERS) for each in place.store.uploads("")] == [True]
    succeeds(place)
    check(place)


def test_letters_of_a_voided_plan_go() -> None:
    """They were written, then Kafka lost the records, and the next plan copies objects and letters."""
    place = begun()
    dies(place, Fate(What.DIE, 1, point=CrashPoint.READ_ALL))
    assert any(key.startswith(LETTERS) for key in place.store.contents())
    stray = next(key for key in place.store.contents() if key.startswith(LETTERS)).replace("0003", "0004")
    place.store.put_if_absent(stray, b"of other bounds")
    place.retain(0, 4)
    succeeds(place)
    check(place)
    assert [key == stray for key in place.store.contents() if key.startswith(LETTERS)] == [False]


# What is not touched.


def test_copies_under_an_older_configuration_s_keys_are_known() -> None:
    """A copy has its original's extension and delimiters, whatever is configured by now."""
    place = Windows()
    place.settings = replace(settings_of(), notes_timestamps=True)
    place.export(110, 120, 130)
    changed = {"directory.delim": "-", "file.delim": "_", "format.class": Format.AVRO.value}
    place.settings = from_mapping({**MINIMAL, **changed}, offline=True).settings
    place.retain(0, 3)
    succeeds(place)
    [made] = place.commits()[0].ranges[0].objects
    copied = made.key
    assert copied == f"reexport-{NAME}/orders/partition=0/orders+0+0000000000.json"
    for key in (copied, f"reexport-{NAME}-orders-partition=0-orders_0_0000000000.avro"):
        place.store.put_if_absent(key.replace("000000000", "000000007"), b"left")
    assert len(left(place)) == 2
    by_a_run(place)
    check(place)


def test_a_voided_plan_s_keys_are_known_by_its_own_configuration() -> None:
    """Other delimiters lead to other folders: what the voided plan wrote there goes all the same."""
    place = Windows()
    place.settings = replace(settings_of(), notes_timestamps=True)
    place.export(110, 120, 130, 140)
    dies(place, Fate(What.DIE, 1, point=CrashPoint.READ_ALL))
    place.settings = from_mapping({**MINIMAL, "directory.delim": "-", "flush.size": "2"}, offline=True).settings
    succeeds(place)
    assert sorted(key for key in place.store.contents() if "reexport/" in key and not key.startswith("_")) == []
    check(place)


@EVERYBODY
def test_another_connector_s_windows_are_left_alone(cleans: Callable[[Windows], None]) -> None:
    """Two connectors, one folder of windows, the same window, and topics that a delimiter makes hard to tell apart."""
    layout = KeyLayout(directory_delim="-")
    place, other = Windows(layout=layout), Windows(name="other", layout=replace(layout, topics_dir="elsewhere"))
    place.export(110)
    other.store, other.broker = place.store, MemoryBroker()
    other.broker.create_topic("orders-orders", 1)
    other.settings = replace(other.settings, topics=("orders-orders",))
    other.broker.append("orders-orders", 0, Record(0, b'{"p":0,"n":0,"t":110}', key=b"k", timestamp_ms=110))
    other.export()
    succeeds(place)
    succeeds(other)
    before = place.store.contents()
    assert f"reexport-{NAME}-orders-orders-partition=0-orders-orders+0+0000000000.json" in before
    cleans(place)
    assert place.store.contents() == before


def test_a_topic_that_another_connector_owns_is_left_alone() -> None:
    """`export.reexport.topics.dir` was changed to a folder where somebody else has the same window of the topic."""
    place, other = Windows(), Windows(name="other", layout=KeyLayout(topics_dir="elsewhere"))
    other.store, other.broker = place.store, place.broker
    other.settings = replace(other.settings, reexport_dir="theirs")
    place.export(110)
    other.export()
    place.again()
    other.again()
    before = place.store.contents()
    place.settings = replace(place.settings, reexport_dir="theirs")
    by_a_run(place)
    by_gc(place)
    assert place.store.contents() == before
    assert "theirs/orders/ was not looked at: it belongs to other" in place.told


def test_a_window_that_was_exported_again_meanwhile_is_left_alone() -> None:
    """A run sleeps between commit and sweep; the window is deleted by hand and exported again: that one stays."""
    place = begun()
    sleeper = again(place, Fate(What.SLEEP, 1, point=CrashPoint.COMMITTED), run_id="sleeper")
    change_flush_size(place, 1)
    delete_by_hand(place)
    succeeds(place, "other")
    before = place.store.contents()
    sleeper.wake()
    THIS.install()
    assert sleeper.error is None
    assert place.store.contents() == before
    assert f"window {NAME} was replaced meanwhile: nothing was deleted" in place.told


def test_gc_deletes_nothing_of_a_window_that_changed_since_it_looked() -> None:
    """The same between its list and its deletions: nothing is deleted, of anything."""
    place = begun()
    succeeds(place)
    place.store.put_if_absent(f"reexport/{NAME}/orders/partition=0/orders+0+0000000001.json", b"left")
    garbage = collect(place.settings, place.log)
    assert garbage is not None
    assert [each.fate for each in garbage.objects] == [Kept.WINDOW]
    delete_by_hand(place)
    change_flush_size(place, 1)
    succeeds(place, "other")
    before = place.store.contents()
    with pytest.raises(TemporaryError, match=f"Window {NAME} is not the one any more"):
        delete(place.log, garbage)
    assert place.store.contents() == before


@pytest.mark.parametrize("voided", [False, True])
def test_gc_takes_nothing_of_a_window_that_is_not_committed(voided: bool) -> None:
    """What it holds may be committed yet, by a run that finishes its plan: be it the first, or one after a void."""
    place = begun()
    if voided:
        dies(place, Fate(What.DIE, 2, point=CrashPoint.WROTE_OBJECT))
        change_flush_size(place)
    dies(place, Fate(What.DIE, 1, point=CrashPoint.COMMITTING))
    assert len(place.window_entries()) == voided
    before = place.store.contents()
    by_gc(place)
    assert place.store.contents() == before
    succeeds(place)
    check(place)


def test_gc_says_which_window_s_log_it_cannot_read() -> None:
    """Nothing of that window is deleted, whatever is in it; the others are."""
    place = begun()
    later = Interval(200, 300)
    place.export(210)
    place.again()
    place.again("later", later)
    strays = [key.replace("+000000000", "+000000005") for key in place.keys_of_windows()]
    for key in strays:
        place.store.put_if_absent(key, b"left")
    place.store.overwrite(place.window_log().layout.log_key(0), b"{}")
    garbage = collect(place.settings, place.log)
    assert garbage is not None
    assert [each.key for each in garbage.objects] == [key for key in strays if NAME not in key] != []
    assert any(note.startswith(f"window {NAME} was not looked at: ") for note in garbage.notes)


def delete_by_hand(place: Windows) -> None:
    for key in place.store.contents():
        if NAME in key:
            place.store.delete(key)


# What it costs.


def test_a_window_that_is_committed_costs_a_handful_of_requests() -> None:
    """Which log is the live one, head and plan, owners, and two lists of keys and two of uploads; an empty window only
    the live log, head and plan."""
    place = begun()
    succeeds(place)
    counted = Counter(name.split()[0] for name in again(place).requests)
    assert counted == {"LIST": 5, "GET": 4, "UPLOADS": 2}
    empty = Windows()
    empty.export(50)
    empty.export(300)
    succeeds(empty)
    assert Counter(name.split()[0] for name in again(empty).requests) == {"LIST": 2, "GET": 3}
