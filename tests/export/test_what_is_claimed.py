"""What is said of the export follows from the log: how far a partition is exported, and what a run has still to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_s3.errors import (
    EXIT_DATA,
    EXIT_DONE,
    EXIT_TEMPORARY,
    DataLoss,
    ExporterError,
    KafkaUnavailable,
    TopicMissing,
)
from kafka_s3.export.run import prepare, run
from kafka_s3.log.entries import Entry, Interval, Kind, TopicState
from kafka_s3.log.progress import complete_until_ms
from kafka_s3.ranges import TopicPartition
from kafka_s3.rewind.rewind import accept_by_hand, look, rewind
from kafka_s3.settings.run import Policies
from kafka_s3.settings.schedule import ScheduleSettings
from tests.export.place import TOPIC, SimpleExport
from tests.support import HOUR_MS, hear, request

ZERO, ONE = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


def hour(number: int) -> tuple[int, int]:
    return number * HOUR_MS, (number + 1) * HOUR_MS


def exported(place: SimpleExport, number: int, **what: object) -> int:
    """A run of an hour, a minute after it is over; its exit status."""
    what = {"run_id": f"hour-{number}", "now_ms": hour(number)[1] + 60_000, **what}
    return place.run(interval=hour(number), **what).exit_status  # type: ignore[arg-type]


def until(place: SimpleExport, now_ms: int = 100 * HOUR_MS) -> int | None:
    return complete_until_ms(place.newest, [TOPIC], now_ms)


@pytest.fixture
def place() -> SimpleExport:
    """Two partitions that are exported up to hour 1, and have three records each of the hour from there on."""
    place = SimpleExport()
    assert exported(place, 0) == EXIT_DONE
    for partition in (0, 1):
        place.produce(partition, 3, at_ms=hour(1)[0] + 5)
    return place


# A partition that was left out when the run's ends were made.


@pytest.mark.parametrize("apart", [False, True], ids=["a retry", "the driver after the task plan"])
def test_what_was_left_out_is_planned_when_it_is_back(place: SimpleExport, apart: bool) -> None:
    """Without a leader it was in none of the run's ends: these are made for it as soon as it has one."""
    place.broker.lead(TOPIC, 1, up=False)
    if apart:
        asked = request("hour-1", interval=hour(1), now_ms=2 * HOUR_MS)
        planned, world = prepare(place.exporter(), asked)
        assert planned is not None
        assert [left.tp for left in world.excluded] == [ONE]
    else:
        assert exported(place, 1) == EXIT_TEMPORARY
        assert (place.positions(), until(place)) == ({0: 3, 1: 0}, HOUR_MS)
    place.broker.lead(TOPIC, 1, up=True)
    assert exported(place, 1, try_number=1 if apart else 2, planned_apart=apart) == EXIT_DONE
    assert (place.positions(), until(place)) == ({0: 3, 1: 3}, 2 * HOUR_MS)


def test_a_loss_that_was_accepted_by_hand_is_exported_around(place: SimpleExport) -> None:
    """The run failed for it, somebody accepts it and clears the run: the rest of the partition is exported."""
    place.broker.set_log_start(TOPIC, 1, 1)
    assert exported(place, 1) == EXIT_DATA
    assert until(place) == HOUR_MS
    accept_by_hand(place.exporter(), [str(ONE)], request("accept"), hear(place.told))
    assert exported(place, 1, try_number=2) == EXIT_DONE
    assert (place.positions(), until(place)) == ({0: 3, 1: 3}, 2 * HOUR_MS)


