"""What a driver writes, line by line: its events, and between them what Spark, Java and Python say."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kafka_s3.events import (
    CommitWritten,
    Event,
    ProblemReported,
    RejectionsNoted,
    RunEnded,
    SparkNeeded,
    WindowCommitWritten,
    connector_of,
    from_line,
)
from kafka_s3.sentences import sentence

REASON_LINES_MAX: Final = 40
#: How lines begin that Spark and Java write by themselves, which say nothing about why a driver could not start.
_OF_SPARK: Final = (
    "WARNING: ",
    "Warning: ",
    "Using Spark's default log4j",
    "Setting default log level",
    "To adjust logging level",
    "Picked up ",
)


@dataclass(slots=True)
class DriverOutput:
    """Follows a driver. `exit_status`: what its last event says; `None` of one that died before that.

    `needs_spark`: one without Spark came to a plan that is worth it; `status_before`: of what it did until then.
    """

    exit_status: int | None = None
    needs_spark: bool = False
    status_before: int = 0
    commits: list[CommitWritten | WindowCommitWritten] = field(default_factory=list)
    _reported: list[str] = field(default_factory=list)
    _unexplained: deque[str] = field(default_factory=lambda: deque(maxlen=REASON_LINES_MAX))

    def read(self, lines: Iterable[str]) -> Iterator[str]:
        """The same lines with the sentences of events in their places."""
        for line in lines:
            event = from_line(line)
            if event is None:
                self._take_foreign(line.strip())
                yield line
                continue
            self._unexplained.clear()
            if isinstance(event, ProblemReported | RejectionsNoted):
                self._reported.append(event.what)
            elif isinstance(event, SparkNeeded):
                self.needs_spark, self.status_before = True, event.exit_status
            elif isinstance(event, CommitWritten | WindowCommitWritten):
                self.commits.append(event)
            elif isinstance(event, RunEnded):
                self.exit_status = event.exit_status
            yield from sentence(event).split("\n")

    @property
    def has_ended(self) -> bool:
        """Whether the last event was there."""
        return self.needs_spark or self.exit_status is not None

    @property
    def reason(self) -> str:
        """Why the driver ended: what it reported; of one that died before its last event, what was said since then."""
        lines = [line for what in self._reported for line in what.split("\n")]
        if self.exit_status is None:
            lines += self._unexplained
        if len(lines) > REASON_LINES_MAX:
            lines[REASON_LINES_MAX:] = [f"and {len(lines) - REASON_LINES_MAX} more lines: see the log above"]
        return "\n".join(lines)

    def _take_foreign(self, line: str) -> None:
        if line and not line.startswith(_OF_SPARK) and not _is_dated(line):
            self._unexplained.append(line)


def committed(*outputs: DriverOutput) -> dict[str, int] | None:
    """What one try committed, for its XCom: the newest entry, and the counts of all; `None` if it was nothing."""
    commits = [each for output in outputs for each in output.commits]
    if not commits:
        return None
    names = ("records", "bytes", "objects")
    return {"seq": commits[-1].seq, **{name: sum(getattr(each, name) for each in commits) for name in names}}


@dataclass(slots=True)
class GroupOutput(DriverOutput):
    """Follows the driver of a group, whose lines are told under the names of the connectors that they are of.

    `statuses`: of those that have ended, with `reasons`. `waiting`: those that need Spark, with the status until then.
    """

    statuses: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, list[str]] = field(default_factory=dict)

    def read(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            event = from_line(line)
            name = connector_of(line) if event is not None else None
            if event is None or name is None:
                yield from DriverOutput.read(self, [line])
                continue
            self._unexplained.clear()
            self._take(name, event)
            yield from (f"{name}: {each}" for each in sentence(event).split("\n"))

    def _take(self, name: str, event: Event) -> None:
        if isinstance(event, ProblemReported):
            self.reasons.setdefault(name, []).append(event.what)
        elif isinstance(event, SparkNeeded):
            self.waiting[name] = event.exit_status
        elif isinstance(event, RunEnded):
            self.statuses[name] = event.exit_status


def _is_dated(line: str) -> bool:
    """Whether it begins with the time of log4j.

    >>> _is_dated("26/11/21 09:00:00 WARN Utils: x"), _is_dated("Error: no such file"), _is_dated("x")
    (True, False, False)
    """
    shape = "".join("0" if c.isdecimal() else c for c in line[:18])
    return shape == "00/00/00 00:00:00 "
