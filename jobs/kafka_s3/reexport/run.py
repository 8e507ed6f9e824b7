"""One window of time: its plan, its objects, one commit. A window that is committed is left as it is, until it is
withdrawn: an entry says so, and its next export is another plan, with objects and a commit of its own (`names`).

    state = what the newest entry of the window's own log says: open, or committed
    while it is open: finish the plan that is open or make one, then commit all of it, or void it
    once it is committed: delete what else lies under the window's keys

The live log is read and never written. Whatever happens at the same time (other windows, a second run of this one, the
live export), put-if-absent alone decides: one commit, of one plan, as for the live log (docs/protocol.md#writes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kafka_s3.bucket import owners
from kafka_s3.bucket.folders import Configurations
from kafka_s3.bucket.window import check_window, claimed_layout, log_layout, of_window, window_id
from kafka_s3.bucket.window_leftovers import sweep
from kafka_s3.bucket.window_names import first_generation, over_generation, withdrawals
from kafka_s3.bucket.window_state import CommittedWindow, OpenWindow, window_state
from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.errors import EXIT_DATA, LogDamaged, TemporaryError
from kafka_s3.events import (
    PlanNoted,
    PlanVoided,
    Tell,
    WindowCommittedBefore,
    WindowCommitWritten,
    WindowNotCommitted,
    WindowPlanOpened,
    WindowWithdrawn,
    nobody,
)
from kafka_s3.export.accounting import AccountedRanges, Incomplete, account_for_all
from kafka_s3.export.append import EntrySlot, Uncommitted, entry, fenced_by, put
from kafka_s3.export.closing import executed, tell_of_records, why_not_finished
from kafka_s3.export.exporter import Execute, Exporter
from kafka_s3.export.run_report import RunReport
from kafka_s3.export.task import RangeTask
from kafka_s3.log.entries import Entry, Interval, Kind, Plan, PlannedRange, RangeEntry
from kafka_s3.log.plans import NewPlan, OpenPlan
from kafka_s3.log.store import Committed, Log, SlotTaken
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.changes import changed_while_read
from kafka_s3.plan.planner import observe
from kafka_s3.plan.results import Failure, RangeResult, Task
from kafka_s3.ports import PartitionOffsets
from kafka_s3.ranges import TopicPartition
from kafka_s3.reexport.copies import CopyTask, dated
from kafka_s3.reexport.plan import check_apart, live_ranges, make_plan
from kafka_s3.reexport.readiness import Live, check_reached
from kafka_s3.reexport.select import LiveRange
from kafka_s3.settings.model import Settings

PLANS_MAX: Final = 3  # of one run: an inherited one, one that Kafka overtakes, and one more
_NOWHERE: Final = PartitionOffsets(0, 0, 0)


@dataclass(frozen=True, slots=True)
class _Site:
    """One window of a connector: the settings and the log of its own, beside the live export's."""

    live: Exporter
    window: Interval
    settings: Settings
    log: Log

    @classmethod
    def of(cls, exporter: Exporter, request: RunRequest) -> _Site:
        window = check_window(request.interval)
        settings = of_window(exporter.settings, window)
        return cls(
            exporter.at_work(),
            window,
            settings,
            Log(exporter.store, log_layout(exporter.settings, window), settings.log_key),
        )


def prepare(exporter: Exporter, request: RunRequest, tell: Tell = nobody, *, anew: bool = False) -> OpenPlan | None:
    """Make sure that the window is committed, or that a plan is in the bucket; `None` if nothing is left to export.

    A window without records is committed here: it needs no Spark. Raises `Fenced` if another run was faster. `anew`:
    what another run has committed is withdrawn first, if the window can be planned again.
    """
    site = _Site.of(exporter, request)
    state = window_state(site.log.newest())
    crash_point(CrashPoint.FOUND_HEAD)
    if anew:
        state = _withdrawn_first(site, state, request, tell)
    if isinstance(state, CommittedWindow):
        _sweep(site, state, tell)
        return None
    planned = _open_plan(site, state) or _write_plan(site, state, request, frozenset())
    if planned.plan.ranges:
        return planned
    _close(site, planned, state, request, lambda _: [], tell)
    return None


@dataclass(frozen=True, slots=True)
class Preview:
    """What the next run of a window would do. `committed`: how the window is exported; `plan`: what would be read and
    copied, `None` where nothing is left to do. `is_open`: somebody has written that plan already."""

    committed: Entry | None
    plan: Plan | None
    is_open: bool = False


