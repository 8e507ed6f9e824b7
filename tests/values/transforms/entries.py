"""A log entry of one range."""

from __future__ import annotations

from kafka_s3.log.entries import Entry, Kind, RangeEntry, TopicState


def entry_with(*, filtered: int) -> Entry:
    done = RangeEntry(
        topic="orders",
        partition=0,
        start=0,
        next_offset=filtered,
        records=0,
        bytes=0,
        rejected=0,
        tombstones=0,
        skipped_offsets=0,
        filtered=filtered,
        leader_epoch=None,
        log_start=0,
        high_watermark=filtered,
        last_stable=filtered,
    )
    return Entry(
        kind=Kind.COMMIT,
        seq=1,
        connector="orders",
        previous_sha256="0" * 64,
        cluster_id="c",
        engine="e",
        configuration_sha256="0" * 64,
        isolation_level="read_committed",
        run_id="r",
        try_number=1,
        plan_sha256="0" * 64,
        topics={"orders": TopicState(topic_id="t", positions={0: filtered})},
        ranges=(done,),
    )
