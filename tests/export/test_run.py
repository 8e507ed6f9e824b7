"""Whole runs over the ports in memory: what is committed, what a run ends with, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import (
    EXIT_CONFIGURATION,
    EXIT_DATA,
    EXIT_DONE,
    EXIT_TEMPORARY,
    ConfigurationError,
    Fenced,
    KafkaUnavailable,
    LogMissing,
    StoreRefused,
    StoreUnavailable,
    TopicMissing,
)
from kafka_s3.export.run import begin, prepare
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry, Interval, Kind, Owner, Plan
from kafka_s3.log.store import Committed
from kafka_s3.naming import LogLayout, parse_seq
from kafka_s3.plan.planner import next_plan
from kafka_s3.records import Record
from kafka_s3.settings.schedule import ScheduleSettings
from tests.export.place import TOPIC, Place
from tests.support import HOUR_MS, make_settings, request

LAYOUT = LogLayout("_kafka_s3", "orders")

# First sight.


@pytest.mark.parametrize(("start", "expected"), [("earliest", {0: 2, 1: 0}), ("latest", {0: 5, 1: 3})])
def test_first_positions_are_written_at_once(start: str, expected: dict[int, int]) -> None:
    """The first sight of a topic writes where each partition starts, although there is nothing to export yet."""
    place = Place(start=start)
    place.produce(0, 5)
    place.produce(1, 3)
    place.broker.set_log_start(TOPIC, 0, 2)
    # Before the interval there is nothing that a run could export: every record waits.
    report = place.run(interval=(-20, -10)) if start == "earliest" else place.run()
    assert report.exit_status == EXIT_DONE
    first, *later = place.entries()
    assert first.kind is Kind.CHECKPOINT
    assert [entry.kind for entry in later] == ([Kind.CHECKPOINT] if start == "earliest" else [])  # the interval is over
    assert first.topics[TOPIC].positions == place.positions() == expected
    assert place.data() == {}


def test_records_that_come_after_the_first_sight_are_exported_with_latest() -> None:
    """auto.offset.reset=latest: from the position of the first sight on, not from where a later run looks."""
    place = Place(partitions=1, start="latest")
    place.produce(0, 5)
    place.run("one")
    place.produce(0, 4)
    place.run("two")
    assert place.offsets_in_bucket(0) == [5, 6, 7, 8]


def test_a_partition_that_appears_later_is_exported_from_its_start() -> None:
    """New partitions start at 0, also with latest: their first records came after the connector."""
    place = Place(partitions=1, start="latest")
    place.run("one")
    place.broker.create_topic(TOPIC, 2)
    place.produce(1, 4)
    place.run("two")
    assert place.offsets_in_bucket(1) == [0, 1, 2, 3]


def test_nothing_new_writes_nothing() -> None:
    """A run without new records leaves the bucket as it is."""
    place = Place()
    place.produce(0, 5)
    place.run("one")
    before = place.store.contents()
    assert place.run("two").committed == []
    assert place.store.contents() == before


# Partial success.


def test_a_bad_record_stops_its_partition_alone() -> None:
    """What precedes it is committed, the other partitions too; the run ends with 65 and names the record."""
    place = Place(partitions=2)
    place.produce(0, 4)
    place.poison(0)
    place.produce(0, 4)
    place.produce(1, 7)
    report = place.run()
    assert report.exit_status == EXIT_DATA
    (problem,) = report.problems()
    assert "topic orders partition 0 offset 4: not JSON" in problem
    assert place.positions() == {0: 4, 1: 7}
    assert place.offsets_in_bucket(0) == [0, 1, 2, 3]
    assert place.offsets_in_bucket(1) == list(range(7))
    (failed,) = place.newest.failed
    assert (failed.partition, failed.start, failed.end) == (0, 4, 9)
    assert "offset 4" in failed.reason


def test_a_bad_record_that_is_still_there_fails_every_run_and_moves_nothing() -> None:
    """The next runs fail the same way; the position stays, other partitions go on."""
    place = Place(partitions=2)
    place.poison(0)
    place.run("one")
    place.produce(1, 3)
    report = place.run("two")
    assert report.exit_status == EXIT_DATA
    assert place.positions() == {0: 0, 1: 3}


def test_splits_behind_a_failed_one_wait() -> None:
    """Of a partition only the contiguous prefix is committed, and all that failed is planned again as it was."""
    place = Place(partitions=1, range_records_max=3)
    place.produce(0, 12)
    place.broker.fail_next("open", KafkaUnavailable("no leader"), skip=1)
    report = place.run("one")
    assert report.exit_status == EXIT_TEMPORARY
    assert place.positions() == {0: 3}
    assert [(f.start, f.end) for f in place.newest.failed] == [(3, 6), (6, 9), (9, 12)]
    assert place.newest.failed[1].reason.startswith("waits for the range before it")
    place.produce(0, 5)
    assert place.run("two").exit_status == EXIT_DONE
    assert place.bounds(2) == [(0, 3, 6), (0, 6, 9), (0, 9, 12)]
    assert place.offsets_in_bucket(0) == list(range(17))
    assert len(place.data()) == 6  # the objects of the splits that had waited were adopted


def test_a_temporary_failure_is_planned_again_with_the_same_bounds_and_time() -> None:
    """Exit 75; the next run gives the partition the same range with the first run's logical time, and no more."""
    place = Place(partitions=2)
    place.produce(0, 5)
    place.produce(1, 5)
    place.broker.fail_next("open", KafkaUnavailable("no leader"))
    report = place.run("one", interval=(0, HOUR_MS), now_ms=HOUR_MS)
    assert report.exit_status == EXIT_TEMPORARY
    assert place.positions() == {0: 0, 1: 5}
    place.produce(0, 2)
    place.run("two", interval=(HOUR_MS, 2 * HOUR_MS), now_ms=2 * HOUR_MS)
    again = [r for r in place.plan(2).ranges if r.partition == 0]
    assert [(r.start, r.end) for r in again] == [(0, 5)]
    assert again[0].interval is not None
    assert (again[0].interval.start_ms, again[0].interval.end_ms) == (0, HOUR_MS)
    assert place.offsets_in_bucket(0) == list(range(7))


