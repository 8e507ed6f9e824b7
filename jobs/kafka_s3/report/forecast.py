"""What the next run would do. Reads only: the bucket stays as it is, also at the first sight of a topic."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_s3.bucket import owners
from kafka_s3.export import append
from kafka_s3.export.closing import why_not_finished
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.marker_progress import marked_until, why_marked
from kafka_s3.export.schemas import with_schemas
from kafka_s3.log.documents import encode
from kafka_s3.log.entries import Kind, Plan, sha256_of
from kafka_s3.log.store import Committed
from kafka_s3.plan.anomalies import ExcludedPartition
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.planner import CaughtUp, KafkaSnapshot, next_plan, observe
from kafka_s3.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Finish:
    """A plan whose driver died, or is at work: the next run finishes it first."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Void:
    """A plan whose driver died and which nobody can finish as planned: the next run voids it and plans anew."""

    plan: Plan
    reason: str


@dataclass(frozen=True, slots=True)
class Make:
    """A new plan."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing is new."""


Step = Finish | Void | Make | Nothing


@dataclass(frozen=True, slots=True)
class Forecast:
    """What comes next, which topics a run would see for the first time, and what it would leave out.

    `accepted`: anomalies that the configuration allows. A run writes them down first; the plan shown here is that of
    the other partitions.
    """

    step: Step
    first_seen: tuple[str, ...]
    excluded: tuple[ExcludedPartition, ...]
    accepted: tuple[ExcludedPartition, ...] = ()


def forecast(exporter: Exporter, request: RunRequest) -> Forecast:
    """The next plan as a run would make it now, or the open one. Raises what would stop the run."""
    exporter = exporter.at_work()
    settings, log = exporter.settings, exporter.log
    head = log.newest()
    snapshot = observe(settings, exporter.broker, head)
    if head is None:
        owners.check_no_traces(log, settings, snapshot.topics)
    for topic in sorted(snapshot.first_seen):
        owners.check_no_data(log, settings, topic, has_log=head is not None)
    step = _step(exporter, head, snapshot, request)
    accepted = tuple(left for left in snapshot.excluded if left.is_allowed(settings.policies))
    excluded = tuple(left for left in snapshot.excluded if left not in accepted)
    return Forecast(step, tuple(sorted(snapshot.first_seen)), excluded, accepted)


def _step(exporter: Exporter, head: Committed | None, snapshot: KafkaSnapshot, request: RunRequest) -> Step:
    settings = exporter.settings
    opened = None if head is None else exporter.log.open_plan(head)
    if opened is not None:
        reason = why_not_finished(opened.plan, settings) or why_marked(settings, exporter.log, opened.plan, {})
        return Finish(opened.plan) if reason is None else Void(opened.plan, reason)
    head, marked = head or _first_entry(settings, snapshot, request), marked_until(settings, exporter.log)
    step = next_plan(settings, exporter.broker, snapshot, head, request, marked=marked)
    return Nothing() if isinstance(step, CaughtUp) else Make(with_schemas(exporter, step, head))


def _first_entry(settings: Settings, snapshot: KafkaSnapshot, request: RunRequest) -> Committed:
    """The entry that a first run writes before it plans, in memory only."""
    entry = append.entry(
        append.EntrySlot(settings, request, snapshot.cluster_id, None), Kind.CHECKPOINT, snapshot.topics
    )
    return Committed(entry, sha256_of(encode(entry)))
