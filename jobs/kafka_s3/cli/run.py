"""`kafka-s3 run`: a whole run, in this process or as a Spark application."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from kafka_s3.cli.common import (
    as_json,
    configured,
    echo,
    iso,
    load_configuration,
    now_ms,
    print_json,
    progress_bar,
)
from kafka_s3.cli.interval import chosen_interval, for_a_time
from kafka_s3.errors import EXIT_DONE, ConfigurationError, ExporterError
from kafka_s3.events import Event, Tell
from kafka_s3.export.advance import Advance
from kafka_s3.export.diagnosis import Said, TopicRejected, rejections, said
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import prepare, run
from kafka_s3.export.run_report import RunReport
from kafka_s3.log.entries import Entry, Interval
from kafka_s3.log.plans import NewPlan
from kafka_s3.log.store import Committed
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.results import RangeResult, Task
from kafka_s3.publish.completeness import Ran, mark_complete
from kafka_s3.report.status import problems
from kafka_s3.sentences import sentence
from kafka_s3.settings import Settings
from kafka_s3.shown import printable
from kafka_s3.spark.connect_server import SCHEME, TOKEN_VARIABLE, ConnectServer
from kafka_s3.wiring import make_exporter, make_local_execute, report_letters


@click.command("run", short_help="Run the export once, here or on Spark.")
@configured
@for_a_time
@click.option("--run-id", help="A run with the same id ends at the same offsets. Default: made of the current time.")
@click.option(
    "--spark",
    metavar="MASTER",
    help="Execute on Spark, e.g. local[4], spark://host:7077 or, by Spark Connect, sc://host:15002. Default: here.",
)
@as_json
def command(
    config: Path,
    worker: Path | None,
    interval: tuple[int, int] | None,
    until_now: bool,
    run_id: str | None,
    spark: str | None,
    json_: bool,
) -> None:
    """Run the export of CONFIG once: plan, export and commit until nothing is new.

    With --json, one JSON document is printed at the end, and progress goes to stderr.

    \b
    Exit status:
      0    done, or nothing was new
      65   a bad record, too many rejected ones, or lost data: not cured by a retry; everything else was exported
      75   another run was first, or Kafka or S3 did not answer: try again
      78   the configuration is wrong
      130  stopped by Ctrl-C: the next run finishes the plan that is open
    """
    output = _Output(json_)
    at = now_ms()
    name = run_id or f"cli__{iso(at)}"
    try:
        settings = load_configuration(config, worker).settings
        chosen = chosen_interval(settings.schedule, interval, until_now)
        request = RunRequest(name, 1, chosen, at)
        if spark is None:
            ended = _run_here(settings, request, output, config)
        elif spark.startswith(SCHEME):
            ended = _run_over_connect(settings, request, output, config, spark)
        else:
            ended = _run_on_spark(settings, request, output, config, _Spark(spark, worker))
    except ExporterError as error:
        if not json_:
            raise
        echo(str(error), err=True)
        ended = _Ended(error.exit_status, said=[Said(error.what, error.next)])
    if json_:
        print_json({"run_id": name, **ended.values()})
    raise click.exceptions.Exit(ended.status)


def _nothing_new(config: Path, interval: Interval | None) -> str:
    if interval is None:
        return "Nothing new."
    return (
        f"Nothing new before {iso(interval.end_ms)}, the end of the interval. For what came since:"
        f" kafka-s3 run {config} --until-now"
    )


@dataclass(frozen=True, slots=True)
class _Output:
    """Where sentences go: with --json to stderr."""

    is_json: bool

    def say(self, text: str) -> None:
        echo(text, err=self.is_json)

    def tell(self, event: Event) -> None:
        self.say(sentence(event))


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a run ended, for `--json`."""

    status: int
    committed: Sequence[Committed] = ()
    said: Sequence[Said] = ()
    rejections: Sequence[TopicRejected] = ()

    def values(self) -> dict[str, object]:
        return {
            "exit_status": self.status,
            "ok": self.status == EXIT_DONE,
            "entries": [_entry_values(each.entry) for each in self.committed],
            "rejected": [_rejected_values(each) for each in self.rejections],
            "problems": [{"problem": each.what, "next": each.next} for each in self.said],
        }


def _run_here(settings: Settings, request: RunRequest, output: _Output, config: Path) -> _Ended:
    exporter = make_exporter(settings)
    with progress_bar("looking at Kafka", _shown) as show:
        execute = Watched(settings, show)
        report = run(exporter, request, execute, output.tell)
    _summarise(report, request, output, config)
    report_letters(exporter, output.tell)
    _mark_complete(exporter, request, output.tell)
    return _Ended(report.exit_status, report.committed, report.said(str(config)), report.rejections)


def _summarise(report: RunReport, request: RunRequest, output: _Output, config: Path) -> None:
    for line in report.lines(str(config)):
        echo(printable(line), err=True)
    if not report.committed and not report.problems():
        output.say(_nothing_new(config, request.interval))


