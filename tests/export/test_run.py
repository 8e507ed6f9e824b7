"""Whole runs over the ports in memory: what is committed, what a run ends with, and what it says."""

from __future__ import annotations

from collections import Counter

import pytest

from kafka_s3.errors import (
    EXIT_DATA,
    EXIT_DONE,
    EXIT_TEMPORARY,
    KafkaUnavailable,
)
from kafka_s3.export.run import prepare
from kafka_s3.log.entries import Entry, Kind
from kafka_s3.log.store import Committed
from kafka_s3.naming import LogLayout, parse_seq
from tests.export.place import TOPIC, SimpleExport
from tests.support import HOUR_MS, make_settings, request

LAYOUT = LogLayout("_kafka_s3", "orders")

# First sight.


@pytest.mark.parametrize(("start", "expected"), [("earliest", {0: 2, 1: 0}), ("latest", {0: 5, 1: 3})])
def test_first_positions_are_written_at_once(start: str, expected: dict[int, int]) -> None:
    """The first sight of a topic writes where each partition starts, although there is nothing to export yet."""
    place = SimpleExport(start=start)
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


def test_with_latest_what_follows_the_first_sight_is_exported() -> None:
    """auto.offset.reset=latest: from the position of the first sight on, not from where a later run looks."""
    place = SimpleExport(partitions=1, start="latest")
    place.produce(0, 5)
    place.run("one")
    place.produce(0, 4)
    place.run("two")
    assert place.offsets_in_bucket(0) == [5, 6, 7, 8]


def test_a_later_partition_is_exported_from_its_start() -> None:
    """New partitions start at 0, also with latest: their first records came after the connector."""
    place = SimpleExport(partitions=1, start="latest")
    place.run("one")
    place.broker.create_topic(TOPIC, 2)
    place.produce(1, 4)
    place.run("two")
    assert place.offsets_in_bucket(1) == [0, 1, 2, 3]


def test_nothing_new_writes_nothing() -> None:
    """A run without new records leaves the bucket as it is."""
    place = SimpleExport()
    place.produce(0, 5)
    place.run("one")
    before = place.store.contents()
    assert place.run("two").committed == []
    assert place.store.contents() == before


# Partial success.


def test_a_bad_record_stops_its_partition_alone() -> None:
    """What precedes it is committed, the other partitions too; the run ends with 65 and names the record."""
    place = SimpleExport(partitions=2)
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


def test_a_bad_record_fails_every_run_and_moves_nothing() -> None:
    """The next runs fail the same way; the position stays, other partitions go on."""
    place = SimpleExport(partitions=2)
    place.poison(0)
    place.run("one")
    place.produce(1, 3)
    report = place.run("two")
    assert report.exit_status == EXIT_DATA
    assert place.positions() == {0: 0, 1: 3}


def test_splits_behind_a_failed_one_wait() -> None:
    """Of a partition only the contiguous prefix is committed, and all that failed is planned again as it was."""
    place = SimpleExport(partitions=1, range_records_max=3)
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


def test_a_temporary_failure_is_planned_again_as_it_was() -> None:
    """Exit 75; the next run gives the partition the same range with the first run's logical time, and no more."""
    place = SimpleExport(partitions=2)
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


def test_later_batches_do_not_forget_a_failed_range() -> None:
    """A partition that failed is left out of later batches, and the newest entry still says what failed."""
    place = SimpleExport(partitions=2, batch_records_max=6, flush_size=3)
    place.produce(0, 3)
    place.produce(1, 9)
    place.broker.fail_next("open", KafkaUnavailable("no leader"))
    assert place.run("one").exit_status == EXIT_TEMPORARY
    assert len(place.entries()) == 3
    assert [(f.partition, f.start, f.end) for f in place.newest.failed] == [(0, 0, 3)]


def test_another_configuration_plans_failed_ranges_afresh() -> None:
    """Their bounds were made for another flush.size."""
    place = SimpleExport(partitions=1, flush_size=3)
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
    place = SimpleExport(partitions=1)
    place.produce(0, 5)
    place.die_while_exporting("dead")
    place.produce(0, 4)
    report = place.run("next")
    assert report.exit_status == EXIT_DONE
    assert [entry.kind for entry in place.entries()] == [Kind.CHECKPOINT, Kind.COMMIT, Kind.COMMIT]
    assert (place.bounds(1), place.bounds(2)) == ([(0, 0, 5)], [(0, 5, 9)])
    assert place.plan(1).run.run_id == "dead"
    assert place.entries()[1].run_id == "next"


