"""What is said about a time: every claim against what stood in Kafka before anybody could plan for it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kafka_s3.publish.announce import Event
from tests.interleavings.book import Book, Violation
from tests.interleavings.truth import Snapshot, Truth


def check_event(truth: Truth, book: Book, event: Event, at: Mapping[int, Snapshot]) -> None:
    """`complete_until_ms`: all records before it are exported that were there when that time came.

    Times are hours, as the schedule has them; `at`: what was there at each.
    """
    until_ms = event.extra["complete_until_ms"]
    if until_ms is None:
        return
    due = [fact for fact in at[until_ms].due(until_ms) if event.topic in (None, fact.tp.topic)]
    state = book.states[event.extra["seq"]]
    missing = truth.missing(due, state)
    if missing:
        which = event.topic or "the connector"
        what = f"entry {state.seq} is told, {which} complete until {until_ms}: it lacks {missing}"
        raise Violation("event", what)


def check_marker(truth: Truth, book: Book, body: bytes, began: Snapshot) -> None:
    """`_COMPLETE.json`: of its time, nothing is missing that came in time."""
    said = json.loads(body)
    start_ms, end_ms, due_ms = said["start_ms"], said["end_ms"], said["due_ms"]
    due = [
        fact
        for fact in began.due(due_ms, start_ms)
        if fact.tp.topic == said["topic"] and truth.stamps[fact.number] < end_ms
    ]
    missing = truth.missing(due, book.states[said["seq"]])
    if missing:
        raise Violation("marker", f"the marker of {said['path']} as of entry {said['seq']} overlooks {missing}")
