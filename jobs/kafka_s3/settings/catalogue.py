"""All properties a connector file may hold, by name, and what is not one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, assert_never

from kafka_s3.errors import Problem
from kafka_s3.settings import (
    aiven,
    block_gzip,
    completeness,
    connect,
    converters,
    credentials,
    formats,
    kafka,
    paths,
    record_fields,
    registry,
    run,
    s3,
    schedule,
    spark,
    values,
)
from kafka_s3.settings.properties import (
    HIDDEN,
    Ignored,
    Property,
    PropertyPrefix,
    Refused,
    ResolvedProperty,
    Supported,
    near_match,
)
from kafka_s3.settings.transforms import rules as transforms
from kafka_s3.settings.validation import ParsedConfig, forget_unread, parse_all
from kafka_s3.settings.variables import Given

#: By topic, in the order in which docs/reference/properties.md has them.
TOPICS: Final[dict[str, tuple[Property, ...]]] = {
    "The connector": connect.PROPERTIES,
    "Schedule and DAGs": schedule.PROPERTIES,
    "Runs and their log": run.PROPERTIES,
    "Spark": spark.PROPERTIES,
    "Kafka": kafka.PROPERTIES,
    "S3": s3.PROPERTIES,
    "Credentials for S3": credentials.PROPERTIES,
    "Keys of objects": paths.PROPERTIES,
    "Complete partitions": completeness.PROPERTIES,
    "Formats": formats.PROPERTIES,
    "Values, keys, headers, tombstones": values.PROPERTIES,
    "Fields of records": record_fields.PROPERTIES,
    "Converters": converters.PROPERTIES,
    "Transforms": transforms.PROPERTIES,
    "The older Block-GZIP connector": block_gzip.PROPERTIES,
}
PREFIXES: Final[tuple[PropertyPrefix, ...]] = (
    *connect.PREFIXES,
    *spark.PREFIXES,
    *kafka.PREFIXES,
    *credentials.PREFIXES,
    *converters.PREFIXES,
    *registry.PREFIXES,
    *transforms.PREFIXES,
)
PROPERTIES: Final[dict[str, Property]] = {prop.name: prop for table in TOPICS.values() for prop in table}

#: Read while Airflow builds the DAG, where no variable has a value.
READ_BY_THE_DAG: Final = frozenset(
    (
        "name",
        "rotate.schedule.interval.ms",
        "timezone",
        "export.schedule",
        "export.schedule.assets",
        "export.group",
        "export.owner",
        "export.tags",
        "export.verify.schedule",
        "export.reexport.enable",
        "export.reexport.max.active.runs",
        "export.operations.enable",
        "export.kafka.conn.id",
        "export.aws.conn.id",
        "export.spark.conn.id",
    )
)
#: Never in the worker file: each connector has its own.
CONNECTOR_ONLY: Final = frozenset(("name", "topics", "topics.regex"))


def validate(
    given: Mapping[str, Given], failed: frozenset[str], aivens: aiven.Translated | None = None
) -> ParsedConfig:
    """Look at every property by itself, and fill in the defaults; `failed` had a value that is lost already.

    `aivens`: what a configuration of Aiven's became, which has names of its own.
    """
    written = block_gzip.written(given) if aivens is None else aivens.written
    originals = {} if aivens is None else aivens.originals
    config = ParsedConfig(block_gzip.translated(given), PROPERTIES, written, originals)
    parse_all(config, failed)
    values.fill_in_converters(config)
    forget_unread(config)
    for name in config.given:
        if name not in PROPERTIES:
            _check_member(name, config, () if aivens is None else aiven.KNOWN)
    return config


def find(name: str) -> Property | PropertyPrefix | None:
    """The row of a property, else the prefix it belongs to, else `None`."""
    if name in PROPERTIES:
        return PROPERTIES[name]
    prefixes = [prefix for prefix in PREFIXES if name.startswith(prefix.prefix)]
    return max(prefixes, key=lambda prefix: len(prefix.prefix)) if prefixes else None


def unknown(name: str, others: Iterable[str] = ()) -> str:
    """The sentence about a name that is none, with what was probably meant."""
    if not name:
        return "a property without a name: does the line begin with '=' or ':'?"
    bare = name.removeprefix("consumer.")
    if bare in kafka.JAVA:
        return f"is a Kafka client property: use {kafka.OVERRIDE}{bare}, or put it into the worker file"
    return f"unknown property.{near_match(name, [*PROPERTIES, *others])}"


def near_member(name: str) -> str:
    """The near match of a converter's misspelt option: Connect would leave it out without a word."""
    prefix = find(name)
    if not isinstance(prefix, PropertyPrefix) or prefix.prefix not in registry.OPTIONS:
        return ""
    return near_match(name, [known for known in PROPERTIES if known.startswith(prefix.prefix)])


def _check_member(name: str, config: ParsedConfig, others: Iterable[str]) -> None:
    found = find(name)
    if not isinstance(found, PropertyPrefix):
        # Never with the value: it may be a misspelt password.
        config.problems.append(Problem(name or '""', None, unknown(name, others)))
        return
    converter = PROPERTIES.get(f"{name.partition('.')[0]}.converter")
    near = "" if converter is not None and not config.applies(converter) else near_member(name)
    source = config.given[name].source.value
    match found.status:
        case Refused(reason, way_out):
            config.problems.append(Problem(name, None, f"{reason}: {way_out}"))
        case Ignored() if near:
            config.problems.append(Problem(name, None, f"unknown property.{near}"))
        case Ignored(reason):
            config.rows.append(ResolvedProperty(name, HIDDEN, source, f"ignored: {reason}", ignored=True))
        case Supported():
            return  # the rule about the prefix says who reads it
        case _:
            assert_never(found.status)
