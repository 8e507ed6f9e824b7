"""Wrong changes that the rules have to notice, each within so many histories: one at a time, in a running process.

`python -m tests.interleavings.planted [WORD]` tries them all, or those whose name holds the word.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from kafka_s3.bucket import window_leftovers
from kafka_s3.bucket.orphans import Fate
from kafka_s3.dead_letters import delivery, redrive
from kafka_s3.export import append, checkpoints, closing
from kafka_s3.log.progress import reaching
from kafka_s3.plan.changes import Changes
from kafka_s3.publish import announce, completeness
from kafka_s3.ranges import TopicPartition
from kafka_s3.reexport import run as reexport
from kafka_s3.report import status
from kafka_s3.rewind import rewind
from kafka_s3.verify import verify
from kafka_s3.verify.objects import ReadObject
from kafka_s3_airflow.page import views
from tests.interleavings import wire
from tests.interleavings.book import Violation
from tests.interleavings.history import History
from tests.support import HOUR_MS

HISTORIES = 400

Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Planted:
    """A fault, the rule that it breaks, and the history that noticed it last time, which is played first."""

    name: str
    rule: str
    patch: Patch
    noticed_in: int = 0


def _planted(what: str, rule: str, owner: Any, name: str, value: object, noticed_in: int = 0) -> Planted:
    assert hasattr(owner, name), f"{owner} has no {name} any more: plant it anew, {what}"
    return Planted(what, rule, lambda patch: patch.setattr(owner, name, value), noticed_in)


def _unconditional(request: wire.Request) -> bool:
    return request.headers.get("if-none-match") == "*" and request.key.startswith("_")


def _without_gaps(*given: Any) -> Any:
    made = accepted(*given)
    made.gaps.clear()
    return made


def _newest(log: Any) -> int:
    return int(log.newest().entry.seq)


def _boundary(entry: Any, topics: Any, now_ms: int) -> int | None:
    return None if entry.boundary_ms is None else int(entry.boundary_ms)


def _lowered(state: Any, to: Any) -> Any:
    return msgspec.structs.replace(lowered(state, to), generation=state.generation)


def _still_reached(state: Any, to: Any) -> Any:
    return msgspec.structs.replace(lowered(state, to), reached=state.reached)


def _until_now(entry: Any, topics: Any, now_ms: int) -> int:
    """The last whole hour."""
    return now_ms // HOUR_MS * HOUR_MS


def _marks_all(patch: pytest.MonkeyPatch) -> None:
    assert completeness.complete_until_ms
    assert completeness.proves
    patch.setattr(completeness, "complete_until_ms", _until_now)
    patch.setattr(completeness, "proves", lambda *_: True)


def _all_reached(plan: Any, accounted: Any, now_ms: int) -> Any:
    topics, at_ms = topics_after(plan, accounted, now_ms), plan.interval.end_ms if plan.interval is not None else None
    every = [TopicPartition(name, p) for name, state in topics.items() for p in state.positions]
    return topics if at_ms is None else reaching(topics, every, at_ms, now_ms)


def _without_letters(log: Any, after_seq: int) -> Any:
    return _newest(log), []


def _unchanged(*_: Any) -> Changes:
    return Changes({}, frozenset())


def _half(picked: Any) -> Iterator[Any]:
    return (letter for number, letter in enumerate(pick(picked)) if number % 2)


accepted, pick, lowered = checkpoints.accepted, redrive._Picked.__iter__, rewind._lowered
topics_after = append.topics_after
PLANTED = (
    _planted("data is put without a condition", "log", wire.Request, "is_conditional", property(_unconditional), 114),
    _planted(
        "deleted by age, not by position", "log", Fate, "deletable", property(lambda f: f is not Fate.ADOPTED), 122
    ),
    _planted("what a window lists is garbage", "window", window_leftovers, "keys_of", lambda _: ()),
    _planted("an event goes by the connector's boundary", "event", announce, "complete_until_ms", _boundary, 187),
    _planted("the newest entry alone is told", "entries told", announce, "_announced", lambda log: _newest(log) - 1),
    Planted("a marker proves nothing", "marker", _marks_all, 16),
    _planted("what is cut or left out has reached the end", "log", append, "topics_after", _all_reached, 1),
    _planted("a rewind leaves what was reached", "log", rewind, "_lowered", _still_reached, 105),
    _planted("a window does not wait for the export", "window lacks", reexport, "check_reached", lambda *_: None, 29),
    _planted("Kafka is not looked at after the last read", "log", closing, "changed_while_read", _unchanged, 20),
    _planted("a loss leaves no gap", "log", checkpoints, "accepted", _without_gaps),
    _planted("a rewind keeps the generation", "log", rewind, "_lowered", _lowered, 2),
    _planted("letters count as reported unsent", "letters", delivery, "commits_with_letters", _without_letters, 2),
    _planted("every other letter is redriven", "letters", redrive._Picked, "__iter__", _half, 2),
    _planted("verify believes the entry", "verify", verify, "read_object", lambda *_: ReadObject(None)),
    _planted("status overlooks what is left out", "status", status, "of_snapshot", lambda *_: []),
    _planted("the page overlooks what is left out", "page", views, "_problems", lambda *_: []),
)


def rule_of(error: BaseException) -> str:
    """Which rule is broken; the ledger of the log says it by bare assertions."""
    if isinstance(error, Violation):
        return error.rule
    frames = traceback.extract_tb(error.__traceback__)
    return "log" if any(frame.filename.endswith("ledger.py") for frame in frames) else type(error).__name__


def hunt(planted: Planted, count: int = HISTORIES) -> tuple[int, str] | None:
    """The history that noticed it, and what it says: the one of last time if it still does, or the first of them."""
    with pytest.MonkeyPatch.context() as patch:
        planted.patch(patch)
        for number in dict.fromkeys([planted.noticed_in, *range(count)]):
            try:
                History(number).play()
            except Exception as error:  # some other rule's, which was open before the fault was planted, does not count
                if rule_of(error) == planted.rule:
                    return number, (str(error).splitlines() or [type(error).__name__])[0]
    return None


def main(word: str = "") -> int:
    missed = 0
    for planted in PLANTED:
        if word in planted.name:
            before = time.monotonic()
            found = hunt(planted)
            missed += found is None
            number, what = found or (HISTORIES, "NOT NOTICED")
            print(f"{planted.name:45} | {number:4} | {time.monotonic() - before:6.1f} s | {what[:120]}", flush=True)  # noqa: T201
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
