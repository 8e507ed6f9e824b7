"""What is asked of a connector's DAG of operations: a run's parameters, read and checked. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from kafka_s3.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from kafka_s3.dead_letters.redrive import Wanted
    from kafka_s3.ranges import TopicPartition

REWIND: Final = "rewind"
ACCEPT: Final = "accept"
REDRIVE: Final = "redrive"
OPERATIONS: Final = (REWIND, ACCEPT, REDRIVE)
#: Those that are meant only if the connector's name is typed.
CONFIRMED: Final = (REWIND, ACCEPT)
NAMES_MAX: Final = 1_000
TEXT_MAX: Final = 1_000
_TARGET: Final = r"[A-Za-z0-9._-]{1,249}-[0-9]{1,9}=[0-9]{1,18}"
_TOPIC: Final = r"[A-Za-z0-9._-]{1,249}"
_NAME: Final = r"[A-Za-z0-9._-]{1,260}"
_STAGES: Final = ("VALUE_CONVERTER", "KEY_CONVERTER", "HEADER_CONVERTER", "TRANSFORMATION", "TASK_PUT")
_LETTERS: Final = frozenset(
    ("topic", "partition", "offsets", "since", "until", "stage", "error", "to", "again", "keep_timestamps")
)


@dataclass(frozen=True, slots=True)
class OperationRequest:
    """`seen`: the newest log entry when this was decided. The rest is as the commands have it."""

    operation: str
    targets: Mapping[TopicPartition, int]
    accepted: tuple[str, ...]
    wanted: Wanted
    to: str | None
    keep_timestamps: bool
    again: bool
    seen: int | None
    confirm: str
    dry_run: bool

    def check_confirmed(self, connector: str) -> None:
        """Raise `ConfigurationError` unless the connector's name was typed, where it has to be."""
        if self.operation in CONFIRMED and not self.dry_run and self.confirm != connector:
            raise ConfigurationError(
                f"The operation {self.operation} of {connector} is not confirmed.",
                problems=[Problem("confirm", self.confirm[:TEXT_MAX], f"write the connector's name, {connector}")],
                next="Nothing was written.",
            )


def parse(given: Mapping[str, Any]) -> OperationRequest:
    """The request in a run's parameters. Raises `ConfigurationError` with everything that is wrong with them."""
    from kafka_s3.dead_letters.redrive import Wanted, parse_offsets
    from kafka_s3.rewind.rewind import parse_target

    read = _Reader(given)
    operation = read.text("operation") or ""
    if operation not in OPERATIONS:
        read.refuse("operation", f"is not one of {', '.join(OPERATIONS)}")
    targets: dict[TopicPartition, int] = {}
    accepted: tuple[str, ...] = ()
    if operation == REWIND:
        for text in read.names("partitions", _TARGET, "TOPIC-PARTITION=OFFSET, like orders-0=1200"):
            target = parse_target(text)
            if target is not None:
                targets[target[0]] = target[1]
    if operation == ACCEPT:
        accepted = read.names("partitions", _NAME, "a topic, or a topic with -PARTITION")
    letters = read.within("letters", _LETTERS)
    offsets = letters.text("offsets")
    between = parse_offsets(offsets) if offsets is not None else None
    if offsets is not None and between is None:
        letters.refuse("offsets", "is neither an offset like 17 nor offsets like 17-42, the lower one first")
    since, until = letters.time("since"), letters.time("until")
    if since is not None and until is not None and until <= since:
        letters.refuse("until", "must be after since")
    stage = letters.text("stage")
    if stage not in (None, *_STAGES):
        letters.refuse("stage", f"is not one of {', '.join(_STAGES)}")
    topic, to = (letters.text(name, _TOPIC, "a topic's name") for name in ("topic", "to"))
    made = OperationRequest(
        operation=operation,
        targets=targets,
        accepted=accepted,
        wanted=Wanted(topic, letters.whole("partition"), between, since, until, stage, letters.text("error")),
        to=to,
        keep_timestamps=letters.flag("keep_timestamps"),
        again=letters.flag("again"),
        seen=read.whole("seen"),
        confirm=read.text("confirm") or "",
        dry_run=read.flag("dry_run"),
    )
    read.check()
    return made


class _Reader:
    """Values of the types that are asked for, and what is wrong with the others."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._problems: list[Problem] = []

    def refuse(self, name: str, why: str) -> None:
        value = self._given.get(name)
        self._problems.append(Problem(name, None if value is None else str(value)[:TEXT_MAX], why))

    def within(self, name: str, known: frozenset[str]) -> _Reader:
        """The values of an object among them; what is wrong with those is told with the rest."""
        value = self._given.get(name)
        if value is not None and not isinstance(value, Mapping):
            self.refuse(name, "is not a JSON object")
        inner = _Reader(value if isinstance(value, Mapping) else {})
        for other in sorted(inner._given.keys() - known):
            self._problems.append(
                Problem(f"{name}.{other}"[:TEXT_MAX], None, f"is not one of {', '.join(sorted(known))}")
            )
        inner._problems = self._problems
        return inner

    def check(self) -> None:
        if self._problems:
            raise ConfigurationError("The operation cannot be done like this:", problems=self._problems)

    def text(self, name: str, pattern: str | None = None, what: str = "") -> str | None:
        value = self._given.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str) or len(value) > TEXT_MAX:
            self.refuse(name, f"is not a text of at most {TEXT_MAX} characters")
            return None
        if pattern is not None and not re.fullmatch(pattern, value, re.ASCII):
            self.refuse(name, f"is not {what}")
            return None
        return value

    def names(self, name: str, pattern: str, what: str) -> tuple[str, ...]:
        values = self._given.get(name) or ()
        if not values:
            self.refuse(name, f"name at least one: {what}")
        if not isinstance(values, list | tuple) or len(values) > NAMES_MAX:
            self.refuse(name, f"is not a list of at most {NAMES_MAX} texts")
            return ()
        for value in values:
            if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
                self._problems.append(Problem(name, str(value)[:TEXT_MAX], f"is not {what}"))
        return tuple(dict.fromkeys(value for value in values if isinstance(value, str)))

    def whole(self, name: str) -> int | None:
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10**18:
            self.refuse(name, "is not a whole number from 0 on")
            return None
        return value

    def flag(self, name: str) -> bool:
        value = self._given.get(name)
        if value not in (None, True, False):
            self.refuse(name, "is neither true nor false")
        return value is True

    def time(self, name: str) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        try:
            at = datetime.fromisoformat(value)
            at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
            return round(at.timestamp() * 1000)
        except (ValueError, OverflowError):
            self.refuse(name, "is not an ISO 8601 time like 2026-03-01T13:00:00+01:00")
            return None
