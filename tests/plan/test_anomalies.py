"""What is wrong with a partition, and what is written down where that is accepted."""

from __future__ import annotations

import pytest

from kafka_s3.log.entries import FailedRange, TopicState
from kafka_s3.plan.anomalies import Anomaly, ExcludedPartition, Resolution, anomaly_of, deleted, recreated, resolve
from kafka_s3.ports import PartitionOffsets, TopicView
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.run import Policies

TP = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)
STATE = TopicState(topic_id="a", generation=2, owned=True, positions={0: 10, 1: 20}, epochs={0: 3, 1: 3})
SEEN = {TP: PartitionOffsets(15, 50, 50, 7), OTHER: PartitionOffsets(0, 30, 30, 8)}
ALL = Policies(record_data_loss=True, restart_recreated=True)


def failed(start: int, end: int, tp: TopicPartition = TP) -> FailedRange:
    return FailedRange(topic=tp.topic, partition=tp.partition, start=start, end=end, reason="out")


def settled(*left: ExcludedPartition, failed: tuple[FailedRange, ...] = ()) -> Resolution:
    return resolve({"orders": STATE}, failed, left, {"orders": TopicView("orders", "b", (0, 1, 2))}, SEEN)


def test_lost_offsets_leave_a_partition_out() -> None:
    """The log starts above the position: the message names both and how many are gone."""
    left = anomaly_of(TP, 10, PartitionOffsets(15, 50, 50), None)
    assert left is not None
    assert (left.anomaly, left.resume) == (Anomaly.LOST, 15)
    assert str(left).startswith("orders-0: offsets [10, 15) are gone from Kafka before they were exported (5 offsets)")
    assert anomaly_of(TP, 15, PartitionOffsets(15, 50, 50), None) is None


def test_a_log_that_ends_below_leaves_a_partition_out() -> None:
    """The high watermark is below the position; an LSO below it is nothing. Where to go on, nobody can tell."""
    left = anomaly_of(TP, 51, PartitionOffsets(0, 50, 50), None)
    assert left is not None
    assert (left.anomaly, left.resume) == (Anomaly.TRUNCATED, None)
    assert str(left).startswith("orders-0: the log ends at 50, below the position 51")
    assert anomaly_of(TP, 51, PartitionOffsets(0, 40, 51), None) is None


@pytest.mark.parametrize("end", [45, 60])
def test_a_log_that_parted_below_goes_on_where_it_did(end: int) -> None:
    """Grown again beyond the position or not; one that parted at or above it lost nothing that was exported."""
    left = anomaly_of(TP, 51, PartitionOffsets(0, end, end), 40)
    assert left is not None
    assert (left.anomaly, left.resume) == (Anomaly.TRUNCATED, 40)
    assert "[40, 51) is exported and gone from Kafka" in left.reason
    assert anomaly_of(TP, 51, PartitionOffsets(0, 60, 60), 51) is None


def test_an_accepted_loss_is_a_gap_and_nothing_else() -> None:
    """The position is the log start, the generation stays; of ranges that failed the rest is planned again."""
    made = settled(
        ExcludedPartition(TP, Anomaly.LOST, "gone", 15),
        failed=(failed(10, 12), failed(12, 20), failed(20, 30), failed(20, 25, OTHER)),
    )
    state = made.topics["orders"]
    assert (state.positions, state.epochs, state.generation) == ({0: 15, 1: 20}, {0: 7, 1: 3}, 2)
    assert [(gap.tp, gap.start, gap.end, gap.reason) for gap in made.gaps] == [(TP, 10, 15, "gone")]
    assert made.restarts == []
    assert made.failed == (failed(15, 20), failed(20, 30), failed(20, 25, OTHER))


def test_an_accepted_truncation_begins_one_new_generation() -> None:
    """Two partitions of a topic: the generation rises once, positions are where the logs part, nothing is withdrawn."""
    made = settled(
        ExcludedPartition(TP, Anomaly.TRUNCATED, "cut", 4),
        ExcludedPartition(OTHER, Anomaly.TRUNCATED, "cut", 6),
        failed=(failed(10, 20), failed(20, 25, OTHER)),
    )
    state = made.topics["orders"]
    assert (state.topic_id, state.positions, state.epochs, state.generation) == ("a", {0: 4, 1: 6}, {0: 7, 1: 8}, 3)
    found = [(each.tp, each.generation, each.position, each.withdrawn) for each in made.restarts]
    assert found == [(TP, 3, 4, False), (OTHER, 3, 6, False)]
    assert (made.gaps, made.failed) == ([], ())


def test_a_topic_created_again_begins_at_zero() -> None:
    """New id, new generation; the connector still owns its keys."""
    view = TopicView("orders", "b", (0, 1, 2))
    made = settled(recreated(STATE, view), failed=(failed(10, 20),))
    state = made.topics["orders"]
    assert (state.topic_id, state.generation, state.owned) == ("b", 3, True)
    assert (state.positions, state.epochs) == ({0: 0, 1: 0, 2: 0}, {})
    assert [(each.partition, each.position, each.withdrawn) for each in made.restarts] == [
        (0, 0, False),
        (1, 0, False),
        (2, 0, False),
    ]
    assert made.failed == ()


def test_what_the_configuration_allows() -> None:
    """Each policy its own troubles; a deleted topic, and a truncation without a known place, never."""
    view = TopicView("orders", "b", (0,))
    cases = {
        ExcludedPartition(TP, Anomaly.LOST, "", 1): (True, False),
        ExcludedPartition(TP, Anomaly.TRUNCATED, "", 1): (True, False),
        ExcludedPartition(TP, Anomaly.TRUNCATED, "", None): (False, False),
        recreated(STATE, view): (False, True),
        deleted("orders", STATE): (False, False),
    }
    for left, (by_loss, by_recreated) in cases.items():
        assert left.is_allowed(Policies(record_data_loss=True)) is by_loss, left
        assert left.is_allowed(Policies(restart_recreated=True)) is by_recreated, left
        assert left.is_allowed(ALL) is (by_loss or by_recreated), left
        assert not left.is_allowed(Policies())


def test_what_is_said_of_a_topic_is_said_of_all_its_partitions() -> None:
    assert deleted("orders", STATE).covers(OTHER)
    assert not ExcludedPartition(TP, Anomaly.LOST, "", 1).covers(OTHER)
