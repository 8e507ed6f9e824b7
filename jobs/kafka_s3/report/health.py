"""How an export does, in numbers that alarms and metrics are made of: status, and what the clock says to it.

Times are of the records' own timestamps: a record that comes late, or that a producer dates wrongly, is as old as it
says. Records without one, and those from the future, have no age.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kafka_s3.errors import DataLoss, ExporterError
from kafka_s3.export.diagnosis import RunBlocked, Said
from kafka_s3.log.entries import Entry, Kind
from kafka_s3.log.progress import partition_until_ms, reached_ms
from kafka_s3.log.store import Log
from kafka_s3.plan.schedule import following
from kafka_s3.ports import Broker
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.report import held_back as holding
from kafka_s3.report.first_timestamps import ASKED_MAX, first_timestamps
from kafka_s3.report.held_back import HeldBack, held_back
from kafka_s3.report.status import PartitionStatus, Status
from kafka_s3.report.status import look as look_at_status
from kafka_s3.settings.model import Settings
from kafka_s3.settings.schedule import ScheduleSettings

#: What all fetches of first records may take together. A partition that did not answer is as one that was not asked.
FETCH_TIME_MAX_S: Final = 20.0
_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
_AGES_MS: Final = tuple(_MINUTE_MS * 2**power for power in range(22))  # up to four years


class State(enum.StrEnum):
    """What there is to say of a connector in one word; the first that is so, from the top."""

    KAFKA_DOWN = "kafka_down"  # it did not answer
    FAILED = "failed"  # something needs attention: a run would stop, or it leaves something out
    NEVER_RAN = "never_ran"  # the log is empty
    LATE = "late"  # records wait longer for their run than a run may reasonably take
    OK = "ok"


@dataclass(frozen=True, slots=True)
class Health:
    """One connector at one time. `None`: not known, or there is no such number; `notes` say what could not be asked.

    `lag_records`: offsets that can be read and are not exported, holes among them included.
    `lag_ms`: the age of the oldest visible record that waits, 0 if none does.
    `loss_in_ms`: until the age of a record that waits exceeds its topic's retention.ms, 0 if it does or the record
    was deleted; `None` if none waits, or age deletes none. By the record's timestamp and our clock: Kafka deletes
    whole segments, by the newest timestamp in them and its own clock, so mostly later. It does not see
    `retention.bytes`, which may delete sooner, nor an earlier record that a transaction hides.
    `overdue_ms`: since the oldest boundary of the schedule before which a record waits, 0 if none does, one that is
    held back included. A boundary with nothing before it is not overdue, and neither is one that a commit came to,
    whatever came late behind it. `None` too where runs begin by hand or by assets alone.
    `held`: what open transactions hold back for long, in words, with the commands that end them.
    `rejected_fraction`: of the records in the newest entries that were looked at, those that were refused.
    `filtered_fraction`: of the same, those that transforms dropped.
    `retention_hidden`: topics with records that wait, whose retention Kafka does not let this client see.
    `last_commit_ms`, `records_per_s`: by the store's clock; from the plan to its commit, Spark's start included.
    """

    status: Status
    at_ms: int
    lag_records: int | None
    lag_ms: int | None
    loss_in_ms: int | None
    overdue_ms: int | None
    rejected_fraction: float | None
    last_commit_ms: int | None
    records_per_s: float | None
    state: State
    retention_hidden: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    filtered_fraction: float | None = None
    held: tuple[Said, ...] = ()

    def complete_until_ms(self, tp: TopicPartition) -> int | None:
        """Up to which time a partition is exported, as the newest entry says; `None`: up to none that is known."""
        entries = self.status.entries
        return partition_until_ms(entries[0], tp, self.at_ms) if entries else None


@dataclass(frozen=True, slots=True)
class Oldest:
    """The first record that waits in each partition, by its timestamp.

    `gone`: where it was deleted meanwhile; `ageless`: where it has no age, or was not asked for, or not answered. In
    the others nothing visible waits.
    """

    timestamps: Mapping[TopicPartition, int]
    gone: frozenset[TopicPartition] = frozenset()
    ageless: int = 0
    notes: tuple[str, ...] = ()


def look(
    settings: Settings,
    log: Log,
    open_broker: Callable[[], Broker],
    *,
    at_ms: int,
    entries_max: int,
    fetch_time_max_s: float = FETCH_TIME_MAX_S,
) -> Health:
    """The health of one connector at `at_ms`, the time now. A broker that does not answer leaves its part out."""
    opened: list[Broker] = []

    def open_once() -> Broker:
        opened.append(open_broker())
        return opened[0]

    status = look_at_status(settings, log, open_once, entries_max=entries_max)
    waiting = [each for each in status.partitions if each.lag]
    oldest, retention, held = Oldest({}), dict[str, int | None](), list[HeldBack]()
    if status.kafka_error is None:
        try:
            oldest = _oldest(opened[0], waiting, at_ms, fetch_time_max_s)
            retention = dict(opened[0].retention_ms(sorted({each.tp.topic for each in waiting})))
            held = held_back(opened[0], status.partitions, at_ms, fetch_time_max_s)
        except ExporterError as error:
            status = replace(status, kafka_error=str(error), problems=(*status.problems, RunBlocked(error)))
    is_known = status.kafka_error is None
    last_commit_ms, records_per_s = _commit(log, status.entries)
    overdue_ms = _overdue_ms(settings.schedule, status, oldest, held, at_ms) if is_known else None
    hidden = tuple(sorted({each.tp.topic for each in waiting} - set(retention))) if is_known else ()
    return Health(
        status=status,
        at_ms=at_ms,
        lag_records=sum(each.lag or 0 for each in status.partitions) if is_known else None,
        lag_ms=_lag_ms(oldest, at_ms) if is_known else None,
        loss_in_ms=_loss_in_ms(oldest, retention, at_ms) if is_known else None,
        overdue_ms=overdue_ms,
        rejected_fraction=_rejected_fraction(status.entries),
        filtered_fraction=_filtered_fraction(status.entries),
        last_commit_ms=last_commit_ms,
        records_per_s=records_per_s,
        state=_state(status, overdue_ms, settings.schedule, at_ms),
        retention_hidden=hidden,
        notes=(*oldest.notes, *_hidden_retention(hidden)) if is_known else (),
        held=tuple(_said(each, settings, at_ms) for each in held) if is_known else (),
    )


def _said(held: HeldBack, settings: Settings, at_ms: int) -> Said:
    brokers = settings.kafka.client.get("bootstrap.servers", "")
    return holding.said(held, brokers, duration_text(at_ms - held.since_ms))


def duration_text(ms: int) -> str:
    """A time span for people, in its two largest units.

    >>> [duration_text(ms) for ms in (0, 999, 61_000, 3_600_000, 93_784_000, 8_640_000_000)]
    ['0 s', '0 s', '1 min 1 s', '1 h', '1 d 2 h', '100 d']
    """
    left = ms // 1000
    parts = []
    for unit, seconds in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, seconds)
        parts.append((count, unit))
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    shown = parts[first : first + 2]
    return " ".join(f"{count} {unit}" for count, unit in shown if count or len(shown) == 1)


def _oldest(broker: Broker, waiting: Sequence[PartitionStatus], at_ms: int, time_max_s: float) -> Oldest:
    asked = [OffsetRange(each.tp, *_bounds(each)) for each in _oldest_partitions(broker, waiting, at_ms)]
    answers = first_timestamps(broker, asked, time_max_s)
    timestamps, gone, ageless = {}, set(), len(waiting) - len(answers)
    for tp, future in answers.items():
        try:
            at = future.result()
        except DataLoss:
            gone.add(tp)
            continue
        if at is not None and 0 <= at <= at_ms:
            timestamps[tp] = at
        elif at is not None:
            ageless += 1
    notes = _unasked(len(waiting), len(asked), len(answers), time_max_s)
    return Oldest(timestamps, frozenset(gone), ageless + len(gone), notes)


def _unasked(waiting: int, asked: int, answered: int, time_max_s: float) -> tuple[str, ...]:
    notes = []
    if asked < waiting:
        notes.append(f"Records wait in {waiting} partitions; ages are of {asked} of them, among the oldest by Kafka.")
    if answered < asked:
        notes.append(f"{asked - answered} of {asked} partitions did not answer within {time_max_s:g} s.")
    return tuple(notes)


def _oldest_partitions(broker: Broker, waiting: Sequence[PartitionStatus], at_ms: int) -> list[PartitionStatus]:
    """The partitions worth a fetch: all, or where more wait than may be asked, ASKED_MAX of those that hold records of
    the greatest age of `_AGES_MS`, found by halving in a few requests. What is left out is at most twice as old."""
    if len(waiting) <= ASKED_MAX:
        return list(waiting)
    found, low, high = list(waiting), 0, len(_AGES_MS)
    while low < high:
        middle = (low + high) // 2
        older = _older(broker, waiting, at_ms - _AGES_MS[middle])
        if older:
            found, low = older, middle + 1
        else:
            high = middle
    return sorted(found, key=lambda each: (-(each.lag or 0), each.tp))[:ASKED_MAX]


def _older(broker: Broker, waiting: Sequence[PartitionStatus], than_ms: int) -> list[PartitionStatus]:
    """The partitions that have something from before a time where records wait."""
    timed = broker.offsets_for_time([each.tp for each in waiting], max(0, than_ms))
    return [each for each in waiting if (at := timed[each.tp]) is None or at.offset > _bounds(each)[0]]


def _bounds(each: PartitionStatus) -> tuple[int, int]:
    """Where the records that wait begin and end. Below the log start there are none, as much as that is amiss."""
    assert each.offsets is not None, f"{each.tp}: nothing is known to wait"
    return max(each.position, each.offsets.log_start), each.offsets.last_stable


def _lag_ms(oldest: Oldest, at_ms: int) -> int | None:
    if oldest.timestamps:
        return at_ms - min(oldest.timestamps.values())
    return None if oldest.ageless else 0


def _loss_in_ms(oldest: Oldest, retention: Mapping[str, int | None], at_ms: int) -> int | None:
    left = [0] if oldest.gone else []
    for tp, timestamp_ms in oldest.timestamps.items():
        kept_ms = retention.get(tp.topic)
        if kept_ms is not None:
            left.append(max(0, timestamp_ms + kept_ms - at_ms))
    return min(left, default=None)


def _hidden_retention(topics: Sequence[str]) -> tuple[str, ...]:
    if not topics:
        return ()
    names = ", ".join(topics[:5]) + (", …" if len(topics) > 5 else "")
    return (f"Kafka does not show the retention of {names}: give this client DescribeConfigs permission on it.",)


def _overdue_ms(
    schedule: ScheduleSettings, status: Status, oldest: Oldest, held: Sequence[HeldBack], at_ms: int
) -> int | None:
    """By what waits, not by the log: an idle topic writes no entry, so the log cannot tell late from idle."""
    if not schedule.timed:
        return None
    if not oldest.timestamps and not held:
        return None if oldest.ageless else 0
    head = status.entries[0] if status.entries else None
    stuck = {failed.tp for failed in status.failed}
    ended = [following(schedule, each.since_ms) for each in held]
    for tp, timestamp_ms in oldest.timestamps.items():
        # What came late behind a time that was reached waits for the next one; what is stuck does not.
        is_stuck = tp in stuck or any(left.covers(tp) for left in status.excluded)
        reached = None if head is None else _reached_ms(head, tp, at_ms)
        since_ms = timestamp_ms if is_stuck or reached is None else max(timestamp_ms, reached)
        ended.append(following(schedule, since_ms))
    return max(0, at_ms - min(ended))


def _reached_ms(head: Entry, tp: TopicPartition, at_ms: int) -> int | None:
    state = head.topics.get(tp.topic)
    if state is not None and state.reached is not None:
        return reached_ms(head, tp, at_ms)
    return head.last_boundary_ms(at_ms) if head.unfinished is None else None  # an entry of a release that did not say


def _rejected_fraction(entries: Sequence[Entry]) -> float | None:
    ranges = [done for entry in entries for done in entry.ranges]
    rejected = sum(done.rejected for done in ranges)
    total = rejected + sum(done.records for done in ranges)
    return rejected / total if total else None


def _filtered_fraction(entries: Sequence[Entry]) -> float | None:
    ranges = [done for entry in entries for done in entry.ranges]
    filtered = sum(done.filtered for done in ranges)
    total = filtered + sum(done.records + done.rejected for done in ranges)
    return filtered / total if total else None


def _commit(log: Log, entries: Sequence[Entry]) -> tuple[int | None, float | None]:
    """When the newest commit was written, and at what rate: two requests, of no body."""
    newest = next((entry for entry in entries if entry.kind is Kind.COMMIT), None)
    if newest is None:
        return None, None
    written = log.store.head(log.layout.log_key(newest.seq))
    planned = log.store.head(log.layout.plan_key(newest.seq))
    end_ms = written.modified_ms if written is not None else None
    start_ms = planned.modified_ms if planned is not None else None
    if end_ms is None or start_ms is None or end_ms <= start_ms:  # within a second, which many stores count in
        return end_ms, None
    return end_ms, sum(done.records for done in newest.ranges) * 1000 / (end_ms - start_ms)


def _state(status: Status, overdue_ms: int | None, schedule: ScheduleSettings, at_ms: int) -> State:
    if status.is_kafka_silent:
        return State.KAFKA_DOWN
    if not status.is_ok:
        return State.FAILED
    if not status.entries:
        return State.NEVER_RAN
    # A run takes its time: late is one that lets an hour pass, or its next boundary.
    if overdue_ms and (overdue_ms >= _HOUR_MS or following(schedule, at_ms - overdue_ms) <= at_ms):
        return State.LATE
    return State.OK
