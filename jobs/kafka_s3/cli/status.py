"""`kafka-s3 status`: where an export stands, for somebody who was paged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

import click

from kafka_s3.cli.common import (
    as_json,
    configured,
    echo,
    interval_text,
    iso,
    load_configuration,
    now_ms,
    print_json,
    print_table,
)
from kafka_s3.cli.problems import as_json_problem, print_problem
from kafka_s3.log.entries import Entry, to_builtins
from kafka_s3.reexport import ReexportedWindow, windows
from kafka_s3.report.health import Health, duration_text, look
from kafka_s3.report.status import PartitionStatus, Status, summary
from kafka_s3.settings.run import Policies
from kafka_s3.wiring import make_broker, make_log

WINDOWS_MAX: Final = 20  # that are printed; --json has all


@click.command("status", short_help="Positions, lag, last commits, and what needs attention.")
@configured
@click.option("--entries", type=click.IntRange(1), default=10, show_default=True, help="How many log entries to read.")
@as_json
def command(config: Path, worker: Path | None, entries: int, json_: bool) -> None:
    """Show where the export of CONFIG stands: positions and lag, the last log entries, what failed and what to do.

    Exits with 1 if anything needs attention: the next run would stop or leave something out, or the newest commit of a
    topic rejected most of its records. Also if Kafka does not answer; what the log says is still shown.
    """
    settings = load_configuration(config, worker).settings
    log = make_log(settings)
    health = look(settings, log, partial(make_broker, settings), at_ms=now_ms(), entries_max=entries)
    # One more than is printed shows whether there are more.
    again = windows(settings, log.store, None if json_ else WINDOWS_MAX + 1)
    if json_:
        print_json({**_as_json(health, config), "reexported": [_window_as_json(each) for each in again]})
    else:
        show(health, config, f"s3://{settings.s3.bucket}/{log.where}", settings.policies)
        _print_windows(again)
    raise click.exceptions.Exit(0 if health.status.is_ok else 1)


def _window_as_json(each: ReexportedWindow) -> dict[str, object]:
    return {**asdict(each), "from": iso(each.start_ms), "to": iso(each.end_ms)}


def _print_windows(again: Sequence[ReexportedWindow]) -> None:
    if not again:
        return
    echo()
    print_table(
        "Windows exported again",
        ("from", "to", "state", "records", "objects", "bytes", "run", "under"),
        [
            (
                iso(each.start_ms),
                iso(each.end_ms),
                "committed" if each.is_committed else "not committed",
                f"{each.records:,}",
                f"{each.objects:,}",
                f"{each.bytes:,}",
                each.run_id,
                each.prefix,
            )
            for each in again[:WINDOWS_MAX]
        ],
        right="records objects bytes",
    )
    if len(again) > WINDOWS_MAX:
        echo("… and older ones; --json lists all.")


def _as_json(health: Health, config: Path) -> dict[str, object]:
    status = health.status
    return {
        "connector": status.name,
        "summary": summary(status),
        "ok": status.is_ok,
        "state": health.state.value,
        "at_ms": health.at_ms,
        "lag_records": health.lag_records,
        "lag_ms": health.lag_ms,
        "loss_in_ms": health.loss_in_ms,
        "overdue_ms": health.overdue_ms,
        "rejected_fraction": health.rejected_fraction,
        "filtered_fraction": health.filtered_fraction,
        "last_commit_ms": health.last_commit_ms,
        "records_per_s": health.records_per_s,
        "held": [str(each) for each in health.held],
        "notes": list(health.notes),
        "kafka_error": status.kafka_error,
        "problems": [as_json_problem(problem, config) for problem in status.problems],
        "partitions": [
            {
                "topic": each.tp.topic,
                "partition": each.tp.partition,
                "position": each.position,
                "last_stable_offset": each.offsets.last_stable if each.offsets else None,
                "high_watermark": each.offsets.high_watermark if each.offsets else None,
                "log_start": each.offsets.log_start if each.offsets else None,
                "lag": each.lag,
                "generation": each.generation,
                "skipped_offsets": each.skipped,
                "complete_until_ms": health.complete_until_ms(each.tp),
            }
            for each in status.partitions
        ],
        "first_seen": list(status.first_seen),
        "left_out": [
            {
                "topic": left.tp.topic,
                "partition": left.tp.partition,
                "trouble": left.anomaly.value,
                "reason": left.reason,
                "resume": left.resume,
            }
            for left in status.excluded
        ],
        "open_plan": to_builtins(status.open_plan) if status.open_plan else None,
        "entries": [to_builtins(entry) for entry in status.entries],
    }


def show(health: Health, config: Path, where: str, policies: Policies) -> None:
    status = health.status
    echo(summary(status))
    for line in _numbers(health):
        echo(line)
    echo()
    print_table(
        f"Connector {status.name}",
        ("topic", "partition", "position", "LSO", "lag", "log start", "generation", "skipped", "complete until"),
        [_partition_row(each, health.complete_until_ms(each.tp)) for each in status.partitions],
        right="partition position LSO lag start generation skipped",
    )
    echo()
    if status.entries:
        print_table(
            f"Newest entries of {where}",
            ("seq", "kind", "run", "interval", "records", "objects", "bytes", "failed"),
            [_entry_row(entry) for entry in status.entries],
            right="seq records objects bytes failed",
        )
    else:
        echo(f"{where} is empty.")
    _print_open(status)
    _print_problems(status, config, policies)


def _numbers(health: Health) -> list[str]:
    """What the clock says to it, as far as there is anything to say."""
    said = []
    if health.lag_ms:
        said.append(f"The oldest waiting record is {duration_text(health.lag_ms)} old.")
    if health.overdue_ms:
        said.append(f"A run was due {duration_text(health.overdue_ms)} ago.")
    if health.loss_in_ms is not None:
        said.append(f"Retention may delete waiting records in {duration_text(health.loss_in_ms)}.")
    if health.rejected_fraction:
        said.append(f"Rejected: {health.rejected_fraction:.2%} of the records of the entries below.")
    if health.filtered_fraction:
        said.append(f"Dropped by transforms: {health.filtered_fraction:.2%} of the records of the entries below.")
    return [*([" ".join(said)] if said else []), *map(str, health.held), *health.notes]


def _partition_row(each: PartitionStatus, until_ms: int | None) -> tuple[object, ...]:
    seen = each.offsets
    known: tuple[object, ...] = ("?", "?", "?") if seen is None else (seen.last_stable, each.lag, seen.log_start)
    until = "" if until_ms is None else iso(until_ms)
    return each.tp.topic, each.tp.partition, each.position, *known, each.generation, each.skipped, until


def _entry_row(entry: Entry) -> tuple[object, ...]:
    run = entry.run_id if entry.try_number == 1 else f"{entry.run_id} (try {entry.try_number})"
    interval = interval_text(entry.interval) if entry.ranges else ""
    return (
        entry.seq,
        entry.kind.value,
        run,
        interval,
        f"{sum(done.records for done in entry.ranges):,}",
        f"{sum(len(done.objects) for done in entry.ranges):,}",
        f"{sum(made.size for done in entry.ranges for made in done.objects):,}",
        len(entry.failed),
    )


def _print_open(status: Status) -> None:
    plan = status.open_plan
    if plan is not None:
        offsets = sum(planned.end - planned.start for planned in plan.ranges)
        echo(
            f"\nOpen: plan {plan.seq} of run {plan.run.run_id}, {offsets:,} offsets. Either a run is executing it, or"
            " its driver died and the next run will finish it."
        )
    for topic in status.first_seen:
        echo(f"\nTopic {topic} is not in the log yet: the next run writes its positions.")


def _print_problems(status: Status, config: Path, policies: Policies) -> None:
    for problem in status.problems:
        echo()
        print_problem(problem, config)
    for seq, gap in status.gaps:
        echo(f"\nLost: {gap.topic}-{gap.partition} [{gap.start}, {gap.end}), accepted in entry {seq}: {gap.reason}")
    for seq, restart in status.restarts:
        what = "rewound" if restart.withdrawn else "began again"
        echo(
            f"\nRestarted: {restart.tp} at {restart.position} in entry {seq} ({what}, generation {restart.generation}):"
            f" {restart.reason}"
        )
        if restart.withdrawn:
            echo(
                f"  Plain listings still show what was withdrawn. To delete it:"
                f" kafka-s3 gc {config} --withdrawn --delete"
            )
    for left in status.excluded:
        if left.is_allowed(policies):
            echo(f"\nLeft out: {left}")
            echo("  The next run records this and continues: the configuration allows it.")
    if not status.is_ok and status.entries:
        echo(f"\nTo check the bucket: kafka-s3 verify {config}")
