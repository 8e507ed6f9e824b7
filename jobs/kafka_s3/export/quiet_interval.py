"""An interval in which nothing was new is written down, so that what is said of it follows from the log alone."""

from __future__ import annotations

from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.events import IntervalQuiet, Tell
from kafka_s3.export.append import boundary, new_entry, put
from kafka_s3.log.entries import Kind
from kafka_s3.log.progress import reaching
from kafka_s3.log.store import Committed, Log
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.changes import others
from kafka_s3.plan.planner import CaughtUp, KafkaSnapshot
from kafka_s3.ports import Broker
from kafka_s3.settings.model import Settings


def write_reached(
    settings: Settings,
    log: Log,
    broker: Broker,
    request: RunRequest,
    head: Committed,
    world: KafkaSnapshot,
    at_end: CaughtUp,
    tell: Tell,
) -> None:
    """Write down which partitions have come to the end of a run's interval, unless the log says so already.

    Of a topic that was deleted or created again while Kafka was asked nothing is known. Raises `Fenced` if another
    entry was written meanwhile.
    """
    interval, topics = request.interval, {tp.topic for tp in at_end.come}
    gone = others(broker.topics(), world.topics, topics) if topics else frozenset()
    come = [tp for tp in at_end.come if tp.topic not in gone]
    if interval is None or not come:
        return
    entry = new_entry(
        settings,
        request,
        world.cluster_id,
        head,
        kind=Kind.CHECKPOINT,
        interval=interval,
        boundary_ms=boundary(interval, head, request.now_ms),
        topics=reaching(world.topics, come, interval.end_ms, request.now_ms),
    )
    put(log, entry)
    crash_point(CrashPoint.WROTE_POSITIONS)
    tell(IntervalQuiet(seq=entry.seq))
