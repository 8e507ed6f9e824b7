"""Is the log whole? Every entry readable, the chain unbroken, plans as committed, positions without gap or return.

Unlike `Log.entries`, which raises at the first damage, this goes on and collects. Entries come newest first: each
states all positions, so two neighbours are all that contiguity needs. Entries and their plans are read some ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kafka_s3.bucket.continuity import check_positions
from kafka_s3.bucket.findings import RESTORE, STRANGE, Findings
from kafka_s3.errors import LogDamaged
from kafka_s3.log.documents import decode
from kafka_s3.log.entries import Entry, Kind, Plan, PlannedRange, RangeEntry, sha256_of
from kafka_s3.log.plans import StoredPlan
from kafka_s3.log.store import Log
from kafka_s3.naming import parse_seq
from kafka_s3.ordered_pool import map_ordered


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """An entry that can be read, with its plan if that can be read too."""

    entry: Entry
    plan: Plan | None


@dataclass(frozen=True, slots=True)
class _Slot:
    """What stands under the key of a number, and the plan that it closes. What cannot be believed is its error."""

    seq: int
    key: str
    sha256: str
    read: Entry | LogDamaged
    plan: StoredPlan | LogDamaged | None = None

    @property
    def entry(self) -> Entry | None:
        return self.read if isinstance(self.read, Entry) else None


def walk(log: Log, since: int, findings: Findings, pool: ThreadPoolExecutor, ahead: int) -> Iterator[CheckedEntry]:
    """Every readable entry from the newest down to number `since`, checked; what is wrong goes to `findings`.

    `ahead` entries are read before their turn.
    """
    traces = _newest_traces(log)  # before the entries: a run that is at work may add some meanwhile
    newer: _Slot | None = None
    numbers = _numbers(log, since, findings)
    for slot in map_ordered(pool, lambda seq: _read(log, seq, with_plan=seq >= since), numbers, ahead):
        if isinstance(slot.read, LogDamaged):
            findings.entries_unknown += 1
            findings.add(
                slot.key, expected=f"log entry {slot.seq}", found=slot.read.what.rstrip("."), next=slot.read.next
            )
        if newer is None:
            _check_head(log, slot.seq, traces, findings)
            _check_open_plan(log, slot, findings)
        else:
            _check_neighbours(log, slot, newer, findings)
        if slot.seq < since:
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


def _check_open_plan(log: Log, head: _Slot, findings: Findings) -> None:
    """No run goes on over a plan of another newest entry (`Log.open_plan`). One at work writes none."""
    planned = _plan(log, head.seq + 1)
    if isinstance(planned, LogDamaged):
        expected, found = f"plan {head.seq + 1}", planned.what.rstrip(".")
    elif planned is not None and planned.plan.previous_sha256 != head.sha256:
        expected, found = f"a plan that follows entry {head.seq}", "a plan that follows another entry"
    else:
        return
    findings.add(log.layout.plan_key(head.seq + 1), expected=expected, found=found, next=RESTORE)


def _numbers(log: Log, since: int, findings: Findings) -> Iterator[int]:
    """The numbers of the entries that there are, newest first, and of the one below `since`."""
    for info in log.store.list(log.layout.log_prefix):
        seq = parse_seq(info.key)
        if seq is None or log.layout.log_key(seq) != info.key:
            findings.add(info.key, expected="log entries alone", found="a foreign object", next="Move it elsewhere.")
            continue
        yield seq
        if seq < since:
            return


def _read(log: Log, seq: int, *, with_plan: bool) -> _Slot:
    key = log.layout.log_key(seq)
    data = b""
    try:
        data = log.get(key) or b""
        entry = decode(Entry, key, data)
        if (entry.seq, entry.connector, entry.epoch or "") != (seq, log.layout.connector, log.layout.epoch):
            says = f"It says it is number {entry.seq} of connector {entry.connector}, epoch {entry.epoch}."
            raise LogDamaged(says, next=RESTORE)
    except LogDamaged as error:
        return _Slot(seq, key, sha256_of(data), error)
    return _Slot(seq, key, sha256_of(data), entry, _plan(log, seq) if with_plan and entry.plan_sha256 else None)


def _plan(log: Log, seq: int) -> StoredPlan | LogDamaged | None:
    try:
        return log.plan(seq)
    except LogDamaged as error:
        return error


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
    check_positions(older.entry, newer.entry, findings)


def _check_oldest(log: Log, oldest: _Slot, findings: Findings) -> None:
    if oldest.entry is not None and oldest.entry.kind is Kind.ADOPT and oldest.entry.previous_sha256 is None:
        return  # a log begins with it, behind the numbers of plans that a lost log left
    if oldest.seq != 0:
        findings.entries_unknown += oldest.seq
        key = log.layout.log_key(oldest.seq - 1)
        findings.add(key, expected="the log down to entry 0", found=f"entry {oldest.seq} as the oldest", next=RESTORE)
    elif oldest.entry is not None and oldest.entry.previous_sha256 is not None:
        findings.add(oldest.key, expected="no entry before entry 0", found="one named", next=STRANGE)
    elif oldest.entry is not None and log.epoch is not None and log.epoch.first_sha256 != oldest.sha256:
        named = f"sha256 {log.epoch.first_sha256}, which {log.layout.epoch_key(log.epoch.number)} names"
        findings.add(oldest.key, expected=named, found=oldest.sha256, next=RESTORE)


def _with_plan(log: Log, slot: _Slot, entry: Entry, findings: Findings) -> CheckedEntry:
    for done in entry.ranges:
        _check_range(log, done, entry, findings)
    if entry.plan_sha256 is None:
        if entry.kind is Kind.COMMIT:
            findings.add(slot.key, expected="the sha256 of its plan", found="none", next=RESTORE)
        return CheckedEntry(entry, None)
    key = log.layout.plan_key(slot.seq)
    planned = slot.plan
    if isinstance(planned, LogDamaged):
        findings.add(key, expected=f"plan {slot.seq}", found=planned.what.rstrip("."), next=planned.next or RESTORE)
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
