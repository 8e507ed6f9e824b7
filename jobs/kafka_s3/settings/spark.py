"""Where an export runs on Spark, and what its application is given: the connection, memory, cores and the like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_s3.errors import Problem
from kafka_s3.settings.properties import HIDDEN, Kind, Property, PropertyPrefix, ResolvedProperty, Supported, near_match
from kafka_s3.settings.reach import CLASSES, ENV_PREFIXES, FILE_ROOTS, Reach
from kafka_s3.settings.validation import ParsedConfig, show

CONN_ID: Final = "export.spark.conn.id"
CONF: Final = "export.spark.conf."
DEFAULT_CONN_ID: Final = "spark_default"
PROPERTIES: Final[tuple[Property, ...]] = (
    Property(CONN_ID, Kind.STRING, DEFAULT_CONN_ID, "Airflow connection of the Spark that exports.", quiet=True),
)
PREFIXES: Final = (
    PropertyPrefix(CONF, Supported(), "A property of Spark's for the application of the export, by its whole name."),
)

VALUE_CHARS_MAX: Final = 4096
_NAME: Final = re.compile(r"spark(\.[A-Za-z0-9_-]+)+", re.ASCII)
_NAME_CHARS_MAX: Final = 200
_SECRET: Final = re.compile(r"(?i)password|passwd|secret|token|credential|(access|private|api)[._-]?key")
_MIB: Final = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}
_MEMORY_MIB_MAX: Final = 1024**2
_MEMORY: Final = frozenset(
    f"spark.{name}"
    for name in (
        "driver.memory",
        "driver.memoryOverhead",
        "driver.maxResultSize",
        "executor.memory",
        "executor.memoryOverhead",
        "executor.pyspark.memory",
    )
)
#: The least and the most of what is counted.
_COUNTS: Final[Mapping[str, tuple[int, int]]] = {
    "spark.cores.max": (1, 100_000),
    "spark.driver.cores": (1, 1024),
    "spark.dynamicAllocation.initialExecutors": (0, 100_000),
    "spark.dynamicAllocation.maxExecutors": (1, 100_000),
    "spark.dynamicAllocation.minExecutors": (0, 100_000),
    "spark.executor.cores": (1, 1024),
    "spark.executor.instances": (1, 100_000),
    "spark.task.cpus": (1, 1024),
    "spark.task.maxFailures": (1, 100),
}
_FLAGS: Final = frozenset(
    ("spark.dynamicAllocation.enabled", "spark.dynamicAllocation.shuffleTracking.enabled", "spark.speculation")
)
_DECIMALS: Final[Mapping[str, tuple[float, float]]] = {
    "spark.speculation.multiplier": (1, 100),
    "spark.speculation.quantile": (0, 1),
}
#: What takes a word or a time; Spark says itself what is wrong with it.
_WORDS: Final = frozenset(
    (
        "spark.dynamicAllocation.executorIdleTimeout",
        "spark.kubernetes.namespace",
        "spark.speculation.interval",
        "spark.yarn.queue",
    )
)
#: Resources, and no more: what a connector may ask for wherever it may ask for anything.
RESOURCES: Final = frozenset((*_MEMORY, *_COUNTS, *_FLAGS, *_DECIMALS, *_WORDS))
#: What the exporter or its connection decides.
_TAKEN: Final[Mapping[str, str]] = {
    "spark.app.name": "the exporter names its applications",
    "spark.master": f"the connection says which Spark that is ({CONN_ID})",
    "spark.submit.deployMode": "the driver runs beside Airflow's task, in client mode",
}


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """`conn_id`: Airflow's connection. `conf`: Spark's properties, sorted by name, none of them a secret."""

    conn_id: str = DEFAULT_CONN_ID
    conf: tuple[tuple[str, str], ...] = ()


NO_SPARK_CONF: Final = SparkSettings()


def is_member(name: str) -> bool:
    """Whether a property of a connector is one of Spark's."""
    return name.startswith(CONF)


def build_spark(config: ParsedConfig) -> SparkSettings:
    """Spark's properties are those that have a value here."""
    conf = ((name, config.given[member].text.strip()) for member, name in _members(config))
    return SparkSettings(config.optional(CONN_ID) or DEFAULT_CONN_ID, tuple(sorted(conf)))


def conf_conflicts(group: str, members: Mapping[str, SparkSettings]) -> dict[str, Problem]:
    """By the names of members of a group: who asks Spark for something else than a member before it by name. Their one
    application cannot have both; who is wrong here asks for nothing."""
    decided: dict[str, tuple[str, str]] = {}
    found = {}
    for member, settings in sorted(members.items()):
        differing = ((name, value) for name, value in settings.conf if decided.get(name, ("", value))[1] != value)
        for name, value in differing:
            first, other = decided[name]
            message = (
                f"cannot be had: {member} is in the group {group} with {first}, which has {other}, and both share one"
                " Spark application. Give both one value, or another group"
            )
            found[member] = Problem(f"{CONF}{name}", value, message)
            break
        else:
            decided |= {name: (member, value) for name, value in settings.conf if name not in decided}
    return found


