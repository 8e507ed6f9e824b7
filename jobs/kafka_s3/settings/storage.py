"""The part of the sink's properties that it shares with other storage sinks: where objects go, and their paths."""

from __future__ import annotations

from typing import Final

from kafka_s3.settings import checks
from kafka_s3.settings.properties import REQUIRED, Choice, Kind, Only, Property

_STORAGE: Final = "io.confluent.connect.storage"

DEFAULT_PARTITIONER: Final = f"{_STORAGE}.partitioner.DefaultPartitioner"
FIELD_PARTITIONER: Final = f"{_STORAGE}.partitioner.FieldPartitioner"
TIME_PARTITIONER: Final = f"{_STORAGE}.partitioner.TimeBasedPartitioner"
DAILY_PARTITIONER: Final = f"{_STORAGE}.partitioner.DailyPartitioner"
HOURLY_PARTITIONER: Final = f"{_STORAGE}.partitioner.HourlyPartitioner"
TIME_BASED: Final = (TIME_PARTITIONER, DAILY_PARTITIONER, HOURLY_PARTITIONER)

_PARTITIONERS = tuple(
    Choice(name, (f"io.confluent.connect.hdfs.partitioner.{name.rpartition('.')[2]}",))
    for name in (DEFAULT_PARTITIONER, FIELD_PARTITIONER, *TIME_BASED)
)
_EXTRACTORS = tuple(
    Choice(name, (f"{TIME_PARTITIONER}${name}TimestampExtractor",)) for name in ("Wallclock", "Record", "RecordField")
)

TIME: Final = Only("partitioner.class", TIME_BASED, "only time-based partitioners read it, as in the sink")
_FORMATTED = Only("partitioner.class", (TIME_PARTITIONER,), "only TimeBasedPartitioner reads it, as in the sink")
_BY_FIELD = Only("partitioner.class", (FIELD_PARTITIONER,), "only FieldPartitioner reads it")
_BY_FIELD_TIME = Only("timestamp.extractor", ("RecordField",), "only timestamp.extractor=RecordField reads it")

PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        "storage.class",
        Kind.CLASS,
        REQUIRED,
        "Where objects go: S3.",
        choices=(Choice("io.confluent.connect.s3.storage.S3Storage"),),
    ),
    Property(
        "topics.dir",
        Kind.STRING,
        "topics",
        "First part of every data key; blank leaves it out.",
        check=checks.data_folder,
        shapes=True,
    ),
    Property("store.url", Kind.STRING, None, "Another S3 endpoint than Amazon's.", check=checks.store_url),
    Property("directory.delim", Kind.STRING, "/", "Between the parts of a key.", check=checks.not_blank, shapes=True),
    Property("file.delim", Kind.STRING, "+", "Between topic, partition, offset.", check=checks.file_delim, shapes=True),
    Property(
        "partitioner.class",
        Kind.CLASS,
        DEFAULT_PARTITIONER,
        "What makes a record's path.",
        choices=_PARTITIONERS,
        shapes=True,
        own=True,
    ),
    Property(
        "partition.field.name",
        Kind.LIST,
        (),
        "Fields of the value that make the path, in this order; nested ones as a.b.",
        check=checks.field_path,
        shapes=True,
        only=_BY_FIELD,
    ),
    Property(
        "partition.duration.ms",
        Kind.LONG,
        -1,
        "Span of time of a path; it begins at multiples of it in local time.",
        check=checks.duration,
        shapes=True,
        only=_FORMATTED,
    ),
    Property(
        "path.format", Kind.STRING, "", "Joda-Time pattern of the path.", untrimmed=True, shapes=True, only=_FORMATTED
    ),
    Property(
        "locale",
        Kind.STRING,
        "",
        "Language of names in the path, as a tag: en, pt-BR.",
        check=checks.locale,
        shapes=True,
        only=TIME,
    ),
    Property("timezone", Kind.STRING, "", "Zone of the schedule and of paths.", check=checks.timezone, shapes=True),
    Property(
        "timestamp.extractor",
        Kind.STRING,
        "Wallclock",
        "The time that makes the path: Wallclock (the run's logical time), Record or RecordField.",
        choices=_EXTRACTORS,
        shapes=True,
        own=True,
        only=TIME,
    ),
    Property(
        "timestamp.field",
        Kind.STRING,
        "timestamp",
        "Field of the value that holds the time; nested as a.b.",
        check=checks.field_path,
        shapes=True,
        only=_BY_FIELD_TIME,
    ),
)
