"""Keys of objects: folders, delimiters, partitioners and the timestamps they go by."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from kafka_s3 import user_defined
from kafka_s3.joda import JodaError, LocaleUnknown
from kafka_s3.joda.patterns import compile_pattern
from kafka_s3.joda.zones import zone
from kafka_s3.naming import KeyLayout, Naming, leads_out
from kafka_s3.settings import file_names, template_rules, validators
from kafka_s3.settings.path_template import Part
from kafka_s3.settings.properties import AppliesWhen, Choice, Kind, Property, Refused, UserDefined, choices
from kafka_s3.settings.template_rules import (
    TEMPLATE_PARTITIONER,
    TOPIC_FOLDER,
    folder_parts,
    folder_pattern,
    has_time,
    template_parts,
)
from kafka_s3.settings.validation import ParsedConfig

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS


@dataclass(frozen=True, slots=True)
class DefaultPartitioner:
    """`partition=<kafka partition>`."""


@dataclass(frozen=True, slots=True)
class FieldPartitioner:
    """`name=value` for each field of the value; nested ones as `a.b`."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunTime:
    """Extractor Wallclock: the run's logical time."""


@dataclass(frozen=True, slots=True)
class RecordTime:
    """Extractor Record: Kafka's timestamp."""


@dataclass(frozen=True, slots=True)
class FieldTime:
    """Extractor RecordField: a field of the value."""

    name: str


Extractor = RunTime | RecordTime | FieldTime | UserDefined


@dataclass(frozen=True, slots=True)
class TimePartitioner:
    """The start of a record's bucket of time, as a Joda pattern: TimeBased, Daily and Hourly."""

    duration_ms: int
    path_format: str
    timezone: str
    locale: str
    extractor: Extractor


@dataclass(frozen=True, slots=True)
class TemplatePartitioner:
    """Text, fields, headers and times in any order (`export.path.template`)."""

    parts: tuple[Part, ...]
    timezone: str
    locale: str
    extractor: Extractor

    @property
    def has_time(self) -> bool:
        return has_time(self.parts)


Partitioner = DefaultPartitioner | FieldPartitioner | TimePartitioner | TemplatePartitioner | UserDefined


class SchemaAffix(enum.Enum):
    """`s3.schema.partition.affix.type`: where `schema_name=…` stands in the path."""

    NONE = "NONE"
    PREFIX = "PREFIX"
    SUFFIX = "SUFFIX"


_STORAGE: Final = "io.confluent.connect.storage"
DEFAULT_PARTITIONER: Final = f"{_STORAGE}.partitioner.DefaultPartitioner"
FIELD_PARTITIONER: Final = f"{_STORAGE}.partitioner.FieldPartitioner"
TIME_PARTITIONER: Final = f"{_STORAGE}.partitioner.TimeBasedPartitioner"
DAILY_PARTITIONER: Final = f"{_STORAGE}.partitioner.DailyPartitioner"
HOURLY_PARTITIONER: Final = f"{_STORAGE}.partitioner.HourlyPartitioner"
TIME_BASED: Final = (TIME_PARTITIONER, DAILY_PARTITIONER, HOURLY_PARTITIONER)
_PARTITIONERS = (
    *(
        Choice(name, (f"io.confluent.connect.hdfs.partitioner.{name.rpartition('.')[2]}",))
        for name in (DEFAULT_PARTITIONER, FIELD_PARTITIONER, *TIME_BASED)
    ),
    Choice(TEMPLATE_PARTITIONER),
)
_EXTRACTORS = tuple(
    Choice(name, (f"{TIME_PARTITIONER}${name}TimestampExtractor",)) for name in ("Wallclock", "Record", "RecordField")
)
TIME: Final = AppliesWhen("partitioner.class", (*TIME_BASED, TEMPLATE_PARTITIONER), user_defined=True)
_FORMATTED = AppliesWhen("partitioner.class", (TIME_PARTITIONER,), user_defined=True)
_BY_FIELD = AppliesWhen("partitioner.class", (FIELD_PARTITIONER,), user_defined=True)
_BY_FIELD_TIME = AppliesWhen("timestamp.extractor", ("RecordField",), user_defined=True)

PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        "topics.dir",
        Kind.STRING,
        "topics",
        "First part of every data key; blank omits it.",
        check=validators.data_folder,
        shapes=True,
    ),
    file_names.TOPIC_FOLDER_PROPERTY,
    Property(
        "directory.delim",
        Kind.STRING,
        "/",
        "Separator between the parts of a key.",
        check=validators.not_blank,
        shapes=True,
    ),
    Property(
        "file.delim",
        Kind.STRING,
        "+",
        "Separator between topic, partition and offset in the name of an object.",
        check=validators.file_delim,
        shapes=True,
    ),
    Property(
        "filename.offset.zero.pad.width",
        Kind.INT,
        10,
        "Minimum number of digits of the start offset in the name of an object.",
        minimum=0,
        maximum=255,
        shapes=True,
    ),
    file_names.FILE_TEMPLATE_PROPERTY,
    Property(
        "s3.schema.partition.affix.type",
        Kind.STRING,
        "NONE",
        "Put schema_name=<name of the value's schema, or null> before (PREFIX) or after (SUFFIX) the path.",
        choices=choices("NONE", "PREFIX", "SUFFIX"),
        shapes=True,
    ),
    Property(
        "partitioner.class",
        Kind.CLASS,
        DEFAULT_PARTITIONER,
        "Class that derives the path of a record.",
        choices=_PARTITIONERS,
        shapes=True,
        user_defined=True,
    ),
    Property(
        "partition.field.name",
        Kind.LIST,
        (),
        "Fields of the value that make up the path, in this order; nested fields as a.b.",
        check=validators.field_path,
        shapes=True,
        applies_when=_BY_FIELD,
    ),
    template_rules.PROPERTY,
    Property(
        "partition.duration.ms",
        Kind.LONG,
        -1,
        "Time span of a path; it starts at multiples of itself in local time.",
        check=validators.duration,
        shapes=True,
        applies_when=_FORMATTED,
    ),
    Property(
        "path.format",
        Kind.STRING,
        "",
        "Joda-Time pattern of the path.",
        untrimmed=True,
        shapes=True,
        applies_when=_FORMATTED,
    ),
    Property(
        "locale",
        Kind.STRING,
        "",
        "Language of the names in path.format (months, days, zones), as a tag such as en or pt-BR.",
        shapes=True,
        applies_when=TIME,
    ),
    Property(
        "timezone", Kind.STRING, "", "Time zone of the schedule and of paths.", check=validators.timezone, shapes=True
    ),
    Property(
        "timestamp.extractor",
        Kind.STRING,
        "Wallclock",
        "The time that decides the path: Wallclock (the run's logical time), Record (Kafka's timestamp) or"
        " RecordField (a field of the value).",
        choices=_EXTRACTORS,
        shapes=True,
        user_defined=True,
        applies_when=TIME,
    ),
    Property(
        "timestamp.field",
        Kind.STRING,
        "timestamp",
        "Field of the value that holds the time; a nested field as a.b.",
        check=validators.field_path,
        shapes=True,
        applies_when=_BY_FIELD_TIME,
    ),
    Property(
        "partition.field.format.path",
        Kind.BOOLEAN,
        True,
        "Not a property of the sink.",
        Refused("the sink has no such property", "remove it: directories of fields are always name=value"),
    ),
)

_EXAMPLES: Final = {
    "locale": "for example locale=en",
    "timezone": "for example timezone=UTC",
    "path.format": "for example 'year'=YYYY/'month'=MM/'day'=dd",
}


def apply_path_rules(config: ParsedConfig) -> None:
    """What paths need together, in the sink's words where it has them."""
    _folders(config)
    by_field = config.recognised["partitioner.class"] == FIELD_PARTITIONER
    if by_field and config.sure("partition.field.name") and not config.listed("partition.field.name"):
        config.add_problem(
            "partition.field.name", "Partition field name cannot be null or empty when using FieldPartitioner."
        )
    file_names.apply_file_name_rules(config)
    _time(config)
    if config.recognised["partitioner.class"] == TEMPLATE_PARTITIONER:
        template_rules.apply_template_rules(config)


def _folders(config: ParsedConfig) -> None:
    if not config.sure("topics.dir", "directory.delim", "file.delim", "export.log.dir"):
        return
    topics_dir, log_dir = config.text("topics.dir"), config.text("export.log.dir")
    if f"{topics_dir}/".startswith(f"{log_dir}/") or (not topics_dir and log_dir in config.listed("topics")):
        config.add_problem(
            "export.log.dir", "the data in topics.dir would be mixed with the logs: choose another folder"
        )
    if config.text("directory.delim") in config.text("file.delim"):
        config.add_problem("file.delim", "must not contain directory.delim: object names could not be parsed")


