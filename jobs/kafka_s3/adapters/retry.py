"""The one place for retries inside a job: full jitter, bounded in number and in time. `retry_policy.py` says what for.

Before retry n = 1, 2, … the wait is uniform in [0, min(24 h, backoff_ms * 2^(n-1))], the Connect S3 sink's rule
(its RetryUtil). Airflow's retries, minutes apart, come on top; so a call that keeps failing gives up after
`TIME_MAX_S` however many retries it has left, and all calls of one adapter together have `TOTAL_MAX_S` for tries that
fail and the waits after them: from then on each call is one request, and what is ill is left in peace.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from kafka_s3.errors import TemporaryError
from kafka_s3.settings.s3 import RetrySettings

WAIT_MAX_S: Final = 24 * 3600
TIME_MAX_S: Final = 3600
TOTAL_MAX_S: Final = 3600

#: The operating system's, so that processes that Spark forks do not all wait the same.
_CHANCE: Final = random.SystemRandom()

T = TypeVar("T")


class Budget:
    """Time for what fails, shared by threads: several that fail at once spend it together."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left = seconds
        self._lock = threading.Lock()

    def spend(self, seconds: float) -> None:
        """What has passed already."""
        with self._lock:
            self._left -= seconds

    def take(self, seconds: float) -> bool:
        """What is to come: all of it, or nothing and False once it does not fit any more."""
        with self._lock:
            if seconds > self._left or self._left <= 0:
                return False
            self._left -= seconds
            return True


class Retrying:
    """Calls a function until it passes, raises something other than `retry_on`, or the limits are reached.

    Then the last error is raised with the number of tries in its message. It takes at most `time_max_s` and the
    time of one more try: no wait begins that would end later. May be shared between threads, and should be: what all
    calls spend on failing, `total_max_s` at most and the tries that are under way, is counted here.
    """

    def __init__(
        self,
        settings: RetrySettings,
        *,
        retry_on: type[TemporaryError],
        time_max_s: float = TIME_MAX_S,
        total_max_s: float = TOTAL_MAX_S,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = _CHANCE.uniform,
    ) -> None:
        assert min(settings.retries, settings.backoff_ms) >= 0, settings
        self._retries = settings.retries
        self._backoff_s = settings.backoff_ms / 1000
        self._retry_on = retry_on
        self._time_max_s = time_max_s
        self._budget = Budget(total_max_s)
        self._clock = clock
        self._sleep = sleep
        self._uniform = uniform

    def __call__(self, attempt: Callable[[], T]) -> T:
        began = self._clock()
        for tries in itertools.count(1):
            started = self._clock()
            try:
                return attempt()
            except self._retry_on as error:
                failed = self._clock()
                self._budget.spend(failed - started)
                wait_s = self._uniform(0, self._wait_max_s(tries))
                if tries > self._retries or failed - began + wait_s > self._time_max_s:
                    self._count_tries(error, tries, spent=False)
                    raise
                if not self._budget.take(wait_s):  # the last question: what is taken will be slept
                    self._count_tries(error, tries, spent=True)
                    raise
            self._sleep(wait_s)
        raise AssertionError("counting never ends")

    def _wait_max_s(self, tries: int) -> float:
        """The longest wait after so many tries. Any backoff of a millisecond or more is past 24 h at 2^63."""
        return min(WAIT_MAX_S, self._backoff_s * 2.0 ** min(tries - 1, 63))

    def _count_tries(self, error: TemporaryError, tries: int, *, spent: bool) -> None:
        """Say in an error's message how often it was tried, and that the budget is why not more often."""
        notes = [f"{tries} tries"] if tries > 1 else []
        if spent:
            notes.append(f"no retry: {self._budget.seconds:g} s of this process went into requests that failed")
        if notes:
            error.what = f"{error.what} ({'; '.join(notes)})"
