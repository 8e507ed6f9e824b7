"""What small connectors cost one by one, and as a group: the drivers that Airflow would start, without Airflow's tasks.

    .venv/bin/python -m bench.group --connectors 8 --records 1000 [--spark] [--group-only]

Each connector has new records. One by one: a driver for each, one after the other, which is what their DAGs start.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from rich.table import Table

from bench.measure import Measured, measure
from bench.output import console
from bench.records import PARTITIONS, produce, values
from kafka_s3.spark.driver_context import GroupContext, Member
from kafka_s3.spark.submit import LOCAL_CONF, application_path, driver_environment
from tools.parts.java import find_java
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer

REPOSITORY = Path(__file__).resolve().parents[1]


def main() -> None:
    """Produce, run both, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.group")
    parser.add_argument("--connectors", type=int, default=8)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--group-only", action="store_true", help="leave out what is run one by one")
    parser.add_argument("--spark", action="store_true", help="every plan on Spark (local[2])")
    arguments = parser.parse_args()
    with KafkaBroker() as kafka, MotoServer() as store, tempfile.TemporaryDirectory() as folder:
        bench = GroupBench(kafka, store, Path(folder), arguments.records, spark=arguments.spark)
        members = [bench.add(f"c{number}") for number in range(arguments.connectors)]
        bench.run(["--connector", members[0].path], {})  # the interpreter's caches, the bucket
        ones: list[Measured] = []
        if not arguments.group_only:
            bench.produce(members)
            ones = [bench.run(["--connector", each.path], {}) for each in members]
        bench.produce(members)
        group = bench.run(["--group", "bench"], GroupContext(tuple(members)).to_environment())
    for each in (*ones, group):
        assert '"commit_written"' in each.output, each.output[-3000:]
    assert group.output.count('"commit_written"') == len(members), group.output[-3000:]
    where = "on Spark" if arguments.spark else "without Spark"
    table = Table(
        f"{len(members)} connectors, {arguments.records} new records each, {where}", "wall s", "CPU s", "MB", "files"
    )
    for name, found in (("one by one", ones), ("as a group", [group])):
        if not found:
            continue
        table.add_row(
            name,
            f"{sum(each.wall_s for each in found):.1f}",
            f"{sum(each.cpu_s for each in found):.1f}",
            f"{max(each.rss_own + each.rss_max for each in found) / 1e6:.0f}",
            str(max(each.files_max for each in found)),
        )
    console.print(table)


class GroupBench:
    """Connectors over topics of their own, in one bucket."""

    def __init__(self, kafka: KafkaBroker, store: MotoServer, folder: Path, records: int, *, spark: bool) -> None:
        self.kafka = kafka
        self.store = store
        self.folder = folder
        self.records = records
        self.spark = spark
        store.create_bucket("group")

    def add(self, name: str) -> Member:
        text = (REPOSITORY / "connectors" / "orders.properties").read_text()
        given = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
        given |= {"name": name, "topics": name, "s3.bucket.name": "group", "store.url": self.store.endpoint_url}
        given |= {"aws.access.key.id": self.store.access_key, "aws.secret.access.key": self.store.secret_key}
        given |= {"consumer.override.bootstrap.servers": self.kafka.bootstrap_servers, "export.group": "bench"}
        given["export.spark.records.min"] = "0" if self.spark else "1000000"
        self.kafka.create_topic(name, PARTITIONS)
        path = self.folder / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
        return Member(name, str(path))

    def produce(self, members: list[Member]) -> None:
        for each in members:
            produce(self.kafka.bootstrap_servers, each.name, values(self.records))

    def run(self, what: list[str], context: dict[str, str]) -> Measured:
        """The driver as Airflow's operator starts it."""
        environment = driver_environment(os.environ, self.folder, local=True) | context
        environment["JAVA_HOME"] = str(find_java().home) if self.spark else ""
        arguments = ["--run-id", f"bench-{time.time_ns()}", "--events", "json", *what]
        if not self.spark:
            return measure([sys.executable, str(application_path()), "--without-spark", *arguments], environment)
        conf = [part for name, value in LOCAL_CONF.items() for part in ("--conf", f"{name}={value}")]
        submit = [str(Path(sys.executable).parent / "spark-submit"), "--master", "local[2]", *conf]
        return measure([*submit, str(application_path()), *arguments], environment)


if __name__ == "__main__":
    main()