def _time(config: ParsedConfig) -> None:
    """What a time-based partitioner needs, in the sink's words; its pattern is tried."""
    if not is_time_based(config):
        return
    for name in ("locale", "timezone"):
        if config.sure(name) and not config.text(name).strip():
            config.add_problem(
                name, f"{name.capitalize()} cannot be empty. Time-based paths need it: {_EXAMPLES[name]}"
            )
            config.unsure.add(name)
    if config.recognised["partitioner.class"] == TIME_PARTITIONER:
        if config.sure("path.format") and config.text("path.format").strip() in ("", config.text("directory.delim")):
            config.add_problem("path.format", f"Path format cannot be empty. Give one: {_EXAMPLES['path.format']}")
            config.unsure.add("path.format")
        if config.sure("partition.duration.ms") and config.number("partition.duration.ms") <= 0:
            config.add_problem(
                "partition.duration.ms",
                "Partition duration needs to be a positive. One hour is 3600000, a day 86400000.",
            )
    if config.recognised["partitioner.class"] in TIME_BASED and config.sure("path.format", "directory.delim"):
        _pattern(config)


def _pattern(config: ParsedConfig) -> None:
    """The pattern is tried, in another zone and language if those are wrong themselves."""
    in_zone = zone(config.text("timezone") if config.sure("timezone") else "UTC")
    locale = config.text("locale").strip() if config.sure("locale") else "en"
    pattern = time_buckets(config)[1]
    try:
        try:
            path = compile_pattern(pattern, in_zone, locale)(0)
        except LocaleUnknown:
            message = (
                "The locale is not known, and path.format has names in it; use a language tag like en, fr-FR or pt-BR"
            )
            config.add_problem("locale", message)
            path = compile_pattern(pattern, in_zone, "en")(0)
    except JodaError as error:
        config.add_problem("path.format", str(error))
        return
    if leads_out(path, config.text("directory.delim")):
        config.add_problem("path.format", "no part of a path may be '.' or '..': keys would leave their folder")


def build_layout(config: ParsedConfig, naming: Naming, *, routed: bool = False) -> KeyLayout:
    return KeyLayout(
        topics_dir=config.text("topics.dir"),
        directory_delim=config.text("directory.delim"),
        file_delim=config.text("file.delim"),
        offset_pad_width=config.number("filename.offset.zero.pad.width"),
        naming=naming,
        file_template=file_names.build_file_template(config),
        routed=routed,
        topic_folder=config.flag(TOPIC_FOLDER),
        folders="" if config.flag(TOPIC_FOLDER) else folder_pattern(folder_parts(config)),
    )


def build_partitioner(config: ParsedConfig) -> Partitioner:
    name = config.text("partitioner.class")
    if name == DEFAULT_PARTITIONER:
        return DefaultPartitioner()
    if name == FIELD_PARTITIONER:
        return FieldPartitioner(config.listed("partition.field.name"))
    if user_defined.is_path(name):
        return UserDefined(name)
    timezone, locale = config.text("timezone"), config.text("locale").strip()
    if name == TEMPLATE_PARTITIONER:
        return TemplatePartitioner(template_parts(config), timezone, locale, _extractor(config))
    duration_ms, pattern = time_buckets(config)
    return TimePartitioner(duration_ms, pattern, timezone, locale, _extractor(config))


def _extractor(config: ParsedConfig) -> Extractor:
    match config.text("timestamp.extractor"):
        case "Wallclock":
            return RunTime()
        case "Record":
            return RecordTime()
        case "RecordField":
            return FieldTime(config.text("timestamp.field"))
        case path:
            return UserDefined(path)


def time_buckets(config: ParsedConfig) -> tuple[int, str]:
    """Duration and Joda pattern of a time-based partitioner; Daily and Hourly have their own."""
    delim = config.text("directory.delim").replace("'", "''")
    daily = f"'year='YYYY'{delim}month='MM'{delim}day='dd"
    if config.text("partitioner.class") == DAILY_PARTITIONER:
        return _DAY_MS, daily
    if config.text("partitioner.class") == HOURLY_PARTITIONER:
        return _HOUR_MS, f"{daily}'{delim}hour='HH"
    # One delimiter at the end is left out, as in the sink.
    pattern = config.text("path.format").removesuffix(config.text("directory.delim"))
    return config.number("partition.duration.ms"), pattern


def is_time_based(config: ParsedConfig) -> bool:
    """Whether paths have a time of each record."""
    return config.recognised["partitioner.class"] in TIME_BASED or has_time(template_parts(config))
