"""Elections on a real cluster: what is missing, and what was lost, is not exported as if it were there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_s3.ranges import TopicPartition
from tests.conditions import test_leaders
from tests.conditions.disturbed import Disturbed
from tests.conditions.test_leaders import RECORDS, UNCLEAN, Partition, connector_over
from tools.parts.kafka_cluster import KafkaCluster
from tools.parts.s3 import VersityGateway

pytestmark = pytest.mark.faults

cluster = test_leaders.cluster
connector = test_leaders.connector
partition = test_leaders.partition
three = test_leaders.three


# No leader


def test_leader_that_is_missing(
    cluster: KafkaCluster, versitygw: VersityGateway, topic_name: str, bucket_name: str, tmp_path: Path
) -> None:
    """Of two partitions one loses its only replica while it is read: the other one is committed, the run ends with
    status 75 and says which range waits for a leader; so does a run that meets no leader; a retry finishes."""
    cluster.create_topic(topic_name, [[2], [3]])
    connector = connector_over(cluster, topic_name, versitygw, bucket_name, tmp_path)
    connector.configure(export_read_timeout_ms=5000)
    there, gone = (Partition(cluster, TopicPartition(topic_name, number)) for number in (0, 1))
    made = {0: there.append("a", RECORDS), 1: gone.append("b", RECORDS)}

    def die() -> None:
        cluster.nodes[3].kill()
        cluster.await_leader(*gone.tp, None)

    outcome = connector.export(planned=die)
    assert outcome.status == 75, outcome.said
    assert f"{gone.tp}" in outcome.said
    assert "leader" in outcome.said.lower()
    assert (connector.values(0), connector.values(1)) == (made[0], [])

    outcome = connector.export()
    assert outcome.status == 75, outcome.said
    assert f"{gone.tp}" in outcome.said

    cluster.nodes[3].restart()
    cluster.await_leader(*gone.tp, 3)
    outcome = connector.export()
    assert outcome.status == 0, outcome.said
    assert (connector.values(0), connector.values(1)) == (made[0], made[1])
    assert connector.verified() == 2 * RECORDS


# Elections that lose records


@dataclass
class Cut:
    """A connector that has exported `old`, of which Kafka has lost all from `at` on; `beside`: another partition."""

    connector: Disturbed
    log: Partition
    beside: Partition
    old: list[str]
    at: int

    def values(self) -> tuple[list[str], list[str]]:
        return self.connector.values(0), self.connector.values(1)


KEPT, LOST = 300, 200


@pytest.fixture
def cut(cluster: KafkaCluster, versitygw: VersityGateway, topic_name: str, bucket_name: str, tmp_path: Path) -> Cut:
    """Of two partitions, one on the nodes 2 and 3 was exported up to 500 and then cut at 300; its new log is empty."""
    cluster.create_topic(topic_name, [[2, 3], [1, 2]], UNCLEAN)
    log, beside = (Partition(cluster, TopicPartition(topic_name, number)) for number in (0, 1))
    connector = connector_over(cluster, topic_name, versitygw, bucket_name, tmp_path)
    old = log.append("kept", KEPT)
    log.part()
    old += log.append("lost", LOST)
    outcome = connector.export()
    assert outcome.status == 0, outcome.said
    assert connector.values() == old
    log.cut()
    return Cut(connector, log, beside, old, KEPT)


#: How many records the new log has beyond the cut: fewer than were lost, or more.
GROWN = [LOST // 2, 3 * LOST]


@pytest.mark.parametrize("grown", GROWN)
def test_log_that_was_cut_is_left_out(cut: Cut, grown: int) -> None:
    """Records that were exported are gone, others may have their offsets: under `fail` that partition is left out,
    the others are exported, and the run ends with status 65 and says where the log was cut."""
    cut.log.append("new", grown)
    beside = cut.beside.append("beside", 50)
    outcome = cut.connector.export()
    assert outcome.status == 65, outcome.said
    assert f"{cut.log.tp}: the log was truncated at {cut.at}, below the position {KEPT + LOST}" in outcome.said
    assert cut.values() == (cut.old, beside)
    assert cut.connector.position() == KEPT + LOST
    assert [entry.restarts for entry in cut.connector.entries() if entry.restarts] == []


@pytest.mark.parametrize("grown", GROWN)
def test_log_that_was_cut_is_gone_on_with(cut: Cut, grown: int) -> None:
    """Under `record` the log says where the partition parts, under a generation of its own, and every record of the new
    log is exported once, beside all that was exported before; a further run finds nothing new."""
    cut.connector.configure(export_on_data_loss="record")
    new, beside = cut.log.append("new", grown), cut.beside.append("beside", 50)
    outcome = cut.connector.export()
    assert outcome.status == 0, outcome.said
    assert cut.values() == (cut.old + new, beside)
    (restart,) = [restart for entry in cut.connector.entries() for restart in entry.restarts]
    assert (restart.tp, restart.position, restart.generation, restart.withdrawn) == (cut.log.tp, cut.at, 1, False)
    listed = [made.key for entry in cut.connector.entries() for done in entry.ranges for made in done.objects]
    assert sorted(listed) == cut.connector.keys("topics/")
    assert any("+g1" in key for key in listed)

    later = cut.log.append("later", 50)
    outcome = cut.connector.export()
    assert outcome.status == 0, outcome.said
    assert cut.values() == (cut.old + new + later, beside)
    entries = cut.connector.entries()
    assert cut.connector.export().status == 0
    assert cut.connector.entries() == entries


@pytest.mark.parametrize("policy", ["fail", "record"])
@pytest.mark.parametrize("grown", [0, 3 * LOST])
def test_log_that_is_cut_between_plan_and_reading(
    partition: Partition, connector: Disturbed, policy: str, grown: int
) -> None:
    """A plan's records are gone before they are read, others may have come in their place: nothing of the plan is
    committed as if it were what was planned, and the runs after it export every record of the new log once."""
    connector.configure(export_on_data_loss=policy, export_read_timeout_ms=4000)
    old = partition.append("kept", KEPT)
    assert connector.export().status == 0
    partition.part()
    partition.append("lost", LOST)
    new: list[str] = []

    def lose() -> None:
        partition.cut()
        new.extend(partition.append("new", grown))

    outcome = connector.export(planned=lose)
    committed = connector.values()  # under `record` the same run goes on, up to the end that it began with
    assert len(committed) >= len(old)
    assert committed == (old + new)[: len(committed)]
    assert outcome.status in (65, 75) or (policy, grown) == ("record", 3 * LOST), outcome.said
    new += partition.append("later", 50)
    for _ in range(2):
        outcome = connector.export()
    assert outcome.status == 0, outcome.said
    assert connector.values() == old + new


def test_log_that_is_cut_while_it_is_read(partition: Partition, connector: Disturbed) -> None:
    """Half of a range is of the old log and half of the new one: it is not committed, and the next run exports the new
    log's records once."""
    connector.configure(export_read_timeout_ms=4000)
    old = partition.append("kept", KEPT)
    partition.part()
    partition.append("lost", RECORDS)
    new: list[str] = []

    def lose() -> None:
        partition.cut()
        new.extend(partition.append("new", 2 * RECORDS))

    outcome = connector.export(reading=lose)
    assert outcome.status in (65, 75), outcome.said
    assert connector.values() == []
    outcome = connector.export()
    assert outcome.status == 0, outcome.said
    assert connector.values() == old + new
