"""Each minor version of Spark that may run the export: `make torture ARGS="-k spark_versions"`.

Each has an environment of its own, for which pip downloads a pyspark (and keeps it). docs/install/spark.md says what
came of it. RELEASES_OF_SPARK and CLIENTS_OF_SPARK name others.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from tests.spark import test_connect
from tests.spark.test_connect import Export
from tools.parts.environments import PythonEnvironment, build_wheel, make_environment
from tools.parts.jars import Jar, resolve
from tools.parts.java import find_java
from tools.parts.kafka import KafkaBroker
from tools.parts.process import child_environment
from tools.parts.s3 import MotoServer
from tools.parts.spark import SparkCluster, SparkConnectServer

pytestmark = [pytest.mark.trial, pytest.mark.timeout(3600)]

export = test_connect.export
TOKEN: Final = test_connect.TOKEN
RECORDS: Final = 400
RELEASES: Final = tuple(os.environ.get("RELEASES_OF_SPARK", "3.5.9,4.0.5,4.1.4,4.2.0").split(","))
#: Spark 3.5 has Connect in a jar of its own, not of every release, and its client is another one than that of Spark 4.
WITH_CONNECT: Final = tuple(release for release in RELEASES if not release.startswith("3."))
CLIENTS: Final = tuple(os.environ.get("CLIENTS_OF_SPARK", "4.0.4,4.1.3,4.2.0").split(","))
OLD: Final = "3.5.9"
CONNECT_JAR: Final = Jar("org.apache.spark", "spark-connect_2.12", "3.5.7")


class Environments:
    """One environment for each release, made when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._wheel = build_wheel(folder / "wheel")

    def spark(self, release: str) -> PythonEnvironment:
        """The engine beside a whole Spark, which its Connect server needs a few packages for."""
        connect = "[connect]" if release in WITH_CONNECT else ""
        return self._made(f"spark-{release}", f"pyspark{connect}=={release}")

    def client(self, release: str) -> PythonEnvironment:
        """The engine beside Spark Connect's client alone."""
        return self._made(f"client-{release}", f"pyspark-client=={release}")

    def bare(self) -> Path:
        """A Python without any package."""
        return make_environment(self._folder / "bare").python

    def _made(self, name: str, spark: str) -> PythonEnvironment:
        """The bounds of our own extras are left out: whether they are right is the question."""
        folder = self._folder / name
        if folder.is_dir():
            return PythonEnvironment(folder)
        try:
            return make_environment(folder, [f"kafka-s3[executor] @ {self._wheel.as_uri()}", spark, "pandas<3"])
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


@pytest.fixture(scope="module")
def environments() -> Iterator[Environments]:
    folder = Path(tempfile.mkdtemp(prefix="kafka-s3-spark-versions-"))
    try:
        yield Environments(folder)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module", params=WITH_CONNECT)
def theirs(request: pytest.FixtureRequest) -> str:
    """The release of a server."""
    return str(request.param)


@pytest.fixture(scope="module")
def server(theirs: str, environments: Environments) -> Iterator[SparkConnectServer]:
    made = environments.spark(theirs)
    with SparkConnectServer(token=TOKEN, python=str(made.python), home=made.spark) as running:
        yield running


@pytest.fixture
def without_server(kafka: KafkaBroker, moto: MotoServer, topic_name: str, bucket_name: str, tmp_path: Path) -> Export:
    """As `export`, for a Spark that the driver starts itself."""
    kafka.create_topic(topic_name, test_connect.PARTITIONS)
    moto.create_bucket(bucket_name)
    (tmp_path / "worker.properties").write_text(f"bootstrap.servers={kafka.bootstrap_servers}\n")
    path = tmp_path / "orders.properties"
    path.write_text(test_connect.CONNECTOR.format(topic=topic_name, bucket=bucket_name, store=moto))
    return Export(path, None, kafka, moto, topic_name, bucket_name)  # type: ignore[arg-type]  # it has no server


def _exports(export: Export, url: str, application: str) -> None:
    """A run with records in four partitions: each of them once, by an application of that kind."""
    export.produce(RECORDS)
    status, said = export.run(url=url, JAVA_HOME=str(find_java().home), SPARK_LOCAL_IP="127.0.0.1")
    assert status == 0, said
    assert export.numbers() == Counter(range(RECORDS))
    [entry] = [each for each in export.entries() if each.ranges]
    assert (entry.spark_application or "").startswith(application)


@pytest.mark.parametrize("release", RELEASES)
def test_spark_versions_alone(release: str, without_server: Export, environments: Environments) -> None:
    """`local[2]` of the release that is installed beside the engine."""
    made = environments.spark(release)
    _exports(replace(without_server, command=made.command("kafka-s3")), "local[2]", "local-")


@pytest.mark.parametrize("release", RELEASES)
def test_spark_versions_on_a_cluster(release: str, without_server: Export, environments: Environments) -> None:
    """A Master and a Worker of the release, whose Python has nothing: the driver brings the engine."""
    made = environments.spark(release)
    archive = without_server.connector.with_name("engine.zip")
    bundle = [made.command("kafka-s3"), "bundle", archive]
    said = subprocess.run(bundle, env=child_environment(), capture_output=True, text=True, check=True).stdout
    asked = [line.strip() for line in said.splitlines() if line.startswith("  export.spark.conf.")]
    asked = [line for line in asked if "spark.pyspark.python" not in line]
    asked += [
        f"export.spark.conf.spark.pyspark.python={environments.bare()}",
        "export.spark.conf.spark.executor.memory=512m",
    ]
    path = without_server.connector
    path.write_text("\n".join([path.read_text(), *asked, ""]))
    with SparkCluster(workers=1, cores=2, memory="1g", environment={"SPARK_HOME": str(made.spark)}) as cluster:
        _exports(replace(without_server, command=made.command("kafka-s3")), cluster.master_url, "app-")


@pytest.mark.parametrize("client", CLIENTS)
def test_spark_versions_of_a_server(client: str, theirs: str, export: Export, environments: Environments) -> None:
    """Each client with each server of Spark Connect: every record once. A client of a newer minor version asks for what
    such a server does not have: it is refused before anything is planned."""
    export = replace(export, command=environments.client(client).command("kafka-s3"))
    if client.split(".")[:2] <= theirs.split(".")[:2]:
        _exports(export, export.server.url, "local-")
    else:
        _is_refused(export, export.server.url, theirs, client)


@pytest.mark.parametrize("client", CLIENTS)
def test_spark_versions_that_are_refused(client: str, without_server: Export, environments: Environments) -> None:
    """A server of Spark 3.5 is one sentence and 78, before anything is planned."""
    made = environments.spark(OLD)
    jar = next(resolve(f"spark-connect-{CONNECT_JAR.version}", [CONNECT_JAR], transitive=False).glob("*.jar"))
    with SparkConnectServer(token=TOKEN, home=made.spark, conf={"spark.jars": str(jar)}) as running:
        export = replace(without_server, command=environments.client(client).command("kafka-s3"))
        _is_refused(export, running.url, OLD, client)


def _is_refused(export: Export, url: str, theirs: str, ours: str) -> None:
    export.produce(1)
    status, said = export.run(url=url)
    assert status == 78, said
    assert f"runs Spark {theirs}, and its client here is pyspark {ours}: it may be older, but not newer" in said
    assert "Traceback" not in said
    assert export.keys("_kafka_s3/") == []
