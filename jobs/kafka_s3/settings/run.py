"""Bounds of a run, its log, and what it may do where Kafka is not as the log left it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafka_s3 import user_defined
from kafka_s3.settings import paths, validators
from kafka_s3.settings.properties import REQUIRED, Choice, Ignored, Kind, Property, Refused
from kafka_s3.settings.validation import ParsedConfig
from kafka_s3.signing import NO_KEY, LogKey

#: Where partitioner.max.open.files is not set: each holds a compressor of 0.3 MiB, of bzip2 0.9 MiB.
OPEN_OBJECTS_MAX: Final = 300
#: A run on Spark starts for some ten CPU seconds and as long; without it this many records take no longer
#: (bench/history.md).
SPARK_RECORDS_MIN: Final = 1_000_000
MIN_PART_SIZE: Final = 5 * 1024 * 1024  # S3's own minimum for every part but the last


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds. A task holds at most about `part_size_bytes` of encoded bytes for each open object.

    `flush_size`: records per object (`flush.size`).
    `part_size_bytes`: an object below it is one PUT (`s3.part.size`).
    `tasks_max`: Spark tasks at once (`tasks.max`).
    `range_records_max`: offsets one task reads (`export.range.records.max`); a range is cut at multiples of flush.size.
    `batch_records_max`, `batch_bytes_max`: what one commit covers (`export.batch.records.max`, `.bytes.max`).
    `spark_records_min`: a plan of fewer offsets runs without Spark (`export.spark.records.min`); 0: none does.
    `catchup_batches_max`: missed schedule boundaries that get a batch of their own (`export.catchup.batches.max`).
    `open_objects_max`: paths that are open at once (`partitioner.max.open.files`).
    `object_bytes_max`: bytes of an object's records before compression (`export.object.bytes.max`), or of the object
    itself where `object_bytes_written` (`export.object.bytes.of=object`).
    `rotate_interval_ms`: record time per object, of time-based partitioners (`rotate.interval.ms`).
    """

    flush_size: int
    part_size_bytes: int
    tasks_max: int
    range_records_max: int
    batch_records_max: int
    batch_bytes_max: int
    catchup_batches_max: int
    open_objects_max: int = OPEN_OBJECTS_MAX
    object_bytes_max: int | None = None
    rotate_interval_ms: int | None = None
    object_bytes_written: bool = False
    spark_records_min: int = 0


@dataclass(frozen=True, slots=True)
class Policies:
    """What the user allows where Kafka is not as the log left it (`export.on.data.loss`, `.on.topic.recreated`)."""

    record_data_loss: bool = False
    restart_recreated: bool = False

    @property
    def any(self) -> bool:
        return self.record_data_loss or self.restart_recreated


