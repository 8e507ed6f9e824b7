"""From the newest entry and the broker's answers to the next plan. Reads only; `run` writes what comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import msgspec

from kafka_s3 import __version__
from kafka_s3.errors import TopicMissing
from kafka_s3.log.entries import Entry, FailedRange, Interval, Plan, RunPlan, TopicState
from kafka_s3.log.progress import goes_on_from_ms, has_passed, reached_ms
from kafka_s3.log.store import Committed
from kafka_s3.plan.anomalies import (
    ExcludedPartition,
    Resolution,
    anomaly_of,
    deleted,
    identified,
    missing,
    recreated,
    resolve,
    unreachable,
)
from kafka_s3.plan.batch import Batch, PinnedEnds, RunRequest, bytes_per_record, make_batch
from kafka_s3.plan.ends import Ends, Questions
from kafka_s3.plan.schedule import slots
from kafka_s3.plan.snapshot_retry import with_retry
from kafka_s3.ports import Broker, LogPoint, PartitionOffsets, TopicView
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.model import Settings
from kafka_s3.settings.run import Policies


@dataclass(frozen=True, slots=True)
class KafkaSnapshot:
    """What Kafka says, beside what the log says.

    `topics` holds every topic that may be exported, with the position of each of its partitions now; `first_seen`
    are those that the log does not know yet. `excluded` may not be exported as things are. `views`: the topics as
    Kafka describes them now.
    """

    cluster_id: str
    topics: Mapping[str, TopicState]
    first_seen: frozenset[str]
    offsets: Mapping[TopicPartition, PartitionOffsets]
    excluded: tuple[ExcludedPartition, ...]
    views: Mapping[str, TopicView]

    def position(self, tp: TopicPartition) -> int:
        return self.topics[tp.topic].positions[tp.partition]

    def exportable(self, without: Iterable[TopicPartition] = ()) -> list[TopicPartition]:
        """The partitions that may be planned, in order."""
        barred = {left.tp for left in self.excluded} | set(without)
        return sorted(tp for tp in self.offsets if tp not in barred)

    def allowed(self, policies: Policies) -> list[ExcludedPartition]:
        """What is excluded, and may go on as things are once that is written down."""
        return [left for left in self.excluded if left.is_allowed(policies)]

    def why_excluded(self, tp: TopicPartition) -> ExcludedPartition | None:
        return next((left for left in self.excluded if left.covers(tp)), None)


def observe(settings: Settings, broker: Broker, head: Committed | None) -> KafkaSnapshot:
    """Look at the configured topics: what is new, what is gone, where each partition begins and ends."""
    return with_retry(broker, lambda views: _observe(settings, broker, head, views))


def _observe(
    settings: Settings, broker: Broker, head: Committed | None, views: Mapping[str, TopicView]
) -> KafkaSnapshot:
    known = dict(head.entry.topics) if head is not None else {}
    absent = sorted(set(settings.topics) - set(views) - set(known))
    if absent and not any(settings.exports(name) for name in (*views, *known)):
        raise TopicMissing(
            f"Connector {settings.name} names topics that do not exist on the broker: {', '.join(absent)}.",
            next="Create them, or correct `topics`; the client also needs Describe permission on them.",
        )
    if settings.topics_regex is not None and not views and not known:
        raise TopicMissing(
            f"Connector {settings.name} exports the topics that match topics.regex={settings.topics_regex}, and none"
            " on the broker does.",
            next="Create one, or correct the pattern, which has to match a whole name; the client also needs Describe"
            " permission on them.",
        )
    excluded = [deleted(name, state) for name, state in known.items() if name not in views and settings.exports(name)]
    cluster_id = broker.cluster_id()
    known = {name: identified(state, views.get(name), cluster_id) for name, state in known.items()}
    others = {name for name, view in views.items() if name in known and known[name].topic_id != view.topic_id}
    excluded += [recreated(known[name], views[name]) for name in sorted(others)]
    readable = {name: view for name, view in views.items() if name not in others}
    excluded += [
        unreachable(TopicPartition(name, p)) for name, view in readable.items() for p in sorted(view.leaderless)
    ]
    # Where a partition begins is not known without a leader: such a topic is seen for the first time another time.
    readable = {name: view for name, view in readable.items() if name in known or not view.leaderless}
    offsets = broker.offsets(TopicPartition(name, p) for name, view in readable.items() for p in view.led)
    topics = {name: _state(settings, view, known.get(name), offsets) for name, view in readable.items()}
    truncated = truncated_logs(broker, topics, offsets)
    for tp, seen in sorted(offsets.items()):
        anomaly = anomaly_of(tp, topics[tp.topic].positions[tp.partition], seen, truncated.get(tp))
        if anomaly is not None:
            excluded.append(anomaly)
    excluded += [missing(name) for name in absent]
    topics = {name: _with_epochs(name, state, offsets, excluded) for name, state in topics.items()}
    new = frozenset(set(topics) - set(known))
    return KafkaSnapshot(cluster_id, {**known, **topics}, new, offsets, tuple(excluded), views)


def truncated_logs(
    broker: Broker, topics: Mapping[str, TopicState], offsets: Mapping[TopicPartition, PartitionOffsets]
) -> Mapping[TopicPartition, int]:
    """Where logs are no longer what they were below our positions; asked only where the leader changed."""
    points = {}
    for tp, seen in offsets.items():
        state = topics[tp.topic]
        position, epoch = state.positions[tp.partition], state.epochs.get(tp.partition)
        if position > 0 and epoch is not None and seen.leader_epoch not in (None, epoch):
            points[tp] = LogPoint(position, epoch)
    return broker.diverged(points) if points else {}


def _with_epochs(
    name: str,
    state: TopicState,
    offsets: Mapping[TopicPartition, PartitionOffsets],
    excluded: Sequence[ExcludedPartition],
) -> TopicState:
    """The leader epochs that positions are good for now; where something is wrong, the one that shows it stays."""
    barred = {left.tp for left in excluded}
    epochs = dict(state.epochs)
    for p in state.positions:
        seen = offsets.get(TopicPartition(name, p))
        if seen is not None and seen.leader_epoch is not None and TopicPartition(name, p) not in barred:
            epochs[p] = seen.leader_epoch
    return msgspec.structs.replace(state, epochs=dict(sorted(epochs.items())))


def _state(
    settings: Settings,
    view: TopicView,
    known: TopicState | None,
    offsets: Mapping[TopicPartition, PartitionOffsets],
) -> TopicState:
    """A topic's positions: the log's; 0 for a partition that appeared later; at first sight where it starts."""
    if known is not None:
        later = {p: 0 for p in view.partitions if p not in known.positions}
        positions = dict(sorted({**known.positions, **later}.items()))
        return msgspec.structs.replace(known, positions=positions)
    bounds = {p: offsets[TopicPartition(view.name, p)] for p in view.partitions}
    latest = settings.kafka.start == "latest"
    return TopicState(
        topic_id=view.topic_id,
        reached={},
        positions={p: seen.last_stable if latest else seen.log_start for p, seen in sorted(bounds.items())},
    )


NOWHERE: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Nothing is to be planned. `at_end`: the partitions that have come to the end of the run's interval, where no
    entry says so yet."""

    at_end: tuple[TopicPartition, ...]


