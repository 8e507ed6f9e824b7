"""Markers: a file beside the objects of a time partition that says nothing which came in time is missing.

    <topics.dir>/<topic>/<encoded partition>/_COMPLETE.json      put-if-absent, never deleted
    <log dir>/<connector>/complete/<n>.json                      up to where markers were written, for each topic

When a partition of time `[start, end)` of a topic is complete, with `due = end + lateness`:

    the connector has exported the topic up to `due`: by the newest entry each of its Kafka partitions has reached that
    time (`log.progress`); and
    under the extractor Record, every Kafka partition's position is at or above Kafka's first offset dated `due` or
    later, or above all there is where no record is. What an open transaction holds lies above every position.

So a record that came in time, that is before the first one dated `due` or later in its Kafka partition, is in an object
that a log entry lists. One that comes later is exported all the same, into its path. Under the extractor Wallclock a
path is of runs, not of records: the first rule is enough, and no run writes to a path that has its marker (`marked`).

The bucket is the only state: the newest of the `<n>` (the first key of one LIST) says where to go on, after any pause.
It is written after the markers, so after a crash some are put again, which changes nothing. Under Wallclock the paths
are claimed by one before the markers are, so that no run plans to write there meanwhile (`marked.why_marked`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from typing import Final

import msgspec

from kafka_s3 import __version__
from kafka_s3.bucket import owners
from kafka_s3.errors import KafkaUnavailable, LogDamaged, NotSigned, TopicMissing
from kafka_s3.events import (
    Event,
    MarkerForeign,
    MarkerFound,
    MarkerNotSigned,
    MarkerOfAnotherTime,
    MarkerWritten,
    Tell,
    nobody,
)
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.marker_progress import FORMAT_VERSION, MarkerProgress, how_far, is_by_record, joined, read
from kafka_s3.joda.buckets import Bucketer
from kafka_s3.joda.periods import Period, period_at
from kafka_s3.joda.zones import zone
from kafka_s3.log.entries import Interval
from kafka_s3.log.progress import complete_until_ms
from kafka_s3.log.store import Committed, Log
from kafka_s3.naming import marker_key
from kafka_s3.ordered_pool import AHEAD, PARALLEL, map_ordered, workers
from kafka_s3.plan.batch import interval_of
from kafka_s3.plan.changes import replaced_among
from kafka_s3.plan.planner import KafkaSnapshot, observe
from kafka_s3.ports import Put, TimedOffset
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings
from kafka_s3.settings.paths import TimePartitioner

#: Markers of one run, over all topics (or two a topic): a long pause is made up for run by run. Each is a PUT of about
#: 100 bytes for each Kafka partition of its topic, and each due time is one question to Kafka.
MARKERS_MAX: Final = 1000


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """Why a Kafka partition misses nothing: `position` is at or above `first_offset`, else `log_end`.

    `first_offset`: Kafka's first one dated `due_ms` or later, with its timestamp; without one, `log_end` is where the
    partition ended. Neither is asked for under the extractor Wallclock.
    """

    position: int
    first_offset: int | None = None
    first_timestamp_ms: int | None = None
    log_end: int | None = None


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """What a marker says. `key` and `sha256` are those of the log entry whose positions prove it."""

    format_version: int = FORMAT_VERSION
    connector: str
    topic: str
    path: str
    start_ms: int
    end_ms: int
    lateness_ms: int
    due_ms: int
    extractor: str
    rule: str
    seq: int
    key: str
    sha256: str
    partitions: dict[str, Proof]
    exporter: str = __version__


@dataclass(frozen=True, slots=True)
class Ran:
    """A run, well or not: what is complete follows from the log."""

    interval: Interval | None
    now_ms: int  # when it was planned, or later


_Partitions = dict[str, list[TopicPartition]]


@dataclass(slots=True)
class _Due:
    """Paths that may be complete, topic by topic and in order of time."""

    at_ms: int
    topic: str
    period: Period


@dataclass(slots=True)
class _Periods:
    """The periods of a time partitioner; those seen are kept, since topics share them."""

    bucketer: Bucketer
    _known: dict[int, Period | None] = field(default_factory=dict)

    def at(self, at_ms: int) -> Period | None:
        if at_ms not in self._known:
            self._known[at_ms] = period_at(self.bucketer, at_ms)
        return self._known[at_ms]

    def due(self, from_ms: int, until_ms: int, lateness_ms: int) -> Iterator[Period]:
        """Periods from the one of `from_ms` on that are over, lateness included, by `until_ms`."""
        period = self.at(from_ms)
        while period is not None and period.end_ms + lateness_ms <= until_ms:
            yield period
            period = self.at(period.end_ms)


def mark_complete(
    exporter: Exporter,
    ran: Ran,
    tell: Tell = nobody,
    *,
    markers_max: int = MARKERS_MAX,
) -> list[str]:
    """After a run, write the markers of what is complete by now, at most so many or two a topic; their keys.

    Without an interval nothing is known to be over, and nothing is written.
    """
    exporter = exporter.at_work()
    settings, log = exporter.settings, exporter.log
    head = log.newest() if settings.completeness is not None and ran.interval is not None else None
    if settings.completeness is None or ran.interval is None or head is None:
        return []
    by_time = settings.partitioner
    assert isinstance(by_time, TimePartitioner), "markers are refused for every other partitioner"
    periods = _Periods(Bucketer(by_time.duration_ms, by_time.path_format, zone(by_time.timezone), by_time.locale))
    snapshot = observe(settings, exporter.broker, head)
    number, reached = how_far(log)
    until = _exported(settings, head, ran.now_ms)
    if not is_by_record(settings):  # what is planned is written to its own path yet
        for topic, at_ms in _planned(log, head).items():
            until = {**until, topic: min(at_ms, until[topic])} if topic in until else until
    first = _first(settings, periods, ran.interval, ran.now_ms)
    new = {topic: first for topic in head.entry.topics if settings.exports(topic) and first is not None}
    through = {**new, **reached.through}
    lateness_ms = settings.completeness.lateness_ms
    share = max(2, markers_max // max(1, len(until)))  # two a topic at least, or a pause were never made up for
    due: list[_Due] = []
    for topic in sorted(until):
        if topic in through and not any(left.tp.topic == topic for left in snapshot.excluded):
            over = islice(periods.due(through[topic], until[topic], lateness_ms), share)
            due += [_Due(period.end_ms + lateness_ms, topic, period) for period in over]
    made = _prove(exporter, snapshot, head, sorted(due, key=lambda each: (each.at_ms, each.topic)))
    if made:  # Kafka's answers may be of other topics of the same names
        gone = replaced_among({each.topic for each in made}, exporter.broker.topics(), snapshot.topics)
        made = [each for each in made if each.topic not in gone]
    if made and not is_by_record(settings):
        reached = _claimed(reached, made)
        if log.put(log.layout.complete_key(number), msgspec.json.encode(reached)) is not Put.CREATED:
            return []  # another program writes markers: what is complete has them by the next run
        number += 1
        made = _unplanned(log, head, made)
    _write(log, settings, head, made, tell)
    for each in made:
        through[each.topic] = each.end_ms
    if through != reached.through:
        progress = msgspec.structs.replace(reached, through=through)
        log.put(log.layout.complete_key(number), msgspec.json.encode(progress))
    return [marker_key(settings.layout, each.topic, each.path) for each in made]


def proves(position: int, first: TimedOffset | None, log_end: int) -> bool:
    """Whether nothing in front of the first record of a time is still to be exported."""
    return position >= (log_end if first is None else first.offset)


def _exported(settings: Settings, head: Committed, now_ms: int) -> dict[str, int]:
    """Up to what time each topic is exported, as far as records were there when that was planned."""
    times = {
        topic: complete_until_ms(head.entry, [topic], now_ms) for topic in head.entry.topics if settings.exports(topic)
    }
    return {topic: until_ms for topic, until_ms in times.items() if until_ms is not None}


def _planned(log: Log, head: Committed) -> dict[str, int]:
    """The earliest logical time of what the open plan holds of each topic."""
    opened = log.open_plan(head)
    if opened is None:
        return {}
    times: dict[str, int] = {}
    for each in opened.plan.ranges:
        at_ms = interval_of(each.interval, opened.plan.interval).start_ms
        times[each.topic] = min(at_ms, times.get(each.topic, at_ms))
    return times


def _claimed(reached: MarkerProgress, made: Sequence[Marker]) -> MarkerProgress:
    """What is written before markers of runs' paths are: no run may plan to write there any more."""
    return msgspec.structs.replace(reached, claimed=joined(reached.claimed, {each.topic: each.end_ms for each in made}))


