"""The one place for retries inside a job: full jitter, bounded in number and in time.

Before retry n = 1, 2, … the wait is uniform in [0, min(24 h, backoff_ms * 2^(n-1))], the Connect S3 sink's rule
(its RetryUtil). Airflow's retries, minutes apart, come on top; so a call that keeps failing gives up after
`TIME_MAX_S` however many retries it has left.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

import tenacity

from kafka_s3.errors import TemporaryError
from kafka_s3.settings.model import RetrySettings

WAIT_MAX_S: Final = 24 * 3600
TIME_MAX_S: Final = 3600

T = TypeVar("T")


class Retrying:
    """Calls a function until it passes, raises something other than `retry_on`, or the limits are reached.

    Then the last error is raised with the number of tries in its message. It takes at most `time_max_s` and the
    time of one more try: no wait begins that would end later. May be shared between threads.
    """

    def __init__(
        self,
        settings: RetrySettings,
        *,
        retry_on: type[TemporaryError],
        time_max_s: float = TIME_MAX_S,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        assert min(settings.retries, settings.backoff_ms) >= 0, settings
        self._retries = settings.retries
        # Beyond the cap (after 2^63 it would overflow a float, too) tenacity answers with `max`.
        self._ceiling = tenacity.wait_exponential(multiplier=settings.backoff_ms / 1000, max=WAIT_MAX_S, exp_base=2)
        self._retry_on = retry_on
        self._time_max_s = time_max_s
        self._clock = clock
        self._sleep = sleep
        self._uniform = uniform

    def __call__(self, attempt: Callable[[], T]) -> T:
        began = self._clock()

        def is_last(state: tenacity.RetryCallState) -> bool:
            elapsed = self._clock() - began
            return state.attempt_number > self._retries or elapsed + state.upcoming_sleep > self._time_max_s

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(self._retry_on),
            # tenacity's wait_random_exponential has these bounds, but takes no source of chance.
            wait=lambda state: self._uniform(0, self._ceiling(state)),
            stop=is_last,
            sleep=self._sleep,
            retry_error_callback=_give_up,
        )
        return retrying(attempt)


def _give_up(state: tenacity.RetryCallState) -> None:
    assert state.outcome is not None
    error = state.outcome.exception()
    assert isinstance(error, TemporaryError)
    if state.attempt_number > 1:
        error.what = f"{error.what} ({state.attempt_number} tries)"
    raise error
