"""What rests on a broker's metadata being fresh, on leader epochs, and on one bucket that is no older replica."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.adopt.adopt import adopt, look
from kafka_s3.adopt.decide import Basis, Choice
from kafka_s3.errors import EXIT_DATA, EXIT_DONE, ExporterError, Fenced, LogDamaged, LogEmptied, LogMissing
from kafka_s3.log.progress import complete_until_ms
from kafka_s3.settings.run import Policies
from kafka_s3.verify.verify import verify
from tests.export.place import TOPIC, SimpleExport
from tests.log.sleepers import P0, read
from tests.support import HOUR_MS, request

NOW_MS = 100 * HOUR_MS
FORGIVING = Policies(record_data_loss=True, restart_recreated=True)


def older(place: SimpleExport, *, partitions: int | None = None) -> MemoryBroker:
    """A broker that still answers as Kafka was now: cut off from the others from here on."""
    broker = MemoryBroker(batch_records=4)
    topic = place.broker._topics[TOPIC]
    broker.create_topic(TOPIC, len(topic.partitions) if partitions is None else partitions)
    mine = broker._topics[TOPIC]
    mine.topic_id = topic.topic_id
    mine.partitions = [
        replace(each, records=list(each.records), epochs=dict(each.epochs))
        for each in topic.partitions[: len(mine.partitions)]
    ]
    return broker


def exported(**settings: object) -> SimpleExport:
    """Two commits, and what a broker answers that stayed behind after the first."""
    place = SimpleExport(**settings)  # type: ignore[arg-type]
    place.produce(0, 2)
    place.produce(1, 2)
    assert place.run("first", interval=(0, HOUR_MS), now_ms=NOW_MS).exit_status == EXIT_DONE
    return place


def hourly(place: SimpleExport, number: int) -> int:
    """A run of an hour; its exit status."""
    interval = (number * HOUR_MS, (number + 1) * HOUR_MS)
    return place.run(f"hour {number}", interval=interval, now_ms=NOW_MS).exit_status


# A broker that stayed behind.


@pytest.mark.parametrize("policies", [Policies(False, False), FORGIVING], ids=["unset", "allowed"])
def test_an_end_below_the_position_is_never_accepted(policies: Policies) -> None:
    """A broker whose log ends below what is exported shows an older state, or a truncated log: nothing says which. The
    partition is left out and named, whatever the configuration allows, nothing is withdrawn, and the export goes on
    with the first answer that is fresh."""
    place = exported()
    place.settings = replace(place.settings, policies=policies)
    stale, fresh = older(place), place.broker
    place.produce(0, 3)
    assert hourly(place, 1) == EXIT_DONE
    before = place.newest.topics
    place.broker = stale
    report = place.run("stale", interval=(2 * HOUR_MS, 3 * HOUR_MS), now_ms=NOW_MS)
    assert report.exit_status == EXIT_DATA
    assert ["the log ends at 2, below the position 5" in each for each in report.problems()] == [True]
    assert place.positions() == {0: 5, 1: 2}
    assert place.newest.topics[TOPIC].generation == before[TOPIC].generation
    assert complete_until_ms(place.newest, [TOPIC], NOW_MS) == 2 * HOUR_MS
    place.broker = fresh
    assert hourly(place, 3) == EXIT_DONE
    assert complete_until_ms(place.newest, [TOPIC], NOW_MS) == 4 * HOUR_MS
    assert place.offsets_in_bucket(0) == [0, 1, 2, 3, 4]


def test_partitions_that_a_broker_does_not_know_any_more() -> None:
    """It answers as before they were made: they keep their positions, and the topic is complete up to where they are,
    though the run itself has nothing to say against it."""
    place = exported()
    stale = older(place, partitions=1)
    place.produce(0, 1)
    stale._topics[TOPIC].partitions[0] = place.broker._topics[TOPIC].partitions[0]
    place.broker = stale
    assert hourly(place, 1) == EXIT_DONE
    assert place.positions() == {0: 3, 1: 2}
    assert complete_until_ms(place.newest, [TOPIC], NOW_MS) == HOUR_MS


def test_partitions_that_a_broker_does_not_know_yet() -> None:
    """The log does not know them either, so an hour is called complete without them: this is not protected. A later run
    exports them from 0 on, and calls nothing complete before that."""
    place = exported()
    stale, fresh = older(place), place.broker
    fresh.create_topic(TOPIC, 3)
    place.produce(2, 2)
    place.broker = stale
    assert hourly(place, 1) == EXIT_DONE
    assert complete_until_ms(place.newest, [TOPIC], NOW_MS) == 2 * HOUR_MS
    place.broker = fresh
    assert hourly(place, 2) == EXIT_DONE
    assert place.positions()[2] == 2
    assert place.offsets_in_bucket(2) == [0, 1]
    assert complete_until_ms(place.newest, [TOPIC], NOW_MS) == 3 * HOUR_MS


def test_a_log_start_from_before_changes_nothing() -> None:
    """Retention that a broker has not heard of lies below the position."""
    place = exported()
    stale = older(place)
    place.broker.set_log_start(TOPIC, 0, 1)
    place.produce(0, 1)
    assert hourly(place, 1) == EXIT_DONE
    stale.append(TOPIC, 0, *place.broker._topics[TOPIC].partitions[0].records[2:])
    place.broker = stale
    assert hourly(place, 2) == EXIT_DONE
    assert place.positions() == {0: 3, 1: 2}


def _begun_again(policies: Policies) -> tuple[SimpleExport, MemoryBroker]:
    """A topic that was created again, accepted and exported, and a broker that only knows the one before."""
    place = exported()
    stale = older(place)
    place.broker.recreate_topic(TOPIC)
    place.produce(0, 3)
    place.settings = replace(place.settings, policies=FORGIVING)
    assert hourly(place, 1) == EXIT_DONE
    place.settings = replace(place.settings, policies=policies)
    return place, stale


def test_a_topic_id_from_before_is_another_topic() -> None:
    """It is left out and named, and its positions stay."""
    place, stale = _begun_again(Policies(False, False))
    place.broker = stale
    report = place.run("stale", interval=(2 * HOUR_MS, 3 * HOUR_MS), now_ms=NOW_MS)
    assert report.exit_status == EXIT_DATA
    assert "was deleted and created again" in report.problems()[0]
    assert place.positions() == {0: 3, 1: 0}


def test_a_topic_id_from_before_where_restarts_are_allowed() -> None:
    """Under export.on.topic.recreated=restart an older answer is believed: the topic begins again, twice, and its
    records are in the log once more, under names of generations of their own. Nothing is lost or overwritten."""
    place, stale = _begun_again(FORGIVING)
    fresh, place.broker = place.broker, stale
    assert hourly(place, 2) == EXIT_DONE
    place.broker = fresh
    assert hourly(place, 3) == EXIT_DONE
    assert place.newest.topics[TOPIC].generation == 3
    assert place.positions() == {0: 3, 1: 0}
    assert place.offsets_in_bucket(0) == sorted([0, 1] * 2 + [0, 1, 2] * 2)
    assert verify(place.settings, place.log, None, tell=lambda _: None).findings == ()


# Leader epochs.


def test_a_leader_epoch_from_before_proves_nothing() -> None:
    """A leader that does not know the epoch which the log names, as after a cluster was restored from an older state:
    its log is long enough, and nothing shows that the records below the position are the same. It is left out."""
    place = exported()
    stale = older(place)
    place.broker.elect(TOPIC, 0)
    place.produce(0, 1)
    assert hourly(place, 1) == EXIT_DONE
    assert place.newest.topics[TOPIC].epochs[0] == 1
    place.broker = stale
    place.produce(0, 5)
    report = place.run("stale", interval=(2 * HOUR_MS, 3 * HOUR_MS), now_ms=NOW_MS)
    assert report.exit_status == EXIT_DATA
    assert ["what lies there now are other records" in each for each in report.problems()] == [True]
    assert place.positions()[0] == 3


@pytest.mark.parametrize("epochs", [True, False])
def test_a_log_that_was_filled_again(epochs: bool) -> None:
    """It was truncated and has grown past the position since. By leader epochs that is noticed; where the same leader
    did it, or brokers say none, it is not: the export goes on behind other records, and calls itself complete."""
    place = exported()
    state = place.broker._topics[TOPIC].partitions[0]
    place.broker.truncate(TOPIC, 0, 1)
    if not epochs:
        state.epochs = {0: 0}
    place.produce(0, 4)
    assert hourly(place, 1) == (EXIT_DATA if epochs else EXIT_DONE)
    assert place.positions()[0] == (2 if epochs else 5)
    until = complete_until_ms(place.newest, [TOPIC], NOW_MS)
    assert until == (HOUR_MS if epochs else 2 * HOUR_MS)


# A bucket that is a replica of another.


def replica(place: SimpleExport, *lost: str) -> SimpleExport:
    """The connector over a copy of its bucket that lacks some keys."""
    contents = {key: body for key, body in place.store.contents().items() if key not in lost}
    store = MemoryStore()
    for key, body in contents.items():
        store.overwrite(key, body)
    other = SimpleExport(store=store)
    other.broker = place.broker
    return other


def three_commits() -> SimpleExport:
    place = SimpleExport(partitions=1)
    for number in range(3):
        place.produce(0, 2)
        assert place.run(f"run-{number}").exit_status == EXIT_DONE
    return place


@pytest.mark.parametrize("entries", [1, 2])
def test_a_replica_that_lacks_the_newest_entries(entries: int) -> None:
    """Objects and the next plan are there: what the entries held is exported again, under the same names and with the
    same bytes, and is in the replica's log once. The two logs are two exports from there on."""
    place = three_commits()
    keys = [
        *(place.log.layout.log_key(3 - number) for number in range(entries)),
        place.log.layout.plan_key(5 - entries),
    ]
    other = replica(place, *keys)
    assert other.run("over there").exit_status == EXIT_DONE
    assert read(other) == list(range(6))
    assert other.offsets_in_bucket(0) == list(range(6))
    assert verify(other.settings, other.log, None, tell=lambda _: None).findings == ()


