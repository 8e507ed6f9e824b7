"""How far dead letters are in their topic: what `report` has marked."""

from __future__ import annotations

from kafka_s3.dead_letter import reported_prefix
from kafka_s3.errors import LogDamaged
from kafka_s3.log.store import Log
from kafka_s3.naming import parse_seq


def reported(log: Log) -> int:
    """The newest entry that was reported, -1 for none."""
    for info in log.store.list(reported_prefix(log.layout), limit=1):
        seq = parse_seq(info.key)
        if seq is None:
            raise LogDamaged(
                f"{info.key} is not a mark of delivered dead letters.", next="Remove what does not belong there."
            )
        log.check_mark(info.key)
        return seq
    return -1
