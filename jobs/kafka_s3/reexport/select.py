"""The committed ranges that may hold records of a window. Reads the whole live log: late records may be anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_s3.log.entries import Interval, Plan, RangeEntry
from kafka_s3.log.replay import BackwardReplay
from kafka_s3.log.store import Committed, Log
from kafka_s3.ordered_pool import AHEAD, PARALLEL, map_ordered, workers
from kafka_s3.ranges import TopicPartition

#: A range of the live log: its entry's number, its partition, its start.
LiveRange = tuple[int, TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A range of the live export, and what its entry says of its topic.

    `truncated_at`: from which offset on Kafka's log is known to be another one since; `None`: it is the same.
    `interval`: of the plan that it was written for, at whose end it was to stop; `None` without one.
    """

    seq: int
    generation: int
    topic_id: str
    done: RangeEntry
    truncated_at: int | None
    interval: Interval | None = None

    @property
    def key(self) -> LiveRange:
        return self.seq, self.done.tp, self.done.start

    @property
    def is_dated(self) -> bool:
        """Whether the log says how old its records are."""
        return self.done.min_timestamp_ms is not None


@dataclass(frozen=True, slots=True)
class Found:
    """`candidates`, oldest entry first. `withdrawn`: up to which offset a rewind took ranges away that may have records
    of the window, and that are not exported again yet."""

    candidates: tuple[Candidate, ...]
    withdrawn: Mapping[TopicPartition, int]


def find(log: Log, head: Committed, window: Interval) -> Found:
    """The ranges of the export up to `head` whose records may be in a window.

    Memory: what is found, and PARALLEL * AHEAD entries.
    """
    found: list[Candidate] = []
    withdrawn: dict[TopicPartition, int] = {}
    seen = BackwardReplay()
    with workers(PARALLEL) as pool:
        for committed in log.back_from(head, pool, PARALLEL * AHEAD):
            entry = committed.entry
            truncated_at = {
                done.tp: seen.truncated_at(done.tp) for done in entry.ranges
            }  # before its own restarts are taken
            taken = seen.take(entry)
            for done in taken.withdrawn:
                cut = truncated_at[done.tp]
                is_cut = cut is not None and done.next_offset > cut  # of a log that Kafka no longer has
                if may_hold(done, window) and not is_cut and done.next_offset > (head.entry.position(done.tp) or 0):
                    withdrawn[done.tp] = max(done.next_offset, withdrawn.get(done.tp, 0))
            for done in reversed(taken.ranges):
                if may_hold(done, window):
                    state = entry.topics[done.topic]
                    planned_for = entry.interval if done.interval is None else None
                    found.append(
                        Candidate(entry.seq, state.generation, state.topic_id, done, truncated_at[done.tp], planned_for)
                    )
    return Found(tuple(found[::-1]), withdrawn)


def surely_before(log: Log, found: Sequence[Candidate], window: Interval) -> frozenset[LiveRange]:
    """Those ranges without timestamps whose plans show that all their records are older than a window.

    A plan for an interval ends in front of the first record at or after the interval's end
    (docs/protocol.md#end-offsets), so nothing in it is as new as that; unless the rule was bent. One GET for
    each plan, and for those of its run before it.
    """
    asked: dict[int, list[Candidate]] = {}
    for each in found:
        if not each.is_dated and each.interval is not None and each.interval.end_ms <= window.start_ms:
            asked.setdefault(each.seq, []).append(each)
    ends, before = _EndsOfRuns(log), set()
    with workers(PARALLEL) as pool:
        for planned in map_ordered(pool, log.plan, asked, PARALLEL * AHEAD):
            if planned is not None:
                plan = planned.plan
                before |= {each.key for each in asked[plan.seq] if ends.hold(plan, each.done.tp)}
    return frozenset(before)


@dataclass(slots=True)
class _EndsOfRuns:
    """Whether plans end where their intervals do. A run looks for its ends once, and each of its later plans goes by
    what the first one wrote down: so a rule that was bent then (which older versions noted there alone) is bent for all
    of them; and under another leader, what lies in front of an old end may be other records, an unclean election above
    the position restarts nothing."""

    log: Log
    _last: tuple[int, tuple[Plan, ...]] = (-1, ())  # the plan asked about last, and those of its run up to it

    def hold(self, plan: Plan, tp: TopicPartition) -> bool:
        """Whether no record of `tp` in a plan is as new as the end of its interval."""
        epochs = set()
        for each in self._plans_of_run(plan):
            if each.may_pass_its_end(tp) or each.run.interval != plan.run.interval:
                return False
            state = each.topics.get(tp.topic)
            epochs.add(None if state is None else state.epochs.get(tp.partition))
        return len(epochs) == 1

    def _plans_of_run(self, plan: Plan) -> tuple[Plan, ...]:
        """A plan and those of its run before it. Voids leave their plans, and entries without one take a number."""
        seq, plans = self._last
        if seq == plan.seq:
            return plans
        found = [plan]
        for earlier in range(plan.seq - 1, -1, -1):
            if earlier == seq and plans and plans[-1].run.run_id == plan.run.run_id:
                found += reversed(plans)
                break
            before = self.log.plan(earlier)
            if before is not None and before.plan.run.run_id != plan.run.run_id:
                break
            found += [before.plan] if before is not None else []
        self._last = (plan.seq, tuple(reversed(found)))
        return self._last[1]


def may_hold(done: RangeEntry, window: Interval) -> bool:
    """Whether a range may have records in a window: by its timestamps, or because the log does not say."""
    if done.min_timestamp_ms is None or done.max_timestamp_ms is None:
        return done.records + done.rejected + done.tombstones + done.filtered > 0
    return done.min_timestamp_ms < window.end_ms and done.max_timestamp_ms >= window.start_ms
