"""What needs attention, as every command says it."""

from __future__ import annotations

from pathlib import Path

from kafka_s3.cli.common import echo
from kafka_s3.export.diagnosis import Problem, label, said
from kafka_s3.shown import printable


def print_problem(problem: Problem, config: Path) -> None:
    """A problem, and below it the way out."""
    words = said(problem, str(config))
    echo(printable(f"{label(problem)}: {words.what}"))
    if words.next:
        echo(f"  {printable(words.next)}")


def as_json_problem(problem: Problem, config: Path) -> dict[str, str]:
    words = said(problem, str(config))
    return {"kind": label(problem), "problem": words.what, "next": words.next}
