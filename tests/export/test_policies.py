"""What Kafka lost, cut off or began anew: left out, or written down and gone on from, as the configuration says."""

from __future__ import annotations

import json

import pytest

from kafka_s3.errors import EXIT_DATA, EXIT_DONE, EXIT_TEMPORARY, KafkaUnavailable, TopicMissing
from kafka_s3.export.run import prepare
from kafka_s3.export.run_report import RunReport
from kafka_s3.log.entries import Kind
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.settings.run import Policies
from tests.export.place import TOPIC, SimpleExport
from tests.support import hear, request, rows_of

RECORD = Policies(record_data_loss=True)
RESTART = Policies(restart_recreated=True)
BOTH = Policies(record_data_loss=True, restart_recreated=True)


def exported(policies: Policies, **settings: object) -> SimpleExport:
    """Partition 0 is exported up to 5, partition 1 up to 3."""
    place = SimpleExport(policies=policies, **settings)
    place.produce(0, 5)
    place.produce(1, 3)
    assert place.run("first").exit_status == EXIT_DONE
    return place


def produce_other(place: SimpleExport, count: int, partition: int = 0) -> None:
    """Records that are not those that had their offsets before."""
    tp = TopicPartition(TOPIC, partition)
    start = place.broker.offsets([tp])[tp].high_watermark
    for offset in range(start, start + count):
        place.broker.append(TOPIC, partition, Record(offset, json.dumps({"other": offset}).encode()))


def read_log(place: SimpleExport, partition: int) -> list[dict[str, int]]:
    """What a reader of the log finds of a partition, oldest entry first."""
    contents = place.store.contents()
    return [
        row
        for entry in place.entries()
        for done in entry.ranges
        if done.partition == partition
        for made in done.objects
        for row in rows_of(contents[made.key], made.key)
    ]


def kinds(place: SimpleExport) -> list[Kind]:
    return [entry.kind for entry in place.entries()]


def test_a_loss_that_is_recorded_is_a_gap_in_the_log() -> None:
    """Retention took two records: the run succeeds, exports the rest, and the log says which are missing and why."""
    place = exported(RECORD)
    place.produce(0, 5)
    place.broker.set_log_start(TOPIC, 0, 7)
    assert place.run("second").exit_status == EXIT_DONE
    assert kinds(place) == [Kind.CHECKPOINT, Kind.COMMIT, Kind.CHECKPOINT, Kind.COMMIT]
    (gap,) = place.entries()[2].gaps
    assert (gap.topic, gap.partition, gap.start, gap.end) == (TOPIC, 0, 5, 7)
    assert "5, 7) are gone" in gap.reason
    assert [row["o"] for row in read_log(place, 0)] == [0, 1, 2, 3, 4, 7, 8, 9]
    assert place.positions() == {0: 10, 1: 3}
    assert place.newest.topics[TOPIC].generation == 0
    assert "accepts: orders-0: offsets [5, 7)" in " ".join(place.told)


def test_a_loss_of_everything_is_a_gap_too() -> None:
    """Nothing is left to be read: the gap is written all the same, once."""
    place = exported(RECORD)
    place.produce(0, 5)
    place.broker.set_log_start(TOPIC, 0, 10)
    assert place.run("second").exit_status == EXIT_DONE
    assert place.run("third").exit_status == EXIT_DONE
    assert kinds(place) == [Kind.CHECKPOINT, Kind.COMMIT, Kind.CHECKPOINT]
    assert place.positions() == {0: 10, 1: 3}


def test_a_loss_under_an_open_plan_is_recorded_at_its_close() -> None:
    """The dead run's plan cannot be read any more: it is closed, the gap is written, the rest is exported."""
    place = exported(RECORD)
    place.produce(0, 5)
    place.die_while_exporting()
    place.broker.set_log_start(TOPIC, 0, 7)
    assert place.run("second").exit_status == EXIT_DONE
    assert kinds(place)[2:] == [Kind.COMMIT, Kind.CHECKPOINT, Kind.COMMIT]
    assert [row["o"] for row in read_log(place, 0)] == [0, 1, 2, 3, 4, 7, 8, 9]


