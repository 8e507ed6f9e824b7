"""When runs are due, and the DAGs that a connector has.

Cron expressions and Airflow's names for some of them are config and read without Airflow. What Airflow would refuse
while it builds a DAG, or worse when it looks for the next run (the 30th of February), is refused here. Days are
Airflow's (croniter's): cronsim takes `*/2` for a star, and has other times where a clock is changed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from kafka_s3.settings import validators
from kafka_s3.settings.properties import Kind, Property
from kafka_s3.settings.validation import ParsedConfig
from kafka_s3.settings.validators import OPERATIONS_SUFFIX, REEXPORT_SUFFIX, VERIFY_SUFFIX

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_MINUTE_MS: Final = 60_000
#: Airflow's presets that come back, and what they stand for.
PRESETS: Final[Mapping[str, str]] = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
}
#: In the place of an expression: never by time.
NEVER: Final = "none"
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_DAYS: Final = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_FIELDS: Final[tuple[tuple[str, int, int, Mapping[str, int]], ...]] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
_LONGEST: Final = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
_PART: Final = re.compile(r"(?:(\*)|(\w+)(?:-(\w+))?)(?:/(\d{1,4}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """When runs are due, in `timezone`: by an interval aligned to local midnight, or by a cron expression.

    `interval_ms`: `rotate.schedule.interval.ms`; unset means hourly.
    `cron`: `export.schedule`, which takes the interval's place.
    `timed`: false where runs begin by hand or by assets alone, so that there are no boundaries.
    """

    interval_ms: int = 3_600_000
    timezone: str = "UTC"
    cron: str | None = None
    timed: bool = True


def verify_schedule(text: str) -> str | None:
    """Blank, one of Airflow's presets, or a cron expression."""
    return cron_problem(text.strip()) if text.strip() else None


def schedule(text: str) -> str | None:
    """As `verify_schedule`, or the word for never."""
    if text.strip() in ("", NEVER):
        return None
    problem = cron_problem(text.strip())
    return f"{problem}; or {NEVER}" if problem else None


PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        "rotate.schedule.interval.ms",
        Kind.LONG,
        -1,
        "Interval of scheduled runs, aligned to local midnight; hourly unless set.",
        check=validators.schedule_interval,
    ),
    Property(
        "export.schedule",
        Kind.STRING,
        "",
        "When the DAG runs, in `timezone`, instead of rotate.schedule.interval.ms: a cron expression of five fields,"
        " a preset such as @daily, or none (runs start by hand or by assets only).",
        check=schedule,
    ),
    Property(
        "export.schedule.assets",
        Kind.LIST,
        (),
        "URIs of Airflow assets; once all of them have been updated, a run exports everything that is readable by"
        " then.",
        check=validators.asset_uri,
    ),
    Property(
        "export.owner", Kind.STRING, "", "Owner of the DAG; Airflow's default unless set.", check=validators.owner
    ),
    Property(
        "export.group",
        Kind.STRING,
        "",
        "Connectors of one group share the DAG `<group>__group`, one driver and one schedule; none unless set.",
        check=validators.group,
        quiet=True,
    ),
    Property("export.tags", Kind.LIST, (), "Tags of the DAG, in addition to kafka-s3.", check=validators.dag_tag),
    Property(
        "export.verify.schedule",
        Kind.STRING,
        "",
        "When the DAG `<name>__verify` verifies the export, in `timezone`: a cron expression or a preset such as"
        " @daily.",
        check=verify_schedule,
    ),
    Property(
        "export.reexport.enable",
        Kind.BOOLEAN,
        True,
        "Create a DAG `<name>__reexport`, which exports a time window again.",
    ),
    Property(
        "export.reexport.topics.dir",
        Kind.STRING,
        "reexport",
        "Key prefix of re-exported windows; each window has its own folder below it.",
        check=validators.folder,
    ),
    Property(
        "export.reexport.max.active.runs",
        Kind.INT,
        4,
        "How many windows `<name>__reexport` exports at the same time; a backfill has its own limit.",
        minimum=1,
        maximum=100,
    ),
    Property(
        "export.operations.enable",
        Kind.BOOLEAN,
        True,
        "Create a DAG `<name>__operations`, which rewinds, accepts losses and redrives dead letters on request.",
        quiet=True,
    ),
)


def apply_schedule_rules(config: ParsedConfig) -> None:
    _schedule(config)
    _verify_dag(config)
    _reexport(config)
    _has_room(config, "export.operations.enable", OPERATIONS_SUFFIX)


def _schedule(config: ParsedConfig) -> None:
    if not config.sure("rotate.schedule.interval.ms", "timezone"):
        return
    if config.number("rotate.schedule.interval.ms") > 0 and config.optional("export.schedule") is not None:
        config.add_problem(
            "export.schedule",
            "cannot be combined with rotate.schedule.interval.ms, which also sets the schedule: set one of them",
        )
    if config.number("rotate.schedule.interval.ms") > 0 and not config.text("timezone"):
        config.add_problem("timezone", "timezone configuration must be set when using rotate.schedule.interval.ms")


def _verify_dag(config: ParsedConfig) -> None:
    """The id of its DAG is the connector's name with an ending, and Airflow takes 250 characters."""
    if config.sure("name", "export.verify.schedule") and config.optional("export.verify.schedule") is not None:
        longest = 250 - len(VERIFY_SUFFIX)
        if len(config.text("name")) > longest:
            message = (
                f"requires a shorter connector name: at most {longest} characters, for the DAG <name>{VERIFY_SUFFIX}"
            )
            config.add_problem("export.verify.schedule", message)


