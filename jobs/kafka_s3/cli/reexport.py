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
@click.option("--to", "end", type=Time(), required=True, metavar="TIME", help="Where it ends, itself not in it.")
@click.option("--withdraw", "withdraws", is_flag=True, help="Withdraw the window that is committed; export nothing.")
@click.option("--anew", is_flag=True, help="If it is committed, withdraw it and export it once more.")
@click.option("--run-id", help="What the window's log calls this run. Default: one made of the time.")
def command(
    config: Path, worker: Path | None, start: int, end: int, withdraws: bool, anew: bool, run_id: str | None
) -> None:
    """Export again what the export of CONFIG has committed of a window of time, by Kafka's timestamps.

    The records are read from Kafka where it still has them, else whole objects are copied. Objects and log are the
    window's own; what the live export wrote stays as it is. A window that is committed is left as it is, unless it is
    withdrawn: an entry in its log says so, its next export has objects of other names, and `kafka-s3 gc --delete`
    deletes those of the one before. Never delete a window's log by hand.

    \b
    Exit status:
      0   done, or it was done before
      65  a bad record, or records that only objects hold which cannot be filtered: nothing is committed
      75  the live export has not come so far, another run was first, or Kafka or S3 did not answer: try again
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
