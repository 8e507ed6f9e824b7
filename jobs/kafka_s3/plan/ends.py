"""Where partitions end for a point in time: what Kafka answers, and what an earlier plan of the run wrote down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from kafka_s3.log.entries import Interval, TopicState
from kafka_s3.plan.batch import Bent, PinnedEnds, end_offset, noted
from kafka_s3.ports import Broker, PartitionOffsets
from kafka_s3.ranges import TopicPartition


@dataclass(frozen=True, slots=True)
class Ends:
    """End offsets for one point in time. `bent`: where records of a later time may lie below them; `notes` say why."""

    offsets: Mapping[TopicPartition, int]
    notes: tuple[str, ...] = ()
    bent: frozenset[TopicPartition] = frozenset()

    def and_of(self, other: Ends) -> Ends:
        """With what is bent in other ends, too; nothing is said twice."""
        notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        return Ends({**other.offsets, **self.offsets}, notes, self.bent | other.bent)


@dataclass(slots=True)
class Questions:
    """Asks for ends in one snapshot. A partition's first record is looked at once, however many the boundaries."""

    broker: Broker
    topics: Mapping[str, TopicState]
    offsets: Mapping[TopicPartition, PartitionOffsets]
    now_ms: int
    _first: dict[TopicPartition, int | None] = field(default_factory=dict)

    def ends_of_run(self, tps: Sequence[TopicPartition], interval: Interval | None, pinned: PinnedEnds | None) -> Ends:
        """The ends of a whole run. Those that it wrote down before hold; of every other partition they are made now.

        What was left out then is so no longer, and a log that was truncated since ends elsewhere.
        """
        if pinned is None:
            return self.ends_of(tps, interval)
        held = {tp: end for tp, end in pinned.ends.items() if pinned.holds(tp, self.topics.get(tp.topic))}
        missing = [tp for tp in tps if tp not in held or held[tp] > self._bounds(tp).last_stable]
        before = Ends(held, pinned.notes, pinned.bent - set(missing))
        return self.ends_of(missing, interval).and_of(before) if missing else before

    def ends_of(self, tps: Sequence[TopicPartition], interval: Interval | None) -> Ends:
        """Where to read up to for the records before the interval's end; without one, up to the LSO."""
        if interval is None:
            return Ends({tp: max(self._start(tp), self._bounds(tp).last_stable) for tp in tps})
        timed = self.broker.offsets_for_time(tps, interval.end_ms)
        ends: dict[TopicPartition, int] = {}
        bent: dict[TopicPartition, Bent] = {}
        for tp in tps:
            start, bounds, first = self._start(tp), self._bounds(tp), partial(self._first_timestamp, tp)
            ends[tp], why = end_offset(start, bounds, timed[tp], interval.end_ms, self.now_ms, first)
            if why is not None:
                bent[tp] = why
        return Ends(ends, tuple(f"{tp}: {noted(why)}" for tp, why in bent.items()), frozenset(bent))

    def _start(self, tp: TopicPartition) -> int:
        return self.topics[tp.topic].positions[tp.partition]

    def _bounds(self, tp: TopicPartition) -> PartitionOffsets:
        return self.offsets[tp]

    def _first_timestamp(self, tp: TopicPartition) -> int | None:
        if tp not in self._first:
            self._first[tp] = self.broker.first_timestamp(tp, self._start(tp), self._bounds(tp).last_stable)
        return self._first[tp]