def test_a_loss_while_it_is_read_is_recorded_by_the_same_run() -> None:
    """The start of a range vanishes after the plan: the run goes on behind the gap."""
    place = exported(RECORD)
    place.produce(0, 5)

    def lose() -> None:
        place.broker.set_log_start(TOPIC, 0, 7)
        place.before_execute = lambda: None

    place.before_execute = lose
    assert place.run("second").exit_status == EXIT_DONE
    assert [row["o"] for row in read_log(place, 0)] == [0, 1, 2, 3, 4, 7, 8, 9]
    assert [(gap.start, gap.end) for entry in place.entries() for gap in entry.gaps] == [(5, 7)]


def test_without_the_policy_only_the_others_go_on() -> None:
    place = exported(Policies())
    place.produce(0, 5)
    place.produce(1, 1)
    place.broker.set_log_start(TOPIC, 0, 7)
    report = place.run("second")
    assert report.exit_status == EXIT_DATA
    assert "[5, 7) are gone from Kafka" in report.problems()[0]
    assert kinds(place) == [Kind.CHECKPOINT, Kind.COMMIT, Kind.COMMIT]
    assert place.positions() == {0: 5, 1: 4}


@pytest.mark.parametrize("grown", [0, 1, 9])
def test_a_truncated_log_goes_on_where_it_parted(grown: int) -> None:
    """Below the position, level with it or beyond it again: what is new is exported once, what was exported stays."""
    place = exported(RECORD)
    place.broker.truncate(TOPIC, 0, 3)
    produce_other(place, grown)
    place.produce(1, 1)
    assert place.run("second").exit_status == EXIT_DONE
    (restart,) = place.entries()[2].restarts
    assert (restart.tp, restart.position, restart.generation, restart.withdrawn) == ((TOPIC, 0), 3, 1, False)
    assert place.positions() == {0: 3 + grown, 1: 4}
    assert read_log(place, 0) == [{"p": 0, "o": o} for o in range(5)] + [{"other": o} for o in range(3, 3 + grown)]
    names = [made.key for done in place.newest.ranges for made in done.objects]
    assert all("+g1" in name for name in names)


def test_a_truncated_log_that_grew_is_found_by_its_epoch() -> None:
    """Nothing but the epoch tells: other records lie at the offsets that were exported."""
    place = exported(Policies())
    place.broker.truncate(TOPIC, 0, 3)
    produce_other(place, 9)
    report = place.run("second")
    assert report.exit_status == EXIT_DATA
    assert "truncated at 3, below the position 5" in report.problems()[0]
    assert place.positions() == {0: 5, 1: 3}


def test_another_leader_is_no_trouble() -> None:
    """The epoch rises, the log is the same: asked once, and not again by the next run."""
    place = exported(Policies())
    place.broker.elect(TOPIC, 0)
    place.produce(0, 2)
    assert place.run("second").exit_status == EXIT_DONE
    asked = place.broker.requests.count("diverged")
    place.produce(0, 2)
    assert place.run("third").exit_status == EXIT_DONE
    assert (asked, place.broker.requests.count("diverged")) == (1, 1)
    assert place.positions() == {0: 9, 1: 3}


@pytest.mark.parametrize("policies", [Policies(), RECORD])
def test_a_log_truncated_while_it_is_read_is_not_committed(policies: Policies) -> None:
    """Read from the log that is gone, or from both: nobody can tell, so none of it is taken. Then all of the new."""
    place = exported(policies)
    place.produce(0, 5)

    def truncate() -> None:
        place.broker.truncate(TOPIC, 0, 8)
        produce_other(place, 4)
        place.while_reading = lambda: None

    place.while_reading = truncate
    report = place.run("second")
    if policies == RECORD:
        assert report.exit_status == EXIT_DONE
    else:
        assert "truncated at 8 while it was read" in report.problems()[0]
        assert place.positions() == {0: 5, 1: 3}
    assert place.run("third").exit_status == EXIT_DONE
    assert place.positions() == {0: 12, 1: 3}
    new = [{"other": o} for o in range(8, 12)]
    assert read_log(place, 0) == [*({"p": 0, "o": o} for o in range(8)), *new]
    assert place.newest.topics[TOPIC].generation == 0, "nothing that was exported is gone"


