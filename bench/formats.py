"""What each format costs, and how much memory Parquet takes: tasks as processes of their own, without Spark.

A run with Spark starts for seven to ten CPU seconds, give or take two; a task alone starts for one. What it does per
record is the same.
"""

import json
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.table import Table

from bench.measure import Measured, measure
from bench.output import console, spread
from bench.paths import CHAINS, LARGE, PATHS
from bench.records import (
    AVRO,
    JSON_SCHEMA,
    NEWER,
    PARTITIONS,
    PROMOTED,
    PROTO,
    avro_values,
    json_schema_values,
    produce,
    protobuf_values,
    values,
)
from tools.parts.kafka import KafkaBroker
from tools.parts.registry import SchemaRegistry
from tools.parts.s3 import S3Server

REPOSITORY: Final = Path(__file__).resolve().parents[1]
RSS_MAX: Final = 2**30
#: More than a batch of each partition: the first holds two schemas, and what reads the others is loaded by them.
FEW: Final = 3_000 * PARTITIONS


@dataclass(frozen=True, slots=True)
class Servers:
    """Where records come from and go to; `environment` is that of the processes that are measured."""

    kafka: KafkaBroker
    s3: S3Server
    folder: Path
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Cost:
    """One path once, in CPU seconds per million records: the task beyond its start, all of it from launch, and the
    baseline before it."""

    cpu_s: float
    launch_s: float
    base_s: float
    bytes: int
    rss: int


def formats(servers: Servers, records: int, repetitions: int, word: str = "") -> None:
    """Every path whose name holds the word, each beside a baseline of its topic taken right before it."""
    chosen = [name for name in PATHS if word in name]
    chosen = list(dict.fromkeys(each for name in chosen for each in (CHAINS.get(name, name), name)))
    with SchemaRegistry() as registry:
        tasks = Tasks(servers, registry)
        for kind in dict.fromkeys(PATHS[name][0] for name in chosen):
            mean = tasks.fill(kind, records, PARTITIONS)
            tasks.fill(f"{kind}-few", FEW, PARTITIONS)
            console.print(f"{records:,} {kind} records of {mean:.0f} bytes in {PARTITIONS} partitions, one process")
        costs: dict[str, list[Cost]] = {name: [] for name in chosen}
        for _ in range(repetitions):
            for name, found in costs.items():
                found.append(tasks.cost(name, records))
                console.print(f"  {name}: {found[-1].cpu_s / found[-1].base_s:.2f}x")
    table = Table("path", "CPU s / M", "from launch", "baseline", "ratio", "MB", "task RSS MiB")
    for name, found in costs.items():
        table.add_row(
            name,
            spread([each.cpu_s for each in found]),
            spread([each.launch_s for each in found]),
            spread([each.base_s for each in found]),
            spread([each.cpu_s / each.base_s for each in found]),
            f"{found[-1].bytes / 1e6:.1f}",
            f"{max(each.rss for each in found) / 2**20:.0f}",
        )
    console.print(table)
    for name, without in CHAINS.items():
        if name in costs:
            pairs = zip(costs[name], costs[without], strict=True)
            console.print(f"{name}: {spread([one.cpu_s / other.cpu_s for one, other in pairs])} times the CPU without")
    if not word:
        _compare(costs)


def _compare(costs: Mapping[str, list[Cost]]) -> None:
    """What paths cost beside each other."""
    median = {name: statistics.median(each.cpu_s for each in found) for name, found in costs.items()}
    gain = median["Avro to Avro, made anew"] / median["Avro to Avro"]
    console.print(f"Avro that is decoded and encoded costs {gain:.1f} times what copying its bytes does")
    ratio = median["JSON Schema to Parquet, zstd"] / median["JSON to Parquet, zstd"]
    console.print(f"JSON Schema to Parquet: {ratio:.2f} times the CPU of JSON by a schema file")
    for format, goal in (("Parquet, zstd", " (goal 1.5x)"), ("JSON", "")):
        ratio = median[f"Protobuf to {format}"] / median[f"Avro to {format}"]
        console.print(f"Protobuf to {format}: {ratio:.2f} times the CPU of Avro{goal}")
    inferred = median["inferred JSON to Parquet"] / median["JSON to Parquet by a schema"]
    console.print(f"Inferred JSON to Parquet: {inferred:.2f} times the CPU of JSON to Parquet by a schema")
    blocks = costs["bytes, Block-GZIP"]
    for name in ("JSON to JSON, gzip", "bytes, gzip"):
        cpu = median["bytes, Block-GZIP"] / median[name]
        size = blocks[-1].bytes / costs[name][-1].bytes
        console.print(f"Block-GZIP over {name}: CPU {cpu:.2f}x, bytes {100 * (size - 1):+.2f} % (goals 1.1x, 1 %)")


