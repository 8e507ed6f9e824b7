"""An interval in which nothing was new is written down, so that what is said of it follows from the log alone."""

from __future__ import annotations

from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.events import IntervalQuiet, Tell
from kafka_s3.export.append import EntrySlot, boundary, entry, put
from kafka_s3.export.exporter import Exporter
from kafka_s3.log.entries import Kind
from kafka_s3.log.progress import reaching
from kafka_s3.log.store import Committed
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.changes import replaced_among
from kafka_s3.plan.planner import CaughtUp, KafkaSnapshot


def write_reached(
    exporter: Exporter,
    request: RunRequest,
    head: Committed,
    snapshot: KafkaSnapshot,
    caught_up: CaughtUp,
    tell: Tell,
) -> None:
    """Write down which partitions have come to the end of a run's interval, unless the log says so already.

    Of a topic that was deleted or created again while Kafka was asked nothing is known. Raises `Fenced` if another
    entry was written meanwhile.
    """
    interval, topics = request.interval, {tp.topic for tp in caught_up.at_end}
    replaced = replaced_among(topics, exporter.broker.topics(), snapshot.topics) if topics else frozenset()
    at_end = [tp for tp in caught_up.at_end if tp.topic not in replaced]
    if interval is None or not at_end:
        return
    slot = EntrySlot(exporter.settings, request, snapshot.cluster_id, head)
    reached = reaching(snapshot.topics, at_end, interval.end_ms, request.now_ms)
    boundary_ms = boundary(interval, head, request.now_ms)
    written = entry(slot, Kind.CHECKPOINT, reached, interval=interval, boundary_ms=boundary_ms)
    committed = put(exporter.log, written)
    crash_point(CrashPoint.WROTE_POSITIONS)
    tell(IntervalQuiet(seq=committed.entry.seq))
