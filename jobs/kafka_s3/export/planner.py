"""From the newest entry and the broker's answers to the next plan. Reads only; `run` writes what comes out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from kafka_s3 import __version__
from kafka_s3.commit_log import FailedRange, Interval, Plan, PlannedRange, RunPlan, TopicState
from kafka_s3.errors import EXIT_DATA, EXIT_TEMPORARY, TopicMissing
from kafka_s3.export.entries import failed_under
from kafka_s3.export.log import Committed
from kafka_s3.export.task import Failure
from kafka_s3.planning import Batch, PinnedEnds, RunRequest, bytes_per_record, end_offset, make_batch
from kafka_s3.ports import Broker, LogPoint, PartitionOffsets, TopicView
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.schedule import slots
from kafka_s3.settings.model import Settings
from kafka_s3.troubles import LeftOut, deleted, recreated, trouble_with, unreachable


@dataclass(frozen=True, slots=True)
class World:
    """What Kafka says, beside what the log says.

    `topics` holds every topic that may be exported, with the position of each of its partitions now; `first_seen`
    are those that the log does not know yet. `left_out` may not be exported as things are. `views`: the topics as
    Kafka describes them now.
    """

    cluster_id: str
    topics: Mapping[str, TopicState]
    first_seen: frozenset[str]
    offsets: Mapping[TopicPartition, PartitionOffsets]
    left_out: tuple[LeftOut, ...]
    views: Mapping[str, TopicView]

    def position(self, tp: TopicPartition) -> int:
        return self.topics[tp.topic].positions[tp.partition]

    def exportable(self, without: Iterable[TopicPartition] = ()) -> list[TopicPartition]:
        """The partitions that may be planned, in order."""
        barred = {left.tp for left in self.left_out} | set(without)
        return sorted(tp for tp in self.offsets if tp not in barred)

    def why_left_out(self, tp: TopicPartition) -> LeftOut | None:
        return next((left for left in self.left_out if left.covers(tp)), None)


def observe(settings: Settings, broker: Broker, head: Committed | None) -> World:
    """Look at the configured topics: what is new, what is gone, where each partition begins and ends."""
    try:
        return _observe(settings, broker, head)
    except TopicMissing:  # one that is deleted between two questions holds up no other
        return _observe(settings, broker, head)


def _observe(settings: Settings, broker: Broker, head: Committed | None) -> World:
    views = broker.topics()
    known = dict(head.entry.topics) if head is not None else {}
    missing = sorted(set(settings.topics) - set(views) - set(known))
    if missing:
        raise TopicMissing(
            f"Connector {settings.name} names topics that do not exist on the broker: {', '.join(missing)}.",
            next="Create them, or correct `topics`; the client also needs Describe permission on them.",
        )
    if settings.topics_regex is not None and not views and not known:
        raise TopicMissing(
            f"Connector {settings.name} exports the topics that match topics.regex={settings.topics_regex}, and none"
            " on the broker does.",
            next="Create one, or correct the pattern, which has to match a whole name; the client also needs Describe"
            " permission on them.",
        )
    left_out = [deleted(name, state) for name, state in known.items() if name not in views and settings.exports(name)]
    others = {name for name, view in views.items() if name in known and known[name].topic_id != view.topic_id}
    left_out += [recreated(known[name], views[name]) for name in sorted(others)]
    readable = {name: view for name, view in views.items() if name not in others}
    left_out += [
        unreachable(TopicPartition(name, p)) for name, view in readable.items() for p in sorted(view.leaderless)
    ]
    # Where a partition begins is not known without a leader: such a topic is seen for the first time another time.
    readable = {name: view for name, view in readable.items() if name in known or not view.leaderless}
    offsets = broker.offsets(TopicPartition(name, p) for name, view in readable.items() for p in view.led)
    topics = {name: _state(settings, view, known.get(name), offsets) for name, view in readable.items()}
    parted = parted_logs(broker, topics, offsets)
    for tp, seen in sorted(offsets.items()):
        trouble = trouble_with(tp, topics[tp.topic].positions[tp.partition], seen, parted.get(tp))
        if trouble is not None:
            left_out.append(trouble)
    topics = {name: _with_epochs(name, state, offsets, left_out) for name, state in topics.items()}
    new = frozenset(set(topics) - set(known))
    return World(broker.cluster_id(), {**known, **topics}, new, offsets, tuple(left_out), views)


def parted_logs(
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
    name: str, state: TopicState, offsets: Mapping[TopicPartition, PartitionOffsets], left_out: Sequence[LeftOut]
) -> TopicState:
    """The leader epochs that positions are good for now; where something is wrong, the one that shows it stays."""
    barred = {left.tp for left in left_out}
    epochs = dict(state.epochs)
    for p in state.positions:
        seen = offsets.get(TopicPartition(name, p))
        if seen is not None and seen.leader_epoch is not None and TopicPartition(name, p) not in barred:
            epochs[p] = seen.leader_epoch
    return msgspec.structs.replace(state, epochs=dict(sorted(epochs.items())))


def changed_while_read(broker: Broker, plan: Plan, read: Sequence[PlannedRange]) -> Mapping[TopicPartition, Failure]:
    """Partitions whose records, of ranges that were read, may not be those of the log that was planned, and why."""
    try:
        return _changed_while_read(broker, plan, read)
    except TopicMissing:
        return _changed_while_read(broker, plan, read)


def _changed_while_read(broker: Broker, plan: Plan, read: Sequence[PlannedRange]) -> Mapping[TopicPartition, Failure]:
    ends: dict[TopicPartition, int] = {}
    for planned in read:
        ends[planned.tp] = max(planned.end, ends.get(planned.tp, 0))
    views = broker.topics()
    why: dict[TopicPartition, Failure] = {}
    for tp in ends:
        view = views.get(tp.topic)
        if view is None or view.topic_id != plan.topics[tp.topic].topic_id:
            why[tp] = _changed(tp, f"topic {tp.topic} was deleted or created again while it was read.")
        elif tp.partition in view.leaderless:  # a retry reads it again, and keeps back no other partition
            why[tp] = Failure(f"{tp}: its leader went away before it was known that its log stayed.", EXIT_TEMPORARY)
    offsets = broker.offsets(tp for tp in ends if tp not in why)
    points = {}
    for tp, seen in offsets.items():
        epoch = plan.topics[tp.topic].epochs.get(tp.partition)
        if epoch is not None and seen.leader_epoch not in (None, epoch):
            points[tp] = LogPoint(ends[tp], epoch)
    parted = broker.diverged(points) if points else {}
    for tp, seen in offsets.items():
        if tp in parted or seen.high_watermark < ends[tp]:
            at = parted.get(tp, seen.high_watermark)
            why[tp] = _changed(tp, f"the log was truncated at {at} while it was read (an unclean leader election).")
    return why


def _changed(tp: TopicPartition, why: str) -> Failure:
    return Failure(f"{tp}: {why}", EXIT_DATA, kafka_changed=True)


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
        positions={p: seen.last_stable if latest else seen.log_start for p, seen in sorted(bounds.items())},
    )


@dataclass(frozen=True, slots=True)
class Ends:
    """End offsets for one point in time, and where a rule was bent to find them."""

    offsets: Mapping[TopicPartition, int]
    notes: tuple[str, ...] = ()


FirstTimestamp = Callable[[TopicPartition], int | None]


def ends_for(
    broker: Broker,
    world: World,
    tps: list[TopicPartition],
    interval: Interval | None,
    now_ms: int,
    first_timestamp: FirstTimestamp,
) -> Ends:
    """Where to read up to for the records before the interval's end; without one, up to the LSO."""
    if interval is None:
        return Ends({tp: max(world.position(tp), world.offsets[tp].last_stable) for tp in tps})
    timed = broker.offsets_for_time(tps, interval.end_ms)
    ends: dict[TopicPartition, int] = {}
    notes: list[str] = []
    for tp in tps:
        start, bounds = world.position(tp), world.offsets[tp]
        first = functools.partial(first_timestamp, tp)
        ends[tp], note = end_offset(start, bounds, timed[tp], interval.end_ms, now_ms, first)
        if note:
            notes.append(f"{tp}: {note}")
    return Ends(ends, tuple(notes))