def test_a_replica_with_plans_of_entries_that_it_lacks() -> None:
    """Two entries have not arrived, and the plans of both have: the first is finished, the second follows an entry that
    is not there, and nobody goes on over it. What was committed is there once, and verify names the plan."""
    place = three_commits()
    layout = place.log.layout
    other = replica(place, layout.log_key(3), layout.log_key(2))
    assert not verify(other.settings, other.log, None, tell=lambda _: None).ok
    with pytest.raises(Fenced):
        other.run("over there")
    with pytest.raises(LogDamaged, match="follows another entry than the newest one"):
        other.run("once more")
    assert read(other) == list(range(4))
    [found] = verify(other.settings, other.log, None, tell=lambda _: None).findings
    assert (found.where, found.found) == (layout.plan_key(3), "a plan that follows another entry")


def test_two_buckets_know_nothing_of_each_other() -> None:
    """Not protected: a run that goes on in the first bucket while another does in the replica is fenced by nothing.
    Each log holds each record once; together they are two exports of the same records."""
    place = three_commits()
    other = replica(place, place.log.layout.log_key(3))
    place.produce(0, 2)
    for each in (place, other):
        assert each.run("both").exit_status == EXIT_DONE
        assert read(each) == list(range(8))
    assert place.newest != other.newest


