"""Where a run stands: what it knows, what it has closed, and what it leaves alone. Each step makes the next state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from kafka_s3.export.run_report import RunReport
from kafka_s3.log.entries import Entry
from kafka_s3.log.plans import InheritedPlan, NewPlan, OpenPlan
from kafka_s3.log.store import Committed
from kafka_s3.plan.anomalies import ExcludedPartition
from kafka_s3.plan.batch import PinnedEnds, RunRequest
from kafka_s3.plan.passed_interval import PassedInterval
from kafka_s3.plan.planner import KafkaSnapshot
from kafka_s3.plan.results import Failure
from kafka_s3.ranges import TopicPartition

PartitionFailures = tuple[tuple[TopicPartition, Failure], ...]


@dataclass(frozen=True, slots=True)
class CommittedPlan:
    """A plan that a commit closed: by whom it was worked on, and what of it failed."""

    planned: NewPlan | InheritedPlan
    commit: Committed
    failures: PartitionFailures


@dataclass(frozen=True, slots=True)
class VoidedPlan:
    """A plan that was closed without a commit: nothing of it failed, and all of it is planned again."""

    void: Committed
    failures: ClassVar[PartitionFailures] = ()


class ExcludedPlan(Exception):
    """Raised by an `Execute` that leaves a plan to another driver of the same run: nothing of it is done.

    `report`: of what this driver committed before it, which that one knows nothing of.
    """

    def __init__(self, offsets: int) -> None:
        super().__init__(offsets)
        self.offsets = offsets
        self.report = RunReport()


@dataclass(frozen=True, slots=True)
class RunState:
    """A run between two steps. `head` is the newest entry, `snapshot` what Kafka said after it.

    `open_plan`: the plan that the next entry closes. `marked`: what had its markers of completeness when this run
    planned it (`marked.why_marked`); of a plan that was found nothing is known. `pinned`: the end offsets that a plan
    of this run wrote down. `passed_interval`: what the run's interval was over for when the run began. `failed`:
    partitions that this run plans no more. `replanned`: those that were planned again, once, since Kafka lost what was
    planned.
    """

    head: Committed
    snapshot: KafkaSnapshot
    open_plan: OpenPlan | None
    pinned: PinnedEnds | None
    passed_interval: PassedInterval
    marked: Mapping[str, int] = field(default_factory=dict)
    failed: frozenset[TopicPartition] = frozenset()
    replanned: frozenset[TopicPartition] = frozenset()
    closed_by: tuple[Committed, ...] = ()
    failures: PartitionFailures = ()

    @classmethod
    def begin(
        cls,
        head: Committed,
        snapshot: KafkaSnapshot,
        found: OpenPlan | None,
        pinned: PinnedEnds | None,
        request: RunRequest,
    ) -> RunState:
        """`pinned`: by the plan that the newest entry closed, if it was this run's: then the run's interval is not
        over for anything."""
        began: Entry | None = None if pinned is not None else head.entry
        if found is not None and found.plan.run.is_run(request.run_id, request.interval):
            pinned = PinnedEnds.of(found.plan)
        return cls(head, snapshot, found, pinned, PassedInterval(began, request))

    def looked(self, head: Committed, snapshot: KafkaSnapshot) -> RunState:
        """Kafka was looked at again; what changed there is in the log."""
        return replace(self, head=head, snapshot=snapshot)

    def opened(self, planned: NewPlan, marked: Mapping[str, int]) -> RunState:
        """A plan of this run was written; `marked` as it knew it then."""
        return replace(self, open_plan=planned, pinned=PinnedEnds.of(planned.plan), marked=marked)

    def closed(self, closed: CommittedPlan | VoidedPlan) -> RunState:
        """The open plan is closed."""
        head = closed.commit if isinstance(closed, CommittedPlan) else closed.void
        failures = (*self.failures, *closed.failures)
        closed_by = (*self.closed_by, head)
        return replace(self, head=head, open_plan=None, marked={}, closed_by=closed_by, failures=failures)

    def failures_noted(self, failures: PartitionFailures, *, may_replan: bool) -> RunState:
        """What failed in the plan before is planned no more; but once again where Kafka changed and that is allowed
        (`may_replan`): by now it is known and written down what Kafka lost."""
        again = frozenset(tp for tp, failure in failures if failure.kafka_changed and may_replan) - self.replanned
        return replace(
            self,
            failed=self.failed | (frozenset(tp for tp, _ in failures) - again),
            replanned=self.replanned | again,
            failures=tuple(each for each in self.failures if each not in failures or each[0] not in again),
        )

    def excluded(self) -> tuple[ExcludedPartition, ...]:
        """The partitions that were not planned although the run's interval was not over for them."""
        return self.passed_interval.relevant(
            [excluded for excluded in self.snapshot.excluded if excluded.tp not in self.failed]
        )

    def report(self, rejected_max: float) -> RunReport:
        return RunReport(list(self.closed_by), list(self.failures), self.excluded(), rejected_max)

    def report_of_commits(self, rejected_max: float) -> RunReport:
        """Of what another driver of this run does not see: what failed and what is excluded it meets itself."""
        return RunReport(list(self.closed_by), rejected_max=rejected_max)