def next_plan(
    settings: Settings,
    broker: Broker,
    world: World,
    head: Committed,
    request: RunRequest,
    *,
    pinned: PinnedEnds | None = None,
    without: frozenset[TopicPartition] = frozenset(),
) -> Plan | None:
    """The next plan of a run, or `None` if nothing is new.

    `pinned` are the run's end offsets where an earlier plan of it wrote them; `without` failed in this run already.
    """
    tps = world.exportable(without)
    if pinned is None and is_passed(head, request):
        return _once_more(settings, world, head, request, frozenset(tps))

    @functools.cache  # a fetch each, whatever the number of boundaries that were missed
    def first_timestamp(tp: TopicPartition) -> int | None:
        return broker.first_timestamp(tp, world.position(tp), world.offsets[tp].last_stable)

    def ends_of(tps: list[TopicPartition], interval: Interval | None) -> Ends:
        return ends_for(broker, world, tps, interval, request.now_ms, first_timestamp)

    if pinned is None:
        run_ends = ends_of(tps, request.interval)
    else:
        again_from_start = [tp for tp in tps if not pinned.holds(tp, world.topics[tp.topic])]
        fresh = ends_of(again_from_start, request.interval)
        run_ends = Ends({**pinned.ends, **fresh.offsets}, fresh.notes)
    tps = [tp for tp in tps if run_ends.offsets.get(tp, 0) > world.position(tp)]
    again = [failed for failed in to_repeat(settings, world, head) if failed.tp in set(tps)]
    if not tps:
        return None
    for slot in _slots(settings, head, request):
        ends = run_ends
        if slot is not None and slot != request.interval:
            ends = ends_of(tps, slot)
        wanted = [
            OffsetRange(tp, world.position(tp), max(world.position(tp), _end(world, tp, ends, run_ends))) for tp in tps
        ]
        own_time = Interval(request.now_ms, request.now_ms) if slot is None else None
        batch = make_batch(wanted, again, settings.limits, bytes_per_record(head.entry), own_time)
        if batch.ranges:
            run = RunPlan(run_id=request.run_id, interval=request.interval, ends=_nested(run_ends.offsets))
            notes = tuple(dict.fromkeys((*ends.notes, *run_ends.notes)))
            return _plan(settings, world, head, run, slot, notes, batch)
    return None


