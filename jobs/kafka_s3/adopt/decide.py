"""From all that was found about one partition to the position to go on from, or to why there is none. Pure.

No record may be lost or doubled silently. So what the bucket's names, its records, the sink's consumer group and
Kafka say has to agree, or a person has to say which of them is right: every `Dispute` says what does not agree.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from kafka_s3.adopt.count import Contradicted, InKafka, Unread
from kafka_s3.adopt.objects import PartitionObjects, Tail, Uncounted
from kafka_s3.plan.anomalies import anomaly_of
from kafka_s3.ports import PartitionOffsets
from kafka_s3.ranges import TopicPartition

KEYS_SHOWN = 3


class Basis(enum.Enum):
    """Which source a person wants to be believed where sources differ; `AGREED`: none, they have to agree."""

    AGREED = "agreed"
    GROUP = "group"
    OBJECTS = "objects"


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person said: `given` positions are taken as they are, for the others `basis` says what counts."""

    group: str
    basis: Basis = Basis.AGREED
    given: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of one partition.

    `committed`: the group's offset. `tail`: the counted last objects, `None` without objects. `is_own`: this exporter
    wrote objects of the topic before its log was lost. `strangers`: the topic's keys that are not data keys.
    `start_latest`: auto.offset.reset. `drops`: transforms may leave records out. `find`: asks Kafka, up to an offset;
    only called where it is needed.
    """

    tp: TopicPartition
    objects: PartitionObjects
    offsets: PartitionOffsets
    committed: int | None
    group_knows_others: bool
    tail: Tail | Uncounted | None
    is_own: bool
    strangers: tuple[str, ...]
    start_latest: bool
    drops: bool
    find: Callable[[Tail, int], InKafka | Contradicted | Unread]


@dataclass(frozen=True, slots=True)
class Dispute:
    """What does not agree, and what to do."""

    what: str
    next: str

    def __str__(self) -> str:
        return f"{self.what}. {self.next}"


@dataclass(frozen=True, slots=True)
class Decision:
    """A partition's position and where it comes from; with a dispute the position is only what was found so far."""

    evidence: Evidence
    position: int | None
    source: str
    disputes: tuple[Dispute, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tp(self) -> TopicPartition:
        return self.evidence.tp


_SETTLE = "Name the position yourself with --positions FILE"


def decide(evidence: Evidence, choice: Choice) -> Decision:
    """The position of one partition: the one given, else the group's, else what the objects show, else the start."""
    given = choice.given.get(evidence.tp)
    if given is not None:
        decision = _given(evidence, given)
    elif evidence.committed is not None and _asks_group(evidence, choice):
        decision = _by_group(evidence, evidence.committed, choice)
    elif not evidence.objects.is_empty:
        decision = _by_objects(evidence, choice)
    else:
        decision = _by_start(evidence, choice)
    if evidence.committed not in (None, decision.position) and given is None:
        note = f"group {choice.group} has committed {evidence.committed}, which is not what was taken"
        decision = replace(decision, notes=(*decision.notes, note))
    return _inside_the_log(decision)


def _asks_group(evidence: Evidence, choice: Choice) -> bool:
    """Whether the group's word counts; of what this exporter wrote it knows nothing, unless a person says so."""
    return choice.basis is Basis.GROUP or (choice.basis is Basis.AGREED and not evidence.is_own)


def _inside_the_log(decision: Decision) -> Decision:
    """A position that Kafka's log does not reach to would be a gap, or belongs to another topic of that name."""
    if decision.position is None:
        return decision
    left = anomaly_of(decision.tp, decision.position, decision.evidence.offsets, None)
    if left is None:
        return decision
    low, high = decision.evidence.offsets.log_start, decision.evidence.offsets.high_watermark
    way_out = f"{_SETTLE}, between {low} (which accepts the gap) and {high}, if that is meant."
    dispute = Dispute(f"{decision.source} says {decision.position}: {left.reason.rstrip('.')}", way_out)
    return replace(decision, disputes=(*decision.disputes, dispute))


def _given(evidence: Evidence, position: int) -> Decision:
    notes = []
    above = evidence.objects.from_offset(position)
    if above:
        notes.append(
            f"{_keys(above)} at or above the position {position}: the next runs export these records once more, so a"
            " plain listing shows them twice until you delete these objects"
        )
    if isinstance(evidence.tail, Tail) and evidence.tail.end != position:
        notes.append(f"the objects' records alone would say {evidence.tail.end}")
    if evidence.committed not in (None, position):
        notes.append(f"the group's offset is {evidence.committed}")
    return Decision(evidence, position, "--positions", notes=tuple(notes))


def _by_group(evidence: Evidence, committed: int, choice: Choice) -> Decision:
    """The group's offset is a boundary of the sink's; what the bucket says against it is a dispute."""
    source = f"group {choice.group}"
    above = evidence.objects.from_offset(committed)
    if above:
        what = f"{_keys(above)} at or above the offset {committed} that {source} committed: the sink had not got to"
        return Decision(evidence, committed, source, (Dispute(f"{what} committing it", _COMMIT_LATER),))
    disputes, notes = _against_objects(evidence, committed, choice)
    return Decision(evidence, committed, source, disputes, notes)


_COMMIT_LATER = (
    "Start the connector once more and stop it in an orderly way: it writes these objects again and commits. Or keep"
    " them: --from-objects goes on behind them. Or delete them: then the group's offset is right. Or --positions FILE."
)


def _against_objects(evidence: Evidence, committed: int, choice: Choice) -> tuple[tuple[Dispute, ...], tuple[str, ...]]:
    """What the objects' records say against the group's offset, and what is only worth a note."""
    tail = evidence.tail
    believed = choice.basis is Basis.GROUP
    if tail is None:
        what = f"The group has committed {committed}, and the bucket has no object of the partition"
        if committed <= evidence.offsets.log_start or believed:
            return (), ((f"{what[0].lower()}{what[1:]}",) if committed > evidence.offsets.log_start else ())
        return (Dispute(what, _believe(choice)),), ()
    if isinstance(tail, Uncounted):
        return (), (f"not compared with the records in the bucket: {tail.reason}",)
    if tail.end == committed:
        return (), ()
    if tail.end > committed:
        what = f"The group has committed {committed}, and the objects hold records up to {tail.end} at least"
        return (Dispute(what, f"Records would be exported twice. {_SETTLE}."),), ()
    found = evidence.find(tail, committed)
    said = f"the objects' records lead to {tail.end}, the group's offset is {committed}"
    if isinstance(found, InKafka) and found.end <= committed and not found.beyond:
        return (), (f"{said}: offsets between hold no record to export, as Kafka shows",)
    if isinstance(found, InKafka) and found.end > committed:
        what = f"The group has committed {committed}, and the objects' records go up to {found.end} in Kafka"
        return (Dispute(what, f"Records would be exported twice. {_SETTLE}."),), ()
    why = f"{found.beyond} records between are in no object" if isinstance(found, InKafka) else found.reason
    if believed:
        return (), (f"{said} ({why})",)
    return (Dispute(f"{said[0].upper()}{said[1:]}: {why}", _believe(choice)),), ()


def _believe(choice: Choice) -> str:
    return (
        "Were records skipped by the sink (errors.tolerance, null values, transforms), or were objects deleted or"
        f" moved? Then --from-group {choice.group} takes the group's word. If not: --from-objects, or --positions FILE."
    )


def _by_objects(evidence: Evidence, choice: Choice) -> Decision:
    """Count, and let Kafka confirm it: the offset behind the last record that is in an object."""
    tail = evidence.tail
    assert tail is not None, f"{evidence.tp}: objects, and none of them looked at"
    way_out = f"{_SETTLE}, or let the group decide: --from-group GROUP (Connect's is called connect-<name>)."
    disputes = []
    if _asks_group(evidence, choice) and evidence.group_knows_others:
        what = f"Group {choice.group} has committed offsets of other partitions and none of this one, which has objects"
        disputes.append(Dispute(what, "Whose objects are they? If the connector's: --from-objects counts them."))
    disputes += _about_strangers(evidence)
    if evidence.drops:  # Kafka's records are not what the objects hold, and the count stops short
        what = "Transforms may drop records, so the records in the objects do not lead to a position"
        return Decision(evidence, None, "objects", (*disputes, Dispute(what, way_out)))
    if isinstance(tail, Uncounted):
        return Decision(evidence, None, "objects", (*disputes, Dispute(_sentence(tail.reason), way_out)))
    if evidence.is_own and not tail.is_contiguous:
        what = f"The objects from {tail.start} on hold fewer records than there are offsets up to {tail.end}"
        next = f"A run that failed may have left later objects without earlier ones. {_SETTLE}."
        disputes.append(Dispute(what, next))
    found = evidence.find(tail, 0)
    match found:
        case InKafka(end=end, same_records=True, whole=whole):
            if evidence.is_own and not whole:
                disputes.append(Dispute("Kafka has records between those in the objects", f"{_SETTLE}."))
            notes = () if end == tail.end else (f"holes: {end - tail.end} offsets hold no record to export",)
            return Decision(evidence, end, "objects, found again in Kafka", tuple(disputes), notes)
        case InKafka(end=end):
            what = f"The objects hold as many records as Kafka has up to {end}, but they do not end with these records"
            disputes.append(Dispute(what, f"A record may be missing or double. {way_out}"))
            return Decision(evidence, end, "objects", tuple(disputes))
        case Contradicted(reason):
            disputes.append(Dispute(_sentence(reason), f"Was the topic created again, or compacted? {way_out}"))
            return Decision(evidence, tail.end, "objects", tuple(disputes))
        case Unread(reason):
            if choice.basis is Basis.OBJECTS:
                return Decision(evidence, tail.end, "objects", tuple(disputes), (f"not confirmed by Kafka: {reason}",))
            what = f"Counting records leads to {tail.end}, and Kafka cannot confirm it: {reason}"
            next = f"--from-objects takes it, which is right if the last objects' offsets have no holes. {way_out}"
            return Decision(evidence, tail.end, "objects", (*disputes, Dispute(what, next)))
        case _ as never:
            assert_never(never)


def _about_strangers(evidence: Evidence) -> list[Dispute]:
    """Names of another layout may hold records of any partition."""
    if not evidence.strangers:
        return []
    what = f"{_keys(evidence.strangers)} under the topic's prefix with names that this configuration does not make"
    next = f"If they hold records, these would be exported twice. {_SETTLE}, believe the group, or move them away."
    return [Dispute(what, next)]


def _by_start(evidence: Evidence, choice: Choice) -> Decision:
    """No object and no offset: as at the first sight of a topic."""
    offsets = evidence.offsets
    strange = () if choice.basis is Basis.GROUP else tuple(_about_strangers(evidence))
    if not evidence.start_latest:
        return Decision(evidence, offsets.log_start, "auto.offset.reset=earliest", strange)
    decision = Decision(evidence, offsets.last_stable, "auto.offset.reset=latest", strange)
    waiting = offsets.last_stable - offsets.log_start
    if not waiting:
        return decision
    what = f"No object and no committed offset, and {waiting} offsets in Kafka that may wait for the sink's first file"
    dispute = Dispute(what, f"auto.offset.reset=latest would pass over them. {_SETTLE}.")
    return replace(decision, disputes=(*strange, dispute))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _keys(found: object) -> str:
    """How many objects, and the first of their keys."""
    assert isinstance(found, list | tuple)
    keys = [each if isinstance(each, str) else each.key for each in found]
    shown = ", ".join(keys[:KEYS_SHOWN]) + (", …" if len(keys) > KEYS_SHOWN else "")
    return f"{len(keys)} {'object' if len(keys) == 1 else 'objects'} ({shown})"