def test_ends_that_a_run_wrote_down_keep_their_notes(place: SimpleExport) -> None:
    """A later plan of the run reads what an earlier one bent, so it says so too; ends that are made anew have their
    own. Whoever goes by that needs no words for it."""
    place.produce(0, 1, at_ms=10**15)
    place.produce(1, 1, at_ms=10**15)
    place.settings = replace(place.settings, limits=replace(place.settings.limits, batch_records_max=4))
    place.broker.lead(TOPIC, 1, up=False)
    place.before_execute = lambda: place.broker.lead(TOPIC, 1, up=True)
    assert exported(place, 1) == EXIT_DONE
    plans = [
        plan for seq in range(20) if (plan := place.log.plan(seq)) is not None and plan.plan.run.run_id == "hour-1"
    ]
    assert [each.plan.bent for each in plans] == [{TOPIC: (0,)}, {TOPIC: (0, 1)}]
    assert plans[0].plan.notes[0] in plans[1].plan.notes
    assert plans[1].plan.may_pass_its_end(ZERO)


def test_an_end_of_a_log_that_was_cut_is_made_anew(place: SimpleExport) -> None:
    """An unclean election took what the run was to read: it ends where the log does, and that is complete."""
    place.settings = replace(place.settings, limits=replace(place.settings.limits, batch_records_max=2))
    place.while_reading = lambda: place.broker.truncate(TOPIC, 0, 2)
    exported(place, 1)
    assert place.positions() == {0: 2, 1: 3}
    place.while_reading = lambda: None
    assert exported(place, 1, try_number=2) == EXIT_DONE
    assert until(place) == 2 * HOUR_MS


def test_another_leader_has_its_ends_made_anew(place: SimpleExport) -> None:
    """After an unclean election above the position other records stand in front of the end that was written down, and
    behind it: none that is of the hour is left when that is said to be complete."""
    place.settings = replace(place.settings, limits=replace(place.settings.limits, batch_records_max=2))

    def elect() -> None:
        place.while_reading = lambda: None
        place.broker.truncate(TOPIC, 0, 1)
        place.produce(0, 6, at_ms=hour(1)[0] + 5)

    place.while_reading = elect
    assert exported(place, 1) == EXIT_DONE
    assert (place.positions(), until(place)) == ({0: 7, 1: 3}, 2 * HOUR_MS)


# What was reached, and is no longer.


def test_an_hour_that_was_rewound_is_exported_again(place: SimpleExport) -> None:
    """Nothing is complete of the partition from the rewind on, and a run of the hour that is cleared exports it."""
    assert exported(place, 1) == EXIT_DONE
    assert until(place) == 2 * HOUR_MS
    found = look(place.exporter(), {ZERO: 0})
    rewind(place.exporter(), found, request("rewind"))
    assert until(place) is None
    assert exported(place, 1, try_number=2) == EXIT_DONE
    assert (place.positions(), until(place)) == ({0: 3, 1: 3}, 2 * HOUR_MS)
    assert [done.tp for done in place.newest.ranges] == [ZERO]
    assert place.newest.interval == Interval(*hour(1))


def test_a_topic_that_begins_again_has_reached_nothing(place: SimpleExport) -> None:
    """Created again, or cut by an unclean election: what lies there now was never exported."""
    place.settings = replace(place.settings, policies=Policies(record_data_loss=True, restart_recreated=True))
    assert exported(place, 1) == EXIT_DONE
    place.broker.truncate(TOPIC, 0, 1)
    place.produce(0, 3, at_ms=hour(1)[0] + 9)
    place.run("now")
    assert (until(place), place.positions()) == (None, {0: 4, 1: 3})
    assert exported(place, 1, try_number=2) == EXIT_DONE
    assert until(place) == 2 * HOUR_MS
    place.broker.recreate_topic(TOPIC)
    place.produce(1, 2, at_ms=hour(1)[0] + 9)
    assert exported(place, 1, try_number=3) == EXIT_DONE
    assert (place.positions(), until(place)) == ({0: 0, 1: 2}, 2 * HOUR_MS)


def test_a_partition_that_appears_later_has_reached_nothing(place: SimpleExport) -> None:
    """Its topic is complete once it is exported too, by a run of the same hour."""
    assert exported(place, 1) == EXIT_DONE
    place.broker.create_topic(TOPIC, 3)
    place.produce(2, 2, at_ms=hour(1)[0] + 9)
    assert exported(place, 1, run_id="cleared") == EXIT_DONE
    assert (place.positions(), until(place)) == ({0: 3, 1: 3, 2: 2}, 2 * HOUR_MS)