_CLOCK = Ignored("there is no consumer to keep alive: a run is bounded by its plan, retries by s3.part.retries")
PROPERTIES: Final[tuple[Property, ...]] = (
    Property("flush.size", Kind.INT, REQUIRED, "Maximum number of records per object.", minimum=1, shapes=True),
    Property(
        "rotate.interval.ms",
        Kind.LONG,
        -1,
        "Maximum time span of the records in an object, counted from its first record; the end of a range closes all"
        " objects.",
        shapes=True,
        applies_when=paths.TIME,
    ),
    Property(
        "partitioner.max.open.files",
        Kind.INT,
        -1,
        "Maximum number of objects that a task keeps open; beyond it the oldest is closed. -1 means 300.",
        check=validators.positive_or_unset,
        shapes=True,
    ),
    Property(
        "s3.part.size",
        Kind.INT,
        26_214_400,
        "Bytes per part of a multipart upload; a smaller object is a single PUT.",
        minimum=MIN_PART_SIZE,
        out_of_range=f"Part size must be at least: {MIN_PART_SIZE} bytes (5MB)",
        shapes=True,
    ),
    Property("tasks.max", Kind.INT, 1, "Maximum number of Spark tasks at the same time.", minimum=1),
    Property(
        "export.log.dir",
        Kind.STRING,
        "_kafka_s3",
        "Key prefix of plans and logs, separate from the data.",
        check=validators.folder,
    ),
    Property(
        "export.log.key",
        Kind.PASSWORD,
        "",
        "Keys of at least 32 bytes, separated by commas, that sign plans and log entries: the first one signs, all"
        " of them verify.",
        check=validators.log_keys,
    ),
    Property(
        "export.range.records.max",
        Kind.INT,
        1_000_000,
        "Maximum number of offsets per Spark task; a larger range is split.",
        minimum=1,
        shapes=True,
    ),
    Property("export.batch.records.max", Kind.INT, 20_000_000, "Maximum number of offsets per commit.", minimum=1),
    Property("export.batch.bytes.max", Kind.LONG, 17_179_869_184, "Maximum number of bytes per commit.", minimum=1),
    Property(
        "export.spark.records.min",
        Kind.INT,
        SPARK_RECORDS_MIN,
        "A DAG run's plan of fewer offsets runs without Spark, in a process beside the task; 0 means always on Spark.",
        minimum=0,
        quiet=True,
    ),
    Property(
        "export.object.bytes.max",
        Kind.LONG,
        -1,
        "Maximum bytes of records per object, before compression; -1 means no limit.",
        check=validators.positive_or_unset,
        shapes=True,
    ),
    Property(
        "export.object.bytes.of",
        Kind.STRING,
        "records",
        "What export.object.bytes.max counts: records before compression, or the object itself. That is looked at after"
        " each 256 KiB of records, so an object is larger than the limit by at most what these become, and in"
        " ParquetFormat by a row group.",
        choices=(Choice("records"), Choice("object")),
        shapes=True,
        quiet=True,
    ),
    Property(
        "export.catchup.batches.max",
        Kind.INT,
        168,
        "How many missed schedule boundaries get a batch of their own; older ones are merged into the first.",
        minimum=1,
    ),
    Property(
        "export.on.data.loss",
        Kind.STRING,
        "fail",
        "What to do if offsets were deleted from Kafka before their export, or replaced after it. fail: exclude the"
        " partition. record: record the loss and go on.",
        choices=(Choice("fail"), Choice("record")),
    ),
    Property(
        "export.on.topic.recreated",
        Kind.STRING,
        "fail",
        "What to do if a topic was deleted and created again. fail: exclude it. restart: export the new topic from"
        " its start, beside the old one.",
        choices=(Choice("fail"), Choice("restart")),
    ),
    Property(
        "export.timestamps.enable",
        Kind.BOOLEAN,
        False,
        "Record in the log how old records are, even if nothing else in the configuration reads their timestamps.",
    ),
    Property(
        "retry.backoff.ms", Kind.LONG, 5000, "How long the sink pauses a partition after a failed upload.", _CLOCK
    ),
    Property("max.write.duration.ms", Kind.LONG, 2**63 - 1, "How long one put of the sink may take.", _CLOCK),
    Property(
        "rotate.file.on.partition.change",
        Kind.BOOLEAN,
        True,
        "Close all files when the path changes.",
        Ignored("every path has its own object, which other paths do not close"),
    ),
    Property(
        "max.open.files.per.partition",
        Kind.INT,
        -1,
        "Not a property of the sink.",
        Refused("the sink has no such property", "remove it; the sink's property is partitioner.max.open.files"),
    ),
)


def apply_limit_rules(config: ParsedConfig) -> None:
    """What limits need together."""
    of = "export.object.bytes.of"
    if not config.sure(of, "export.object.bytes.max", "format.class") or config.text(of) != "object":
        return
    if config.number("export.object.bytes.max") <= 0:
        config.add_problem(of, "counts for export.object.bytes.max, which is not set: set it to a number of bytes")
    if user_defined.is_path(config.text("format.class")):
        config.add_problem(of, "a format of your own may keep bytes back as it likes: set records")


def build_limits(config: ParsedConfig) -> Limits:
    return Limits(
        flush_size=config.number("flush.size"),
        part_size_bytes=config.number("s3.part.size"),
        tasks_max=config.number("tasks.max"),
        range_records_max=config.number("export.range.records.max"),
        batch_records_max=config.number("export.batch.records.max"),
        batch_bytes_max=config.number("export.batch.bytes.max"),
        catchup_batches_max=config.number("export.catchup.batches.max"),
        open_objects_max=config.number("partitioner.max.open.files"),
        object_bytes_max=_positive(config.number("export.object.bytes.max")),
        object_bytes_written=config.text("export.object.bytes.of") == "object",
        spark_records_min=config.number("export.spark.records.min"),
        rotate_interval_ms=_positive(config.number("rotate.interval.ms")) if paths.is_time_based(config) else None,
    )


def build_policies(config: ParsedConfig) -> Policies:
    return Policies(
        record_data_loss=config.text("export.on.data.loss") == "record",
        restart_recreated=config.text("export.on.topic.recreated") == "restart",
    )


def build_log_key(config: ParsedConfig) -> LogKey:
    if not config.text("export.log.key"):
        return NO_KEY
    keys = tuple(key.encode("utf-8", "surrogatepass") for key in validators.split_keys(config.text("export.log.key")))
    return LogKey(keys, f"{config.text('export.log.dir')}/{config.text('name')}/")


def _positive(number: int) -> int | None:
    return number if number > 0 else None
