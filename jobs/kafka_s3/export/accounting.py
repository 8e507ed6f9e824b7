"""Every offset of a plan's ranges is accounted for: what of them can be committed, and what failed. Pure.

`AccountedRanges` are made here alone, and a commit takes nothing else (`append.commit`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_s3.log.entries import FailedRange, Plan, PlannedRange, RangeEntry, Stop
from kafka_s3.plan.batch import interval_of
from kafka_s3.plan.results import Failure, RangeResult
from kafka_s3.ranges import TopicPartition


@dataclass(frozen=True, slots=True)
class AccountedRanges:
    """Of a plan whose ranges were executed: what can be committed of it, and what not.

    Each of `ranges` begins at its partition's position, or where the one before it ended, and has every offset in one
    of its counts. `replaced_topics`: topics that are another one by now, or gone.
    """

    ranges: tuple[RangeEntry, ...]
    failed: tuple[FailedRange, ...] = ()
    failures: tuple[tuple[TopicPartition, Failure], ...] = ()
    replaced_topics: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for done in self.ranges:
            done.check_accounting()


@dataclass(frozen=True, slots=True)
class Incomplete:
    """Why a plan that is committed as a whole or not at all is not committed."""

    failures: tuple[tuple[TopicPartition, Failure], ...]


def account_for_all(plan: Plan, results: Mapping[PlannedRange, RangeResult]) -> AccountedRanges | Incomplete:
    """All ranges of a plan, in its order, or the failures of those that did not come to their end."""
    failures = tuple((each.tp, failure) for each in plan.ranges if (failure := results[each].failure) is not None)
    if failures:
        return Incomplete(failures)
    ranges = tuple(entry for each in plan.ranges if (entry := results[each].entry) is not None)
    spans = [(done.tp, done.start, done.next_offset) for done in ranges]
    assert spans == [(each.tp, each.start, each.end) for each in plan.ranges], f"plan {plan.seq}: {spans}"
    return AccountedRanges(ranges)


def account_for_prefixes(
    plan: Plan, results: Sequence[RangeResult], replaced_topics: frozenset[str] = frozenset()
) -> AccountedRanges:
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
            position[planned.tp] = entry.next_offset
            if entry.next_offset > planned.start:
                ranges.append(entry)
        if result.failure is not None:
            stopped[planned.tp] = result.failure
            failures.append((planned.tp, result.failure))
            failed.append(_failed(plan, planned, position[planned.tp], result.failure.reason, result.failure.stop))
        else:
            assert position[planned.tp] == planned.end, f"{planned.offsets} ended at {position[planned.tp]}"
    return AccountedRanges(tuple(ranges), tuple(failed), tuple(failures), replaced_topics)


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