def test_a_topic_that_nobody_could_look_at_is_not_passed_over(place: SimpleExport) -> None:
    """It is in no entry yet, since it has no leader: so nothing of the connector counts as complete."""
    place.broker.create_topic("late", 1)
    place.settings = replace(place.settings, topics=(), topics_regex=".*")
    place.broker.lead("late", 0, up=False)
    assert exported(place, 1) == EXIT_TEMPORARY
    assert (place.positions(), until(place)) == ({0: 3, 1: 3}, HOUR_MS)
    place.broker.lead("late", 0, up=True)
    assert exported(place, 1, try_number=2) == EXIT_DONE
    assert complete_until_ms(place.newest, [TOPIC, "late"], 10 * HOUR_MS) == 2 * HOUR_MS


@pytest.mark.parametrize("policies", [Policies(), Policies(record_data_loss=True)], ids=["fail", "record"])
def test_what_kafka_loses_while_a_run_plans(place: SimpleExport, policies: Policies) -> None:
    """Retention takes the next record between two of planning's questions: its partition is left out, or the loss is
    written down, as the user decided. The other one is exported."""
    place.settings = replace(place.settings, policies=policies)
    place.run("now")
    place.produce(0, 2, at_ms=hour(0)[0])  # late, so that their first one is looked at
    place.produce(1, 2, at_ms=hour(2)[0] + 5)
    asked = place.broker.first_timestamp

    def first_timestamp(tp: TopicPartition, start: int, end: int) -> int | None:
        place.broker.set_log_start(TOPIC, 0, 4)
        return asked(tp, start, end)

    place.broker.first_timestamp = first_timestamp  # type: ignore[method-assign]
    status = exported(place, 2)
    if policies.record_data_loss:
        assert (status, place.positions(), until(place)) == (EXIT_DONE, {0: 5, 1: 5}, 3 * HOUR_MS)
        assert [(gap.tp, gap.start, gap.end) for entry in place.entries() for gap in entry.gaps] == [(ZERO, 3, 4)]
    else:
        assert (status, place.positions(), until(place)) == (EXIT_DATA, {0: 3, 1: 5}, HOUR_MS)


QUESTIONS = ("offsets", "diverged", "offsets_for_time", "first_timestamp")
GONE = [*((each, error) for each in QUESTIONS for error in (KafkaUnavailable, TopicMissing)), (QUESTIONS[-1], DataLoss)]


@pytest.mark.parametrize(("question", "error"), GONE)
def test_what_one_question_meets_a_second_look_sees(
    place: SimpleExport, question: str, error: type[ExporterError]
) -> None:
    """A leader that goes, or a topic, between any two questions: a second look leaves out what is gone, if it is, and
    the run goes on with the rest."""
    place.run("now")
    place.produce(0, 2, at_ms=hour(0)[0])
    place.produce(1, 2, at_ms=hour(2)[0] + 5)
    place.broker.elect(TOPIC, 0)
    place.broker.fail_next(question, error("gone"))
    assert exported(place, 2) == EXIT_DONE
    assert (place.positions(), until(place)) == ({0: 5, 1: 5}, 3 * HOUR_MS)
    assert not place.broker._failures[question]


# What a run still has to do.


def test_late_records_are_not_taken_under_an_old_name(place: SimpleExport) -> None:
    """A run of an hour that a partition has reached plans nothing of it, whatever came since; of the others it does."""
    assert exported(place, 1) == EXIT_DONE
    place.produce(0, 2, at_ms=hour(1)[0] + 9)  # late: it belongs to the next hour
    place.broker.create_topic(TOPIC, 3)
    place.produce(2, 2, at_ms=hour(0)[0] + 9)
    assert exported(place, 0, run_id="backfill", now_ms=3 * HOUR_MS) == EXIT_DONE
    assert (place.positions(), until(place)) == ({0: 3, 1: 3, 2: 2}, HOUR_MS)
    assert exported(place, 2) == EXIT_DONE
    assert (place.positions(), until(place)) == ({0: 5, 1: 3, 2: 2}, 3 * HOUR_MS)


