"""What is told of a commit: how much its ranges hold."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_s3.events import CommitWritten
from kafka_s3.log.entries import RangeEntry


def commit_written(seq: int, ranges: Sequence[RangeEntry]) -> CommitWritten:
    """The event of a commit of these ranges."""
    return CommitWritten(
        seq=seq,
        records=sum(done.records for done in ranges),
        rejected=sum(done.rejected for done in ranges),
        bytes=sum(made.size for done in ranges for made in done.objects),
        objects=sum(len(done.objects) for done in ranges),
    )
