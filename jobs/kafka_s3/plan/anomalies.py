"""What can be wrong between the log and Kafka, and what is written down where the user accepts it. Pure.

| anomaly | sign | allowed by | what is written then |
|---|---|---|---|
| lost | the position is below the log start | `export.on.data.loss=record` | a gap; the position is the log start |
| truncated | the log parted below the position (KIP-320), or ends there | the same | a restart where the logs part |
| recreated | another topic id | `export.on.topic.recreated=restart` | a restart at 0, for every partition |
| deleted | the topic is not there | nothing | |
| missing | the topic is not there, and never was | nothing | |
| unreachable | the partition has no leader | nothing: a later try may find one | |

A restart raises the topic's generation, so that no key of the new records is one of the old
(docs/protocol.md#generations). Nothing is withdrawn from the export by it: what was exported stays, and is all that is
left of those records.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from kafka_s3.errors import EXIT_DATA, EXIT_TEMPORARY
from kafka_s3.log.entries import FailedRange, RangeGap, Restart, TopicState
from kafka_s3.ports import NO_TOPIC_ID, PartitionOffsets, TopicView, topic_identity
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.run import Policies


class Anomaly(enum.Enum):
    """Why a partition may not be exported as things are."""

    LOST = "lost"
    TRUNCATED = "truncated"
    RECREATED = "recreated"
    DELETED = "deleted"
    MISSING = "missing"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class ExcludedPartition:
    """A topic-partition that may not be exported as things are, why, and what to do.

    `resume`: where its export goes on if that is accepted; `None` where only a person can say. A topic that is missing,
    was deleted or was created again is told once, of its first partition.
    """

    tp: TopicPartition
    anomaly: Anomaly
    reason: str
    resume: int | None = None

    def __str__(self) -> str:
        return f"{self.tp}: {self.reason}"

    def is_allowed(self, policies: Policies) -> bool:
        """Whether the configuration says to go on."""
        match self.anomaly:
            case Anomaly.LOST | Anomaly.TRUNCATED:
                return policies.record_data_loss and self.resume is not None
            case Anomaly.RECREATED:
                return policies.restart_recreated
            case Anomaly.DELETED | Anomaly.MISSING | Anomaly.UNREACHABLE:
                return False

    @property
    def exit_status(self) -> int:
        """What a run ends with because of it: only a leader may be back at the next try."""
        return EXIT_TEMPORARY if self.anomaly is Anomaly.UNREACHABLE else EXIT_DATA

    def covers(self, tp: TopicPartition) -> bool:
        """Whether this is why `tp` is left out."""
        if self.anomaly in (Anomaly.RECREATED, Anomaly.DELETED, Anomaly.MISSING):
            return tp.topic == self.tp.topic
        return tp == self.tp


def anomaly_of(
    tp: TopicPartition, position: int, offsets: PartitionOffsets, parted: int | None
) -> ExcludedPartition | None:
    """What is wrong with a partition, or `None`; `parted`: where its log parted from what it was, if it did."""
    if parted is not None and parted < position:
        return ExcludedPartition(
            tp,
            Anomaly.TRUNCATED,
            f"the log was truncated at {parted}, below the position {position}, and what lies there now are other"
            f" records (an unclean leader election): [{parted}, {position}) is exported and gone from Kafka.",
            parted,
        )
    if offsets.high_watermark < position:
        return ExcludedPartition(
            tp,
            Anomaly.TRUNCATED,
            f"the log ends at {offsets.high_watermark}, below the position {position}: it was truncated, or it is"
            " another topic of the same name.",
        )
    if position < offsets.log_start:
        lost = offsets.log_start - position
        return ExcludedPartition(
            tp,
            Anomaly.LOST,
            f"offsets [{position}, {offsets.log_start}) are gone from Kafka before they were exported ({lost} offsets):"
            " raise the topic's retention, or run the export more often.",
            offsets.log_start,
        )
    return None


def deleted(name: str, state: TopicState) -> ExcludedPartition:
    return ExcludedPartition(
        TopicPartition(name, min(state.positions, default=0)),
        Anomaly.DELETED,
        f"topic {name} (id {state.topic_id}) was deleted: remove it from `topics`, or create it again.",
    )


def missing(name: str) -> ExcludedPartition:
    """A configured topic that the log does not know either; the others are exported, as by the sink."""
    return ExcludedPartition(
        TopicPartition(name, 0),
        Anomaly.MISSING,
        f"topic {name} does not exist on the broker: create it, or correct `topics`; the client also needs Describe"
        " permission on it.",
    )


def unreachable(tp: TopicPartition) -> ExcludedPartition:
    return ExcludedPartition(
        tp, Anomaly.UNREACHABLE, "it has no leader at the moment: is a broker down? A retry asks again."
    )


def identified(state: TopicState, view: TopicView | None, cluster_id: str) -> TopicState:
    """A topic of the log under the identity that the broker gives it now, where that may be the same topic's.

    Of a broker without topic ids only the cluster is known: one that was upgraded has ids from then on. A log of an
    earlier release does not say whose cluster its zero id is of.
    """
    of_cluster = (NO_TOPIC_ID, topic_identity(NO_TOPIC_ID, cluster_id))
    if view is None or state.topic_id not in of_cluster:
        return state
    return msgspec.structs.replace(state, topic_id=view.topic_id)


def recreated(state: TopicState, view: TopicView) -> ExcludedPartition:
    tp = TopicPartition(view.name, min(view.partitions, default=0))
    if NO_TOPIC_ID in state.topic_id + view.topic_id:
        why = (
            f"topic {view.name} cannot be told from another one of its name ({state.topic_id} before, {view.topic_id}"
            " now): a broker without topic ids says only which cluster it is of. If it is the wrong cluster, correct"
            f" bootstrap.servers; `kafka-s3 rewind --accept {view.name}` exports it from offset 0 on."
        )
        return ExcludedPartition(tp, Anomaly.RECREATED, why, 0)
    return ExcludedPartition(
        tp,
        Anomaly.RECREATED,
        f"topic {view.name} was deleted and created again (id {state.topic_id} before, {view.topic_id} now): its"
        " offsets are other records.",
        0,
    )


@dataclass(slots=True)
class Resolution:
    """What an entry says so that the export can go on: topics with their new positions, and what happened."""

    topics: dict[str, TopicState]
    failed: tuple[FailedRange, ...]
    gaps: list[RangeGap] = field(default_factory=list)
    restarts: list[Restart] = field(default_factory=list)

    @property
    def reason(self) -> str:
        gaps = [f"{gap.tp}: {gap.reason}" for gap in self.gaps]
        return " ".join((*gaps, *(f"{restart.tp}: {restart.reason}" for restart in self.restarts)))


def resolve(
    topics: Mapping[str, TopicState],
    failed: Sequence[FailedRange],
    accepted: Iterable[ExcludedPartition],
    views: Mapping[str, TopicView],
    offsets: Mapping[TopicPartition, PartitionOffsets],
) -> Resolution:
    """Accept anomalies: their partitions go on where they can."""
    made = Resolution(dict(topics), tuple(failed))
    raised: set[str] = set()
    for left in sorted(accepted, key=lambda left: (left.tp, left.anomaly.value)):
        name, state = left.tp.topic, made.topics[left.tp.topic]
        if left.anomaly is not Anomaly.LOST and name not in raised:
            raised.add(name)
            state = msgspec.structs.replace(state, generation=state.generation + 1)
        if left.anomaly is Anomaly.RECREATED:
            _begin_again(made, left, state, views[name])
            continue
        assert left.resume is not None, f"{left} cannot be accepted"
        before = state.positions[left.tp.partition]
        if left.anomaly is not Anomaly.LOST:  # other records lie there now: what was reached is not what they reach
            kept = {p: at for p, at in (state.reached or {}).items() if p != left.tp.partition}
            state = msgspec.structs.replace(state, reached=kept)
        made.topics[name] = _placed(state, left.tp.partition, left.resume, offsets[left.tp].leader_epoch)
        name, p = left.tp
        if left.anomaly is Anomaly.LOST:
            made.gaps.append(RangeGap(topic=name, partition=p, start=before, end=left.resume, reason=left.reason))
            made.failed = _cut_below(made.failed, left.tp, left.resume)
        else:
            made.restarts.append(_restart(name, p, state.generation, left.resume, left.reason))
            made.failed = tuple(each for each in made.failed if each.tp != left.tp)
    return made


def _begin_again(made: Resolution, left: ExcludedPartition, state: TopicState, view: TopicView) -> None:
    """Also of partitions that the topic lacks now: it may get them again, and a rewind goes back to a restart."""
    name = left.tp.topic
    ever = sorted({*view.partitions, *state.positions})
    made.topics[name] = msgspec.structs.replace(
        state, topic_id=view.topic_id, positions=dict.fromkeys(sorted(view.partitions), 0), epochs={}, reached={}
    )
    made.failed = tuple(each for each in made.failed if each.topic != name)
    made.restarts += [_restart(name, p, state.generation, 0, left.reason) for p in ever]


def _restart(topic: str, partition: int, generation: int, position: int, reason: str) -> Restart:
    return Restart(
        topic=topic, partition=partition, generation=generation, position=position, withdrawn=False, reason=reason
    )


def _placed(state: TopicState, partition: int, position: int, epoch: int | None) -> TopicState:
    epochs = {p: known for p, known in state.epochs.items() if p != partition}
    if epoch is not None:
        epochs[partition] = epoch
    return msgspec.structs.replace(state, positions={**state.positions, partition: position}, epochs=epochs)


def _cut_below(failed: Sequence[FailedRange], tp: TopicPartition, position: int) -> tuple[FailedRange, ...]:
    """Failed ranges without what is lost of them: the rest is planned again."""
    kept = [each for each in failed if each.tp != tp or each.end > position]
    return tuple(
        msgspec.structs.replace(each, start=max(each.start, position)) if each.tp == tp else each for each in kept
    )
