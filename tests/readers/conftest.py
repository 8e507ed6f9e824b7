"""Places to export from, for one test and for a file of tests; and Spark as a reader."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from tests.adapters.registry_side import forwarding
from tests.readers.place import Gate, Place
from tools.parts.kafka import KafkaBroker
from tools.parts.registry import SchemaRegistry
from tools.parts.s3 import MotoServer

MakePlace = Callable[..., Place]


@pytest.fixture(scope="session")
def make_place(
    kafka: KafkaBroker, moto: MotoServer, registry_server: SchemaRegistry, tmp_path_factory: pytest.TempPathFactory
) -> MakePlace:
    """Makes a topic that no other test has, and what is around it."""

    def make(partitions: int = 1) -> Place:
        topic = f"topic-{uuid.uuid4().hex[:12]}"
        kafka.create_topic(topic, partitions)
        return Place(topic, tmp_path_factory.mktemp(topic), kafka, moto, registry_server)

    return make


@pytest.fixture
def place(make_place: MakePlace) -> Place:
    return make_place()


@pytest.fixture
def gate(registry_server: SchemaRegistry) -> Iterator[Gate]:
    """An open gate before the real registry."""
    made = Gate(forwarding(registry_server))
    made.open()
    yield made
    made.close()


@pytest.fixture(scope="module")
def spark(java_home: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark in this process, and no JVM after it."""
    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[1]").appName("readers")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "OFF",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    gateway = SparkContext._gateway
    session.stop()
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()  # the JVM's sign to end
    gateway.proc.wait(60)
    SparkContext._gateway = SparkContext._jvm = None
