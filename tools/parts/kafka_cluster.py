"""A Kafka cluster of several brokers, each of which can be killed, suspended and started again."""

import time
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import ElectionType, KafkaException
from confluent_kafka import TopicPartition as Assignment
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata  # type: ignore[attr-defined]

from tools.parts.errors import PartError
from tools.parts.kafka import REQUEST_TIMEOUT_S, KafkaBroker
from tools.parts.process import UntilStopped

NODES = (1, 2, 3)
CHANGE_TIMEOUT_S = 90
POLL_S = 0.05


class KafkaNode(KafkaBroker):
    """One broker of a cluster; the first is the controller too, and the others are told where it is."""

    heap = "256m"

    def __init__(self, node_id: int, first: "KafkaNode | None", settings: Mapping[str, str]) -> None:
        self.node_id = node_id
        self.name = f"kafka-{node_id}"
        self._first = first
        super().__init__({"node.id": str(node_id), "replica.fetch.wait.max.ms": "100", **settings})

    def _addresses(self) -> dict[str, str]:
        if self._first is None:
            return super()._addresses()
        self.cluster_id = self._first.cluster_id
        return super()._addresses() | {
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://{self.bootstrap_servers}",
            "controller.quorum.voters": self._first._addresses()["controller.quorum.voters"],
        }


class KafkaCluster(UntilStopped):
    """Three brokers on 127.0.0.1. Node 1 is also the controller: keep it alive, and the partitions on nodes 2 and 3.

    An election that loses records, on a topic with `unclean.leader.election.enable`: kill the follower, write, kill
    the leader, restart the follower.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.nodes: dict[int, KafkaNode] = {}
        try:
            for node_id in NODES:
                self.nodes[node_id] = KafkaNode(node_id, self.nodes.get(NODES[0]), settings or {})
        except BaseException:
            self.stop()
            raise

    @property
    def bootstrap_servers(self) -> str:
        """All nodes, whether they run or not."""
        return ",".join(node.bootstrap_servers for node in self.nodes.values())

    def stop(self) -> None:
        """End every node and remove its data; harmless when repeated."""
        for node in reversed(self.nodes.values()):
            node.stop()

    def admin(self) -> AdminClient:
        """A new admin client that asks the first node first, which is meant to live."""
        return self.nodes[NODES[0]].admin()

    def create_topic(
        self, name: str, replicas: Sequence[Sequence[int]], config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic: for each partition the nodes that hold it, as many for each, the one that leads it first."""
        assignment = [list(nodes) for nodes in replicas]
        topic = NewTopic(
            name, len(assignment), replica_assignment=assignment, config={"retention.ms": "-1", **(config or {})}
        )
        admin = self.admin()
        try:
            admin.create_topics([topic])[name].result(REQUEST_TIMEOUT_S)
        except (KafkaException, TimeoutError) as error:
            raise PartError(f"the Kafka cluster could not create topic {name}: {error}") from error
        for partition, nodes in enumerate(assignment):
            self.await_leader(name, partition, nodes[0])
            self.await_in_sync(name, partition, nodes)

    def leader(self, topic: str, partition: int) -> int | None:
        """The node that leads a partition, as the first node says; `None` if none does."""
        found = self._partition(topic, partition)
        return None if found is None or found.leader == -1 else int(found.leader)

    def in_sync(self, topic: str, partition: int) -> set[int]:
        """The replicas that have all of a partition's log."""
        found = self._partition(topic, partition)
        return set() if found is None else set(found.isrs)

    def await_leader(self, topic: str, partition: int, node: int | None) -> None:
        """Return once that node, or none, leads a partition."""
        self._until(f"{node} leads {topic}-{partition}", lambda: self.leader(topic, partition) == node)

    def await_in_sync(self, topic: str, partition: int, nodes: Sequence[int]) -> None:
        """Return once these nodes, and no others, are the partition's replicas in sync."""
        wanted = set(nodes)
        self._until(f"{wanted} are in sync on {topic}-{partition}", lambda: self.in_sync(topic, partition) == wanted)

    def prefer(self, topic: str, partition: int) -> None:
        """Let the first replica of a partition lead it again, which loses nothing."""
        admin = self.admin()  # a request ends with its client
        admin.elect_leaders(ElectionType.PREFERRED, [Assignment(topic, partition)]).result(REQUEST_TIMEOUT_S)

    def _partition(self, topic: str, partition: int) -> PartitionMetadata | None:
        return self.admin().list_topics(topic, timeout=REQUEST_TIMEOUT_S).topics[topic].partitions.get(partition)

    def _until(self, what: str, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + CHANGE_TIMEOUT_S
        while not is_so():
            if time.monotonic() > deadline:
                tails = "\n".join(f"  {node.name}:\n{node.log_tail()}" for node in self.nodes.values())
                raise PartError(f"Not within {CHANGE_TIMEOUT_S} s: {what}. The ends of the nodes' logs:\n{tails}")
            time.sleep(POLL_S)
