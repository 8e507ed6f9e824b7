"""Whole runs over the ports in memory: what Kafka has lost, deleted or made anew since the last one."""

from __future__ import annotations

import pytest

from kafka_s3.errors import (
    EXIT_CONFIGURATION,
    EXIT_DATA,
    EXIT_DONE,
    EXIT_TEMPORARY,
    ConfigurationError,
    KafkaUnavailable,
    TopicMissing,
)
from kafka_s3.log.entries import Kind
from kafka_s3.rewind.rewind import accept_by_hand
from tests.export.place import TOPIC, SimpleExport
from tests.support import hear, make_settings, request

# The world changed.


def _two_runs(place: SimpleExport) -> None:
    place.produce(0, 5)
    place.produce(1, 5)
    assert place.run("before").exit_status == EXIT_DONE
    place.produce(1, 3)


def test_lost_offsets_leave_their_partition_out() -> None:
    """Retention overtook the export: that partition stays, the others go on, the run ends with 65 and says so."""
    place = SimpleExport()
    _two_runs(place)
    place.broker.set_log_start(TOPIC, 0, 8)
    report = place.run("after")
    assert report.exit_status == EXIT_DATA
    assert any("orders-0: offsets [5, 8) are gone from Kafka" in problem for problem in report.problems())
    assert place.positions() == {0: 5, 1: 8}


def test_a_log_start_above_a_new_partition_is_data_loss() -> None:
    """A partition that appeared later starts at 0; a log start above is loss, not its beginning."""
    place = SimpleExport(partitions=1)
    place.run("before")
    place.broker.create_topic(TOPIC, 2)
    place.broker.set_log_start(TOPIC, 1, 3)
    report = place.run("after")
    assert report.exit_status == EXIT_DATA
    assert "orders-1: offsets [0, 3) are gone" in report.problems()[0]


def test_a_truncated_log_leaves_its_partition_out() -> None:
    """The log ends below the position."""
    place = SimpleExport()
    _two_runs(place)
    place.broker.truncate(TOPIC, 0, 3)
    report = place.run("after")
    assert report.exit_status == EXIT_DATA
    assert "orders-0: the log was truncated at 3, below the position 5" in report.problems()[0]
    assert place.positions() == {0: 5, 1: 8}


def test_offsets_that_vanish_while_reading_fail_their_range() -> None:
    """Retention between planning and reading: nothing of that range is committed, and the reason is data loss."""
    place = SimpleExport()
    place.produce(0, 5)
    place.produce(1, 5)
    place.before_execute = lambda: place.broker.set_log_start(TOPIC, 0, 2)
    report = place.run()
    assert report.exit_status == EXIT_DATA
    assert place.positions() == {0: 0, 1: 5}


def test_a_topic_created_again_before_planning_is_left_out() -> None:
    """Its offsets are other records; both ids are named."""
    place = SimpleExport()
    _two_runs(place)
    place.broker.recreate_topic(TOPIC)
    place.produce(0, 9)
    report = place.run("after")
    assert report.exit_status == EXIT_DATA
    assert "was deleted and created again (id orders-id-1 before, orders-id-2 now)" in report.problems()[0]
    assert place.positions() == {0: 5, 1: 5}


def test_a_topic_created_again_meanwhile_is_not_committed() -> None:
    """The reader sees no error; the look at the topic id after the last read does."""
    place = SimpleExport()
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
    place = SimpleExport(topics=("orders", "more"))
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
    place = SimpleExport(topics=("orders", "more"))
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
    place = SimpleExport()
    place.produce(0, 5)
    place.die_while_exporting()
    place.broker.delete_topic(TOPIC)
    report = place.run("next")
    assert report.exit_status == EXIT_DATA
    assert place.newest.kind is Kind.COMMIT
    assert place.positions() == {0: 0, 1: 0}


def test_a_missing_topic_stops_no_other() -> None:
    """A topic that never was is named by every run, and the others are exported; created, it is exported as well."""
    place = SimpleExport(topics=(TOPIC, "ordres"))
    place.produce(0, 5)
    report = place.run("first")
    assert report.exit_status == EXIT_DATA
    assert any("ordres-0: topic ordres does not exist on the broker" in problem for problem in report.problems())
    assert place.positions() == {0: 5, 1: 0}
    place.broker.create_topic("ordres", 1)
    assert place.run("second").exit_status == EXIT_DONE
    assert set(place.newest.topics) == {TOPIC, "ordres"}


def test_a_missing_topic_cannot_be_accepted() -> None:
    """No entry can say where a topic goes on that was never there."""
    place = SimpleExport(topics=(TOPIC, "ordres"))
    place.produce(0, 5)
    place.run("first")
    with pytest.raises(ConfigurationError, match="ordres does not exist on the broker"):
        accept_by_hand(place.exporter(), ["ordres"], request("by-hand"), hear(place.told))


def test_only_missing_topics_are_a_configuration_error() -> None:
    """Topics that never were: named, exit 78, nothing written."""
    place = SimpleExport(topics=("ordres",))
    with pytest.raises(TopicMissing, match="names topics that do not exist on the broker: ordres") as caught:
        place.run()
    assert caught.value.exit_status == EXIT_CONFIGURATION
    assert place.store.contents() == {}


def test_a_broker_that_is_down_is_temporary() -> None:
    """Nothing written, exit 75."""
    place = SimpleExport()
    place.broker.fail_next("topics", KafkaUnavailable("no broker"))
    with pytest.raises(KafkaUnavailable) as caught:
        place.run()
    assert caught.value.exit_status == EXIT_TEMPORARY
    assert place.store.contents() == {}