def test_entries_of_two_logs_in_one_bucket() -> None:
    """The replication goes on after the replica was written to, and overwrites: the chain breaks, and whoever reads or
    goes on says so."""
    place = three_commits()
    other = replica(place, place.log.layout.log_key(3))
    place.produce(0, 2)
    for each in (place, other):
        each.run("both")
        each.produce(0, 2)
        each.run("once more")
    key = place.log.layout.log_key(3)
    other.store.overwrite(key, place.store.contents()[key])
    with pytest.raises(LogDamaged, match="the chain of checksums breaks"):
        list(other.log.entries())
    assert not verify(other.settings, other.log, None, tell=lambda _: None).ok


def test_a_replica_with_a_hole_in_its_log() -> None:
    """The newest entry has arrived and the one before has not: nobody goes on from it, and verify names it."""
    place = three_commits()
    other = replica(place, place.log.layout.log_key(2))
    with pytest.raises(LogEmptied):
        other.run("over there")
    assert not verify(other.settings, other.log, None, tell=lambda _: None).ok


def test_a_replica_that_lacks_an_object() -> None:
    """The entry that lists it has arrived: verify names it; a run does not look, and goes on behind it."""
    place = three_commits()
    missing = max(place.data())
    other = replica(place, missing)
    found = verify(other.settings, other.log, None, tell=lambda _: None).findings
    assert [each.where for each in found] == [missing]
    assert other.run("over there").exit_status == EXIT_DONE
    assert len(read(other)) == 6


def test_a_replica_that_lacks_the_claim_of_its_log() -> None:
    """Plans and entries without the claim that makes them the connector's are never a first run; adopted, all that the
    replica holds is there once."""
    place = three_commits()
    other = replica(place, place.log.layout.epoch_key(0))
    with pytest.raises(LogMissing):
        other.run("over there")
    adopt(
        other.exporter(),
        look(other.exporter(), other.broker, Choice("g", Basis.AGREED, {P0: 6}), lambda _: None),
        request("adopt"),
    )
    place.produce(0, 1)
    assert other.run("over there").exit_status == EXIT_DONE
    assert other.offsets_in_bucket(0) == list(range(7))


def test_a_replica_without_the_log_at_all() -> None:
    """Data and owners alone have arrived: a run refuses."""
    place = three_commits()
    other = replica(place, *(key for key in place.store.contents() if "/log/" in key or "/plan/" in key))
    with pytest.raises(ExporterError):
        other.run("over there")
    assert other.data() == place.data()
