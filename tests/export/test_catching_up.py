"""Whole runs over the ports in memory, late ones: boundaries that were missed, and intervals of the past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from kafka_s3.errors import (
    EXIT_DATA,
)
from kafka_s3.log.entries import Interval, Kind
from kafka_s3.records import Record
from kafka_s3.settings.schedule import ScheduleSettings
from tests.export.place import SimpleExport
from tests.support import HOUR_MS

# Catching up.


def _hours(place: SimpleExport, hours: Sequence[int]) -> None:
    for hour in hours:
        place.produce(0, 2, at_ms=hour * HOUR_MS + 5)


def test_missed_boundaries_get_a_batch_each_with_their_own_time() -> None:
    """After an outage each missed hour is a commit of its own, with the hour that a punctual run would have had."""
    place = SimpleExport(partitions=1)
    _hours(place, [0])
    place.run("hour 0", interval=(0, HOUR_MS), now_ms=HOUR_MS)
    _hours(place, [1, 2, 4])
    place.run("hour 4", interval=(4 * HOUR_MS, 5 * HOUR_MS), now_ms=5 * HOUR_MS)
    commits = place.entries()[1:]
    assert [(c.interval.start_ms // HOUR_MS, c.ranges[0].next_offset) for c in commits if c.interval] == [
        (0, 2),
        (1, 4),
        (2, 6),
        (4, 8),
    ]


def test_missed_boundaries_of_ninety_minutes() -> None:
    """They lie where the DAG's timetable has them: counted from Berlin's midnight, anew on each of its days, and on
    the day that has 23 hours too."""
    place = SimpleExport(partitions=1)
    place.settings = replace(place.settings, schedule=ScheduleSettings(HOUR_MS * 3 // 2, "Europe/Berlin"))
    zone = ZoneInfo("Europe/Berlin")
    evening, night, morning = (
        int(datetime(2026, 3, day, hour, minute, tzinfo=zone).timestamp() * 1000)
        for day, hour, minute in ((28, 21, 0), (28, 22, 30), (29, 4, 30))
    )
    place.produce(0, 1, at_ms=evening)
    place.run("punctual", interval=(evening, night), now_ms=night)
    for half_hours in range(10):  # the last at half past four, by the clock that was put forward
        place.produce(0, 1, at_ms=night + half_hours * HOUR_MS // 2)
    place.run("late", interval=(morning, morning + HOUR_MS * 3 // 2), now_ms=morning + HOUR_MS * 3 // 2)
    late = [entry for entry in place.entries() if entry.run_id == "late" and entry.kind is Kind.COMMIT]
    shown = [
        (datetime.fromtimestamp(e.interval.start_ms / 1000, zone), e.ranges[0].records) for e in late if e.interval
    ]
    assert [(f"{start:%d %H:%M}", records) for start, records in shown] == [
        ("28 22:30", 3),
        ("29 00:00", 3),
        ("29 01:30", 1),  # half an hour: 2 o'clock was 3 o'clock
        ("29 03:00", 3),
    ]


def test_older_boundaries_share_the_first_batch() -> None:
    """export.catchup.batches.max=2: the oldest hours share a batch."""
    place = SimpleExport(partitions=1, catchup=2)
    _hours(place, [0])
    place.run("hour 0", interval=(0, HOUR_MS), now_ms=HOUR_MS)
    _hours(place, [1, 2, 3])
    place.run("hour 3", interval=(3 * HOUR_MS, 4 * HOUR_MS), now_ms=4 * HOUR_MS)
    intervals = [c.interval for c in place.entries()[2:]]
    assert [(i.start_ms // HOUR_MS, i.end_ms // HOUR_MS) for i in intervals if i] == [(1, 3), (3, 4)]


def test_a_run_without_an_interval_hides_no_missed_boundary() -> None:
    """After a run `until: now` the next scheduled run still plans the hours missed since, one batch each."""
    place = SimpleExport(partitions=1)
    _hours(place, [0])
    place.run("hour 0", interval=(0, HOUR_MS), now_ms=HOUR_MS)
    _hours(place, [1])
    place.run("until now", now_ms=HOUR_MS + 10)
    _hours(place, [2, 3])
    place.run("hour 3", interval=(3 * HOUR_MS, 4 * HOUR_MS), now_ms=4 * HOUR_MS)
    assert place.entries()[2].interval is None
    assert [c.interval.start_ms // HOUR_MS for c in place.entries()[3:] if c.interval] == [2, 3]


def test_a_backfill_makes_no_boundary_missed_again() -> None:
    """A run over an interval that is committed takes neither what arrived late nor what is live: the next one does."""
    place = SimpleExport(partitions=1)
    _hours(place, [0, 1, 2])
    place.run("hour 2", interval=(2 * HOUR_MS, 3 * HOUR_MS), now_ms=3 * HOUR_MS)
    before = place.store.contents()
    place.produce(0, 1, at_ms=5)
    _hours(place, [3])
    for name, interval in (("hour 0 again", (0, HOUR_MS)), ("hour 2 again", (2 * HOUR_MS, 3 * HOUR_MS))):
        report = place.run(name, interval=interval, now_ms=3 * HOUR_MS + 10)
        assert (report.committed, report.exit_status) == ([], 0)
    assert place.store.contents() == before
    report = place.run("hour 3", interval=(3 * HOUR_MS, 4 * HOUR_MS), now_ms=4 * HOUR_MS)
    assert [c.entry.interval for c in report.committed] == [Interval(3 * HOUR_MS, 4 * HOUR_MS)]
    assert sum(done.records for done in report.committed[0].entry.ranges) == 3


def test_an_interval_that_was_not_over_holds_up_no_later_run() -> None:
    """A clock ten years ahead, or an interval chosen too far: what was committed for it says nothing of the hours until
    then. They are exported as ever, and the boundary is back where the clock is."""
    place = SimpleExport(partitions=1)
    _hours(place, [0])
    far = 100_000 * HOUR_MS
    place.run("far ahead", interval=(far - HOUR_MS, far), now_ms=far)
    assert place.newest.boundary_ms == far
    for hour in (1, 2):
        _hours(place, [hour])
        interval = (hour * HOUR_MS, (hour + 1) * HOUR_MS)
        report = place.run(f"hour {hour}", interval=interval, now_ms=(hour + 1) * HOUR_MS)
        assert [c.entry.boundary_ms for c in report.committed] == [(hour + 1) * HOUR_MS]
        assert sum(done.records for c in report.committed for done in c.entry.ranges) > 0
        again = place.run("once more", interval=interval, now_ms=(hour + 1) * HOUR_MS)
        assert again.committed == []


def test_a_backfill_is_quiet_whatever_is_wrong_now() -> None:
    """What Kafka lost since is no matter of an interval that was committed: the live run alone fails with it."""
    place = SimpleExport(partitions=1)
    _hours(place, [0, 1, 2])
    place.run("hour 2", interval=(2 * HOUR_MS, 3 * HOUR_MS), now_ms=3 * HOUR_MS)
    _hours(place, [3, 3])
    place.broker.set_log_start("orders", 0, 8)
    assert place.run("hour 0 again", interval=(0, HOUR_MS), now_ms=4 * HOUR_MS).exit_status == 0
    assert place.run("hour 3", interval=(3 * HOUR_MS, 4 * HOUR_MS), now_ms=4 * HOUR_MS).exit_status == EXIT_DATA


def test_an_old_intervals_run_finishes_and_retries_its_own() -> None:
    """An open plan is closed by whoever comes; a range that failed is tried again by a run of its own interval, not
    by that of another one, and with its own bounds."""
    place = SimpleExport(partitions=1)
    _hours(place, [0])
    place.broker.append("orders", 0, Record(2, b"{oops", timestamp_ms=6), Record(3, b"2", timestamp_ms=7))
    assert place.run("hour 0", interval=(0, HOUR_MS), now_ms=HOUR_MS).exit_status == EXIT_DATA
    _hours(place, [1])
    assert place.run("older", interval=(-HOUR_MS, 0), now_ms=2 * HOUR_MS).exit_status == 0
    again = place.run("hour 0 again", interval=(0, HOUR_MS), now_ms=2 * HOUR_MS)
    assert again.exit_status == EXIT_DATA
    [failed] = place.entries()[-1].failed
    assert (failed.start, failed.end, failed.interval) == (2, 4, Interval(0, HOUR_MS))


def test_missed_boundaries_are_found_in_one_reading() -> None:
    """However many boundaries were missed, the first record of a partition is fetched at most once per plan."""
    place = SimpleExport(partitions=1)
    _hours(place, [0])
    place.run("hour 0", interval=(0, HOUR_MS), now_ms=HOUR_MS)
    _hours(place, [100])
    place.broker.requests.clear()
    place.run("hour 100", interval=(100 * HOUR_MS, 101 * HOUR_MS), now_ms=101 * HOUR_MS)
    assert place.positions() == {0: 4}
    assert place.broker.requests.count("first_timestamp") <= 2
