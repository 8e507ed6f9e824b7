"""Positions set by hand. A new entry says so; nothing edits one, and nothing that was written is deleted.

A rewind lowers the position of a partition to the start of a range that was committed, and withdraws what was
exported from there on: readers of the log skip those ranges, and the next run exports their offsets again under a
new generation, whose keys are others. To accept is to go on in spite of what Kafka lost, cut off or began anew, as
`export.on.data.loss` and `export.on.topic.recreated` would let every run do.

Both take the slot of the next entry: a run at work loses it, and stops without having committed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from kafka_s3.errors import ConfigurationError, Fenced, LogMissing, Problem
from kafka_s3.events import Tell
from kafka_s3.export.append import EntrySlot, entry, put
from kafka_s3.export.checkpoints import accept
from kafka_s3.export.exporter import Exporter
from kafka_s3.log.entries import Entry, Kind, RangeEntry, Restart, TopicState
from kafka_s3.log.plans import OpenPlan
from kafka_s3.log.store import Committed, Log
from kafka_s3.plan.anomalies import Anomaly, ExcludedPartition
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.planner import KafkaSnapshot, failed_under, observe
from kafka_s3.ranges import TopicPartition

_TARGET: Final = re.compile(r"([A-Za-z0-9._-]+)-(\d{1,9})=(\d{1,18})", re.ASCII)


def parse_target(text: str) -> tuple[TopicPartition, int] | None:
    """
    >>> parse_target("orders-0=1200"), parse_target("orders=1200")
    ((TopicPartition(topic='orders', partition=0), 1200), None)
    """
    match = _TARGET.fullmatch(text)
    return None if match is None else (TopicPartition(match[1], int(match[2])), int(match[3]))


@dataclass(frozen=True, slots=True)
class Move:
    """One partition's rewind: from where to where, and the ranges that it withdraws, the newest first."""

    tp: TopicPartition
    asked: int
    before: int
    position: int
    withdrawn: tuple[RangeEntry, ...]

    @property
    def records(self) -> int:
        return sum(done.records for done in self.withdrawn)

    @property
    def keys(self) -> list[str]:
        """The objects that readers of the log skip from now on, companions included."""
        made = [each for done in self.withdrawn for each in done.objects]
        return sorted(key for each in made for key in (each.key, *(beside.key for beside in each.companions)))


@dataclass(frozen=True, slots=True)
class Found:
    """What a rewind would do. `closes`: a plan that is open, which it ends."""

    log: Log
    head: Committed
    closes: OpenPlan | None
    snapshot: KafkaSnapshot
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class FoundLosses:
    """What accepting losses would do, each with where its export goes on. `closes`: a plan that is open, which it
    ends."""

    exporter: Exporter
    head: Committed
    closes: OpenPlan | None
    snapshot: KafkaSnapshot
    accepted: tuple[ExcludedPartition, ...]


def look(exporter: Exporter, targets: Mapping[TopicPartition, int], *, seen: int | None = None) -> Found:
    """What rewinding partitions to these offsets means. Raises `ConfigurationError` with every target that cannot be.

    Reads the log back to the oldest range that is withdrawn. `seen`: the newest log entry that somebody saw who decided
    this; `Fenced` if there is a newer one.
    """
    exporter = exporter.at_work()
    head, closes, snapshot = _begin(exporter, seen)
    problems = [
        Problem(f"--to {tp}", str(offset), why)
        for tp, offset in sorted(targets.items())
        if (why := _why_not(head.entry, snapshot, tp, offset)) is not None
    ]
    moves, refused = _walk(exporter.log, {} if problems else targets)
    problems += refused
    problems += [
        Problem(f"--to {move.tp}", str(move.asked), f"{_gone(move, snapshot)}")
        for move in moves
        if move.position < snapshot.offsets[move.tp].log_start
    ]
    if problems:
        raise ConfigurationError(f"Connector {exporter.settings.name} cannot be rewound like this:", problems=problems)
    return Found(exporter.log, head, closes, snapshot, moves)