def test_each_partition_makes_up_for_its_own_hours(place: SimpleExport) -> None:
    """One that had no leader for three hours is exported hour by hour; the others are left where they are."""
    place.settings = replace(place.settings, schedule=ScheduleSettings(HOUR_MS))
    place.broker.lead(TOPIC, 1, up=False)
    for number in (2, 3, 4):
        place.broker.lead(TOPIC, 1, up=True)
        for partition in (0, 1):
            place.produce(partition, 1, at_ms=hour(number)[0] + 5)
        place.broker.lead(TOPIC, 1, up=False)
        assert exported(place, number) == EXIT_TEMPORARY
    before = place.newest.seq
    place.broker.lead(TOPIC, 1, up=True)
    place.produce(0, 1, at_ms=hour(4)[0] + 9)
    place.produce(0, 1, at_ms=hour(5)[0] + 9)
    assert exported(place, 5) == EXIT_DONE
    made = [entry for entry in place.entries() if entry.seq > before]
    hours = [(entry.interval, [done.partition for done in entry.ranges]) for entry in made]
    assert hours == [
        (Interval(*hour(1)), [1]),
        (Interval(*hour(2)), [1]),
        (Interval(*hour(3)), [1]),
        (Interval(*hour(4)), [1]),
        (Interval(*hour(5)), [0]),
    ]
    assert until(place) == 6 * HOUR_MS


def test_hours_that_are_merged_keep_what_was_reached(place: SimpleExport) -> None:
    """Boundaries beyond the limit are one batch; a partition that has come further is written under its own time in
    it, so that nothing is added to the paths of hours that are complete."""
    limits = replace(place.settings.limits, catchup_batches_max=2)
    place.settings = replace(place.settings, schedule=ScheduleSettings(HOUR_MS), limits=limits)
    place.broker.lead(TOPIC, 1, up=False)
    assert exported(place, 1) == EXIT_TEMPORARY
    place.broker.lead(TOPIC, 1, up=True)
    for number in (2, 3, 4):
        place.produce(0, 1, at_ms=hour(number)[0] + 5)
    assert exported(place, 4) == EXIT_DONE
    merged = place.plan(place.newest.seq - 1)
    assert merged.interval == Interval(HOUR_MS, hour(3)[1])
    assert {each.partition: each.interval for each in merged.ranges} == {
        0: Interval(2 * HOUR_MS, hour(3)[1]),
        1: None,
    }
    assert until(place) == 5 * HOUR_MS


def test_what_a_limit_cuts_has_not_come_to_its_end(place: SimpleExport) -> None:
    """Batch by batch, partition by partition: nothing is complete before its last batch, also if a driver dies."""
    limits = replace(place.settings.limits, batch_records_max=4)
    place.settings = replace(place.settings, limits=limits)
    place.produce(0, 4, at_ms=hour(1)[0] + 6)
    assert exported(place, 1) == EXIT_DONE
    said = [complete_until_ms(entry, [TOPIC], 10 * HOUR_MS) for entry in place.entries()]
    assert said == [None, HOUR_MS, HOUR_MS, HOUR_MS, 2 * HOUR_MS]


def test_what_fails_has_not_come_to_its_end(place: SimpleExport) -> None:
    """The other partition has; the topic is as complete as it was."""
    place.poison(0)
    assert exported(place, 1) == EXIT_DATA
    assert place.newest.topics[TOPIC].reached == {0: HOUR_MS, 1: 2 * HOUR_MS}
    assert until(place) == HOUR_MS


