"""How a run went: what it committed, what it did not, and what it ends with."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_s3.errors import EXIT_DONE, EXIT_TEMPORARY, EXIT_UNEXPECTED
from kafka_s3.export.diagnosis import Problem, RangeFailed, Said, TopicRejected, exit_status, noted, rejections, said
from kafka_s3.log.entries import FailedRange
from kafka_s3.log.store import Committed
from kafka_s3.plan.anomalies import ExcludedPartition
from kafka_s3.plan.results import Failure
from kafka_s3.ranges import TopicPartition


@dataclass(slots=True)
class RunReport:
    """What a run did. `exit_status` is 0 only if nothing failed, nothing was left out, and of no topic more than
    `rejected_max` of the records were rejected."""

    committed: list[Committed] = field(default_factory=list)
    failures: list[tuple[TopicPartition, Failure]] = field(default_factory=list)
    excluded: tuple[ExcludedPartition, ...] = ()
    rejected_max: float = 1.0

    @property
    def rejections(self) -> list[TopicRejected]:
        """Of each topic the run's newest commit, where records were rejected."""
        return rejections([committed.entry for committed in reversed(self.committed)])

    @property
    def exit_status(self) -> int:
        statuses = {failure.exit_status for _, failure in self.failures}
        statuses |= {left.exit_status for left in self.excluded}
        statuses |= {exit_status(rejected) for rejected in self._rejected()}
        # Where a retry helps some partitions it is worth it: it meets the others' errors again.
        for worth_a_retry in (EXIT_TEMPORARY, EXIT_UNEXPECTED):
            if worth_a_retry in statuses:
                return worth_a_retry
        return max(statuses, default=EXIT_DONE)

    def problems(self) -> list[str]:
        return [each.what for each in self.said()]

    def said(self, config: str = "CONFIG") -> list[Said]:
        """What went wrong, and the ways out: those that `status` names from now on."""
        failed = [RangeFailed(self._failed(tp, failure)) for tp, failure in self.failures]
        found: list[Problem] = [*failed, *self.excluded, *self._rejected()]
        return [said(problem, config) for problem in found]

    def lines(self, config: str) -> list[str]:
        """All of that, and what was rejected without being too much, a line each."""
        return [*map(str, self.said(config)), *self.noted(config)]

    def noted(self, config: str) -> list[str]:
        """What was rejected without being too much."""
        too_many = self._rejected()
        return [noted(each, config) for each in self.rejections if each not in too_many]

    def _rejected(self) -> list[TopicRejected]:
        return [each for each in self.rejections if each.fraction > self.rejected_max]

    def _failed(self, tp: TopicPartition, failure: Failure) -> FailedRange:
        """Where a failure stopped its partition, as the log says it."""
        named = (each for committed in reversed(self.committed) for each in committed.entry.failed if each.tp == tp)
        start, end = next(((each.start, each.end) for each in named), (0, 0))
        return FailedRange(
            topic=tp.topic, partition=tp.partition, start=start, end=end, reason=failure.reason, stop=failure.stop
        )
