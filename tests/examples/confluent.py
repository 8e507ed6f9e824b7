"""Configurations of the sink's own documentation, in its order.

* PAGE: "Kafka Connect Amazon S3 Sink Connector" (docs.confluent.io, kafka-connect-s3).
* OLDER: "S3 Connector", the same page of an older version, whose one configuration lost values on its way here.

What the page names in its text instead of in a listing (a zone, a class, a duration) is a fragment too.
"""

from __future__ import annotations

from typing import Final

from tests.examples.example import (
    AVRO,
    AVRO_FILES,
    BY_HOUR,
    BY_THREES,
    HOURS,
    NO_PATTERN,
    PATTERN,
    PLAIN,
    S3,
    SINK,
    STORAGE,
    Example,
    Runs,
    Wrong,
    hour_folder,
    threes,
)

PAGE: Final = "Kafka Connect Amazon S3 Sink Connector"
OLDER: Final = "S3 Connector"

_QUICK_START: Final = {
    **SINK,
    "tasks.max": "1",
    "topics": "s3_topic",
    "s3.region": "us-west-2",
    "s3.bucket.name": "confluent-kafka-connect-s3-testing",
    "s3.part.size": "5242880",
    "flush.size": "3",
    "storage.class": f"{S3}.storage.S3Storage",
    "format.class": AVRO,
    "schema.generator.class": f"{STORAGE}.hive.schema.DefaultSchemaGenerator",
    "partitioner.class": f"{STORAGE}.partitioner.DefaultPartitioner",
    "schema.compatibility": "NONE",
    "name": "s3-sink",
}
_RAW: Final = {
    "name": "s3-raw-sink",
    **SINK,
    "tasks.max": "1",
    "topics": "s3_topic",
    "flush.size": "3",
    "s3.bucket.name": "confluent-kafka-connect-s3-testing",
    "s3.region": "us-west-2",
    "s3.part.size": "5242880",
    "s3.compression.type": "gzip",
    "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "format.class": f"{S3}.format.bytearray.ByteArrayFormat",
    "storage.class": f"{S3}.storage.S3Storage",
    "schema.compatibility": "NONE",
}

_ZONES: Final = (
    ("en-US", "UTC", 10),
    ("en-GB", "Europe/Paris", 11),
    ("fr-FR", "ECT", 11),
    ("en-US", "PST", 2),
    ("en-US", "EST", 5),
    ("en-US", "America/Los_Angeles", 2),
    ("en-US", "America/New_York", 5),
)
_BUILT_IN: Final = {"locale": "en-US", "timezone": "UTC", "timestamp.extractor": "Record"}
_BY_DAY: Final = threes(".json", "year=2024/month=01/day=15")

EXAMPLES: Final = (
    Example("quick-start", PAGE, _QUICK_START, AVRO_FILES),
    Example(
        "quick-start-file",
        PAGE,
        {name: text for name, text in _QUICK_START.items() if name != "s3.region"},
        AVRO_FILES,
        suffix=".properties",
    ),
    Example(
        "raw-by-partition",
        PAGE,
        {**_RAW, "partitioner.class": f"{STORAGE}.partitioner.DefaultPartitioner"},
        Runs(threes(".bin.gz", "partition=0")),
        suffix=".properties",
    ),
    *(
        Example(
            f"raw-by-{extractor.lower()}-time",
            PAGE,
            {
                **_RAW,
                "partitioner.class": f"{STORAGE}.partitioner.TimeBasedPartitioner",
                "timestamp.extractor": extractor,
            },
            Wrong(NO_PATTERN),
            suffix=".properties",
        )
        for extractor in ("Record", "Wallclock")
    ),
    Example(
        "older-quick-start",
        OLDER,
        {
            **{name: text for name, text in _QUICK_START.items() if name != "s3.bucket.name"},
            "": "confluent-kafka-connect-s3-testing",
            "storage.class": "",
            "schema.generator.class": "",
            "partitioner.class": "",
        },
        Wrong(
            {
                '""': "a property without a name",
                "s3.bucket.name": "is required",
                "storage.class": "must not be blank",
                "partitioner.class": "must not be blank",
            }
        ),
    ),
    *(
        Example(
            f"ten-minutes-{zone.replace('/', '-')}",
            PAGE,
            {
                "path.format": PATTERN,
                "partition.duration.ms": "600000",
                "locale": locale,
                "timezone": zone,
                "timestamp.extractor": "Record",
            },
            Runs(threes(".json", hour_folder(hour), hour_folder(hour), hour_folder(hour + 1))),
            HOURS,
            ".properties",
        )
        for locale, zone, hour in _ZONES
    ),
    Example(
        "hours-of-a-field",
        PAGE,
        {"timestamp.extractor": "RecordField", "timestamp.field": "timestamp"},
        Runs(BY_HOUR),
        HOURS,
        ".properties",
    ),
    Example(
        "daily",
        PAGE,
        {"partitioner.class": f"{STORAGE}.partitioner.DailyPartitioner", **_BUILT_IN},
        Runs(_BY_DAY),
        PLAIN,
        ".properties",
    ),
    Example(
        "daily-spelt-out",
        PAGE,
        {"path.format": "'year'=YYYY/'month'=MM/'day'=dd", "partition.duration.ms": "86400000"},
        Runs(_BY_DAY),
        HOURS,
        ".properties",
    ),
    Example(
        "hourly",
        PAGE,
        {"partitioner.class": f"{STORAGE}.partitioner.HourlyPartitioner", **_BUILT_IN},
        Runs(BY_HOUR),
        PLAIN,
        ".properties",
    ),
    Example(
        "hourly-spelt-out",
        PAGE,
        {"path.format": PATTERN, "partition.duration.ms": "3600000"},
        Runs(BY_HOUR),
        HOURS,
        ".properties",
    ),
    Example("gzip", PAGE, {"s3.compression.type": "gzip"}, Runs(threes(".json.gz", "partition=0")), PLAIN),
    Example("enhanced-avro", PAGE, {"format.class": AVRO, "enhanced.avro.schema.support": True}, AVRO_FILES, PLAIN),
    Example(
        "default-credentials-misspelt",
        PAGE,
        {"s3.credentials.provider.class": "com.amazon.auth.DefaultAWSCredentialsProviderChain"},
        Runs(BY_THREES),
        PLAIN,
    ),
    Example(
        "schedule-misspelt",
        PAGE,
        {"rotate.scheduled.interval.ms": "3600000"},
        Wrong({"rotate.scheduled.interval.ms": "unknown property. Did you mean rotate.schedule.interval.ms?"}),
        HOURS,
    ),
)
