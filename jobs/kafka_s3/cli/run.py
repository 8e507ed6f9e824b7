"""`kafka-s3 run`: a whole run, in this process or as a Spark application."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from kafka_s3.cli.common import configured, iso, load_configuration, now_ms, printable
from kafka_s3.cli.interval import chosen_interval, for_a_time
from kafka_s3.export.completeness import Ran, mark_complete
from kafka_s3.export.report import RunReport
from kafka_s3.export.run import Exporter, prepare, run
from kafka_s3.planning import RunRequest
from kafka_s3.settings import Settings
from kafka_s3.wiring import in_threads, make_exporter, report_letters


@click.command("run", short_help="Run the export once, here or on Spark.")
@configured
@for_a_time
@click.option("--run-id", help="A run of the same id goes up to the same end offsets. Default: one made of the time.")
@click.option("--spark", metavar="MASTER", help="Execute on Spark, e.g. local[4] or spark://host:7077. Default: here.")
def command(
    config: Path,
    worker: Path | None,
    interval: tuple[int, int] | None,
    until_now: bool,
    run_id: str | None,
    spark: str | None,
) -> None:
    """Run the export of CONFIG once: plan, export and commit until nothing is new.

    \b
    Exit status:
      0   done, or nothing was new
      65  a bad record, or lost data: not cured by a retry; everything else was exported
      75  another run was first, or Kafka or S3 did not answer: try again
      78  the configuration is wrong
    """
    settings = load_configuration(config, worker).settings
    chosen = chosen_interval(settings.schedule, interval, until_now)
    at = now_ms()
    request = RunRequest(run_id or f"cli__{iso(at)}", 1, chosen, at)
    if spark is None:
        raise click.exceptions.Exit(_run_here(settings, request, config))
    raise click.exceptions.Exit(_run_on_spark(settings, request, config, worker, spark))


def _run_here(settings: Settings, request: RunRequest, config: Path) -> int:
    exporter = make_exporter(settings)
    report = run(exporter, request, in_threads(settings), click.echo)
    _summarise(report, config)
    report_letters(exporter, click.echo)
    _mark_complete(exporter, request)
    return report.exit_status


def _mark_complete(exporter: Exporter, request: RunRequest) -> None:
    if exporter.settings.completeness is not None:
        mark_complete(exporter, Ran(request.interval, request.now_ms), click.echo)


def _summarise(report: RunReport, config: Path) -> None:
    for line in report.lines(str(config)):
        click.echo(printable(line), err=True)
    if not report.committed and not report.problems():
        click.echo("Nothing new.")


def _run_on_spark(settings: Settings, request: RunRequest, config: Path, worker: Path | None, master: str) -> int:
    """Plan here, so that no JVM starts where nothing is new, then let a Spark driver execute the plan."""
    from kafka_s3.cli.spark_submit import submit

    exporter = make_exporter(settings)
    planned, world = prepare(exporter, request, click.echo)
    if planned is not None:
        # Of a plan that was there already another driver may have done a part.
        status = submit(master, config, worker, request if planned.is_new else replace(request, try_number=2))
        _mark_complete(exporter, request)
        return status
    report = RunReport(left_out=world.left_out)
    _summarise(report, config)
    report_letters(exporter, click.echo)  # no driver does, and one before may have died between commit and report
    _mark_complete(exporter, request)
    return report.exit_status
