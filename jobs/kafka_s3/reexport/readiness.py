"""Has the live export all of a window? By positions and Kafka's own answers, for each partition by itself.

What an hour's run said of the hour is not asked: a rewind, a restart, a new partition or a batch that is under way all
leave the boundary of the log where it was. A window is written once, so it waits while anything of it is missing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_s3.bucket.window import window_id
from kafka_s3.errors import DataLoss, TemporaryError
from kafka_s3.log.entries import Interval
from kafka_s3.log.store import Committed, Log
from kafka_s3.plan.anomalies import Anomaly, ExcludedPartition
from kafka_s3.plan.planner import KafkaSnapshot
from kafka_s3.ports import Broker, PartitionOffsets, TimedOffset
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings

NAMED_MAX: Final = 10  # partitions named in one message
_LATER: Final = (
    "The live export comes first: try again after its next run. `kafka-s3 status` says what it may be waiting for."
)


@dataclass(frozen=True, slots=True)
class Live:
    """The live export, as a window's plan needs it: its newest entry, and what Kafka says after it."""

    settings: Settings
    log: Log
    head: Committed
    snapshot: KafkaSnapshot


def check_reached(live: Live, broker: Broker, window: Interval, now_ms: int) -> None:
    """Raise `TemporaryError` while Kafka has records of a window that the live export has not: it is written once.

    Of a partition's records in front of Kafka's first one at or after the window's end, every one is exported then. One
    that lies behind that, though it is older, is late: it is in the window if it is exported by now.
    """
    if now_ms < window.end_ms:
        raise TemporaryError(f"The window {window_id(window)} is not over yet.", next=_LATER)
    waiting = [str(left).rstrip(".") for left in live.snapshot.excluded if _goes_on_at(left) is None]
    positions, seen = _positions(live, broker)
    timed = broker.offsets_for_time(sorted(positions), window.end_ms) if positions else {}
    failed = {each.tp: each.reason for each in live.head.entry.failed}
    for tp, position in sorted(positions.items()):
        first = functools.partial(broker.first_timestamp, tp, position, seen[tp].last_stable)
        try:
            end = _end(position, seen[tp], timed[tp], window.end_ms, now_ms, first, is_failed=tp in failed)
        except DataLoss as error:
            waiting.append(str(error).rstrip("."))
            continue
        if position < end:
            why = f" ({failed[tp].rstrip('.')})" if tp in failed else ""
            waiting.append(
                f"{tp} is exported up to offset {position}, and its records before the end of the window go on to"
                f" {end}{why}"
            )
    refuse(window, waiting)


def refuse(window: Interval, waiting: Sequence[str]) -> None:
    """Raise `TemporaryError` if anything of a window is waited for, in words of one partition each."""
    if waiting:
        more = len(waiting) - NAMED_MAX
        named = "; ".join(waiting[:NAMED_MAX]) + (f"; and {more} partitions more" if more > 0 else "")
        raise TemporaryError(f"The window {window_id(window)} is not all exported yet: {named}.", next=_LATER)


def _positions(
    live: Live, broker: Broker
) -> tuple[dict[TopicPartition, int], Mapping[TopicPartition, PartitionOffsets]]:
    """From where on each partition of Kafka's logs, as they are now, is not exported; and where they begin and end."""
    snapshot = live.snapshot
    positions = {tp: snapshot.position(tp) for tp in snapshot.exportable()}
    others: list[TopicPartition] = []
    for left in snapshot.excluded:
        at = _goes_on_at(left)
        if at is not None:
            tps = _covered(left, snapshot)
            positions |= dict.fromkeys(tps, at)
            others += [tp for tp in tps if tp not in snapshot.offsets]
    return positions, {**snapshot.offsets, **(broker.offsets(others) if others else {})}


def _goes_on_at(left: ExcludedPartition) -> int | None:
    """From where on the log that Kafka has now is not exported; `None` where nobody can say what is missing of it."""
    return left.resume if left.anomaly in (Anomaly.TRUNCATED, Anomaly.RECREATED) else None


def _covered(left: ExcludedPartition, snapshot: KafkaSnapshot) -> Iterable[TopicPartition]:
    if left.anomaly is Anomaly.RECREATED:
        return [TopicPartition(left.tp.topic, p) for p in snapshot.views[left.tp.topic].partitions]
    return [left.tp]


def _end(
    position: int,
    seen: PartitionOffsets,
    timed: TimedOffset | None,
    end_ms: int,
    now_ms: int,
    first_timestamp: functools.partial[int | None],
    *,
    is_failed: bool,
) -> int:
    """Up to where a partition is to be exported.

    A record from the future says nothing of those behind it, so the next one to be exported is looked at; so it is
    where a range failed, which may be one of late records.
    """
    if timed is None:
        return seen.last_stable
    is_future = timed.timestamp_ms > now_ms
    if is_future and timed.offset >= position:
        return seen.last_stable
    end = min(timed.offset, seen.last_stable)
    if (is_future or is_failed) and end <= position < seen.last_stable:
        first = first_timestamp()
        if first is not None and (first < end_ms or first > now_ms):
            return seen.last_stable
    return end