@dataclass(frozen=True, slots=True)
class Progress:
    """How many of the offsets of the open plan were read."""

    total: int
    read: int


class Watched:
    """Executes ranges here, and shows how far they are."""

    def __init__(self, settings: Settings, show: Callable[[Progress], None]) -> None:
        self._execute = make_local_execute(settings, self._read)
        self._show = show
        self._at = Progress(0, 0)
        self._lock = threading.Lock()

    def __call__(self, tasks: Sequence[Task]) -> Sequence[RangeResult]:
        self._at = Progress(sum(task.planned.end - task.planned.start for task in tasks), 0)
        self._show(self._at)
        return self._execute(tasks)

    def _read(self, offsets: int) -> None:
        with self._lock:
            self._at = replace(self._at, read=self._at.read + offsets)
            self._show(self._at)


def _shown(at: Progress) -> tuple[int | None, int, str]:
    return at.total, at.read, f"{at.read:,} of {at.total:,} offsets"


def _mark_complete(exporter: Exporter, request: RunRequest, tell: Tell) -> None:
    if exporter.settings.completeness is not None:
        mark_complete(exporter, Ran(request.interval, request.now_ms), tell)


def _run_over_connect(settings: Settings, request: RunRequest, output: _Output, config: Path, url: str) -> _Ended:
    """In this process, which is the driver: the Spark is there already."""
    from kafka_s3.spark.connect import connected

    server = ConnectServer.parse(url, dict(settings.spark.conf))
    if server.token is not None:
        raise ConfigurationError(
            "--spark has a token, and everybody on this machine can read the arguments of its processes.",
            next=f"Put the token into the environment as {TOKEN_VARIABLE}.",
        )
    exporter, advance = make_exporter(settings), Advance(output.tell)
    with connected(server) as application:
        if application.warning is not None:
            echo(application.warning, err=True)
        asked = replace(request, spark_application=application.name)
        execute = advance.over(application.execute(settings, advance.ended))
        report = run(exporter, asked, execute, advance.tell)
    _summarise(report, request, output, config)
    report_letters(exporter, output.tell)
    _mark_complete(exporter, request, output.tell)
    return _Ended(report.exit_status, report.committed, report.said(str(config)), report.rejections)


@dataclass(frozen=True, slots=True)
class _Spark:
    """Where and how a driver is started."""

    master: str
    worker: Path | None


def _run_on_spark(settings: Settings, request: RunRequest, output: _Output, config: Path, spark: _Spark) -> _Ended:
    """Plan here, so that no JVM starts where nothing is new, then let a Spark driver execute the plan, which says
    itself what went wrong."""
    from kafka_s3.cli.spark_submit import submit

    exporter = make_exporter(settings)
    planned, snapshot = prepare(exporter, request, output.tell)
    if planned is not None:
        # Of a plan that was there already another driver may have done a part.
        asked = replace(request, planned_apart=isinstance(planned, NewPlan))
        status = submit(settings, spark.master, config, spark.worker, asked, is_quiet=output.is_json)
        _mark_complete(exporter, request, output.tell)
        return _found(exporter, request, status, config) if output.is_json else _Ended(status)
    report = RunReport(excluded=snapshot.excluded)
    _summarise(report, request, output, config)
    report_letters(exporter, output.tell)  # no driver does, and one before may have died between commit and report
    _mark_complete(exporter, request, output.tell)
    return _Ended(report.exit_status, said=report.said(str(config)))


def _found(exporter: Exporter, request: RunRequest, status: int, config: Path) -> _Ended:
    """What a driver did, by what the log has of its run."""
    newest = itertools.takewhile(lambda each: each.entry.run_id == request.run_id, exporter.log.entries())
    committed = list(newest)
    found = problems(exporter.settings, exporter.log, None) if status != EXIT_DONE else ()
    entries = [each.entry for each in committed]
    return _Ended(status, committed[::-1], [said(each, str(config)) for each in found], rejections(entries))


def _entry_values(entry: Entry) -> dict[str, object]:
    return {
        "seq": entry.seq,
        "kind": entry.kind.value,
        "records": sum(done.records for done in entry.ranges),
        "rejected": sum(done.rejected for done in entry.ranges),
        "filtered": sum(done.filtered for done in entry.ranges),
        "objects": sum(len(done.objects) for done in entry.ranges),
        "bytes": sum(done.bytes for done in entry.ranges),
        "failed": len(entry.failed),
    }


def _rejected_values(rejected: TopicRejected) -> dict[str, object]:
    reasons = [{"stage": why.stage, "reason": why.reason, "records": why.records} for why in rejected.refusals]
    return {
        "topic": rejected.topic,
        "records": rejected.records,
        "rejected": rejected.rejected,
        "reasons": reasons,
    }
