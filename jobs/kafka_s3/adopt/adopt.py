"""Adopting a bucket that has data and no log: what the Connect S3 sink left, or this exporter before its log was lost.

    look    names, records, the sink's consumer group and Kafka -> a position for each partition, and what is disputed
    adopt   without a dispute: the first log entry (kind `adopt`), from which `run` goes on

`look` only reads. The entry's slot is put-if-absent, so a run or another adoption at the same moment is fenced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from kafka_s3.adopt.count import Contradicted, InKafka, Unread, count_object, find_in_kafka, separator_of
from kafka_s3.adopt.decide import Basis, Choice, Decision, Dispute, Evidence, decide
from kafka_s3.adopt.objects import (
    Counted,
    PartitionObjects,
    Stored,
    Tail,
    TopicObjects,
    Uncounted,
    sort_out,
    tail,
    why_not_countable,
)
from kafka_s3.bucket import owners
from kafka_s3.errors import ConfigurationError, Fenced, KafkaUnavailable, LogEmptied
from kafka_s3.export import append
from kafka_s3.export.exporter import Exporter
from kafka_s3.log.entries import Entry, Kind, TopicState
from kafka_s3.log.store import Committed, Log, SlotTaken, next_log
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.planner import KafkaSnapshot, observe
from kafka_s3.ports import GroupOffsets, RecordSource
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings

READS_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Progress:
    """How many of the objects that have to be counted were read."""

    counted: int
    to_count: int


@dataclass(frozen=True, slots=True)
class Found:
    """What `look` found. Without a dispute it can be adopted. `log`: a new one, whose first entry says so."""

    log: Log
    cluster_id: str
    topics: Mapping[str, TopicState]
    decisions: tuple[Decision, ...]
    disputes: tuple[Dispute, ...]
    notes: tuple[str, ...]

    @property
    def is_settled(self) -> bool:
        return not self.disputes and not any(decision.disputes for decision in self.decisions)


def look(exporter: Exporter, source: RecordSource, choice: Choice, tell: Callable[[Progress], None]) -> Found:
    """Find the positions of every partition of the configured topics. Reads only.

    Raises `ConfigurationError` if there is a log already, nothing to adopt, or another connector owns a topic.
    """
    settings, log, broker = exporter.settings, exporter.log, exporter.broker
    _check_no_log(log)
    new = next_log(log, exporter.chance)
    snapshot = observe(settings, broker, None)
    if snapshot.excluded:
        raise KafkaUnavailable(
            f"{snapshot.excluded[0]}", next="Nothing was written: positions are taken over together."
        )
    _check_given(choice, snapshot)
    _check_routed(settings, choice, snapshot)
    owned = {topic for topic in sorted(snapshot.topics) if owners.is_ours(log, settings, topic)}
    was_there = _had_log(log)
    _check_no_log(log.current())  # a plan may be that of a first run at work, which wrote its entry before
    if was_there:  # whatever lies there may be this exporter's
        owned |= set(snapshot.topics)
    stored = {
        topic: sort_out(
            settings.layout,
            topic,
            () if settings.layout.routed else log.store.list(settings.layout.topic_prefix(topic)),
            snapshot.topics,
        )
        for topic in sorted(snapshot.topics)
    }
    group, group_note = _group(exporter, choice, snapshot)
    _check_something(settings, choice, stored, group, owned)
    objects = {tp: stored[tp.topic].partitions.get(tp.partition, PartitionObjects()) for tp in sorted(snapshot.offsets)}
    tails = _tails(exporter, objects, owned, tell)
    evidence = [
        Evidence(
            tp=tp,
            objects=objects[tp],
            offsets=snapshot.offsets[tp],
            committed=group.offsets.get(tp),
            group_knows_others=bool(group.offsets),
            tail=tails[tp],
            is_own=tp.topic in owned,
            strangers=stored[tp.topic].strangers,
            start_latest=settings.kafka.start == "latest",
            drops=settings.chain.drops,
            find=partial(_find, source, settings, snapshot, tp),
        )
        for tp in objects
    ]
    with ThreadPoolExecutor(settings.limits.tasks_max) as pool:  # a decision may have to read Kafka
        decisions = tuple(pool.map(lambda each: decide(each, choice), evidence))
    return Found(
        log=new,
        cluster_id=snapshot.cluster_id,
        topics=_topics(snapshot, stored, decisions),
        decisions=decisions,
        disputes=(*_of_group(group, choice), *_of_topics(stored, snapshot)),
        notes=(*([group_note] if group_note else []), *_about_strangers(stored)),
    )


def adopt(exporter: Exporter, found: Found, request: RunRequest) -> Committed:
    """Write the first entry of a new log, then claim the topics. Raises `Fenced` if somebody wrote an entry first.

    Programs of the log that was lost are fenced by that, whatever they do when they wake (docs/protocol.md#epochs).
    In this order: a claim without an entry would look like a log that was lost. A run claims what is missing.
    """
    assert found.is_settled, "a dispute is never adopted"
    settings, log = exporter.settings, found.log
    newest = _newest(log.current())  # of a log that was restored meanwhile
    if newest is not None:
        raise _fenced_by(newest.entry)
    for topic in found.topics:
        owners.is_ours(log, settings, topic)
    reason = "; ".join(f"{decision.tp} at {decision.position}: {decision.source}" for decision in found.decisions)
    slot = append.EntrySlot(settings, request, found.cluster_id, None)
    committed = log.put_entry(append.entry(slot, Kind.ADOPT, found.topics, reason=reason))
    if isinstance(committed, SlotTaken):
        raise _fenced_by(committed.winner.entry)
    for topic in found.topics:
        owners.claim(log, settings, topic)
    return committed


def _fenced_by(winner: Entry) -> Fenced:
    return Fenced(
        f"Run {winner.run_id} wrote log entry {winner.seq} ({winner.kind}) first.",
        next="Nothing was written: `kafka-s3 status` shows what it did.",
    )


def _newest(log: Log) -> Committed | None:
    """The newest entry; `None` also of a log that was emptied and into which a program that slept wrote since."""
    try:
        return log.newest()
    except LogEmptied:
        return None


def _check_no_log(log: Log) -> None:
    head = _newest(log)
    if head is not None:
        raise ConfigurationError(
            f"Connector {log.layout.connector} has a log already: the newest entry is {head.entry.seq} "
            f"({head.entry.kind}) under {log.where}.",
            next="adopt is for data without a log. `kafka-s3 status` shows the positions; `kafka-s3 run` goes on.",
        )


def _check_given(choice: Choice, snapshot: KafkaSnapshot) -> None:
    unknown = sorted(set(choice.given) - set(snapshot.offsets))
    if unknown:
        raise ConfigurationError(
            f"--positions names partitions that the connector does not have: {', '.join(map(str, unknown))}.",
            next="Correct the file, or `topics`.",
        )


def _check_routed(settings: Settings, choice: Choice, snapshot: KafkaSnapshot) -> None:
    """Transforms put records into folders that no name tells, so objects say nothing of positions."""
    missing = sorted(set(snapshot.offsets) - set(choice.given))
    if settings.layout.routed and missing:
        raise ConfigurationError(
            "Transforms give records other topics, so the objects of a topic cannot be found by its name. Positions"
            f" are missing for: {', '.join(map(str, missing[:5]))}{', …' if len(missing) > 5 else ''}.",
            next="Give every partition's position with --positions FILE.",
        )


def _had_log(log: Log) -> bool:
    """Whether a log that is lost left anything behind: it stays where it is, and what it is."""
    folders = (log.layout.epoch_prefix, f"{log.layout.home}plan/", f"{log.layout.home}announced/")
    return any(True for folder in folders for _ in log.store.list(folder, limit=1))


def _group(exporter: Exporter, choice: Choice, snapshot: KafkaSnapshot) -> tuple[GroupOffsets, str]:
    """The group's offsets; where they are not needed, a group that may not be seen is only a note."""
    try:
        return exporter.broker.committed(choice.group, snapshot.offsets), ""
    except ConfigurationError as error:
        if choice.basis is Basis.OBJECTS or set(choice.given) >= set(snapshot.offsets):
            return GroupOffsets(0, {}), f"Group {choice.group} was not looked at: {error}"
        raise ConfigurationError(
            error.what, next=f"{error.next} Without it: --from-objects, or --positions FILE for every partition."
        ) from None


def _check_something(
    settings: Settings, choice: Choice, stored: Mapping[str, TopicObjects], group: GroupOffsets, owned: set[str]
) -> None:
    if choice.basis is Basis.GROUP and not group.offsets:
        raise ConfigurationError(
            f"Group {choice.group} has no committed offset of the connector's topics.",
            next="Correct the name (`kafka-consumer-groups --list`); an idle group's offsets expire after a week."
            " --from-objects counts what is in the bucket instead.",
        )
    if choice.given or group.offsets or owned or any(each.partitions or each.strangers for each in stored.values()):
        return
    prefixes = ", ".join(settings.layout.topic_prefix(topic) for topic in stored)
    raise ConfigurationError(
        f"There is nothing to adopt: no object under {prefixes} in bucket {settings.s3.bucket}, and no offset of group "
        f"{choice.group}.",
        next="If the sink's data lies elsewhere, correct topics.dir, directory.delim or the bucket; if the connector"
        " had another name, --from-group connect-<its name>. Otherwise `kafka-s3 run` begins from auto.offset.reset.",
    )


def _tails(
    exporter: Exporter,
    objects: Mapping[TopicPartition, PartitionObjects],
    owned: set[str],
    tell: Callable[[Progress], None],
) -> dict[TopicPartition, Tail | Uncounted | None]:
    """Count the last objects of each partition: as few as the names allow, but all of those that were ours.

    Ours end where ranges do, which other runs and tasks wrote: nothing follows from a later object about earlier ones.
    """
    form, store = exporter.settings.format, exporter.store
    found: dict[TopicPartition, Tail | Uncounted | None] = {}
    wanted: dict[TopicPartition, tuple[Stored, ...]] = {}
    for tp, of_partition in objects.items():
        chosen = of_partition.values if tp.topic in owned else tail(of_partition)
        why_not = why_not_countable(of_partition, chosen, lambda extension: separator_of(extension, form) is not None)
        if of_partition.is_empty:
            found[tp] = None
        elif why_not:
            found[tp] = Uncounted(why_not)
        else:
            wanted[tp] = chosen
    jobs = [(tp, each) for tp, chosen in wanted.items() for each in chosen]
    counted: dict[TopicPartition, list[Counted | Uncounted]] = {tp: [] for tp in wanted}
    tell(Progress(0, len(jobs)))
    with ThreadPoolExecutor(READS_AT_ONCE) as pool:
        results = pool.map(lambda job: count_object(store, job[1], form), jobs)
        for done, ((tp, _), result) in enumerate(zip(jobs, results, strict=True), 1):
            counted[tp].append(result)
            tell(Progress(done, len(jobs)))
    return found | {tp: _tail(results, objects[tp]) for tp, results in counted.items()}


def _tail(results: Sequence[Counted | Uncounted], objects: PartitionObjects) -> Tail | Uncounted:
    for each in results:
        if isinstance(each, Uncounted):
            return each
    return Tail(tuple(each for each in results if isinstance(each, Counted)), len(results) == len(objects.values))


def _find(
    source: RecordSource, settings: Settings, snapshot: KafkaSnapshot, tp: TopicPartition, counted: Tail, upto: int
) -> InKafka | Contradicted | Unread:
    bounds = snapshot.offsets[tp]
    if bounds.log_start > counted.start:
        return Unread(f"the log starts at {bounds.log_start}, above {counted.start}, where the counted objects begin")
    return find_in_kafka(source, settings.format, tp, counted, bounds.last_stable, upto)


def _topics(
    snapshot: KafkaSnapshot, stored: Mapping[str, TopicObjects], decisions: Sequence[Decision]
) -> dict[str, TopicState]:
    positions: dict[str, dict[int, int]] = {topic: {} for topic in snapshot.topics}
    for decision in decisions:
        if decision.position is not None:
            positions[decision.tp.topic][decision.tp.partition] = decision.position
    return {
        topic: msgspec.structs.replace(
            state, generation=stored[topic].generation, owned=True, positions=positions[topic]
        )
        for topic, state in sorted(snapshot.topics.items())
    }


def _of_group(group: GroupOffsets, choice: Choice) -> tuple[Dispute, ...]:
    if not group.members:
        return ()
    many = "1 member" if group.members == 1 else f"{group.members} members"
    return (
        Dispute(
            f"Group {choice.group} has {many}: the connector still runs, and would go on writing",
            "Stop it (PUT /connectors/<name>/stop, or delete it), wait until its tasks are gone, and adopt then.",
        ),
    )


def _of_topics(stored: Mapping[str, TopicObjects], snapshot: KafkaSnapshot) -> tuple[Dispute, ...]:
    """Objects of Kafka partitions that the topic does not have."""
    return tuple(
        Dispute(
            f"{objects.from_offset(0)[0].key} is of partition {partition}, which topic {topic} does not have",
            "Was the topic created again with fewer partitions? Move or delete the old topic's objects first.",
        )
        for topic, each in stored.items()
        for partition, objects in each.partitions.items()
        if TopicPartition(topic, partition) not in snapshot.offsets
    )


def _about_strangers(stored: Mapping[str, TopicObjects]) -> list[str]:
    return [
        f"Topic {topic}: {len(each.strangers)} keys are not data keys of this configuration, the first: "
        f"{each.strangers[0]}"
        for topic, each in stored.items()
        if each.strangers
    ]
