"""`kafka-s3 rewind`: sets positions by hand, with a new log entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kafka_s3.cli.common import (
    as_json,
    configured,
    confirmed,
    count,
    echo,
    iso,
    load_configuration,
    now_ms,
    print_json,
    print_table,
    telling,
)
from kafka_s3.events import nobody
from kafka_s3.log.entries import Entry, to_builtins
from kafka_s3.plan.batch import RunRequest
from kafka_s3.ranges import TopicPartition
from kafka_s3.rewind.rewind import Found, accept_by_hand, look, parse_target, rewind
from kafka_s3.wiring import make_exporter


class _Target(click.ParamType):  # type: ignore[type-arg]  # generic only in newer releases of click
    """TOPIC-PARTITION=OFFSET."""

    name = "target"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[TopicPartition, int]:
        target = parse_target(str(value))
        if target is None:
            self.fail(f"{value!r} is not TOPIC-PARTITION=OFFSET, like orders-0=1200.", param, ctx)
        return target


@click.command("rewind", short_help="Export offsets again, or accept what Kafka lost.")
@configured
@click.option(
    "--to",
    "targets",
    type=_Target(),
    multiple=True,
    metavar="TOPIC-PARTITION=OFFSET",
    help="Export this partition again from this offset. May be repeated.",
)
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    metavar="TOPIC[-PARTITION]",
    help="Accept that Kafka lost, truncated or recreated this, and continue. May be repeated.",
)
@click.option("--yes", is_flag=True, help="Write the entry of --to without asking.")
@as_json
def command(
    config: Path,
    worker: Path | None,
    targets: tuple[tuple[TopicPartition, int], ...],
    accepted: tuple[str, ...],
    yes: bool,
    json_: bool,
) -> None:
    """Set positions of CONFIG by hand. A new log entry records it; none is edited, and no object is deleted.

    With --to, a partition goes back to the start of the committed range that holds the offset. What was exported from
    there on is withdrawn: readers of the log skip it, a plain listing shows it until `kafka-s3 gc --withdrawn --delete`
    deletes it. The next run exports these offsets again, under keys with +g<generation>.

    With --accept, a partition that `kafka-s3 status` shows as left out goes on where it can, once; the log says what
    is missing. export.on.data.loss=record and export.on.topic.recreated=restart do the same in every run.

    With --json nothing is asked: --to shows what it would do, and does it only with --yes.
    """
    if bool(targets) == bool(accepted):
        raise click.UsageError("Give either --to or --accept.")
    exporter = make_exporter(load_configuration(config, worker).settings)
    at = now_ms()
    request = RunRequest(f"rewind__{iso(at)}", 1, None, at)
    if accepted:
        committed, left = accept_by_hand(exporter, accepted, request, nobody if json_ else telling())
        if json_:
            print_json({"written": to_builtins(committed.entry), "accepted": [str(each) for each in left]})
        else:
            _print_written(committed.entry, config)
        return
    found = look(exporter, dict(targets))
    if not json_:
        _print(found)
    write = yes or (not json_ and confirmed("Write these positions?"))
    entry = rewind(exporter, found, request).entry if write else None
    if json_:
        print_json(_as_json(found, entry))
    elif entry is not None:
        _print_written(entry, config)
    else:
        echo("Nothing was written.", err=True)
    raise click.exceptions.Exit(0 if write or json_ else 1)


def _print_written(entry: Entry, config: Path) -> None:
    echo(f"Written as log entry {entry.seq} ({entry.kind}). To continue: kafka-s3 run {config}")
    if any(restart.withdrawn for restart in entry.restarts):
        echo(f"Once that is exported again: kafka-s3 gc {config} --withdrawn lists what this withdrew.")


def _print(found: Found) -> None:
    print_table(
        "What would be exported again",
        ("topic", "partition", "position now", "then", "asked for", "records withdrawn", "objects withdrawn"),
        [
            (
                move.tp.topic,
                move.tp.partition,
                move.before,
                move.position,
                move.asked,
                f"{move.records:,}",
                f"{len(move.keys):,}",
            )
            for move in found.moves
        ],
        right="partition then",
    )
    for move in found.moves:
        if move.position != move.asked:
            echo(f"{move.tp} goes back to {move.position}, where a committed range begins.")
    if found.closes is not None:
        plan = found.closes.plan
        echo(
            f"Plan {plan.seq} of run {plan.run.run_id} is open ({count(len(plan.ranges), 'range')}): it is abandoned. A"
            " run that is executing it will stop without committing."
        )


def _as_json(found: Found, entry: Entry | None) -> dict[str, object]:
    return {
        "written": None if entry is None else to_builtins(entry),
        "moves": [
            {
                "topic": move.tp.topic,
                "partition": move.tp.partition,
                "asked": move.asked,
                "before": move.before,
                "position": move.position,
                "records": move.records,
                "keys": move.keys,
            }
            for move in found.moves
        ],
    }
