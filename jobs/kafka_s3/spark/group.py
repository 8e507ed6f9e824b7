"""The driver of a group: the runs of many connectors in one process, each as if it were alone.

    members, the smallest plan first
    MEMBERS_AT_ONCE of them at a time: look, plan, execute, commit, until nothing is new     (`run_member`)
        their ranges take turns in one pool of threads, or of Spark jobs                     (`FairPool`)

One that fails stops no other, and what a member has to tell is told under its name. Memory: at most MEMBERS_AT_ONCE
members are in it, and as many ranges as the pool has threads; members of one bucket share its client.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from kafka_s3.attempts import Raised, attempt
from kafka_s3.errors import EXIT_DONE, EXIT_TEMPORARY, EXIT_UNEXPECTED, ExporterError
from kafka_s3.events import Event, ProblemReported, RunEnded, SparkNeeded, Tell
from kafka_s3.export.advance import Advance
from kafka_s3.export.exporter import Execute
from kafka_s3.export.run import run
from kafka_s3.export.run_state import ExcludedPlan
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.results import RangeResult, Task
from kafka_s3.settings import load, lookups_of
from kafka_s3.settings.model import Settings
from kafka_s3.spark.driver_context import Member
from kafka_s3.spark.told import TellOf, tell_report
from kafka_s3.wiring import MakeStore, SharedStores, make_exporter, report_letters

#: Members that are planned, wait for their ranges, or commit: each holds a client of Kafka's.
MEMBERS_AT_ONCE: Final = 16
#: Ranges of all members at once, without Spark: they share the processors with each other.
RANGES_AT_ONCE: Final = max(2, min(8, 2 * (os.cpu_count() or 1)))
#: The same as jobs of Spark's, which has executors for some of them and shares these fairly.
JOBS_AT_ONCE: Final = 64

#: What executes the ranges of a member with these settings, and tells how far it is.
MakeExecute = Callable[[Settings, Advance], Execute]


@dataclass(frozen=True, slots=True)
class GroupRun:
    """What the members of a group are run with."""

    request: RunRequest
    make_execute: MakeExecute
    tell: TellOf
    make_store: MakeStore = field(default_factory=SharedStores)

    def run(self, members: Sequence[Member]) -> int:
        """Run them all; the exit status of all of them."""
        with ThreadPoolExecutor(max(1, min(MEMBERS_AT_ONCE, len(members)))) as pool:
            return exit_status(pool.map(self.run_member, members))

    def run_member(self, member: Member) -> int:
        """A whole run of one; whatever becomes of it is told under its name. Never raises."""

        def tell(event: Event) -> None:
            self.tell(event, member.name)

        done = attempt(self._run, member, tell)
        if isinstance(done, Raised):
            if isinstance(done.error, ExcludedPlan):  # another driver of this run goes on
                excluded = done.error
                tell_report(excluded.report, member.path, tell)
                tell(SparkNeeded(offsets=excluded.offsets, exit_status=excluded.report.exit_status))
                return excluded.report.exit_status
            what = str(done.error) if isinstance(done.error, ExporterError) else _trace(done.error)
            tell(ProblemReported(what=what))
            done = done.error.exit_status if isinstance(done.error, ExporterError) else EXIT_UNEXPECTED
        tell(RunEnded(exit_status=done))
        return done

    def _run(self, member: Member, tell: Tell) -> int:
        lookups = lookups_of(os.environ, secrets=member.context.secrets.get)
        kafka, aws = member.context.kafka, member.context.aws
        settings = load(Path(member.path), lookups=lookups, kafka_connection=kafka, aws_connection=aws).settings
        exporter, advance = make_exporter(settings, self.make_store(settings)), Advance(tell)
        request = replace(self.request, planned_apart=member.planned_apart)
        report = run(exporter, request, self.make_execute(settings, advance), advance.tell)
        tell_report(report, member.path, tell)
        report_letters(exporter, tell)
        return report.exit_status


def small_plans(settings: Settings, here: Execute) -> Execute:
    """As `here`, but in front of a plan of `export.spark.records.min` offsets or more it raises `ExcludedPlan`."""

    def execute(tasks: Sequence[Task]) -> Sequence[RangeResult]:
        offsets = sum(task.planned.end - task.planned.start for task in tasks)
        if offsets >= settings.limits.spark_records_min:
            raise ExcludedPlan(offsets)
        return here(tasks)

    return execute


def exit_status(statuses: Iterable[int]) -> int:
    """Of several: where a retry helps some it is worth it, since those that are done have nothing to do in it.

    >>> exit_status([0, 78, 65]), exit_status([0, 65, 75]), exit_status([])
    (78, 75, 0)
    """
    found = set(statuses)
    for worth_a_retry in (EXIT_TEMPORARY, EXIT_UNEXPECTED):
        if worth_a_retry in found:
            return worth_a_retry
    return max(found, default=EXIT_DONE)


def _trace(error: Exception) -> str:
    """Of what nobody expected: a bug of ours, or of a class of the user's own."""
    return "".join(traceback.format_exception(error)).rstrip()