def _unplanned(log: Log, head: Committed, made: Sequence[Marker]) -> list[Marker]:
    """The markers whose paths nobody planned to write to before they were claimed (`marker_progress.why_marked`)."""
    now = log.newest()
    if now is None or now.sha256 != head.sha256:
        return []
    planned = _planned(log, head)
    return [each for each in made if each.due_ms <= planned.get(each.topic, each.due_ms)]


def _first(settings: Settings, periods: _Periods, interval: Interval, now_ms: int) -> int | None:
    """Where the markers of a topic begin: with what became due in this run's interval.

    Where a topic is exported from its end on (auto.offset.reset=latest), with the first path that begins after now:
    the one that is under way lacks its beginning.
    """
    assert settings.completeness is not None
    if settings.kafka.start == "latest":
        now = periods.at(now_ms)
        return None if now is None else now.end_ms
    first = periods.at(interval.start_ms - settings.completeness.lateness_ms)
    return None if first is None else first.start_ms


def _prove(exporter: Exporter, snapshot: KafkaSnapshot, head: Committed, due: Sequence[_Due]) -> list[Marker]:
    """The markers that can be proven; a topic's first that cannot ends its series."""
    made: list[Marker] = []
    stopped: set[str] = set()
    for at_ms, group in groupby(due, key=lambda each: each.at_ms):
        asked = [each for each in group if each.topic not in stopped]
        if not asked:
            continue
        proofs = _proofs(exporter, snapshot, head, [each.topic for each in asked], at_ms)
        for each in asked:
            if each.topic in proofs:
                made.append(_marker(exporter, head, each, proofs[each.topic]))
            else:
                stopped.add(each.topic)
    return made