def rewind(exporter: Exporter, found: Found, request: RunRequest) -> Committed:
    """Write the entry. Raises `Fenced` if somebody wrote one first."""
    moves = {move.tp: move for move in found.moves}
    topics = dict(found.head.entry.topics)
    for name in sorted({tp.topic for tp in moves}):
        lowered = {tp.partition: move.position for tp, move in moves.items() if tp.topic == name}
        topics[name] = _lowered(topics[name], lowered)
    restarts = tuple(
        Restart(
            topic=tp.topic,
            partition=tp.partition,
            generation=topics[tp.topic].generation,
            position=move.position,
            withdrawn=True,
            reason=f"rewound from {move.before} by {request.run_id}",
        )
        for tp, move in moves.items()
    )
    rewound = entry(
        EntrySlot(exporter.settings, request, found.snapshot.cluster_id, found.head),
        Kind.REWIND,
        topics,
        closes=found.closes,
        failed=[each for each in failed_under(exporter.settings, found.head.entry) if each.tp not in moves],
        restarts=restarts,
        reason="; ".join(f"{tp} from {move.before} to {move.position}" for tp, move in moves.items()),
    )
    committed = put(found.log, rewound)
    found.log.check_current()
    return committed


def look_at_losses(exporter: Exporter, names: Sequence[str], *, seen: int | None = None) -> FoundLosses:
    """What accepting what is wrong with these topics or topic-partitions means. `seen`: as in `look`.

    Raises `ConfigurationError` if nothing is wrong with one, or if only a person can say where it goes on.
    """
    exporter = exporter.at_work()
    head, closes, snapshot = _begin(exporter, seen)
    problems = []
    accepted: dict[ExcludedPartition, None] = {}
    for name in names:
        meant = [left for left in snapshot.excluded if name in (left.tp.topic, str(left.tp))]
        problems += [Problem("--accept", name, _why_not_acceptable(left)) for left in meant if left.resume is None]
        if not meant:
            problems.append(Problem("--accept", name, "nothing is wrong with it; `kafka-s3 status` says what is"))
        accepted |= dict.fromkeys(meant)
    if problems:
        raise ConfigurationError(f"Connector {exporter.settings.name} cannot accept this:", problems=problems)
    return FoundLosses(exporter, head, closes, snapshot, tuple(accepted))


def accept_found(found: FoundLosses, request: RunRequest, tell: Tell) -> Committed:
    """Write the entry that accepts them, once. Raises `Fenced` if somebody wrote one first."""
    exporter = found.exporter
    committed = accept(exporter, request, found.head, found.snapshot, list(found.accepted), tell, closes=found.closes)
    exporter.log.check_current()
    return committed


def accept_by_hand(
    exporter: Exporter, names: Sequence[str], request: RunRequest, tell: Tell
) -> tuple[Committed, tuple[ExcludedPartition, ...]]:
    """Accept what is wrong with these topics or topic-partitions, once; what was accepted, in the order of writing."""
    found = look_at_losses(exporter, names)
    return accept_found(found, request, tell), found.accepted


def _begin(exporter: Exporter, seen: int | None) -> tuple[Committed, OpenPlan | None, KafkaSnapshot]:
    log = exporter.log
    head = log.newest()
    if head is None:
        raise LogMissing(
            f"Connector {exporter.settings.name} has no log entry under {log.where}.",
            next="Nothing was exported yet: there is nothing to rewind.",
        )
    if seen not in (None, head.entry.seq):
        raise Fenced(
            f"Connector {exporter.settings.name} has changed since: its newest log entry is {head.entry.seq} by now,"
            f" not {seen}.",
            next="Nothing was written. Look at what it would do now, and decide again.",
        )
    return head, log.open_plan(head), observe(exporter.settings, exporter.broker, head)


def _why_not_acceptable(left: ExcludedPartition) -> str:
    if left.anomaly in (Anomaly.DELETED, Anomaly.MISSING, Anomaly.UNREACHABLE):
        return left.reason
    return f"{left.reason} Where its old records end, Kafka does not say: rewind it with --to {left.tp}=OFFSET"