def test_a_failed_range_is_not_forgotten_by_the_runs_later_batches() -> None:
    """A partition that failed is left out of later batches, and the newest entry still says what failed."""
    place = Place(partitions=2, batch_records_max=6, flush_size=3)
    place.produce(0, 3)
    place.produce(1, 9)
    place.broker.fail_next("open", KafkaUnavailable("no leader"))
    assert place.run("one").exit_status == EXIT_TEMPORARY
    assert len(place.entries()) == 3
    assert [(f.partition, f.start, f.end) for f in place.newest.failed] == [(0, 0, 3)]


def test_under_another_configuration_failed_ranges_are_planned_afresh() -> None:
    """Their bounds were made for another flush.size."""
    place = Place(partitions=1, flush_size=3)
    place.produce(0, 5)
    place.broker.fail_next("open", KafkaUnavailable("no leader"))
    place.run("one")
    place.produce(0, 2)
    place.settings = make_settings(flush_size=4)
    place.run("two")
    assert place.bounds(2) == [(0, 0, 7)]
    assert place.newest.failed == ()


# Plans that were left open.


def test_an_unfinished_plan_is_finished_by_the_next_run() -> None:
    """As planned, before anything else; then the run does its own part."""
    place = Place(partitions=1)
    place.produce(0, 5)
    place.die_while_exporting("dead")
    place.produce(0, 4)
    report = place.run("next")
    assert report.exit_status == EXIT_DONE
    assert [entry.kind for entry in place.entries()] == [Kind.CHECKPOINT, Kind.COMMIT, Kind.COMMIT]
    assert (place.bounds(1), place.bounds(2)) == ([(0, 0, 5)], [(0, 5, 9)])
    assert place.plan(1).run.run_id == "dead"
    assert place.entries()[1].run_id == "next"