def next_plan(
    settings: Settings,
    broker: Broker,
    snapshot: KafkaSnapshot,
    head: Committed,
    request: RunRequest,
    *,
    pinned: PinnedEnds | None = None,
    without: frozenset[TopicPartition] = frozenset(),
    marked: Mapping[str, int] = NOWHERE,
) -> Plan | CaughtUp:
    """The next plan of a run, of what has not reached its interval's end.

    `pinned` are the run's end offsets where an earlier plan of it wrote them; `without` failed in this run already.
    `marked`: by topic, the logical time before which paths are said to be complete (`marked_until`): what has reached
    nothing, since it is new or began again, waits for a later interval.
    """
    entry, now_ms = head.entry, request.now_ms
    tps = [tp for tp in snapshot.exportable(without) if not has_passed(entry, tp, request.interval, now_ms)]
    tps = [tp for tp in tps if not _is_marked(marked, tp, request.interval)]
    if not tps:
        return CaughtUp(())
    questions = Questions(broker, snapshot.topics, snapshot.offsets, now_ms)
    run_ends = questions.ends_of_run(tps, request.interval, pinned)
    behind = [tp for tp in tps if run_ends.offsets[tp] > snapshot.position(tp)]
    again = [failed for failed in to_repeat(settings, snapshot, head) if failed.tp in set(behind)]
    at_end = {tp: snapshot.position(tp) for tp in tps if tp not in set(behind)}
    held = {failed.tp for failed in again}
    for slot in _slots(settings, head, request, [tp for tp in behind if tp not in held]) if behind else ():
        due = [tp for tp in behind if _is_due(entry, tp, slot, request) and not _is_marked(marked, tp, slot)]
        ends = run_ends if slot == request.interval else questions.ends_of(due, slot)
        wanted = [
            OffsetRange(tp, snapshot.position(tp), max(snapshot.position(tp), _end(snapshot, tp, ends, run_ends)))
            for tp in due
        ]
        times = {tp: time for tp in due if (time := _own_time(entry, tp, slot, now_ms)) is not None}
        batch = make_batch(wanted, again, settings.limits, bytes_per_record(entry), times)
        if batch.ranges:
            run = RunPlan(run_id=request.run_id, interval=request.interval, ends=_nested(run_ends.offsets))
            ends_of_plan = ends.and_of(run_ends)
            until = {**at_end, **{tp: ends.offsets[tp] for tp in due}} if _counts(snapshot, slot, now_ms) else {}
            return _plan(settings, snapshot, head, run, slot, ends_of_plan, until, batch)
    return CaughtUp(tuple(at_end) if _counts(snapshot, request.interval, now_ms) else ())