def apply_spark_rules(config: ParsedConfig) -> None:
    """Add what is wrong with Spark's properties, and the rows that `validate` prints of them."""
    for member in filter(is_member, config.given):
        name, given = member.removeprefix(CONF), config.given[member]
        if _SECRET.search(name) or given.secret:
            way_out = "put it into spark-defaults.conf, or into the environment of Spark"
            config.add_hidden_problem(member, f"would show a secret to everybody who sees processes: {way_out}")
            continue
        message = _name_problem(name)
        if message is None and given.resolved:
            message = _value_problem(name, given.text.strip())
        if message is not None:
            config.add_problem(member, message)
        shown = show(member, given.text) if given.resolved else HIDDEN
        meaning = "Given to Spark for the export's application."
        config.rows.append(ResolvedProperty(member, shown, given.source.value, meaning))
    _executors(config)


def check_reach(config: ParsedConfig, reach: Reach) -> None:
    """Where connectors may not import, open or look up what they like, they may ask Spark for resources alone: the rest
    of its properties run code, which does all of that."""
    lists = {CLASSES: reach.classes, ENV_PREFIXES: reach.env_prefixes, FILE_ROOTS: reach.file_roots}
    bounding = [name for name, allowed in lists.items() if allowed is not None]
    if reach.only_looks or not bounding:
        return
    for member, name in _members(config):
        if name not in RESOURCES:
            bounds = f"{' and '.join(bounding)} {'bounds' if len(bounding) == 1 else 'bound'}"
            message = f"is not a resource, and {bounds} what a connector may do here"
            config.add_problem(member, f"{message}: put it into spark-defaults.conf")


def _members(config: ParsedConfig) -> Iterator[tuple[str, str]]:
    """The properties that have a value here: their names in the file, and Spark's."""
    found = (member for member in config.given if is_member(member) and config.given[member].resolved)
    return ((member, member.removeprefix(CONF)) for member in found)


def _name_problem(name: str) -> str | None:
    if not _NAME.fullmatch(name) or len(name) > _NAME_CHARS_MAX:
        return f"names no property of Spark's: write its whole name, as in {CONF}spark.executor.memory"
    if name in _TAKEN:
        return f"cannot be set: {_TAKEN[name]}"
    near = near_match(name, RESOURCES, cutoff=0.94) if name not in RESOURCES else ""
    return f"is not a property of Spark's.{near}" if near else None


def _value_problem(name: str, text: str) -> str | None:
    """
    >>> _value_problem("spark.executor.memory", "2g"), _value_problem("spark.executor.memory", "2 GB")
    (None, 'must be a size from 1m to 1t, as in 512m or 2g')
    """
    if not text or not text.isprintable() or len(text) > VALUE_CHARS_MAX:
        return f"must be one line of 1 to {VALUE_CHARS_MAX} printable characters"
    if name in _MEMORY:
        size = re.fullmatch(r"([0-9]{1,9})([kmgt]?)b?", text.lower())
        is_size = size is not None and 1 <= int(size[1]) * _MIB[size[2] or "m"] <= _MEMORY_MIB_MAX
        return None if is_size else "must be a size from 1m to 1t, as in 512m or 2g"
    if name in _COUNTS:
        least, most = _COUNTS[name]
        is_count = re.fullmatch(r"[0-9]{1,9}", text) is not None and least <= int(text) <= most
        return None if is_count else f"must be a whole number from {least} to {most}"
    if name in _DECIMALS:
        low, high = _DECIMALS[name]
        is_decimal = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) is not None and low <= float(text) <= high
        return None if is_decimal else f"must be a number from {low:g} to {high:g}"
    if name in _FLAGS:
        return None if text.lower() in ("true", "false") else "must be either true or false"
    return None


def _executors(config: ParsedConfig) -> None:
    """Spark would not start with more executors at least than at most, and stop for ever with none for its tasks."""
    given = {name: config.given[member].text.strip() for member, name in _members(config)}
    for least, most, message in (
        ("spark.dynamicAllocation.minExecutors", "spark.dynamicAllocation.maxExecutors", "must not be more than"),
        ("spark.task.cpus", "spark.executor.cores", "is what one task takes of an executor: it must not be more than"),
    ):
        texts = given.get(least, ""), given.get(most, "")
        if all(re.fullmatch(r"[0-9]{1,9}", text) for text in texts) and int(texts[0]) > int(texts[1]):
            config.add_problem(f"{CONF}{least}", f"{message} {most}={texts[1]}")
