"""Where an export stands: what the newest entry says, beside what Kafka says now. Reads only."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kafka_s3.errors import DataError, ExporterError
from kafka_s3.export.diagnosis import (
    JUDGED_ENTRIES,
    DeadLettersUnsent,
    Problem,
    RangeFailed,
    RunBlocked,
    TopicRejected,
    is_silence,
    of_log,
    of_snapshot,
    said,
    snapshot_ahead,
)
from kafka_s3.log.entries import Entry, FailedRange, Plan, RangeGap, Restart
from kafka_s3.log.store import Log
from kafka_s3.plan.anomalies import ExcludedPartition
from kafka_s3.plan.planner import KafkaSnapshot, observe
from kafka_s3.ports import Broker, PartitionOffsets
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """One topic-partition. `offsets` is `None` where Kafka did not answer for it.

    `skipped` are the offsets without a visible record in the entries that were read.
    """

    tp: TopicPartition
    position: int
    generation: int
    offsets: PartitionOffsets | None
    skipped: int

    @property
    def lag(self) -> int | None:
        """Offsets that could be read and are not exported."""
        return None if self.offsets is None else max(0, self.offsets.last_stable - self.position)


@dataclass(frozen=True, slots=True)
class Status:
    """What was found. `entries` are the newest ones, newest first; `kafka_error` is why Kafka's part is missing.

    `problems`: what needs attention; without one, a run that begins now has nothing to stop at that can be known.
    """

    name: str
    entries: tuple[Entry, ...]
    open_plan: Plan | None
    partitions: tuple[PartitionStatus, ...]
    first_seen: tuple[str, ...]
    excluded: tuple[ExcludedPartition, ...]
    kafka_error: str | None
    problems: tuple[Problem, ...] = ()

    @property
    def failed(self) -> tuple[FailedRange, ...]:
        """Ranges that the newest entry names as failed: they are planned again."""
        return self.entries[0].failed if self.entries else ()

    @property
    def gaps(self) -> tuple[tuple[int, RangeGap], ...]:
        """Lost offsets, by the entry that says so."""
        return tuple((entry.seq, gap) for entry in self.entries for gap in entry.gaps)

    @property
    def restarts(self) -> tuple[tuple[int, Restart], ...]:
        """Partitions whose offsets began again, by the entry that says so."""
        return tuple((entry.seq, restart) for entry in self.entries for restart in entry.restarts)

    @property
    def is_ok(self) -> bool:
        return not self.problems

    @property
    def is_kafka_silent(self) -> bool:
        """Whether Kafka did not answer. An answer that is an error is a problem of another kind."""
        return self.kafka_error is not None and any(is_silence(problem) for problem in self.problems)

    @property
    def stuck(self) -> tuple[TopicPartition, ...]:
        """Partitions that are not exported while the others are."""
        failed = {problem.failed.tp for problem in self.problems if isinstance(problem, RangeFailed)}
        return tuple(
            sorted(failed | {problem.tp for problem in self.problems if isinstance(problem, ExcludedPartition)})
        )


def look(settings: Settings, log: Log, open_broker: Callable[[], Broker] | None, *, entries_max: int) -> Status:
    """The status of one connector. A broker that does not answer leaves its part out; the store's errors are raised.

    `open_broker=None`: Kafka is not asked.
    """
    assert entries_max > 0
    committed = list(itertools.islice(log.entries(), max(entries_max, JUDGED_ENTRIES)))
    head = committed[0] if committed else None
    planned = log.open_plan(head) if head is not None else None
    entries = tuple(each.entry for each in committed[:entries_max])
    found: list[Problem] = []
    snapshot = ahead = None
    kafka_error = None
    if open_broker is not None:
        try:
            broker = open_broker()
            snapshot = observe(settings, broker, head)
            ahead = snapshot_ahead(settings, broker, head, snapshot)
        except ExporterError as error:
            kafka_error = str(error)
            found.append(RunBlocked(error))
    if ahead is not None:
        found += of_snapshot(settings, log, head, ahead)
    if snapshot is None or head is not None:
        found += of_log(settings, log, committed)
    return Status(
        name=settings.name,
        entries=entries,
        open_plan=planned.plan if planned is not None else None,
        partitions=_partitions(entries, snapshot),
        first_seen=tuple(sorted(snapshot.first_seen)) if snapshot is not None else (),
        excluded=snapshot.excluded if snapshot is not None else (),
        kafka_error=kafka_error,
        problems=tuple(found),
    )


def problems(settings: Settings, log: Log, open_broker: Callable[[], Broker] | None) -> tuple[Problem, ...]:
    """What needs attention, also where the log is damaged; without a broker, as far as the log says it."""
    try:
        return look(settings, log, open_broker, entries_max=1).problems
    except DataError as error:
        return (RunBlocked(error),)


def _partitions(entries: tuple[Entry, ...], snapshot: KafkaSnapshot | None) -> tuple[PartitionStatus, ...]:
    topics = snapshot.topics if snapshot is not None else entries[0].topics if entries else {}
    skipped: Counter[TopicPartition] = Counter()
    for entry in entries:
        for done in entry.ranges:
            skipped[done.tp] += done.skipped_offsets
    rows = []
    for name, state in sorted(topics.items()):
        for partition, position in sorted(state.positions.items()):
            tp = TopicPartition(name, partition)
            offsets = snapshot.offsets.get(tp) if snapshot is not None else None
            rows.append(PartitionStatus(tp, position, state.generation, offsets, skipped[tp]))
    return tuple(rows)


def summary(status: Status) -> str:
    """One sentence for somebody who was just woken up, and one more for each kind of problem."""
    if status.problems:
        return " ".join(_summed(status))
    lag = sum(partition.lag or 0 for partition in status.partitions)
    behind = f"{lag:,} offsets wait for the next run" if lag else "everything readable is exported"
    if not status.entries:
        return f"Nothing has been exported yet; {behind}."
    if status.open_plan is not None:
        at_work = f"plan {status.open_plan.seq} of run {status.open_plan.run.run_id} is open"
        return f"OK: {at_work} (a run is executing it, or the next one will finish it); {behind}."
    return f"OK: {behind}; the newest entry is {status.entries[0].seq} of run {status.entries[0].run_id}."


def _summed(status: Status) -> Iterator[str]:
    if status.is_kafka_silent:
        known = f"; shown below is the log up to entry {status.entries[0].seq}" if status.entries else ""
        yield f"Kafka did not answer{known}."
    refused = [each for each in status.problems if isinstance(each, RunBlocked) and not is_silence(each)]
    if refused:
        yield f"A run would stop: {said(refused[0]).what}"
    stuck = status.stuck
    if stuck:
        names = ", ".join(map(str, stuck[:5])) + (", …" if len(stuck) > 5 else "")
        many = f"{len(stuck)} of {len(status.partitions)} partitions"
        others = "" if refused or status.is_kafka_silent else "; the others are exported"
        yield f"{many} {'needs' if len(stuck) == 1 else 'need'} attention: {names}{others}."
    for each in status.problems:
        if isinstance(each, TopicRejected | DeadLettersUnsent):
            yield said(each).what
