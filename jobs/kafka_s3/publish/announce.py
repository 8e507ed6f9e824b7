"""Announcing: every log entry is told to whoever waits for it, at least once and in order; and an hour without one too.

`announced/<seq>` marks an entry that was announced. Markers are written oldest first and only after the announcement
is safe, so the newest marker (the first key of one LIST) says how far the announcing has come.

An announcement is one event of the whole connector, and one of each topic concerned, whatever the number of entries: of
several events of one asset, Airflow 3.3's scheduler gives the run that they start only the first, and keeps the others
for the next run.

    an entry                        concerns the connector; a commit every topic, those without records too, and so
                                    does an interval in which nothing was new; other entries each topic that lost
                                    offsets or was restarted

What is complete is said of the newest entry alone, by `log.progress`: an older one does not know what was withdrawn
since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafka_s3.errors import LogDamaged
from kafka_s3.log.entries import Entry, Kind, RangeEntry
from kafka_s3.log.progress import complete_until_ms
from kafka_s3.log.store import Committed, Log
from kafka_s3.naming import LogLayout, parse_seq
from kafka_s3.ports import Put

#: Pairs of an entry and what it concerns that are told at once, and so entries; what does not fit waits for the next
#: time. All that one entry concerns is told together, however many topics it has: an entry is marked as a whole.
TOLD_MAX: Final = 1000
KEYS_MAX: Final = 1000  # object keys named in one event
OFFSETS_MAX: Final = 1000  # partitions whose offsets are named in one event
EMPTY: Final = "empty"


@dataclass(frozen=True, slots=True)
class Event:
    """What is told: of a topic, or (`None`) of the whole connector. `extra`: plain values."""

    topic: str | None
    extra: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Announcement:
    """Events in order, and the entries to mark when they are safe."""

    events: tuple[Event, ...] = ()
    seqs: tuple[int, ...] = ()


def announcement(
    log: Log,
    bucket: str,
    exports: Callable[[str], bool],
    ended_ms: int | None = None,
    *,
    named: Iterable[str] = (),
    told_max: int = TOLD_MAX,
) -> Announcement:
    """What is not announced yet, from the oldest entry on as far as it fits, one entry at least.

    `exports`: whether the connector asks for a topic now; `named`: those that it asks for by name. `ended_ms`: the time
    now, after a run that did not fail: only then it is told up to where all is complete, and that follows from the log,
    not from the run. Two LISTs, and a GET for each entry.
    """
    newest = log.newest()
    if newest is None:
        return Announcement()
    events: list[Event] = []
    seqs: list[int] = []
    claims = _Claims(newest.entry, frozenset(named), exports, ended_ms)
    first = _announced(log) + 1
    for seq in range(first, newest.entry.seq + 1):
        is_newest = seq == newest.entry.seq
        committed = newest if is_newest else log.older(seq)
        told = list(_of_entry(committed, log.layout, bucket, exports))
        if seqs and len(events) + len(told) > told_max:
            return Announcement(_joined(events), tuple(seqs))
        events += told
        seqs.append(seq)
    return Announcement(tuple(claims.of(event) for event in _joined(events)), tuple(seqs))


@dataclass(frozen=True, slots=True)
class _Claims:
    """What can be said to be complete at a time, `None` for nothing at all."""

    entry: Entry
    named: frozenset[str]
    exports: Callable[[str], bool]
    now_ms: int | None

    def of(self, event: Event) -> Event:
        """With up to what time its topic, or all that the connector exports, is complete."""
        if self.now_ms is None:
            return event
        known = (name for name in self.entry.topics if self.exports(name))
        topics = {*known, *self.named} if event.topic is None else {event.topic}
        until_ms = complete_until_ms(self.entry, topics, self.now_ms)
        return Event(event.topic, {**event.extra, "complete_until_ms": until_ms})


def mark(log: Log, seq: int) -> bool:
    """Write down that an entry was announced, and with it every one before; false if someone else had done so."""
    return log.put(log.layout.announced_key(seq), b"") is Put.CREATED


def describe(
    committed: Committed,
    layout: LogLayout,
    bucket: str,
    *,
    topic: str | None = None,
    keys_max: int = KEYS_MAX,
    offsets_max: int = OFFSETS_MAX,
) -> dict[str, Any]:
    """An entry as an event says it, or what concerns one topic in it: counts, offsets and keys, all plain values.

    `key` and `sha256` are those of the log entry, by which a reader finds and checks it. `offsets` holds `[start, next
    offset]` of each topic-partition; `keys_omitted` and `offsets_omitted` count what was left out. `gaps` are offsets
    that were lost; behind a restart that withdraws, a reader skips what was announced from its position on. `entries`:
    those that are new with the event, oldest first.
    `complete_until_ms`: all records before it are exported, as far as they were there when the run was planned. An
    entry alone does not say it: the newest one does, once all before it are told.
    """
    entry = committed.entry
    ranges = [done for done in entry.ranges if topic in (None, done.topic)]
    keys = [written.key for done in ranges for written in done.objects]
    offsets = _offsets(ranges)
    if topic is not None and topic not in offsets:
        offsets = _positions(entry, [topic])
    kept, omitted = _first(offsets, offsets_max)
    return {
        **_where(committed, layout, bucket, topic),
        "kind": entry.kind.value,
        "run_id": entry.run_id,
        "interval_ms": None if entry.interval is None else [entry.interval.start_ms, entry.interval.end_ms],
        "complete_until_ms": None,
        "records": sum(done.records for done in ranges),
        "bytes": sum(done.bytes for done in ranges),
        "rejected": sum(done.rejected for done in ranges),
        "filtered": sum(done.filtered for done in ranges),
        "objects": len(keys),
        "failed_ranges": sum(topic in (None, failed.topic) for failed in entry.failed),
        "offsets": kept,
        "offsets_omitted": omitted,
        "gaps": [[str(gap.tp), gap.start, gap.end, gap.reason] for gap in entry.gaps if topic in (None, gap.topic)],
        "restarts": [
            [str(each.tp), each.position, each.generation, each.withdrawn]
            for each in entry.restarts
            if topic in (None, each.topic)
        ],
        "keys": keys[:keys_max],
        "keys_omitted": max(0, len(keys) - keys_max),
        "entries": [
            {
                "seq": entry.seq,
                "key": layout.log_key(entry.seq),
                "sha256": committed.sha256,
                "interval_ms": None if entry.interval is None else [entry.interval.start_ms, entry.interval.end_ms],
            }
        ],
    }


def _joined(events: Sequence[Event]) -> tuple[Event, ...]:
    """One event for each topic, and the connector's first."""
    joined: dict[str | None, dict[str, Any]] = {}
    for event in events:
        before = joined.get(event.topic)
        joined[event.topic] = event.extra if before is None else _join(before, event.extra)
    return tuple(Event(topic, extra) for topic, extra in joined.items())


