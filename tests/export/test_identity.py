"""Which topic it is, where brokers have no topic ids; and what Kafka lost that a dead run had written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_s3.bucket.orphans import Fate
from kafka_s3.errors import EXIT_DATA, EXIT_DONE
from kafka_s3.gc.gc import collect, delete
from kafka_s3.ports import NO_TOPIC_ID
from kafka_s3.ranges import TopicPartition
from kafka_s3.rewind.rewind import accept_by_hand, look, rewind
from kafka_s3.settings.run import Policies
from kafka_s3.verify.verify import verify
from tests.export.place import TOPIC, DiedError, SimpleExport, die
from tests.support import request

P0 = TopicPartition(TOPIC, 0)


def without_ids(place: SimpleExport, cluster_id: str = "memory", topic_id: str = NO_TOPIC_ID) -> None:
    place.broker._topics[TOPIC].topic_id = topic_id
    place.broker._cluster_id = cluster_id


def exported(records: int = 3) -> SimpleExport:
    place = SimpleExport(partitions=1)
    without_ids(place)
    place.produce(0, records)
    assert place.run("first").exit_status == EXIT_DONE
    return place


def test_a_topic_without_id_on_another_cluster_is_left_out() -> None:
    """Another cluster under the same bootstrap.servers, a topic of the same name on it, grown past the position: it is
    not exported from there on in silence. Accepted, it begins anew."""
    place = exported()
    place.broker.recreate_topic(TOPIC)
    without_ids(place, "another cluster")
    place.produce(0, 5)
    report = place.run("second")
    assert report.exit_status == EXIT_DATA
    assert "@memory before" in report.problems()[0]
    assert "@another cluster now" in report.problems()[0]
    assert "correct bootstrap.servers" in report.problems()[0]
    assert place.positions() == {0: 3}
    accept_by_hand(place.exporter(), [TOPIC], request("accept"), lambda _: None)
    assert place.run("third").exit_status == EXIT_DONE
    assert place.positions() == {0: 5}
    assert verify(place.settings, place.log, None, tell=lambda _: None).findings == ()


def test_topics_without_ids_go_on_where_they_are() -> None:
    """On the same cluster nothing is in the way."""
    place = exported()
    place.produce(0, 2)
    assert place.run("second").exit_status == EXIT_DONE
    assert place.positions() == {0: 5}


def test_a_broker_that_gets_topic_ids_is_the_same() -> None:
    """An upgrade gives every topic an id: the export goes on, and knows the topic by it from then on."""
    place = exported()
    without_ids(place, topic_id="an id of its own")
    place.produce(0, 2)
    assert place.run("second").exit_status == EXIT_DONE
    assert place.newest.topics[TOPIC].topic_id == "an id of its own"
    assert verify(place.settings, place.log, None, tell=lambda _: None).findings == ()
    without_ids(place, topic_id="another")
    assert place.run("third").exit_status == EXIT_DATA


def test_a_topic_of_an_id_is_that_on_every_cluster() -> None:
    """Ids are never given twice: a cluster that calls itself otherwise has the same topic still."""
    place = SimpleExport(partitions=1)
    place.produce(0, 2)
    place.run("first")
    place.broker._cluster_id = "renamed"
    place.produce(0, 2)
    assert place.run("second").exit_status == EXIT_DONE
    assert place.positions() == {0: 4}


# What Kafka lost, and a run that died had written.


def died_with_objects(records: int = 3) -> SimpleExport:
    place = SimpleExport(partitions=1)
    place.settings = replace(place.settings, policies=Policies(record_data_loss=True, restart_recreated=True))
    place.run("first")
    place.produce(0, records)
    place.while_reading = die
    with pytest.raises(DiedError):
        place.run("dead")
    place.while_reading = lambda: None
    assert place.data()
    return place


@pytest.mark.parametrize("how", ["retention", "created again"])
def test_gc_keeps_the_last_copy_of_what_is_lost(how: str) -> None:
    """A run dies after its objects are written, and Kafka loses the records: a gap, or a restart, says that they are
    not in the export, and the objects are all that is left of them. They are deleted only if somebody asks for that."""
    place = died_with_objects()
    written = set(place.data())
    if how == "retention":
        place.broker.set_log_start(TOPIC, 0, 3)
    else:
        place.broker.recreate_topic(TOPIC)
    place.produce(0, 2)
    assert place.run("next").exit_status == EXIT_DONE
    garbage = collect(place.settings, place.log, parallel=1)
    assert garbage is not None
    kept = {orphan.key for orphan in garbage.waiting if orphan.fate is Fate.LOST}
    assert kept == written - {key for entry in place.entries() for done in entry.ranges for key in _keys(done)}
    assert kept
    assert not garbage.objects
    delete(place.log, garbage, parallel=1)
    assert kept <= set(place.data())
    orphans = verify(place.settings, place.log, None, tell=lambda _: None).orphans
    assert orphans is not None
    assert {orphan.key for orphan in orphans if not orphan.deletable} == kept
    asked = collect(place.settings, place.log, with_lost=True, parallel=1)
    assert asked is not None
    delete(place.log, asked, parallel=1)
    assert not kept & set(place.data())


def _keys(done: object) -> list[str]:
    return [made.key for made in done.objects]  # type: ignore[attr-defined]


# What a rewind withdrew.


def test_gc_deletes_what_was_withdrawn_if_asked() -> None:
    """A rewind leaves two copies in a plain listing: the withdrawn one goes when it is asked for, once its offsets are
    exported again, and nothing that is live; verify finds nothing wrong afterwards."""
    place = SimpleExport(partitions=1)
    place.produce(0, 6)
    place.run("first")
    before = set(place.data())
    rewind(place.exporter(), look(place.exporter(), {P0: 0}), request("back"))
    waiting = collect(place.settings, place.log, with_withdrawn=True, parallel=1)
    assert waiting is not None
    assert waiting.objects == (), "they are the only copy until the next run"
    place.run("again")
    careful = collect(place.settings, place.log, parallel=1)
    assert careful is not None
    assert careful.objects == ()
    garbage = collect(place.settings, place.log, with_withdrawn=True, parallel=1)
    assert garbage is not None
    assert {orphan.key for orphan in garbage.objects} == before
    assert {orphan.fate for orphan in garbage.objects} == {Fate.WITHDRAWN}
    delete(place.log, garbage, parallel=1)
    assert place.offsets_in_bucket(0) == list(range(6))
    verified = verify(place.settings, place.log, None, tell=lambda _: None)
    assert (verified.findings, verified.orphans) == ((), ())


@pytest.mark.parametrize("how", ["retention", "created again"])
def test_what_was_withdrawn_and_is_not_exported_again_stays(how: str) -> None:
    """Kafka lost the records between the rewind and the next run: the withdrawn objects are the last copy."""
    place = SimpleExport(partitions=1)
    place.settings = replace(place.settings, policies=Policies(record_data_loss=True, restart_recreated=True))
    place.produce(0, 6)
    place.run("first")
    before = set(place.data())
    rewind(place.exporter(), look(place.exporter(), {P0: 0}), request("back"))
    if how == "retention":
        place.broker.set_log_start(TOPIC, 0, 6)
    else:
        place.broker.recreate_topic(TOPIC)
    place.produce(0, 9)
    assert place.run("next").exit_status == EXIT_DONE
    garbage = collect(place.settings, place.log, with_withdrawn=True, parallel=1)
    assert garbage is not None
    assert not before & {orphan.key for orphan in garbage.objects}
