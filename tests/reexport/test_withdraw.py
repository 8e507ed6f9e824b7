"""A window that is withdrawn by an entry in its log, and exported once more: never mixed up with the export before."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from kafka_s3.bucket.orphans import keys_of
from kafka_s3.bucket.window import of_window
from kafka_s3.bucket.window_leftovers import left_in
from kafka_s3.crash_points import CrashPoint
from kafka_s3.dead_letter import decode
from kafka_s3.errors import EXIT_DONE, DataError, Fenced, TemporaryError
from kafka_s3.export.task import export_range
from kafka_s3.gc.gc import collect, delete
from kafka_s3.log.entries import Kind
from kafka_s3.log.replay import newest_first
from kafka_s3.records import Record
from kafka_s3.reexport import windows
from kafka_s3.reexport.run import prepare, run, withdraw
from kafka_s3.settings.run import Policies
from tests.export.overtaken import Overtaken
from tests.export.place import TOPIC
from tests.reexport.test_leftovers import NAME, again, change_flush_size
from tests.reexport.windows import WINDOW, Row, WindowExport
from tests.scenario.processes import THIS, Fate, What
from tests.support import hear, request

ASKED = request("by hand", interval=(WINDOW.start_ms, WINDOW.end_ms))


def withdrawn(place: WindowExport) -> bool:
    return withdraw(place.exporter(), ASKED, hear(place.told))


def now(place: WindowExport) -> list[Row]:
    """What a reader of the window's log finds, over what was withdrawn."""
    taken = newest_first(each.entry for each in place.window_log().entries())
    return place._rows(made for each in taken for done in each.ranges for made in done.objects)


def names(place: WindowExport) -> list[str]:
    return [key.rpartition("/")[2] for key in place.keys_of_windows()]


def collected(place: WindowExport) -> None:
    garbage = collect(place.settings, place.log)
    assert garbage is not None
    assert delete(place.log, garbage).complete


def anew(place: WindowExport, run_id: str = "anew") -> int:
    asked = replace(ASKED, run_id=run_id)
    mine = of_window(place.settings, WINDOW)
    report = run(
        place.exporter(),
        asked,
        lambda tasks: [export_range(mine, task, place.store, place.broker) for task in tasks],
        hear(place.told),
        anew=True,
    )
    return report.exit_status


def test_a_withdrawn_window_is_exported_under_other_names() -> None:
    """The log goes on: commit, withdrawal, commit. A reader of it finds what is exported by now, late records too, and
    what the first export wrote is deleted with the second one's commit."""
    place = WindowExport()
    place.export(110)
    place.again()
    place.export(120)
    assert place.again().committed == []
    before = place.store.contents()
    assert withdrawn(place)
    assert {key: place.store.contents()[key] for key in before} == before
    assert (now(place), windows(place.settings, place.store)[0].is_committed) == ([], False)
    assert place.again("once more").exit_status == EXIT_DONE
    assert [each.kind for each in place.window_entries()] == [Kind.COMMIT, Kind.REWIND, Kind.COMMIT]
    assert [row[2] for row in now(place)] == [110, 120]
    assert names(place) == ["orders+0+0000000000+g1.json", "orders+0+0000000001+g1.json"]
    assert windows(place.settings, place.store)[0].records == 2


def test_what_is_not_committed_cannot_be_withdrawn() -> None:
    """Neither a window that was never exported, nor one that is withdrawn already: it is said, and nothing written."""
    place = WindowExport()
    place.export(110)
    assert not withdrawn(place)
    place.again()
    assert withdrawn(place)
    before = place.store.contents()
    assert not withdrawn(place)
    assert place.store.contents() == before
    assert place.told[-1] == f"window {NAME} is not committed: there is nothing to withdraw"


