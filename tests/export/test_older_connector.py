"""The configuration of the older Block-GZIP connector, unchanged, through whole runs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.plan.results import RangeResult
from kafka_s3.records import Record
from kafka_s3.settings import from_mapping
from kafka_s3.verify.verify import Kafka, verify
from tests.support import objects_of, request

#: 2016-02-24, the day of the older page's example tree.
DAY_MS = 1_456_272_000_000
HOUR_MS = 3_600_000
CONFIGURATION = {
    "name": "connect-s3",
    "connector.class": "com.deviantart.kafka_connect_s3.S3SinkConnector",
    "tasks.max": "1",
    "topics": "system-test",
    "s3.bucket": "connect-system-test",
    "s3.prefix": "systest",
    "local.buffer.dir": "/tmp/connect-system-test",
    "compressed_block_size": "65536",
}


class OlderConnector:
    """A bucket, a broker with the example's three partitions, and runs of one hour each."""

    def __init__(self) -> None:
        self.settings = from_mapping(CONFIGURATION, offline=True).settings
        self.store, self.broker = MemoryStore(), MemoryBroker()
        self.broker.create_topic("system-test", 3)

    def produce(self, partition: int, first: int, count: int) -> None:
        for offset in range(first, first + count):
            value = json.dumps({"partition": partition, "offset": offset}).encode()
            self.broker.append("system-test", partition, Record(offset, value, timestamp_ms=DAY_MS + offset))

    def run(self, number: int) -> None:
        interval = (DAY_MS + number * HOUR_MS, DAY_MS + (number + 1) * HOUR_MS)
        report = run(self.exporter, request(f"run-{number}", interval=interval), self.execute, lambda _: None)
        assert report.problems() == []

    @property
    def exporter(self) -> Exporter:
        return Exporter(self.settings, self.store, self.broker)

    def execute(self, tasks: Sequence[RangeTask]) -> list[RangeResult]:
        return [export_range(self.settings, task, self.store, self.broker) for task in tasks]

    def data_keys(self) -> list[str]:
        return sorted(key for key in self.store.contents() if key.startswith("systest/"))


def test_the_examples_tree_comes_out_of_runs() -> None:
    """Ranges of 100 records, run by run, make the tree that the older page shows; object and index in one commit."""
    world = OlderConnector()
    for number, first in enumerate((0, 100, 200)):
        world.produce(0, first, 100)
        if number == 0:
            world.produce(1, 0, 100)
            world.produce(2, 0, 100)
        world.run(number)
    names = [f"00000-{first:012d}" for first in (0, 100, 200)] + ["00001-000000000000", "00002-000000000000"]
    expected = [f"systest/2016-02-24/system-test-{name}.{end}" for name in names for end in ("gz", "index.json")]
    assert world.data_keys() == expected
    for made in objects_of(world.exporter.log.entries()):
        (index,) = made.companions
        assert (index.what, index.key) == ("index", made.key.removesuffix(".gz") + ".index.json")
        lines = gzip.decompress(world.store.contents()[made.key]).splitlines()
        (chunk,) = json.loads(world.store.contents()[index.key])["chunks"]
        assert len(lines) == made.records == chunk["num_records"] == 100
        assert json.loads(lines[0])["offset"] == made.first_offset == chunk["first_record_offset"]


def test_verify_knows_its_names() -> None:
    """Objects under the older names are read, compared with Kafka, and told from orphans."""
    world = OlderConnector()
    world.produce(0, 0, 10)
    world.run(0)
    orphan = "systest/2016-02-24/system-test-00000-000000000003.gz"
    world.store.put_if_absent(orphan, b"left behind")
    verified = verify(world.settings, world.exporter.log, Kafka(world.broker, world.broker), tell=lambda _: None)
    assert (verified.findings, verified.objects, verified.records) == ((), 2, 10)
    assert verified.ranges_compared == 1
    assert verified.orphans is not None
    assert [each.key for each in verified.orphans] == [orphan]
