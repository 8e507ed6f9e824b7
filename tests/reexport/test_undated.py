"""Ranges whose records' age the log does not know: no window loses a record of them in silence."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from kafka_s3.errors import EXIT_DONE, DataError
from kafka_s3.export.run import prepare
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Interval, Plan
from kafka_s3.plan import ends
from kafka_s3.ranges import TopicPartition
from tests.export.place import TOPIC
from tests.reexport.test_copied_objects import scheduled
from tests.reexport.windows import WINDOW, WindowExport
from tests.support import request

TP = TopicPartition(TOPIC, 0)
FUTURE_MS = 10**13
COPIES = "cannot be exported again"
Partition = tuple[TopicPartition, ...]


def while_it_is_asked(place: WindowExport, happens: object) -> None:
    """Something happens in Kafka when it has said where its logs begin, and before it says where the window does."""
    asked = place.broker.offsets_for_time

    def answer(tps: Partition, at_ms: int) -> object:
        if at_ms == WINDOW.start_ms:
            happens()  # type: ignore[operator]
        return asked(tps, at_ms)

    place.broker.offsets_for_time = answer  # type: ignore[method-assign,assignment]


@pytest.mark.parametrize("policy", ["delete", "compact", None])
def test_retention_between_two_questions_hides_no_record(policy: str | None) -> None:
    """The window's first offset is asked for when its records are gone: their range is not taken for too old, but for
    one that Kafka has no longer, and its objects cannot be filtered."""
    place = WindowExport(dated=False)
    if policy is not None:
        place.broker.set_cleanup(TOPIC, policy)
    place.export(110, 120, 130)
    place.export(210, 220)
    while_it_is_asked(place, lambda: place.retain(0, 3))
    with pytest.raises(DataError, match=COPIES):
        place.again()
    assert place.window_entries() == []


def test_a_topic_made_anew_meanwhile_hides_no_record() -> None:
    """The answer is about the new topic's records: the old one's are in the bucket alone."""
    place = WindowExport(dated=False)
    place.broker.set_cleanup(TOPIC, "delete")
    place.export(110, 120)
    place.export(210)
    while_it_is_asked(place, lambda: place.broker.recreate_topic(TOPIC))
    with pytest.raises(DataError, match=COPIES):
        place.again()


def test_a_topic_deleted_between_two_questions_hides_no_record() -> None:
    """The question has no answer then; what is left is in the bucket."""
    place = WindowExport(dated=False)
    place.export(110, 120)
    place.export(210)
    while_it_is_asked(place, lambda: TOPIC in place.broker._topics and place.broker.delete_topic(TOPIC))
    with pytest.raises(DataError, match=COPIES):
        place.again()


def test_an_unclean_election_meanwhile_hides_no_record() -> None:
    """The log parts below what was exported: the answer is about other records."""
    place = WindowExport(dated=False)
    place.broker.set_cleanup(TOPIC, "delete")
    place.export(110, 120)
    place.export(210)

    def cut() -> None:
        place.broker.truncate(TOPIC, 0, 0)
        place.add(10, 20, 30, 40)

    while_it_is_asked(place, cut)
    with pytest.raises(DataError, match=COPIES):
        place.again()


@pytest.mark.parametrize("policies", [("compact",), ("compact", "delete"), ()])
@pytest.mark.parametrize("gone", [0, 1, 2])
def test_compaction_in_front_of_the_window_hides_no_record(gone: int, policies: tuple[str, ...]) -> None:
    """Kafka's first offset of the window lies behind a record of the window that is gone. Where a topic may be
    compacted (or nobody may know), ranges without timestamps are read from their start, and the hole shows."""
    place = WindowExport(dated=False)
    if policies:
        place.broker.set_cleanup(TOPIC, *policies)
    place.export(90, 110, 120, 130)
    place.broker.compact(TOPIC, 0, gone)
    with pytest.raises(DataError, match=COPIES):
        place.again()
    assert place.commits() == []


def test_compaction_of_a_whole_range_hides_no_record() -> None:
    """A late record in a range of older ones: with it, nothing is left of the window in front of Kafka's answer."""
    place = WindowExport(dated=False)
    place.broker.set_cleanup(TOPIC, "compact")
    place.export(90, 110)
    place.export(150)
    place.broker.compact(TOPIC, 0, 1)
    with pytest.raises(DataError, match=COPIES):
        place.again()


def test_a_compacted_topics_window_is_whole_if_nothing_is_gone() -> None:
    """Read from the start of its ranges, which the plan says; holes that were there when it was exported are none."""
    place = WindowExport(dated=False)
    place.broker.set_cleanup(TOPIC, "compact")
    place.broker.append_holes(TOPIC, 0, 2)
    place.export(90, 110, 120)
    assert place.again().exit_status == EXIT_DONE
    assert place.rows() == place.expected() != []
    planned = place.window_log().plan(0)
    assert planned is not None
    assert [(each.start, each.end) for each in planned.plan.ranges] == [(0, 5)]
    assert any("may be compacted: they are read from their start" in note for note in planned.plan.notes)


