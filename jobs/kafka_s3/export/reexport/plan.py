"""From the live log and Kafka to the plan of a window: which ranges, and from where each is taken. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_s3 import __version__
from kafka_s3.commit_log import Entry, Interval, Plan, PlannedRange, RangeEntry, RunPlan
from kafka_s3.errors import ConfigurationError, DataError, KafkaUnavailable, TemporaryError
from kafka_s3.export.log import Committed, Log
from kafka_s3.export.planner import World
from kafka_s3.export.reexport.copies import dated, is_inside
from kafka_s3.export.reexport.select import Candidate, LiveRange, candidates, surely_before
from kafka_s3.export.reexport.window import window_id
from kafka_s3.naming import KeyLayout, Naming
from kafka_s3.planning import RunRequest
from kafka_s3.ports import Broker, ObjectStore
from kafka_s3.settings.model import Settings
from kafka_s3.troubles import Trouble

NAMED_MAX: Final = 10  # objects named in one message
_CANNOT_FILTER: Final = (
    "Kafka no longer has these records, and objects are copied as a whole. Export a window that holds them completely,"
    " or read the live objects and filter them. For the future: export.timestamps.enable=true (where the configuration"
    " does not look at timestamps anyway), smaller objects, or hourly paths by timestamp.extractor=Record."
)


@dataclass(frozen=True, slots=True)
class Live:
    """The live export, as a window's plan needs it: its newest entry, and the world around it."""

    settings: Settings
    log: Log
    head: Committed
    world: World


def check_reached(live: Live, broker: Broker, window: Interval, now_ms: int) -> None:
    """Raise `TemporaryError` while the live export may still commit records of a window: it is written only once."""
    entry = live.head.entry
    reached_ms = entry.reached_ms(now_ms)
    if reached_ms is not None and window.end_ms <= reached_ms and not _is_cut(entry, window):
        return
    later = "The live export comes first: try again after its next run."
    if now_ms < window.end_ms:
        raise TemporaryError(f"The window {window_id(window)} is not over yet.", next=later)
    tps = live.world.exportable()
    timed = broker.offsets_for_time(tps, window.end_ms)
    for tp in tps:
        found, seen = timed[tp], live.world.offsets[tp]
        end = seen.last_stable if found is None else min(found.offset, seen.last_stable)
        if live.world.position(tp) < end:
            raise TemporaryError(
                f"{tp} is exported up to offset {live.world.position(tp)}, and its records before the end of the window"
                f" {window_id(window)} go on to {end}.",
                next=later,
            )


def _is_cut(entry: Entry, window: Interval) -> bool:
    """Whether limits left offsets of the window's time to a later batch."""
    return entry.unfinished is not None and entry.unfinished.start_ms < window.end_ms


def check_apart(settings: Settings, topics: Iterable[str], mine: KeyLayout) -> None:
    """Raise `ConfigurationError` if keys of a window could be read as keys of the live export."""
    if mine.naming is Naming.BLOCK_GZIP:  # a date follows its prefix, which a window's name is not
        return
    for topic in sorted(topics):
        live = settings.layout.topic_prefix(topic)
        if mine.topic_prefix(topic).startswith(live):
            raise ConfigurationError(
                f"Windows under {mine.topics_dir} would lie among the live data of topic {topic} under {live}.",
                next="Set export.reexport.topics.dir to another folder.",
            )


def make_plan(
    live: Live,
    store: ObjectStore,
    broker: Broker,
    request: RunRequest,
    head: Committed | None,
    gone: frozenset[LiveRange],
) -> Plan:
    """The plan of a window, empty if it has no records. `gone`: ranges that Kafka has no longer, found by reading.

    Raises `DataError` if some can be taken neither from Kafka nor from the bucket.
    """
    window = request.interval
    assert window is not None, "a window is checked before"
    found = candidates(live.log, live.head, window)
    here: list[Candidate] = []
    there: list[Candidate] = []
    for each in found:
        is_here = each.key not in gone and _is_in_kafka(each, live.world)
        (here if is_here else there).append(each)
    before = surely_before(live.log, there, window)
    there = [each for each in there if each.key not in before]
    ranges = [*_read(here, broker, window), *_copied(there, store, window)]
    ranges.sort(key=lambda each: (each.tp, each.generation or 0, each.start))
    return Plan(
        seq=0 if head is None else head.entry.seq + 1,
        connector=window_id(window),
        previous_sha256="" if head is None else head.sha256,
        engine=__version__,
        cluster_id=live.world.cluster_id,
        isolation_level=live.settings.kafka.isolation_level,
        configuration_sha256=live.settings.configuration_sha256,
        configuration=dict(live.settings.resolved),
        run=RunPlan(run_id=request.run_id, interval=window, ends={}),
        interval=window,
        topics=dict(live.world.topics),
        ranges=tuple(ranges),
        notes=_notes(live, here, there),
    )