def preview(exporter: Exporter, request: RunRequest, *, anew: bool = False) -> Preview:
    """What `prepare` would do. Reads only, and raises what stops it."""
    site = _Site.of(exporter, request)
    state = window_state(site.log.newest())
    if isinstance(state, CommittedWindow):
        plan = _plan(site, state.commit, request, frozenset()) if anew else None
        return Preview(state.commit.entry, plan)
    planned = _open_plan(site, state)
    if planned is not None:
        return Preview(None, planned.plan, is_open=True)
    return Preview(None, _plan(site, state.head, request, frozenset()))


def withdraw(exporter: Exporter, request: RunRequest, tell: Tell) -> bool:
    """Withdraw the window of a request: it counts as not exported, and the next run exports it once more, with names of
    a later generation. Whether it was committed. Raises `Fenced` if another run was faster."""
    site = _Site.of(exporter, request)
    state = window_state(site.log.newest())
    if isinstance(state, OpenWindow):
        tell(WindowNotCommitted(window=window_id(site.window)))
        return False
    _withdraw(site, state, request, tell)
    return True


def _withdraw(site: _Site, state: CommittedWindow, request: RunRequest, tell: Tell) -> OpenWindow:
    head = state.commit
    restarts = withdrawals(state, over_generation(site.log, head))
    slot = EntrySlot(site.settings, request, head.entry.cluster_id, head)
    reason = f"entry {head.entry.seq} is withdrawn"
    withdrawal = entry(slot, Kind.REWIND, head.entry.topics, interval=site.window, restarts=restarts, reason=reason)
    withdrawn = put(site.log, withdrawal)
    tell(WindowWithdrawn(seq=head.entry.seq, window=window_id(site.window)))
    return OpenWindow(withdrawn)


def _withdrawn_first(
    site: _Site, state: OpenWindow | CommittedWindow, request: RunRequest, tell: Tell
) -> OpenWindow | CommittedWindow:
    """The window once what other runs have committed is withdrawn; one that cannot be planned now stays."""
    if isinstance(state, OpenWindow) or state.commit.entry.run_id == request.run_id:
        return state
    _plan(site, state.commit, request, frozenset())
    return _withdraw(site, state, request, tell)


def run(exporter: Exporter, request: RunRequest, execute: Execute, tell: Tell, *, anew: bool = False) -> RunReport:
    """Export the window of a request again, unless that was done. `execute` is one under the window's settings, `anew`
    as in `prepare`.

    Raises what stops the run; what the data or Kafka would not let pass is in the report, and nothing is committed.
    """
    site = _Site.of(exporter, request)
    report = RunReport()
    if anew:
        _withdrawn_first(site, window_state(site.log.newest()), request, tell)
    gone: frozenset[LiveRange] = frozenset()
    for _ in range(PLANS_MAX):
        state = window_state(site.log.newest())
        crash_point(CrashPoint.FOUND_HEAD)
        if isinstance(state, CommittedWindow):
            tell(WindowCommittedBefore(seq=state.commit.entry.seq, window=state.commit.entry.connector))
            _sweep(site, state, tell)
            break
        planned = _open_plan(site, state) or _write_plan(site, state, request, gone)
        closed = _close(site, planned, state, request, execute, tell)
        report.committed.append(closed.entry)
        report.failures = list(closed.failures)
        gone |= closed.gone
        if isinstance(closed.window, CommittedWindow):
            break
        # What Kafka has lost meanwhile is taken from the bucket by another plan, if it can be.
        if closed.failures and not any(failure.kafka_changed for _, failure in closed.failures):
            break
    return report


def _open_plan(site: _Site, state: OpenWindow) -> OpenPlan | None:
    head = state.head
    planned = site.log.plan(0 if head is None else head.entry.seq + 1)
    expected = "" if head is None else head.sha256
    if planned is not None and planned.plan.previous_sha256 != expected:
        raise LogDamaged(
            f"The plan {site.log.layout.plan_key(planned.plan.seq)} follows another entry than the newest one.",
            next="The window's log was edited or restored: compare it with the bucket's versions.",
        )
    return None if planned is None else OpenPlan(planned.plan, planned.sha256)


def _plan(site: _Site, head: Committed | None, request: RunRequest, gone: frozenset[LiveRange]) -> Plan:
    """The window's next plan, if it may be exported. Reads only."""
    exporter = site.live
    newest = exporter.log.newest()
    if newest is None:
        raise TemporaryError(
            f"Connector {exporter.settings.name} has exported nothing yet, so there is no window of it.",
            next="The live export comes first: try again after its first run.",
        )
    snapshot = observe(exporter.settings, exporter.broker, newest)
    crash_point(CrashPoint.LOOKED_AT_KAFKA)
    live = Live(exporter.settings, exporter.log, newest, snapshot)
    check_apart(exporter.settings, newest.entry.topics, site.settings.layout)
    check_reached(live, exporter.broker, site.window, request.now_ms)
    plan = make_plan(live, exporter.store, exporter.broker, request, head, gone, first_generation(site.log, head))
    return exporter.infer(plan, frozenset(plan.topics))  # as the live export has them, which has seen the window


