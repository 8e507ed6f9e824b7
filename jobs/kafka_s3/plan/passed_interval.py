"""What is wrong with partitions that a run has nothing to do with: its interval was over for them when it began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_s3.log.entries import Entry
from kafka_s3.log.progress import has_passed
from kafka_s3.plan.anomalies import ExcludedPartition
from kafka_s3.plan.batch import RunRequest
from kafka_s3.ranges import TopicPartition


@dataclass(frozen=True, slots=True)
class PassedInterval:
    """What a run's interval was over for when the run began: what is wrong with that now is nothing of the interval."""

    began: Entry | None
    request: RunRequest

    def relevant(self, excluded: Sequence[ExcludedPartition]) -> tuple[ExcludedPartition, ...]:
        """Those that the interval was not over for."""
        return tuple(each for each in excluded if self.began is None or not self._is_over(self.began, each))

    def _is_over(self, entry: Entry, excluded: ExcludedPartition) -> bool:
        state = entry.topics.get(excluded.tp.topic)
        tps = [TopicPartition(excluded.tp.topic, p) for p in state.positions] if state is not None else []
        asked, now_ms = self.request.interval, self.request.now_ms
        mine = [excluded.tp, *(tp for tp in tps if excluded.covers(tp))]
        return all(has_passed(entry, tp, asked, now_ms) for tp in mine)
