"""What changed in Kafka, written to the log before anything is planned: topics at first sight, and accepted losses."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_s3.bucket import owners
from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.errors import KafkaUnavailable
from kafka_s3.events import PositionsAccepted, Tell
from kafka_s3.export.append import EntrySlot, entry, put
from kafka_s3.export.diagnosis import said
from kafka_s3.export.exporter import Exporter
from kafka_s3.log.entries import Kind
from kafka_s3.log.plans import OpenPlan
from kafka_s3.log.store import Committed
from kafka_s3.plan.anomalies import ExcludedPartition
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.planner import KafkaSnapshot, accepted, observe


def observe_and_record(
    exporter: Exporter, request: RunRequest, head: Committed | None, tell: Tell
) -> tuple[Committed, KafkaSnapshot]:
    """Look at Kafka; what is new there, and what the user allows to be lost, goes to the log at once.

    Until one look finds neither: between two looks a topic may get its leaders, and be seen for the first time.
    """
    settings = exporter.settings
    snapshot = observe(settings, exporter.broker, head)
    crash_point(CrashPoint.LOOKED_AT_KAFKA)
    while True:
        allowed = snapshot.allowed(settings.policies)
        if snapshot.first_seen or head is None:
            head = _write_first_positions(exporter, request, head, snapshot)
        elif allowed:
            head = accept(exporter, request, head, snapshot, allowed, tell)
        else:
            return head, snapshot
        crash_point(CrashPoint.WROTE_POSITIONS)
        snapshot = observe(settings, exporter.broker, head)


def _write_first_positions(
    exporter: Exporter, request: RunRequest, head: Committed | None, snapshot: KafkaSnapshot
) -> Committed:
    log, settings = exporter.log, exporter.settings
    if not snapshot.first_seen and snapshot.excluded:
        words = said(snapshot.excluded[0])
        raise KafkaUnavailable(words.what, next=words.next)
    if head is None:
        owners.check_no_traces(log, settings, snapshot.topics)
    for topic in sorted(snapshot.first_seen):
        owners.check_no_data(log, settings, topic, has_log=head is not None)
    new = {name: state for name, state in snapshot.topics.items() if name in snapshot.first_seen}
    known = head.entry.topics if head is not None else {}
    slot = EntrySlot(settings, request, snapshot.cluster_id, head)
    return put(log, entry(slot, Kind.CHECKPOINT, {**known, **new}))


def accept(
    exporter: Exporter,
    request: RunRequest,
    head: Committed,
    snapshot: KafkaSnapshot,
    excluded: Sequence[ExcludedPartition],
    tell: Tell,
    *,
    closes: OpenPlan | None = None,
) -> Committed:
    """Write down that anomalies are accepted, so that their partitions go on; `closes`: the plan that this ends."""
    resolution = accepted(exporter.settings, head.entry, snapshot, excluded)
    slot = EntrySlot(exporter.settings, request, snapshot.cluster_id, head)
    checkpoint = entry(
        slot,
        Kind.CHECKPOINT,
        resolution.topics,
        closes=closes,
        failed=resolution.failed,
        gaps=resolution.gaps,
        restarts=resolution.restarts,
        reason=resolution.reason,
    )
    committed = put(exporter.log, checkpoint)
    tell(PositionsAccepted(seq=committed.entry.seq, reason=resolution.reason))
    return committed
