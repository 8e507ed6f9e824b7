"""A one-node Kafka broker (KRaft) from its published jars."""

import base64
import functools
import logging
import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tools.parts.class_data import DUMP_TIMEOUT_S, class_data
from tools.parts.errors import PartError
from tools.parts.jars import Jar, resolve
from tools.parts.java import BRIEF, find_java
from tools.parts.process import HOST, Part, ReservedPort, accepts_connections, child_environment

KAFKA_VERSION = "4.1.2"
START_TIMEOUT_S = 90
REQUEST_TIMEOUT_S = 30
START_ATTEMPTS = 3

_JVM = (
    *BRIEF,
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)

_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.ms": "-1",
    # one node: every internal topic has one replica
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # a broker that was killed may register again only when its session is over, 9 s later by default
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    # small: a test's broker has few clients, and the default buffer of the cleaner alone is a quarter of its heap
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.cleaner.dedupe.buffer.size": "8388608",
}


class KafkaBroker(Part):
    """A Kafka broker on 127.0.0.1 that answers when the constructor returns.

    `settings` are added to, or replace, lines of its server.properties. `data` is what `save` made of another broker:
    without it there are no topics. The first broker on a machine downloads Kafka. `java_options`: what the JVM starts
    with instead of what it remembers of earlier brokers.
    """

    name = "kafka"
    node_id = 1
    heap = "512m"

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        data: Path | None = None,
        java_options: Sequence[str] | None = None,
    ) -> None:
        self._classpath = f"{kafka_jars()}/*"
        self._java_options = _remembered() if java_options is None else java_options
        self._java = find_java()
        super().__init__()
        self.cluster_id = cluster_id(uuid.uuid4().bytes)
        self._properties = self.folder / "server.properties"
        self._port, self._controller_port = ReservedPort(), ReservedPort()
        try:
            if data is not None:
                shutil.copytree(data, self.folder / "data")
            self._start_on_free_ports(settings or {}, formatted=data is not None)
        except BaseException:
            self.stop()
            raise

    @property
    def bootstrap_servers(self) -> str:
        """What clients connect to, as host:port; the same after `kill` and `restart`."""
        return f"{HOST}:{self._port.number}"

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Create a topic, by default one that keeps records of any age, and return once it can be written and read."""
        topic = NewTopic(name, partitions, 1, config={"retention.ms": "-1"} | dict(config or {}))
        admin = self.admin()
        self._answer(f"create topic {name}", admin.create_topics([topic])[name])
        self._await(lambda: self._has_leaders(admin, name, partitions), REQUEST_TIMEOUT_S)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and return once the broker no longer lists it."""
        admin = self.admin()
        self._answer(f"delete topic {name}", admin.delete_topics([name])[name])
        self._await(lambda: name not in admin.list_topics(timeout=REQUEST_TIMEOUT_S).topics, REQUEST_TIMEOUT_S)

    def admin(self) -> AdminClient:
        """A new admin client of this broker, which keeps librdkafka's messages to itself."""
        silent = logging.Logger("kafka-part", logging.CRITICAL)
        return AdminClient({"bootstrap.servers": self.bootstrap_servers}, logger=silent)

    def restart(self) -> None:
        """Stop the broker if it runs, and start it again with the same data on the same port."""
        self._terminate()
        self._run()

    def stop(self) -> None:
        """End the broker and remove its data; harmless when repeated."""
        super().stop()
        self._port.close()
        self._controller_port.close()

    def save(self, to: Path) -> None:
        """Stop the broker and copy its data, for a later one to start from."""
        self._terminate()
        shutil.copytree(self.folder / "data", to)

    def _start_on_free_ports(self, settings: Mapping[str, str], *, formatted: bool) -> None:
        """Format and start, with other ports when somebody took one of ours (which Linux does not let happen)."""
        for attempt in range(1, START_ATTEMPTS + 1):
            lines = _SETTINGS | self._addresses() | dict(settings)
            self._properties.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
            if attempt == 1 and not formatted:
                self._format()
            try:
                self._run()
                return
            except PartError:
                if attempt == START_ATTEMPTS or "Address already in use" not in self.log.read_text(errors="replace"):
                    raise
            self.kill()
            self.log.unlink()
            self._port.close()
            self._controller_port.close()
            self._port, self._controller_port = ReservedPort(), ReservedPort()

    def _addresses(self) -> dict[str, str]:
        controller = f"{HOST}:{self._controller_port.number}"
        return {
            "listeners": f"PLAINTEXT://{self.bootstrap_servers},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap_servers}",
            "controller.quorum.voters": f"1@{controller}",
            "log.dirs": str(self.folder / "data"),
        }

    def _format(self) -> None:
        """Prepare the data folder, which KRaft asks for before the first start."""
        tool = ("kafka.tools.StorageTool", "format", "-t", self.cluster_id, "-c", str(self._properties))
        command = self._command("warn", *tool)
        run = subprocess.run(command, capture_output=True, text=True, env=child_environment(), timeout=START_TIMEOUT_S)
        if run.returncode != 0:
            raise PartError(f"kafka: could not format {self.folder}. StorageTool said:\n{run.stdout}{run.stderr}")

    def _run(self) -> None:
        """Start the broker and return once it answers and counts itself in."""
        self._launch(self._command("info", "kafka.Kafka", str(self._properties)), child_environment())
        self._await(lambda: accepts_connections(self._port.number), START_TIMEOUT_S)
        admin = self.admin()
        self._await(lambda: self.node_id in _brokers(admin), START_TIMEOUT_S)

    def _command(self, log_level: str, *arguments: str) -> list[str]:
        level = f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}"
        options = (f"-Xmx{self.heap}", *_JVM, *self._java_options, level)
        return [str(self._java.executable), *options, "-cp", self._classpath, *arguments]

    def _has_leaders(self, admin: AdminClient, name: str, partitions: int) -> bool:
        topic = admin.list_topics(name, timeout=REQUEST_TIMEOUT_S).topics[name]
        leaders = [partition.leader for partition in topic.partitions.values()]
        return topic.error is None and len(leaders) == partitions and -1 not in leaders

    def _answer(self, what: str, future: object) -> None:
        """Wait for an admin request; PartError, with what the broker said, when it fails."""
        try:
            future.result(REQUEST_TIMEOUT_S)  # type: ignore[attr-defined]
        except (KafkaException, TimeoutError) as error:
            raise PartError(f"kafka at {self.bootstrap_servers} could not {what}: {error}") from error


def cluster_id(random: bytes) -> str:
    """16 bytes as Kafka writes a cluster's id. None begins with a dash: the tool would take it for an option."""
    text = base64.urlsafe_b64encode(random).decode().rstrip("=")
    return text.replace("-", "_", 1) if text.startswith("-") else text


def kafka_jars() -> Path:
    """The folder with Kafka's jars, downloaded on the first call; slf4j-simple is what makes the broker log."""
    jars = [Jar("org.apache.kafka", "kafka_2.13", KAFKA_VERSION), Jar("org.slf4j", "slf4j-simple", "1.7.36")]
    return resolve(f"kafka-{KAFKA_VERSION}", jars)


@functools.cache
def _remembered() -> Sequence[str]:
    def run(options: Sequence[str]) -> None:
        with KafkaBroker(java_options=options) as broker:
            broker._terminate(DUMP_TIMEOUT_S)

    return class_data(f"kafka-{KAFKA_VERSION}", run)


def _brokers(admin: AdminClient) -> set[int]:
    """The brokers that the cluster's own description counts; none while it does not answer."""
    try:
        return set(admin.list_topics(timeout=2).brokers)
    except KafkaException:
        return set()
