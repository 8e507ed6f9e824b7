"""Exactly once, whatever happens: generated histories over the in-memory ports, then the standing invariants.

`make torture` plays TORTURE_EXAMPLES histories (10,000 unless set) of seeds drawn anew each time. A failure names its
seed: `TORTURE_SEED=<seed> make torture ARGS="-k seeds"` plays that one again, first of all.
"""

from __future__ import annotations

import os
import random

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.scenario.machine import REACHED, Histories

STEPS = 16
EVERYTHING = (
    *("commit", "void", "checkpoint", "rewind"),
    *("a sleeper woke", "a sleeper ended: Fenced", "a sleeper ended: NoneType"),
    *("a second name", "a plan finished by another run", "an orphan collected", "a time reached"),
    *("offsets lost", "a restart", "a range withdrawn", "a later generation exported"),
)
CHUNK = 500  # histories of one seed
CHUNKS = -(-int(os.environ.get("TORTURE_EXAMPLES", "10000")) // CHUNK)


class WithSides(Histories):
    """Keys, headers and tombstones are written, and bad records kept as dead letters, in all of them."""

    sides = (True,)


def play(examples: int, seed: int | None = None, histories: type[Histories] = Histories) -> None:
    """So many histories: the same ones every time, or those of a seed."""
    machine = histories if seed is None else hypothesis.seed(seed)(type("Seeded", (histories,), {}))
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=seed is None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_histories_come_to_what_they_are_for() -> None:
    """A few histories, played in seconds, come to entries of all kinds, sleepers that find themselves overtaken, second
    names, plans that another run finishes, losses, restarts, withdrawn ranges and collected orphans."""
    REACHED.clear()
    for seed in range(
        6
    ):  # each change of the engine makes other histories of a seed, so one seed may miss what is rare
        play(80, seed)
        missing = [name for name in EVERYTHING if not REACHED[name]]
        if not missing:
            break
    assert not missing, REACHED


def test_companions_and_bad_records_are_kept_exactly_once() -> None:
    """With keys, headers, tombstones and bad records: families stay together, letters are neither lost nor doubled."""
    play(40, histories=WithSides)


@pytest.mark.heavy
def test_every_record_is_exported_exactly_once_whatever_happens() -> None:
    """No history of accidents, sleepers, losses, rewinds and changes loses a record, exports one twice, changes an
    object, or breaks the log."""
    play(700)


@pytest.mark.trial
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_histories_of_any_seeds(chunk: int) -> None:
    """The same with histories that nobody has seen before."""
    first = os.environ.get("TORTURE_SEED")
    seed = int(first) + chunk if first is not None else random.SystemRandom().randrange(2**32)
    try:
        play(CHUNK, seed)
    except BaseException as error:
        error.add_note(f"Play it again: TORTURE_SEED={seed} make torture ARGS='-k seeds -x'")
        raise
