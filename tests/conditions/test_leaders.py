"""Leaders that change, that lose records, and that are gone: a connector over a cluster of three brokers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from kafka_s3.adapters.kafka import KafkaBroker
from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.errors import KafkaUnavailable
from kafka_s3.ports import Broker, LogPoint
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.settings.kafka import KafkaSettings
from tests.conditions.disturbed import Disturbed, produce, words
from tests.support import make_settings
from tools.parts.kafka_cluster import KafkaCluster
from tools.parts.s3 import VersityGateway

pytestmark = pytest.mark.faults

UNCLEAN = {"unclean.leader.election.enable": "true"}
RECORDS = 1500  # of a few hundred bytes: many fetches


@pytest.fixture(scope="module")
def three() -> Iterator[KafkaCluster]:
    """Three brokers for all tests here."""
    with KafkaCluster() as cluster:
        yield cluster


@pytest.fixture
def cluster(three: KafkaCluster) -> KafkaCluster:
    """The same, whole again, whatever an earlier test did to it."""
    for node in three.nodes.values():
        node.resume()
        if not node.is_running:
            node.restart()
    return three


@dataclass
class Partition:
    """A partition on the nodes 2 and 3, and what may happen to it."""

    cluster: KafkaCluster
    tp: TopicPartition
    written: int = 0

    def append(self, label: str, count: int) -> list[str]:
        made = words(label, count)
        produce(self.cluster.nodes[1].bootstrap_servers, self.tp.topic, made, self.tp.partition)
        return made

    @property
    def leader(self) -> int:
        leader = self.cluster.leader(*self.tp)
        assert leader is not None
        return leader

    @property
    def other(self) -> int:
        return 5 - self.leader

    def elect(self) -> None:
        """The leader dies, the other replica has everything and takes over; the dead one comes back as follower."""
        old, new = self.leader, self.other
        self.cluster.nodes[old].kill()
        self.cluster.await_leader(*self.tp, new)
        self.restart(old)

    def part(self) -> None:
        """The follower dies: what is written from now on is on the leader alone."""
        leader = self.leader
        self.cluster.nodes[self.other].kill()
        self.cluster.await_in_sync(*self.tp, [leader])

    def cut(self) -> None:
        """After `part`: the leader dies too, and the other replica comes back and leads without what it missed."""
        old, new = self.leader, self.other
        self.cluster.nodes[old].kill()
        self.cluster.await_leader(*self.tp, None)
        self.cluster.nodes[new].restart()
        self.cluster.await_leader(*self.tp, new)

    def restart(self, node: int) -> None:
        self.cluster.nodes[node].restart()
        self.cluster.await_in_sync(*self.tp, [2, 3])


class MemoryPartition:
    """The same, in memory."""

    def __init__(self, tp: TopicPartition) -> None:
        self.tp = tp
        self.broker = MemoryBroker()
        self.broker.create_topic(tp.topic)
        self._marked = 0

    def append(self, label: str, count: int) -> list[str]:
        start = self._end()
        self.broker.append(*self.tp, *(Record(start + number, label.encode()) for number in range(count)))
        return words(label, count)

    def elect(self) -> None:
        self.broker.elect(*self.tp)

    def part(self) -> None:
        self._marked = self._end()

    def cut(self) -> None:
        self.broker.truncate(*self.tp, self._marked)

    def _end(self) -> int:
        return self.broker.offsets([self.tp])[self.tp].high_watermark


class Log(Protocol):
    """A partition's log, and what elections make of it."""

    tp: TopicPartition

    def append(self, label: str, count: int) -> list[str]: ...
    def elect(self) -> None: ...
    def part(self) -> None: ...
    def cut(self) -> None: ...


@pytest.fixture
def partition(cluster: KafkaCluster, topic_name: str) -> Partition:
    """The one partition of a topic in which an election may lose records."""
    cluster.create_topic(topic_name, [[2, 3]], UNCLEAN)
    return Partition(cluster, TopicPartition(topic_name, 0))


@pytest.fixture(params=["memory", "kafka"])
def log_and_broker(request: pytest.FixtureRequest, topic_name: str) -> tuple[Log, Broker]:
    if request.param == "memory":
        memory = MemoryPartition(TopicPartition(topic_name, 0))
        return memory, memory.broker
    log: Partition = request.getfixturevalue("partition")
    client = {"bootstrap.servers": log.cluster.bootstrap_servers}
    return log, KafkaBroker(make_settings(topics=(), kafka=KafkaSettings(client)))


@pytest.fixture
def connector(partition: Partition, versitygw: VersityGateway, bucket_name: str, tmp_path: Path) -> Disturbed:
    """A connector over that partition."""
    return connector_over(partition.cluster, partition.tp.topic, versitygw, bucket_name, tmp_path)


