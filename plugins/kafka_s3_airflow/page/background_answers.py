"""Questions that are asked in the background, so that whoever asks never waits for what does not answer."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from kafka_s3.errors import ConfigurationError, ExporterError

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

UNEXPECTED: Final = "This ended with an error that nobody expected: the api-server's log has it."
#: Requests that wait at once for a first answer to one kind of question. Each is a coroutine, not a thread.
AWAITING_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What is known about a question. `value` is the last good answer and `at_ms` when it came.

    `error` is why there is no newer one, `is_final` if only a person can change that; `open_ms`: since when a newer
    answer is wanted, `asked_ms`: since when the question is asked, `None` while it waits for its turn. `is_refused`:
    too many questions wait already, so this one was not taken.
    """

    value: T | None = None
    at_ms: int | None = None
    error: str | None = None
    open_ms: int | None = None
    tried_ms: int | None = None
    is_final: bool = False
    asked_ms: int | None = None
    is_refused: bool = False

    @property
    def is_first(self) -> bool:
        """Whether the very first answer is still awaited."""
        return self.tried_ms is None


@dataclass(frozen=True, slots=True)
class Limits:
    """How many questions of a kind are asked at once and wait for their turn, and how many answers are kept.

    `of_one_at_once`, `of_one_waiting`: of one connector, so that a bucket that hangs leaves room for the others.
    `per_minute`: of those who look at many at a time (`look_over`), how many answers are asked for again.
    Threads: `at_once`. Memory: `at_once + waiting` open questions and `kept` answers.
    """

    at_once: int
    waiting: int
    kept: int
    of_one_at_once: int | None = None
    of_one_waiting: int | None = None
    per_minute: int | None = None

    def interval_ms(self, fresh_ms: int, count: int) -> int:
        """How old an answer gets before the next is asked for, where so many are looked at."""
        return fresh_ms if self.per_minute is None else max(fresh_ms, count * 60_000 // self.per_minute)


class BackgroundAnswers(Generic[K, T]):
    """Answers to one kind of question, by what it is about. Each is asked by one thread at a time.

    Answers that were not looked at for longest go first. The threads are daemons, so that a server that stops waits
    for none, and end when no question waits. `owner_of`: the connector that a question is about.
    """

    def __init__(
        self,
        question: Callable[[K], T],
        *,
        fresh_ms: int,
        limits: Limits,
        now_ms: Callable[[], int],
        owner_of: Callable[[K], Hashable] = lambda about: about,
    ) -> None:
        self._question = question
        self._fresh_ms = fresh_ms
        self._limits = limits
        self._now_ms = now_ms
        self._owner_of = owner_of
        self._lock = threading.Lock()
        self._answers: OrderedDict[K, Answer[T]] = OrderedDict()
        self._waiting: OrderedDict[K, None] = OrderedDict()
        self._waiting_of: Counter[Hashable] = Counter()
        self._running_of: Counter[Hashable] = Counter()
        self._threads = 0
        self._saved, self._saved_at_ms = 0.0, now_ms()  # of what `per_minute` allows
        self._latches: dict[K, list[_Latch]] = {}
        self._awaiting = 0

    def look(self, about: K) -> Answer[T]:
        """What is known now; asks again, in the background, if that is not fresh and there is room to ask."""
        with self._lock:
            known: Answer[T] = self._answers.get(about) or Answer()
            now_ms = self._now_ms()
            is_fresh = known.tried_ms is not None and now_ms - known.tried_ms < self._fresh_ms
            if known.open_ms is None and not is_fresh:
                if not self._has_room(about):
                    return replace(known, is_refused=True)
                known = replace(known, open_ms=now_ms)
                self._waiting[about] = None
                self._waiting_of[self._owner_of(about)] += 1
                self._start_thread()
            self._answers[about] = known
            self._answers.move_to_end(about)
            self._forget_old()
            return known

    def look_over(self, abouts: Collection[K]) -> None:
        """Ask for what was never asked, and again for the oldest of the others, as many as `per_minute` allows.

        What nobody asked for meanwhile is saved up, for one look at each: after a while without visitors, all of them
        are asked for at once.
        """
        with self._lock:
            now_ms = self._now_ms()
            known = {about: self._answers.get(about) for about in abouts}
            first = [about for about, answer in known.items() if answer is None]
            old = sorted(
                (answer.tried_ms, at)
                for at, answer in enumerate(known.values())
                if answer is not None and answer.tried_ms is not None and answer.open_ms is None
                if now_ms - answer.tried_ms >= self._fresh_ms
            )
            taken = self._take_saved(now_ms, len(first), len(old), len(known))
        listed = list(known)
        for about in (*first, *(listed[at] for _, at in old[:taken])):
            self.look(about)

    def _take_saved(self, now_ms: int, first: int, old: int, count: int) -> int:
        """How many of the old answers may be asked for again now."""
        per_minute = self._limits.per_minute
        if per_minute is None:
            return old
        saved = min(float(count), self._saved + (now_ms - self._saved_at_ms) * per_minute / 60_000)
        taken = min(old, int(max(0.0, saved - first)))
        self._saved, self._saved_at_ms = max(0.0, saved - first - taken), now_ms
        return taken

    def peek(self, about: K) -> Answer[T]:
        """What is known; nothing is asked."""
        with self._lock:
            return self._answers.get(about) or Answer()

    def known(self, about: K) -> T | None:
        """The last good answer; nothing is asked."""
        return self.peek(about).value

    async def wait(self, abouts: Iterable[K], seconds: float) -> None:
        """Ask, and wait until each has its first answer, at most for so long. Where many wait already, nobody does."""
        await self._until([(about, self.look(about)) for about in abouts], seconds, _is_first)

    async def wait_for_news(self, abouts: Iterable[K], seconds: float) -> None:
        """Ask, and wait until nothing newer is on its way to any of them, at most for so long."""
        await self._until([(about, self.look(about)) for about in abouts], seconds, _is_open)

    async def wait_over(self, abouts: Collection[K], seconds: float, *, for_news: bool = False) -> None:
        """As these two, but asking as `look_over` does."""
        self.look_over(abouts)
        answers = [(about, self.peek(about)) for about in abouts]
        await self._until(answers, seconds, _is_open if for_news else _is_first)

    async def _until(
        self, looked_at: Iterable[tuple[K, Answer[T]]], seconds: float, is_awaited: Callable[[Answer[T]], bool]
    ) -> None:
        waiting = [about for about, answer in looked_at if is_awaited(answer) and not answer.is_refused]
        loop = asyncio.get_running_loop()
        latch = _Latch(loop, loop.create_future())
        with self._lock:
            if self._awaiting >= AWAITING_MAX:
                return
            open_now = [each for each in waiting if (now := self._answers.get(each)) is not None and is_awaited(now)]
            if not open_now:
                return
            self._awaiting += 1
            latch.left = len(open_now)
            for about in open_now:
                self._latches.setdefault(about, []).append(latch)
        try:
            async with asyncio.timeout(seconds):
                await latch.done
        except TimeoutError:
            pass  # whoever asked shows what is known by now
        finally:
            with self._lock:
                self._awaiting -= 1
                for about in open_now:
                    self._forget_latch(about, latch)

    def _forget_latch(self, about: K, latch: _Latch) -> None:
        left = [each for each in self._latches.get(about, ()) if each is not latch]
        if left:
            self._latches[about] = left
        else:
            self._latches.pop(about, None)

    def _has_room(self, about: K) -> bool:
        of_one = self._limits.of_one_waiting
        if of_one is not None and self._waiting_of[self._owner_of(about)] >= of_one:
            return False
        return len(self._waiting) < self._limits.waiting

    def _start_thread(self) -> None:
        if self._threads < self._limits.at_once:
            self._threads += 1
            threading.Thread(target=self._work, name="asks for the page", daemon=True).start()

    def _forget_old(self) -> None:
        if len(self._answers) <= self._limits.kept:
            return
        done = [about for about, known in self._answers.items() if known.open_ms is None]
        for about in done[: max(0, len(self._answers) - self._limits.kept)]:
            del self._answers[about]

    # In the threads.

    def _work(self) -> None:
        """Ask what waits, until nothing does. An error that nobody expected ends the thread; another one goes on."""
        try:
            while (about := self._take()) is not None:
                self._ask(about[0])
        finally:
            with self._lock:
                self._threads -= 1
                if self._next() is not None:
                    self._start_thread()

    def _take(self) -> tuple[K] | None:
        with self._lock:
            about = self._next()
            if about is None:
                return None
            owner = self._owner_of(about[0])
            del self._waiting[about[0]]
            _less(self._waiting_of, owner)
            self._running_of[owner] += 1
            self._answers[about[0]] = replace(self._answers[about[0]], asked_ms=self._now_ms())
            return about

    def _next(self) -> tuple[K] | None:
        """The question that waits longest and whose connector has room for one more."""
        of_one = self._limits.of_one_at_once
        for about in self._waiting:
            if of_one is None or self._running_of[self._owner_of(about)] < of_one:
                return (about,)
        return None

    def _ask(self, about: K) -> None:
        value: T | None = None
        error: str | None = UNEXPECTED  # unless one of the lines below says otherwise
        is_final = False
        try:
            value, error = self._question(about), None
        except ExporterError as known:
            error, is_final = str(known), isinstance(known, ConfigurationError)
        finally:
            with self._lock:
                before: Answer[T] = self._answers.get(about) or Answer()
                now_ms = self._now_ms()
                if error is None:
                    self._answers[about] = Answer(value, now_ms, None, None, now_ms)
                else:
                    self._answers[about] = Answer(before.value, before.at_ms, error, None, now_ms, is_final)
                _less(self._running_of, self._owner_of(about))
                for latch in self._latches.pop(about, ()):
                    latch.count_down()


@dataclass(slots=True, eq=False)
class _Latch:
    """Opens once as many answers as it waits for have come."""

    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]
    left: int = 0

    def count_down(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.loop.call_soon_threadsafe(self._open)

    def _open(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


def _is_first(answer: Answer[Any]) -> bool:
    return answer.is_first


def _is_open(answer: Answer[Any]) -> bool:
    return answer.open_ms is not None


def _less(counted: Counter[Hashable], owner: Hashable) -> None:
    counted[owner] -= 1
    if counted[owner] <= 0:
        del counted[owner]