def test_what_a_dead_driver_left_of_a_plan_is_deleted_by_whoever_finishes_it() -> None:
    """Objects that no entry lists and an open upload, under the plan's keys alone; the plan's own first try looks for
    nothing."""
    place = Place(partitions=1)
    place.produce(0, 5)
    place.run("before")
    place.produce(0, 5)
    place.die_while_exporting("dead")
    left = "topics/orders/partition=0/orders+0+0000000006.json"
    beyond = "topics/orders/partition=0/orders+0+0000000011.json"
    for key in (left, beyond):
        place.store.put_if_absent(key, b"half done")
    place.store.start_multipart(left)
    assert place.run("next").exit_status == EXIT_DONE
    assert left not in place.data()
    assert beyond in place.data()
    assert place.store.uploads_open() == 0
    assert "plan 2: 1 objects and 1 open uploads that an earlier driver left were deleted" in place.told
    place.produce(0, 5)
    prepare(place.exporter(), request("own"))
    place.store.requests.clear()
    assert place.run("own", planned_apart=True).exit_status == EXIT_DONE
    assert "ListMultipartUploads" not in place.operations()


def test_an_unfinished_plan_of_another_configuration_is_voided() -> None:
    """A void takes the plan's slot, moves nothing and says why; a new plan follows."""
    place = Place(partitions=1, flush_size=3)
    place.produce(0, 5)
    place.die_while_exporting()
    place.settings = make_settings(flush_size=5)
    report = place.run("next")
    assert report.exit_status == EXIT_DONE
    void, commit = place.entries()[1:]
    assert (void.kind, void.reason, void.seq) == (Kind.VOID, "the configuration has changed since", 1)
    assert void.topics[TOPIC].positions == {0: 0}
    assert (commit.kind, place.bounds(2)) == (Kind.COMMIT, [(0, 0, 5)])
    assert any("plan 1 is voided: the configuration has changed since" in line for line in place.told)


def test_a_new_topic_does_not_take_the_slot_of_an_open_plan() -> None:
    """A plan is closed by a commit or a void, whatever else a run finds first."""
    place = Place(partitions=1, topics=("orders", "more"))
    place.broker.create_topic("more")
    place.settings = make_settings(topics=(TOPIC,))
    place.broker.delete_topic("more")
    place.produce(0, 5)
    place.die_while_exporting()
    place.broker.create_topic("more")
    place.run("next")
    assert place.entries()[1].kind in (Kind.COMMIT, Kind.VOID)
    assert place.entries()[1].plan_sha256 is not None


def test_prepare_makes_one_plan_and_run_executes_it() -> None:
    """What the `plan` task writes is what `export` does, and asking twice does not plan twice."""
    place = Place(partitions=1)
    place.produce(0, 5)
    first, _ = prepare(place.exporter(), request("run"))
    second, _ = prepare(place.exporter(), request("run"))
    assert first is not None
    assert first == second
    place.run("run")
    assert len(place.entries()) == 2
    assert prepare(place.exporter(), request("later"))[0] is None


# The run's end.


def test_a_retry_keeps_the_ends_of_its_first_try() -> None:
    """A retried run goes up to where its first plan said, not to what came meanwhile."""
    place = Place(partitions=1)
    place.produce(0, 5)
    place.broker.fail_next("open", KafkaUnavailable("no leader"))
    assert place.run("run").exit_status == EXIT_TEMPORARY
    place.produce(0, 4)
    assert place.run("run", try_number=2).exit_status == EXIT_DONE
    assert place.positions() == {0: 5}
    assert place.plan(1).run.ends == place.plan(2).run.ends == {TOPIC: {0: 5}}


def test_a_retry_does_not_take_the_ends_of_a_run_whose_plan_it_finished() -> None:
    """Run two finishes dead run one's plan and fails then: its retry goes up to its own end."""
    place = Place(partitions=1)
    place.produce(0, 5)
    place.die_while_exporting("one")
    place.produce(0, 4)
    place.broker.fail_next("offsets", KafkaUnavailable("out"), skip=2)  # after the commit of the plan of run one
    place.broker.fail_next("offsets", KafkaUnavailable("out"))
    with pytest.raises(KafkaUnavailable):
        place.run("two")
    assert place.positions() == {0: 5}
    place.run("two", try_number=2)
    assert place.positions() == {0: 9}


