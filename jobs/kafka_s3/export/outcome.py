"""Of what was executed, what can be committed: the contiguous prefix of each partition. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_s3.log.entries import FailedRange, Plan, PlannedRange, RangeEntry, Stop
from kafka_s3.plan.batch import interval_of
from kafka_s3.plan.results import Failure, RangeResult
from kafka_s3.ranges import TopicPartition


@dataclass(frozen=True, slots=True)
class Exported:
    """A plan whose ranges were executed: what can be committed of it, and what not. Only this can be committed.

    `others`: topics that are another one by now, or gone.
    """

    ranges: tuple[RangeEntry, ...]
    failed: tuple[FailedRange, ...]
    failures: list[tuple[TopicPartition, Failure]]
    others: frozenset[str] = frozenset()


def contiguous(plan: Plan, results: Sequence[RangeResult], others: frozenset[str] = frozenset()) -> Exported:
    """Of each partition, what can be committed without a gap; the rest has failed, with its own bounds kept."""
    ranges: list[RangeEntry] = []
    failed: list[FailedRange] = []
    failures: list[tuple[TopicPartition, Failure]] = []
    stopped: dict[TopicPartition, Failure] = {}
    position = _positions(plan)
    for result in sorted(results, key=lambda result: (result.planned.tp, result.planned.start)):
        planned, entry = result.planned, result.entry
        if planned.tp in stopped:
            before = stopped[planned.tp]
            failed.append(
                _failed(plan, planned, planned.start, f"waits for the range before it: {before.reason}", before.stop)
            )
            continue
        assert planned.start == position[planned.tp], f"{planned.offsets} does not start at the position"
        if entry is not None:
            entry.check_accounting()
            position[planned.tp] = entry.next_offset
            if entry.next_offset > planned.start:
                ranges.append(entry)
        if result.failure is not None:
            stopped[planned.tp] = result.failure
            failures.append((planned.tp, result.failure))
            failed.append(_failed(plan, planned, position[planned.tp], result.failure.reason, result.failure.stop))
        else:
            assert position[planned.tp] == planned.end, f"{planned.offsets} ended at {position[planned.tp]}"
    return Exported(tuple(ranges), tuple(failed), failures, others)


def _positions(plan: Plan) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, p): at for topic, state in plan.topics.items() for p, at in state.positions.items()}


def _failed(plan: Plan, planned: PlannedRange, start: int, reason: str, stop: Stop) -> FailedRange:
    """A range to plan again as it was, its logical time included."""
    return FailedRange(
        topic=planned.topic,
        partition=planned.partition,
        start=start,
        end=planned.end,
        reason=reason,
        interval=interval_of(planned.interval, plan.interval),
        stop=stop,
    )