def _why_not(head: Entry, snapshot: KafkaSnapshot, tp: TopicPartition, offset: int) -> str | None:
    """Why a partition cannot be rewound to an offset, or `None`; the rest of the log is not looked at."""
    position = head.position(tp)
    if position is None:
        return "the log does not know this partition; `kafka-s3 status` lists those that it does"
    if offset >= position:
        return f"not below its position {position}: a rewind only goes back"
    left = snapshot.why_excluded(tp)
    if left is not None and left.anomaly in (Anomaly.RECREATED, Anomaly.DELETED):
        return f"{left.reason} --accept {tp.topic} begins it anew" if left.resume is not None else left.reason
    if left is not None and left.anomaly is Anomaly.UNREACHABLE:
        return left.reason
    if tp not in snapshot.offsets:
        return "the connector's configuration no longer asks for this topic"
    if offset > snapshot.offsets[tp].high_watermark:
        return f"above the end of its log ({snapshot.offsets[tp].high_watermark})"
    return None


def _gone(move: Move, snapshot: KafkaSnapshot) -> str:
    start = snapshot.offsets[move.tp].log_start
    rounded = "" if move.asked == move.position else f", to begin where a committed range begins ({move.position})"
    return f"Kafka holds nothing below {start} any more{rounded}: what would be withdrawn could not be exported again"


@dataclass(slots=True)
class _Withdrawal:
    """The way back of one partition; `cutoff`: a later rewind withdrew what begins at or above it."""

    tp: TopicPartition
    asked: int
    before: int
    cutoff: int | None = None
    position: int | None = None
    withdrawn: list[RangeEntry] = field(default_factory=list)
    refused: str | None = None
    newer: Entry | None = None

    @property
    def is_done(self) -> bool:
        return self.position is not None or self.refused is not None

    def go_back(self, entry: Entry) -> None:
        """Look at the next older entry."""
        if entry.position(self.tp) is None and self.newer is not None and not self.is_done:
            self._begin(self.newer)  # which saw it first
        self.newer = entry
        for done in sorted(entry.ranges, key=lambda done: done.start, reverse=True):
            if done.tp == self.tp and not self.is_done and (self.cutoff is None or done.start < self.cutoff):
                self._pass(done)
        for restart in entry.restarts:
            if restart.tp == self.tp and not self.is_done:
                self._meet(restart)
        if entry.previous_sha256 is None and not self.is_done:
            self._begin(entry)

    def _pass(self, done: RangeEntry) -> None:
        if done.next_offset <= self.asked:  # between two ranges lies a gap: what is above it begins there
            self.position = self.withdrawn[-1].start if self.withdrawn else self.asked
            return
        self.withdrawn.append(done)
        if done.start <= self.asked:
            self.position = done.start

    def _meet(self, restart: Restart) -> None:
        if restart.withdrawn:
            self.cutoff = restart.position if self.cutoff is None else min(self.cutoff, restart.position)
        elif self.asked >= restart.position:
            self.position = self.asked
        else:
            self.refused = (
                f"below {restart.position} its records are of a log that Kafka no longer has ({restart.reason})"
            )

    def _begin(self, entry: Entry) -> None:
        if entry.kind is Kind.ADOPT:
            self.refused = f"below {entry.position(self.tp)} it was not exported by this log but taken over by adopt"
        else:
            self.position = self.asked


def _walk(log: Log, targets: Mapping[TopicPartition, int]) -> tuple[tuple[Move, ...], list[Problem]]:
    """Where each partition can go back to, and what that withdraws."""
    walks: dict[TopicPartition, _Withdrawal] = {}
    for committed in log.entries() if targets else ():
        entry = committed.entry
        for tp, asked in targets.items():
            walk = walks.setdefault(tp, _Withdrawal(tp, asked, entry.position(tp) or 0))
            if not walk.is_done:
                walk.go_back(entry)
        if all(walk.is_done for walk in walks.values()):
            break
    problems = [
        Problem(f"--to {walk.tp}", str(walk.asked), walk.refused) for walk in walks.values() if walk.refused is not None
    ]
    moves = [
        Move(walk.tp, walk.asked, walk.before, walk.position, tuple(walk.withdrawn))
        for walk in walks.values()
        if walk.position is not None
    ]
    return tuple(moves), problems


def _lowered(state: TopicState, positions: Mapping[int, int]) -> TopicState:
    """Also what was reached is so no longer: a part of it is to be exported again."""
    reached = {p: at for p, at in (state.reached or {}).items() if p not in positions}
    lowered = {**state.positions, **positions}
    return msgspec.structs.replace(state, generation=state.generation + 1, positions=lowered, reached=reached)
