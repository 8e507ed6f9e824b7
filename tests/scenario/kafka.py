"""Kafka with a memory: what every record was, where it stood, and what became of it there.

Each record has a number of its own in its value, its key and its header. Offsets say nothing: a log that was
truncated, or a topic that was created again, has other records at the same ones.
"""

from __future__ import annotations

import enum
import itertools
import json
from dataclasses import dataclass, field

from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.ports import PartitionOffsets
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record

TOPICS = ("orders", "returns")
BAD = b"oops"  # no JSON


class Sort(enum.Enum):
    PLAIN = "plain"
    TOMBSTONE = "tombstone"
    BAD = "bad"


class Gone(enum.Enum):
    """Why a record is in Kafka no longer."""

    COMPACTED = "compacted"
    EXPIRED = "below the log start"
    TRUNCATED = "lost with its leader"
    DELETED = "deleted with its topic"


@dataclass
class Fact:
    """A record that was produced. `epoch`: the leader epoch it was written under."""

    number: int
    sort: Sort
    topic_id: str
    tp: TopicPartition
    offset: int
    epoch: int
    timestamp_ms: int
    gone: Gone | None = None

    @property
    def key(self) -> bytes:
        return b"%d" % self.number


@dataclass(frozen=True)
class Moment:
    """What stood in every log at one moment, as far as it could be read: timestamps, and records that can be seen."""

    dated: dict[TopicPartition, list[tuple[int, Fact | None]]]

    def due(self, tp: TopicPartition, until_ms: int) -> list[Fact]:
        """The records before a time: what stands in front of the first one of that time or later."""
        before = itertools.takewhile(lambda each: each[0] < until_ms, self.dated.get(tp, []))
        return [fact for _, fact in before if fact is not None]


@dataclass
class Kafka:
    """A cluster of a few topics, and the truth about it."""

    broker: MemoryBroker = field(default_factory=lambda: MemoryBroker(batch_records=3))
    facts: list[Fact] = field(default_factory=list)  # by number
    partitions: dict[str, int] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)
    now: dict[TopicPartition, list[Fact]] = field(default_factory=dict)  # of the log as it is, offsets ascending
    compacted: bool = False

    def create(self, topic: str, partitions: int) -> None:
        self.broker.create_topic(topic, partitions)
        self.partitions[topic] = partitions
        self.topic_ids[topic] = self.broker._topics[topic].topic_id
        for partition in range(partitions):
            self.now.setdefault(TopicPartition(topic, partition), [])

    def delete(self, topic: str) -> None:
        """Its name is known from then on, so that it can be created again."""
        self.broker.delete_topic(topic)
        del self.topic_ids[topic]
        for tp in self.all_partitions(topic):
            self._lose(tp, self.now.pop(tp), Gone.DELETED)

    def exists(self, topic: str) -> bool:
        return topic in self.topic_ids

    def all_partitions(self, topic: str) -> list[TopicPartition]:
        return [tp for tp in self.now if tp.topic == topic]

    def view(self, tp: TopicPartition) -> PartitionOffsets:
        state = self.broker._partition(tp)
        return PartitionOffsets(state.log_start, state.end, state.high_watermark, state.leader_epoch)

    def produce(self, tp: TopicPartition, sort: Sort, timestamp_ms: int) -> Fact:
        view = self.view(tp)
        assert view.leader_epoch is not None
        number, at = len(self.facts), view.high_watermark
        fact = Fact(number, sort, self.topic_ids[tp.topic], tp, at, view.leader_epoch, timestamp_ms)
        value = {
            Sort.PLAIN: json.dumps({"o": fact.offset, "u": fact.number}).encode(),
            Sort.TOMBSTONE: None,
            Sort.BAD: BAD,
        }[sort]
        self.facts.append(fact)
        self.now[tp].append(fact)
        record = Record(fact.offset, value, fact.key, timestamp_ms, (("h", fact.key),))
        self.broker.append(tp.topic, tp.partition, record)
        return fact

    def holes(self, tp: TopicPartition, count: int, timestamp_ms: int | None) -> None:
        """Markers of transactions, or aborted records."""
        self.broker.append_holes(tp.topic, tp.partition, count, timestamp_ms=timestamp_ms)

    def moment(self) -> Moment:
        dated = {}
        for tp, facts in self.now.items():
            state = self.broker._topics[tp.topic].partitions[tp.partition]  # one without a leader too
            there = [(fact.offset, fact.timestamp_ms, fact) for fact in facts if fact.gone is None]
            all_of_it = [*there, *((at, stamp, None) for at, stamp in state.hidden.items() if at >= state.log_start)]
            ordered = sorted(all_of_it, key=lambda each: each[0])
            dated[tp] = [(stamp, fact) for offset, stamp, fact in ordered if offset < state.end]
        return Moment(dated)

    def compact(self, tp: TopicPartition, which: int) -> None:
        """One record vanishes from the middle of the log."""
        held = [fact for fact in self.now[tp] if fact.gone is None]
        if not held:
            return
        self.compacted = True
        fact = held[which % len(held)]
        fact.gone = Gone.COMPACTED
        state = self.broker._partition(tp)
        state.records = [record for record in state.records if record.offset != fact.offset]

    def expire(self, tp: TopicPartition, offsets: int) -> None:
        """Retention, or DeleteRecords."""
        view = self.view(tp)
        start = min(view.log_start + offsets, view.high_watermark)
        self.broker.set_log_start(tp.topic, tp.partition, start)
        self._lose(tp, [fact for fact in self.now[tp] if fact.offset < start], Gone.EXPIRED)

    def truncate(self, tp: TopicPartition, offsets: int) -> None:
        """An unclean election: the new leader lacks the last offsets."""
        view = self.view(tp)
        end = max(view.log_start, view.high_watermark - offsets)
        self.broker.truncate(tp.topic, tp.partition, end)
        self._lose(tp, [fact for fact in self.now[tp] if fact.offset >= end], Gone.TRUNCATED)
        self.now[tp] = [fact for fact in self.now[tp] if fact.offset < end]

    def elect(self, tp: TopicPartition) -> None:
        self.broker.elect(tp.topic, tp.partition)

    def begin_transaction(self, tp: TopicPartition) -> None:
        """Open until `end_transactions`: nothing behind it can be read."""
        view = self.view(tp)
        if view.last_stable == view.high_watermark:
            self.broker.set_last_stable(tp.topic, tp.partition, view.high_watermark)

    def end_transactions(self) -> None:
        for tp in self.now:
            self.broker.set_last_stable(tp.topic, tp.partition, None)

    @staticmethod
    def _lose(tp: TopicPartition, facts: list[Fact], why: Gone) -> None:
        for fact in facts:
            fact.gone = fact.gone or why
