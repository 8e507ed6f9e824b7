"""The Spark driver: ranges out, results back. Records never cross the JVM."""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError
from pyspark import SparkContext

from kafka_s3.adapters.known_schemas import NOTHING_KNOWN, Known
from kafka_s3.bucket.window import check_window, of_window
from kafka_s3.errors import EXIT_CONFIGURATION, ConfigurationError, ExporterError
from kafka_s3.events import Event, ProblemReported, RejectionsNoted, RunEnded, Tell, to_line
from kafka_s3.export.run import run
from kafka_s3.export.run_report import RunReport
from kafka_s3.log.entries import Interval
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.results import Failure, RangeResult, Task
from kafka_s3.reexport.run import run as export_again
from kafka_s3.sentences import sentence
from kafka_s3.settings import load, lookups_of
from kafka_s3.settings.model import Settings
from kafka_s3.shown import printable_lines
from kafka_s3.signing import NO_KEY
from kafka_s3.spark.driver_context import DriverContext
from kafka_s3.spark.encryption import in_clear
from kafka_s3.spark.failures import is_of_a_task, spark_failed
from kafka_s3.spark.fingerprint import fingerprint
from kafka_s3.spark.parent_death import die_with_parent
from kafka_s3.wiring import ask_registries, export_ranges, make_exporter, make_registries, report_letters

#: Spark writes a task's closure of more than 1 MiB to a file, and ours holds secrets; the rest is for the functions.
SETTINGS_BYTES_MAX: Final = 896 * 1024


def main(argv: Sequence[str] | None = None) -> int:
    """`jobs/export.py`: one run of one connector; returns the exit status (docs/protocol.md#exit-statuses)."""
    arguments = _parser().parse_args(argv)
    die_with_parent()
    tell = _tell_in_lines if arguments.events == "json" else _tell_in_words
    status = _run(arguments, tell)
    tell(RunEnded(exit_status=status))
    return status


def _run(arguments: argparse.Namespace, tell: Tell) -> int:
    try:
        settings = _settings(arguments)
        with _context(settings) as context:
            _warn_of_clear_text(context)
            request = replace(_request(arguments), spark_application=context.applicationId)
            exporter = make_exporter(settings)
            if arguments.reexport:
                settings = of_window(settings, check_window(request.interval))
                report = export_again(exporter, request, SparkExecute(context, settings), tell)
            else:
                report = run(exporter, request, SparkExecute(context, settings), tell)
        if arguments.reexport:
            for problem in report.problems():
                tell(ProblemReported(what=problem))
        else:
            _tell_report(report, str(arguments.connector), tell)
            report_letters(exporter, tell)  # a window's were sent when they were exported live
    except ExporterError as error:
        tell(ProblemReported(what=str(error)))
        return error.exit_status
    except Py4JError as error:  # of the JVM itself, outside any task: its disk is full, it has ended
        if is_of_a_task(error):
            raise
        failed = spark_failed(error)
        tell(ProblemReported(what=str(failed)))
        return failed.exit_status
    return report.exit_status


def _tell_report(report: RunReport, config: str, tell: Tell) -> None:
    for problem in report.said(config):
        tell(ProblemReported(what=str(problem)))
    for rejections in report.noted(config):
        tell(RejectionsNoted(what=rejections))


class SparkExecute:
    """Executes ranges as Spark tasks, `tasks.max` at once.

    Raises `ConfigurationError` for settings of more than SETTINGS_BYTES_MAX.
    """

    def __init__(self, context: SparkContext, settings: Settings) -> None:
        size = len(pickle.dumps(settings))
        if size > SETTINGS_BYTES_MAX:
            raise ConfigurationError(
                f"The settings take {size} bytes. Spark would write more than {SETTINGS_BYTES_MAX} to a file, secrets "
                "included.",
                next="Shorten what is long in them: leave the documentation out of export.value.schema.file, say.",
            )
        self._context = context
        self._settings = replace(settings, log_key=NO_KEY)  # the driver alone writes plans and the log
        self._registries = make_registries(settings)

    def __call__(self, tasks: Sequence[Task]) -> list[RangeResult]:
        groups = balance(tasks, self._settings.limits.tasks_max)
        settings, driver = self._settings, fingerprint()
        known = ask_registries(settings, self._registries, tasks)
        # The closure holds the settings, secrets included; groups and schemas, which Spark writes to files, hold none.
        schemas = self._context.broadcast(known) if known != NOTHING_KNOWN else None
        results = self._context.parallelize(groups, len(groups)).map(
            lambda group: work(settings, driver, group, schemas.value if schemas is not None else NOTHING_KNOWN)
        )
        try:
            return [result for group in results.collect() for result in group]
        except Py4JError as error:
            if is_of_a_task(error):
                raise
            raise spark_failed(error) from error


def work(settings: Settings, driver: str, tasks: Sequence[Task], known: Known = NOTHING_KNOWN) -> list[RangeResult]:
    """One Spark task: the ranges of one group, one after the other."""
    worker = fingerprint()
    if worker != driver:
        reason = f"the worker has engine {worker}, the driver {driver}: install the same kafka-s3 on both"
        return [RangeResult(task.planned, None, Failure(reason, EXIT_CONFIGURATION)) for task in tasks]
    return export_ranges(settings, tasks, known)


def balance(tasks: Sequence[Task], groups_max: int) -> list[list[Task]]:
    """At most `groups_max` groups of about the same number of offsets: the largest range to the emptiest group."""
    groups: list[list[Task]] = [[] for _ in range(min(groups_max, len(tasks)))]
    sizes = [0] * len(groups)
    for task in sorted(tasks, key=lambda task: task.planned.end - task.planned.start, reverse=True):
        emptiest = sizes.index(min(sizes))
        groups[emptiest].append(task)
        sizes[emptiest] += task.planned.end - task.planned.start
    return groups


def _context(settings: Settings) -> SparkContext:
    context = SparkContext(appName=f"kafka-s3 {settings.name}")
    context.setLogLevel("WARN")
    return context


def _warn_of_clear_text(context: SparkContext) -> None:
    """Say so on standard error, before anything is sent, where secrets could be read on the way to the workers."""
    warning = in_clear(str(context.master), context.getConf().get)
    if warning is not None:
        print(printable_lines(str(warning)), file=sys.stderr, flush=True)


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
    return RunRequest(arguments.run_id, arguments.try_number, interval, now_ms, planned_apart=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="export.py", description="Export one connector's topics, as one run.")
    parser.add_argument("--connector", type=Path, required=True, help="the connector's configuration file")
    parser.add_argument("--worker", type=Path, help="the worker file (default: worker.properties beside it)")
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--try-number", type=int, default=1)
    parser.add_argument("--interval-start-ms", type=int, help="the data interval; without it: up to what is there now")
    parser.add_argument("--interval-end-ms", type=int)
    parser.add_argument("--reexport", action="store_true", help="export the data interval again, apart from the rest")
    parser.add_argument(
        "--events", choices=("text", "json"), default="text", help="json: a line of JSON for each event, for programs"
    )
    return parser


def _tell_in_lines(event: Event) -> None:
    """For a program that started this one and reads its standard output."""
    print(to_line(event), flush=True)


def _tell_in_words(event: Event) -> None:
    """For a person; what went wrong goes to standard error, and the exit status says how it ended."""
    if isinstance(event, RunEnded):
        return
    is_wrong = isinstance(event, ProblemReported | RejectionsNoted)
    print(sentence(event), file=sys.stderr if is_wrong else sys.stdout, flush=True)
