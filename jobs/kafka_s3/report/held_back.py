"""Records that an open transaction holds back: they are in Kafka, and no consumer of committed records sees them.

A run exports up to the last stable offset, the LSO, and claims nothing beyond it. A producer that died within a
transaction keeps the LSO where it is, and everything behind it waits, other producers' records included.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from shlex import quote
from typing import Final

from kafka_s3.errors import DataLoss
from kafka_s3.export.diagnosis import Said
from kafka_s3.ports import Broker
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.report.first_timestamps import ASKED_MAX, first_timestamps
from kafka_s3.report.status import PartitionStatus

#: A broker ends a transaction after `transaction.max.timeout.ms`, 15 minutes unless set: one that is open for longer
#: hangs (KIP-664), or its producer was allowed more time.
LONG_MS: Final = 15 * 60_000


@dataclass(frozen=True, slots=True)
class HeldBack:
    """`offsets` of them from `start`, the LSO; the record there, the transaction's first, is of `since_ms`."""

    tp: TopicPartition
    start: int
    offsets: int
    since_ms: int


def held_back(broker: Broker, partitions: Iterable[PartitionStatus], at_ms: int, time_max_s: float) -> list[HeldBack]:
    """What waits for longer than `LONG_MS`, the oldest first. A record without a timestamp has no age."""
    ends = {
        each.tp: OffsetRange(each.tp, each.offsets.last_stable, each.offsets.high_watermark)
        for each in partitions
        if each.offsets is not None and each.offsets.last_stable < each.offsets.high_watermark
    }
    most_first = sorted(ends.values(), key=lambda each: (each.start - each.end, each.tp))[:ASKED_MAX]
    found = []
    for tp, answer in first_timestamps(broker, most_first, time_max_s, uncommitted=True).items():
        try:
            since_ms = answer.result()
        except DataLoss:  # deleted meanwhile
            continue
        if since_ms is not None and 0 <= since_ms <= at_ms - LONG_MS:
            found.append(HeldBack(tp, ends[tp].start, ends[tp].end - ends[tp].start, since_ms))
    return sorted(found, key=lambda each: (each.since_ms, each.tp))


def said(held: HeldBack, brokers: str, span: str) -> Said:
    """For people. `brokers`: as Kafka's own commands take them; `span`: how long since, in words."""
    command = (
        f"kafka-transactions.sh --bootstrap-server {quote(brokers)} abort --topic {quote(held.tp.topic)}"
        f" --partition {held.tp.partition} --start-offset {held.start}"
    )
    return Said(
        f"An open transaction holds back {held.offsets:,} offsets of {held.tp} from {held.start} on, for {span}.",
        f"No run can read them before it ends. If its producer is gone, abort it: {command}",
        (command,),
    )
