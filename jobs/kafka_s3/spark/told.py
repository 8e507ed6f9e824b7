"""What a driver writes to its standard output: lines of JSON for the program that started it, or words for a person."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Final

from kafka_s3.events import Event, ProblemReported, RejectionsNoted, RunEnded, SparkNeeded, Tell, to_line
from kafka_s3.export.run_report import RunReport
from kafka_s3.sentences import sentence
from kafka_s3.shown import printable_lines

#: Tells an event of a connector, or (`None`) of the driver.
TellOf = Callable[[Event, str | None], None]
#: Events are told from several threads, and a line is one line.
_ONE_AT_ONCE: Final = threading.Lock()


def in_lines(event: Event, connector: str | None = None) -> None:
    """For a program that started this one and reads its standard output."""
    with _ONE_AT_ONCE:
        print(to_line(event, connector), flush=True)


def in_words(event: Event, connector: str | None = None) -> None:
    """For a person; what went wrong goes to standard error, and the exit status says how it ended."""
    if isinstance(event, RunEnded | SparkNeeded) and connector is None:
        return
    is_wrong = isinstance(event, ProblemReported | RejectionsNoted)
    prefix = "" if connector is None else f"{connector}: "
    with _ONE_AT_ONCE:
        for line in sentence(event).split("\n"):
            print(f"{prefix}{line}", file=sys.stderr if is_wrong else sys.stdout, flush=True)


def beside(said: str) -> None:
    """A warning or a note, which is no event of the run: on standard error, for whoever reads along."""
    with _ONE_AT_ONCE:
        print(printable_lines(said), file=sys.stderr, flush=True)


def tell_report(report: RunReport, config: str, tell: Tell) -> None:
    """What went wrong in a run, and what was rejected without being too much."""
    for problem in report.said(config):
        tell(ProblemReported(what=str(problem)))
    for rejections in report.noted(config):
        tell(RejectionsNoted(what=rejections))
