"""What is so: Kafka with a memory, and what a claim about a time has to hold, said without the engine."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_s3.ranges import TopicPartition
from tests.scenario.kafka import Fact, Gone, Kafka, Sort


@dataclass(frozen=True)
class State:
    """The export as of one log entry: what a reader of the log finds."""

    seq: int
    live: dict[int, str]  # record -> the object it is in
    positions: dict[TopicPartition, int]
    topic_ids: dict[str, str]
    lost: dict[TopicPartition, tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class Snapshot:
    """Kafka at one moment: offset, timestamp and record of all that stands there, and what of it can be read."""

    dated: dict[TopicPartition, list[tuple[int, int, Fact | None]]]
    last_stable: dict[TopicPartition, int]

    def due(self, until_ms: int, since_ms: int | None = None) -> list[Fact]:
        """The records before a time that could be read then: those of each partition that stand in front of the first
        one of that time or later; of these, the ones dated at or after `since_ms`."""
        found: list[Fact] = []
        for tp, dated in self.dated.items():
            for offset, stamp, fact in dated:
                if stamp >= until_ms or offset >= self.last_stable[tp]:
                    break
                if fact is not None and (since_ms is None or stamp >= since_ms):
                    found.append(fact)
        return found


@dataclass
class Truth(Kafka):
    """`stamps`: the timestamp of each record, by its number."""

    stamps: dict[int, int] = field(default_factory=dict)
    down: set[TopicPartition] = field(default_factory=set)
    sides: bool = False

    def produce(self, tp: TopicPartition, sort: Sort, timestamp_ms: int) -> Fact:
        with self._up(tp):
            fact = super().produce(tp, sort, timestamp_ms)
        self.stamps[fact.number] = timestamp_ms
        return fact

    def lead(self, tp: TopicPartition, *, up: bool) -> None:
        self.broker.lead(tp.topic, tp.partition, up=up)
        (self.down.discard if up else self.down.add)(tp)

    def delete(self, topic: str) -> None:
        super().delete(topic)
        self.down = {tp for tp in self.down if tp.topic != topic}

    def end_transactions(self) -> None:
        for tp in self.now:
            self.broker._topics[tp.topic].partitions[tp.partition].last_stable = None

    def last_stable(self, tp: TopicPartition) -> int:
        return self.broker._topics[tp.topic].partitions[tp.partition].end

    def dated(self, tp: TopicPartition) -> list[tuple[int, int, Fact | None]]:
        """Offset, timestamp and record of all that stands in a log now; aborted ones have no record."""
        hidden = self.broker._topics[tp.topic].partitions[tp.partition].hidden
        there = [(fact.offset, self.stamps[fact.number], fact) for fact in self.now[tp] if fact.gone is None]
        return sorted([*there, *((at, stamp, None) for at, stamp in hidden.items())], key=lambda each: each[0])

    def snapshot(self) -> Snapshot:
        return Snapshot({tp: self.dated(tp) for tp in self.now}, {tp: self.last_stable(tp) for tp in self.now})

    def view_end(self, tp: TopicPartition) -> int:
        return self.broker._topics[tp.topic].partitions[tp.partition].high_watermark

    def waiting(self, tp: TopicPartition, position: int) -> list[Fact]:
        """What could be read from a position on."""
        return [
            fact for offset, _, fact in self.dated(tp) if fact is not None and position <= offset < self.last_stable(tp)
        ]

    def missing(self, facts: list[Fact], state: State) -> list[Fact]:
        """Those records that the export neither holds nor calls lost, though they were there to be exported."""
        return [fact for fact in facts if not self._is_settled(fact, state)]

    def _is_settled(self, fact: Fact, state: State) -> bool:
        if fact.number in state.live or fact.gone in (Gone.COMPACTED, Gone.TRUNCATED, Gone.DELETED):
            return True
        if fact.gone is not None and fact.topic_id != self.topic_ids.get(fact.tp.topic):
            return True  # expired, and then its topic was deleted: no gap can say so any more
        if any(start <= fact.offset < end for start, end in state.lost.get(fact.tp, ())):
            return True
        if state.topic_ids.get(fact.tp.topic) != fact.topic_id:
            return fact.gone is not None  # it went before its topic did, which an entry says to have begun again
        is_passed = fact.offset < state.positions.get(fact.tp, 0)
        return fact.sort is Sort.TOMBSTONE and not self.sides and is_passed

    def _up(self, tp: TopicPartition):  # type: ignore[no-untyped-def]
        """The memory broker answers nothing about a partition without a leader, not even to a test."""
        import contextlib

        @contextlib.contextmanager
        def up():  # type: ignore[no-untyped-def]
            was_down = tp in self.down
            if was_down:
                self.broker.lead(tp.topic, tp.partition, up=True)
            yield
            if was_down:
                self.broker.lead(tp.topic, tp.partition, up=False)

        return up()
