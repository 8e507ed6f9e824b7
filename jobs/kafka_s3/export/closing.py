"""What closes a plan: its ranges are executed, every offset is accounted for, and a commit says so; or it is voided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_s3 import __version__
from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.errors import RegistryRefused, RegistryUnavailable
from kafka_s3.events import BadRecord, PlanOpened, PlanVoided, Tell, UnexpectedError
from kafka_s3.export import append
from kafka_s3.export.accounting import AccountedRanges, account_for_prefixes
from kafka_s3.export.append import EntrySlot, put, same_commit
from kafka_s3.export.commit_counts import commit_written
from kafka_s3.export.exporter import Execute, Exporter
from kafka_s3.export.marker_progress import why_marked
from kafka_s3.export.run_state import CommittedPlan, RunState, VoidedPlan
from kafka_s3.export.task import RangeTask
from kafka_s3.log.entries import BYTES_VERSION, FailedRange, Kind, Plan
from kafka_s3.log.plans import InheritedPlan, NewPlan
from kafka_s3.log.store import Committed, SlotTaken
from kafka_s3.plan.batch import RunRequest, interval_of
from kafka_s3.plan.changes import changed_while_read, waits, why_not_read
from kafka_s3.plan.planner import KafkaSnapshot, to_repeat
from kafka_s3.plan.results import Failure, RangeResult, Task
from kafka_s3.settings.model import Settings


def close(
    exporter: Exporter,
    planned: NewPlan | InheritedPlan,
    state: RunState,
    request: RunRequest,
    execute: Execute,
    tell: Tell,
) -> CommittedPlan | VoidedPlan:
    """Finish a plan with a commit, or void it: whatever happens, it is closed exactly once."""
    plan, settings, head, snapshot = planned.plan, exporter.settings, state.head, state.snapshot
    why_not = why_not_finished(plan, settings) or why_marked(settings, exporter.log, plan, state.marked)
    if why_not is not None:
        tell(PlanVoided(seq=plan.seq, reason=why_not))
        slot = EntrySlot(settings, request, snapshot.cluster_id, head)
        void = append.entry(slot, Kind.VOID, head.entry.topics, closes=planned, reason=why_not)
        return VoidedPlan(put(exporter.log, void))
    offsets = sum(each.end - each.start for each in plan.ranges)
    tell(PlanOpened(seq=plan.seq, offsets=offsets, ranges=len(plan.ranges)))
    accounted = _executed_and_accounted(exporter, plan, snapshot, execute, tell)
    slot = EntrySlot(settings, request, plan.cluster_id, head)
    entry = append.commit(slot, planned, accounted, _still_failed(plan, snapshot, head, settings))
    crash_point(CrashPoint.COMMITTING)
    committed = exporter.log.put_entry(entry)
    if isinstance(committed, SlotTaken):
        committed = same_commit(committed.winner, entry)
    crash_point(CrashPoint.COMMITTED)
    tell(commit_written(plan.seq, accounted.ranges))
    return CommittedPlan(planned, committed, accounted.failures)


def _still_failed(plan: Plan, snapshot: KafkaSnapshot, head: Committed, settings: Settings) -> tuple[FailedRange, ...]:
    """What failed before in partitions that this plan leaves out: the next run plans it again as it was."""
    planned = {each.tp for each in plan.ranges}
    return tuple(failed for failed in to_repeat(settings, snapshot, head) if failed.tp not in planned)


def _executed_and_accounted(
    exporter: Exporter, plan: Plan, snapshot: KafkaSnapshot, execute: Execute, tell: Tell
) -> AccountedRanges:
    """Execute a plan's ranges and keep, of each partition, the contiguous prefix that succeeded."""
    tasks = [
        RangeTask(
            each,
            interval_of(each.interval, plan.interval).start_ms,
            plan.topics[each.topic].generation,
            snapshot.offsets[each.tp],
            schema=plan.topics[each.topic].schema_text,
        )
        for each in plan.ranges
        if snapshot.why_excluded(each.tp) is None and each.tp in snapshot.offsets
    ]
    results = {result.planned: result for result in executed(execute, tasks)} if tasks else {}
    crash_point(CrashPoint.READ_ALL)
    tell_of_records(results.values(), tell)
    # A leader that is gone is not asked once more: it would keep back what was read of other partitions.
    read = [each for each in plan.ranges if each in results and not waits(results[each])]
    changed = changed_while_read(exporter.broker, plan, read)
    crash_point(CrashPoint.CHECKED_KAFKA)
    for each in plan.ranges:
        if each.tp in changed.failures:
            results[each] = RangeResult(each, None, changed.failures[each.tp])
        elif each not in results:
            results[each] = RangeResult(each, None, why_not_read(each.tp, snapshot))
    return account_for_prefixes(plan, [results[each] for each in plan.ranges], changed.replaced_topics)


def tell_of_records(results: Iterable[RangeResult], tell: Tell) -> None:
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
