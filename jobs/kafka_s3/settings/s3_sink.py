"""The 68 properties of the Confluent S3 sink, in its order, with its types, defaults and checks.

Where the sink takes a value that can only crash it or be ignored, the check here is stricter; where a value crashes
it although it has a meaning (a pad width or retry count of 0), it works here.
"""

from __future__ import annotations

from typing import Final

from kafka_s3.settings import checks, converter_names, credential_names, format_names, storage
from kafka_s3.settings.model import MIN_PART_SIZE
from kafka_s3.settings.properties import REQUIRED, Choice, Kind, Needless, Only, Property, Refused

_FORMATS = format_names.FORMATS


def _choices(*names: str) -> tuple[Choice, ...]:
    return tuple(Choice(name) for name in names)


_AS_WRITTEN = Needless("schemas are kept as their writer made them")
_CLOCK = Needless("no consumer waits inside Connect here: a run is bounded by its plan, a retry by s3.part.retries")
_OF_SCHEMAS = Only(
    "value.converter",
    (converter_names.AVRO,),
    "only values that bring their schemas have more than one",
    own=False,
    either=Only("value.converter.schemas.enable", (True,)),
)
_REPORTED = Only(
    "behavior.on.null.values",
    ("ignore",),
    "only behavior.on.null.values=ignore with errors.tolerance=all reads it",
    both=Only("errors.tolerance", ("all",)),
)
_TAGS = Only("s3.object.tagging", (True,), "only s3.object.tagging=true reads it")

