"""Which time a run is for: --interval, --until-now, or the last complete interval of the schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from kafka_s3.cli.common import Time, interval_text, now_ms
from kafka_s3.commit_log import Interval
from kafka_s3.schedule import boundaries
from kafka_s3.settings.model import ScheduleSettings

Function = TypeVar("Function", bound=Callable[..., Any])

_LOOK_BACK_MS: Final = 4 * 86_400_000  # an interval is at most a day, and a local day at most 25 hours or so


def for_a_time(function: Function) -> Function:
    """The options --interval and --until-now."""
    function = click.option(
        "--until-now", is_flag=True, help="Up to what can be read now, whatever the records' timestamps say."
    )(function)
    return click.option(
        "--interval",
        type=Time(),
        nargs=2,
        metavar="START END",
        help="Records before END, under the logical time START; ISO 8601. Default: the schedule's last complete one.",
    )(function)


def chosen_interval(schedule: ScheduleSettings, given: tuple[int, int] | None, until_now: bool) -> Interval | None:
    """The data interval that the options ask for, said on stderr where it was not given."""
    if given is not None and until_now:
        raise click.UsageError("--interval and --until-now exclude each other.")
    if until_now:
        return None
    if given is not None:
        start, end = given
        if start >= end:
            raise click.UsageError("--interval: END is not after START.")
        return Interval(start, end)
    chosen = last_complete(schedule, now_ms())
    click.echo(f"Interval {interval_text(chosen)}, the schedule's last complete one.", err=True)
    return chosen


def last_complete(schedule: ScheduleSettings, at_ms: int) -> Interval:
    """The last interval of the schedule that ends at or before a time, as a manual run in Airflow has it."""
    edges = list(boundaries(schedule, at_ms - _LOOK_BACK_MS, at_ms))
    return Interval(edges[-2], edges[-1])
