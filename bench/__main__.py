"""Measure the export against the baseline, in one run, and print the ratios.

CPU is that of the whole process tree (JVM, driver, Python workers) beyond start-up, which is the same job on a topic
of a few records. Brokers and stores are other trees. Nothing here passes or fails but memory: machines differ, ratios
less so.
"""

import argparse
import cProfile
import os
import pstats
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from bench.fixed import fixed
from bench.formats import Servers, formats, memory
from bench.measure import Measured, measure
from bench.one_task import tasks_of
from bench.output import console, spread
from bench.records import PARTITIONS, produce, values
from bench.small_runs import small_runs
from kafka_s3.settings import Lookups, load, read_text
from kafka_s3.spark.connect_server import ConnectServer
from kafka_s3.spark.submit import LOCAL_CONF, driver_environment
from kafka_s3.wiring import export_ranges
from tools.parts.java import find_java
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer, S3Server
from tools.parts.spark import SparkConnectServer

REPOSITORY = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
_HOURLY = "partitioner.class=HourlyPartitioner\nlocale=en\ntimezone=Europe/Berlin\n"
PARTITIONERS = {
    "Hourly, Record": f"{_HOURLY}timestamp.extractor=Record\n",
    "Hourly, RecordField": f"{_HOURLY}timestamp.extractor=RecordField\ntimestamp.field=at\n",
    "Field": "partitioner.class=FieldPartitioner\npartition.field.name=ok\n",
}
FORMATS = {
    "ByteArray": (
        "io.confluent.connect.s3.format.bytearray.ByteArrayFormat",
        "org.apache.kafka.connect.converters.ByteArrayConverter",
    ),
    "JSON": ("io.confluent.connect.s3.format.json.JsonFormat", "org.apache.kafka.connect.json.JsonConverter"),
}
PARTS = ("start", "exports", "partitioners", "formats", "memory", "fixed", "flood")


def main() -> int:
    """Produce, warm up, measure in turn, print."""
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", choices=PARTS, help="one part of it")
    parser.add_argument("--path", default="", help="of formats, those whose name has this word")
    parser.add_argument("--against", metavar="COMMIT", help="only `formats`, in turn with the engine of that commit")
    parser.add_argument("--profile", action="store_true", help="only say where the time of one task goes")
    arguments = parser.parse_args()
    with KafkaBroker() as kafka, MotoServer() as s3, tempfile.TemporaryDirectory() as folder:
        bench = Bench(kafka, s3, Path(folder), arguments.records)
        if arguments.against:
            from bench.paired import paired

            servers = Servers(kafka, s3, bench.folder, bench.environment)
            paired(servers, arguments.against, arguments.records, arguments.repetitions, arguments.path)
            return 0
        spark = {"start": bench.spark_start, "exports": bench.exports, "partitioners": bench.partitioners}
        if arguments.profile or arguments.only in (None, *spark):
            bench.prepare()
        if arguments.profile:
            profile(bench)
            return 0
        for name, part in spark.items():
            if arguments.only in (None, name):
                part(arguments.repetitions)
        servers = Servers(kafka, s3, bench.folder, bench.environment)
        if arguments.only in (None, "formats"):
            formats(servers, arguments.records, arguments.repetitions, arguments.path)
        if arguments.only in (None, "memory"):
            memory(servers, arguments.records, arguments.repetitions)
        if arguments.only in (None, "fixed"):
            small_runs(bench, arguments.repetitions)
            fixed(kafka, arguments.repetitions)
            from bench.page import NoChromium, page  # needs a browser's driver, which nothing else here does

            try:
                page(arguments.repetitions)
            except NoChromium as missing:
                console.print(str(missing))
        if arguments.only in (None, "flood"):
            from bench.flood import flood

            flood()
    return 0


