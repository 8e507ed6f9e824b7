"""Records of every size, under every codec, with every kind of timestamp."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.conditions.conftest import Make
from tests.conditions.harness import LiveTopic

pytestmark = pytest.mark.faults

MIB = 1024 * 1024
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BYTES = {
    "format.class": "io.confluent.connect.s3.format.bytearray.ByteArrayFormat",
    "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "export.envelope": "",
    "flush.size": "1",
}


def test_sizes(make_world: Make) -> None:
    """Values from no byte to 20 MiB, far above every fetch limit, are exported byte for byte, one object each."""
    world = make_world(BYTES).create(max_message_bytes=str(25 * MIB))
    sizes = [0, 1, 1023, 20 * MIB, 1, 0, MIB, 5 * MIB + 1, 10 * MIB, 3]
    values = [random.Random(size).randbytes(size) for size in sizes]
    for value in values:
        world.send_bytes(value)
    world.run_well()
    contents = world.store.contents()
    made = [contents[each.key] for each in world.objects()]
    assert [len(body) for body in made] == [size + 1 for size in sizes]  # the line separator
    assert made == [value + b"\n" for value in values]
    _proved(world, len(sizes))


def test_what_a_record_may_lack(make_world: Make) -> None:
    """Key only, headers only, nothing at all, and empty instead of null: each is what it was, exactly once."""
    named = "io.confluent.connect.s3.format.bytearray.ByteArrayFormat"
    world = make_world(
        {
            "behavior.on.null.values": "ignore",
            "export.envelope": "offset,key,headers",
            "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            "store.kafka.keys": "true",
            "keys.format.class": named,
            "store.kafka.headers": "true",
            "headers.format.class": "io.confluent.connect.s3.format.json.JsonFormat",
            "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
        }
    ).create()
    world.send_bytes(b'{"n":0}', key=b"key", headers=[("h", b"1")])
    world.send_bytes(None, key=b"key only")
    world.send_bytes(None, headers=[("headers only", b"1"), ("headers only", None)])
    world.send_bytes(None)
    world.send_bytes(b'{"n":4}', key=b"", headers=[("", b""), ("twice", b"1"), ("twice", b"2")])
    world.run_well()
    assert [(row["n"], row["_kafka_offset"]) for row in world.rows()] == [(0, 0), (4, 4)]
    (done,) = world.ranges()
    assert (done.records, done.tombstones, done.skipped_offsets) == (2, 3, 0)
    _proved(world, 2)


def test_codecs_mixed(world: LiveTopic) -> None:
    """Batches of every compression codec, mixed in one partition, are read alike."""
    producers = {codec: world.producer(**{"compression.type": codec}) for codec in CODECS}
    number = 0
    for _ in range(3):
        for producer in producers.values():
            world.send(*range(number, number + 50), producer=producer)
            number += 50
    world.run_well()
    world.check(range(number))
    assert world.positions() == {0: 750}


@pytest.mark.parametrize("codec", CODECS)
def test_ranges_begin_inside_batches(make_world: Make, codec: str) -> None:
    """A range that begins or ends in the middle of a compressed batch has its own records and no other."""
    world = make_world({"export.range.records.max": "9"}).create()
    world.send(*range(40), producer=world.producer(**{"compression.type": codec}))
    world.run_well()
    world.check(range(40))
    assert len(world.ranges()) == 5


def test_create_time_and_log_append_time(make_world: Make) -> None:
    """With LogAppendTime a record's time is the broker's, whatever its producer says; a topic that is switched to it
    is exported on as before."""
    settings = {"export.envelope": "partition,offset,timestamp"}
    world = make_world(settings).create()
    world.send(0, timestamp_ms=1000)
    world.alter(message_timestamp_type="LogAppendTime")
    world.send(1, timestamp_ms=2000)
    world.run_well()
    world.check([0, 1])
    first, second = (row["_kafka_timestamp"] for row in world.rows())
    assert first == 1000
    assert second > 1_700_000_000_000


BY_HOUR = {
    "partitioner.class": "io.confluent.connect.storage.partitioner.TimeBasedPartitioner",
    "partition.duration.ms": "3600000",
    "path.format": "'hour'=YYYY-MM-dd-HH",
    "locale": "en",
    "timezone": "UTC",
    "timestamp.extractor": "Record",
}


def test_times_from_1970_to_2100(make_world: Make) -> None:
    """By the record's own time, records of 1970, of 2100 and hours out of order lie under their hours, each once."""
    world = make_world(BY_HOUR | {"flush.size": "100"}).create()
    hour = 3_600_000
    times = [1, 4_102_444_800_000, 5 * hour, 2 * hour, 9 * hour, 2 * hour + 1, hour - 1, 253_402_300_799_999]
    for number, at in enumerate(times):
        world.send(number, timestamp_ms=at)
    world.run_well()
    world.check(range(len(times)))
    made = {each.key.split("/")[2].removeprefix("hour="): each.records for each in world.objects()}
    assert made == {
        "1970-01-01-00": 2,
        "1970-01-01-02": 2,
        "1970-01-01-05": 1,
        "1970-01-01-09": 1,
        "2100-01-01-00": 1,
        "9999-12-31-23": 1,
    }


@pytest.mark.parametrize("at", [-1, -2, -315_619_200_000], ids=["none", "-2", "1960"])
def test_without_a_timestamp(make_world: Make, at: int) -> None:
    """Kafka keeps -1, which is not a timestamp, and whatever else is below 0, also times of before 1970: Connect takes
    none of them for a time, and neither does the export, which has the record all the same."""
    world = make_world({"export.envelope": "partition,offset,timestamp"}).create()
    world.send(0, timestamp_ms=1000)
    world.send(1, timestamp_ms=at)
    world.send(2, timestamp_ms=2000)
    world.run_well(interval=(0, 1500), now_ms=10_000)
    world.run_well(interval=(1500, 3000), now_ms=10_000)
    world.check([0, 1, 2])
    assert [row["_kafka_timestamp"] for row in world.rows()] == [1000, None, 2000]


@pytest.mark.parametrize("at", [-1, -315_619_200_000], ids=["none", "1960"])
def test_no_time_to_partition_by(make_world: Make, at: int) -> None:
    """By the record's own time a record without one is a bad record: with tolerance it is kept as a dead letter, and
    no other record is lost."""
    world = make_world(BY_HOUR | {"errors.tolerance": "all"}).create()
    world.send(0, timestamp_ms=1000)
    world.send(1, timestamp_ms=at)
    world.send(2, timestamp_ms=1001)
    world.run_well()
    world.check([0, 2])
    (done,) = world.ranges()
    assert (done.records, done.rejected) == (2, 1)


def _proved(world: LiveTopic, records: int) -> None:
    world.check_accounts()
    verified: Any = world.verified()
    assert [str(finding) for finding in verified.findings] == []
    assert (verified.orphans, verified.records, verified.notes) == ((), records, ())
