"""Logs made by hand: entries put one after the other, with the objects that they list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.bucket import owners
from kafka_s3.bucket.folders import place_of
from kafka_s3.dead_letter import letters_layout, letters_name
from kafka_s3.log.entries import (
    Entry,
    Kind,
    ObjectEntry,
    Plan,
    PlannedRange,
    RangeEntry,
    RangeGap,
    Restart,
    RunPlan,
    TopicState,
    sha256_of,
)
from kafka_s3.log.plans import StoredPlan
from kafka_s3.log.store import Committed, Log, SlotTaken
from kafka_s3.naming import DataName, KeyLayout, LogLayout, format_data_key
from kafka_s3.ports import Put
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings
from tests.support import MINIMAL

Span = tuple[str, int, int, int]  # topic, partition, start, end


def settings_of(**more: str) -> Settings:
    """Settings that a plan's configuration can be read back to."""
    given = {**MINIMAL, **{name.replace("_", "."): value for name, value in more.items()}}
    return from_mapping(given, offline=True).settings


@dataclass
class HandMade:
    """A log over memory. Each method writes what a run, a rewind or a restart writes, and keeps the bucket's rules."""

    settings: Settings = field(default_factory=settings_of)
    store: MemoryStore = field(default_factory=MemoryStore)
    topics: dict[str, TopicState] = field(default_factory=dict)
    head: Committed | None = None
    folder: str = ""  # the encoded partition, where that is not partition=N

    @property
    def log(self) -> Log:
        return Log(self.store, LogLayout(self.settings.log_root, self.settings.name), self.settings.log_key)

    @property
    def seq(self) -> int:
        return 0 if self.head is None else self.head.entry.seq + 1

    def position(self, tp: TopicPartition) -> int:
        return self.topics[tp.topic].positions.get(tp.partition, 0)

    def begin(
        self, topics: Mapping[str, int], at: int = 0, *, kind: Kind = Kind.CHECKPOINT, generation: int = 0
    ) -> None:
        """The first sight of topics with that many partitions each."""
        for topic, count in topics.items():
            positions = dict.fromkeys(range(count), at)
            self.topics[topic] = TopicState(topic_id=f"id-of-{topic}", generation=generation, positions=positions)
        self.put(kind)

    def put(self, kind: Kind, **what: Any) -> Entry:
        """The next entry, with the positions as they are here."""
        entry = Entry(
            kind=kind,
            seq=self.seq,
            connector=self.settings.name,
            previous_sha256=None if self.head is None else self.head.sha256,
            cluster_id="cluster",
            engine="1",
            configuration_sha256=self.settings.configuration_sha256,
            isolation_level="read_committed",
            run_id=f"run-{self.seq}",
            try_number=1,
            topics=dict(self.topics),
            **what,
        )
        committed = self.log.put_entry(entry)
        assert not isinstance(committed, SlotTaken)
        self.head = committed
        return entry

    def plan(self, spans: Sequence[Span]) -> StoredPlan:
        """The plan in the next slot; its topics are claimed."""
        assert self.head is not None
        for topic in {span[0] for span in spans}:
            owners.claim(self.log, self.settings, topic)
        return self.log.put_plan(
            Plan(
                seq=self.seq,
                connector=self.settings.name,
                previous_sha256=self.head.sha256,
                engine="1",
                cluster_id="cluster",
                isolation_level="read_committed",
                configuration_sha256=self.settings.configuration_sha256,
                configuration=dict(self.settings.resolved),
                run=RunPlan(run_id=f"run-{self.seq}", interval=None, ends={}),
                interval=None,
                topics=dict(self.topics),
                ranges=tuple(PlannedRange(*span) for span in spans),
            )
        )

    def commit(self, spans: Sequence[Span], planned: StoredPlan | None = None, *, letters: bool = False) -> Entry:
        """Objects of every range, a record for each offset (or a dead letter for the first), and their entry."""
        planned = planned or self.plan(spans)
        ranges = tuple(self._range(span, letters=letters) for span in spans)
        for topic, partition, _, end in spans:
            self.move(TopicPartition(topic, partition), end)
        return self.put(Kind.COMMIT, plan_sha256=planned.sha256, ranges=ranges)

    def gap(self, span: Span) -> Entry:
        self.move(TopicPartition(*span[:2]), span[3])
        gap = RangeGap(topic=span[0], partition=span[1], start=span[2], end=span[3], reason="retention")
        return self.put(Kind.CHECKPOINT, gaps=(gap,))

    def rewind(self, tp: TopicPartition, to: int) -> Entry:
        return self._restart(Kind.REWIND, tp, to, withdrawn=True)

    def truncated(self, tp: TopicPartition, at: int) -> Entry:
        return self._restart(Kind.CHECKPOINT, tp, at, withdrawn=False)

    def recreated(self, topic: str) -> Entry:
        """Another topic of the same name and size: every partition at 0."""
        state = self.topics[topic]
        generation = state.generation + 1
        self.topics[topic] = TopicState(
            topic_id=f"{state.topic_id}x", generation=generation, positions=dict.fromkeys(state.positions, 0)
        )
        restarts = tuple(
            Restart(topic=topic, partition=p, generation=generation, position=0, withdrawn=False, reason="another id")
            for p in state.positions
        )
        return self.put(Kind.CHECKPOINT, restarts=restarts)

    def move(self, tp: TopicPartition, to: int) -> None:
        state = self.topics[tp.topic]
        positions = {**state.positions, tp.partition: to}
        self.topics[tp.topic] = TopicState(topic_id=state.topic_id, generation=state.generation, positions=positions)

    def key(self, tp: TopicPartition, offset: int, *, generation: int | None = None, **more: Any) -> str:
        """The key of the object that begins at an offset."""
        return format_data_key(self.settings.layout, self.name(tp, offset, generation=generation, **more))

    def name(self, tp: TopicPartition, offset: int, *, generation: int | None = None, **more: Any) -> DataName:
        of = self.topics[tp.topic].generation if generation is None else generation
        extension = sorted(place_of(self.settings).extensions, key=len)[0]
        what = {"encoded_partition": self.folder or f"partition={tp.partition}", "extension": extension, **more}
        return DataName(topic=tp.topic, partition=tp.partition, start_offset=offset, generation=of, **what)

    def letters_key(self, tp: TopicPartition, offset: int, *, generation: int | None = None) -> str:
        of = self.topics[tp.topic].generation if generation is None else generation
        layout = letters_layout(self.settings.log_root, self.settings.name)
        return format_data_key(layout, letters_name(tp, offset, of))

    def _restart(self, kind: Kind, tp: TopicPartition, at: int, *, withdrawn: bool) -> Entry:
        state = self.topics[tp.topic]
        generation = state.generation + 1
        self.topics[tp.topic] = TopicState(
            topic_id=state.topic_id, generation=generation, positions={**state.positions, tp.partition: at}
        )
        restart = Restart(
            topic=tp.topic, partition=tp.partition, generation=generation, position=at, withdrawn=withdrawn, reason="r"
        )
        return self.put(kind, restarts=(restart,))

    def _range(self, span: Span, *, letters: bool) -> RangeEntry:
        topic, partition, start, end = span
        tp = TopicPartition(topic, partition)
        first = start + letters
        records = end - first
        objects = (self._object(self.name(tp, first), self.settings.layout, first, end),) if records else ()
        letters_at = letters_layout(self.settings.log_root, self.settings.name)
        generation = self.topics[topic].generation
        bad = self._object(letters_name(tp, start, generation), letters_at, start, start + 1) if letters else None
        return RangeEntry(
            topic=topic,
            partition=partition,
            start=start,
            next_offset=end,
            records=records,
            bytes=records,
            rejected=int(letters),
            tombstones=0,
            skipped_offsets=0,
            leader_epoch=0,
            log_start=0,
            high_watermark=end,
            last_stable=end,
            objects=objects,
            dead_letters=bad,
        )

    def _object(self, name: DataName, layout: KeyLayout, first: int, end: int) -> ObjectEntry:
        """Put if absent; adopt the same bytes, else take the next free name."""
        body = self.body(first, end)
        while True:
            key = format_data_key(layout, name)
            if self.store.put_if_absent(key, body) is Put.CREATED or self.store.contents()[key] == body:
                break
            name = name.next_free()
        return ObjectEntry(
            key=key,
            size=len(body),
            sha256=sha256_of(body),
            records=end - first,
            first_offset=first,
            last_offset=end - 1,
            closed_by="end_of_range",
        )

    @staticmethod
    def body(first: int, end: int) -> bytes:
        """An object of these offsets, a line of JSON for each."""
        return b"".join(b'{"o": %d}\n' % offset for offset in range(first, end))
