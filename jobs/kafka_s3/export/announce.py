"""Announcing: every log entry is told to whoever waits for it, at least once and in order.

`announced/<seq>` marks an entry that was announced. Markers are written oldest first and only after the announcement
is safe, so the newest marker (the first key of one LIST) says how far the announcing has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kafka_s3.commit_log import RangeEntry
from kafka_s3.errors import LogDamaged
from kafka_s3.export.log import Committed, Log
from kafka_s3.naming import parse_seq

PENDING_MAX: Final = 1000  # entries announced at once: at most this many are held, the rest waits for the next time
KEYS_MAX: Final = 1000  # object keys named in one announcement


def pending(log: Log, *, limit: int = PENDING_MAX) -> list[Committed]:
    """Entries not announced yet, oldest first, at most `limit`: two LISTs, and a GET for each of them."""
    newest = log.newest()
    if newest is None:
        return []
    first = _announced(log) + 1
    last = min(newest.entry.seq, first + limit - 1)
    return [newest if seq == newest.entry.seq else _entry(log, seq) for seq in range(first, last + 1)]


def mark(log: Log, seq: int) -> None:
    """Write down that an entry was announced, and with it every one before; someone else may have done so."""
    log.store.put_if_absent(log.layout.announced_key(seq), b"")


def describe(committed: Committed, bucket: str, *, keys_max: int = KEYS_MAX) -> dict[str, Any]:
    """An entry as an announcement says it: counts, offsets and at most `keys_max` of its keys, all plain values.

    `offsets` holds `[start, next offset]` of each topic-partition; `keys_omitted` counts the keys left out.
    """
    entry = committed.entry
    keys = [written.key for done in entry.ranges for written in done.objects]
    interval = entry.interval
    return {
        "connector": entry.connector,
        "bucket": bucket,
        "seq": entry.seq,
        "kind": entry.kind.value,
        "run_id": entry.run_id,
        "interval_ms": None if interval is None else [interval.start_ms, interval.end_ms],
        "records": sum(done.records for done in entry.ranges),
        "bytes": sum(done.bytes for done in entry.ranges),
        "rejected": sum(done.rejected for done in entry.ranges),
        "objects": len(keys),
        "failed_ranges": len(entry.failed),
        "offsets": _offsets(entry.ranges),
        "keys": keys[:keys_max],
        "keys_omitted": max(0, len(keys) - keys_max),
    }


def _announced(log: Log) -> int:
    """The newest entry that was announced, -1 for none."""
    for info in log.store.list(log.layout.announced_prefix, limit=1):
        seq = parse_seq(info.key)
        if seq is None:
            raise LogDamaged(f"{info.key} is no key of an announcement.", next="Remove what does not belong there.")
        return seq
    return -1


def _entry(log: Log, seq: int) -> Committed:
    committed = log.entry(seq)
    if committed is None:
        raise LogDamaged(
            f"Log entry {log.layout.log_key(seq)} is missing although newer ones are there.",
            next="Something deletes log entries: stop it, and restore the entry from the bucket's versions.",
        )
    return committed


def _offsets(ranges: Sequence[RangeEntry]) -> dict[str, dict[str, list[int]]]:
    """The ranges of each partition joined: a commit holds a contiguous piece of it."""
    offsets: dict[str, dict[str, list[int]]] = {}
    for done in sorted(ranges, key=lambda done: (done.topic, done.partition, done.start)):
        start, _ = offsets.setdefault(done.topic, {}).setdefault(str(done.partition), [done.start, done.start])
        offsets[done.topic][str(done.partition)] = [start, done.next_offset]
    return offsets