def _first_offsets(
    exporter: Exporter, head: Committed, partitions: _Partitions, at_ms: int
) -> tuple[_Partitions, Mapping[TopicPartition, TimedOffset | None]]:
    """Kafka's first offsets of a time; without the topics that have lost a leader, or are gone, by now."""
    broker = exporter.broker
    try:
        return partitions, broker.offsets_for_time([tp for tps in partitions.values() for tp in tps], at_ms)
    except (TopicMissing, KafkaUnavailable):
        gone = {left.tp.topic for left in observe(exporter.settings, broker, head).excluded}
        there = {topic: tps for topic, tps in partitions.items() if topic not in gone}
        return there, broker.offsets_for_time([tp for tps in there.values() for tp in tps], at_ms)


def _proofs(
    exporter: Exporter, snapshot: KafkaSnapshot, head: Committed, topics: Sequence[str], at_ms: int
) -> dict[str, dict[str, Proof]]:
    """Of the topics that miss nothing before a time: why, for each of their Kafka partitions."""
    partitions = {
        topic: [TopicPartition(topic, p) for p in sorted(snapshot.topics[topic].positions)] for topic in topics
    }
    if not is_by_record(exporter.settings):
        return {
            topic: {str(tp.partition): Proof(position=snapshot.position(tp)) for tp in tps}
            for topic, tps in partitions.items()
        }
    # Where each log ended was asked before: a record that came since is not above the end, unseen.
    partitions, timed = _first_offsets(exporter, head, partitions, at_ms)
    proofs: dict[str, dict[str, Proof]] = {}
    for topic, tps in partitions.items():
        known = {tp: (snapshot.position(tp), timed[tp], snapshot.offsets[tp].high_watermark) for tp in tps}
        if all(proves(*each) for each in known.values()):
            proofs[topic] = {str(tp.partition): _proof(*each) for tp, each in known.items()}
    return proofs


def _proof(position: int, first: TimedOffset | None, log_end: int) -> Proof:
    if first is None:
        return Proof(position=position, log_end=log_end)
    return Proof(position=position, first_offset=first.offset, first_timestamp_ms=first.timestamp_ms)


def _marker(exporter: Exporter, head: Committed, due: _Due, proofs: dict[str, Proof]) -> Marker:
    settings = exporter.settings
    assert settings.completeness is not None
    lateness_ms = settings.completeness.lateness_ms
    record = is_by_record(settings)
    rule = (
        f"every record that stands before the first one dated {due.at_ms} or later in its Kafka partition is exported"
        if record
        else f"every run for an interval that begins before {due.period.end_ms} has ended"
    )
    return Marker(
        connector=settings.name,
        topic=due.topic,
        path=due.period.path,
        start_ms=due.period.start_ms,
        end_ms=due.period.end_ms,
        lateness_ms=lateness_ms,
        due_ms=due.at_ms,
        extractor="Record" if record else "Wallclock",
        rule=rule,
        seq=head.entry.seq,
        key=exporter.log.layout.log_key(head.entry.seq),
        sha256=head.sha256,
        partitions=proofs,
    )


def _write(log: Log, settings: Settings, head: Committed, made: Sequence[Marker], tell: Tell) -> None:
    """Put the markers, several at once. A topic that holds nothing yet is claimed first: its keys have one owner."""
    for topic in sorted({each.topic for each in made}):
        if not head.entry.topics[topic].owned:
            owners.claim(log, settings, topic)
    with workers(PARALLEL) as pool:
        put = partial(_put, log, settings)
        for event in map_ordered(pool, put, made, PARALLEL * AHEAD):
            tell(event)


def _put(log: Log, settings: Settings, marker: Marker) -> Event:
    key = marker_key(settings.layout, marker.topic, marker.path)
    if log.put(key, msgspec.json.encode(marker)) is Put.CREATED:
        return MarkerWritten(key=key)
    try:
        there = read(_MARKER, key, log.get(key))
    except NotSigned as error:
        return MarkerNotSigned(key=key, reason=str(error))
    except LogDamaged:
        return MarkerForeign(key=key)
    if (there.start_ms, there.end_ms) == (marker.start_ms, marker.end_ms):
        return MarkerFound(key=key)
    return MarkerOfAnotherTime(key=key, start_ms=there.start_ms, end_ms=there.end_ms)


_MARKER: Final = msgspec.json.Decoder(Marker)  # made on import: markers are read by several threads