def test_gc_deletes_what_a_withdrawn_window_held() -> None:
    """No reader takes it any more: objects, companions and dead letters go, the log and the live export stay."""
    place = WindowExport(tolerate=True)
    place.broker.append(TOPIC, 0, Record(0, b"{oops", timestamp_ms=150))
    place.export(160, 170, 180)
    place.again()
    live = {key for entry in place.entries() for key in keys_of(entry)}
    gone = {key for entry in place.commits() for key in keys_of(entry)}
    assert len(gone) == 2
    assert not live & gone
    collected(place)
    assert gone <= set(place.store.contents())
    withdrawn(place)
    before = set(place.store.contents())
    collected(place)
    assert before - set(place.store.contents()) == gone
    place.again("once more")
    assert now(place) == place.expected() != []


def test_names_never_meet_those_of_the_live_log_s_generations() -> None:
    """Two generations of the live export in one window, withdrawn twice: no name is used again."""
    place = WindowExport(policies=Policies(restart_recreated=True))
    place.export(110, 120)
    place.broker.recreate_topic(TOPIC)
    place.export(130, 140)
    used: list[str] = []
    for number in range(3):
        place.again(f"again {number}")
        assert now(place) == place.expected() != []
        listed = list(keys_of(place.window_entries()[-1]))
        assert len(listed) == 2
        used += listed
        withdrawn(place)
    assert len(used) == len(set(used))


def test_an_empty_window_that_is_withdrawn_has_other_names_too() -> None:
    """Its commit lists nothing, but runs before it may have written under its names, and gc may be about to delete."""
    place = WindowExport()
    place.export(50)
    place.export(300)
    place.again()
    withdrawn(place)
    place.export(110)
    place.again("once more")
    assert now(place) == place.expected() != []
    assert names(place) == ["orders+0+0000000002+g1.json"]


@pytest.mark.parametrize("method", ["list", "get", "uploads", "delete", "abort_upload"])
def test_a_collection_takes_nothing_that_is_exported_again(method: str) -> None:
    """A zombie left an object and an open upload. `gc --delete` looks, and is overtaken: the window is withdrawn and
    exported with the very bounds of the zombie's. Nothing that the new commit lists is deleted."""
    place = WindowExport(flush_size=3)
    place.export(110, 120, 130, 140, 150, 160)
    place.again()
    stray = place.keys_of_windows()[0].replace("0000000000", "0000000002")
    place.store.put_if_absent(stray, b"left")
    place.store.start_multipart(stray)

    def overtake() -> None:
        change_flush_size(place, 2)
        withdrawn(place)
        place.again("once more")

    slow = Overtaken(place.store, method, overtake)
    log = replace(place.log, store=slow)  # type: ignore[arg-type]
    garbage = collect(place.settings, log, parallel=1)
    assert garbage is not None
    delete(log, garbage, parallel=1)
    assert slow.done
    assert now(place) == place.expected() != []
    assert all(key in place.store.contents() for key in keys_of(place.window_entries()[-1]))
    left = left_in(place.settings, place.log, WINDOW)
    assert left is not None
    assert left.objects == ()


def test_a_collection_under_a_window_in_progress_waits() -> None:
    """It is withdrawn, and its next run is at work: what that one has written is left alone, what was before is not."""
    place = WindowExport()
    place.export(110)
    place.again()
    withdrawn(place)
    assert place.dies_at(CrashPoint.COMMITTING)
    assert names(place) == ["orders+0+0000000000+g1.json", "orders+0+0000000000.json"]
    collected(place)
    assert names(place) == ["orders+0+0000000000+g1.json"]
    assert place.again("next").exit_status == EXIT_DONE
    assert now(place) == place.expected() != []


def test_a_late_commit_finds_its_slot_taken() -> None:
    """A run slept in front of its commit while the window was committed, withdrawn and exported once more."""
    place = WindowExport()
    place.export(110)
    sleeper = again(place, Fate(What.SLEEP, 1, point=CrashPoint.COMMITTING), run_id="sleeper")
    change_flush_size(place)
    place.again("other")
    withdrawn(place)
    place.again("once more")
    before = place.store.contents()
    sleeper.wake()
    THIS.install()
    assert isinstance(sleeper.error, TemporaryError)
    assert place.store.contents() == before
    assert now(place) == place.expected() != []


