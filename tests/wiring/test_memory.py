"""A task's memory is bounded by configuration and by nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer

ROOT = Path(__file__).resolve().parents[2]
RECORDS = 2_000_000
RSS_MIB_MAX = 512

#: The work of one Spark task in a process of its own: one range, written under the real formats and limits.
TASK = """
import json, re, sys
from kafka_s3.log.entries import PlannedRange
from kafka_s3.export.task import RangeTask
from kafka_s3.ports import PartitionOffsets
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.formats import Format, Gzip
from kafka_s3.settings.kafka import KafkaSettings
from kafka_s3.settings.s3 import S3Settings
from kafka_s3.wiring import export_ranges
from tests.support import make_settings

given = json.loads(sys.argv[1])
settings = make_settings(
    topics=(given["topic"],),
    compression=Gzip(),
    flush_size=given["flush_size"],
    s3=S3Settings(given["bucket"], "us-east-1", given["store"], True, "testing", "testing"),
    kafka=KafkaSettings({"bootstrap.servers": given["brokers"]}),
)
end = given["records"]
task = RangeTask(PlannedRange(given["topic"], 0, 0, end), 0, 0, PartitionOffsets(0, end, end))
(result,) = export_ranges(settings, [task])
assert result.failure is None, result.failure
print(json.dumps({
    "records": result.entry.records,
    "objects": len(result.entry.objects),
    "bytes": result.entry.bytes,
    # not ru_maxrss, which begins with what the process had before exec: pytest's own
    "rss_mib": int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024,
}))
"""


def _fill(broker: KafkaBroker, topic: str) -> None:
    """2 M records of about 200 bytes, hardly compressible in parts, as events are."""
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "compression.type": "lz4",
        "linger.ms": 50,
        "batch.size": 1_000_000,
        "queue.buffering.max.messages": 500_000,
    }
    producer = Producer(settings)
    text = "".join(chr(97 + (n * 7919) % 26) for n in range(400))
    for n in range(RECORDS):
        value = b'{"id":%d,"user":"u%d","amount":%d.%02d,"text":"%s"}' % (
            n,
            n * 2654435761 % 1_000_003,
            n % 977,
            n % 100,
            text[n % 256 : n % 256 + 140].encode(),
        )
        while True:
            try:
                producer.produce(topic, value, partition=0)
                break
            except BufferError:
                producer.poll(0.1)
        if n % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


@pytest.fixture(scope="module")
def topic(kafka: KafkaBroker) -> str:
    kafka.create_topic("memory", 1)
    _fill(kafka, "memory")
    return "memory"


@pytest.mark.heavy
@pytest.mark.parametrize("flush_size", [20_000, RECORDS], ids=["many objects", "one object"])
def test_one_task_stays_below_512_mib(
    kafka: KafkaBroker, moto: MotoServer, topic: str, bucket_name: str, flush_size: int
) -> None:
    """A range of 2 M records takes one process less than 512 MiB, in 100 objects or in one that goes out in parts."""
    moto.create_bucket(bucket_name)
    given = {
        "topic": topic,
        "records": RECORDS,
        "flush_size": flush_size,
        "bucket": bucket_name,
        "store": moto.endpoint_url,
        "brokers": kafka.bootstrap_servers,
    }
    ran = subprocess.run(
        [sys.executable, "-c", TASK, json.dumps(given)],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'jobs'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    measured = json.loads(ran.stdout)
    print(measured)  # noqa: T201  # pytest shows it with -s
    assert (measured["records"], measured["objects"]) == (RECORDS, RECORDS // flush_size)
    assert measured["bytes"] > 150 * RECORDS
    assert measured["rss_mib"] < RSS_MIB_MAX