_PROPERTIES: tuple[Property, ...] = (
    Property(
        "format.class",
        Kind.CLASS,
        REQUIRED,
        "What an object holds.",
        choices=format_names.FORMATS,
        shapes=True,
        own=True,
    ),
    Property("flush.size", Kind.INT, REQUIRED, "Records per object.", minimum=1, shapes=True),
    Property(
        "rotate.interval.ms",
        Kind.LONG,
        -1,
        "Record time per object, from its first record on; a range's end closes the rest.",
        shapes=True,
        only=storage.TIME,
    ),
    Property(
        "rotate.schedule.interval.ms",
        Kind.LONG,
        -1,
        "The DAG's schedule, aligned to local midnight; unset means hourly.",
        check=checks.schedule_interval,
    ),
    Property("schemas.cache.config", Kind.INT, 1000, "Schemas kept at hand.", Needless("schemas are few and small")),
    Property("enhanced.avro.schema.support", Kind.BOOLEAN, True, "Keep Avro packages and enums.", _AS_WRITTEN),
    Property("connect.meta.data", Kind.BOOLEAN, True, "Write connect.* into Avro schemas.", _AS_WRITTEN),
    Property("retry.backoff.ms", Kind.LONG, 5000, "Pause of a topic-partition after a failed put.", _CLOCK),
    Property(
        "filename.offset.zero.pad.width",
        Kind.INT,
        10,
        "Digits of the start offset in an object's name, at least.",
        minimum=0,
        maximum=255,
        shapes=True,
    ),
    Property(
        "avro.codec",
        Kind.STRING,
        "null",
        "Compression inside Avro files.",
        choices=_choices("null", "deflate", "snappy", "bzip2", "zstandard"),
        shapes=True,
        only=format_names.AS_AVRO,
    ),
    Property("allow.optional.map.keys", Kind.BOOLEAN, False, "Let map keys be optional in Avro.", _AS_WRITTEN),
    Property(
        "schema.compatibility",
        Kind.STRING,
        "NONE",
        "Which records share an object with others of another schema.",
        choices=format_names.COMPATIBILITIES,
        shapes=True,
        only=_OF_SCHEMAS,
    ),
    Property(
        "parquet.codec",
        Kind.STRING,
        "snappy",
        "Compression inside Parquet files.",
        choices=format_names.PARQUET_CODECS,
        shapes=True,
        only=format_names.AS_PARQUET,
    ),
    Property("s3.bucket.name", Kind.STRING, REQUIRED, "The bucket.", check=checks.not_blank),
    Property(
        "s3.object.tagging",
        Kind.BOOLEAN,
        False,
        "Tag data objects with startOffset, endOffset and recordCount.",
    ),
    Property(
        "s3.object.tagging.key.value.pairs",
        Kind.LIST,
        (),
        "More tags, as key:value; of equal keys these win.",
        check=checks.tag,
        only=_TAGS,
    ),
    Property(
        "s3.object.behavior.on.tagging.error",
        Kind.STRING,
        "ignore",
        "What a refused tagging does: the object stays without tags, or its range fails.",
        choices=_choices("ignore", "fail"),
        ignore_case=True,
        only=_TAGS,
    ),
    Property("s3.region", Kind.STRING, "us-west-2", "Region of the bucket.", check=checks.not_blank),
    Property(
        "s3.part.size",
        Kind.INT,
        26_214_400,
        "Bytes of one part of an upload; a smaller object is one PUT.",
        minimum=MIN_PART_SIZE,
        out_of_range=f"Part size must be at least: {MIN_PART_SIZE} bytes (5MB)",
        shapes=True,
    ),
    Property(
        "s3.credentials.provider.class",
        Kind.CLASS,
        credential_names.DEFAULT,
        "Where credentials come from when no keys are configured; a role is assumed with the keys.",
        choices=credential_names.CHOICES,
        own=True,
    ),
    Property("aws.access.key.id", Kind.STRING, "", "Access key; goes with aws.secret.access.key."),
    Property("aws.secret.access.key", Kind.PASSWORD, None, "Secret key; goes with aws.access.key.id."),
    Property(
        "s3.ssea.name",
        Kind.STRING,
        "",
        "Server-side encryption.",
        choices=_choices("", "AES256", "aws:kms", "aws:kms:dsse"),
    ),
    Property(
        "s3.sse.customer.key",
        Kind.PASSWORD,
        None,
        "Customer's key for server-side encryption with AES256.",
        check=checks.customer_key,
    ),
    Property("s3.sse.kms.key.id", Kind.STRING, "", "KMS key for server-side encryption."),
    Property(
        "s3.acl.canned",
        Kind.STRING,
        None,
        "Canned ACL of every object.",
        choices=_choices(
            "private",
            "public-read",
            "public-read-write",
            "authenticated-read",
            "aws-exec-read",
            "bucket-owner-read",
            "bucket-owner-full-control",
        ),
    ),
    Property("s3.wan.mode", Kind.BOOLEAN, False, "Reach the bucket through S3's accelerate endpoint."),
    Property(
        "s3.compression.type",
        Kind.STRING,
        "none",
        "Compression of whole objects.",
        choices=_choices("none", "gzip"),
        shapes=True,
    ),
    Property(
        "s3.compression.level",
        Kind.INT,
        -1,
        "Level of gzip; -1 is the default, a fast one.",
        minimum=-1,
        maximum=9,
        shapes=True,
    ),
    Property(
        "json.decimal.format",
        Kind.STRING,
        "BASE64",
        "How a decimal is written in JSON.",
        choices=_choices("BASE64", "NUMERIC"),
        ignore_case=True,
        shapes=True,
        only=format_names.AS_JSON,
    ),
    Property("s3.part.retries", Kind.INT, 3, "Tries of a request to S3 after the first one.", minimum=0, maximum=1000),
    Property("s3.retry.backoff.ms", Kind.LONG, 200, "Longest pause before the first retry; it doubles.", minimum=0),
    Property(
        "format.bytearray.extension",
        Kind.STRING,
        ".bin",
        "Extension of ByteArrayFormat's objects.",
        check=checks.extension,
        shapes=True,
    ),
    Property(
        "format.bytearray.separator",
        Kind.STRING,
        None,
        "What ByteArrayFormat writes after every record; a line feed unless set.",
        shapes=True,
        untrimmed=True,
    ),
    Property("s3.proxy.url", Kind.STRING, "", "HTTP proxy to S3.", check=checks.url),
    Property("s3.proxy.user", Kind.STRING, None, "User at the proxy, before the one in its URL."),
    Property("s3.proxy.password", Kind.PASSWORD, None, "Password at the proxy, before the one in its URL."),
    Property("s3.http.send.expect.continue", Kind.BOOLEAN, True, "Ask S3 for leave before sending a body."),
    Property(
        "behavior.on.null.values",
        Kind.STRING,
        "fail",
        "What a tombstone does.",
        choices=_choices("ignore", "fail", "write"),
        ignore_case=True,
        shapes=True,
    ),
    Property(
        "report.null.values.to.dlq",
        Kind.BOOLEAN,
        True,
        "Report ignored tombstones as dead letters.",
        shapes=True,
        only=_REPORTED,
    ),
    Property("max.write.duration.ms", Kind.LONG, 2**63 - 1, "Time that one put may take.", _CLOCK),
    Property(
        "rotate.file.on.partition.change",
        Kind.BOOLEAN,
        True,
        "Commit all when the path changes.",
        Needless("each path has its own object, which another path does not close"),
    ),
    Property(
        "tombstone.encoded.partition",
        Kind.STRING,
        "tombstone",
        "Path part of tombstones, whose keys are written there.",
        check=checks.path_parts,
        shapes=True,
        only=Only("behavior.on.null.values", ("write",), "only behavior.on.null.values=write reads it"),
    ),
    Property(
        "s3.schema.partition.affix.type",
        Kind.STRING,
        "NONE",
        "Put schema_name=<name of the value's schema, or null> before or after the path.",
        choices=_choices("NONE", "PREFIX", "SUFFIX"),
        shapes=True,
    ),
    Property(
        "s3.send.digest",
        Kind.BOOLEAN,
        False,
        "Send the MD5 of every body, which S3 compares.",
    ),
    Property(
        "enable.conditional.writes",
        Kind.BOOLEAN,
        True,
        "Never overwrite an object.",
        Needless("every write here is conditional, whatever the schedule: it is what makes exports exactly-once"),
    ),
    Property(
        "max.files.scan.limit",
        Kind.INT,
        100,
        "Names tried after a conflict.",
        Needless("a name that is taken by other bytes gets a suffix: no offsets are tried"),
    ),
    Property("store.kafka.keys", Kind.BOOLEAN, False, "Write keys beside the values.", shapes=True),
    Property("store.kafka.headers", Kind.BOOLEAN, False, "Write headers beside the values.", shapes=True),
    Property(
        "keys.format.class",
        Kind.CLASS,
        format_names.AVRO,
        "Format of the keys' objects.",
        choices=format_names.KEYS_FORMATS,
        shapes=True,
        only=Only("store.kafka.keys", (True,), "only store.kafka.keys=true reads it"),
    ),
    Property(
        "headers.format.class",
        Kind.CLASS,
        format_names.AVRO,
        "Format of the headers' objects.",
        choices=format_names.HEADERS_FORMATS,
        shapes=True,
        only=Only("store.kafka.headers", (True,), "only store.kafka.headers=true reads it"),
    ),
    Property("s3.path.style.access.enabled", Kind.BOOLEAN, True, "Bucket in the path, not in the host name."),
    Property(
        "s3.elastic.buffer.enable",
        Kind.BOOLEAN,
        False,
        "Let part buffers grow.",
        Needless("buffers hold what has been written and no more"),
    ),
    Property(
        "s3.elastic.buffer.init.capacity",
        Kind.INT,
        131_072,
        "First size of a growing part buffer.",
        Needless("buffers hold what has been written and no more"),
        minimum=4096,
    ),
    Property(
        "partitioner.max.open.files",
        Kind.INT,
        -1,
        "Objects open at once in a task, -1 for 300; for one more the oldest closes.",
        check=checks.positive_or_unset,
        shapes=True,
    ),
)

PROPERTIES: Final = (*_PROPERTIES, *storage.PROPERTIES)

#: Properties that are often believed to exist, and those the sink once had.
BELIEVED: tuple[Property, ...] = (
    Property(
        "partition.field.format.path",
        Kind.BOOLEAN,
        True,
        "Not a property of the sink.",
        Refused("the sink has no such property", "leave it out: directories of fields are always name=value"),
    ),
    Property(
        "max.open.files.per.partition",
        Kind.INT,
        -1,
        "Not a property of the sink.",
        Refused("the sink has no such property", "leave it out; the sink's own is partitioner.max.open.files"),
    ),
    Property("shutdown.timeout.ms", Kind.LONG, 3000, "Time to stop.", Needless("there is no worker to stop")),
    Property(
        "schema.generator.class",
        Kind.STRING,
        "",
        "Makes partition fields.",
        Needless("the sink has not read it for years"),
    ),
)