def test_two_withdrawals_at_once_make_one() -> None:
    """The second is fenced, and so it is when a window was exported once more in between."""
    place = WindowExport()
    place.export(110)
    place.again()
    slow = Overtaken(place.store, "put_if_absent", lambda: (withdrawn(place), place.again("once more"))[0])  # type: ignore[arg-type,func-returns-value]
    with pytest.raises(Fenced):
        withdraw(replace(place.exporter(), store=slow), replace(ASKED, run_id="slow"), hear(place.told))  # type: ignore[arg-type]
    assert [each.kind for each in place.window_entries()] == [Kind.COMMIT, Kind.REWIND, Kind.COMMIT]
    assert now(place) == place.expected() != []


def test_anew_withdraws_and_exports_in_one_run() -> None:
    """What another run has committed; a second time by the same run nothing is left to do. Without a commit it is an
    export like any other."""
    place = WindowExport()
    place.export(110)
    assert anew(place, "first") == EXIT_DONE
    assert [each.kind for each in place.window_entries()] == [Kind.COMMIT]
    place.export(120)
    for _ in range(2):
        assert anew(place) == EXIT_DONE
        assert [each.kind for each in place.window_entries()] == [Kind.COMMIT, Kind.REWIND, Kind.COMMIT]
    assert [row[2] for row in now(place)] == [110, 120]
    asked = replace(ASKED, run_id="by its plan")
    planned = prepare(place.exporter(), asked, anew=True)
    assert planned is not None
    assert planned.plan.seq == 4
    again = prepare(place.exporter(), asked, anew=True)
    assert again is not None
    assert planned is not None
    assert again.sha256 == planned.sha256


def test_anew_leaves_a_window_that_cannot_be_exported_again() -> None:
    """Its records are gone from Kafka and cannot be filtered, or some wait for the live export: it stays committed."""
    place = WindowExport()
    place.export(190, 210)
    place.again()
    before = place.store.contents()
    place.retain(0, 2)
    with pytest.raises(DataError, match="cannot be exported again"):
        anew(place)
    fresh = WindowExport()
    fresh.export(110)
    fresh.again()
    fresh.add(120)
    with pytest.raises(TemporaryError, match="not all exported yet"):
        anew(fresh)
    assert place.store.contents() == before
    assert [each.kind for each in fresh.window_entries()] == [Kind.COMMIT]


# Dead letters.


def test_copied_letters_are_the_window_s_own() -> None:
    """Kafka has lost the records: the letters of the window's time go into an object of the window, which no live entry
    lists; those of another time are counted as outside, as where they are read."""
    place = WindowExport(tolerate=True)
    bad = (Record(at, b"{oops", timestamp_ms=stamp) for at, stamp in enumerate((90, 150, 160, 250)))
    place.broker.append(TOPIC, 0, *bad)
    place.export(*range(170, 179))
    place.again()
    read = place.window_entries()[-1].ranges[0]
    withdrawn(place)
    place.retain(0, 13)
    assert place.again("copied").exit_status == EXIT_DONE
    copied = place.window_entries()[-1].ranges[0]
    assert (copied.rejected, copied.outside, copied.records) == (read.rejected, read.outside, read.records) == (2, 2, 9)
    assert read.dead_letters is not None
    assert copied.dead_letters is not None
    assert copied.dead_letters.key == read.dead_letters.key.replace(".jsonl", "+g1.jsonl")
    assert copied.dead_letters.sha256 == read.dead_letters.sha256
    live = {key for entry in place.entries() for key in keys_of(entry)}
    assert not live & set(keys_of(place.window_entries()[-1]))
    lines = gzip.decompress(place.store.contents()[copied.dead_letters.key]).splitlines()
    assert [decode(line).offset for line in lines] == [1, 2]


def test_a_copied_range_without_letters_lists_none() -> None:
    """Its bad records are all of another time."""
    place = WindowExport(tolerate=True)
    place.broker.append(TOPIC, 0, Record(0, b"{oops", timestamp_ms=90))
    place.export(150, 151, 152)
    place.retain(0, 4)
    place.again()
    [done] = place.commits()[0].ranges
    assert (done.rejected, done.outside, done.records, done.dead_letters) == (0, 1, 3, None)