def connector_over(
    cluster: KafkaCluster, topic: str, store: VersityGateway, bucket_name: str, folder: Path
) -> Disturbed:
    return Disturbed(folder / "connector", topic, bucket_name, cluster.nodes[1], store, flush_size=100)


def test_where_logs_part(log_and_broker: tuple[Log, Broker]) -> None:
    """Elections that lose nothing raise no alarm, however many. One that does is found from every point above the
    cut, whether the log has grown past the point again or not, and from none below."""
    log, broker = log_and_broker
    tp = log.tp

    def epoch() -> int:
        found = broker.offsets([tp])[tp].leader_epoch
        assert found is not None
        return found

    def parted(offset: int, epoch: int) -> int | None:
        return broker.diverged({tp: LogPoint(offset, epoch)}).get(tp)

    log.append("a", 100)
    first = epoch()
    log.elect()
    second = epoch()
    assert second > first
    assert [parted(100, first), parted(100, second), parted(50, first)] == [None, None, None]
    log.append("b", 20)
    log.elect()
    assert [parted(100, first), parted(120, second), parted(120, epoch())] == [None, None, None]
    third = epoch()

    log.part()
    log.append("lost", 30)
    assert parted(150, third) is None
    log.cut()
    assert [parted(150, third), parted(121, third)] == [120, 120]
    assert [parted(120, third), parted(100, third), parted(100, first), parted(1, first)] == [None] * 4
    log.append("c", 90)
    assert [parted(150, third), parted(121, third)] == [120, 120]
    assert [parted(120, third), parted(100, first), parted(210, epoch())] == [None] * 3


# Elections that lose nothing


def test_no_alarm_while_leaders_change(partition: Partition) -> None:
    """Asked again and again while leaders die and records come in: the end never lies below one that was seen, and
    the log never parts from what it was. No answer may come for a while, a wrong one never."""
    tp, client = partition.tp, {"bootstrap.servers": partition.cluster.nodes[1].bootstrap_servers}
    partition.append("first", 100)
    enough = threading.Event()

    def elect() -> None:
        for number in range(30):
            partition.elect()
            if number >= 2 and enough.is_set():
                return

    with ThreadPoolExecutor(2) as pool:
        elections = pool.submit(elect)
        writing = pool.submit(lambda: [partition.append("more", 50) for _ in iter(elections.done, True)])
        point, asked, epochs = LogPoint(0, 0), 0, set()
        while not (elections.done() and writing.done()):
            broker = KafkaBroker(make_settings(topics=(), kafka=KafkaSettings(client)))
            with contextlib.suppress(KafkaUnavailable):
                seen = broker.offsets([tp])[tp]
                assert seen.leader_epoch is not None
                assert seen.high_watermark >= point.offset
                assert broker.diverged({tp: point}) == {}
                point, asked = LogPoint(seen.last_stable, seen.leader_epoch), asked + 1
                epochs.add(seen.leader_epoch)
                if asked > 10 and len(epochs) >= 3:
                    enough.set()
        elections.result(), writing.result()
    assert enough.is_set(), f"{asked} answers, of {len(epochs)} leaders' times"


def test_leader_changes_between_runs(partition: Partition, connector: Disturbed) -> None:
    """Another leader, twice, with records in between: every record once, and no alarm."""
    made = partition.append("a", 300)
    assert connector.export().status == 0
    for label in ("b", "c"):
        partition.elect()
        assert connector.export().status == 0
        made += partition.append(label, 300)
        assert connector.export().status == 0
    assert connector.values() == made
    assert connector.verified() == len(made)


@pytest.mark.parametrize("how", ["dies", "hangs", "hands over"])
def test_leader_changes_while_it_is_read(partition: Partition, connector: Disturbed, how: str) -> None:
    """A leader that dies or hands over while a range is read: the reading goes on from the next leader. One that hangs
    is let go of as well, at the worst by the next try."""
    made = partition.append("a", RECORDS)
    connector.configure(export_read_timeout_ms=20_000)
    old, new, cluster = partition.leader, partition.other, partition.cluster

    def change() -> None:
        if how == "hands over":
            cluster.nodes[old].restart()  # a controlled shutdown
        elif how == "dies":
            cluster.nodes[old].kill()
        else:
            cluster.nodes[old].suspend()
        cluster.await_leader(*partition.tp, new)

    outcome = connector.export(reading=change)
    if how == "hangs" and outcome.status == 75:
        outcome = connector.export()
    assert outcome.status == 0, outcome.said
    assert connector.values() == made
    cluster.nodes[old].resume()
    if how == "dies":
        cluster.nodes[old].restart()
    made += partition.append("b", 100)
    outcome = connector.export()
    assert outcome.status == 0, outcome.said
    assert connector.values() == made
    assert connector.verified() == len(made)
