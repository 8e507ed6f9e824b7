"""Is the log whole? Every entry readable, the chain unbroken, plans as committed, positions without gap or return.

Unlike `Log.entries`, which raises at the first damage, this goes on and collects. Entries come newest first: each
states all positions, so two neighbours are all that contiguity needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kafka_s3.commit_log import Entry, Kind, Plan, PlannedRange, RangeEntry, TopicState, decode, sha256_of
from kafka_s3.errors import LogDamaged
from kafka_s3.export.findings import Findings
from kafka_s3.export.log import Log
from kafka_s3.naming import parse_seq
from kafka_s3.ranges import TopicPartition

RESTORE: Final = "Restore it from the bucket's versions or a backup; the log is never edited by hand."
STRANGE: Final = "The exporter never writes this: keep the bucket as it is and report it."
_MOVES_FREELY: Final = frozenset({Kind.ADOPT, Kind.REWIND})


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """An entry that can be read, with its plan if that can be read too."""

    entry: Entry
    plan: Plan | None


@dataclass(frozen=True, slots=True)
class _Slot:
    """What stands under the key of a number; `entry` is `None` if it cannot be believed."""

    seq: int
    key: str
    sha256: str
    entry: Entry | None


def walk(log: Log, since: int, findings: Findings) -> Iterator[CheckedEntry]:
    """Every readable entry from the newest down to number `since`, checked; what is wrong goes to `findings`."""
    traces = _newest_traces(log)  # before the entries: a run that is at work may add some meanwhile
    newer: _Slot | None = None
    for info in log.store.list(log.layout.log_prefix):
        seq = parse_seq(info.key)
        if seq is None or log.layout.log_key(seq) != info.key:
            findings.add(info.key, expected="log entries alone", found="a foreign object", next="Move it elsewhere.")
            continue
        slot = _read(log, seq, info.key, findings)
        if newer is None:
            _check_head(log, slot.seq, traces, findings)
        else:
            _check_neighbours(log, slot, newer, findings)
        if seq < since:
            return
        if slot.entry is not None:
            yield _with_plan(log, slot, slot.entry, findings)
        newer = slot
    if newer is None:
        _check_head(log, -1, traces, findings)
    else:
        _check_oldest(log, newer, findings)


@dataclass(frozen=True, slots=True)
class _Traces:
    """The highest numbers that plans and announcements have; -1 without any."""

    plan: int
    announced: int


def _newest_traces(log: Log) -> _Traces:
    def newest(prefix: str) -> int:
        seqs = (parse_seq(info.key) for info in log.store.list(prefix, limit=1))
        return next((seq for seq in seqs if seq is not None), -1)

    return _Traces(newest(log.layout.plan_prefix), newest(log.layout.announced_prefix))


def _check_head(log: Log, head: int, traces: _Traces, findings: Findings) -> None:
    """The newest entries may have been deleted: what was written before or after them tells."""
    missing = max(traces.plan - 1, traces.announced)
    if missing > head:
        which = "an announcement" if traces.announced == missing else "a later plan"
        findings.entries_unknown += missing - head
        expected = f"log entry {missing}, for {which} is there"
        findings.add(log.layout.log_key(missing), expected=expected, found="none", next=RESTORE)


def _read(log: Log, seq: int, key: str, findings: Findings) -> _Slot:
    data = log.store.get(key) or b""
    try:
        entry = decode(Entry, key, data)
        if (entry.seq, entry.connector) != (seq, log.layout.connector):
            raise LogDamaged(f"It says it is number {entry.seq} of connector {entry.connector}.", next=RESTORE)
    except LogDamaged as error:
        findings.entries_unknown += 1
        findings.add(key, expected=f"log entry {seq}", found=error.what.rstrip("."), next=error.next)
        return _Slot(seq, key, sha256_of(data), None)
    return _Slot(seq, key, sha256_of(data), entry)


def _check_neighbours(log: Log, older: _Slot, newer: _Slot, findings: Findings) -> None:
    for seq in range(newer.seq - 1, older.seq, -1):
        findings.entries_unknown += 1
        findings.add(log.layout.log_key(seq), expected=f"log entry {seq}", found="none", next=RESTORE)
    if newer.seq != older.seq + 1 or older.entry is None or newer.entry is None:
        return
    if newer.entry.previous_sha256 != older.sha256:
        findings.add(
            older.key,
            expected=f"sha256 {newer.entry.previous_sha256}, which entry {newer.seq} names",
            found=older.sha256,
            next=RESTORE,
        )
    _check_positions(older.entry, newer.entry, findings)


def _check_oldest(log: Log, oldest: _Slot, findings: Findings) -> None:
    if oldest.entry is not None and oldest.entry.kind is Kind.ADOPT and oldest.entry.previous_sha256 is None:
        return  # a log begins with it, behind the numbers of plans that a lost log left
    if oldest.seq != 0:
        findings.entries_unknown += oldest.seq
        key = log.layout.log_key(oldest.seq - 1)
        findings.add(key, expected="the log down to entry 0", found=f"entry {oldest.seq} as the oldest", next=RESTORE)
    elif oldest.entry is not None and oldest.entry.previous_sha256 is not None:
        findings.add(oldest.key, expected="no entry before entry 0", found="one named", next=STRANGE)


def _check_positions(older: Entry, newer: Entry, findings: Findings) -> None:
    """From each position of the older entry, ranges and gaps lead without a hole to that of the newer one."""
    if newer.kind in _MOVES_FREELY:
        return
    spans: dict[TopicPartition, list[tuple[int, int]]] = {}
    for done in newer.ranges:
        spans.setdefault(done.tp, []).append((done.start, done.next_offset))
    for gap in newer.gaps:
        spans.setdefault(TopicPartition(gap.topic, gap.partition), []).append((gap.start, gap.end))
    for topic, before in older.topics.items():
        after = newer.topics.get(topic)
        for partition in before.positions:
            if after is None or partition not in after.positions:
                found = f"no position in entry {newer.seq}"
                findings.add(f"{topic}-{partition}", expected="every partition ever seen", found=found, next=RESTORE)
    for topic, after in newer.topics.items():
        for partition, position in after.positions.items():
            tp = TopicPartition(topic, partition)
            steps = sorted(spans.pop(tp, []))
            start = _position_before(older.topics.get(topic), after, partition, steps)
            _check_steps(newer, tp, position if start is None else start, steps, position, findings)
    for tp in spans:
        findings.add(f"{tp} in entry {newer.seq}", expected="a position", found="a range without one", next=RESTORE)


def _position_before(
    before: TopicState | None, after: TopicState, partition: int, steps: list[tuple[int, int]]
) -> int | None:
    """The position that an entry starts from, or `None` at the first sight of a topic or of its next generation."""
    if before is None or before.generation != after.generation:
        return steps[0][0] if steps else None
    return before.positions.get(partition, 0)  # a partition that appears later starts at 0


def _check_steps(
    entry: Entry, tp: TopicPartition, start: int, steps: list[tuple[int, int]], position: int, findings: Findings
) -> None:
    at = start
    for low, high in steps:
        if low != at:
            where = f"{tp} [{low}, {high}) in entry {entry.seq}"
            findings.add(where, expected=f"a range that begins at the position {at}", found=str(low), next=RESTORE)
        at = high
    if at != position:
        where = f"{tp} in entry {entry.seq}"
        findings.add(where, expected=f"position {at}, where its ranges end", found=str(position), next=RESTORE)


def _with_plan(log: Log, slot: _Slot, entry: Entry, findings: Findings) -> CheckedEntry:
    for done in entry.ranges:
        _check_range(log, done, entry, findings)
    if entry.plan_sha256 is None:
        if entry.kind is Kind.COMMIT:
            findings.add(slot.key, expected="the sha256 of its plan", found="none", next=RESTORE)
        return CheckedEntry(entry, None)
    key = log.layout.plan_key(slot.seq)
    try:
        planned = log.plan(slot.seq)
    except LogDamaged as error:
        findings.add(key, expected=f"plan {slot.seq}", found=error.what.rstrip("."), next=error.next or RESTORE)
        return CheckedEntry(entry, None)
    if planned is None:
        findings.add(key, expected=f"plan {slot.seq}, which entry {slot.seq} closes", found="none", next=RESTORE)
        return CheckedEntry(entry, None)
    if planned.sha256 != entry.plan_sha256:
        named = f"sha256 {entry.plan_sha256}, which entry {slot.seq} names"
        findings.add(key, expected=named, found=planned.sha256, next=RESTORE)
        return CheckedEntry(entry, None)
    if entry.kind is Kind.COMMIT:
        _check_covers(slot, planned.plan, entry, findings)
    return CheckedEntry(entry, planned.plan)


def _check_range(log: Log, done: RangeEntry, entry: Entry, findings: Findings) -> None:
    """Offset accounting, and objects that lie inside the range, one behind the other."""
    where = f"{done.tp} [{done.start}, {done.next_offset}) in {log.layout.log_key(entry.seq)}"
    try:
        done.check_accounting()
    except LogDamaged as error:
        findings.add(where, expected="every offset in exactly one count", found=error.what.rstrip("."), next=STRANGE)
    for made in done.objects:
        inside = done.start <= made.first_offset <= made.last_offset < done.next_offset
        if not inside or not 0 < made.records <= made.last_offset - made.first_offset + 1:
            found = f"{made.records} records from {made.first_offset} to {made.last_offset}"
            findings.add(f"{made.key} in entry {entry.seq}", expected=f"records of {where}", found=found, next=STRANGE)


def _check_covers(slot: _Slot, plan: Plan, entry: Entry, findings: Findings) -> None:
    """Every planned range was committed up to its end, or its rest is named as failed."""
    reached = {(done.tp, done.start): done.next_offset for done in entry.ranges}
    failed = {(each.tp, each.end): each.start for each in entry.failed}
    for planned in plan.ranges:
        at = reached.pop((planned.tp, planned.start), planned.start)
        if at != planned.end and failed.get((planned.tp, planned.end)) != at:
            found = f"offsets up to {at}, and no failure named"
            findings.add(_where(planned, slot), expected="all of it, or why not", found=found, next=RESTORE)
    for (tp, start), end in reached.items():
        where = f"{tp} [{start}, {end}) in entry {slot.seq}"
        findings.add(where, expected="a range of its plan", found="one that was not planned", next=RESTORE)


def _where(planned: PlannedRange, slot: _Slot) -> str:
    return f"{planned.tp} [{planned.start}, {planned.end}) in entry {slot.seq}"
