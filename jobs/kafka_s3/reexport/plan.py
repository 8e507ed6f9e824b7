"""From the live log and Kafka to the plan of a window: which ranges, and from where each is taken. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from kafka_s3 import __version__
from kafka_s3.bucket.window import window_id
from kafka_s3.errors import ConfigurationError, DataError, KafkaUnavailable, TopicMissing
from kafka_s3.log.entries import Entry, Interval, Plan, PlannedRange, RangeEntry, RunPlan
from kafka_s3.log.store import Committed, Log
from kafka_s3.naming import KeyLayout, Naming
from kafka_s3.plan.anomalies import Anomaly
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.planner import KafkaSnapshot, observe
from kafka_s3.ports import Broker, ObjectStore, TimedOffset
from kafka_s3.ranges import TopicPartition
from kafka_s3.reexport.copies import dated, is_inside
from kafka_s3.reexport.readiness import Live, refuse
from kafka_s3.reexport.select import Candidate, Found, LiveRange, find, surely_before
from kafka_s3.settings.model import Settings

NAMED_MAX: Final = 10  # objects named in one message
_CANNOT_FILTER: Final = (
    "Kafka no longer has these records, and objects are copied as a whole. Export a window that holds them completely,"
    " or read the live objects and filter them. For the future: export.timestamps.enable=true (where the configuration"
    " does not look at timestamps anyway), smaller objects, or hourly paths by timestamp.extractor=Record."
)


@dataclass(frozen=True, slots=True)
class _Answers:
    """What Kafka said about ranges without timestamps, and the snapshot after that: what is there now was there then.

    `first`: each partition's first record at or after the window's start. `whole`: the topics of which that says
    nothing, since compaction may have taken a record of the window in front of it.
    """

    snapshot: KafkaSnapshot
    first: Mapping[TopicPartition, TimedOffset | None]
    whole: frozenset[str]


def check_apart(settings: Settings, topics: Iterable[str], mine: KeyLayout) -> None:
    """Raise `ConfigurationError` if keys of a window could be read as keys of the live export."""
    if mine.naming is Naming.BLOCK_GZIP:  # a date follows its prefix, which a window's name is not
        return
    if not mine.topic_folder:  # its keys have as many folders as the configuration says, and a window adds to them
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
    first_generation: int,
) -> Plan:
    """The plan of a window, empty if it has no records. `gone`: ranges that Kafka has no longer, found by reading.
    `first_generation`: what the generations of its names begin with.

    Raises `DataError` if some can be taken neither from Kafka nor from the bucket, `TemporaryError` if some were
    rewound and are not exported again yet.
    """
    window = request.interval
    assert window is not None, "a window is checked before"
    found = find(live.log, live.head, window)
    _check_not_withdrawn(live, found, window)
    answers = _ask(live, broker, found.candidates, window)
    here: list[Candidate] = []
    there: list[Candidate] = []
    for each in found.candidates:
        is_here = each.key not in gone and _is_in_kafka(each, answers.snapshot)
        (here if is_here else there).append(each)
    unclear = [*there, *(each for each in here if each.done.topic in answers.whole)]
    before = surely_before(live.log, unclear, window)
    here = [each for each in here if each.key not in before]
    there = [each for each in there if each.key not in before]
    ranges = [*_read(here, answers), *_copied(there, store, window)]
    ranges = [msgspec.structs.replace(each, generation=(each.generation or 0) + first_generation) for each in ranges]
    ranges.sort(key=lambda each: (each.tp, each.generation or 0, each.start))
    return Plan(
        live_epoch=live.log.layout.epoch or None,
        seq=0 if head is None else head.entry.seq + 1,
        connector=window_id(window),
        previous_sha256="" if head is None else head.sha256,
        engine=__version__,
        cluster_id=answers.snapshot.cluster_id,
        isolation_level=live.settings.kafka.isolation_level,
        configuration_sha256=live.settings.configuration_sha256,
        configuration=dict(live.settings.resolved),
        run=RunPlan(run_id=request.run_id, interval=window, ends={}),
        interval=window,
        topics=dict(answers.snapshot.topics),
        ranges=tuple(ranges),
        notes=_notes(live, answers, here, there),
    )


def _is_in_kafka(each: Candidate, snapshot: KafkaSnapshot) -> bool:
    """Whether Kafka still has what was exported: the same topic, nothing cut off at either end."""
    tp = each.done.tp
    view = snapshot.views.get(tp.topic)
    if view is None or view.topic_id != each.topic_id:
        return False
    left = snapshot.why_excluded(tp)
    if left is not None and left.anomaly is Anomaly.UNREACHABLE:
        raise KafkaUnavailable(str(left))
    seen = snapshot.offsets.get(tp)
    if seen is None:
        return False
    ends = [seen.last_stable]
    if each.truncated_at is not None:
        ends.append(each.truncated_at)
    if left is not None and left.anomaly is Anomaly.TRUNCATED:
        ends.append(left.resume or 0)
    return each.done.start >= seen.log_start and each.done.next_offset <= min(ends)


def _check_not_withdrawn(live: Live, found: Found, window: Interval) -> None:
    waiting = []
    for tp, end in sorted(found.withdrawn.items()):
        seen = live.snapshot.offsets.get(tp)
        if seen is not None and live.snapshot.position(tp) < min(end, seen.high_watermark):
            at = live.snapshot.position(tp)
            waiting.append(f"{tp} was rewound, and of what was exported up to {end} only [0, {at}) is again")
    refuse(window, waiting)


def _ask(live: Live, broker: Broker, found: Sequence[Candidate], window: Interval) -> _Answers:
    try:
        return _asked(live, live.snapshot, broker, found, window)
    except TopicMissing:  # one that is deleted between two questions: what is left of it is in the bucket
        return _asked(live, observe(live.settings, broker, live.head), broker, found, window)


def _asked(
    live: Live, snapshot: KafkaSnapshot, broker: Broker, found: Sequence[Candidate], window: Interval
) -> _Answers:
    undated = sorted({each.done.tp for each in found if not each.is_dated and _is_in_kafka(each, snapshot)})
    if not undated:
        return _Answers(observe(live.settings, broker, live.head), {}, frozenset())
    first = broker.offsets_for_time(undated, window.start_ms)
    topics = {tp.topic for tp in undated}
    policies = broker.cleanup_policies(topics)
    whole = frozenset(topic for topic in topics if "compact" in policies.get(topic, {"compact"}))
    return _Answers(observe(live.settings, broker, live.head), first, whole)


def _read(here: Sequence[Candidate], answers: _Answers) -> list[PlannedRange]:
    """What is read from Kafka. Of a range whose records' age is not known, what is surely too old is left out."""
    ranges = []
    for each in here:
        done, start = each.done, each.done.start
        if not each.is_dated and done.topic not in answers.whole and done.tp in answers.first:
            timed = answers.first[done.tp]
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


def _notes(live: Live, answers: _Answers, here: Sequence[Candidate], there: Sequence[Candidate]) -> tuple[str, ...]:
    notes = [f"of the live log up to entry {live.head.entry.seq}"]
    undated = [each for each in here if not each.is_dated]
    whole = sum(each.done.topic in answers.whole for each in undated)
    spared = "right, but slower; export.timestamps.enable=true spares it for what is exported from then on"
    if len(undated) > whole:
        notes.append(
            f"{len(undated) - whole} ranges have no timestamps in the log and are read from the window's first offset"
            f" to their end: {spared}"
        )
    if whole:
        notes.append(
            f"{whole} ranges have no timestamps in the log, and their topics may be compacted: they are read from their"
            f" start, {spared}"
        )
    if there:
        notes.append(f"{len(there)} ranges are gone from Kafka: their objects are copied")
    notes += [f"not exported, and without records of the window: {left}" for left in live.snapshot.excluded]
    notes += [f"failed, and behind the window: {each.tp} [{each.start}, …)" for each in live.head.entry.failed]
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
                f"The plan of window {plan.connector} names {planned.offsets} of log entry {seq}, which has no such"
                " range.",
                next="The log or the plan was edited or restored: compare them with the bucket's versions.",
            )
    return found
