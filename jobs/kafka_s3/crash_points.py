"""The named places where a driver or a task may die, one for each row of the crash table.

The table: docs/protocol.md#where-a-process-may-die

`crash_point` costs one comparison while nobody listens. A test sets `listener`, which kills, stops or delays what
passes.
"""

from __future__ import annotations

import enum
from collections.abc import Callable


class CrashPoint(enum.Enum):
    """Where a process is; in the order in which a run passes them."""

    FOUND_HEAD = "the newest entry is read"
    LOOKED_AT_KAFKA = "Kafka has said where partitions begin and end"
    WROTE_POSITIONS = "an entry with positions alone is written"
    MADE_PLAN = "a plan is made and not written"
    PROBING_STORE = "the store is tried out with a multipart upload"
    CLAIMED_TOPICS = "owners are written"
    WROTE_PLAN = "the plan is written"
    STARTED_RANGE = "a task has begun its range"
    STARTED_UPLOAD = "a multipart upload is open"
    SENT_PART = "a part is sent"
    WRITING_OBJECT = "an object is about to become visible"
    WROTE_OBJECT = "an object is visible"
    FINISHED_RANGE = "all objects of a range are written"
    READ_ALL = "all ranges are read"
    CHECKED_KAFKA = "Kafka was looked at after the last read"
    COMMITTING = "the entry is about to be written"
    COMMITTED = "the entry is written"
    SWEPT = "what dead runs left is deleted"


listener: Callable[[CrashPoint], None] | None = None


def crash_point(point: CrashPoint) -> None:
    """Say that a point is passed."""
    if listener is not None:
        listener(point)
