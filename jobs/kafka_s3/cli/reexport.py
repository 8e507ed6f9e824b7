"""`kafka-s3 reexport`: a window of time exported again, in this process."""

from __future__ import annotations

from pathlib import Path

import click

from kafka_s3.bucket.window import of_window, window_id
from kafka_s3.cli.common import Time, configured, echo, iso, load_configuration, now_ms, telling
from kafka_s3.log.entries import Interval
from kafka_s3.plan.batch import RunRequest
from kafka_s3.reexport.run import run, withdraw
from kafka_s3.wiring import make_exporter, make_local_execute


@click.command("reexport", short_help="Export a window of time again, under a prefix of its own.")
@configured
@click.option("--from", "start", type=Time(), required=True, metavar="TIME", help="Where the window begins; ISO 8601.")
@click.option("--to", "end", type=Time(), required=True, metavar="TIME", help="Where the window ends; exclusive.")
@click.option("--withdraw", "withdraws", is_flag=True, help="Withdraw the committed window; export nothing.")
@click.option("--anew", is_flag=True, help="If the window is committed, withdraw it and export it once more.")
@click.option("--run-id", help="What the window's log calls this run. Default: an id made of the current time.")
def command(
    config: Path, worker: Path | None, start: int, end: int, withdraws: bool, anew: bool, run_id: str | None
) -> None:
    """Export again what CONFIG has committed for a window of time, by Kafka's timestamps.

    The records are read from Kafka where it still has them; otherwise whole objects are copied. The window has objects
    and a log of its own, and what the live export wrote stays as it is. A committed window is left as it is, unless it
    is withdrawn. Then an entry in its log says so, its next export has objects with other names, and
    `kafka-s3 gc --delete` deletes the earlier ones. Never delete a window's log by hand.

    \b
    Exit status:
      0   done, or it was done before
      65  a bad record, or records that are only in objects which cannot be filtered: nothing is committed
      75  the live export is not past the window yet, another run was first, or Kafka or S3 did not answer: try again
      78  the configuration is wrong
    """
    if start >= end:
        raise click.UsageError("--to must be after --from.")
    if withdraws and anew:
        raise click.UsageError("--withdraw exports nothing, --anew exports the window again: give one of them.")
    settings = load_configuration(config, worker).settings
    window, at = Interval(start, end), now_ms()
    request = RunRequest(run_id or f"cli__{iso(at)}", 1, window, at)
    exporter = make_exporter(settings)
    if withdraws:
        withdraw(exporter, request, telling())
        return
    report = run(exporter, request, make_local_execute(of_window(settings, window)), telling(), anew=anew)
    for problem in report.problems():
        echo(problem, err=True)
    if not report.problems():
        echo(f"s3://{settings.s3.bucket}/{settings.reexport_dir}/{window_id(window)}/")
    raise click.exceptions.Exit(report.exit_status)
