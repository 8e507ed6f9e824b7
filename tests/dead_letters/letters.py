"""A log whose commits have dead letters."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping, Sequence

from kafka_s3.dead_letter import DeadLetter, encode, letters_layout, letters_name
from kafka_s3.log.entries import Entry, Kind, ObjectEntry, RangeEntry, Restart, TopicState
from kafka_s3.log.store import Committed, Log
from kafka_s3.naming import format_data_key
from kafka_s3.ranges import TopicPartition

TIME_MS = 1_767_225_600_000
ORDERS = TopicPartition("orders", 0)


def letter(
    offset: int, tp: TopicPartition = ORDERS, *, error: str = "not JSON", stage: str = "VALUE_CONVERTER"
) -> DeadLetter:
    """A refused record, a minute of record time for each offset."""
    return DeadLetter(*tp, offset, TIME_MS + 60_000 * offset, b"k", b"{oops", (("n", None),), stage, error, "orders")


def body_of(letters: Sequence[DeadLetter]) -> bytes:
    return gzip.compress(b"".join(encode(each) + b"\n" for each in letters), mtime=0)


def put_letters(log: Log, letters: Sequence[DeadLetter], generation: int = 0) -> RangeEntry:
    """Write the object of some letters of one topic-partition; the range that lists it has nothing else."""
    first, last, body = letters[0], letters[-1], body_of(letters)
    name = letters_name(first.tp, first.offset, generation)
    key = format_data_key(letters_layout(log.layout.root, log.layout.connector), name)
    log.store.put_if_absent(key, body)
    made = ObjectEntry(
        key=key,
        size=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        records=len(letters),
        first_offset=first.offset,
        last_offset=last.offset,
        closed_by="end_of_range",
    )
    return replace_range(first.tp, first.offset, last.offset + 1, len(letters), made)


def replace_range(tp: TopicPartition, start: int, end: int, rejected: int, made: ObjectEntry | None) -> RangeEntry:
    return RangeEntry(
        topic=tp.topic,
        partition=tp.partition,
        start=start,
        next_offset=end,
        records=0,
        bytes=0,
        rejected=rejected,
        tombstones=0,
        skipped_offsets=end - start - rejected,
        leader_epoch=None,
        log_start=0,
        high_watermark=end,
        last_stable=end,
        dead_letters=made,
    )


def commit(
    log: Log,
    *ranges: RangeEntry,
    kind: Kind = Kind.COMMIT,
    topics: Mapping[str, TopicState] | None = None,
    restarts: tuple[Restart, ...] = (),
) -> int:
    """An entry with these ranges; its number."""
    known = topics or {done.topic: TopicState(topic_id=f"id-of-{done.topic}") for done in ranges}
    head = log.newest()
    entry = Entry(
        kind=kind,
        seq=0 if head is None else head.entry.seq + 1,
        connector=log.layout.connector,
        previous_sha256=None if head is None else head.sha256,
        cluster_id="c",
        engine="0",
        configuration_sha256="",
        isolation_level="read_committed",
        run_id="r",
        try_number=1,
        topics=dict(known),
        ranges=ranges,
        restarts=restarts,
    )
    written = log.put_entry(entry)
    assert isinstance(written, Committed)
    return written.entry.seq


def commit_letters(log: Log, *letters: DeadLetter) -> int:
    """A commit of these letters, an object for each topic-partition."""
    tps = sorted({each.tp for each in letters})
    return commit(log, *(put_letters(log, [each for each in letters if each.tp == tp]) for tp in tps))