def test_the_end_is_that_of_the_data_interval() -> None:
    """Records at or after the interval's end wait for the next run."""
    place = Place(partitions=1)
    place.produce(0, 3, at_ms=10)
    place.produce(0, 2, at_ms=HOUR_MS)
    place.run("one", interval=(0, HOUR_MS), now_ms=HOUR_MS + 1)
    assert place.positions() == {0: 3}
    place.run("two", interval=(HOUR_MS, 2 * HOUR_MS), now_ms=2 * HOUR_MS)
    assert place.positions() == {0: 5}


def test_batches_make_several_commits() -> None:
    """export.batch.records.max bounds a commit; one run makes as many as it takes, all with the same ends."""
    place = Place(partitions=2, batch_records_max=6)
    place.produce(0, 9)
    place.produce(1, 5)
    report = place.run()
    assert [sum(r.records for r in c.entry.ranges) for c in report.committed] == [6, 5, 3]
    assert all(place.plan(c.entry.seq).run.ends == {TOPIC: {0: 9, 1: 5}} for c in report.committed)
    assert (place.offsets_in_bucket(0), place.offsets_in_bucket(1)) == (list(range(9)), list(range(5)))
    assert [place.plan(c.entry.seq).more for c in report.committed] == [True, True, False]


# Catching up.


def _hours(place: Place, hours: Sequence[int]) -> None:
    for hour in hours:
        place.produce(0, 2, at_ms=hour * HOUR_MS + 5)


def test_missed_boundaries_get_a_batch_each_with_their_own_time() -> None:
    """After an outage each missed hour is a commit of its own, with the hour that a punctual run would have had."""
    place = Place(partitions=1)
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
    place = Place(partitions=1)
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