def _write_plan(site: _Site, state: OpenWindow, request: RunRequest, gone: frozenset[LiveRange]) -> NewPlan:
    exporter, plan = site.live, _plan(site, state.head, request, gone)
    crash_point(CrashPoint.MADE_PLAN)
    claimed = replace(exporter.settings, layout=claimed_layout(exporter.settings))
    for topic in sorted({planned.topic for planned in plan.ranges}):
        owners.claim(exporter.log, claimed, topic, way_out="export.reexport.topics.dir")
    crash_point(CrashPoint.CLAIMED_TOPICS)
    planned = site.log.put_plan(plan)
    crash_point(CrashPoint.WROTE_PLAN)
    return planned


@dataclass(frozen=True, slots=True)
class _Closed:
    """How a plan ended, and what the window is since. `gone`: ranges that Kafka no longer has, as reading showed."""

    entry: Committed
    failures: tuple[tuple[TopicPartition, Failure], ...] = ()
    gone: frozenset[LiveRange] = frozenset()

    @property
    def window(self) -> OpenWindow | CommittedWindow:
        return window_state(self.entry)


def _close(
    site: _Site, planned: OpenPlan, state: OpenWindow, request: RunRequest, execute: Execute, tell: Tell
) -> _Closed:
    """Commit all of a plan, or void it: a window is never there in part."""
    plan, settings = planned.plan, site.settings
    why_not = why_not_finished(plan, settings) or _why_overtaken(site, plan)
    if why_not is not None:
        return _void(site, planned, state, request, why_not, tell)
    tell(WindowPlanOpened(seq=plan.seq, window=plan.connector, ranges=len(plan.ranges)))
    for note in plan.notes:
        tell(PlanNoted(seq=plan.seq, note=note))
    live = live_ranges(site.live.log, plan)
    slot = EntrySlot(settings, request, plan.cluster_id, state.head)
    results = _results(site, plan, live, execute, tell)
    accounted = account_for_all(plan, results)
    if isinstance(accounted, Incomplete):
        reason = "; ".join(dict.fromkeys(failure.reason for _, failure in accounted.failures))
        tell(PlanVoided(seq=plan.seq, reason="nothing of the window is committed"))
        voided = put(site.log, _window_entry(slot, planned, Kind.VOID, reason[:2000]))
        return _Closed(voided, accounted.failures, _compacted(plan, results, live))
    site.live.log.check_current()
    why_not = _why_overtaken(site, plan)  # somebody may have rewound while it was read
    if why_not is not None:
        return _void(site, planned, state, request, why_not, tell)
    commit = _window_entry(slot, planned, accounted)
    crash_point(CrashPoint.COMMITTING)
    committed = site.log.put_entry(commit)
    if isinstance(committed, SlotTaken):
        theirs = committed.winner.entry
        if theirs.kind is not Kind.COMMIT or theirs.plan_sha256 != planned.sha256:
            raise fenced_by(theirs)
        committed = committed.winner
    crash_point(CrashPoint.COMMITTED)
    records = sum(each.records for each in accounted.ranges)
    made = [each for done in accounted.ranges for each in done.objects]
    size, count = sum(each.size for each in made), len(made)
    tell(WindowCommitWritten(seq=plan.seq, window=plan.connector, records=records, bytes=size, objects=count))
    _sweep(site, CommittedWindow(committed), tell)
    return _Closed(committed)


def _why_overtaken(site: _Site, plan: Plan) -> str | None:
    """Why the live export is no longer what a window was planned from: its records may have been withdrawn since."""
    if (plan.live_epoch or "") != site.live.log.layout.epoch:
        return "the connector's log was begun anew since"
    newest = site.live.log.newest()
    topics = {} if newest is None else newest.entry.topics
    for topic in sorted({each.topic for each in plan.ranges}):
        if topic not in topics or topics[topic].generation != plan.topics[topic].generation:
            return f"topic {topic} was rewound, or began again, since it was planned"
    return None


def _void(site: _Site, planned: OpenPlan, state: OpenWindow, request: RunRequest, why_not: str, tell: Tell) -> _Closed:
    """Close a plan that is not to be finished: the window is planned again, if it can be."""
    tell(PlanVoided(seq=planned.plan.seq, reason=why_not))
    slot = EntrySlot(site.settings, request, planned.plan.cluster_id, state.head)
    return _Closed(put(site.log, _window_entry(slot, planned, Kind.VOID, why_not)))