def test_a_void_reaches_nothing(place: SimpleExport) -> None:
    """What was planned and not exported is not complete."""
    place.die_while_exporting("dead", interval=hour(1), now_ms=2 * HOUR_MS)
    place.settings = replace(place.settings, configuration_sha256="another")
    prepare_only = request("next", interval=hour(0), now_ms=2 * HOUR_MS)
    run(place.exporter(), prepare_only, lambda tasks: [], hear(place.told))
    assert place.newest.kind is Kind.VOID
    assert until(place) == HOUR_MS


def test_an_interval_that_is_not_over_is_not_complete(place: SimpleExport) -> None:
    """Whether there is something in it or not; nor is it for a run without an interval."""
    exported(place, 1, now_ms=2 * HOUR_MS - 1)
    assert (place.positions(), until(place)) == ({0: 3, 1: 3}, HOUR_MS)
    exported(place, 1, run_id="again", now_ms=2 * HOUR_MS - 1)
    assert until(place) == HOUR_MS
    place.run("now")
    assert until(place) == HOUR_MS
    exported(place, 1, run_id="over")
    assert until(place) == 2 * HOUR_MS


def test_an_hour_without_records_is_written_down_once(place: SimpleExport) -> None:
    """A second run of it writes nothing; neither does one of an older hour."""
    assert exported(place, 1) == EXIT_DONE
    assert exported(place, 2) == EXIT_DONE
    empty = place.newest
    assert (empty.kind, empty.interval, until(place)) == (Kind.CHECKPOINT, Interval(*hour(2)), 3 * HOUR_MS)
    for again in (2, 1, 0):
        assert exported(place, again, run_id="again", now_ms=4 * HOUR_MS) == EXIT_DONE
    assert place.newest == empty


def test_after_an_empty_hour_nothing_is_forgotten(place: SimpleExport) -> None:
    """How large records are is known, so that a batch keeps to its bytes; the store is not tried out once more."""
    assert exported(place, 1) == EXIT_DONE
    assert exported(place, 2) == EXIT_DONE
    size = place.newest.bytes_per_record
    assert size is not None
    limits = replace(place.settings.limits, batch_bytes_max=int(2 * size) + 1)
    place.settings = replace(place.settings, limits=limits)
    place.produce(0, 5, at_ms=hour(3)[0] + 5)
    place.store.requests.clear()
    assert exported(place, 3) == EXIT_DONE
    assert [len(entry.ranges) and entry.ranges[0].records for entry in place.entries()[-3:]] == [2, 2, 1]
    assert "CreateMultipartUpload" not in place.operations("_kafka_s3")


def test_entries_of_an_older_release_go_on_as_they_did(place: SimpleExport) -> None:
    """They do not say what is reached: nothing is claimed, an hour that was over is left alone, and the next commit
    says it for what it brings to its end."""
    assert exported(place, 1) == EXIT_DONE
    forget(place)
    assert until(place) is None
    place.produce(0, 2, at_ms=hour(1)[0] + 9)
    before = place.newest
    assert exported(place, 1, run_id="cleared", now_ms=3 * HOUR_MS) == EXIT_DONE
    assert place.newest == before
    assert exported(place, 2) == EXIT_DONE
    assert (place.positions(), until(place)) == ({0: 5, 1: 3}, 3 * HOUR_MS)


def forget(place: SimpleExport) -> None:
    """The newest entry is one of a release before."""
    head = place.log.newest()
    assert head is not None
    topics = {name: replace_state(state) for name, state in head.entry.topics.items()}
    fields = {name: getattr(head.entry, name) for name in head.entry.__struct_fields__}
    old = {**fields, "topics": topics, "seq": head.entry.seq + 1, "previous_sha256": head.sha256, "ranges": ()}
    place.log.put_entry(Entry(**{**old, "kind": Kind.CHECKPOINT, "plan_sha256": None, "interval": None}))


def replace_state(state: TopicState) -> TopicState:
    return TopicState(topic_id=state.topic_id, generation=state.generation, owned=True, positions=state.positions)
