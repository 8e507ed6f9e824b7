"""What dead, lost and sleeping runs of a window leave: nothing of it stays, and nothing else is touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.bucket.orphans import keys_of
from kafka_s3.bucket.window import of_window
from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import StoreRefused, TemporaryError
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.gc.gc import collect, delete
from kafka_s3.plan.results import RangeResult
from kafka_s3.records import Record
from kafka_s3.reexport.run import prepare, run
from tests.export.place import TOPIC
from tests.reexport.windows import WINDOW, WindowExport
from tests.scenario.processes import THIS, Fate, Process, ProcessKilled, What
from tests.support import hear, request

NAME = "19700101T000000.100Z-19700101T000000.200Z"
LETTERS = f"_kafka_s3/orders/reexport/{NAME}/rejected/"
MID_UPLOAD = Fate(What.DIE, 1, after=True, name="PART data")


def begun() -> WindowExport:
    """Good and bad records of a window, of which both values and letters are so large that they go out in parts."""
    place = WindowExport(flush_size=3, part_size=20, tolerate=True)
    place.store = MemoryStore(part_bytes_min=1)
    place.add(110, 120, 130)
    bad = (Record(3 + number, b"{oops %d" % number * 20, key=b"k", timestamp_ms=140 + number) for number in range(3))
    place.broker.append(TOPIC, 0, *bad)
    place.add(150, 160)
    place.export()
    return place


def again(
    place: WindowExport, *fates: Fate, run_id: str = "again", meanwhile: Callable[[], None] | None = None
) -> Process:
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


def dies(place: WindowExport, fate: Fate, run_id: str = "again") -> None:
    assert isinstance(again(place, fate, run_id=run_id).error, ProcessKilled)


def succeeds(place: WindowExport, run_id: str = "again", meanwhile: Callable[[], None] | None = None) -> None:
    error = again(place, run_id=run_id, meanwhile=meanwhile).error
    if error is not None:
        raise error


def left(place: WindowExport) -> list[str]:
    """Open uploads, and what lies under the window's keys and is not of its commit."""
    [commit] = place.commits()
    listed = set(keys_of(commit))
    keys = [key for key in place.store.contents() if key.startswith(("reexport", LETTERS))]
    return [f"upload of {each.key}" for each in place.store.uploads("")] + [key for key in keys if key not in listed]


def change_flush_size(place: WindowExport, flush_size: int = 50) -> None:
    limits = replace(place.settings.limits, flush_size=flush_size)
    place.settings = replace(place.settings, limits=limits, configuration_sha256=f"flush.size={flush_size}")


def by_a_run(place: WindowExport) -> None:
    succeeds(place, "later")


def by_prepare(place: WindowExport) -> None:
    assert prepare(place.exporter(), request("later", interval=(WINDOW.start_ms, WINDOW.end_ms))) is None


def by_gc(place: WindowExport) -> None:
    garbage = collect(place.settings, place.log)
    assert garbage is not None
    deleted = delete(place.log, garbage)
    assert deleted.complete
    assert deleted.objects == len(garbage.objects)


EVERYBODY = pytest.mark.parametrize("cleans", [by_a_run, by_prepare, by_gc])


def check(place: WindowExport) -> None:
    assert left(place) == []
    assert place.rows() == place.expected() != []


# Wherever it is killed.


def test_a_run_killed_at_any_request_leaves_nothing_behind() -> None:
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
def test_a_retry_killed_before_its_sweep_leaves_it_to_others(
    cleans: Callable[[WindowExport], None],
) -> None:
    """The upload of the first try stays open when the second dies between its commit and its sweep."""
    place = begun()
    dies(place, MID_UPLOAD)
    dies(place, Fate(What.DIE, 1, point=CrashPoint.COMMITTED))
    assert left(place)
    cleans(place)
    check(place)


@EVERYBODY
def test_objects_of_a_voided_plan_go_without_the_runs_sweep(cleans: Callable[[WindowExport], None]) -> None:
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


def test_a_lost_answer_to_a_beginning_leaves_no_upload_open() -> None:
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
def test_what_a_run_writes_that_slept_through_the_commit_goes(cleans: Callable[[WindowExport], None]) -> None:
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
