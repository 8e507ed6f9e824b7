"""Windows beside the live export: when one waits, that nobody takes one for garbage, and what properties say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.bucket.window import of_window, parse_window, window_id
from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import (
    EXIT_DONE,
    ConfigurationError,
    TemporaryError,
)
from kafka_s3.gc.gc import collect
from kafka_s3.log.entries import Interval
from kafka_s3.naming import KeyLayout
from kafka_s3.reexport import windows
from kafka_s3.reexport.run import run
from kafka_s3.settings import from_mapping
from kafka_s3.verify.verify import verify
from tests.export.place import TOPIC
from tests.log.logs import settings_of
from tests.reexport.test_reexport import NAME
from tests.reexport.windows import WINDOW, WindowExport
from tests.support import MINIMAL, hear, request

# When it may not be.


def test_a_window_that_the_live_export_has_not_reached_waits() -> None:
    """A window is written once, so not before all of it is exported: one that is not over, or whose records wait."""
    place = WindowExport()
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
    place = WindowExport()
    place.add(110)
    place.run("hour", interval=(100, 200))
    place.add(230, 120)
    assert place.again().exit_status == EXIT_DONE
    assert [row[2] for row in place.rows()] == [110]


def test_a_run_without_a_window_fails_with_what_to_do() -> None:
    place = WindowExport()
    with pytest.raises(ConfigurationError, match="(?s)no data interval.*backfill"):
        run(place.exporter(), request(), lambda _: [], hear(place.told))


def test_a_partition_without_a_leader_is_waited_for() -> None:
    """Kafka has the records and cannot give them now: a retry will find a leader."""
    place = WindowExport()
    place.add(110)
    place.run("hour", interval=(100, 200))
    place.broker.lead(TOPIC, 0, up=False)
    with pytest.raises(TemporaryError, match="no leader"):
        place.again()
    place.broker.lead(TOPIC, 0, up=True)
    assert place.again().exit_status == EXIT_DONE


def test_two_connectors_do_not_share_the_windows_of_a_topic() -> None:
    """The same topic by another connector under the same prefix is refused, with the property to change."""
    place, other = WindowExport(), WindowExport(name="copy", layout=KeyLayout(topics_dir="elsewhere"))
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
    place = WindowExport(layout=KeyLayout(topics_dir=""))
    place.settings = replace(place.settings, reexport_dir=TOPIC)
    place.export(110)
    with pytest.raises(ConfigurationError, match="among the live data of topic orders"):
        place.again()


# Beside the live export.


def test_verify_and_gc_take_nothing_of_a_window_for_garbage() -> None:
    """Neither is a window's object an orphan, nor its log a part of the live one; a zombie's plan neither."""
    place = WindowExport()
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
    place = WindowExport()
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
    """`export.reexport.topics.dir` is what a window's keys begin with; it is not a part of the configuration's hash,
    and what shapes bytes stays as it is."""
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
    place = WindowExport()
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
