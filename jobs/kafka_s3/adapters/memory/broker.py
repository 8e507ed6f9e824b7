"""A Kafka cluster in memory, as a read_committed consumer sees it."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kafka_s3.errors import DataLoss, KafkaUnavailable, TopicMissing
from kafka_s3.ports import GroupOffsets, LogPoint, PartitionOffsets, TimedOffset, TopicView, topic_identity
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.records import ColumnBatch, Record, RecordBatch

BATCH_RECORDS: Final = 500
RETENTION_MS: Final = 7 * 24 * 3_600_000  # as Kafka has it
_INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


@dataclass(slots=True)
class _Partition:
    """`records`: what a reader may see, offsets ascending. `hidden`: timestamps of what it may not, by offset."""

    records: list[Record] = field(default_factory=list)
    hidden: dict[int, int] = field(default_factory=dict)
    log_start: int = 0
    high_watermark: int = 0
    last_stable: int | None = None  # None: it follows the high watermark
    has_leader: bool = True
    epochs: dict[int, int] = field(default_factory=lambda: {0: 0})  # where each leader epoch began

    @property
    def leader_epoch(self) -> int:
        return max(self.epochs)

    def divergence(self, point: LogPoint) -> int | None:
        """Where the log parts from what it was, by the end of the point's epoch, as OffsetForLeaderEpoch says it."""
        if point.offset > 0 and point.epoch > self.leader_epoch:  # nothing shows that a record is the same
            return self.log_start if self.log_start < point.offset else None
        later = [start for epoch, start in self.epochs.items() if epoch > point.epoch]
        end = min(later, default=self.high_watermark)
        return end if end < point.offset else None

    @property
    def end(self) -> int:
        return self.high_watermark if self.last_stable is None else self.last_stable

    def visible(self, start: int, end: int, *, uncommitted: bool = False) -> Iterator[Record]:
        low, high = max(start, self.log_start), min(end, self.high_watermark if uncommitted else self.end)
        return (record for record in self.records if low <= record.offset < high)


@dataclass(slots=True)
class _Topic:
    topic_id: str
    partitions: list[_Partition]
    retention_ms: int | None = RETENTION_MS
    is_described: bool = True
    cleanup: frozenset[str] | None = None  # None: this client has no right to know


