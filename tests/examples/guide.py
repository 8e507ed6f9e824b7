"""Configurations of a guide by themes: one to begin with, fragments, and a complete one at the end."""

from __future__ import annotations

from typing import Final

from tests.examples.example import (
    AT_ONCE,
    AVRO,
    AVRO_FILES,
    BY_HOUR,
    BY_THREES,
    HOURS,
    HOURS_OF_PARQUET,
    JSON,
    NO_PATTERN,
    PARQUET,
    PARQUET_FILES,
    PATTERN,
    PLAIN,
    S3,
    SINK,
    STORAGE,
    Example,
    Properties,
    Runs,
    Wrong,
    hour_folder,
)

PAGE: Final = "S3 Sink Connector"

_REGISTRY: Final = {
    "key.converter": "io.confluent.connect.avro.AvroConverter",
    "key.converter.schema.registry.url": "http://schema-registry:8081",
    "value.converter": "io.confluent.connect.avro.AvroConverter",
    "value.converter.schema.registry.url": "http://schema-registry:8081",
}
_DEAD_LETTERS: Final[Properties] = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": "dlq-s3-sink",
    "errors.deadletterqueue.topic.replication.factor": 3,
}

_BY_FIELDS: Final = {
    "region=eu-west/event_type=click/{t}+0+0000000000.json": (0, 6),
    "region=us-east/event_type=view/{t}+0+0000000001.json": (1, 5, 7),
    "region=us-east/event_type=click/{t}+0+0000000002.json": (2, 4, 8),
    "region=eu-west/event_type=view/{t}+0+0000000003.json": (3,),
}

EXAMPLES: Final = (
    Example(
        "basic",
        PAGE,
        {
            "name": "s3-sink",
            **SINK,
            "tasks.max": "3",
            "topics": "events",
            "s3.bucket.name": "data-lake-bucket",
            "s3.region": "us-east-1",
            "format.class": PARQUET,
            "flush.size": "10000",
            "storage.class": f"{S3}.storage.S3Storage",
            "partitioner.class": f"{STORAGE}.partitioner.TimeBasedPartitioner",
        },
        Wrong({**NO_PATTERN, "value.converter": "a Parquet file needs a schema"}),
    ),
    Example(
        "complete",
        PAGE,
        {
            "name": "events-to-s3",
            **SINK,
            "tasks.max": "6",
            "topics": "events,transactions",
            "s3.bucket.name": "analytics-data-lake",
            "s3.region": "us-east-1",
            "s3.credentials.provider.class": "com.amazonaws.auth.DefaultAWSCredentialsProviderChain",
            "format.class": PARQUET,
            "parquet.codec": "snappy",
            "storage.class": f"{S3}.storage.S3Storage",
            "partitioner.class": f"{STORAGE}.partitioner.TimeBasedPartitioner",
            "path.format": PATTERN,
            "locale": "en-US",
            "timezone": "UTC",
            "partition.duration.ms": "3600000",
            "flush.size": "50000",
            "rotate.interval.ms": "600000",
            "s3.part.size": "52428800",
            **_REGISTRY,
            **_DEAD_LETTERS,
        },
        HOURS_OF_PARQUET,
    ),
    Example(
        "by-time",
        PAGE,
        {
            "partitioner.class": f"{STORAGE}.partitioner.TimeBasedPartitioner",
            "path.format": PATTERN,
            "locale": "en-US",
            "timezone": "UTC",
            "partition.duration.ms": "3600000",
        },
        Runs(BY_HOUR, hours=True),
        PLAIN,
    ),
    Example(
        "by-field",
        PAGE,
        {
            "partitioner.class": f"{STORAGE}.partitioner.FieldPartitioner",
            "partition.field.name": "region,event_type",
        },
        Runs(_BY_FIELDS),
        PLAIN,
    ),
    Example(
        "by-partition",
        PAGE,
        {"partitioner.class": f"{STORAGE}.partitioner.DefaultPartitioner"},
        Runs(BY_THREES),
        PLAIN,
    ),
    Example(
        "role",
        PAGE,
        {"s3.credentials.provider.class": "com.amazonaws.auth.DefaultAWSCredentialsProviderChain"},
        Runs(BY_THREES),
        PLAIN,
    ),
    Example("parquet", PAGE, {"format.class": PARQUET, "parquet.codec": "snappy"}, PARQUET_FILES, PLAIN),
    Example("avro", PAGE, {"format.class": AVRO, "avro.codec": "snappy"}, AVRO_FILES, PLAIN),
    Example("json", PAGE, {"format.class": JSON}, Runs(BY_THREES), PLAIN),
    Example("by-count", PAGE, {"flush.size": "10000"}, Runs(AT_ONCE), PLAIN),
    Example(
        "schedule-without-zone",
        PAGE,
        {"rotate.schedule.interval.ms": "3600000"},
        Wrong({"timezone": "timezone configuration must be set when using rotate.schedule.interval.ms"}),
        PLAIN,
    ),
    Example("schedule", PAGE, {"rotate.schedule.interval.ms": "3600000"}, Runs(BY_HOUR), HOURS),
    Example("by-size", PAGE, {"s3.part.size": "26214400"}, Runs(BY_THREES), PLAIN),
    Example("registry", PAGE, _REGISTRY, Runs(BY_THREES, registered=True), PLAIN),
    Example(
        "no-schema",
        PAGE,
        {
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        },
        Runs(BY_THREES),
        PLAIN,
    ),
    Example(
        "errors",
        PAGE,
        {**_DEAD_LETTERS, "errors.deadletterqueue.context.headers.enable": True, "errors.log.enable": True},
        Runs(BY_THREES, refused=True),
        PLAIN,
    ),
    Example("tasks", PAGE, {"tasks.max": "6"}, Runs(BY_THREES), PLAIN),
    Example(
        "buffers",
        PAGE,
        {"s3.part.size": "52428800", "flush.size": "50000", "rotate.interval.ms": "600000"},
        # Ten minutes lie between two records, so each is the first of an object.
        Runs({f"{hour_folder(10 + n // 6)}/{{t}}+0+{n:010d}.json": (n,) for n in range(9)}),
        HOURS,
    ),
    Example(
        "buffers-by-partition",
        PAGE,
        {"s3.part.size": "52428800", "flush.size": "50000", "rotate.interval.ms": "600000"},
        Runs(AT_ONCE),
        PLAIN,
    ),
    Example("retries", PAGE, {"s3.retry.backoff.ms": "200", "s3.part.retries": "3"}, Runs(BY_THREES), PLAIN),
    Example(
        "glue",
        PAGE,
        {"s3.part.size": "52428800", "schema.compatibility": "FULL"},
        Runs(BY_THREES),
        PLAIN,
    ),
)

#: Keys that a backend for secrets holds: the command line has none, so this one has a test of its own.
SECRET_KEYS: Final = Example(
    "secret-keys",
    PAGE,
    {"aws.access.key.id": "${secrets:aws/access-key}", "aws.secret.access.key": "${secrets:aws/secret-key}"},
    Runs(BY_THREES),
    PLAIN,
)