def is_passed(head: Committed, request: RunRequest) -> bool:
    """Whether the log is at the end of a run's interval or beyond: a backfill of an old hour, or one more run of it.

    Such a run plans nothing new. What arrived late since lies at the position, and belongs to the next interval: taking
    it here would export live data under an old hour's name, or, by the rule for late records, up to the LSO.
    """
    interval, unfinished = request.interval, head.entry.unfinished
    reached_ms = head.entry.reached_ms(request.now_ms)
    if interval is None or reached_ms is None or interval.end_ms > reached_ms:
        return False
    return unfinished is None or unfinished.end_ms > interval.end_ms


def _once_more(
    settings: Settings, world: World, head: Committed, request: RunRequest, tps: frozenset[TopicPartition]
) -> Plan | None:
    """What failed of the run's own interval, as it was; `None` if nothing did."""
    interval = request.interval
    assert interval is not None, "a run without an interval is never passed"
    failed = [each for each in to_repeat(settings, world, head) if each.tp in tps]
    others = {each.tp for each in failed if each.interval is None or not _lies_in(each.interval, interval)}
    again = [each for each in failed if each.tp not in others]
    if not again:
        return None
    ends = {each.tp: max(other.end for other in again if other.tp == each.tp) for each in again}
    run = RunPlan(run_id=request.run_id, interval=interval, ends=_nested(ends))
    return _plan(settings, world, head, run, interval, (), make_batch([], again, settings.limits, None))


def _lies_in(inner: Interval, outer: Interval) -> bool:
    return outer.start_ms <= inner.start_ms and inner.end_ms <= outer.end_ms


def _end(world: World, tp: TopicPartition, ends: Ends, run_ends: Ends) -> int:
    """Where a range ends: an end that was written down earlier may lie above what can be read by now."""
    return min(ends.offsets[tp], run_ends.offsets[tp], world.offsets[tp].last_stable)


def to_repeat(settings: Settings, world: World, head: Committed) -> tuple[FailedRange, ...]:
    """Ranges that failed are planned again as they were.

    Not under another configuration, and not where the log no longer reaches so far: it was truncated above the
    position, and what it will hold there one day are other records.
    """
    before = failed_under(settings, head.entry)
    cut = {
        failed.tp
        for failed in before
        if failed.tp in world.offsets and failed.end > world.offsets[failed.tp].last_stable
    }
    return tuple(failed for failed in before if failed.tp not in cut)


def _slots(settings: Settings, head: Committed, request: RunRequest) -> list[Interval | None]:
    """The intervals to look at, oldest first: schedule boundaries that were missed get a batch each."""
    if request.interval is None:
        return [None]
    left, since_ms = head.entry.unfinished, head.entry.reached_ms(request.now_ms)
    first = [left] if left is not None and left.end_ms <= request.interval.start_ms else []
    return [*first, *slots(settings.schedule, since_ms, request.interval, settings.limits.catchup_batches_max)]


def _plan(
    settings: Settings,
    world: World,
    head: Committed,
    run: RunPlan,
    interval: Interval | None,
    notes: tuple[str, ...],
    batch: Batch,
) -> Plan:
    owned = {planned.topic for planned in batch.ranges}
    topics = {
        name: msgspec.structs.replace(state, owned=state.owned or name in owned) for name, state in world.topics.items()
    }
    return Plan(
        seq=head.entry.seq + 1,
        connector=settings.name,
        previous_sha256=head.sha256,
        engine=__version__,
        cluster_id=world.cluster_id,
        isolation_level=settings.kafka.isolation_level,
        configuration_sha256=settings.configuration_sha256,
        configuration=dict(settings.resolved),
        run=run,
        interval=interval,
        topics=topics,
        ranges=batch.ranges,
        more=batch.more,
        notes=notes,
    )


def _nested(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[int, int]]:
    nested: dict[str, dict[int, int]] = {}
    for tp, offset in sorted(offsets.items()):
        nested.setdefault(tp.topic, {})[tp.partition] = offset
    return nested
