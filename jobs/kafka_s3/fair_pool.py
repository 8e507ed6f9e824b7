"""Threads that several callers share in turns, so that nobody waits behind all that somebody else has to do."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from kafka_s3.attempts import Raised, attempt

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_NAME: Final = "kafka-s3-fair"


@dataclass(eq=False, slots=True)
class _Turns:
    """What one caller has to do: `waiting` has not begun."""

    waiting: deque[tuple[Future[Any], Callable[[], Any]]]
    at_once: int
    running: int = 0

    @property
    def may_run(self) -> bool:
        return bool(self.waiting) and self.running < self.at_once


class FairPool:
    """So many threads. Callers have their turns one after the other, an item each: with n of them each gets one item of
    n, however many items the others have.

        with FairPool(4) as pool:
            answers = pool.map(work, items, at_once=2)  # from several threads
    """

    def __init__(self, threads: int) -> None:
        self._callers: deque[_Turns] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._threads = [threading.Thread(target=self._work, name=_NAME, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the threads, once each has done what it is at."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def map(self, function: Callable[[Item], Answer], items: Sequence[Item], at_once: int) -> list[Answer]:
        """The answers in the order of the items; at most `at_once` of these are worked on at one time.

        What an item raises is raised here, once those that were begun have ended; the others are not begun.
        """
        futures: list[Future[Answer]] = [Future() for _ in items]
        todo = [(future, lambda item=item: function(item)) for future, item in zip(futures, items, strict=True)]
        turns = _Turns(deque(todo), at_once)
        with self._changed:
            self._callers.append(turns)
            self._changed.notify_all()
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            with self._changed:
                _drop(turns)
                self._callers.remove(turns)
        begun = [future for future in futures if not future.cancelled()]
        wait(begun)
        return [future.result() for future in begun]

    def _work(self) -> None:
        while True:
            with self._changed:
                while (turn := self._take()) is None:
                    if self._is_closed:
                        return
                    self._changed.wait()
            turns, future, call = turn
            done: Any = Raised(RuntimeError("told to stop"))  # what `attempt` lets pass ends this thread
            try:
                done = attempt(call)
            finally:
                self._ended(turns, future, done)

    def _ended(self, turns: _Turns, future: Future[Any], done: Any) -> None:
        with self._changed:
            turns.running -= 1
            if isinstance(done, Raised):
                _drop(turns)
            self._changed.notify_all()
        if isinstance(done, Raised):
            future.set_exception(done.error)  # it is the caller's, who waits for it
        else:
            future.set_result(done)

    def _take(self) -> tuple[_Turns, Future[Any], Callable[[], Any]] | None:
        """The next item of the first caller that may run one, who is the last one then."""
        turns = next((each for each in self._callers if each.may_run), None)
        if turns is None:
            return None
        self._callers.remove(turns)
        self._callers.append(turns)
        turns.running += 1
        future, call = turns.waiting.popleft()
        return turns, future, call


def _drop(turns: _Turns) -> None:
    """What has not begun is not done."""
    for future, _ in turns.waiting:
        future.cancel()
    turns.waiting.clear()
