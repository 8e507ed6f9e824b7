"""`kafka-s3 plan`: what the next run would do."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

import click

from kafka_s3.cli.common import (
    as_json,
    configured,
    count,
    echo,
    interval_text,
    iso,
    load_configuration,
    now_ms,
    print_json,
    print_table,
)
from kafka_s3.cli.interval import chosen_interval, for_a_time
from kafka_s3.export.run import prepare
from kafka_s3.export.run_report import RunReport
from kafka_s3.log.entries import Plan, to_builtins
from kafka_s3.plan.anomalies import ExcludedPartition
from kafka_s3.plan.batch import RunRequest
from kafka_s3.report.forecast import Finish, Forecast, Make, Nothing, Void, forecast
from kafka_s3.wiring import make_exporter


@click.command("plan", short_help="What the next run would do; a dry run.")
@configured
@for_a_time
@click.option("--write", is_flag=True, help="Write the plan to the bucket: the next run executes it as it is.")
@as_json
def command(
    config: Path, worker: Path | None, interval: tuple[int, int] | None, until_now: bool, write: bool, json_: bool
) -> None:
    """Show what the next run of CONFIG would do: offset ranges, notes, and partitions that are left out.

    A dry run: without --write nothing is written, also where the topics were never exported before.
    """
    settings = load_configuration(config, worker).settings
    chosen = chosen_interval(settings.schedule, interval, until_now)
    at = now_ms()
    request = RunRequest(f"cli__{iso(at)}", 1, chosen, at)
    exporter = make_exporter(settings)
    if write:
        prepare(exporter, request)
    found = forecast(exporter, request)
    if json_:
        print_json(_as_json(found, written=write))
    else:
        _print(found, config, written=write)


def _as_json(found: Forecast, *, written: bool) -> dict[str, object]:
    step = found.step
    return {
        "next": type(step).__name__.lower(),
        "written": written and isinstance(step, Finish),
        "reason": step.reason if isinstance(step, Void) else None,
        "plan": None if isinstance(step, Nothing) else to_builtins(step.plan),
        "first_seen": list(found.first_seen),
        "left_out": list(map(_left_out, found.excluded)),
        "accepted": list(map(_left_out, found.accepted)),
    }


def _left_out(left: ExcludedPartition) -> dict[str, object]:
    return {
        "topic": left.tp.topic,
        "partition": left.tp.partition,
        "trouble": left.anomaly.value,
        "reason": left.reason,
    }


def _print(found: Forecast, config: Path, *, written: bool) -> None:
    match found.step:
        case Nothing():
            echo("Nothing new: no Spark would start.")
        case Make(plan):
            echo(f"The next run makes plan {plan.seq}. Nothing was written: this is a dry run.")
            _print_plan(plan)
        case Finish(plan):
            told = "is in the bucket" if written else "is open: a run is executing it, or its driver died"
            echo(f"Plan {plan.seq} of run {plan.run.run_id} {told}. The next run finishes it as planned.")
            _print_plan(plan)
        case Void(plan, reason):
            echo(f"Plan {plan.seq} of run {plan.run.run_id} is open. The next run voids it: {reason}.")
            _print_plan(plan)
        case _ as never:
            assert_never(never)
    for topic in found.first_seen:
        echo(f"Topic {topic} is seen for the first time: the run writes its positions to the log.")
    for left in found.accepted:
        echo(f"Accepted: {left} The run records this first, then plans this partition too.")
    for left in found.excluded:
        echo(f"Left out: {left}")
    if found.excluded:
        status = RunReport(excluded=found.excluded).exit_status
        echo(f"A run exports the others and ends with status {status}. `kafka-s3 status {config}` shows the log.")


def _print_plan(plan: Plan) -> None:
    print_table(
        "",
        ("topic", "partition", "start", "end", "offsets", "interval"),
        [
            (r.topic, r.partition, r.start, r.end, f"{r.end - r.start:,}", interval_text(r.interval or plan.interval))
            for r in plan.ranges
        ],
        right="partition start end offsets",
    )
    planned = sum(r.end - r.start for r in plan.ranges)
    echo(f"{count(planned, 'offset')} in {count(len(plan.ranges), 'range')}.")
    beyond = _beyond(plan)
    if beyond:
        echo(f"The run goes on with {count(beyond, 'offset')} more, in later batches.")
    for note in plan.notes:
        echo(f"Note: {note}")


def _beyond(plan: Plan) -> int:
    """Offsets up to the run's ends that this plan does not cover."""
    covered: dict[tuple[str, int], int] = {}
    for planned in plan.ranges:
        covered[planned.topic, planned.partition] = max(
            planned.end, covered.get((planned.topic, planned.partition), planned.end)
        )
    beyond = 0
    for topic, ends in plan.run.ends.items():
        for partition, end in ends.items():
            position = plan.topics[topic].positions.get(partition, 0)
            beyond += max(0, end - covered.get((topic, partition), position))
    return beyond