def test_hours_that_are_surely_older_are_not_read_whole() -> None:
    """Their plans ended in front of their hours' ends: that holds for a compacted topic, too."""
    place = scheduled(0, 1, 2)
    place.broker.set_cleanup(TOPIC, "compact")
    place.broker.compact(TOPIC, 0, 1)
    later = Interval(200, 300)
    assert place.again("later", later).exit_status == EXIT_DONE
    assert place.rows(later) == place.expected(later) != []
    planned = place.window_log(later).plan(0)
    assert planned is not None
    assert [(each.start, each.end) for each in planned.plan.ranges] == [(4, 6)]


# What a plan says of the age of its records.


def bent(die_first: bool) -> WindowExport:
    """One record from the future: the run of the hour before the window reads up to the end, window's records included.
    With `die_first` its first plan is voided, and the one that is committed goes by the ends of that."""
    place = WindowExport(dated=False)
    place.run("first sight", interval=(-100, 0), now_ms=150)
    place.add(20, FUTURE_MS, 150)
    if die_first:
        prepare(place.exporter(), request("hour 0", interval=(0, 100), now_ms=150))
        place.settings = replace(place.settings, configuration_sha256="another")
    place.run("hour 0", interval=(0, 100), now_ms=150, try_number=2)
    place.add(160, 310)
    place.run("hour 2", interval=(200, 300), now_ms=10**6)
    place.export()
    place.retain(0, 3)
    return place


@pytest.mark.parametrize("die_first", [False, True])
def test_ends_that_were_bent_stay_so_for_their_run(die_first: bool) -> None:
    """By a retry, too, which looks for no ends of its own: its records may be of the window."""
    place = bent(die_first)
    with pytest.raises(DataError, match=COPIES):
        place.again()


@pytest.mark.parametrize("words", ["x", "", "orders-1: x"])
@pytest.mark.parametrize("die_first", [False, True])
def test_reworded_notes_change_no_window(monkeypatch: pytest.MonkeyPatch, die_first: bool, words: str) -> None:
    """What a plan's notes say, or that they say nothing, or seem to speak of another partition: the records that may be
    in the window are not skipped, and an hour that was not bent still counts as old."""
    monkeypatch.setattr(ends, "noted", lambda _: words)
    place = bent(die_first)
    for seq in range(1, place.newest.seq + 1):
        reword(place, seq, words)
    with pytest.raises(DataError, match=COPIES):
        place.again()
    calm = scheduled(0, 1, 2)
    for seq in range(1, calm.newest.seq + 1):
        reword(calm, seq, f"{TOPIC}-0: {words}")
    calm.retain(0, 2)
    assert calm.again().exit_status == EXIT_DONE
    assert calm.rows() == calm.expected() != []


def reword(place: WindowExport, seq: int, words: str) -> None:
    """Other notes in a plan that is in the bucket already."""
    planned = place.log.plan(seq)
    if planned is not None:
        key = place.log.layout.plan_key(seq)
        place.store.overwrite(key, encode(msgspec.structs.replace(planned.plan, notes=(words,))))


@pytest.mark.parametrize("die_first", [False, True])
def test_plans_of_older_versions_are_read_by_their_notes(die_first: bool) -> None:
    """They have no more than those; the notes of a run's first plan count for all of its plans."""
    place = bent(die_first)
    for seq in range(1, place.newest.seq + 1):
        make_older(place, seq)
    with pytest.raises(DataError, match=COPIES):
        place.again()
    calm = scheduled(0, 1, 2)
    for seq in range(1, calm.newest.seq + 1):
        make_older(calm, seq)
    calm.retain(0, 2)
    assert calm.again().exit_status == EXIT_DONE
    assert calm.rows() == calm.expected() != []


def make_older(place: WindowExport, seq: int) -> None:
    """A plan as versions wrote it that said by notes alone where a rule was bent, and that once in a run."""
    key = place.log.layout.plan_key(seq)
    body = place.store.contents().get(key)
    if body is not None:
        plan, before = decode(Plan, key, body), place.log.plan(seq - 1)
        is_later = before is not None and before.plan.run.run_id == plan.run.run_id
        older = msgspec.structs.replace(plan, bent=None, ends={}, notes=() if is_later else plan.notes)
        place.store.overwrite(key, encode(older))


def test_the_hours_of_a_run_in_batches_are_known_to_be_old() -> None:
    """Every batch of a run ends where its first plan said, and in front of the hour's end."""
    place = scheduled(0, 1, 2, flush_size=1, batch_records_max=1)
    place.retain(0, 2)
    assert place.again().exit_status == EXIT_DONE
    assert place.rows() == place.expected() != []


def test_an_end_below_another_leader_s_records_says_nothing() -> None:
    """A later batch goes by the end that the first one wrote down. An unclean election above the position changed what
    lies in front of it: newer records, which are not taken for old."""
    place = WindowExport(dated=False, flush_size=1, batch_records_max=1)
    place.run("first sight", interval=(-100, 0), now_ms=150)
    place.add(10, 20, 30)

    def cut_off() -> None:
        place.while_reading = lambda: None
        place.broker.truncate(TOPIC, 0, 2)
        place.add(150, 210)

    place.while_reading = cut_off
    place.run("hour 0", interval=(0, 100), now_ms=150)
    place.run("hour 1", interval=(100, 200), now_ms=250)
    place.export(310)
    assert place.expected() != []
    place.retain(0, 5)
    with pytest.raises(DataError, match=COPIES):
        place.again()
