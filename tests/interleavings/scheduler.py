"""Programs that stop in front of every request, and a seed that picks who moves.

Each program is a thread, and one runs at a time: it gets the baton for a few requests, and gives it back in front of
the next one. Whoever is left standing there may go on much later, or never; what is killed sends nothing more, but a
write that it stood in front of may have left it, and reach the store whenever the seed says so.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class ProgramKilled(BaseException):
    """kill -9: nothing of this program runs any more."""


class Stuck(Exception):
    """A program waits for something that does not come: a fault of the harness."""


@dataclass
class Trace:
    """Who did what, in order; lines are made only for whoever reads them."""

    lines: list[tuple[str, ...]] = field(default_factory=list)

    def say(self, *words: str) -> None:
        self.lines.append(words)

    def text(self, newest: int | None = None) -> str:
        numbered = [f"{number:5}  {who:<24} {' '.join(what)}" for number, (who, *what) in enumerate(self.lines)]
        return "\n".join(numbered if newest is None else numbered[-newest:])


@dataclass(eq=False)
class Actor:
    """One program, or a task of one. `pending`: the write that it stands in front of, sent or not."""

    name: str
    body: Callable[[Actor], Any]
    parent: Actor | None = None
    result: Any = None
    error: BaseException | None = None
    ended: bool = False
    dead: bool = False
    begun: bool = False
    asleep_until: int = 0
    ready: Callable[[], bool] | None = None  # while it waits for others
    pending: Callable[[], None] | None = None
    failures: int = 0  # how often the world refused it something
    credit: int = 0
    thread: threading.Thread | None = None
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __str__(self) -> str:
        return self.name

    @property
    def well(self) -> bool:
        return self.ended and self.error is None


@dataclass
class Scheduler:
    """All programs of a history. `steps` is its time."""

    chance: random.Random
    trace: Trace = field(default_factory=Trace)
    actors: list[Actor] = field(default_factory=list)
    current: Actor | None = None
    steps: int = 0
    burst: int = 6
    bug: BaseException | None = None  # what no program may end with
    expected: tuple[type[BaseException], ...] = ()
    on_end: Callable[[Actor], None] = lambda actor: None
    _back: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def start(self, name: str, body: Callable[[Actor], Any], parent: Actor | None = None) -> Actor:
        actor = Actor(name, body, parent)
        self.actors.append(actor)
        self.trace.say(name, "starts")
        return actor

    def runnable(self) -> list[Actor]:
        return [
            each for each in self.actors if each.asleep_until <= self.steps and (each.ready is None or each.ready())
        ]

    def step(self, actor: Actor, credit: int) -> None:
        """Let one go on for some requests."""
        assert not actor.ended
        actor.credit = credit
        before, self.current = self.current, actor
        assert before is None, "one at a time"
        if actor.thread is None:
            actor.thread = threading.Thread(target=self._run, args=(actor,), daemon=True)
            actor.thread.start()
        else:
            actor.go.release()
        if not self._back.acquire(timeout=120):
            raise Stuck(f"{actor} has not come to its next request")
        self.current = None
        if actor.ended:
            actor.thread.join()
            self.actors.remove(actor)
            said = "is dead" if actor.dead else f"ends: {actor.error or actor.result!r}"
            self.trace.say(actor.name, said)
            if self.bug is None:
                self.on_end(actor)
        if self.bug is not None:
            raise self.bug

    def point(self, what: str, pending: Callable[[], None] | None = None) -> Actor:
        """A program is about to do something; called in its thread. Back when it may."""
        actor = self.current
        assert actor is not None, f"{what}: nobody runs"
        if actor.dead:
            raise ProgramKilled
        self.steps += 1
        if actor.credit <= 0:
            actor.pending = pending
            self._wait(actor)
            actor.pending = None
        actor.credit -= 1
        self.trace.say(actor.name, what)
        return actor

    def join(self, others: list[Actor]) -> None:
        """A program waits until its tasks have ended."""
        actor = self.current
        assert actor is not None
        while not all(each.ended for each in others):
            actor.ready = lambda: all(each.ended for each in others)
            self._wait(actor)
            actor.ready = None

    def kill(self, actor: Actor) -> None:
        """Nothing of it runs any more."""
        self.trace.say(actor.name, "is killed")
        actor.dead = True
        actor.ready = None
        if actor.thread is None:
            actor.ended = True
            self.actors.remove(actor)
            self.on_end(actor)
        else:
            self.step(actor, 0)

    def end_all(self) -> None:
        """However a history ended, no thread outlives it."""
        self.on_end = lambda actor: None
        self.bug = None
        while self.actors:
            self.kill(self.actors[-1])
            self.bug = None

    def _wait(self, actor: Actor) -> None:
        self._back.release()
        actor.go.acquire()
        if actor.dead:
            raise ProgramKilled

    def _run(self, actor: Actor) -> None:
        try:
            actor.result = actor.body(actor)
        except ProgramKilled:
            pass
        except BaseException as error:  # whoever waits for this program looks at it
            actor.error = error
            if not isinstance(error, self.expected) and not actor.dead:
                self.bug = error
        finally:
            actor.ended = True
            self._back.release()
