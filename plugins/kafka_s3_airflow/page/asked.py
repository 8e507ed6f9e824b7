"""Questions that are asked in the background, so that whoever asks never waits for what does not answer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from kafka_s3.errors import ConfigurationError, ExporterError

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

UNEXPECTED: Final = "This ended with an error that nobody expected: the api-server's log has it."


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What is known about a question. `value` is the last good answer and `at_ms` when it came.

    `error` is why there is no newer one, `is_final` if only a person can change that; `open_ms`: since when a newer
    answer is wanted, `asked_ms`: since when the question is asked, `None` while it waits for its turn.
    """

    value: T | None = None
    at_ms: int | None = None
    error: str | None = None
    open_ms: int | None = None
    tried_ms: int | None = None
    is_final: bool = False
    asked_ms: int | None = None

    @property
    def is_first(self) -> bool:
        """Whether the very first answer is still awaited."""
        return self.tried_ms is None


class Asked(Generic[K, T]):
    """Answers to one kind of question, by what it is about. Each is asked by one thread at a time.

    Memory: `kept_max` answers; the ones not looked at for longest go first. `at_once`: threads that ask at the same
    moment. They are daemons: a server that stops waits for none.
    """

    def __init__(
        self,
        question: Callable[[K], T],
        *,
        fresh_ms: int,
        at_once: int,
        kept_max: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._question = question
        self._fresh_ms = fresh_ms
        self._kept_max = kept_max
        self._now_ms = now_ms
        self._at_once = threading.BoundedSemaphore(at_once)
        self._changed = threading.Condition()
        self._answers: OrderedDict[K, Answer[T]] = OrderedDict()

    def look(self, about: K) -> Answer[T]:
        """What is known now; asks again, in the background, if that is not fresh."""
        with self._changed:
            known: Answer[T] = self._answers.get(about) or Answer()
            now_ms = self._now_ms()
            is_fresh = known.tried_ms is not None and now_ms - known.tried_ms < self._fresh_ms
            if known.open_ms is None and not is_fresh:
                known = replace(known, open_ms=now_ms)
                threading.Thread(target=self._ask, args=(about,), name=f"asks about {about}", daemon=True).start()
            self._answers[about] = known
            self._answers.move_to_end(about)
            self._forget_old()
            return known

    def known(self, about: K) -> T | None:
        """The last good answer; nothing is asked."""
        with self._changed:
            answer = self._answers.get(about)
            return None if answer is None else answer.value

    def wait(self, abouts: Iterable[K], seconds: float) -> None:
        """Ask, and wait until each has its first answer, at most for so long."""
        waiting = [about for about in abouts if self.look(about).is_first]
        with self._changed:
            self._changed.wait_for(lambda: not any(self._is_awaited(about) for about in waiting), seconds)

    def _is_awaited(self, about: K) -> bool:
        known = self._answers.get(about)
        return known is not None and known.is_first

    def _forget_old(self) -> None:
        done = [about for about, known in self._answers.items() if known.open_ms is None]
        for about in done[: max(0, len(self._answers) - self._kept_max)]:
            del self._answers[about]

    def _ask(self, about: K) -> None:
        value: T | None = None
        error: str | None = UNEXPECTED  # unless one of the lines below says otherwise
        is_final = False
        with self._at_once:
            with self._changed:
                self._answers[about] = replace(self._answers[about], asked_ms=self._now_ms())
            try:
                value, error = self._question(about), None
            except ExporterError as known:
                error, is_final = str(known), isinstance(known, ConfigurationError)
            finally:
                with self._changed:
                    before: Answer[T] = self._answers.get(about) or Answer()
                    now_ms = self._now_ms()
                    if error is None:
                        self._answers[about] = Answer(value, now_ms, None, None, now_ms)
                    else:
                        self._answers[about] = Answer(before.value, before.at_ms, error, None, now_ms, is_final)
                    self._changed.notify_all()
