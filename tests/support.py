"""Settings and records that many tests need."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from typing import Any

from kafka_s3.events import Tell
from kafka_s3.log.entries import Entry, Interval, ObjectEntry
from kafka_s3.log.store import open_log
from kafka_s3.naming import KeyLayout
from kafka_s3.plan.batch import RunRequest
from kafka_s3.records import Record
from kafka_s3.sentences import sentence
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.formats import Compression, FileSettings, Format, NoCompression
from kafka_s3.settings.kafka import KafkaSettings
from kafka_s3.settings.model import Settings
from kafka_s3.settings.paths import DefaultPartitioner, Partitioner, SchemaAffix
from kafka_s3.settings.properties import UserDefined
from kafka_s3.settings.run import Limits, Policies
from kafka_s3.settings.s3 import S3Settings
from kafka_s3.settings.schedule import ScheduleSettings
from kafka_s3.settings.values import FormatSettings, NullValues
from tools.parts.s3 import S3Server

HOUR_MS = 3_600_000
#: A connector's properties with nothing but what has no default.
MINIMAL = {
    "name": "orders",
    "topics": "orders",
    "s3.bucket.name": "archive",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    "flush.size": "3",
}
_DEFAULT = DefaultPartitioner()
_STRICT = Policies()
LATER_MS = 10**15  # a clock far ahead of every timestamp in a test


def hear(lines: list[str]) -> Tell:
    """Keeps the sentences of what is told."""
    return lambda event: lines.append(sentence(event))


def make_settings(
    *,
    name: str = "orders",
    topics: tuple[str, ...] = ("orders",),
    topics_regex: str | None = None,
    converter: Converter = Converter.JSON,
    format: Format | UserDefined = Format.JSON,
    compression: Compression = NoCompression(),
    null_values: NullValues = NullValues.FAIL,
    tolerate: bool = False,
    flush_size: int = 3,
    part_size: int = 26214400,
    tasks_max: int = 2,
    range_records_max: int = 1_000_000,
    batch_records_max: int = 20_000_000,
    batch_bytes_max: int = 2**34,
    catchup: int = 168,
    start: str = "earliest",
    s3: S3Settings | None = None,
    kafka: KafkaSettings | None = None,
    layout: KeyLayout = KeyLayout(),
    partitioner: Partitioner = _DEFAULT,
    schema_affix: SchemaAffix = SchemaAffix.NONE,
    open_objects_max: int = 300,
    object_bytes_max: int | None = None,
    rotate_interval_ms: int | None = None,
    policies: Policies = _STRICT,
) -> Settings:
    """Settings of a connector, as `load` would make them; the hash stands for what shapes bytes."""
    shape = (converter, format, compression, null_values, tolerate, flush_size, part_size, layout, partitioner)
    return Settings(
        name=name,
        topics=topics,
        topics_regex=topics_regex,
        tolerate_bad_records=tolerate,
        format=FormatSettings(ConverterSettings(converter), FileSettings(format, compression), null_values=null_values),
        partitioner=partitioner,
        schema_affix=schema_affix,
        limits=Limits(
            flush_size,
            part_size,
            tasks_max,
            range_records_max,
            batch_records_max,
            batch_bytes_max,
            catchup,
            open_objects_max,
            object_bytes_max,
            rotate_interval_ms,
        ),
        layout=layout,
        log_root="_kafka_s3",
        s3=s3 or S3Settings("bucket", "us-east-1"),
        kafka=kafka or KafkaSettings({}, start=start),
        schedule=ScheduleSettings(),
        resolved={"flush.size": str(flush_size)},
        configuration_sha256=str(shape),
        policies=policies,
    )


def request(
    run_id: str = "run",
    *,
    try_number: int = 1,
    interval: tuple[int, int] | None = None,
    now_ms: int = LATER_MS,
    planned_apart: bool = False,
) -> RunRequest:
    """A run's request; without an interval it goes up to what can be read now."""
    times = Interval(*interval) if interval else None
    return RunRequest(run_id, try_number, times, now_ms, planned_apart=planned_apart)


def identified(tp_partition: int, offset: int, *, timestamp_ms: int = 0) -> Record:
    """A record whose value says where it came from."""
    return Record(offset, json.dumps({"p": tp_partition, "o": offset}).encode(), timestamp_ms=timestamp_ms)


def differing(found: Mapping[str, bytes], expected: Mapping[str, bytes]) -> list[str]:
    """The keys of objects of `found` that do not hold what is expected, whatever they look like compressed."""
    return [key for key in sorted(found) if key not in expected or plain(found[key]) != plain(expected[key])]


def plain(body: bytes) -> bytes:
    """Without gzip, if it is in it."""
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


def entries_of(server: S3Server, bucket: str, connector: str) -> list[Entry]:
    """The log of a connector in a server's bucket, oldest first, its chain of checksums checked."""
    from kafka_s3.adapters.s3 import S3Store

    settings = S3Settings(
        bucket,
        server.region,
        server.endpoint_url,
        access_key_id=server.access_key,
        secret_access_key=server.secret_key,
    )
    return [each.entry for each in open_log(S3Store(settings), "_kafka_s3", connector).entries()][::-1]


def rows_of(body: bytes, key: str) -> list[dict[str, Any]]:
    """The JSON values of an object."""
    data = gzip.decompress(body) if key.endswith(".gz") else body
    return [json.loads(line) for line in data.decode().splitlines()]


def objects_of(entries: Iterable[Any]) -> list[ObjectEntry]:
    """Every object that some committed entries list."""
    return [made for committed in entries for done in committed.entry.ranges for made in done.objects]