def test_older_boundaries_are_merged_into_the_first_batch() -> None:
    """export.catchup.batches.max=2: the oldest hours share a batch."""
    place = Place(partitions=1, catchup=2)
    _hours(place, [0])
    place.run("hour 0", interval=(0, HOUR_MS), now_ms=HOUR_MS)
    _hours(place, [1, 2, 3])
    place.run("hour 3", interval=(3 * HOUR_MS, 4 * HOUR_MS), now_ms=4 * HOUR_MS)
    intervals = [c.interval for c in place.entries()[2:]]
    assert [(i.start_ms // HOUR_MS, i.end_ms // HOUR_MS) for i in intervals if i] == [(1, 3), (3, 4)]


def test_a_run_without_an_interval_does_not_hide_missed_boundaries() -> None:
    """After a run `until: now` the next scheduled run still plans the hours missed since, one batch each."""
    place = Place(partitions=1)
    _hours(place, [0])
    place.run("hour 0", interval=(0, HOUR_MS), now_ms=HOUR_MS)
    _hours(place, [1])
    place.run("until now", now_ms=HOUR_MS + 10)
    _hours(place, [2, 3])
    place.run("hour 3", interval=(3 * HOUR_MS, 4 * HOUR_MS), now_ms=4 * HOUR_MS)
    assert place.entries()[2].interval is None
    assert [c.interval.start_ms // HOUR_MS for c in place.entries()[3:] if c.interval] == [2, 3]


def test_a_backfill_of_an_older_interval_makes_no_boundary_missed_again() -> None:
    """A run over an interval that is committed takes neither what arrived late nor what is live: the next one does."""
    place = Place(partitions=1)
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
    place = Place(partitions=1)
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


def test_a_backfill_of_an_older_interval_is_quiet_whatever_is_wrong_now() -> None:
    """What Kafka lost since is no matter of an interval that was committed: the live run alone fails with it."""
    place = Place(partitions=1)
    _hours(place, [0, 1, 2])
    place.run("hour 2", interval=(2 * HOUR_MS, 3 * HOUR_MS), now_ms=3 * HOUR_MS)
    _hours(place, [3, 3])
    place.broker.set_log_start("orders", 0, 8)
    assert place.run("hour 0 again", interval=(0, HOUR_MS), now_ms=4 * HOUR_MS).exit_status == 0
    assert place.run("hour 3", interval=(3 * HOUR_MS, 4 * HOUR_MS), now_ms=4 * HOUR_MS).exit_status == EXIT_DATA


def test_an_old_intervals_run_finishes_what_is_open_and_retries_what_failed_of_its_own() -> None:
    """An open plan is closed by whoever comes; a range that failed is tried again by a run of its own interval, not
    by that of another one, and with its own bounds."""
    place = Place(partitions=1)
    _hours(place, [0])
    place.broker.append("orders", 0, Record(2, b"{oops", timestamp_ms=6), Record(3, b"2", timestamp_ms=7))
    assert place.run("hour 0", interval=(0, HOUR_MS), now_ms=HOUR_MS).exit_status == EXIT_DATA
    _hours(place, [1])
    assert place.run("older", interval=(-HOUR_MS, 0), now_ms=2 * HOUR_MS).exit_status == 0
    again = place.run("hour 0 again", interval=(0, HOUR_MS), now_ms=2 * HOUR_MS)
    assert again.exit_status == EXIT_DATA
    [failed] = place.entries()[-1].failed
    assert (failed.start, failed.end, failed.interval) == (2, 4, Interval(0, HOUR_MS))


def test_looking_for_missed_boundaries_reads_each_partition_once() -> None:
    """However many boundaries were missed, the first record of a partition is fetched at most once per plan."""
    place = Place(partitions=1)
    _hours(place, [0])
    place.run("hour 0", interval=(0, HOUR_MS), now_ms=HOUR_MS)
    _hours(place, [100])
    place.broker.requests.clear()
    place.run("hour 100", interval=(100 * HOUR_MS, 101 * HOUR_MS), now_ms=101 * HOUR_MS)
    assert place.positions() == {0: 4}
    assert place.broker.requests.count("first_timestamp") <= 2


# The world changed.


def _two_runs(place: Place) -> None:
    place.produce(0, 5)
    place.produce(1, 5)
    assert place.run("before").exit_status == EXIT_DONE
    place.produce(1, 3)


def test_lost_offsets_leave_their_partition_out() -> None:
    """Retention overtook the export: that partition stays, the others go on, the run ends with 65 and says so."""
    place = Place()
    _two_runs(place)
    place.broker.set_log_start(TOPIC, 0, 8)
    report = place.run("after")
    assert report.exit_status == EXIT_DATA
    assert any("orders-0: offsets [5, 8) are gone from Kafka" in problem for problem in report.problems())
    assert place.positions() == {0: 5, 1: 8}


def test_a_log_start_above_a_new_partition_is_data_loss() -> None:
    """A partition that appeared later starts at 0; a log start above is loss, not its beginning."""
    place = Place(partitions=1)
    place.run("before")
    place.broker.create_topic(TOPIC, 2)
    place.broker.set_log_start(TOPIC, 1, 3)
    report = place.run("after")
    assert report.exit_status == EXIT_DATA
    assert "orders-1: offsets [0, 3) are gone" in report.problems()[0]


def test_a_truncated_log_leaves_its_partition_out() -> None:
    """The log ends below the position."""
    place = Place()
    _two_runs(place)
    place.broker.truncate(TOPIC, 0, 3)
    report = place.run("after")
    assert report.exit_status == EXIT_DATA
    assert "orders-0: the log was truncated at 3, below the position 5" in report.problems()[0]
    assert place.positions() == {0: 5, 1: 8}


def test_offsets_that_vanish_while_reading_fail_their_range() -> None:
    """Retention between planning and reading: nothing of that range is committed, and the reason is data loss."""
    place = Place()
    place.produce(0, 5)
    place.produce(1, 5)
    place.before_execute = lambda: place.broker.set_log_start(TOPIC, 0, 2)
    report = place.run()
    assert report.exit_status == EXIT_DATA
    assert place.positions() == {0: 0, 1: 5}


def test_a_topic_created_again_before_planning_is_left_out() -> None:
    """Its offsets are other records; both ids are named."""
    place = Place()
    _two_runs(place)
    place.broker.recreate_topic(TOPIC)
    place.produce(0, 9)
    report = place.run("after")
    assert report.exit_status == EXIT_DATA
    assert "was deleted and created again (id orders-id-1 before, orders-id-2 now)" in report.problems()[0]
    assert place.positions() == {0: 5, 1: 5}


def test_a_topic_created_again_while_it_is_read_is_not_committed() -> None:
    """The reader sees no error; the look at the topic id after the last read does."""
    place = Place()
    _two_runs(place)

    def recreate() -> None:
        place.broker.recreate_topic(TOPIC)
        place.produce(1, 20)

    place.while_reading = recreate
    report = place.run("after")
    assert report.exit_status == EXIT_DATA
    assert "orders-1: topic orders was deleted or created again while it was read" in report.problems()[0]
    assert place.positions() == {0: 5, 1: 5}


def test_a_deleted_topic_is_named_and_the_others_go_on() -> None:
    """A topic that the log knows and Kafka does not is left out."""
    place = Place(topics=("orders", "more"))
    place.broker.create_topic("more")
    _two_runs(place)
    place.broker.delete_topic(TOPIC)
    place.produce(0, 4, topic="more")
    report = place.run("after")
    assert report.exit_status == EXIT_DATA
    assert "topic orders (id orders-id-1) was deleted" in report.problems()[0]
    assert place.positions("more") == {0: 4}


def test_a_topic_taken_out_of_the_configuration_is_no_problem() -> None:
    """What a user no longer asks for is neither exported nor complained about; its positions stay in the log."""
    place = Place(topics=("orders", "more"))
    place.broker.create_topic("more")
    _two_runs(place)
    place.settings = make_settings(topics=("more",))
    place.broker.delete_topic(TOPIC)  # what a broker port answers for a topic that is not configured: nothing
    report = place.run("after")
    assert report.problems() == []
    assert report.exit_status == EXIT_DONE
    assert place.positions() == {0: 5, 1: 5}


def test_an_open_plan_of_a_deleted_topic_is_closed() -> None:
    """Nothing of it can be read: it is closed without data, and the run fails."""
    place = Place()
    place.produce(0, 5)
    place.die_while_exporting()
    place.broker.delete_topic(TOPIC)
    report = place.run("next")
    assert report.exit_status == EXIT_DATA
    assert place.newest.kind is Kind.COMMIT
    assert place.positions() == {0: 0, 1: 0}


def test_a_missing_topic_is_a_configuration_error() -> None:
    """A topic that never was: named, exit 78, nothing written."""
    place = Place(topics=("orders", "ordres"))
    with pytest.raises(TopicMissing, match="names topics that do not exist on the broker: ordres") as caught:
        place.run()
    assert caught.value.exit_status == EXIT_CONFIGURATION
    assert place.store.contents() == {}


def test_a_broker_that_is_down_is_temporary() -> None:
    """Nothing written, exit 75."""
    place = Place()
    place.broker.fail_next("topics", KafkaUnavailable("no broker"))
    with pytest.raises(KafkaUnavailable) as caught:
        place.run()
    assert caught.value.exit_status == EXIT_TEMPORARY
    assert place.store.contents() == {}


# Whose topic, whose log.


def test_a_topic_of_another_connector_is_refused() -> None:
    """The owner object names another connector: both are named, exit 78, no data."""
    place = Place()
    place.store.put_if_absent(
        LAYOUT.owner_key("topics", TOPIC), encode(Owner(connector="billing", log="_kafka_s3/billing/log/"))
    )
    place.produce(0, 5)
    with pytest.raises(ConfigurationError, match="belongs to connector billing .* not to orders") as caught:
        place.run()
    assert caught.value.exit_status == EXIT_CONFIGURATION
    assert "give one of them another topics.dir" in str(caught.value)
    assert place.data() == {}


def test_a_topic_of_another_connector_is_refused_as_such_later_too() -> None:
    """A topic added later that another connector exports: its owner is named, not a missing log."""
    place = Place()
    place.run("before")
    other = Place(topics=("more",), name="billing", store=place.store)
    other.broker = place.broker
    place.broker.create_topic("more")
    place.broker.delete_topic(TOPIC)
    place.produce(0, 2, topic="more")
    assert other.run("billing").exit_status == EXIT_DONE
    place.broker.create_topic(TOPIC)
    place.settings = make_settings(topics=("orders", "more"))
    with pytest.raises(ConfigurationError, match="belongs to connector billing"):
        place.run("after")


@pytest.mark.parametrize("left", ["plan", "owner", "data"])
def test_a_missing_log_is_never_a_first_run(left: str) -> None:
    """With a plan, an owner or data objects and no log entry, the run refuses to begin again from the start."""
    place = Place()
    place.produce(0, 5)
    place.run("before")
    keep = {"plan": LAYOUT.plan_prefix, "owner": "_kafka_s3/owners/", "data": "topics/"}[left]
    for key in place.store.contents():
        if not key.startswith(keep):
            place.store.delete(key)
    before = place.store.contents()
    assert before
    with pytest.raises(LogMissing) as caught:
        place.run("after")
    assert caught.value.exit_status == EXIT_DATA
    assert "A first run would export the topic a second time" in str(caught.value)
    assert place.store.contents() == before


def test_a_store_without_conditional_writes_is_refused() -> None:
    """Found by doing it, before any data is written; exit 78."""
    place = Place(store=MemoryStore(conditional_writes=False))
    place.produce(0, 5)
    with pytest.raises(StoreRefused, match="took a PUT with If-None-Match") as caught:
        place.run("one")
    assert caught.value.exit_status == EXIT_CONFIGURATION
    assert place.data() == {}


def test_a_store_without_conditional_writes_stays_refused() -> None:
    """A second run is refused as the first was."""
    place = Place(store=MemoryStore(conditional_writes=False))
    place.produce(0, 5)
    for run_id in ("one", "two"):
        with pytest.raises(StoreRefused):
            place.run(run_id)
    assert place.data() == {}


def test_owners_are_claimed_before_the_first_plan() -> None:
    """Once a plan is there, so is the owner of its topics; a topic without data is not said to be owned."""
    place = Place(topics=("orders", "more"))
    place.broker.create_topic("more")
    place.produce(0, 5)
    place.run()
    owner = place.store.get(LAYOUT.owner_key("topics", TOPIC))
    assert owner is not None
    assert decode(Owner, "owner", owner) == Owner(connector="orders", log=LAYOUT.log_prefix)
    for topic, state in place.newest.topics.items():
        assert state.owned == (LAYOUT.owner_key("topics", topic) in place.store.contents())


# Fencing.


def test_another_run_that_takes_the_slot_fences_this_one() -> None:
    """While a run reads, another voids its plan: the first stops, writes nothing more and says who it was."""
    place = Place(partitions=1)
    place.produce(0, 5)
    other = Place(partitions=1, store=place.store, flush_size=4)
    other.broker = place.broker
    place.while_reading = lambda: _once(place, lambda: other.run("other"))
    with pytest.raises(Fenced, match=r"Run other \(try 1\) wrote log entry 1 \(void\) first") as caught:
        place.run("slow")
    assert caught.value.exit_status == EXIT_TEMPORARY
    assert [(entry.kind, entry.run_id) for entry in place.entries()[1:]] == [
        (Kind.VOID, "other"),
        (Kind.COMMIT, "other"),
    ]


def _once(place: Place, act: Callable[[], object]) -> None:
    place.while_reading = lambda: None
    act()


def test_another_run_that_commits_the_same_plan_is_success() -> None:
    """The winner's commit of our plan holds all we had: done, whoever wrote it."""
    place = Place(partitions=1)
    place.produce(0, 5)
    other = Place(partitions=1, store=place.store)
    other.broker = place.broker
    place.while_reading = lambda: _once(place, lambda: other.run("other"))
    assert place.run("slow").exit_status == EXIT_DONE
    assert [(entry.kind, entry.run_id) for entry in place.entries()[1:]] == [(Kind.COMMIT, "other")]


def test_a_winner_that_holds_less_fences_this_one() -> None:
    """The winner committed the same plan, but its read failed where ours did not: stop."""
    place = Place(partitions=1)
    place.produce(0, 5)
    other = Place(partitions=1, store=place.store)
    other.broker = place.broker

    def fail_and_commit() -> None:
        place.broker.fail_next("open", KafkaUnavailable("no leader"))
        assert other.run("other").exit_status == EXIT_TEMPORARY

    place.while_reading = lambda: _once(place, fail_and_commit)
    with pytest.raises(Fenced, match="Run other"):
        place.run("slow")
    assert place.positions() == {0: 0}


def test_a_plan_that_another_run_wrote_first_fences() -> None:
    """Two runs plan at the same moment: one is told to stop, and a retry goes on."""
    place = Place(partitions=1)
    place.produce(0, 5)
    place.run("before")
    place.produce(0, 5)
    other = Place(partitions=1, store=place.store)
    other.broker = place.broker
    stale = next_plan_of(place)
    prepare(other.exporter(), request("other"))
    with pytest.raises(Fenced, match="Another run wrote plan 2 of connector orders first"):
        place.log.put_plan(stale)
    assert place.run("slow", try_number=2).exit_status == EXIT_DONE
    assert place.positions() == {0: 10}


def next_plan_of(place: Place) -> Plan:
    head, world = begin(place.exporter(), request("slow"))[:2]
    plan = next_plan(place.settings, place.broker, world, head, request("slow"))
    assert plan is not None
    return plan


@pytest.mark.parametrize("after_apply", [True, False], ids=["answer lost", "not done"])
def test_a_commit_without_an_answer_is_looked_up(after_apply: bool) -> None:
    """The store wrote the entry and its answer got lost: success. It did not: temporary, and the next run commits."""
    place = Place(partitions=1)
    place.produce(0, 5)
    place.while_reading = lambda: place.store.fail_next("PutObject", StoreUnavailable("out"), after_apply=after_apply)
    if after_apply:
        assert place.run("one").exit_status == EXIT_DONE
    else:
        with pytest.raises(StoreUnavailable):
            place.run("one")
        place.while_reading = lambda: None
        assert place.run("one", try_number=2).exit_status == EXIT_DONE
    assert place.positions() == {0: 5}
    assert len(place.entries()) == 2
    assert place.offsets_in_bucket(0) == list(range(5))


# Requests.


def test_one_put_per_object_below_the_part_size() -> None:
    """Data costs one request an object, and none is read back or looked at."""
    place = Place(flush_size=2)
    place.produce(0, 10)
    place.produce(1, 3)
    place.run("before")
    assert place.operations("topics/orders/partition") == ["PutObject"] * 7


def test_the_newest_of_10_000_entries_is_one_list_and_one_get() -> None:
    """Whatever the history, finding the state is one LIST of one key and one GET."""
    place = Place(partitions=1)
    place.produce(0, 5)
    place.run("before")
    head = place.log.newest()
    assert head is not None
    for _ in range(10_000):
        entry = Entry(
            kind=Kind.CHECKPOINT,
            seq=head.entry.seq + 1,
            connector="orders",
            previous_sha256=head.sha256,
            cluster_id="memory",
            engine=head.entry.engine,
            configuration_sha256=head.entry.configuration_sha256,
            isolation_level="read_committed",
            try_number=1,
            topics=head.entry.topics,
            run_id="many",
        )
        written = place.log.put_entry(entry)
        assert isinstance(written, Committed)
        head = written
    log = place.log
    place.store.requests.clear()
    newest = log.newest()
    assert newest == head
    assert place.operations() == ["ListObjectsV2", "GetObject"]
    assert parse_seq(place.store.requests[1].key) == 10_001


def test_a_run_with_nothing_new_costs_seven_requests() -> None:
    """LIST and GET for which log it is, for its newest entry, and once more for which log it is by then; GET for a plan
    that might be open."""
    place = Place()
    place.produce(0, 5)
    place.run("before")
    place.store.requests.clear()
    place.run("after")
    look = ["ListObjectsV2", "GetObject"]
    assert place.operations() == [*look, *look, "GetObject", *look]


def test_readers_are_closed_whatever_happens() -> None:
    """No reader outlives its range, failed or not."""
    place = Place()
    place.produce(0, 5)
    place.poison(1)
    place.broker.fail_next("read", KafkaUnavailable("out"), skip=1)
    place.run()
    assert place.broker.readers_open == 0
