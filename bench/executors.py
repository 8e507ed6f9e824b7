"""What a second executor brings: one export on a cluster of one worker with one core, then on one of two.

    .venv/bin/python -m bench.executors [--records 1000000] [--repetitions 3]

The cluster is Spark's own standalone one, the work mostly gzip's. The seconds are those from the start of the first
task to the end of the last, as Spark's event log has them: a start of Spark costs the same on both.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from rich.table import Table

from bench.measure import measure
from bench.output import console, spread
from bench.records import PARTITIONS, produce, values
from kafka_s3.spark.submit import application_path, driver_environment
from tools.parts.java import find_java
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer
from tools.parts.spark import SparkCluster

REPOSITORY = Path(__file__).resolve().parents[1]
TOPIC = "orders"
BUCKET = "executors"


def main() -> None:
    """Produce once, export on both clusters in turn, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.executors")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    seconds: dict[int, list[float]] = {1: [], 2: []}
    with KafkaBroker() as kafka, MotoServer() as store, tempfile.TemporaryDirectory() as folder:
        store.create_bucket(BUCKET)
        kafka.create_topic(TOPIC, PARTITIONS)
        produce(kafka.bootstrap_servers, TOPIC, values(arguments.records))
        for repetition in range(arguments.repetitions):
            for workers in seconds:
                home = Path(folder, f"w{workers}-{repetition}")
                home.mkdir()
                connector = _connector(home, kafka, store, workers)
                with SparkCluster(workers=workers, cores=1, memory="1g") as cluster:
                    seconds[workers].append(_export(connector, cluster, home))
    table = Table(f"{arguments.records} records, JSON with gzip's level 9", "s", "records/s")
    for workers, found in seconds.items():
        rate = arguments.records / min(found)
        table.add_row(f"{workers} executor{'s' * (workers > 1)} of one core", spread(found), f"{rate:,.0f}")
    console.print(table)
    pairs = [one / two for one, two in zip(seconds[1], seconds[2], strict=True)]
    console.print(f"two against one: {spread(pairs)} times as fast")


def _connector(home: Path, kafka: KafkaBroker, store: MotoServer, tasks: int) -> Path:
    text = (REPOSITORY / "connectors" / "orders.properties").read_text()
    given = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    given |= {"name": home.name, "topics": TOPIC, "topics.dir": home.name, "s3.bucket.name": BUCKET}
    given |= {"store.url": store.endpoint_url, "consumer.override.bootstrap.servers": kafka.bootstrap_servers}
    given |= {"aws.access.key.id": store.access_key, "aws.secret.access.key": store.secret_key}
    given |= {"tasks.max": str(tasks), "s3.compression.type": "gzip", "s3.compression.level": "9"}
    given |= {"export.spark.records.min": "0", "flush.size": "200000"}
    path = home / f"{home.name}.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
    return path


def _export(connector: Path, cluster: SparkCluster, home: Path) -> float:
    """Seconds between the start of the first task and the end of the last."""
    events = home / "events"
    events.mkdir()
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
    }
    environment = driver_environment(os.environ, home, local=False)
    environment |= {"JAVA_HOME": str(find_java().home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    asked = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    submit = [str(Path(sys.executable).parent / "spark-submit"), "--master", cluster.master_url, *asked]
    driver = [str(application_path()), "--run-id", home.name, "--events", "json", "--connector", str(connector)]
    output = measure([*submit, *driver], environment).output
    assert '"commit_written"' in output, output[-3000:]
    told = [json.loads(line) for path in events.iterdir() for line in path.read_text().splitlines()]
    tasks = [event["Task Info"] for event in told if event["Event"] == "SparkListenerTaskEnd"]
    assert len({task["Executor ID"] for task in tasks}) == len(cluster.workers), tasks
    return float(max(task["Finish Time"] for task in tasks) - min(task["Launch Time"] for task in tasks)) / 1000


if __name__ == "__main__":
    main()
