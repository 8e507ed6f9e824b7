"""The plan that a run works on next: the one that an earlier driver left open, else a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_s3.bucket import owners
from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.errors import DataLoss, KafkaUnavailable, TopicMissing
from kafka_s3.events import Tell, nobody
from kafka_s3.export.checkpoints import observe_and_record
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.marker_progress import marked_until
from kafka_s3.export.run_state import RunState
from kafka_s3.export.schemas import with_schemas
from kafka_s3.export.sweep import sweep
from kafka_s3.log.entries import Kind, Plan
from kafka_s3.log.plans import InheritedPlan, NewPlan, OpenPlan
from kafka_s3.log.store import Committed, check_has_key
from kafka_s3.plan.batch import PinnedEnds, RunRequest
from kafka_s3.plan.planner import CaughtUp, next_plan, observe

#: How often a plan is begun anew because Kafka lost something meanwhile: each time more of what is lost is known.
PLANNINGS_MAX: Final = 5


def begin(exporter: Exporter, request: RunRequest, tell: Tell = nobody) -> RunState:
    """The newest entry, what Kafka says after it, and the plan that is open: its slot belongs to what closes it."""
    head = exporter.log.newest()
    check_has_key(exporter.log, head)
    found = exporter.log.open_plan(head) if head is not None else None
    crash_point(CrashPoint.FOUND_HEAD)
    if head is not None and head.entry.kind is Kind.COMMIT and head.entry.run_id == request.run_id:
        _sweep_again(exporter, head, tell)
    if head is not None and found is not None:
        snapshot = observe(exporter.settings, exporter.broker, head)
    else:
        head, snapshot = observe_and_record(exporter, request, head, tell)
    return RunState.begin(head, snapshot, found, _pinned_before(exporter, head, request), request)


def _sweep_again(exporter: Exporter, head: Committed, tell: Tell) -> None:
    """An earlier try of this run may have died between its commit and the sweep after it."""
    closed = exporter.log.closed_plan(head.entry)
    for event in sweep(exporter, closed) if closed is not None else ():
        tell(event)


def _pinned_before(exporter: Exporter, head: Committed, request: RunRequest) -> PinnedEnds | None:
    """A retry of a run goes up to the end offsets that its first try wrote down."""
    if head.entry.run_id != request.run_id:
        return None
    closed = exporter.log.closed_plan(head.entry)
    if closed is None or not closed.plan.run.is_run(request.run_id, request.interval):  # it finished another's plan
        return None
    return PinnedEnds.of(closed.plan)


def next_step(
    exporter: Exporter, request: RunRequest, state: RunState, tell: Tell
) -> tuple[RunState, NewPlan | InheritedPlan | CaughtUp]:
    """The open plan, else a new one that is in the bucket by now; `CaughtUp` if there is nothing to plan."""
    if state.open_plan is not None:
        return state, whose(state.open_plan, request)
    marked = marked_until(exporter.settings, exporter.log)
    state, step = plan_next(exporter, request, state, marked, tell)
    if isinstance(step, CaughtUp):
        return state, step
    planned = write_plan(exporter, step, state.head)
    return state.opened(planned, marked), planned


def whose(found: OpenPlan, request: RunRequest) -> NewPlan | InheritedPlan:
    """Whether another driver may have worked on an open plan, and left something."""
    if isinstance(found, NewPlan):
        return found
    is_own = found.plan.run.run_id == request.run_id and request.try_number == 1 and request.planned_apart
    return NewPlan(found.plan, found.sha256) if is_own else InheritedPlan.of(found)


def plan_next(
    exporter: Exporter, request: RunRequest, state: RunState, marked: Mapping[str, int], tell: Tell
) -> tuple[RunState, Plan | CaughtUp]:
    """The next plan. What Kafka lost between two of planning's questions is looked at, and left out or accepted, before
    they are asked once more: one partition holds up no other."""
    for last in (*[False] * (PLANNINGS_MAX - 1), True):
        try:
            step = next_plan(
                exporter.settings,
                exporter.broker,
                state.snapshot,
                state.head,
                request,
                pinned=state.pinned,
                without=state.failed,
                marked=marked,
            )
            if isinstance(step, Plan):
                step = with_schemas(exporter, step, state.head)
            return state, step
        except (DataLoss, TopicMissing, KafkaUnavailable):
            if last:
                raise
            state = state.looked(*observe_and_record(exporter, request, state.head, tell))
    raise AssertionError("the last planning returns or raises")


def write_plan(exporter: Exporter, plan: Plan, head: Committed) -> NewPlan:
    """Put a plan into the bucket, once its topics are this connector's. Raises `Fenced` if another run planned."""
    crash_point(CrashPoint.MADE_PLAN)
    # The first plan, or the first since positions were written by themselves; not after each interval without one.
    if head.entry.plan_sha256 is None and head.entry.interval is None:
        owners.probe(exporter.log, head.entry.seq)
    for topic in sorted({planned.topic for planned in plan.ranges}):
        owners.claim(exporter.log, exporter.settings, topic)
    crash_point(CrashPoint.CLAIMED_TOPICS)
    planned = exporter.log.put_plan(plan)
    crash_point(CrashPoint.WROTE_PLAN)
    return planned
