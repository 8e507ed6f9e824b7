"""What a sweep of a window may not touch, and what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.bucket.orphans import Fate as Kept
from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import TemporaryError
from kafka_s3.gc.gc import collect, delete
from kafka_s3.log.entries import Interval
from kafka_s3.naming import KeyLayout
from kafka_s3.records import Record
from kafka_s3.settings import from_mapping
from kafka_s3.settings.formats import Format
from tests.log.logs import settings_of
from tests.reexport.test_leftovers import (
    EVERYBODY,
    NAME,
    again,
    begun,
    by_a_run,
    by_gc,
    change_flush_size,
    check,
    dies,
    left,
    succeeds,
)
from tests.reexport.windows import WindowExport
from tests.scenario.processes import THIS, Fate, What
from tests.support import MINIMAL

# What is not touched.


def test_copies_under_an_older_configuration_s_keys_are_known() -> None:
    """A copy has its original's extension and delimiters, whatever is configured by now."""
    place = WindowExport()
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


def test_a_voided_plans_keys_are_those_of_its_configuration() -> None:
    """Other delimiters lead to other folders: what the voided plan wrote there goes all the same."""
    place = WindowExport()
    place.settings = replace(settings_of(), notes_timestamps=True)
    place.export(110, 120, 130, 140)
    dies(place, Fate(What.DIE, 1, point=CrashPoint.READ_ALL))
    place.settings = from_mapping({**MINIMAL, "directory.delim": "-", "flush.size": "2"}, offline=True).settings
    succeeds(place)
    assert sorted(key for key in place.store.contents() if "reexport/" in key and not key.startswith("_")) == []
    check(place)


@EVERYBODY
def test_another_connector_s_windows_are_left_alone(cleans: Callable[[WindowExport], None]) -> None:
    """Two connectors, one folder of windows, the same window, and topics that a delimiter makes hard to tell apart."""
    layout = KeyLayout(directory_delim="-")
    place, other = (
        WindowExport(layout=layout),
        WindowExport(name="other", layout=replace(layout, topics_dir="elsewhere")),
    )
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
    place, other = WindowExport(), WindowExport(name="other", layout=KeyLayout(topics_dir="elsewhere"))
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


def test_a_window_exported_again_meanwhile_is_left_alone() -> None:
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


def test_gc_deletes_nothing_of_a_window_that_changed() -> None:
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


def delete_by_hand(place: WindowExport) -> None:
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
    empty = WindowExport()
    empty.export(50)
    empty.export(300)
    succeeds(empty)
    assert Counter(name.split()[0] for name in again(empty).requests) == {"LIST": 2, "GET": 3}
