"""Alarms of many connectors: the CPU of one look at all of them, beside a task for each connector and kind.

A broker and a store on this machine, and Airflow's connections from the environment. Of each way the work is done in
processes forked from one that has Airflow's SDK imported, as a worker's are; what the scheduler and the api-server do
for a task comes on top, for every one of them:

    .venv/bin/python -m bench.alarms [--connectors 200] [--sample 24]
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from bench.output import console
from kafka_s3_airflow.alarms import Bounds, check
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer

KINDS = (
    Bounds(lag_records_max=50_000_000, lag_max=timedelta(hours=3)),
    Bounds(loss_within=timedelta(hours=1)),
    Bounds(overdue_max=timedelta(hours=1)),
    Bounds(rejected_max=0.01),
)
FILE = """name={name}
connector.class=io.confluent.connect.s3.S3SinkConnector
storage.class=io.confluent.connect.s3.storage.S3Storage
topics={name}-topic
format.class=io.confluent.connect.s3.format.json.JsonFormat
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
s3.bucket.name=bench
flush.size=1000
"""


def measure(connectors: int, sample: int) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name, KafkaBroker() as kafka, MotoServer() as store:
        folder = Path(name)
        store.create_bucket("bench")
        endpoint = {"endpoint_url": store.endpoint_url, "region_name": store.region}
        aws = {"conn_type": "aws", "login": store.access_key, "password": store.secret_key, "extra": endpoint}
        servers = {"bootstrap.servers": kafka.bootstrap_servers}
        os.environ["AIRFLOW_CONN_AWS_DEFAULT"] = json.dumps(aws)
        os.environ["AIRFLOW_CONN_KAFKA_DEFAULT"] = json.dumps({"conn_type": "kafka", "extra": servers})
        paths = [_connector(folder, kafka, f"orders-{number:04}") for number in range(connectors)]
        _forked(lambda: _export(paths, kafka.bootstrap_servers))
        cpu_s, wall_s = _forked(lambda: _look(folder))
        console.print(f"one task for {connectors} connectors: {cpu_s:.1f} CPU s a look, {wall_s:.1f} s")
        tasks = [(path, kind) for path in paths for kind in KINDS]
        step = max(1, len(tasks) // sample)
        spent = [_forked(partial(_check, path, kind))[0] for path, kind in tasks[:: step | 1]]
        mean_s = sum(spent) / len(spent)
        console.print(
            f"a task for each connector and kind: {mean_s:.2f} CPU s a task (of {len(spent)}),"
            f" {len(tasks)} tasks: {mean_s * len(tasks):.0f} CPU s a look"
        )


def _connector(folder: Path, kafka: KafkaBroker, name: str) -> Path:
    kafka.create_topic(f"{name}-topic", 1, {})
    path = folder / f"{name}.properties"
    path.write_text(FILE.format(name=name))
    return path


def _export(paths: list[Path], servers: str) -> None:
    """A few records each, exported, and one that waits."""
    from confluent_kafka import Producer

    from kafka_s3.export.run import run
    from kafka_s3.plan.batch import RunRequest
    from kafka_s3.wiring import make_exporter, make_local_execute
    from kafka_s3_airflow.connections import load_connector

    loaded = [load_connector(path).settings for path in paths]
    producer = Producer({"bootstrap.servers": servers})
    for is_exported in (True, False):
        for settings in loaded:
            producer.produce(f"{settings.name}-topic", b'{"n": 1}')
        producer.flush(60)
        for settings in loaded if is_exported else ():
            request = RunRequest("bench", 1, None, int(time.time() * 1000))
            run(make_exporter(settings), request, make_local_execute(settings), lambda _: None)


def _look(folder: Path) -> None:
    from kafka_s3_airflow.alarm_looks import look_at_all
    from kafka_s3_airflow.dags import connectors_in

    every = Bounds(50_000_000, timedelta(hours=3), timedelta(hours=1), timedelta(hours=1), 0.01)
    found = look_at_all(connectors_in(folder), lambda _: every)
    assert not any(looked.alarms for looked in found.values()), found


def _check(path: Path, kind: Bounds) -> None:
    check(
        path,
        lag_records_max=kind.lag_records_max,
        lag_max=kind.lag_max,
        loss_within=kind.loss_within,
        overdue_max=kind.overdue_max,
        rejected_max=kind.rejected_max,
    )


def _forked(work: Callable[[], None]) -> tuple[float, float]:
    """The CPU and the time of some work in a process of its own."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    assert ended == 0, "the process failed"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, time.perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.alarms")
    parser.add_argument("--connectors", type=int, default=200)
    parser.add_argument("--sample", type=int, default=24)
    arguments = parser.parse_args()
    measure(arguments.connectors, arguments.sample)
