"""The exporter's own properties: all begin with `export.`."""

from __future__ import annotations

from kafka_s3.settings import checks, converter_names, format_names
from kafka_s3.settings.content import EnvelopeField
from kafka_s3.settings.properties import Kind, Only, Property

_PLAIN_JSON = Only(
    "value.converter.schemas.enable",
    (False,),
    "only JsonConverter with value.converter.schemas.enable=false reads it",
    both=Only("value.converter", (converter_names.JSON,), own=False),
)

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
    Property(
        "export.json.array",
        Kind.BOOLEAN,
        False,
        "One JSON array per object instead of one JSON text per line.",
        shapes=True,
        only=format_names.AS_JSON,
    ),
    Property(
        "export.parquet.row.group.bytes",
        Kind.INT,
        134_217_728,
        "Bytes of records in memory that make a row group.",
        minimum=1 << 20,
        maximum=1 << 30,
        shapes=True,
        only=format_names.AS_PARQUET,
    ),
    Property(
        "export.value.schema.file",
        Kind.STRING,
        "",
        "File with the Avro schema that JSON without an envelope is read by; beside the connector file.",
        check=checks.file_name,
        only=_PLAIN_JSON,
    ),
    Property(
        "export.value.schema",
        Kind.STRING,
        "",
        "The same schema itself, as JSON text: what plans show of the file.",
        shapes=True,
        only=_PLAIN_JSON,
    ),
    Property(
        "export.envelope",
        Kind.LIST,
        (),
        f"What of the record itself is written into it: {', '.join(each.value for each in EnvelopeField)}.",
        check=checks.envelope_field,
        shapes=True,
    ),
    Property(
        "export.envelope.prefix",
        Kind.STRING,
        "_kafka_",
        "What the names of those fields begin with.",
        check=checks.envelope_prefix,
        shapes=True,
        only=Only("export.envelope", None, "only export.envelope reads it"),
    ),
    Property(
        "export.errors.fraction.max",
        Kind.STRING,
        "1",
        "Part of a range's records that may be bad: more stop it.",
        check=checks.fraction,
        only=Only("errors.tolerance", ("all",), "without errors.tolerance=all a bad record stops its partition"),
    ),
)
