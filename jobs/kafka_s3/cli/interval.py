"""Which time a run is for: --interval, --until-now, or the last complete interval of the schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kafka_s3.cli.common import Time, echo, interval_text, now_ms
from kafka_s3.log.entries import Interval
from kafka_s3.plan.schedule import last_complete
from kafka_s3.settings.schedule import ScheduleSettings

Function = TypeVar("Function", bound=Callable[..., Any])


def for_a_time(function: Function) -> Function:
    """The options --interval and --until-now."""
    function = click.option(
        "--until-now", is_flag=True, help="Export all that can be read now, whatever the records' timestamps are."
    )(function)
    return click.option(
        "--interval",
        type=Time(),
        nargs=2,
        metavar="START END",
        help="Export records before END; START is the logical time. ISO 8601. Default: the last complete interval.",
    )(function)


def chosen_interval(schedule: ScheduleSettings, given: tuple[int, int] | None, until_now: bool) -> Interval | None:
    """The data interval that the options ask for, said on stderr where it was not given."""
    if given is not None and until_now:
        raise click.UsageError("--interval and --until-now are mutually exclusive.")
    if until_now:
        return None
    if given is not None:
        start, end = given
        if start >= end:
            raise click.UsageError("--interval: END must be after START.")
        return Interval(start, end)
    if not schedule.timed:
        echo("Up to what can be read now: the connector has no schedule by time.", err=True)
        return None
    chosen = last_complete(schedule, now_ms())
    echo(f"Interval {interval_text(chosen)}, the schedule's last complete one.", err=True)
    return chosen
