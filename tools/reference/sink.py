"""What the Connect S3 sink says of its own properties: how important each is, and where this exporter differs.

The importance is that of the sink's own ConfigDef, read from version 12.2. Every default is the sink's.
"""

from __future__ import annotations

from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


HIGH: Final = _names(
    "format.class flush.size rotate.interval.ms schema.compatibility s3.bucket.name s3.part.size aws.access.key.id"
    " aws.secret.access.key storage.class topics.dir store.url partitioner.class"
)
MEDIUM: Final = _names(
    "rotate.schedule.interval.ms s3.region s3.wan.mode json.decimal.format s3.part.retries directory.delim file.delim"
    " partition.field.name partition.duration.ms path.format locale timezone timestamp.extractor"
    " timestamp.field"
)
LOW: Final = _names(
    "schemas.cache.config enhanced.avro.schema.support connect.meta.data retry.backoff.ms"
    " filename.offset.zero.pad.width avro.codec allow.optional.map.keys parquet.codec s3.object.tagging"
    " s3.object.tagging.key.value.pairs s3.object.behavior.on.tagging.error s3.credentials.provider.class s3.ssea.name"
    " s3.sse.customer.key s3.sse.kms.key.id s3.acl.canned s3.compression.type s3.compression.level s3.retry.backoff.ms"
    " format.bytearray.extension format.bytearray.separator s3.proxy.url s3.proxy.user s3.proxy.password"
    " s3.http.send.expect.continue behavior.on.null.values report.null.values.to.dlq max.write.duration.ms"
    " rotate.file.on.partition.change tombstone.encoded.partition s3.schema.partition.affix.type s3.send.digest"
    " enable.conditional.writes max.files.scan.limit store.kafka.keys store.kafka.headers keys.format.class"
    " headers.format.class s3.path.style.access.enabled s3.elastic.buffer.enable s3.elastic.buffer.init.capacity"
    " partitioner.max.open.files"
)

#: What a property does in the sink, where it is something else here.
DIFFERENCES: Final[dict[str, str]] = {
    "flush.size": "counts the records of all paths of a partition, and closes all its objects; here each object has its"
    " own count. 0 and less mean objects of one record; here they are refused",
    "rotate.interval.ms": "counts from the first record of the partition, and closes all its objects; here from the"
    " first record of each object",
    "rotate.schedule.interval.ms": "closes objects by the worker's clock, and then repeats records after a crash; here"
    " it is the interval of the DAG's runs, a minute or more, and nothing is repeated",
    "partitioner.max.open.files": "has no limit by default, and closes all objects at a limit; here it closes the"
    " oldest",
    "s3.part.size": "takes so much memory for each open object, and makes every object a multipart upload",
    "s3.part.retries": "counts the first try; here it counts what comes after it",
    "s3.compression.type": "knows gzip only",
    "avro.codec": "does not know zstandard",
    "parquet.codec": "also writes lz4 in Hadoop's framing, and lzo; here they are refused",
    "s3.ssea.name": "encrypts nothing for aws:kms without s3.sse.kms.key.id; here the key is required",
    "schema.compatibility": "takes any other text for NONE; here it is refused",
    "timestamp.extractor": "reads the worker's clock for Wallclock; here it is the run's logical time, so that a retry"
    " writes the same keys",
    "enable.conditional.writes": "writes conditionally only with a schedule and without stored keys and headers;"
    " here every write is conditional",
}


def importance(name: str) -> str:
    """high, medium or low, as the sink has it; nothing for a property that the sink does not have."""
    levels = {"high": HIGH, "medium": MEDIUM, "low": LOW}
    return next((level for level, names in levels.items() if name in names), "")


def differences() -> str:
    """The table of what differs, by name."""
    rows = (f"| `{name}` | The sink {text}. |\n" for name, text in sorted(DIFFERENCES.items()))
    return f"## Where the sink differs\n\n| property | what it does there |\n|---|---|\n{''.join(rows)}"
