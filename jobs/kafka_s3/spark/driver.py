"""The driver: one run of one connector, or of a group, on Spark, or in this process while plans are small."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from kafka_s3.bucket.window import check_window, of_window
from kafka_s3.errors import EXIT_DONE, ExporterError
from kafka_s3.events import Event, ProblemReported, RunEnded, SparkNeeded, Tell
from kafka_s3.export.advance import Advance
from kafka_s3.export.exporter import Execute, Exporter
from kafka_s3.export.run import run
from kafka_s3.export.run_report import RunReport
from kafka_s3.export.run_state import ExcludedPlan
from kafka_s3.fair_pool import FairPool
from kafka_s3.log.entries import Interval
from kafka_s3.plan.batch import RunRequest
from kafka_s3.reexport.run import run as export_again
from kafka_s3.settings import load, lookups_of
from kafka_s3.settings.model import Settings
from kafka_s3.spark import told
from kafka_s3.spark.application import Application
from kafka_s3.spark.connect_server import ConnectServer
from kafka_s3.spark.driver_context import DriverContext, GroupContext
from kafka_s3.spark.group import JOBS_AT_ONCE, RANGES_AT_ONCE, GroupRun, small_plans
from kafka_s3.spark.parent_death import die_with_parent
from kafka_s3.spark.told import TellOf, tell_report
from kafka_s3.wiring import SharedStores, make_exporter, make_local_execute, report_letters


def main(argv: Sequence[str] | None = None) -> int:
    """`jobs/export.py`: one run of one connector, or of a group; returns the exit status
    (docs/protocol.md#exit-statuses).

    With `--without-spark` it ends with `SparkNeeded` and 0 in front of the first plan that is worth a JVM: the plan is
    in the bucket, nothing of it is done, and a driver on Spark goes on with the same run. With `--group` a member that
    comes to such a plan ends so, and the others go on; the driver itself ends with `RunEnded` (`group.exit_status`).
    """
    arguments = _parser().parse_args(argv)
    die_with_parent()
    tell_of = told.in_lines if arguments.events == "json" else told.in_words

    def tell(event: Event) -> None:
        tell_of(event, None)

    try:
        if arguments.group is not None:
            status = _run_group(arguments, tell_of)
        elif arguments.without_spark:
            status = _run_here(arguments, tell)
        else:
            status = _run_on_spark(arguments, tell)
    except ExcludedPlan as excluded:
        tell_report(excluded.report, str(arguments.connector), tell)
        tell(SparkNeeded(offsets=excluded.offsets, exit_status=excluded.report.exit_status))
        return EXIT_DONE
    except ExporterError as error:
        tell(ProblemReported(what=str(error)))
        status = error.exit_status
    tell(RunEnded(exit_status=status))
    return status


def _run_here(arguments: argparse.Namespace, tell: Tell) -> int:
    """Plans of fewer offsets than `export.spark.records.min`, in threads of this process."""
    settings = _settings(arguments)
    exporter, advance = make_exporter(settings), Advance(tell)
    here = advance.over(make_local_execute(settings, advance.read, advance.done))
    report = run(exporter, _request(arguments), small_plans(settings, here), advance.tell)
    return _ended(report, exporter, arguments, tell)


def _run_group(arguments: argparse.Namespace, tell: TellOf) -> int:
    """The members of a group that the environment names, in this process or on Spark."""
    members, request = GroupContext.take(os.environ).members, _request(arguments)
    if arguments.without_spark:
        stores = SharedStores()
        with FairPool(RANGES_AT_ONCE) as shared:

            def make_here(settings: Settings, advance: Advance) -> Execute:
                here = make_local_execute(settings, advance.read, advance.done, shared, stores)
                return small_plans(settings, advance.over(here))

            return GroupRun(request, make_here, tell, stores).run(members)
    spark = _application(arguments, f"group {arguments.group}", JOBS_AT_ONCE, is_group=True)
    with spark as application, FairPool(JOBS_AT_ONCE) as shared:
        _warn(application)

        def make_on_spark(settings: Settings, advance: Advance) -> Execute:
            return advance.over(application.execute(settings, advance.ended, shared))

        request = replace(request, spark_application=application.name)
        return GroupRun(request, make_on_spark, tell).run(members)


def _run_on_spark(arguments: argparse.Namespace, tell: Tell) -> int:
    settings = _settings(arguments)
    with _application(arguments, settings.name, settings.limits.tasks_max) as application:
        _warn(application)
        request = replace(_request(arguments), spark_application=application.name)
        exporter, advance = make_exporter(settings), Advance(tell)
        if arguments.reexport:
            window = of_window(settings, check_window(request.interval))
            execute = advance.over(application.execute(window, advance.ended))
            report = export_again(exporter, request, execute, advance.tell)
        else:
            execute = advance.over(application.execute(settings, advance.ended))
            report = run(exporter, request, execute, advance.tell)
    if arguments.reexport:
        for problem in report.problems():
            tell(ProblemReported(what=problem))
        return report.exit_status  # a window's letters were sent when they were exported live
    return _ended(report, exporter, arguments, tell)


def _application(
    arguments: argparse.Namespace, name: str, tasks_max: int, *, is_group: bool = False
) -> AbstractContextManager[Application]:
    """A session of the Spark Connect server that the environment names, or the application of spark-submit.

    Either takes a second to import, and needs what the other does without.
    """
    if arguments.spark_connect:
        from kafka_s3.spark.connect import connected

        return connected(ConnectServer.take(os.environ))
    from kafka_s3.spark.execute import submitted

    return submitted(name, tasks_max, fair=is_group)


def _ended(report: RunReport, exporter: Exporter, arguments: argparse.Namespace, tell: Tell) -> int:
    tell_report(report, str(arguments.connector), tell)
    report_letters(exporter, tell)
    return report.exit_status


def _warn(application: Application) -> None:
    """Say so on standard error, before anything is sent, where secrets could be read on the way to the workers."""
    warning = application.warning
    if warning is not None:
        told.beside(warning)


def _settings(arguments: argparse.Namespace) -> Settings:
    context = DriverContext.take(os.environ)
    lookups = lookups_of(os.environ, secrets=context.secrets.get)
    loaded = load(
        arguments.connector,
        worker=arguments.worker,
        lookups=lookups,
        kafka_connection=context.kafka,
        aws_connection=context.aws,
    )
    return loaded.settings


def _request(arguments: argparse.Namespace) -> RunRequest:
    interval = None
    if arguments.interval_start_ms is not None:
        interval = Interval(arguments.interval_start_ms, arguments.interval_end_ms)
    now_ms = int(time.time() * 1000)
    return RunRequest(arguments.run_id, arguments.try_number, interval, now_ms, planned_apart=arguments.planned_apart)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="export.py", description="Export the topics of one connector, or of a group, as one run."
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--connector", type=Path, help="the connector's configuration file")
    what.add_argument("--group", help="the name of a group, whose members the environment names")
    parser.add_argument("--worker", type=Path, help="the worker file (default: worker.properties beside it)")
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--try-number", type=int, default=1)
    parser.add_argument("--interval-start-ms", type=int, help="the data interval; without it: up to what is there now")
    parser.add_argument("--interval-end-ms", type=int)
    parser.add_argument("--planned-apart", action="store_true", help="what plans for the run has written a plan for it")
    parser.add_argument("--reexport", action="store_true", help="export the data interval again, apart from the rest")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--spark-connect", action="store_true", help="on the Spark Connect server that the environment names"
    )
    where.add_argument(
        "--without-spark", action="store_true", help="only plans below export.spark.records.min, in this process"
    )
    parser.add_argument(
        "--events", choices=("text", "json"), default="text", help="json: a line of JSON for each event, for programs"
    )
    return parser