def _has_room(config: ParsedConfig, enabled: str, suffix: str) -> None:
    """A DAG that is asked for needs room for its id; by default there is just none."""
    wanted = config.sure("name", enabled) and config.is_set(enabled)
    if wanted and config.flag(enabled):
        longest = 250 - len(suffix)
        if len(config.text("name")) > longest:
            message = f"requires a shorter connector name: at most {longest} characters, for the DAG <name>{suffix}"
            config.add_problem(enabled, message)


def _reexport(config: ParsedConfig) -> None:
    _has_room(config, "export.reexport.enable", REEXPORT_SUFFIX)
    if not config.sure("topics.dir", "export.log.dir", "export.reexport.topics.dir"):
        return
    again, log_dir = config.text("export.reexport.topics.dir"), config.text("export.log.dir")
    topics_dir = config.text("topics.dir")
    if again == topics_dir or (not topics_dir and again.partition("/")[0] in config.listed("topics")):
        message = "re-exported windows would be mixed with the data in topics.dir: choose another folder"
        config.add_problem("export.reexport.topics.dir", message)
    elif f"{again}/".startswith(f"{log_dir}/"):
        config.add_problem(
            "export.reexport.topics.dir", "re-exported windows would be mixed with the logs: choose another folder"
        )


def build_schedule(config: ParsedConfig) -> ScheduleSettings:
    """Hourly unless set; at most a day, since the sink starts counting anew at each local midnight."""
    interval, given = config.number("rotate.schedule.interval.ms"), config.optional("export.schedule")
    by_assets_alone = given is None and interval <= 0 and bool(config.listed("export.schedule.assets"))
    timed = given != NEVER and not by_assets_alone
    return ScheduleSettings(
        interval_ms=min(interval, _DAY_MS) if interval > 0 else _HOUR_MS,
        timezone=config.text("timezone") or "UTC",
        cron=given if timed else None,
        timed=timed,
    )


@dataclass(frozen=True, slots=True)
class Cron:
    """An expression as sets of numbers; days of the week from Sunday, which is 0.

    `either`: both sorts of days are restricted, and then one of them is enough, as cron has it.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool

    @property
    def every_hour(self) -> bool:
        """Whether the hour is left open: such an expression means times in every hour, however clocks are changed."""
        return len(self.hours) == 24

    def holds(self, day: date) -> bool:
        """Whether the expression has times on a day."""
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and ((of_month or of_week) if self.either else (of_month and of_week))

    def clock_ms(self) -> list[int]:
        """Its times on the clock of a day, in milliseconds, ascending."""
        return [(hour * 60 + minute) * _MINUTE_MS for hour in sorted(self.hours) for minute in sorted(self.minutes)]


@functools.cache
def read_cron(expression: str) -> Cron:
    """An expression without a problem; a preset's name is one too.

    >>> sorted(read_cron("30 4 * * mon-fri").weekdays), read_cron("0 0 1 * 7").either
    ([1, 2, 3, 4, 5], True)
    """
    texts = PRESETS.get(expression, expression).split()
    sets = []
    for (_, low, high, names), text in zip(_FIELDS, texts, strict=True):
        found = _values(text, low, high, names)
        assert found is not None, f"{expression} was not checked"
        sets.append(frozenset(found))
    minutes, hours, days, months, weekdays = sets
    weekdays = frozenset(day % 7 for day in weekdays)
    # A star leaves a sort of days open. So does a list of all of them, but only beside a star.
    days_open = _is_star(texts[2]) or (len(days) == 31 and "*" in texts[4])
    weekdays_open = _is_star(texts[4]) or (len(weekdays) == 7 and "*" in texts[2])
    return Cron(minutes, hours, days, months, weekdays, either=not days_open and not weekdays_open)


def _is_star(field: str) -> bool:
    return "*" in field.split(",")


def cron_problem(text: str) -> str | None:
    """What is wrong with a schedule, or `None`.

    >>> cron_problem("@daily"), cron_problem("30 4 * * mon-fri")
    (None, None)
    >>> cron_problem("0 0 30 2 *")
    'names a day that does not exist: it would never run'
    """
    if text in PRESETS:
        return None
    fields = text.split()
    if text.startswith("@") or len(fields) != len(_FIELDS):
        return f"must be one of {', '.join(PRESETS)}, or a cron expression of five fields like 30 4 * * *"
    values = []
    for (name, low, high, names), field in zip(_FIELDS, fields, strict=True):
        found = _values(field, low, high, names)
        if found is None:
            return (
                f"is not a valid cron expression: its {name} must be *, or numbers from {low} to {high} like 1,3-5"
                f" or */2"
            )
        values.append(found)
    days, months = values[2], values[3]
    if fields[4] == "*" and all(min(days) > _LONGEST.get(month, 31) for month in months):
        return "names a day that does not exist: it would never run"
    return None


def _values(field: str, low: int, high: int, names: Mapping[str, int]) -> set[int] | None:
    """The numbers that a field means, or `None` if it is none."""
    found: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            return None
        star, first, last, step = match.groups()
        if last and _number(first, names) == _number(last, names):
            return None  # `5-5` is all of them to some, and 5 to others
        begin = low if star else _number(first, names)
        end = high if star or (step and not last) else _number(last or first, names)
        if begin is None or end is None or not low <= begin <= end <= high or int(step or 1) == 0:
            return None
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def _number(text: str, names: Mapping[str, int]) -> int | None:
    return int(text) if text.isdigit() else names.get(text.lower())
