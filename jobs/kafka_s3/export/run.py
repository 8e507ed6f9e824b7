"""A whole run: close what an earlier driver left open, then plan, execute and commit until nothing is new.

    head = newest entry
    while there is a plan after head, or one to make:
        execute its ranges, account for every offset, commit (or void it, if it is not ours to finish)

Nothing but the bucket is remembered between two runs, and nothing but `If-None-Match` keeps two drivers apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kafka_s3 import __version__
from kafka_s3.commit_log import BYTES_VERSION, Entry, FailedRange, Kind, Plan, PlannedRange, RangeEntry, moved
from kafka_s3.errors import EXIT_DATA, EXIT_DONE, EXIT_TEMPORARY, Fenced, RegistryRefused, RegistryUnavailable
from kafka_s3.export import first_use
from kafka_s3.export.log import Committed, Log, Lost, Planned
from kafka_s3.export.planner import World, next_plan, observe, pinned_ends
from kafka_s3.export.task import Failure, RangeResult, RangeTask
from kafka_s3.naming import LogLayout
from kafka_s3.planning import LeftOut, RunRequest, interval_of
from kafka_s3.ports import Broker, ObjectStore
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings

Execute = Callable[[Sequence[RangeTask]], Sequence[RangeResult]]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Exporter:
    """One connector's settings and the ports it works over."""

    settings: Settings
    store: ObjectStore
    broker: Broker

    @property
    def log(self) -> Log:
        return Log(self.store, LogLayout(self.settings.log_root, self.settings.name))


@dataclass(slots=True)
class RunReport:
    """What a run did. `exit_status` is 0 only if nothing failed and nothing was left out."""

    committed: list[Committed] = field(default_factory=list)
    failures: list[tuple[TopicPartition, Failure]] = field(default_factory=list)
    left_out: tuple[LeftOut, ...] = ()

    @property
    def exit_status(self) -> int:
        statuses = {failure.exit_status for _, failure in self.failures}
        if EXIT_TEMPORARY in statuses:  # a retry helps some partitions, and meets the others' errors again
            return EXIT_TEMPORARY
        if statuses:
            return max(statuses)
        return EXIT_DATA if self.left_out else EXIT_DONE

    def problems(self) -> list[str]:
        return [*(failure.reason for _, failure in self.failures), *(str(left) for left in self.left_out)]


def prepare(exporter: Exporter, request: RunRequest) -> tuple[Planned | None, World]:
    """Make sure that a plan is in the bucket if there is anything to do: an open one, or a new one of this run.

    Raises `Fenced` if another run planned at the same moment.
    """
    head, world, planned = begin(exporter, request)
    if planned is None:
        plan = next_plan(
            exporter.settings, exporter.broker, world, head, request, pinned=_pinned(exporter, head, request)
        )
        planned = _write_plan(exporter, plan, head) if plan is not None else None
    return planned, world


def run(exporter: Exporter, request: RunRequest, execute: Execute, tell: Tell) -> RunReport:
    """Do all there is to do for a request, and say how it went. Raises what stops the whole run."""
    report = RunReport()
    head, world, planned = begin(exporter, request)
    pinned = _pinned(exporter, head, request)
    failed: frozenset[TopicPartition] = frozenset()
    while True:
        if planned is None:
            plan = next_plan(exporter.settings, exporter.broker, world, head, request, pinned=pinned, without=failed)
            if plan is None:
                break
            planned = _write_plan(exporter, plan, head)
        if planned.plan.run.run_id == request.run_id:
            pinned = pinned_ends(planned.plan.run)
        head, failures = _close(exporter, planned, world, head, request, execute, tell)
        report.committed.append(head)
        report.failures += failures
        failed |= {tp for tp, _ in failures}
        head, world = _see(exporter, request, head)
        planned = None
    report.left_out = tuple(left for left in world.left_out if left.tp not in failed)
    return report


def begin(exporter: Exporter, request: RunRequest) -> tuple[Committed, World, Planned | None]:
    """The newest entry, the world around it, and the plan that is open: its slot belongs to what closes it."""
    head = exporter.log.newest()
    planned = exporter.log.open_plan(head) if head is not None else None
    if head is not None and planned is not None:
        return head, observe(exporter.settings, exporter.broker, head), planned
    return *_see(exporter, request, head), None


def _see(exporter: Exporter, request: RunRequest, head: Committed | None) -> tuple[Committed, World]:
    """The world around the newest entry; topics seen for the first time are written to the log at once."""
    log, settings = exporter.log, exporter.settings
    world = observe(settings, exporter.broker, head)
    if not world.first_seen and head is not None:
        return head, world
    if head is None:
        first_use.check_no_traces(log, settings, world.topics)
    for topic in sorted(world.first_seen):
        first_use.check_no_data(log, settings, topic, has_log=head is not None)
    new = {name: state for name, state in world.topics.items() if name in world.first_seen}
    known = head.entry.topics if head is not None else {}
    entry = new_entry(settings, request, world.cluster_id, head, kind=Kind.CHECKPOINT, topics={**known, **new})
    written = _put(log, entry)
    return written, observe(settings, exporter.broker, written)


