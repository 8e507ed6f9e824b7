"""Plans and log entries: what they say. `documents` says how they are written.

Entries form a chain: each names the sha256 of the file before it.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from kafka_s3.bounds import Count, Key, Ms, Number, Offset, Seen, Seq, Sha256, TopicName
from kafka_s3.errors import LogDamaged
from kafka_s3.log.value_schema import ValueSchema
from kafka_s3.ranges import OffsetRange, TopicPartition

FORMAT_VERSION: Final = 1
#: Raised whenever the same plan may become other bytes: a new release that cannot finish an old one's plan says so.
BYTES_VERSION: Final = 1


class Kind(enum.StrEnum):
    """What an entry does. `checkpoint` moves no data: it writes down positions, at the first sight of a topic."""

    COMMIT = "commit"
    VOID = "void"
    CHECKPOINT = "checkpoint"
    ADOPT = "adopt"
    REWIND = "rewind"
    REPLACE = "replace"


class TopicState(msgspec.Struct, frozen=True, kw_only=True):
    """A topic as the log knows it: which one it is, and the position of every partition ever seen.

    `epochs`: a leader epoch of each partition that nothing below its position is newer than, where the broker says it.
    `reached`: up to which time each partition is exported, milliseconds since the epoch; `None` in an entry of a
    release that did not say. What follows from it is said by `progress` alone.
    `value_schema`: in a plan, what its values are written under; in an entry, what the next plan's begins with. `None`
    where none was inferred, and then documents do not name it.
    """

    topic_id: str
    generation: Number = 0
    owned: bool = False  # the owner object names this connector
    positions: dict[Number, Offset] = {}
    epochs: dict[Number, Seen] = {}
    reached: dict[Number, Ms] | None = None
    value_schema: ValueSchema | None = None

    @property
    def schema_text(self) -> str | None:
        return None if self.value_schema is None else self.value_schema.avro


class Interval(msgspec.Struct, frozen=True):
    """The logical time of a batch, `[start_ms, end_ms)`, milliseconds since the epoch."""

    start_ms: Ms
    end_ms: Ms


class PlannedRange(msgspec.Struct, frozen=True):
    """One Spark task's work. `interval`, its logical time, is set where it is not the plan's: in a range planned again,
    and under a plan without one, where it begins and ends when the plan was made.

    In the plan of a window that is exported again ranges of several generations may stand side by side: `live` is the
    number of the live log's entry that has the range; `is_copied`: its objects are copied, since Kafka no longer has
    the records.
    """

    topic: TopicName
    partition: Number
    start: Offset
    end: Offset
    interval: Interval | None = None
    generation: Number | None = None
    live: Seq | None = None
    is_copied: bool = False

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def offsets(self) -> OffsetRange:
        return OffsetRange(self.tp, self.start, self.end)


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The run that a plan belongs to.

    `ends`: by topic and partition, the offset up to which the whole run exports, in as many plans as its limits make of
    that. They are asked for once: later plans of the run, and its retries, go by what the first plan wrote down
    (`PinnedEnds`).
    """

    run_id: str
    interval: Interval | None
    ends: dict[TopicName, dict[Number, Seen]]

    def is_run(self, run_id: str, interval: Interval | None) -> bool:
        """Whether it is that run: where a connector moves to another DAG, that may have one of the same id."""
        return (self.run_id, self.interval) == (run_id, interval)