def test_a_topic_created_again_begins_anew_beside_the_old_one() -> None:
    """Both topics' records are in the export, under keys that cannot meet."""
    place = exported(RESTART)
    place.broker.recreate_topic(TOPIC)
    produce_other(place, 4)
    before = place.data()
    assert place.run("second").exit_status == EXIT_DONE
    assert [(each.partition, each.position, each.generation) for each in place.entries()[2].restarts] == [
        (0, 0, 1),
        (1, 0, 1),
    ]
    assert read_log(place, 0) == [{"p": 0, "o": o} for o in range(5)] + [{"other": o} for o in range(4)]
    assert before.items() <= place.data().items()
    assert place.positions() == {0: 4, 1: 0}


def test_a_topic_created_again_that_lost_its_head_is_both() -> None:
    """With both policies: a restart, then a gap. Without the second one its partition waits for somebody."""
    for policies in (RESTART, BOTH):
        place = exported(policies)
        place.broker.recreate_topic(TOPIC)
        produce_other(place, 4)
        place.broker.set_log_start(TOPIC, 0, 2)
        report = place.run("second")
        assert report.exit_status == (EXIT_DONE if policies == BOTH else EXIT_DATA)
        assert place.positions() == {0: 4 if policies == BOTH else 0, 1: 0}


def test_a_topic_created_again_restarts_in_the_same_run() -> None:
    place = exported(RESTART)
    place.produce(0, 2)

    def recreate() -> None:
        place.broker.recreate_topic(TOPIC)
        produce_other(place, 3)
        place.while_reading = lambda: None

    place.while_reading = recreate
    assert place.run("second").exit_status == EXIT_DONE
    assert read_log(place, 0) == [{"p": 0, "o": o} for o in range(5)] + [{"other": o} for o in range(3)]


def test_kafka_that_never_stops_changing_ends_the_run() -> None:
    """The same partition loses its range each time: the run gives up after the second, and says so."""
    place = exported(RECORD)
    place.produce(0, 5)
    starts = iter(range(6, 100))
    place.before_execute = lambda: place.broker.set_log_start(TOPIC, 0, next(starts))
    report: RunReport = place.run("second")
    assert report.exit_status == EXIT_DATA
    assert "offset 6 is gone" in report.problems()[0]


def test_a_retry_reads_up_to_what_is_there_of_its_ends() -> None:
    """The first try wrote its ends down; then the log was cut above the position: the retry does not wait for it."""
    place = exported(Policies(), batch_records_max=2)
    place.produce(0, 6)
    place.produce(1, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, "_execute", _dies_in_its_second_batch(place))
        with pytest.raises(RuntimeError):
            place.run("second")
    place.broker.truncate(TOPIC, 0, 8)
    report = place.run("second", try_number=2)
    assert place.positions()[0] == 8, report.problems()
    assert place.run("third").exit_status == EXIT_DONE


def _dies_in_its_second_batch(place: SimpleExport):  # type: ignore[no-untyped-def]
    batches = iter(range(10))
    execute = place._execute

    def wrapped(tasks):  # type: ignore[no-untyped-def]
        if next(batches) == 1:
            raise RuntimeError
        return execute(tasks)

    return wrapped