def _join(one: Mapping[str, Any], next: Mapping[str, Any]) -> dict[str, Any]:
    """Two of one asset, in order, as one: sums and lists of both, else what the later one says."""
    joined = {**one, **next}
    for name in ("records", "bytes", "rejected", "filtered", "objects", "gaps", "restarts", "entries"):
        joined[name] = one[name] + next[name]
    if next["kind"] == EMPTY or one["kind"] == Kind.COMMIT.value:
        joined["kind"] = one["kind"]
    joined["interval_ms"] = next["interval_ms"] or one["interval_ms"]
    joined["keys"] = (one["keys"] + next["keys"])[:KEYS_MAX]
    joined["keys_omitted"] = joined["objects"] - len(joined["keys"])
    offsets: Offsets = {topic: dict(parts) for topic, parts in one["offsets"].items()}
    for topic, parts in next["offsets"].items():
        for p, (start, end) in parts.items():
            known = offsets.setdefault(topic, {}).get(p)
            offsets[topic][p] = [start if known is None else known[0], end]
    joined["offsets"], omitted = _first(offsets, OFFSETS_MAX)
    joined["offsets_omitted"] = max(one["offsets_omitted"], next["offsets_omitted"]) + omitted
    return joined


def _of_entry(committed: Committed, layout: LogLayout, bucket: str, exports: Callable[[str], bool]) -> Iterator[Event]:
    entry = committed.entry
    is_empty = entry.kind is Kind.CHECKPOINT and entry.interval is not None
    exported = {topic for topic in entry.topics if exports(topic)}
    concerned = {done.topic for done in entry.ranges}
    concerned |= {gap.topic for gap in entry.gaps} | {restart.topic for restart in entry.restarts}
    if entry.kind is Kind.COMMIT or is_empty:
        concerned |= exported
    for topic in (None, *sorted(concerned)):
        extra = describe(committed, layout, bucket, topic=topic)
        yield Event(topic, {**extra, **_where_all_stands(entry, exported, topic)} if is_empty else extra)


def _where_all_stands(entry: Entry, exported: Iterable[str], topic: str | None) -> dict[str, Any]:
    """Of an interval in which nothing was new: the positions of the topic, or of all."""
    kept, omitted = _first(_positions(entry, sorted(exported) if topic is None else [topic]), OFFSETS_MAX)
    return {"kind": EMPTY, "offsets": kept, "offsets_omitted": omitted}


def _where(committed: Committed, layout: LogLayout, bucket: str, topic: str | None) -> dict[str, Any]:
    """Whose event it is, and which file of which bucket proves it."""
    return {
        "connector": layout.connector,
        **({} if topic is None else {"topic": topic}),
        "bucket": bucket,
        "seq": committed.entry.seq,
        "key": layout.log_key(committed.entry.seq),
        "sha256": committed.sha256,
    }


def _announced(log: Log) -> int:
    """The newest entry that was announced, -1 for none."""
    for info in log.store.list(log.layout.announced_prefix, limit=1):
        seq = parse_seq(info.key)
        if seq is None:
            raise LogDamaged(
                f"{info.key} is not the key of an announcement.", next="Remove what does not belong there."
            )
        log.check_mark(info.key)
        return seq
    return -1


Offsets = dict[str, dict[str, list[int]]]


def _offsets(ranges: Sequence[RangeEntry]) -> Offsets:
    """The ranges of each partition joined: a commit holds a contiguous piece of it."""
    offsets: Offsets = {}
    for done in sorted(ranges, key=lambda done: (done.topic, done.partition, done.start)):
        start, _ = offsets.setdefault(done.topic, {}).setdefault(str(done.partition), [done.start, done.start])
        offsets[done.topic][str(done.partition)] = [start, done.next_offset]
    return offsets


def _positions(entry: Entry, topics: Sequence[str]) -> Offsets:
    """Where each partition stands: nothing of it is new."""
    known = ((topic, entry.topics[topic]) for topic in topics if topic in entry.topics)
    return {topic: {str(p): [at, at] for p, at in sorted(state.positions.items())} for topic, state in known}


def _first(offsets: Mapping[str, Mapping[str, list[int]]], most: int) -> tuple[Offsets, int]:
    """At most so many partitions, and how many are left out."""
    each = [(topic, p, pair) for topic, parts in offsets.items() for p, pair in parts.items()]
    kept: Offsets = {}
    for topic, p, pair in each[:most]:
        kept.setdefault(topic, {})[p] = pair
    return kept, max(0, len(each) - most)