def _is_in_kafka(each: Candidate, world: World) -> bool:
    """Whether Kafka still has what was exported: the same topic, nothing cut off at either end."""
    tp = each.done.tp
    view = world.views.get(tp.topic)
    if view is None or view.topic_id != each.topic_id:
        return False
    left = world.why_left_out(tp)
    if left is not None and left.trouble is Trouble.UNREACHABLE:
        raise KafkaUnavailable(str(left))
    seen = world.offsets.get(tp)
    if seen is None:
        return False
    ends = [seen.last_stable]
    if each.parted_at is not None:
        ends.append(each.parted_at)
    if left is not None and left.trouble is Trouble.TRUNCATED:
        ends.append(left.resume or 0)
    return each.done.start >= seen.log_start and each.done.next_offset <= min(ends)


def _read(here: Sequence[Candidate], broker: Broker, window: Interval) -> list[PlannedRange]:
    """What is read from Kafka. Of a range whose records' age is not known, what is surely too old is left out."""
    undated = sorted({each.done.tp for each in here if not each.is_dated})
    first = broker.offsets_for_time(undated, window.start_ms) if undated else {}
    ranges = []
    for each in here:
        done, start = each.done, each.done.start
        if not each.is_dated:
            timed = first[done.tp]
            start = done.next_offset if timed is None else max(start, timed.offset)
        if start < done.next_offset:
            ranges.append(
                PlannedRange(
                    done.topic, done.partition, start, done.next_offset, generation=each.generation, live=each.seq
                )
            )
    return ranges


def _copied(there: Sequence[Candidate], store: ObjectStore, window: Interval) -> list[PlannedRange]:
    """What is copied from the bucket: whole objects."""
    ranges, unclear = [], []
    for each in there:
        done = dated(store, each.done)
        inside = {made.key: is_inside(made, window) for made in done.objects}
        unclear += [key for key, answer in inside.items() if answer is None]
        if any(inside.values()):
            ranges.append(
                PlannedRange(
                    done.topic,
                    done.partition,
                    done.start,
                    done.next_offset,
                    generation=each.generation,
                    live=each.seq,
                    is_copied=True,
                )
            )
    if unclear:
        named = ", ".join(unclear[:NAMED_MAX]) + (
            f" and {len(unclear) - NAMED_MAX} more" if unclear[NAMED_MAX:] else ""
        )
        raise DataError(
            f"The window {window_id(window)} cannot be exported again: which records of {named} are in it is not known,"
            " or not all of them are.",
            next=_CANNOT_FILTER,
        )
    return ranges


def _notes(live: Live, here: Sequence[Candidate], there: Sequence[Candidate]) -> tuple[str, ...]:
    notes = [f"of the live log up to entry {live.head.entry.seq}"]
    undated = sum(not each.is_dated for each in here)
    if undated:
        notes.append(
            f"{undated} ranges have no timestamps in the log and are read from the window's first offset to their end:"
            " right, but slower; export.timestamps.enable=true spares it for what is exported from then on"
        )
    if there:
        notes.append(f"{len(there)} ranges are gone from Kafka: their objects are copied")
    notes += [f"not exported, so not in the window: {left}" for left in live.world.left_out]
    notes += [f"failed, so not in the window: {each.tp} [{each.start}, …)" for each in live.head.entry.failed]
    return tuple(notes)


def live_ranges(log: Log, plan: Plan) -> Mapping[PlannedRange, RangeEntry]:
    """What the live log says of each range of a window's plan. Raises `DataError` if it no longer says anything."""
    found: dict[PlannedRange, RangeEntry] = {}
    entries: dict[int, Entry] = {}
    for planned in plan.ranges:
        seq = planned.live
        if seq is not None and seq not in entries:
            committed = log.entry(seq)
            if committed is not None:
                entries[seq] = committed.entry
        entry = entries.get(seq) if seq is not None else None
        for done in entry.ranges if entry is not None else ():
            if done.tp == planned.tp and done.start <= planned.start < done.next_offset == planned.end:
                found[planned] = done
        if planned not in found:
            raise DataError(
                f"The plan of window {plan.connector} names {planned.offsets} of log entry {seq}, which has none such.",
                next="The log or the plan was edited or restored: compare them with the bucket's versions.",
            )
    return found
