"""A whole run: close what an earlier driver left open, then plan, execute and commit until nothing is new.

    state = the newest entry, what Kafka says, the plan that is open
    while there is a plan, found or new:                                (`opening`)
        execute its ranges, account for every offset, commit, or void   (`closing`)
        delete what an earlier driver left of it                        (`sweep`)
        look at Kafka, and write down what changed                      (`positions`)

Nothing but the bucket is remembered between two runs, and nothing but `If-None-Match` keeps two drivers apart.
"""

from __future__ import annotations

from dataclasses import replace

from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.errors import ExporterError
from kafka_s3.events import ObjectsTookAnotherName, PartitionFailed, Tell, nobody
from kafka_s3.export.checkpoints import observe_and_record
from kafka_s3.export.closing import close
from kafka_s3.export.exporter import Execute, Exporter
from kafka_s3.export.marker_progress import marked_until
from kafka_s3.export.opening import begin, next_step, plan_next, write_plan
from kafka_s3.export.quiet_interval import write_reached
from kafka_s3.export.run_report import RunReport as RunReport
from kafka_s3.export.run_state import CommittedPlan, ExcludedPlan
from kafka_s3.export.show_positions import show_positions
from kafka_s3.export.sweep import abort_abandoned_uploads, sweep
from kafka_s3.log.entries import Entry
from kafka_s3.log.plans import InheritedPlan, NewPlan, OpenPlan
from kafka_s3.naming import parse_data_key
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.planner import CaughtUp, KafkaSnapshot
from kafka_s3.settings.model import Settings


def prepare(exporter: Exporter, request: RunRequest, tell: Tell = nobody) -> tuple[OpenPlan | None, KafkaSnapshot]:
    """Make sure that a plan is in the bucket if there is anything to do: an open one, or a new one of this run.

    Raises `Fenced` if another run planned at the same moment.
    """
    exporter = exporter.at_work()
    state = begin(exporter, request, tell)
    if state.open_plan is not None:
        return state.open_plan, state.snapshot
    state, step = plan_next(exporter, request, state, marked_until(exporter.settings, exporter.log), tell)
    planned: NewPlan | None = None
    if isinstance(step, CaughtUp):
        write_reached(exporter, request, state.head, state.snapshot, step, nobody)
    else:
        planned = write_plan(exporter, step, state.head)
    return planned, replace(state.snapshot, excluded=state.excluded())


def run(exporter: Exporter, request: RunRequest, execute: Execute, tell: Tell) -> RunReport:
    """Do all there is to do for a request, and say how it went. Raises what stops the whole run, and `ExcludedPlan`."""
    exporter, policies = exporter.at_work(), exporter.settings.policies
    state = begin(exporter, request, tell)
    try:
        while True:
            state, step = next_step(exporter, request, state, tell)
            if isinstance(step, CaughtUp):
                write_reached(exporter, request, state.head, state.snapshot, step, tell)
                exporter.log.check_current()
                return state.report(exporter.settings.dead_letters.fraction_attention)
            closed = close(exporter, step, state, request, execute, tell)
            state = state.closed(closed)
            exporter.log.check_current()
            if isinstance(closed, CommittedPlan):
                _clean_up(exporter, closed, tell)
            state = state.looked(*observe_and_record(exporter, request, state.head, tell))
            state = state.failures_noted(closed.failures, may_replan=policies.any)
    except ExcludedPlan as excluded:
        excluded.report = state.report_of_commits(exporter.settings.dead_letters.fraction_attention)
        raise
    except ExporterError:
        for tp, failure in state.failures:  # nobody gets the report
            tell(PartitionFailed(topic=tp.topic, partition=tp.partition, reason=failure.reason))
        raise


def _clean_up(exporter: Exporter, closed: CommittedPlan, tell: Tell) -> None:
    """After a commit: delete what others left of its plan, and say what a retry doubled."""
    entry = closed.commit.entry
    match closed.planned:
        case InheritedPlan() as inherited:
            events = sweep(exporter, inherited)
        case NewPlan() as new:
            events = abort_abandoned_uploads(exporter, new, entry)
    for event in events:
        tell(event)
    crash_point(CrashPoint.SWEPT)
    show_positions(exporter, entry, tell)
    if second := _second_names(exporter.settings, entry):
        tell(ObjectsTookAnotherName(seq=entry.seq, objects=second))


def _second_names(settings: Settings, entry: Entry) -> int:
    """How many objects have another name, since a retry made other bytes than the try before it: no record is lost or
    doubled, but a plain listing shows both objects until the one that no entry lists is deleted."""
    made = [(done.topic, each.key) for done in entry.ranges for each in done.objects]
    names = (parse_data_key(settings.layout, topic, key) for topic, key in made)
    return sum(name is not None and name.collision > 0 for name in names)