def _write_plan(exporter: Exporter, plan: Plan, head: Committed) -> Planned:
    if head.entry.plan_sha256 is None:  # no plan has been closed yet: nothing shows that the store is good enough
        key = exporter.log.layout.log_key(head.entry.seq)
        first_use.probe(exporter.store, key, exporter.store.get(key) or b"")
    for topic in sorted({planned.topic for planned in plan.ranges}):
        first_use.claim(exporter.log, exporter.settings, topic)
    return exporter.log.put_plan(plan)


def _pinned(exporter: Exporter, head: Committed, request: RunRequest) -> dict[TopicPartition, int] | None:
    """A retry of a run goes up to the end offsets that its first try wrote down."""
    if head.entry.run_id != request.run_id or head.entry.plan_sha256 is None:
        return None
    planned = exporter.log.plan(head.entry.seq)
    if planned is None or planned.plan.run.run_id != request.run_id:  # it only finished another run's plan
        return None
    return pinned_ends(planned.plan.run)


def _close(
    exporter: Exporter,
    planned: Planned,
    world: World,
    head: Committed,
    request: RunRequest,
    execute: Execute,
    tell: Tell,
) -> tuple[Committed, list[tuple[TopicPartition, Failure]]]:
    """Finish a plan with a commit, or void it: whatever happens, it is closed exactly once."""
    plan, settings = planned.plan, exporter.settings
    why_not = why_not_finished(plan, settings)
    if why_not is not None:
        tell(f"plan {plan.seq} is voided: {why_not}")
        entry = new_entry(
            settings, request, world.cluster_id, head, kind=Kind.VOID, plan_sha256=planned.sha256, reason=why_not
        )
        return _put(exporter.log, entry), []
    tell(f"plan {plan.seq}: {sum(r.end - r.start for r in plan.ranges)} offsets in {len(plan.ranges)} ranges")
    exported = _export(exporter, planned, world, execute, tell)
    entry = new_entry(
        settings,
        request,
        plan.cluster_id,
        head,
        kind=Kind.COMMIT,
        plan_sha256=planned.sha256,
        interval=plan.interval,
        boundary_ms=_boundary(plan, head),
        unfinished=plan.interval if plan.more else None,
        topics=moved(plan.topics, {done.tp: done.next_offset for done in exported.ranges}),
        ranges=exported.ranges,
        failed=(*_still_failed(plan, head, settings), *exported.failed),
    )
    committed = exporter.log.put_entry(entry)
    if isinstance(committed, Lost):
        committed = _same_commit(committed.winner, entry)
    tell(f"commit {plan.seq}: {sum(done.records for done in exported.ranges)} records")
    return committed, exported.failures


def _boundary(plan: Plan, head: Committed) -> int | None:
    """The latest interval end that was committed; a backfill of an older interval does not move it back."""
    ends = [head.entry.boundary_ms, plan.interval.end_ms if plan.interval is not None else None]
    return max((end for end in ends if end is not None), default=None)


def _still_failed(plan: Plan, head: Committed, settings: Settings) -> tuple[FailedRange, ...]:
    """What failed before in partitions that this plan leaves out: the next run plans it again as it was."""
    if head.entry.configuration_sha256 != settings.configuration_sha256:
        return ()
    planned = {each.tp for each in plan.ranges}
    return tuple(failed for failed in head.entry.failed if failed.tp not in planned)


@dataclass(frozen=True, slots=True)
class Exported:
    """A plan whose ranges were executed: what can be committed of it, and what not. Only this can be committed."""

    ranges: tuple[RangeEntry, ...]
    failed: tuple[FailedRange, ...]
    failures: list[tuple[TopicPartition, Failure]]


def _export(exporter: Exporter, planned: Planned, world: World, execute: Execute, tell: Tell) -> Exported:
    """Execute a plan's ranges and keep, of each partition, the contiguous prefix that succeeded."""
    plan = planned.plan
    barred = {left.tp: left.reason for left in world.left_out}
    tasks = [
        RangeTask(
            each,
            interval_of(each.interval, plan.interval).start_ms,
            plan.topics[each.topic].generation,
            world.offsets[each.tp],
        )
        for each in plan.ranges
        if each.tp not in barred and each.tp in world.offsets
    ]
    results = {result.planned: result for result in _executed(execute, tasks)} if tasks else {}
    for result in results.values():
        for refused in result.refused:
            tell(f"bad record: {refused}")
    views = exporter.broker.topics()
    changed = {
        name for name, state in plan.topics.items() if name not in views or views[name].topic_id != state.topic_id
    }
    for each in plan.ranges:
        if each.topic in changed or each not in results:
            reason = barred.get(each.tp, f"topic {each.topic} was deleted or created again while it was read.")
            results[each] = RangeResult(each, None, Failure(f"{each.tp}: {reason}", EXIT_DATA))
    return contiguous(plan, [results[each] for each in plan.ranges])