def noted_by_older_release(notes: Sequence[str], tp: TopicPartition) -> bool:
    """Whether the notes of a plan without `bent` say that a partition may be read beyond the interval's end.

    Releases that wrote no `bent` began the note of a partition with its name, and noted nothing else of one. Those
    plans are in buckets for good; the notes of today's are for people alone.
    """
    return any(note.startswith(f"{tp}: ") for note in notes)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The offset ranges that one commit will cover, and everything that shapes their bytes.

    `ends`: by topic and partition, the offset at which the partition has come to the end of the plan's interval: one
    whose position is there with the commit has reached it (`append.topics_after`). Of all partitions that the interval
    concerns, planned or not; empty where the interval was not over, or a topic could not be looked at. They differ
    from `run.ends` where the plan is for an earlier interval than its run's, which a run makes up for first.

    `bent`: the partitions that may be read beyond the interval's end all the same, whose notes say why; `None` in a
    plan of a release that did not say.
    """

    format_version: int = FORMAT_VERSION
    epoch: str | None = None  # of the log that it is in
    live_epoch: str | None = None  # in the plan of a window: of the live log that its ranges' `live` are entries of
    seq: Seq
    connector: str
    previous_sha256: str
    engine: str
    bytes_version: int = BYTES_VERSION
    cluster_id: str
    isolation_level: str
    configuration_sha256: str
    configuration: dict[str, str]
    run: RunPlan
    interval: Interval | None
    topics: dict[TopicName, TopicState]
    ranges: tuple[PlannedRange, ...]
    more: bool = False  # a limit left offsets of the same interval to the next plan
    notes: tuple[str, ...] = ()
    ends: dict[TopicName, dict[Number, Seen]] = {}
    bent: dict[TopicName, tuple[Number, ...]] | None = None

    def may_pass_its_end(self, tp: TopicPartition) -> bool:
        """Whether its ranges of a partition may hold records that are not older than the end of its interval."""
        if self.bent is None:
            return noted_by_older_release(self.notes, tp)
        return tp.partition in self.bent.get(tp.topic, ())

    def check_follows(self, head: Entry) -> None:
        """Raise `LogDamaged` unless the ranges of each partition begin at the position and leave no gap."""
        position = {
            TopicPartition(topic, p): at for topic, state in self.topics.items() for p, at in state.positions.items()
        }
        for planned in sorted(self.ranges, key=lambda planned: (planned.tp, planned.start)):
            if position.get(planned.tp) != planned.start or planned.end <= planned.start:
                raise LogDamaged(
                    f"Plan {self.seq} has a range {planned.tp} [{planned.start}, {planned.end}) where "
                    f"{position.get(planned.tp)} was the next offset."
                )
            position[planned.tp] = planned.end
        for topic, state in head.topics.items():
            planned_state = self.topics.get(topic)
            if planned_state is None or state.positions.items() - planned_state.positions.items():
                raise LogDamaged(f"Plan {self.seq} has other positions for topic {topic} than entry {head.seq}.")


class Companion(msgspec.Struct, frozen=True, kw_only=True):
    """An object beside another, with the same records: `what` is keys, headers or index."""

    what: str
    key: Key
    size: Count
    sha256: Sha256


class ObjectEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One object of a commit."""

    key: Key
    size: Count
    sha256: Sha256
    records: Count
    first_offset: Offset
    last_offset: Offset
    # Of its records, where the configuration looks at timestamps and every record has one: what is copied into a window
    # by them must not hold a record of no time.
    min_timestamp_ms: Ms | None = None
    max_timestamp_ms: Ms | None = None
    closed_by: str
    schema_id: int | None = None  # the registry's, of what its values are written under
    companions: tuple[Companion, ...] = ()


class Refusal(msgspec.Struct, frozen=True):
    """How many records of a range were rejected at one stage for one reason."""

    stage: str
    reason: str
    records: Count


class RangeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one range: every offset of `[start, next_offset)` is in exactly one of the counts.

    `refusals`: the commonest reasons for which records were rejected, a few at most, the commonest first.

    `min_timestamp_ms`, `max_timestamp_ms`: of all its records, bad ones and tombstones too, where the configuration
    looks at timestamps; `None` too where no record has one.
    """

    topic: TopicName
    partition: Number
    start: Offset
    next_offset: Offset
    records: Count
    bytes: Count
    rejected: Count
    tombstones: Count
    skipped_offsets: Count
    tombstones_written: Count = 0  # among the records: their keys are in objects (behavior.on.null.values=write)
    filtered: Count = 0  # that transforms dropped
    outside: Count = 0  # records that are not in the window, where a window is exported again
    min_timestamp_ms: Ms | None = None
    max_timestamp_ms: Ms | None = None
    leader_epoch: Seen | None
    log_start: Seen
    high_watermark: Seen
    last_stable: Seen
    interval: Interval | None = None
    objects: tuple[ObjectEntry, ...] = ()
    dead_letters: ObjectEntry | None = None  # the rejected ones in full, where bad records are tolerated
    refusals: tuple[Refusal, ...] = ()

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def check_accounting(self) -> None:
        """Raise `LogDamaged` unless every offset is accounted for, and the objects hold what is counted."""
        left_out = self.rejected + self.tombstones + self.filtered + self.skipped_offsets + self.outside
        counted = self.records + left_out
        if counted != self.next_offset - self.start:
            raise LogDamaged(
                f"{self.tp} [{self.start}, {self.next_offset}): {self.next_offset - self.start} offsets, but "
                f"{self.records} records in objects + {self.rejected} rejected + {self.tombstones} tombstones + "
                f"{self.filtered} dropped by transforms + "
                f"{self.skipped_offsets} offsets without a record + {self.outside} outside the window = {counted}."
            )
        letters = self.dead_letters.records if self.dead_letters is not None else None
        if letters is not None and not self.rejected <= letters <= self.rejected + self.tombstones:
            raise LogDamaged(
                f"{self.tp} [{self.start}, …): {letters} dead letters for {self.rejected} rejected records."
            )
        refused = sum(refusal.records for refusal in self.refusals)
        if refused > self.rejected:
            raise LogDamaged(f"{self.tp} [{self.start}, …): reasons for {refused} records, {self.rejected} rejected.")
        in_objects = sum(entry.records for entry in self.objects)
        if in_objects != self.records:
            raise LogDamaged(f"{self.tp} [{self.start}, …): {in_objects} records in objects, {self.records} counted.")


class Stop(enum.StrEnum):
    """What stopped a range, where that says what can be done about it."""

    BAD_RECORD = "bad_record"  # one that may not be skipped
    TOO_MANY_BAD = "too_many_bad"  # more than export.errors.fraction.max
    OTHER = "other"


class FailedRange(msgspec.Struct, frozen=True, kw_only=True):
    """A planned range, or the rest of one, that this commit does not hold, and why."""

    topic: TopicName
    partition: Number
    start: Offset
    end: Offset
    reason: str
    interval: Interval | None = None
    stop: Stop = Stop.OTHER

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class RangeGap(msgspec.Struct, frozen=True, kw_only=True):
    """Offsets `[start, end)` that were lost before they were exported, where the user allows that."""

    topic: TopicName
    partition: Number
    start: Offset
    end: Offset
    reason: str

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """A partition whose offsets go on from `position`, which may be lower than before, under a new generation.

    `withdrawn`: it was rewound. What was exported of it from `position` on is part of the export no longer, back to
    the restart before that was none of this kind. Otherwise all of it stays: it is of a log that Kafka no longer has.
    """

    topic: TopicName
    partition: Number
    generation: Number
    position: Offset
    withdrawn: bool
    reason: str

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the log. The newest one alone is the state of the export."""

    format_version: int = FORMAT_VERSION
    epoch: str | None = None  # of the log that it is in
    kind: Kind
    seq: Seq
    connector: str
    previous_sha256: str | None
    cluster_id: str
    engine: str
    configuration_sha256: str
    isolation_level: str
    run_id: str
    try_number: Number
    spark_application: str | None = None
    plan_sha256: str | None = None
    interval: Interval | None = None  # the logical time of what this entry itself commits
    boundary_ms: Ms | None = None  # carried: up to here, schedule boundaries need no batch of their own any more
    unfinished: Interval | None = None  # carried: limits left offsets of this interval to the next batch
    bytes_per_record: Count | None = None  # carried: in the newest commit before that held records
    topics: dict[TopicName, TopicState]
    ranges: tuple[RangeEntry, ...] = ()
    failed: tuple[FailedRange, ...] = ()
    gaps: tuple[RangeGap, ...] = ()
    restarts: tuple[Restart, ...] = ()
    reason: str | None = None

    def last_boundary_ms(self, now_ms: int) -> int | None:
        """`boundary_ms`, or `None` where it lies in the future: a clock was wrong, or an interval was not over, and
        what was committed for that says nothing of the time until then."""
        return None if self.boundary_ms is None or self.boundary_ms > now_ms else self.boundary_ms

    def position(self, tp: TopicPartition) -> int | None:
        """The next offset to export of a topic-partition, or `None` if it was never seen."""
        topic = self.topics.get(tp.topic)
        return None if topic is None else topic.positions.get(tp.partition)


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """Who may write the data keys of a topic."""

    format_version: int = FORMAT_VERSION
    connector: str
    log: str


class Epoch(msgspec.Struct, frozen=True, kw_only=True):
    """A claim: from now on this is the connector's log, and none that was begun before (docs/protocol.md#epochs).

    The claim with the highest number counts. It is made by the first entry's writer, once that entry is there.
    """

    format_version: int = FORMAT_VERSION
    connector: str
    number: Seq
    id: str  # what the keys of all that is of this log have in them
    first_sha256: Sha256  # of the file of its entry 0
    run_id: str


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def to_builtins(document: Plan | Entry) -> dict[str, Any]:
    """The document as plain values, for `--json` output and events."""
    built = msgspec.to_builtins(document, str_keys=True)
    assert isinstance(built, dict)
    for state in built["topics"].values():
        if state["value_schema"] is None:
            del state["value_schema"]
    return built
