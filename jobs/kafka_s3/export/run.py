"""A whole run: close what an earlier driver left open, then plan, execute and commit until nothing is new.

    head = newest entry
    while there is a plan after head, or one to make:
        execute its ranges, account for every offset, commit (or void it, if it is not ours to finish)

Nothing but the bucket is remembered between two runs, and nothing but `If-None-Match` keeps two drivers apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from kafka_s3 import __version__
from kafka_s3.bucket import owners
from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.errors import (
    DataLoss,
    ExporterError,
    KafkaUnavailable,
    RegistryRefused,
    RegistryUnavailable,
    TopicMissing,
)
from kafka_s3.events import (
    BadRecord,
    CommitWritten,
    ObjectsTookAnotherName,
    PartitionFailed,
    PlanOpened,
    PlanVoided,
    PositionsAccepted,
    Tell,
    UnexpectedError,
    nobody,
)
from kafka_s3.export.append import boundary, new_entry, put, same_commit, topics_after, unfinished_later
from kafka_s3.export.diagnosis import said
from kafka_s3.export.exporter import Execute, Exporter
from kafka_s3.export.marked import marked_until, why_marked
from kafka_s3.export.outcome import Exported, contiguous
from kafka_s3.export.quiet_interval import write_reached
from kafka_s3.export.run_report import RunReport as RunReport
from kafka_s3.export.sweep import abort_abandoned_uploads, sweep
from kafka_s3.export.task import RangeTask
from kafka_s3.log.entries import BYTES_VERSION, Entry, FailedRange, Kind, Plan
from kafka_s3.log.store import Committed, Planned, SlotTaken, check_has_key
from kafka_s3.naming import parse_data_key
from kafka_s3.plan.anomalies import ExcludedPartition
from kafka_s3.plan.batch import PinnedEnds, RunRequest, interval_of
from kafka_s3.plan.changes import changed_while_read, waits, why_not_read
from kafka_s3.plan.passed_interval import Passed
from kafka_s3.plan.planner import CaughtUp, KafkaSnapshot, accepted, next_plan, observe, to_repeat
from kafka_s3.plan.results import Failure, RangeResult, Task
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings

#: How often a plan is begun anew because Kafka lost something meanwhile: each time more of what is lost is known.
PLANNINGS_MAX: Final = 5


def prepare(exporter: Exporter, request: RunRequest, tell: Tell = nobody) -> tuple[Planned | None, KafkaSnapshot]:
    """Make sure that a plan is in the bucket if there is anything to do: an open one, or a new one of this run.

    Raises `Fenced` if another run planned at the same moment.
    """
    exporter = exporter.at_work()
    head, world, planned = begin(exporter, request, tell)
    if planned is None:
        pinned = _pinned(exporter, head, request)
        passed = Passed(None if pinned is not None else head.entry, request)
        marked = marked_until(exporter.settings, exporter.log)
        head, world, step = _next(exporter, request, head, world, pinned, frozenset(), marked, tell)
        if isinstance(step, Plan):
            planned = _write_plan(exporter, step, head)
        else:
            write_reached(exporter.settings, exporter.log, exporter.broker, request, head, world, step, nobody)
        world = replace(world, left_out=passed.others(world.left_out))
    return planned, world


def run(exporter: Exporter, request: RunRequest, execute: Execute, tell: Tell) -> RunReport:
    """Do all there is to do for a request, and say how it went. Raises what stops the whole run."""
    report = RunReport(rejected_max=exporter.settings.dead_letters.fraction_attention)
    try:
        _run(exporter.at_work(), request, execute, tell, report)
    except ExporterError:
        for tp, failure in report.failures:  # nobody gets the report
            tell(PartitionFailed(topic=tp.topic, partition=tp.partition, reason=failure.reason))
        raise
    return report


def _run(exporter: Exporter, request: RunRequest, execute: Execute, tell: Tell, report: RunReport) -> None:
    head, world, planned = begin(exporter, request, tell)
    pinned = _pinned(exporter, head, request)
    passed = Passed(None if pinned is not None else head.entry, request)
    failed: frozenset[TopicPartition] = frozenset()
    lost: frozenset[TopicPartition] = frozenset()
    while True:
        is_inherited = planned is not None and was_begun(planned.plan, request)
        marked: Mapping[str, int] = {}
        if planned is None:
            marked = marked_until(exporter.settings, exporter.log)
            head, world, step = _next(exporter, request, head, world, pinned, failed, marked, tell)
            if isinstance(step, CaughtUp):
                write_reached(exporter.settings, exporter.log, exporter.broker, request, head, world, step, tell)
                exporter.log.check_current()
                break
            planned = _write_plan(exporter, step, head)
        if planned.plan.run.run_id == request.run_id:
            pinned = PinnedEnds.of(planned.plan)
        head, failures = _close(exporter, planned, world, head, request, marked, execute, tell)
        report.committed.append(head)
        report.failures += failures
        exporter.log.check_current()
        if head.entry.kind is Kind.COMMIT:
            for event in (
                sweep(exporter, planned.plan) if is_inherited else abort_abandoned_uploads(exporter, head.entry)
            ):
                tell(event)
            crash_point(CrashPoint.SWEPT)
            if second := _second_names(exporter.settings, head.entry):
                tell(ObjectsTookAnotherName(seq=head.entry.seq, objects=second))
        head, world = _see(exporter, request, head, tell)
        # What is allowed to be lost is known and written down by now: once, the partition is tried again.
        again = {tp for tp, failure in failures if failure.kafka_changed and exporter.settings.policies.any} - lost
        lost |= again
        report.failures = [each for each in report.failures if each not in failures or each[0] not in again]
        failed |= {tp for tp, _ in failures} - again
        planned = None
    report.left_out = passed.others([left for left in world.left_out if left.tp not in failed])


def _next(
    exporter: Exporter,
    request: RunRequest,
    head: Committed,
    world: KafkaSnapshot,
    pinned: PinnedEnds | None,
    without: frozenset[TopicPartition],
    marked: Mapping[str, int],
    tell: Tell,
) -> tuple[Committed, KafkaSnapshot, Plan | CaughtUp]:
    """The next plan. What Kafka lost between two of planning's questions is looked at, and left out or accepted, before
    they are asked once more: one partition holds up no other."""
    settings = exporter.settings
    for last in (*[False] * (PLANNINGS_MAX - 1), True):
        try:
            step = next_plan(
                settings, exporter.broker, world, head, request, pinned=pinned, without=without, marked=marked
            )
            return head, world, step
        except (DataLoss, TopicMissing, KafkaUnavailable):
            if last:
                raise
            head, world = _see(exporter, request, head, tell)
    raise AssertionError("the last planning returns or raises")


def begin(
    exporter: Exporter, request: RunRequest, tell: Tell = nobody
) -> tuple[Committed, KafkaSnapshot, Planned | None]:
    """The newest entry, the world around it, and the plan that is open: its slot belongs to what closes it."""
    head = exporter.log.newest()
    check_has_key(exporter.log, head)
    planned = exporter.log.open_plan(head) if head is not None else None
    crash_point(CrashPoint.FOUND_HEAD)
    if head is not None and head.entry.kind is Kind.COMMIT and head.entry.run_id == request.run_id:
        _sweep_again(exporter, head, tell)
    if head is not None and planned is not None:
        return head, observe(exporter.settings, exporter.broker, head), planned
    return *_see(exporter, request, head, tell), None


def _sweep_again(exporter: Exporter, head: Committed, tell: Tell) -> None:
    """An earlier try of this run may have died between its commit and the sweep after it."""
    planned = exporter.log.plan(head.entry.seq)
    for event in sweep(exporter, planned.plan) if planned is not None else ():
        tell(event)


def _see(
    exporter: Exporter, request: RunRequest, head: Committed | None, tell: Tell
) -> tuple[Committed, KafkaSnapshot]:
    """The world around the newest entry; what is new in it, and what the user allows, goes to the log at once.

    Until one look finds neither: between two looks a topic may get its leaders, and be seen for the first time.
    """
    settings = exporter.settings
    world = observe(settings, exporter.broker, head)
    crash_point(CrashPoint.LOOKED_AT_KAFKA)
    while True:
        allowed = world.allowed(settings.policies)
        if world.first_seen or head is None:
            head = _write_first_positions(exporter, request, head, world)
        elif allowed:
            head = accept(exporter, request, head, world, allowed, tell)
        else:
            return head, world
        crash_point(CrashPoint.WROTE_POSITIONS)
        world = observe(settings, exporter.broker, head)


def _write_first_positions(
    exporter: Exporter, request: RunRequest, head: Committed | None, world: KafkaSnapshot
) -> Committed:
    log, settings = exporter.log, exporter.settings
    if not world.first_seen and world.left_out:
        words = said(world.left_out[0])
        raise KafkaUnavailable(words.what, next=words.next)
    if head is None:
        owners.check_no_traces(log, settings, world.topics)
    for topic in sorted(world.first_seen):
        owners.check_no_data(log, settings, topic, has_log=head is not None)
    new = {name: state for name, state in world.topics.items() if name in world.first_seen}
    known = head.entry.topics if head is not None else {}
    entry = new_entry(settings, request, world.cluster_id, head, kind=Kind.CHECKPOINT, topics={**known, **new})
    return put(log, entry)


def accept(
    exporter: Exporter,
    request: RunRequest,
    head: Committed,
    world: KafkaSnapshot,
    excluded: Sequence[ExcludedPartition],
    tell: Tell,
    *,
    closes: Planned | None = None,
) -> Committed:
    """Write down that anomalies are accepted, so that their partitions go on; `closes`: the plan that this ends."""
    made = accepted(exporter.settings, head.entry, world, excluded)
    entry = new_entry(
        exporter.settings,
        request,
        world.cluster_id,
        head,
        kind=Kind.CHECKPOINT,
        topics=made.topics,
        failed=made.failed,
        gaps=tuple(made.gaps),
        restarts=tuple(made.restarts),
        reason=made.reason,
        plan_sha256=None if closes is None else closes.sha256,
    )
    committed = put(exporter.log, entry)
    tell(PositionsAccepted(seq=entry.seq, reason=made.reason))
    return committed


def _write_plan(exporter: Exporter, plan: Plan, head: Committed) -> Planned:
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


def _pinned(exporter: Exporter, head: Committed, request: RunRequest) -> PinnedEnds | None:
    """A retry of a run goes up to the end offsets that its first try wrote down."""
    if head.entry.run_id != request.run_id or head.entry.plan_sha256 is None:
        return None
    planned = exporter.log.plan(head.entry.seq)
    if planned is None or planned.plan.run.run_id != request.run_id:  # it only finished another run's plan
        return None
    return PinnedEnds.of(planned.plan)


def _close(
    exporter: Exporter,
    planned: Planned,
    world: KafkaSnapshot,
    head: Committed,
    request: RunRequest,
    marked: Mapping[str, int],
    execute: Execute,
    tell: Tell,
) -> tuple[Committed, list[tuple[TopicPartition, Failure]]]:
    """Finish a plan with a commit, or void it: whatever happens, it is closed exactly once. `marked`: what was known to
    be so when this run planned it."""
    plan, settings = planned.plan, exporter.settings
    why_not = why_not_finished(plan, settings) or why_marked(settings, exporter.log, plan, marked)
    if why_not is not None:
        tell(PlanVoided(seq=plan.seq, reason=why_not))
        entry = new_entry(
            settings, request, world.cluster_id, head, kind=Kind.VOID, plan_sha256=planned.sha256, reason=why_not
        )
        return put(exporter.log, entry), []
    offsets = sum(each.end - each.start for each in plan.ranges)
    tell(PlanOpened(seq=plan.seq, offsets=offsets, ranges=len(plan.ranges)))
    exported = _export(exporter, planned, world, execute, tell)
    entry = new_entry(
        settings,
        request,
        plan.cluster_id,
        head,
        kind=Kind.COMMIT,
        plan_sha256=planned.sha256,
        interval=plan.interval,
        boundary_ms=boundary(plan.interval, head, request.now_ms),
        unfinished=plan.interval if plan.more else unfinished_later(plan, head),
        topics=topics_after(plan, exported, request.now_ms),
        ranges=exported.ranges,
        failed=(*_still_failed(plan, world, head, settings), *exported.failed),
    )
    crash_point(CrashPoint.COMMITTING)
    committed = exporter.log.put_entry(entry)
    if isinstance(committed, SlotTaken):
        committed = same_commit(committed.winner, entry)
    crash_point(CrashPoint.COMMITTED)
    rejected = sum(done.rejected for done in exported.ranges)
    tell(CommitWritten(seq=plan.seq, records=sum(done.records for done in exported.ranges), rejected=rejected))
    return committed, exported.failures


def _second_names(settings: Settings, entry: Entry) -> int:
    """How many objects have another name, since a retry made other bytes than the try before it: no record is lost or
    doubled, but a plain listing shows both objects until the one that no entry lists is deleted."""
    made = [(done.topic, each.key) for done in entry.ranges for each in done.objects]
    names = (parse_data_key(settings.layout, topic, key) for topic, key in made)
    return sum(name is not None and name.collision > 0 for name in names)


def was_begun(plan: Plan, request: RunRequest) -> bool:
    """Whether another driver may have worked on an open plan, and left something."""
    is_own = plan.run.run_id == request.run_id and request.try_number == 1 and request.planned_apart
    return not is_own


def _still_failed(plan: Plan, world: KafkaSnapshot, head: Committed, settings: Settings) -> tuple[FailedRange, ...]:
    """What failed before in partitions that this plan leaves out: the next run plans it again as it was."""
    planned = {each.tp for each in plan.ranges}
    return tuple(failed for failed in to_repeat(settings, world, head) if failed.tp not in planned)


def _export(exporter: Exporter, planned: Planned, world: KafkaSnapshot, execute: Execute, tell: Tell) -> Exported:
    """Execute a plan's ranges and keep, of each partition, the contiguous prefix that succeeded."""
    plan = planned.plan
    tasks = [
        RangeTask(
            each,
            interval_of(each.interval, plan.interval).start_ms,
            plan.topics[each.topic].generation,
            world.offsets[each.tp],
        )
        for each in plan.ranges
        if world.why_left_out(each.tp) is None and each.tp in world.offsets
    ]
    results = {result.planned: result for result in executed(execute, tasks)} if tasks else {}
    crash_point(CrashPoint.READ_ALL)
    tell_of(results.values(), tell)
    # A leader that is gone is not asked once more: it would keep back what was read of other partitions.
    read = [each for each in plan.ranges if each in results and not waits(results[each])]
    changed = changed_while_read(exporter.broker, plan, read)
    crash_point(CrashPoint.CHECKED_KAFKA)
    for each in plan.ranges:
        if each.tp in changed.failures:
            results[each] = RangeResult(each, None, changed.failures[each.tp])
        elif each not in results:
            results[each] = RangeResult(each, None, why_not_read(each.tp, world))
    return contiguous(plan, [results[each] for each in plan.ranges], changed.others)


def tell_of(results: Iterable[RangeResult], tell: Tell) -> None:
    """Tell what of the tasks is in no entry: the first records that were left out, and the traces of our own bugs."""
    for result in results:
        for refused in result.refused:
            tell(BadRecord(what=refused))
        if result.trace:
            at = result.planned
            offsets = {"start": at.start, "end": at.end}
            tell(UnexpectedError(topic=at.topic, partition=at.partition, **offsets, trace=result.trace))


def executed(execute: Execute, tasks: Sequence[Task]) -> Sequence[RangeResult]:
    """What became of the tasks; a schema registry that fails before they start fails all of them, and loses nothing."""
    try:
        return execute(tasks)
    except (RegistryUnavailable, RegistryRefused) as error:
        failure = Failure(str(error), error.exit_status)
        return [RangeResult(task.planned, None, failure) for task in tasks]


def why_not_finished(plan: Plan, settings: Settings) -> str | None:
    """Why an unfinished plan cannot be finished as planned, or `None`."""
    if plan.configuration_sha256 != settings.configuration_sha256:
        return "the configuration has changed since"
    if plan.bytes_version != BYTES_VERSION:
        return f"engine {plan.engine} made it, and {__version__} may write other bytes"
    return None