def _counts(snapshot: KafkaSnapshot, interval: Interval | None, now_ms: int) -> bool:
    """Whether what comes to an interval's end has reached it: it is over, and no topic was there that nobody could look
    at. That one is in no entry yet, so none could say that it is missing."""
    unseen = any(left.tp.topic not in snapshot.topics for left in snapshot.excluded)
    return interval is not None and interval.end_ms <= now_ms and not unseen


def _is_due(entry: Entry, tp: TopicPartition, slot: Interval | None, request: RunRequest) -> bool:
    """Whether a batch for an interval may hold records of a partition: not for one that it has reached.

    One that has reached nothing goes on where the connector does, as it did when it was lost sight of.
    """
    if slot is None:
        return True
    at = reached_ms(entry, tp, request.now_ms)
    if at is None and slot not in (request.interval, entry.unfinished):
        at = goes_on_from_ms(entry, tp, request.now_ms)
    return at is None or at < slot.end_ms


def _is_marked(marked: Mapping[str, int], tp: TopicPartition, slot: Interval | None) -> bool:
    return slot is not None and tp.topic in marked and slot.start_ms < marked[tp.topic]


def _own_time(entry: Entry, tp: TopicPartition, slot: Interval | None, now_ms: int) -> Interval | None:
    """The logical time of a partition's range where it is not its plan's: there is none, or a part of it is past."""
    if slot is None:
        return Interval(now_ms, now_ms)
    at = reached_ms(entry, tp, now_ms)
    return None if at is None or at <= slot.start_ms else Interval(at, slot.end_ms)


