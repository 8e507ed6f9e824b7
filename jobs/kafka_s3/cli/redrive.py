"""`kafka-s3 redrive`: sends dead letters back."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any, Final

import click

from kafka_s3.cli.common import Time, as_json, configured, count, echo, load_configuration, now_ms, print_json, telling
from kafka_s3.dead_letters.redrive import Redriven, Wanted, parse_offsets, redrive
from kafka_s3.shown import printable
from kafka_s3.values.rows import Stage
from kafka_s3.wiring import make_log, make_redrive_sink

_TOPIC: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")


class _Topic(click.ParamType):  # type: ignore[type-arg]  # generic only in newer releases of click
    """A name that Kafka lets a topic have; it becomes a part of a key, too."""

    name = "topic"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not _TOPIC.fullmatch(value):
            self.fail(f"{value!r} is not a valid topic name.", param, ctx)
        return str(value)


class _Offsets(click.ParamType):  # type: ignore[type-arg]
    """`A-B`, both included, or `A`; as a half-open range."""

    name = "offsets"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        offsets = parse_offsets(value)
        if offsets is None:
            self.fail(
                f"{value!r} is neither an offset like 17 nor offsets like 17-42, the lower one first.", param, ctx
            )
        return offsets


@click.command("redrive", short_help="Send dead letters back to their topic, or to another.")
@configured
@click.option(
    "--to", type=_Topic(), metavar="TOPIC", help="Where to; it has to exist. Default: each record's own topic."
)
@click.option("--topic", type=_Topic(), metavar="TOPIC", help="Only records of this topic.")
@click.option("--partition", type=click.IntRange(0), metavar="N", help="Only records of this Kafka partition.")
@click.option("--offsets", type=_Offsets(), metavar="A-B", help="Only these offsets, B included; or a single one.")
@click.option("--since", type=Time(), metavar="TIME", help="Only records with a timestamp from this one on; ISO 8601.")
@click.option("--until", type=Time(), metavar="TIME", help="Only records with a timestamp before this one.")
@click.option(
    "--stage",
    type=click.Choice([stage.value for stage in Stage], case_sensitive=False),
    help="Only records that were rejected at this stage.",
)
@click.option("--error", metavar="TEXT", help="Only records whose reason contains this text.")
@click.option("--keep-timestamps", is_flag=True, help="Send the records' own timestamps, not the current time.")
@click.option("--again", is_flag=True, help="Also dead letters that were sent to the same topic before.")
@click.option("--dry-run", is_flag=True, help="Only count what would be sent.")
@as_json
def command(
    config: Path,
    worker: Path | None,
    to: str | None,
    topic: str | None,
    partition: int | None,
    offsets: tuple[int, int] | None,
    since: int | None,
    until: int | None,
    stage: str | None,
    error: str | None,
    keep_timestamps: bool,
    again: bool,
    dry_run: bool,
    json_: bool,
) -> None:
    """Send the dead letters of CONFIG back to Kafka: all that its export holds, or those that match every option.

    A record is sent as it came: key, value and headers byte for byte, with the current time unless --keep-timestamps is
    given. In its own topic it goes to the partition that it came from; in another topic its key decides. First correct
    what refused it, or the next run refuses it again. Dead letters of a topic that CONFIG no longer exports are sent
    only with --topic or --to.

    What was sent is recorded in the bucket, and a record goes to the same topic once, even if a rewind made it a dead
    letter again. Dead letters that a rewind withdrew are not sent: their records are exported again. If this command is
    killed, the next one may send some dead letters again.

    Exits with 1 if no dead letter matches the options, or if something went wrong.
    """
    if since is not None and until is not None and until <= since:
        raise click.UsageError("--until must be after --since.")
    settings = load_configuration(config, worker).settings
    log = make_log(settings)
    wanted = Wanted(topic, partition, offsets, since, until, stage, error)
    with contextlib.closing(make_redrive_sink(settings, to, keep_timestamps=keep_timestamps)) as topics:
        done = redrive(
            log,
            wanted,
            exports=settings.exports,
            to=to,
            again=again,
            sink=None if dry_run else topics,
            at_ms=now_ms(),
            tell=telling(err=True),
        )
    if json_:
        print_json(
            {"matched": done.matched, "sent_before": done.before, "dry_run": dry_run, "sent": done.sent}
            | {"not_sent_of": sorted(done.foreign)}
        )
    else:
        _print(done, dry_run=dry_run)
    raise click.exceptions.Exit(0 if done.matched and not done.foreign else 1)


def _print(done: Redriven, *, dry_run: bool) -> None:
    for topic in sorted(done.foreign):
        name = printable(topic)
        echo(
            f"Dead letters of topic {name} were not sent: the connector does not export it. --topic {name} sends them"
            " there, --to elsewhere.",
            err=True,
        )
    if not done.matched:
        echo("No dead letters match the options.", err=True)
        return
    for topic, letters in sorted(done.sent.items()):
        said = "would be sent" if dry_run else "sent"
        echo(f"{count(letters, 'dead letter')} {said} to {printable(topic)}.")
    if done.before:
        were = f"{count(done.before, 'dead letter')} {'was' if done.before == 1 else 'were'}"
        echo(f"{were} sent there before; --again sends {'it' if done.before == 1 else 'them'} again.")
