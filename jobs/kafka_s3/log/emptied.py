"""A log that was emptied while its claim stayed: whoever misses an entry before the newest goes on behind nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_s3.errors import LogEmptied
from kafka_s3.log.entries import Entry
from kafka_s3.naming import LogLayout

#: How many entries before the newest have to be there. Programs that slept while the log was deleted can write as many
#: as they are, each the one it was about to write, in a row: fewer than these are noticed.
LOOKED_BACK: Final = 16


def check_before(layout: LogLayout, entry: Entry, found: Sequence[str]) -> None:
    """Raise `LogEmptied` unless the keys are those of the `LOOKED_BACK` entries right before one."""
    if entry.previous_sha256 is None:
        return
    for seq in range(entry.seq - 1, max(entry.seq - 1 - LOOKED_BACK, -1), -1):
        if layout.log_key(seq) not in found:
            raise emptied(layout, entry, layout.log_key(seq))


def emptied(layout: LogLayout, entry: Entry, missing: str) -> LogEmptied:
    return LogEmptied(
        f"Log entry {entry.seq} of connector {layout.connector} (run {entry.run_id}) is there, and {missing}, which"
        " it follows, is not: the log was deleted, or a part of it.",
        next="Stop what deletes log entries, and restore them from the bucket's versions. If they are lost,"
        " `kafka-s3 adopt CONFIG` begins a new log.",
    )
