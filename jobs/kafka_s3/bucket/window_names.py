"""From which generation on the names of a window's next export begin, so that it makes none that was made before.

A window that is withdrawn keeps its log: an entry of kind rewind follows its commit, whose restarts withdraw every
partition and name a generation above all that any plan before used. So nobody needs to delete a log, no slot is emptied
that a late commit could land in, and what may be deleted of the export before is told by its names alone.
"""

from __future__ import annotations

from kafka_s3.bucket.window_state import CommittedWindow, window_state
from kafka_s3.log.entries import Kind, Restart
from kafka_s3.log.store import Committed, Log


def first_generation(log: Log, head: Committed | None) -> int:
    """What generations of names begin with in a window's plans after its newest entry. One GET for each void."""
    committed = head
    while committed is not None and committed.entry.kind is not Kind.REWIND:
        seq = committed.entry.seq
        committed = log.older(seq - 1) if seq else None
    return 0 if committed is None else max((each.generation for each in committed.entry.restarts), default=0)


def over_generation(log: Log, head: Committed) -> int:
    """Names of lower generations are of exports that are over: what the window's commit does not list of them, nobody
    will. While it is not committed, those alone that were withdrawn."""
    first = first_generation(log, head)
    if not isinstance(window_state(head), CommittedWindow):
        return first
    return first + 1 + max((state.generation for state in head.entry.topics.values()), default=0)


def withdrawals(window: CommittedWindow, generation: int) -> tuple[Restart, ...]:
    """What takes away all that a window's commit holds."""
    return tuple(
        Restart(
            topic=topic,
            partition=partition,
            generation=generation,
            position=0,
            withdrawn=True,
            reason="the window was withdrawn",
        )
        for topic, state in sorted(window.commit.entry.topics.items())
        for partition in sorted(state.positions)
    )