def _executed(execute: Execute, tasks: Sequence[RangeTask]) -> Sequence[RangeResult]:
    """What became of the tasks; a schema registry that fails before they start fails all of them, and loses nothing."""
    try:
        return execute(tasks)
    except (RegistryUnavailable, RegistryRefused) as error:
        failure = Failure(str(error), error.exit_status)
        return [RangeResult(task.planned, None, failure) for task in tasks]


def contiguous(plan: Plan, results: Sequence[RangeResult]) -> Exported:
    """Of each partition, what can be committed without a gap; the rest has failed, with its own bounds kept."""
    ranges: list[RangeEntry] = []
    failed: list[FailedRange] = []
    failures: list[tuple[TopicPartition, Failure]] = []
    stopped: dict[TopicPartition, str] = {}
    position = _positions(plan)
    for result in sorted(results, key=lambda result: (result.planned.tp, result.planned.start)):
        planned, entry = result.planned, result.entry
        if planned.tp in stopped:
            reason = f"waits for the range before it: {stopped[planned.tp]}"
            failed.append(_failed(plan, planned, planned.start, reason))
            continue
        assert planned.start == position[planned.tp], f"{planned.offsets} does not start at the position"
        if entry is not None:
            entry.check_accounting()
            position[planned.tp] = entry.next_offset
            if entry.next_offset > planned.start:
                ranges.append(entry)
        if result.failure is not None:
            stopped[planned.tp] = result.failure.reason
            failures.append((planned.tp, result.failure))
            failed.append(_failed(plan, planned, position[planned.tp], result.failure.reason))
        else:
            assert position[planned.tp] == planned.end, f"{planned.offsets} ended at {position[planned.tp]}"
    return Exported(tuple(ranges), tuple(failed), failures)


def _positions(plan: Plan) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, p): at for topic, state in plan.topics.items() for p, at in state.positions.items()}


def _failed(plan: Plan, planned: PlannedRange, start: int, reason: str) -> FailedRange:
    """A range to plan again as it was, its logical time included."""
    return FailedRange(
        topic=planned.topic,
        partition=planned.partition,
        start=start,
        end=planned.end,
        reason=reason,
        interval=interval_of(planned.interval, plan.interval),
    )


def why_not_finished(plan: Plan, settings: Settings) -> str | None:
    """Why an unfinished plan cannot be finished as planned, or `None`."""
    if plan.configuration_sha256 != settings.configuration_sha256:
        return "the configuration has changed since"
    if plan.bytes_version != BYTES_VERSION:
        return f"engine {plan.engine} made it, and {__version__} may write other bytes"
    return None


def _same_commit(winner: Committed, ours: Entry) -> Committed:
    """The winner of a lost commit, if it committed the same plan and all that we had finished."""
    theirs = winner.entry
    same_plan = theirs.kind is Kind.COMMIT and theirs.plan_sha256 == ours.plan_sha256
    covered = all((theirs.position(done.tp) or 0) >= done.next_offset for done in ours.ranges)
    if same_plan and covered:
        return winner
    raise _fenced_by(theirs)


def _fenced_by(theirs: Entry) -> Fenced:
    return Fenced(
        f"Run {theirs.run_id} (try {theirs.try_number}) wrote log entry {theirs.seq} ({theirs.kind}) first.",
        next="Nothing more was written; a retry finds out where things stand.",
    )


def _put(log: Log, entry: Entry) -> Committed:
    committed = log.put_entry(entry)
    if isinstance(committed, Lost):
        raise _fenced_by(committed.winner.entry)
    return committed


def new_entry(
    settings: Settings, request: RunRequest, cluster_id: str, head: Committed | None, **what: object
) -> Entry:
    """A new entry after `head`; what it does not say itself is carried over, so that the newest alone is the state."""
    state: dict[str, object] = {}
    if head is not None:
        old = head.entry
        state = {"topics": old.topics, "boundary_ms": old.boundary_ms, "unfinished": old.unfinished}
        if old.configuration_sha256 == settings.configuration_sha256:
            state["failed"] = old.failed  # under another configuration they are planned afresh
    state.update(what)
    return Entry(
        seq=0 if head is None else head.entry.seq + 1,
        connector=settings.name,
        previous_sha256=None if head is None else head.sha256,
        cluster_id=cluster_id,
        engine=__version__,
        configuration_sha256=settings.configuration_sha256,
        isolation_level=settings.kafka.isolation_level,
        run_id=request.run_id,
        try_number=request.try_number,
        spark_application=request.spark_application,
        **state,  # type: ignore[arg-type]
    )