def _window_entry(
    slot: EntrySlot, planned: OpenPlan, what: Uncommitted | AccountedRanges, reason: str | None = None
) -> Entry:
    """What closes a window's plan: all of it is committed, or nothing. No partition has a position in a window."""
    plan = planned.plan
    return entry(slot, what, plan.topics, closes=planned, interval=plan.interval, reason=reason)


def _sweep(site: _Site, exported: CommittedWindow, tell: Tell) -> None:
    """Delete what is not the window's, whoever left it: this run, one before, or one that slept until now."""
    for event in sweep(site.live.settings, site.live.log, site.window, exported):
        tell(event)
    crash_point(CrashPoint.SWEPT)


def _results(
    site: _Site, plan: Plan, live: Mapping[PlannedRange, RangeEntry], execute: Execute, tell: Tell
) -> dict[PlannedRange, RangeResult]:
    """What became of every range; a success only if Kafka's log stayed what it was, and lacks nothing."""
    tasks = _tasks(site, plan, live)
    results = {result.planned: result for result in executed(execute, tasks)} if tasks else {}
    crash_point(CrashPoint.READ_ALL)
    tell_of_records(results.values(), tell)
    read = [each for each in plan.ranges if not each.is_copied and each in results and results[each].failure is None]
    changed = changed_while_read(site.live.broker, plan, read).failures if read else {}
    crash_point(CrashPoint.CHECKED_KAFKA)
    for each in plan.ranges:
        if each.is_copied and each in results:
            continue
        if each not in results:
            reason = f"{each.offsets} can no longer be read from Kafka."
            results[each] = RangeResult(each, None, Failure(reason, EXIT_DATA, kafka_changed=True))
        elif each.tp in changed:
            results[each] = RangeResult(each, None, changed[each.tp])
        elif (missing := _missing(results[each], live[each])) > 0:
            reason = f"{each.offsets}: {missing} records that were exported are gone from Kafka (a compacted topic?)."
            results[each] = replace(results[each], failure=Failure(reason, EXIT_DATA, kafka_changed=True))
    return results


def _missing(result: RangeResult, exported: RangeEntry) -> int:
    """How many more offsets are without a record now than when they were exported."""
    entry = result.entry
    return 0 if result.failure is not None or entry is None else entry.skipped_offsets - exported.skipped_offsets


def _compacted(
    plan: Plan, results: Mapping[PlannedRange, RangeResult], live: Mapping[PlannedRange, RangeEntry]
) -> frozenset[LiveRange]:
    return frozenset(
        (each.live, each.tp, live[each].start)
        for each in plan.ranges
        if each.live is not None and not each.is_copied and results[each].entry is not None
        if (failure := results[each].failure) is not None and failure.kafka_changed
    )


def _tasks(site: _Site, plan: Plan, live: Mapping[PlannedRange, RangeEntry]) -> Sequence[Task]:
    exporter = site.live
    layouts = Configurations(exporter.settings)
    wanted = sorted({each.tp for each in plan.ranges if not each.is_copied})
    seen: Mapping[TopicPartition, PartitionOffsets] = {}
    if wanted:
        newest = exporter.log.newest()
        seen = observe(exporter.settings, exporter.broker, newest).offsets
        crash_point(CrashPoint.LOOKED_AT_KAFKA)
    tasks: list[Task] = []
    for each in plan.ranges:
        generation = each.generation or 0
        if each.is_copied:
            assert each.live is not None, "live_ranges found it"
            done = dated(exporter.store, live[each])
            then = _settings_then(exporter, layouts, each.live)
            tasks.append(CopyTask(each, done, then.layout, site.window, generation, exporter.log.layout))
        elif each.tp in seen:
            schema = plan.topics[each.topic].schema_text
            at_ms = site.window.start_ms
            tasks.append(RangeTask(each, at_ms, generation, seen[each.tp], window=site.window, schema=schema))
    return tasks


def _settings_then(exporter: Exporter, configurations: Configurations, seq: int) -> Settings:
    """The settings that the objects of a live entry were written under."""
    planned = exporter.log.plan(seq)
    then = None if planned is None else configurations.of(planned.plan)
    if then is None:
        raise LogDamaged(
            f"The plan of log entry {seq} is missing, or its configuration cannot be read: what the keys of its objects"
            " mean is not known.",
            next="Restore it from the bucket's versions.",
        )
    return then
