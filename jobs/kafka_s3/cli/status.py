"""`kafka-s3 status`: where an export stands, for somebody who was paged."""

from __future__ import annotations

from pathlib import Path

import click

from kafka_s3.cli.common import (
    as_json,
    configured,
    interval_text,
    load_configuration,
    print_json,
    print_table,
)
from kafka_s3.commit_log import Entry, to_builtins
from kafka_s3.export.log import Log
from kafka_s3.export.status import PartitionStatus, Status, look, summary
from kafka_s3.naming import LogLayout
from kafka_s3.ports import Broker


@click.command("status", short_help="Positions, lag, last commits, and what needs somebody.")
@configured
@click.option("--entries", type=click.IntRange(1), default=10, show_default=True, help="How many log entries to read.")
@as_json
def command(config: Path, worker: Path | None, entries: int, json_: bool) -> None:
    """Show where the export of CONFIG stands: positions and lag, the last log entries, what failed and what to do.

    Exits with 1 if a partition needs somebody, or if Kafka did not answer (the log's part is shown all the same).
    """
    settings = load_configuration(config, worker).settings
    # Late: this module is imported for --help too.
    from kafka_s3.s3 import S3Store

    def open_broker() -> Broker:
        from kafka_s3.kafka import KafkaBroker

        return KafkaBroker(settings)

    log = Log(S3Store(settings.s3), LogLayout(settings.log_root, settings.name))
    status = look(settings, log, open_broker, entries_max=entries)
    if json_:
        print_json(_as_json(status))
    else:
        _print(status, config, f"s3://{settings.s3.bucket}/{log.layout.log_prefix}")
    raise click.exceptions.Exit(0 if status.is_well else 1)


def _as_json(status: Status) -> dict[str, object]:
    return {
        "connector": status.name,
        "summary": summary(status),
        "well": status.is_well,
        "kafka_error": status.kafka_error,
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
            }
            for each in status.partitions
        ],
        "first_seen": list(status.first_seen),
        "left_out": [
            {"topic": left.tp.topic, "partition": left.tp.partition, "reason": left.reason} for left in status.left_out
        ],
        "open_plan": to_builtins(status.open_plan) if status.open_plan else None,
        "entries": [to_builtins(entry) for entry in status.entries],
    }


def _print(status: Status, config: Path, where: str) -> None:
    click.echo(summary(status))
    if status.kafka_error is not None:
        click.echo(f"Kafka: {status.kafka_error}")
    click.echo()
    print_table(
        f"Connector {status.name}",
        ("topic", "partition", "position", "LSO", "lag", "log start", "generation", "skipped"),
        [_partition_row(each) for each in status.partitions],
        right="partition position LSO lag start generation skipped",
    )
    click.echo()
    if status.entries:
        print_table(
            f"Newest entries of {where}",
            ("seq", "kind", "run", "interval", "records", "objects", "bytes", "failed"),
            [_entry_row(entry) for entry in status.entries],
            right="seq records objects bytes failed",
        )
    else:
        click.echo(f"{where} is empty.")
    _print_open(status)
    _print_problems(status, config)


def _partition_row(each: PartitionStatus) -> tuple[object, ...]:
    seen = each.offsets
    known: tuple[object, ...] = ("?", "?", "?") if seen is None else (seen.last_stable, each.lag, seen.log_start)
    return each.tp.topic, each.tp.partition, each.position, *known, each.generation, each.skipped


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
        click.echo(
            f"\nOpen: plan {plan.seq} of run {plan.run.run_id}, {offsets:,} offsets. A run is at work on it, or its"
            " driver died; the next run finishes it."
        )
    for topic in status.first_seen:
        click.echo(f"\nTopic {topic} is not in the log yet: the next run writes its positions.")


def _print_problems(status: Status, config: Path) -> None:
    for failed in status.failed:
        click.echo(f"\nFailed: {failed.tp} [{failed.start}, {failed.end}): {failed.reason}")
        click.echo(f"  Every run tries it again. When the reason is gone: kafka-s3 run {config}")
    for seq, gap in status.gaps:
        click.echo(
            f"\nLost: {gap.topic}-{gap.partition} [{gap.start}, {gap.end}), accepted in entry {seq}: {gap.reason}"
        )
    for left in status.left_out:
        click.echo(f"\nLeft out: {left}")
        click.echo(f"  What a run would export without it: kafka-s3 plan {config}")
    if not status.is_well and status.entries:
        click.echo(f"\nTo check what is in the bucket: kafka-s3 verify {config}")