def test_whoever_finishes_a_plan_deletes_what_was_left() -> None:
    """Objects that no entry lists and an open upload, under the plan's keys alone; the plan's own first try looks for
    nothing."""
    place = SimpleExport(partitions=1)
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
    place = SimpleExport(partitions=1, flush_size=3)
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
    place = SimpleExport(partitions=1, topics=("orders", "more"))
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
    place = SimpleExport(partitions=1)
    place.produce(0, 5)
    first, _ = prepare(place.exporter(), request("run"))
    second, _ = prepare(place.exporter(), request("run"))
    assert first is not None
    assert second is not None
    assert first.sha256 == second.sha256
    place.run("run")
    assert len(place.entries()) == 2
    assert prepare(place.exporter(), request("later"))[0] is None


# The run's end.


def test_a_retry_keeps_the_ends_of_its_first_try() -> None:
    """A retried run goes up to where its first plan said, not to what came meanwhile."""
    place = SimpleExport(partitions=1)
    place.produce(0, 5)
    place.broker.fail_next("open", KafkaUnavailable("no leader"))
    assert place.run("run").exit_status == EXIT_TEMPORARY
    place.produce(0, 4)
    assert place.run("run", try_number=2).exit_status == EXIT_DONE
    assert place.positions() == {0: 5}
    assert place.plan(1).run.ends == place.plan(2).run.ends == {TOPIC: {0: 5}}


def test_a_retry_looks_for_ends_of_its_own() -> None:
    """Run two finishes dead run one's plan and fails then: its retry goes up to its own end."""
    place = SimpleExport(partitions=1)
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
    place = SimpleExport(partitions=1)
    place.produce(0, 3, at_ms=10)
    place.produce(0, 2, at_ms=HOUR_MS)
    place.run("one", interval=(0, HOUR_MS), now_ms=HOUR_MS + 1)
    assert place.positions() == {0: 3}
    place.run("two", interval=(HOUR_MS, 2 * HOUR_MS), now_ms=2 * HOUR_MS)
    assert place.positions() == {0: 5}


def test_batches_make_several_commits() -> None:
    """export.batch.records.max bounds a commit; one run makes as many as it takes, all with the same ends."""
    place = SimpleExport(partitions=2, batch_records_max=6)
    place.produce(0, 9)
    place.produce(1, 5)
    report = place.run()
    assert [sum(r.records for r in c.entry.ranges) for c in report.committed] == [6, 5, 3]
    assert all(place.plan(c.entry.seq).run.ends == {TOPIC: {0: 9, 1: 5}} for c in report.committed)
    assert (place.offsets_in_bucket(0), place.offsets_in_bucket(1)) == (list(range(9)), list(range(5)))
    assert [place.plan(c.entry.seq).more for c in report.committed] == [True, True, False]


# Requests.


def test_one_put_per_object_below_the_part_size() -> None:
    """Data costs one request an object, and none is read back or looked at."""
    place = SimpleExport(flush_size=2)
    place.produce(0, 10)
    place.produce(1, 3)
    place.run("before")
    assert place.operations("topics/orders/partition") == ["PutObject"] * 7


def test_the_newest_of_10_000_entries_is_one_list_and_one_get() -> None:
    """Whatever the history, finding the state is one LIST of one key and one GET."""
    place = SimpleExport(partitions=1)
    place.produce(0, 5)
    place.run("before")
    head = place.log.newest()
    assert head is not None
    layout = place.log.layout
    for seq in range(head.entry.seq + 1, 10_001):
        place.store.overwrite(layout.log_key(seq), b"whoever reads this asks too much")
    entry = Entry(
        kind=Kind.CHECKPOINT,
        seq=10_001,
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
    place = SimpleExport()
    place.produce(0, 5)
    place.run("before")
    place.store.requests.clear()
    place.run("after")
    look = ["ListObjectsV2", "GetObject"]
    assert place.operations() == [*look, *look, "GetObject", *look]


def test_a_commit_costs_fourteen_requests_and_its_objects() -> None:
    """Five look as above; PUT for the owner (taken: GET), the plan and the entry; one for each object; five look again,
    after a LIST for the newest entry."""
    place = SimpleExport()
    place.produce(0, 5)
    place.run("before")
    place.produce(0, 5)
    place.store.requests.clear()
    place.run("after")
    made = place.operations()
    objects = [
        each for each in place.store.requests if each.operation == "PutObject" and each.key.startswith("topics/")
    ]
    assert len(objects) == 2
    assert Counter(made) == {"ListObjectsV2": 5, "GetObject": 6, "PutObject": 3 + len(objects)}


def test_readers_are_closed_whatever_happens() -> None:
    """No reader outlives its range, failed or not."""
    place = SimpleExport()
    place.produce(0, 5)
    place.poison(1)
    place.broker.fail_next("read", KafkaUnavailable("out"), skip=1)
    place.run()
    assert place.broker.readers_open == 0
