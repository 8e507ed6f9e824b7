"""Metrics, exit statuses and events, from what the code has of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from kafka_s3 import errors, events, user_defined
from kafka_s3.cli import EXIT_INTERRUPTED
from kafka_s3_airflow.metrics import Seen, text

_STATUSES = (
    (errors.EXIT_DONE, "done", "nothing; another run starts at its time"),
    (errors.EXIT_UNEXPECTED, "unexpected: a bug, or an accident of the machine", "tries again"),
    (2, "a wrong call of the command line", "Airflow's own calls never end like this"),
    (
        errors.EXIT_DATA,
        "a bad record, too many rejected ones, or lost data",
        "fails at once: a retry meets the same data",
    ),
    (errors.EXIT_TEMPORARY, "fenced, or a service did not answer", "tries again"),
    (errors.EXIT_CONFIGURATION, "the configuration is wrong", "fails at once"),
    (EXIT_INTERRUPTED, "Ctrl-C", ""),
)
_PARTS = {
    "The log: plans and entries": events.LogEvent,
    "Ranges, and how a run ends": events.RunEvent,
    "What dead runs left": events.SweepEvent,
    "Windows that are exported again": events.WindowEvent,
    "After a commit": events.PublishEvent,
}


def metrics_reference() -> str:
    """A row for each metric: its name, its type and its own description."""
    exposed = text([Seen("orders")]).decode()
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", exposed, re.M))
    rows = [
        f"| `{name}` | {types[name]} | {what} |\n" for name, what in re.findall(r"^# HELP (\w+) (.*)$", exposed, re.M)
    ]
    return f"| metric | type | what it says |\n|---|---|---|\n{''.join(rows)}"


def statuses_reference() -> str:
    """A row for each exit status, with the errors that end in it."""
    rows = [f"| {status} | {what} | {_errors(status)} | {airflow} |\n" for status, what, airflow in _STATUSES]
    return f"| status | what it means | errors | Airflow's task |\n|---|---|---|---|\n{''.join(rows)}"


def _errors(status: int) -> str:
    kinds = [kind for kind in classes(errors.ExporterError) if kind.exit_status == status]
    return ", ".join(f"[{kind.__name__}](errors.md#{kind.__name__.lower()})" for kind in kinds)


def classes(kind: type[errors.ExporterError]) -> Iterator[type[errors.ExporterError]]:
    """The error tree below a class, as errors.py and user_defined.py have it."""
    for each in kind.__subclasses__():
        if each.__module__ in (errors.__name__, user_defined.__name__):
            yield each
            yield from classes(each)


def events_reference() -> str:
    """A table for each kind of event: its name in a line, and its fields with their types."""
    return "\n".join(
        f"## {title}\n\n| event | fields | what it says |\n|---|---|---|\n{''.join(map(_event_row, get_args(union)))}"
        for title, union in _PARTS.items()
    )


def _event_row(kind: Any) -> str:
    fields = ", ".join(f"`{each.name}` {_type_of(each.type)}" for each in msgspec.structs.fields(kind))
    said = " ".join(inspect.cleandoc(kind.__doc__ or "").split())
    return f"| `{kind.__struct_config__.tag}` | {fields} | {said.replace('|', chr(92) + '|')} |\n"


def _type_of(annotation: Any) -> str:
    options = [each for each in get_args(annotation) if each is not type(None)]
    if not options:
        return str(annotation.__name__)
    named = [f"`{each}`" if isinstance(each, str) else _type_of(each) for each in options]
    return " or ".join(named) + (" or null" if type(None) in get_args(annotation) else "")
