"""Whoever moves, and whatever becomes of their requests: `tests.interleavings.history` says how a history is made.

`make test` plays the same 120 histories every time. `make torture ARGS="-k interleavings"` plays INTERLEAVINGS (5,000
unless set) of seeds that nobody has seen, INTERLEAVINGS_LENGTH requests long (400 unless set);
INTERLEAVINGS_SEED=<seed> begins with that one. A failure names its seed and the command that plays it again.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter

import pytest

from tests.interleavings.history import History
from tests.interleavings.lost import LostLog

QUICK, QUICK_LENGTH = 120, 100
LOST = 20  # histories of a log that is lost
#: Rules that are known to be broken: each is somebody's work. None should be here.
LEFT_OUT: frozenset[str] = frozenset()
REACHED = (
    *("an hour told complete", "a marker", "an entry of a window", "letters reported", "letters redriven"),
    *("applied late", "asleep", "killed", "a task held for dead", "a run cleared", "a quiet moment"),
    *("ended: Fenced", "a spoilt object found", "Kafka: is created again", "Kafka: is truncated", "Kafka: expires"),
)
TOLD = 40  # the newest lines of who did what
CHUNK = 250
CHUNKS = -(-int(os.environ.get("INTERLEAVINGS", "5000")) // CHUNK)
LENGTH = int(os.environ.get("INTERLEAVINGS_LENGTH", "400"))


def play(seeds: range, length: int) -> Counter[str]:
    """What the histories of these seeds came to."""
    reached: Counter[str] = Counter()
    for seed in seeds:
        history = History(seed, length, LEFT_OUT)
        try:
            reached.update(history.play().reached.keys())
        except Exception as error:
            error.add_note(history.world.scheduler.trace.text(TOLD))
            error.add_note(f"Play it again: .venv/bin/python -m tests.interleavings.play {seed} {length}")
            raise
        reached["entries"] += len(history.world.book.states)
    return reached


def test_programs_move_in_any_order_and_every_rule_holds() -> None:
    """120 histories of programs that stop in front of every request break no rule, about the log or about claims, and
    come to what they are for."""
    reached = play(range(QUICK), QUICK_LENGTH)
    rare = [what for what in REACHED if not reached[what]]
    assert not rare, reached


def test_a_seed_is_one_history() -> None:
    """The same programs make the same requests in the same order: what a failure names can be played again."""
    told = []
    for _ in range(2):
        history = History(11, QUICK_LENGTH, LEFT_OUT)
        history.play()
        told.append(history.world.scheduler.trace.text())
    assert told[0] == told[1]
    assert History(12, QUICK_LENGTH, LEFT_OUT).play().scheduler.trace.text() != told[0]


def test_a_lost_log_is_adopted_while_its_programs_sleep() -> None:
    """Whoever wakes is of the log before: each record lies in one object that was adopted, or in one of the new log."""
    reached: Counter[str] = Counter()
    for seed in range(LOST):
        history = LostLog(seed, QUICK_LENGTH)
        reached.update(history.play().reached.keys())
    assert reached["a lost log adopted"] > LOST // 4, reached


@pytest.mark.trial
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_interleavings_of_any_seeds(chunk: int) -> None:
    """The same with histories that nobody has seen before."""
    given = os.environ.get("INTERLEAVINGS_SEED")
    first = int(given) + chunk * CHUNK if given is not None else random.SystemRandom().randrange(2**32)
    began = time.monotonic()
    reached = play(range(first, first + CHUNK), LENGTH)
    rate = CHUNK / (time.monotonic() - began)
    print(f"\nseeds {first} to {first + CHUNK - 1}: {reached['entries']} entries, {rate:.1f} histories/s")  # noqa: T201
    print(", ".join(f"{what} {count}" for what, count in sorted(reached.items())))  # noqa: T201
