"""Logs of any length, made without exporting anything: each entry a commit of one range of one object."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from kafka_s3.log.documents import encode
from kafka_s3.log.entries import Entry, Interval, Kind, ObjectEntry, RangeEntry, TopicState, sha256_of
from kafka_s3.log.store import Log
from kafka_s3.naming import LogLayout

HOUR_MS = 3_600_000


def write_log(log: Log, count: int, *, topic: str = "orders", records: int = 1_000, began_ms: int = 0) -> None:
    """`count` entries, an hour each, chained as the log wants them, and without an epoch, as an earlier release's."""
    log = Log(log.store, LogLayout(log.layout.root, log.layout.connector))
    sha256: str | None = None
    documents: list[tuple[str, bytes]] = []
    for seq in range(count):
        data = encode(_entry(log, seq, sha256, topic, records, began_ms + seq * HOUR_MS))
        sha256 = sha256_of(data)
        documents.append((log.layout.log_key(seq), data))
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda document: log.store.put_if_absent(*document), documents))


def _entry(log: Log, seq: int, previous: str | None, topic: str, records: int, began_ms: int) -> Entry:
    start = seq * records
    key = f"topics/{topic}/partition=0/{topic}+0+{start:010d}.json"
    made = ObjectEntry(
        key=key,
        size=records * 100,
        sha256="0" * 64,
        records=records,
        first_offset=start,
        last_offset=start + records - 1,
        closed_by="end_of_range",
    )
    done = RangeEntry(
        topic=topic,
        partition=0,
        start=start,
        next_offset=start + records,
        records=records,
        bytes=records * 100,
        rejected=0,
        tombstones=0,
        skipped_offsets=0,
        leader_epoch=0,
        log_start=0,
        high_watermark=start + records,
        last_stable=start + records,
        objects=(made,),
    )
    return Entry(
        kind=Kind.COMMIT,
        seq=seq,
        connector=log.layout.connector,
        previous_sha256=previous,
        cluster_id="cluster",
        engine="1",
        configuration_sha256="",
        isolation_level="read_committed",
        run_id=f"run-{seq}",
        try_number=1,
        interval=Interval(began_ms, began_ms + HOUR_MS),
        topics={topic: TopicState(topic_id="id", positions={0: start + records})},
        ranges=(done,),
    )
