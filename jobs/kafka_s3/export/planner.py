"""From the newest entry and the broker's answers to the next plan. Reads only; `run` writes what comes out."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from kafka_s3 import __version__
from kafka_s3.commit_log import FailedRange, Interval, Plan, RunPlan, TopicState
from kafka_s3.errors import TopicMissing
from kafka_s3.export.log import Committed
from kafka_s3.planning import Batch, LeftOut, RunRequest, bytes_per_record, end_offset, make_batch, why_left_out
from kafka_s3.ports import Broker, PartitionOffsets, TopicView
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.schedule import slots
from kafka_s3.settings.model import Settings


@dataclass(frozen=True, slots=True)
class World:
    """What Kafka says, beside what the log says.

    `topics` holds every topic that may be exported, with the position of each of its partitions now; `first_seen`
    are those that the log does not know yet. `left_out` may not be exported.
    """

    cluster_id: str
    topics: Mapping[str, TopicState]
    first_seen: frozenset[str]
    offsets: Mapping[TopicPartition, PartitionOffsets]
    left_out: tuple[LeftOut, ...]

    def position(self, tp: TopicPartition) -> int:
        return self.topics[tp.topic].positions[tp.partition]

    def exportable(self, without: Iterable[TopicPartition] = ()) -> list[TopicPartition]:
        """The partitions that may be planned, in order."""
        barred = {left.tp for left in self.left_out} | set(without)
        return sorted(tp for tp in self.offsets if tp not in barred)


def observe(settings: Settings, broker: Broker, head: Committed | None) -> World:
    """Look at the configured topics: what is new, what is gone, where each partition begins and ends."""
    views = broker.topics()
    known = dict(head.entry.topics) if head is not None else {}
    missing = sorted(set(settings.topics) - set(views) - set(known))
    if missing:
        raise TopicMissing(
            f"Connector {settings.name} names topics that do not exist on the broker: {', '.join(missing)}.",
            next="Create them, or correct `topics`; the client also needs Describe permission on them.",
        )
    left_out = [
        _gone(name, state) for name, state in known.items() if name not in views and _is_configured(settings, name)
    ]
    recreated = {name for name, view in views.items() if name in known and known[name].topic_id != view.topic_id}
    left_out += [_recreated(known[name], views[name]) for name in sorted(recreated)]
    readable = {name: view for name, view in views.items() if name not in recreated}
    offsets = broker.offsets(TopicPartition(name, p) for name, view in readable.items() for p in view.partitions)
    topics = {name: _state(settings, view, known.get(name), offsets) for name, view in readable.items()}
    world = World(broker.cluster_id(), {**known, **topics}, frozenset(set(topics) - set(known)), offsets, ())
    lost = [left for tp in world.exportable() if (left := why_left_out(tp, world.position(tp), offsets[tp]))]
    return World(world.cluster_id, world.topics, world.first_seen, offsets, (*left_out, *lost))


def _is_configured(settings: Settings, topic: str) -> bool:
    """Whether the connector asks for a topic; one that it no longer asks for keeps its positions in the log."""
    if settings.topics_regex is not None:
        return re.fullmatch(settings.topics_regex, topic) is not None
    return topic in settings.topics


def _gone(name: str, state: TopicState) -> LeftOut:
    return LeftOut(
        TopicPartition(name, min(state.positions, default=0)),
        f"topic {name} (id {state.topic_id}) was deleted: remove it from `topics`, or create it again.",
    )


def _recreated(state: TopicState, view: TopicView) -> LeftOut:
    return LeftOut(
        TopicPartition(view.name, min(view.partitions, default=0)),
        f"topic {view.name} was deleted and created again (id {state.topic_id} before, {view.topic_id} now): its"
        " offsets are other records.",
    )


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
        return TopicState(topic_id=view.topic_id, generation=known.generation, owned=known.owned, positions=positions)
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


def pinned_ends(run: RunPlan) -> dict[TopicPartition, int]:
    """The run's end offsets as an earlier plan of the same run wrote them down."""
    return {TopicPartition(topic, p): end for topic, parts in run.ends.items() for p, end in parts.items()}


def next_plan(
    settings: Settings,
    broker: Broker,
    world: World,
    head: Committed,
    request: RunRequest,
    *,
    pinned: Mapping[TopicPartition, int] | None = None,
    without: frozenset[TopicPartition] = frozenset(),
) -> Plan | None:
    """The next plan of a run, or `None` if nothing is new.

    `pinned` are the run's end offsets where an earlier plan of it wrote them; `without` failed in this run already.
    """
    tps = world.exportable(without)

    @functools.cache  # a fetch each, whatever the number of boundaries that were missed
    def first_timestamp(tp: TopicPartition) -> int | None:
        return broker.first_timestamp(tp, world.position(tp), world.offsets[tp].last_stable)

    def ends_of(tps: list[TopicPartition], interval: Interval | None) -> Ends:
        return ends_for(broker, world, tps, interval, request.now_ms, first_timestamp)

    run_ends = ends_of(tps, request.interval) if pinned is None else Ends(pinned)
    tps = [tp for tp in tps if run_ends.offsets.get(tp, 0) > world.position(tp)]
    again = [failed for failed in _to_repeat(settings, head) if failed.tp in set(tps)]
    if not tps:
        return None
    for slot in _slots(settings, head, request):
        ends = run_ends
        if slot is not None and slot != request.interval:
            ends = ends_of(tps, slot)
        wanted = [
            OffsetRange(tp, world.position(tp), max(world.position(tp), min(ends.offsets[tp], run_ends.offsets[tp])))
            for tp in tps
        ]
        own_time = Interval(request.now_ms, request.now_ms) if slot is None else None
        batch = make_batch(wanted, again, settings.limits, bytes_per_record(head.entry), own_time)
        if batch.ranges:
            run = RunPlan(run_id=request.run_id, interval=request.interval, ends=_nested(run_ends.offsets))
            notes = tuple(dict.fromkeys((*ends.notes, *run_ends.notes)))
            return _plan(settings, world, head, run, slot, notes, batch)
    return None


def _to_repeat(settings: Settings, head: Committed) -> tuple[FailedRange, ...]:
    """Ranges that failed are planned again as they were, unless the configuration is another one now."""
    same = head.entry.configuration_sha256 == settings.configuration_sha256
    return head.entry.failed if same else ()


def _slots(settings: Settings, head: Committed, request: RunRequest) -> list[Interval | None]:
    """The intervals to look at, oldest first: schedule boundaries that were missed get a batch each."""
    if request.interval is None:
        return [None]
    left, since_ms = head.entry.unfinished, head.entry.boundary_ms
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
