"""kill -9 at random times: what is drawn, done and held to, for a few kills in CI and for hundreds in `make torture`.

Several kills hit one connector, each the retry of the one before; then an undisturbed run finishes what is left.
What is drawn follows from the seed, which is printed: TORTURE_SEED draws the same victims and, as shares of the length
of an undisturbed run, the same times.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import click
import psutil

from kafka_s3.errors import EXIT_DONE
from kafka_s3.spark.scratch import scratch
from tests.faults.differences import described
from tests.faults.exports import BOUND_S, ExportProcess, KillableRun

KILLS_OF_ONE: Final = 5
#: A run is killed at a time drawn from its start to somewhat after its end.
LATEST: Final = 1.1
VICTIMS: Final = ("driver", "worker", "jvm", "command")
#: Where a run was when it was killed, by what it had left in the bucket.
WINDOWS: Final = ("before the log", "before the plan", "before the first object", "in the middle", "committed")


@dataclass(frozen=True)
class Undisturbed:
    """What a connector's run makes when nobody disturbs it, and how long it takes here and now."""

    connector: KillableRun
    objects: dict[str, bytes]
    kinds: list[str]
    records: int
    seconds: float

    @classmethod
    def measure(cls, make: Callable[[], KillableRun], records: int) -> Undisturbed:
        """Run it once."""
        connector = make()
        began = time.monotonic()
        run = connector.start("run", spark="local[2]")
        assert run.wait() == EXIT_DONE, run.said()
        seconds = time.monotonic() - began
        kinds = [str(entry.kind) for entry in connector.entries()]
        return cls(connector, connector.objects("topics/"), kinds, records, seconds)


@dataclass
class Tally:
    """How many kills hit whom, and where the run was."""

    victims: Counter[str] = field(default_factory=Counter)
    windows: Counter[str] = field(default_factory=Counter)
    missed: int = 0
    connectors: int = 0

    def __str__(self) -> str:
        lines = [f"{self.victims.total()} kills over {self.connectors} connectors; {self.missed} came after the end"]
        lines += [f"  {name}: {self.victims[name]}" for name in VICTIMS]
        lines += [f"  {name}: {self.windows[name]}" for name in WINDOWS]
        return "\n".join(lines)


def kill_many(kills: int, seed: int, shapes: dict[str, Undisturbed], make: Callable[[str], KillableRun]) -> Tally:
    """Kill that many times, over connectors of alternating shape; hold each of them to its undisturbed run."""
    tally = Tally()
    while tally.victims.total() < kills:
        # Seeded by number, so that each connector's kills can be repeated without those before.
        chance = random.Random(f"{seed}/{tally.connectors}")
        name = list(shapes)[tally.connectors % len(shapes)]
        click.echo(f"seed {seed}, connector {tally.connectors} ({name})")
        tally.connectors += 1
        _one_connector(min(KILLS_OF_ONE, kills - tally.victims.total()), chance, shapes[name], make(name), tally)
    return tally


def _one_connector(
    kills: int, chance: random.Random, expected: Undisturbed, connector: KillableRun, tally: Tally
) -> None:
    committed = False
    for _ in range(kills):
        if committed:  # the runs that follow find nothing new: there is nothing left to kill
            break
        after, name = chance.uniform(0, LATEST) * expected.seconds, chance.choice(VICTIMS)
        committed = _one_kill(connector, name, after, expected, tally)
    last = connector.start("run", spark="local[2]")
    assert last.wait() == EXIT_DONE, last.said()
    found = connector.objects("topics/")
    assert found == expected.objects, "\n".join(described(found, expected.objects))
    assert [str(entry.kind) for entry in connector.entries()] == expected.kinds
    assert connector.verified() == expected.records
    left = connector.open_uploads()
    assert left == [], f"open uploads: {left}"
    if committed:
        # No run needed Spark since: what a killed command left waits for the next that does, which does this first.
        with scratch({"SPARK_LOCAL_DIRS": str(connector.temporary)}):
            pass
    assert list(connector.temporary.iterdir()) == []
    connector.remove()


def _one_kill(connector: KillableRun, name: str, after: float, expected: Undisturbed, tally: Tally) -> bool:
    """Run, kill, and look at what is left; whether everything is committed by now."""
    run = connector.start("run", spark="local[2]")
    run.wait_at_most(after)
    everyone = run.everyone()
    hit = _victim(run, name)
    if hit is None:
        tally.missed += 1
    else:
        tally.victims[hit[0]] += 1
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended meanwhile
            hit[1].kill()
    status = run.wait()
    _, alive = psutil.wait_procs(everyone, timeout=BOUND_S)
    assert alive == [], f"{name} was killed after {after:.2f} s and these are left: {alive}"
    where = _window(connector, expected)
    click.echo(f"  {name if hit is None else hit[0]} after {after:.2f} s, {where}; exit status {status}")
    assert hit is not None or status == EXIT_DONE, run.said()
    assert status != EXIT_DONE or where == "committed", run.said()
    if hit is not None:
        tally.windows[where] += 1
    return where == "committed"


def _victim(run: ExportProcess, name: str) -> tuple[str, psutil.Process] | None:
    """The process drawn; one that is not there (yet, or any more) gives way to the command, which is until the end."""
    if run.process.poll() is not None:
        return None
    found = run.part(name)
    return (name, found) if found is not None else ("command", psutil.Process(run.process.pid))


def _window(connector: KillableRun, expected: Undisturbed) -> str:
    """Where the run was: whatever is in the bucket must be part of what an undisturbed run makes."""
    keys = connector.sizes("topics/")
    sizes = {key: len(body) for key, body in expected.objects.items()}
    others = {key: (size, sizes.get(key)) for key, size in keys.items() if sizes.get(key) != size}
    if others:
        found = {key: body for key, body in connector.objects("topics/").items() if key in others}
        which = "\n".join(described(found, {key: expected.objects[key] for key in others if key in sizes}))
        raise AssertionError(f"objects that no undisturbed run makes, with sizes and those expected: {others}\n{which}")
    kinds = [str(entry.kind) for entry in connector.entries()] if connector.keys("_kafka_s3/orders/log/") else []
    assert kinds == expected.kinds[: len(kinds)]
    match len(kinds), bool(connector.keys("_kafka_s3/orders/plan/")), bool(keys):
        case 0, _, _:
            return WINDOWS[0]
        case 1, False, _:
            return WINDOWS[1]
        case 1, True, False:
            return WINDOWS[2]
        case 1, True, True:
            return WINDOWS[3]
    return WINDOWS[4]