def _end(snapshot: KafkaSnapshot, tp: TopicPartition, ends: Ends, run_ends: Ends) -> int:
    """Where a range ends: an end that was written down earlier may lie above what can be read by now."""
    return min(ends.offsets[tp], run_ends.offsets[tp], snapshot.offsets[tp].last_stable)


def failed_under(settings: Settings, entry: Entry) -> tuple[FailedRange, ...]:
    """The ranges that an entry names as failed, to be planned again; under another configuration all is planned
    afresh."""
    return entry.failed if entry.configuration_sha256 == settings.configuration_sha256 else ()


def accepted(
    settings: Settings, entry: Entry, snapshot: KafkaSnapshot, excluded: Iterable[ExcludedPartition]
) -> Resolution:
    """What the entry after `entry` says if excluded partitions are accepted: what is new has to be looked at first, so
    it has the same topics."""
    made = resolve(snapshot.topics, failed_under(settings, entry), excluded, snapshot.views, snapshot.offsets)
    made.topics = {name: made.topics[name] for name in entry.topics}
    return made


def to_repeat(settings: Settings, snapshot: KafkaSnapshot, head: Committed) -> tuple[FailedRange, ...]:
    """Ranges that failed are planned again as they were.

    Not under another configuration, and not where the log no longer reaches so far: it was truncated above the
    position, and what it will hold there one day are other records.
    """
    before = failed_under(settings, head.entry)
    cut = {
        failed.tp
        for failed in before
        if failed.tp in snapshot.offsets and failed.end > snapshot.offsets[failed.tp].last_stable
    }
    return tuple(failed for failed in before if failed.tp not in cut)


def _slots(
    settings: Settings, head: Committed, request: RunRequest, tps: Sequence[TopicPartition]
) -> list[Interval | None]:
    """The intervals to look at, oldest first: schedule boundaries that partitions have missed get a batch each."""
    if request.interval is None:
        return [None]
    times = [at for tp in tps if (at := goes_on_from_ms(head.entry, tp, request.now_ms)) is not None]
    left, since_ms, first = head.entry.unfinished, min(times, default=None), []
    if left is not None and left.end_ms <= request.interval.start_ms and (since_ms is None or since_ms > left.start_ms):
        first, since_ms = [left], max(left.end_ms, since_ms or 0)
    return [*first, *slots(settings.schedule, since_ms, request.interval, settings.limits.catchup_batches_max)]


def _plan(
    settings: Settings,
    snapshot: KafkaSnapshot,
    head: Committed,
    run: RunPlan,
    interval: Interval | None,
    ends_of_plan: Ends,
    until: Mapping[TopicPartition, int],
    batch: Batch,
) -> Plan:
    """`ends_of_plan`: where a rule was bent; `until`: where partitions have come to the end of `interval`."""
    owned = {planned.topic for planned in batch.ranges}
    topics = {
        name: msgspec.structs.replace(state, owned=state.owned or name in owned)
        for name, state in snapshot.topics.items()
    }
    bent: dict[str, tuple[int, ...]] = {}
    for tp in sorted(ends_of_plan.bent):
        bent[tp.topic] = (*bent.get(tp.topic, ()), tp.partition)
    return Plan(
        seq=head.entry.seq + 1,
        connector=settings.name,
        previous_sha256=head.sha256,
        engine=__version__,
        cluster_id=snapshot.cluster_id,
        isolation_level=settings.kafka.isolation_level,
        configuration_sha256=settings.configuration_sha256,
        configuration=dict(settings.resolved),
        run=run,
        interval=interval,
        topics=topics,
        ranges=batch.ranges,
        more=batch.more,
        notes=ends_of_plan.notes,
        ends=_nested(until),
        bent=bent,
    )


def _nested(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[int, int]]:
    nested: dict[str, dict[int, int]] = {}
    for tp, offset in sorted(offsets.items()):
        nested.setdefault(tp.topic, {})[tp.partition] = offset
    return nested