def memory(servers: Servers, records: int, repetitions: int) -> None:  # noqa: ARG001  # once says it
    """The most memory of one task with row groups of 128 MiB; an error if that is 1 GiB or more."""
    with SchemaRegistry() as registry:
        tasks = Tasks(servers, registry)
        for name in LARGE:
            kind = f"{PATHS[name][0]}-large"
            tasks.fill(kind, records, 1)
            rss = tasks.run(name, kind, 1, records, flush_size=records).rss_own
            console.print(f"{name}, one partition of {records:,}, one object: {rss / 2**20:,.0f} MiB at most")
            assert rss < RSS_MAX, f"{name} takes {rss:,} bytes, and {RSS_MAX:,} are the most that a task may"


class Tasks:
    """Topics of the two kinds of records, and the tasks that export them."""

    def __init__(self, servers: Servers, registry: SchemaRegistry) -> None:
        self._servers = servers
        self._registry = registry
        self._runs = 0
        self._schema = servers.folder / "schema.avsc"
        self._schema.write_text(json.dumps(AVRO))

    def fill(self, topic: str, records: int, partitions: int) -> float:
        """Produce a topic, whose name begins with what it holds; the mean size of a value."""
        self._servers.kafka.create_topic(topic, partitions)
        found = values(records)
        if topic.startswith("avro"):
            newer = PROMOTED if "promoted" in topic else NEWER
            found = avro_values(records, self._register(topic, AVRO), self._register(topic, newer), newer, partitions)
        elif topic.startswith("protobuf"):
            found = protobuf_values(records, self._register_text(topic, PROTO, "PROTOBUF"))
        elif topic.startswith("schema-json"):
            text = json.dumps(JSON_SCHEMA)
            found = json_schema_values(records, self._register_text(topic, text, "JSON"))
        return produce(self._servers.kafka.bootstrap_servers, topic, found, partitions)

    def cost(self, name: str, records: int) -> Cost:
        topic = PATHS[name][0]
        million = records / 1e6
        arguments = [self._servers.kafka.bootstrap_servers, topic, str(PARTITIONS), str(records // PARTITIONS)]
        baseline = [sys.executable, str(REPOSITORY / "bench" / "baseline.py"), *arguments]
        base = measure(baseline, self._servers.environment)
        few = self.run(name, f"{topic}-few", PARTITIONS, FEW)
        full = self.run(name, topic, PARTITIONS, records)
        written = int(full.output.rsplit("bytes", 1)[1])
        steady = (full.cpu_s - few.cpu_s) / (million - FEW / 1e6)
        return Cost(steady, full.cpu_s / million, base.cpu_s / million, written, full.rss_own)

    def run(
        self,
        name: str,
        topic: str,
        partitions: int,
        records: int,
        flush_size: int = 100_000,
        root: Path = REPOSITORY,
    ) -> Measured:
        """One task over a whole topic, into a bucket of its own, by the engine in the checkout at `root`."""
        self._runs += 1
        bucket = f"task-{self._runs}"
        self._servers.s3.create_bucket(bucket)
        file = self._servers.folder / f"{bucket}.properties"
        file.write_text(self._properties(bucket, topic, flush_size) + self._path(name))
        # Without its own folder in the path, so that PYTHONPATH alone says whose engine it is.
        task = [sys.executable, "-P", str(root / "bench" / "one_task.py")]
        command = [*task, str(file), topic, str(partitions), str(records // partitions)]
        measured = measure(command, {**self._servers.environment, "PYTHONPATH": str(root / "jobs")})
        client = self._servers.s3.client()  # moto keeps every object in memory: give it back
        for key in self._servers.s3.keys(bucket):
            client.delete_object(Bucket=bucket, Key=key)
        return measured

    def _path(self, name: str) -> str:
        properties = PATHS[name][1].replace("{registry}", self._registry.url)
        return properties.replace("{schema}", str(self._schema))

    def _properties(self, bucket: str, topic: str, flush_size: int) -> str:
        return (
            f"name={bucket}\ntopics={topic}\ntasks.max=1\ns3.bucket.name={bucket}\ns3.region=us-east-1\n"
            f"store.url={self._servers.s3.endpoint_url}\nstorage.class=io.confluent.connect.s3.storage.S3Storage\n"
            f"flush.size={flush_size}\nconnector.class=io.confluent.connect.s3.S3SinkConnector\n"
            f"consumer.override.bootstrap.servers={self._servers.kafka.bootstrap_servers}\n"
        )

    def _register(self, topic: str, schema: object) -> int:
        return self._register_text(topic, json.dumps(schema), "AVRO")

    def _register_text(self, topic: str, text: str, kind: str) -> int:
        from confluent_kafka.schema_registry import Schema

        return self._registry.client().register_schema(f"{topic}-value", Schema(text, kind))