def test_a_failed_range_above_a_cut_is_planned_afresh() -> None:
    """It was written down to be read again as it was, which the log no longer reaches to."""
    place = exported(Policies())
    place.produce(0, 5)
    place.broker.fail_next("read", KafkaUnavailable("out"))
    place.run("second")
    assert [(each.start, each.end) for each in place.newest.failed] == [(5, 10)]
    place.broker.truncate(TOPIC, 0, 7)
    produce_other(place, 1)
    assert place.run("third").exit_status == EXIT_DONE
    assert place.positions() == {0: 8, 1: 3}
    assert place.newest.failed == ()


def test_a_partition_without_a_leader_holds_up_no_other() -> None:
    """The others are exported, the run is to be tried again; what it has is exported once its leader is back."""
    place = exported(BOTH)
    place.produce(0, 2)
    place.produce(1, 2)
    place.broker.lead(TOPIC, 0, up=False)
    report = place.run("second")
    assert report.exit_status == EXIT_TEMPORARY
    assert report.problems() == ["orders-0: it has no leader at the moment: is a broker down? A retry asks again."]
    assert place.positions() == {0: 5, 1: 5}
    place.broker.lead(TOPIC, 0, up=True)
    assert place.run("third").exit_status == EXIT_DONE
    assert place.positions() == {0: 7, 1: 5}


def test_a_leader_lost_under_an_open_plan_is_for_the_next_try() -> None:
    place = exported(Policies())
    place.produce(0, 2)
    place.produce(1, 2)
    place.die_while_exporting()
    place.broker.lead(TOPIC, 0, up=False)
    assert place.run("second").exit_status == EXIT_TEMPORARY
    assert place.positions() == {0: 5, 1: 5}
    place.broker.lead(TOPIC, 0, up=True)
    assert place.run("third").exit_status == EXIT_DONE
    assert place.positions() == {0: 7, 1: 5}


def test_a_topic_without_a_leader_is_not_seen_yet() -> None:
    """Where it begins is not known: nothing is written."""
    place = SimpleExport()
    place.produce(0, 2)
    place.broker.lead(TOPIC, 1, up=False)
    with pytest.raises(KafkaUnavailable, match="orders-1: it has no leader"):
        place.run("first")
    assert place.store.contents() == {}


def test_what_failed_is_said_though_something_else_ends_the_run() -> None:
    """A bad record stops its partition; then Kafka goes away, and with it the report."""
    place = exported(Policies())
    place.poison(0)
    place.broker.fail_next("offsets", KafkaUnavailable("out"), skip=2)
    place.broker.fail_next("offsets", KafkaUnavailable("out"))
    with pytest.raises(KafkaUnavailable):
        place.run("second")
    assert place.told[-1].startswith("failed: A bad record at topic orders partition 0 offset 5")


@pytest.mark.parametrize("skip", [0, 1])
def test_a_topic_deleted_meanwhile_holds_up_no_other(skip: int) -> None:
    """Kafka names it, and does not know it a moment later: in planning, or after the last read."""
    place = exported(Policies())
    place.produce(0, 2)
    place.broker.fail_next("offsets", TopicMissing("gone"), skip=skip)
    assert place.run("second").exit_status == EXIT_DONE
    assert place.positions() == {0: 7, 1: 3}


def test_rows_are_told_by_partition_and_generation_together() -> None:
    """Under restart no two objects have one key, whatever offsets come again."""
    place = exported(BOTH)
    for _ in range(3):
        place.broker.recreate_topic(TOPIC)
        produce_other(place, 4)
        assert place.run("again").exit_status == EXIT_DONE
    keys = [made.key for entry in place.entries() for done in entry.ranges for made in done.objects]
    assert len(keys) == len(set(keys))
    assert place.newest.topics[TOPIC].generation == 3


def test_whoever_plans_alone_says_what_it_accepts() -> None:
    """Airflow's task `plan` writes the gap, and its log says so."""
    place = exported(RECORD)
    place.produce(0, 5)
    place.broker.set_log_start(TOPIC, 0, 7)
    planned, _ = prepare(place.exporter(), request("second"), hear(place.told))
    assert planned is not None
    assert "accepts: orders-0: offsets [5, 7)" in place.told[-1]
