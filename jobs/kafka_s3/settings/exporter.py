"""The exporter's own properties: all begin with `export.`."""

from __future__ import annotations

from kafka_s3.settings import checks
from kafka_s3.settings.properties import Kind, Property

PROPERTIES: tuple[Property, ...] = (
    Property(
        "export.log.dir",
        Kind.STRING,
        "_kafka_s3",
        "Key prefix of plans and logs, apart from the data.",
        check=checks.folder,
    ),
    Property(
        "export.range.records.max",
        Kind.INT,
        1_000_000,
        "Offsets that one Spark task reads; a larger range is split.",
        minimum=1,
        shapes=True,
    ),
    Property("export.batch.records.max", Kind.INT, 20_000_000, "Offsets that one commit covers.", minimum=1),
    Property("export.batch.bytes.max", Kind.LONG, 17_179_869_184, "Bytes that one commit covers.", minimum=1),
    Property(
        "export.object.bytes.max",
        Kind.LONG,
        -1,
        "Bytes of records per object, before compression; -1 is no limit.",
        check=checks.positive_or_unset,
        shapes=True,
    ),
    Property(
        "export.catchup.batches.max",
        Kind.INT,
        168,
        "Missed schedule boundaries that get a batch of their own; older ones are merged into the first.",
        minimum=1,
    ),
    Property(
        "export.read.timeout.ms",
        Kind.INT,
        60_000,
        "A range that makes no progress for so long has failed.",
        minimum=1000,
    ),
    Property(
        "export.kafka.conn.id",
        Kind.STRING,
        "kafka_default",
        "Airflow connection that says how to reach Kafka.",
        check=checks.not_blank,
    ),
    Property(
        "export.aws.conn.id",
        Kind.STRING,
        "aws_default",
        "Airflow connection that says how to reach S3.",
        check=checks.not_blank,
    ),
)