class Bench:
    """The servers, the two topics and the commands."""

    def __init__(self, kafka: KafkaBroker, s3: S3Server, folder: Path, records: int) -> None:
        self.kafka, self.s3, self.folder, self.records = kafka, s3, folder, records
        self.environment = {
            **driver_environment(os.environ, folder, local=True),
            "JAVA_HOME": str(find_java().home),
            "KAFKA_S3_BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
            "AWS_ACCESS_KEY_ID": s3.access_key,
            "AWS_SECRET_ACCESS_KEY": s3.secret_key,
        }
        self.runs = 0

    def prepare(self) -> None:
        """The topics: one of `records`, one of a few."""
        for topic in ("full", "few"):
            self.kafka.create_topic(topic, PARTITIONS)
        mean = produce(self.kafka.bootstrap_servers, "full", values(self.records))
        produce(self.kafka.bootstrap_servers, "few", values(PARTITIONS))
        console.print(f"{self.records:,} records of {mean:.0f} bytes in {PARTITIONS} partitions, local[2]")

    def without_spark(self, *arguments: str) -> Measured:
        """The plain process that does a small plan beside Airflow's task."""
        job = str(REPOSITORY / "jobs" / "export.py")
        return measure([sys.executable, job, "--without-spark", *arguments], self.environment)

    def over_connect(self, server: SparkConnectServer, *arguments: str) -> Measured:
        """The plain process that has a large plan done by a Spark Connect server."""
        environment = {**self.environment, **ConnectServer.parse(server.url).to_environment()}
        return measure(
            [sys.executable, str(REPOSITORY / "jobs" / "export.py"), "--spark-connect", *arguments], environment
        )

    def submit(self, script: Path | str, *arguments: str, until: str = "") -> Measured:
        """spark-submit as the operator does it."""
        options = [each for name, value in LOCAL_CONF.items() for each in ("--conf", f"{name}={value}")]
        command = [str(BIN / "spark-submit"), "--master", "local[2]", *options, str(script), *arguments]
        return measure(command, self.environment, until=until)

    def connector(self, topic: str, format: str, compression: str, more: str = "") -> tuple[str, Path]:
        """A connector with a bucket of its own, so that everything is new to it: its name and its file."""
        self.runs += 1
        name = f"bench-{self.runs}"
        format_class, converter = FORMATS[format]
        self.s3.create_bucket(name)
        file = self.folder / f"{name}.properties"
        file.write_text(
            f"name={name}\ntopics={topic}\ntasks.max=2\ns3.bucket.name={name}\ns3.region=us-east-1\n"
            f"aws.access.key.id={self.s3.access_key}\naws.secret.access.key={self.s3.secret_key}\n"
            f"store.url={self.s3.endpoint_url}\nstorage.class=io.confluent.connect.s3.storage.S3Storage\n"
            f"format.class={format_class}\nvalue.converter={converter}\nvalue.converter.schemas.enable=false\n"
            f"s3.compression.type={compression}\nflush.size=100000\n"
            f"connector.class=io.confluent.connect.s3.S3SinkConnector\n"
            f"consumer.override.bootstrap.servers={self.kafka.bootstrap_servers}\n{more}"
        )
        return name, file

    def export(self, topic: str, format: str, compression: str, more: str = "") -> Measured:
        """One whole run as a Spark application; `more` are further properties."""
        name, connector = self.connector(topic, format, compression, more)
        job = REPOSITORY / "jobs" / "export.py"
        measured = self.submit(job, "--connector", str(connector), "--run-id", name, until="commit ")
        client = self.s3.client()  # moto keeps every object in memory: give it back
        for key in self.s3.keys(name):
            client.delete_object(Bucket=name, Key=key)
        return measured

    def baseline(self) -> Measured:
        """Every record of the full topic, read and thrown away."""
        per_partition = str(self.records // PARTITIONS)
        arguments = [self.kafka.bootstrap_servers, "full", str(PARTITIONS), per_partition]
        return measure([sys.executable, str(REPOSITORY / "bench" / "baseline.py"), *arguments], self.environment)

    def spark_start(self, repetitions: int) -> None:
        """spark-submit until its first records are committed, beside a bare SparkContext with one empty job."""
        ratios, ours, bares = [], [], []
        for _ in range(repetitions):
            bare = self.submit(REPOSITORY / "bench" / "bare_spark.py", until="first job done").first_line_s
            full = self.export("few", "JSON", "gzip")
            assert bare is not None
            assert full.first_line_s is not None
            bares.append(bare)
            ours.append(full.first_line_s)
            ratios.append(full.first_line_s / bare)
        console.print(
            f"start to the first commit: {spread(ours)} s; a bare SparkContext with one empty job: {spread(bares)} s; "
            f"ratio {spread(ratios)}"
        )

    def exports(self, repetitions: int) -> None:
        """Every format and compression, each beside a baseline taken right before it."""
        kinds = [(format, compression) for format in FORMATS for compression in ("none", "gzip")]
        million = self.records / 1e6
        rows: dict[tuple[str, str], list[Row]] = {kind: [] for kind in kinds}
        for _ in range(repetitions):
            for kind in kinds:
                rows[kind].append(Row(million, self.baseline(), self.export("few", *kind), self.export("full", *kind)))
                console.print(f"  {' '.join(kind)}: {rows[kind][-1].ratio:.2f}x")
        heads = ("records/s", "CPU s / M", "from launch", "workers", "baseline", "ratio", "task RSS MiB")
        table = Table("format", "compression", *heads)
        for (format, compression), found in rows.items():
            table.add_row(
                format,
                compression,
                spread([self.records / row.full.wall_s for row in found], 0),
                spread([row.cpu_s for row in found]),
                spread([row.full.cpu_s / million for row in found]),
                spread([row.workers_s for row in found]),
                spread([row.base_s for row in found]),
                spread([row.ratio for row in found]),
                f"{max(row.full.rss_max for row in found) / 2**20:.0f}",
            )
        startups = [row.few.cpu_s for found in rows.values() for row in found]
        console.print(f"start-up, not in the table: {spread(startups, 1)} CPU s; all figures min/median/max")
        console.print(table)

    def partitioners(self, repetitions: int) -> None:
        """JSON under other partitioners, each beside the default one, taken right before it."""
        million = self.records / 1e6
        table = Table("partitioner, JSON none", "CPU s / M in workers", "DefaultPartitioner", "ratio")
        rows: dict[str, list[tuple[float, float]]] = {name: [] for name in PARTITIONERS}
        few = statistics.median(self.export("few", "JSON", "none").workers_cpu_s for _ in range(repetitions))
        for _ in range(repetitions):
            for name, more in PARTITIONERS.items():
                default = self.export("full", "JSON", "none").workers_cpu_s
                other = self.export("full", "JSON", "none", more).workers_cpu_s
                rows[name].append(((other - few) / million, (default - few) / million))
                console.print(f"  {name}: {rows[name][-1][0] / rows[name][-1][1]:.2f}x DefaultPartitioner")
        for name, found in rows.items():
            others, defaults = (list(column) for column in zip(*found, strict=True))
            table.add_row(name, spread(others), spread(defaults), spread([other / default for other, default in found]))
        console.print(table)


@dataclass(frozen=True, slots=True)
class Row:
    """An export, and what was measured right before it: the baseline, and the same export of a few records.

    `cpu_s`, `workers_s` (the part of it in Python workers) and `base_s` are CPU seconds per million records.
    """

    million: float
    base: Measured
    few: Measured
    full: Measured

    @property
    def base_s(self) -> float:
        return self.base.cpu_s / self.million

    @property
    def cpu_s(self) -> float:
        return (self.full.cpu_s - self.few.cpu_s) / self.million

    @property
    def workers_s(self) -> float:
        return (self.full.workers_cpu_s - self.few.workers_cpu_s) / self.million

    @property
    def ratio(self) -> float:
        return self.cpu_s / self.base_s


def profile(bench: Bench) -> None:
    """What a task does, function by function, in this process and without Spark."""
    end = bench.records // PARTITIONS
    for format in FORMATS:
        _, connector = bench.connector("full", format, "gzip")
        lookups = Lookups(env=bench.environment, read_file=read_text)
        aws = {"aws_access_key_id": bench.s3.access_key, "aws_secret_access_key": bench.s3.secret_key}
        settings = load(connector, lookups=lookups, aws_connection=aws).settings
        profiler = cProfile.Profile()
        profiler.runcall(export_ranges, settings, tasks_of(settings, "full", PARTITIONS, end))
        console.print(f"{format} gzip, {bench.records:,} records:")
        pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(12)


if __name__ == "__main__":
    began = time.monotonic()
    status = main()
    console.print(f"{time.monotonic() - began:.0f} s in all")
    sys.exit(status)
