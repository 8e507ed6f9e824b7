"""Cron expressions and Airflow's names for some of them, checked and read without Airflow.

What Airflow would refuse while it builds a DAG, or worse when it looks for the next run (the 30th of February), is
refused here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

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
NONE: Final = "none"
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
_MINUTE_MS: Final = 60_000


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
def read(expression: str) -> Cron:
    """An expression without a problem; a preset's name is one too.

    >>> sorted(read("30 4 * * mon-fri").weekdays), read("0 0 1 * 7").either
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


def problem_of(text: str) -> str | None:
    """What is wrong with a schedule, or `None`.

    >>> problem_of("@daily"), problem_of("30 4 * * mon-fri")
    (None, None)
    >>> problem_of("0 0 30 2 *")
    'names a day that no month has: it would never run'
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
            return f"is no cron expression: its {name} must be *, or numbers from {low} to {high} like 1,3-5 or */2"
        values.append(found)
    days, months = values[2], values[3]
    if fields[4] == "*" and all(min(days) > _LONGEST.get(month, 31) for month in months):
        return "names a day that no month has: it would never run"
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