class MemoryBroker:
    """A `Broker` and a `RecordSource`. Topics are made, filled and damaged by the methods below; thread-safe.

    `topics`, `topics_regex`: the configured ones; without either every topic is. `batch_records`: a reader's batches
    hold at most so many records.
    `requests` logs every request by name: `topics`, `offsets`, `offsets_for_time`, `first_timestamp`, `diverged`,
    `committed`, `retention_ms`, `cleanup_policies`, `open`, `read` (one for each batch asked for).
    """

    def __init__(
        self,
        *,
        topics: Sequence[str] | None = None,
        topics_regex: str | None = None,
        cluster_id: str = "memory",
        batch_records: int = BATCH_RECORDS,
    ) -> None:
        assert batch_records > 0
        self.requests: list[str] = []
        self.batch_records = batch_records
        self.readers_open = 0
        self._cluster_id = cluster_id
        self._names = topics
        self._regex = topics_regex
        self._ids = itertools.count(1)
        self._topics: dict[str, _Topic] = {}
        self._groups: dict[str, GroupOffsets] = {}
        self._failures: dict[str, list[Exception | None]] = {}
        self._lock = threading.RLock()

    # What happens in Kafka.

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Create a topic, or add partitions to it; its topic id stays."""
        with self._lock:
            topic = self._topics.setdefault(name, _Topic(f"{name}-id-{next(self._ids)}", []))
            assert len(topic.partitions) <= partitions, f"{name}: a topic's partitions are never fewer"
            topic.partitions.extend(_Partition() for _ in range(partitions - len(topic.partitions)))

    def delete_topic(self, name: str) -> None:
        with self._lock:
            del self._topics[name]

    def recreate_topic(self, name: str) -> None:
        """The same name with another topic id, empty: offsets start again."""
        partitions = len(self._topics[name].partitions)
        self.delete_topic(name)
        self.create_topic(name, partitions)

    def append(self, topic: str, partition: int, *records: Record) -> None:
        """Append records; offsets left out between them are holes (as compaction leaves them)."""
        with self._lock:
            state = self._partition(TopicPartition(topic, partition))
            for record in records:
                assert record.offset >= state.high_watermark, f"{topic}-{partition}: offset {record.offset} again"
                state.records.append(record)
                state.high_watermark = record.offset + 1

    def append_holes(self, topic: str, partition: int, count: int = 1, *, timestamp_ms: int | None = None) -> None:
        """Append offsets without a visible record: control markers, or aborted records, which have a timestamp."""
        with self._lock:
            state = self._partition(TopicPartition(topic, partition))
            if timestamp_ms is not None:
                state.hidden |= dict.fromkeys(range(state.high_watermark, state.high_watermark + count), timestamp_ms)
            state.high_watermark += count

    def set_retention(self, topic: str, retention_ms: int | None, *, is_described: bool = True) -> None:
        """For how long records are kept; not `is_described`: this client has no right to know."""
        with self._lock:
            self._topics[topic].retention_ms = retention_ms
            self._topics[topic].is_described = is_described

    def set_cleanup(self, topic: str, *policies: str) -> None:
        """The topic's cleanup.policy; until it is set, this client has no right to know it."""
        with self._lock:
            self._topics[topic].cleanup = frozenset(policies)

    def compact(self, topic: str, partition: int, offset: int) -> None:
        """The log cleaner: the record at `offset` is gone, and its offset is a hole."""
        with self._lock:
            state = self._partition(TopicPartition(topic, partition))
            state.records = [record for record in state.records if record.offset != offset]

    def set_log_start(self, topic: str, partition: int, offset: int) -> None:
        """Retention or DeleteRecords: what is below `offset` is gone."""
        with self._lock:
            state = self._partition(TopicPartition(topic, partition))
            state.log_start = offset
            state.high_watermark = max(state.high_watermark, offset)

    def set_last_stable(self, topic: str, partition: int, offset: int | None) -> None:
        """An open transaction holds the LSO at `offset`; `None` ends it: the LSO is the high watermark again."""
        with self._lock:
            self._partition(TopicPartition(topic, partition)).last_stable = offset

    def truncate(self, topic: str, partition: int, offset: int) -> None:
        """An unclean leader election: what is at or above `offset` is gone, and the leader epoch rises."""
        with self._lock:
            state = self._partition(TopicPartition(topic, partition))
            state.records = [record for record in state.records if record.offset < offset]
            state.hidden = {at: timestamp for at, timestamp in state.hidden.items() if at < offset}
            state.high_watermark = offset
            state.last_stable = None if state.last_stable is None else min(state.last_stable, offset)
            self._elect(state)

    def elect(self, topic: str, partition: int) -> None:
        """Another leader that has all of the log: the leader epoch rises, no record is lost."""
        with self._lock:
            self._elect(self._partition(TopicPartition(topic, partition)))

    def lead(self, topic: str, partition: int, *, up: bool) -> None:
        """Its only replica is down, or up again; meanwhile it can be neither asked about nor read."""
        with self._lock:
            self._topics[topic].partitions[partition].has_leader = up

    @staticmethod
    def _elect(state: _Partition) -> None:
        newest = state.leader_epoch + 1
        kept = {epoch: start for epoch, start in state.epochs.items() if start < state.high_watermark}
        state.epochs = {**kept, newest: state.high_watermark}

    def set_group(self, group: str, offsets: Mapping[TopicPartition, int], *, members: int = 0) -> None:
        """A consumer group that has committed these offsets and has so many members."""
        with self._lock:
            self._groups[group] = GroupOffsets(members, dict(offsets))

    def fail_next(self, operation: str, error: Exception, *, skip: int = 0) -> None:
        """The next request of that name (see the class) fails, once, after `skip` that do not; calls queue up."""
        with self._lock:
            self._failures.setdefault(operation, []).extend([*[None] * skip, error])

    # Broker.

    def cluster_id(self) -> str:
        return self._cluster_id

    def topics(self) -> Mapping[str, TopicView]:
        with self._lock:
            self._request("topics")
            return {
                name: TopicView(
                    name,
                    topic_identity(topic.topic_id, self._cluster_id),
                    tuple(range(len(topic.partitions))),
                    frozenset(p for p, state in enumerate(topic.partitions) if not state.has_leader),
                )
                for name, topic in self._topics.items()
                if self._is_configured(name)
            }

    def offsets(self, tps: Iterable[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]:
        with self._lock:
            self._request("offsets")
            states = {tp: self._partition(tp) for tp in tps}
            return {
                tp: PartitionOffsets(state.log_start, state.end, state.high_watermark, state.leader_epoch)
                for tp, state in states.items()
            }

    def offsets_for_time(
        self, tps: Iterable[TopicPartition], timestamp_ms: int
    ) -> Mapping[TopicPartition, TimedOffset | None]:
        """As a real broker: hidden records are found too, and a match at or above the LSO is no match."""
        with self._lock:
            self._request("offsets_for_time")
            return {tp: self._offset_for_time(self._partition(tp), timestamp_ms) for tp in tps}

    def first_timestamp(self, tp: TopicPartition, start: int, end: int, *, uncommitted: bool = False) -> int | None:
        with self._lock:
            self._request("first_timestamp")
            state = self._partition(tp)
            if start < state.log_start:
                raise DataLoss(f"{tp}: offset {start} is gone; the log is [{state.log_start}, {state.high_watermark}).")
            first = next(state.visible(start, end, uncommitted=uncommitted), None)
            if first is None:
                return None
            return -1 if first.timestamp_ms is None else first.timestamp_ms

    def diverged(self, points: Mapping[TopicPartition, LogPoint]) -> Mapping[TopicPartition, int]:
        with self._lock:
            self._request("diverged")
            found = {tp: self._partition(tp).divergence(point) for tp, point in points.items()}
            return {tp: offset for tp, offset in found.items() if offset is not None}

    def committed(self, group: str, tps: Iterable[TopicPartition]) -> GroupOffsets:
        with self._lock:
            self._request("committed")
            found = self._groups.get(group, GroupOffsets(0, {}))
            return GroupOffsets(found.members, {tp: found.offsets[tp] for tp in tps if tp in found.offsets})

    def retention_ms(self, topics: Iterable[str]) -> Mapping[str, int | None]:
        with self._lock:
            self._request("retention_ms")
            found = {name: self._topics[name] for name in topics if name in self._topics}
            return {name: topic.retention_ms for name, topic in found.items() if topic.is_described}

    def cleanup_policies(self, topics: Iterable[str]) -> Mapping[str, frozenset[str]]:
        with self._lock:
            self._request("cleanup_policies")
            found = {name: self._topics[name] for name in topics if name in self._topics}
            return {name: topic.cleanup for name, topic in found.items() if topic.cleanup is not None}

    # RecordSource.

    def open(self, offsets: OffsetRange) -> MemoryReader:
        with self._lock:
            self._request("open")
            self.readers_open += 1
            return MemoryReader(self, offsets)

    def _is_configured(self, name: str) -> bool:
        if self._regex is not None:
            return name not in _INTERNAL and re.fullmatch(self._regex, name) is not None
        return self._names is None or name in self._names

    @staticmethod
    def _offset_for_time(state: _Partition, timestamp_ms: int) -> TimedOffset | None:
        stamps = {record.offset: record.timestamp_ms for record in state.records} | state.hidden
        for offset in sorted(stamps):
            stamp = stamps[offset]
            if offset >= state.log_start and stamp is not None and stamp >= timestamp_ms:
                return TimedOffset(offset, stamp) if offset < state.end else None
        return None

    def _partition(self, tp: TopicPartition) -> _Partition:
        topic = self._topics.get(tp.topic)
        if topic is None:
            raise TopicMissing(f"The topic {tp.topic!r} does not exist.")
        if tp.partition >= len(topic.partitions):
            raise TopicMissing(f"{tp} does not exist: {tp.topic!r} has {len(topic.partitions)} partitions.")
        if not topic.partitions[tp.partition].has_leader:
            raise KafkaUnavailable(f"{tp} has no leader.")
        return topic.partitions[tp.partition]

    def _request(self, operation: str) -> None:
        self.requests.append(operation)
        queue = self._failures.get(operation)
        error = queue.pop(0) if queue else None
        if error:
            raise error


class MemoryReader:
    """A `RangeReader` over a `MemoryBroker`.

    Like a real consumer it knows a topic by its name alone: records of a recreated topic come without any error.
    """

    def __init__(self, broker: MemoryBroker, offsets: OffsetRange) -> None:
        self._broker = broker
        self._range = offsets
        self._position = offsets.start
        self._leader_epoch: int | None = None
        self._closed = False

    def __iter__(self) -> Iterator[RecordBatch]:
        assert not self._closed, f"{self._range}: closed"
        assert self._position == self._range.start, f"{self._range}: read once"
        while self._position < self._range.end:
            records = self._read()
            if records:
                yield ColumnBatch(self._range.tp, records)

    @property
    def leader_epoch(self) -> int | None:
        return self._leader_epoch

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with self._broker._lock:
                self._broker.readers_open -= 1

    def _partition(self) -> _Partition:
        try:
            return self._broker._partition(self._range.tp)
        except TopicMissing as error:
            raise DataLoss(f"{self._range}: {error.what}", next="Was it deleted?") from None

    def _read(self) -> list[Record]:
        """The next records of the range; moves the position."""
        broker, end = self._broker, self._range.end
        with broker._lock:
            broker._request("read")
            state = self._partition()
            if not state.log_start <= self._position <= state.high_watermark:
                what = f"{self._range}: offset {self._position} is gone"
                raise DataLoss(f"{what}; the log is [{state.log_start}, {state.high_watermark}).")
            # As a consumer does: what is past the end comes along, and shows that the end was reached.
            fetched = list(itertools.islice(state.visible(self._position, state.end), broker.batch_records))
            if not fetched and state.end < end:
                what = f"{self._range}: no record or end of partition at or past {end};"
                raise KafkaUnavailable(f"{what} the partition can be read up to {state.end}.")
            reached = fetched[-1].offset + 1 if fetched else state.end
        records = [record for record in fetched if record.offset < end]
        if records:
            self._leader_epoch = state.leader_epoch
        self._position = reached
        return records
