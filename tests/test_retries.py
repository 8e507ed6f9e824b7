from __future__ import annotations

import random
import threading

import pytest
import tenacity
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.errors import Fenced, KafkaUnavailable, StoreRefused, StoreUnavailable
from kafka_s3.retries import TIME_MAX_S, WAIT_MAX_S, Retrying
from kafka_s3.settings.model import RetrySettings


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


class Failing:
    """Fails `times` times, then answers "done"."""

    def __init__(self, times: int, error: Exception | None = None) -> None:
        self.calls = 0
        self._times = times
        self._error = error

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self._times:
            raise self._error or StoreUnavailable("S3 answered 503 SlowDown.")
        return "done"


def highest(low: float, high: float) -> float:
    assert low == 0
    return high


def patient(retries: int, backoff_ms: int, clock: Clock, **options: object) -> Retrying:
    settings = RetrySettings(retries, backoff_ms)
    return Retrying(settings, retry_on=StoreUnavailable, clock=clock, sleep=clock.sleep, **options)  # type: ignore[arg-type]


def test_bounds_of_the_wait_double() -> None:
    """Before retry n the wait is drawn from [0, backoff * 2^(n-1)]: 0.2, 0.4, 0.8 s with the defaults."""
    clock = Clock()
    assert patient(3, 200, clock, uniform=highest)(Failing(3)) == "done"
    assert clock.sleeps == pytest.approx([0.2, 0.4, 0.8])


@given(backoff_ms=st.integers(0, 10**9), retries=st.integers(1, 80))
def test_bounds_of_the_wait_are_the_documented_ones(backoff_ms: int, retries: int) -> None:
    """For any backoff and any retry, however late, the upper bound is min(24 h, backoff_ms * 2^(n-1))."""
    clock = Clock()
    patient(retries, backoff_ms, clock, uniform=highest, time_max_s=float("inf"))(Failing(retries))
    expected = [min(WAIT_MAX_S, backoff_ms * 2 ** (n - 1) / 1000) for n in range(1, retries + 1)]
    assert clock.sleeps == pytest.approx(expected)


def test_thousands_of_retries_do_not_overflow() -> None:
    """2^(n-1) is never computed past the cap: retry 5000 waits for at most 24 h, too."""
    clock = Clock()
    patient(5000, 200, clock, uniform=highest, time_max_s=float("inf"))(Failing(5000))
    assert clock.sleeps[-1] == WAIT_MAX_S


def test_the_wait_is_uniform_from_zero() -> None:
    """Full jitter: the draws fill [0, bound] evenly, they are not spread around the bound."""
    clock = Clock()
    for seed in range(2000):
        patient(1, 1000, clock, uniform=random.Random(seed).uniform)(Failing(1))
    assert 0 <= min(clock.sleeps) < 0.01
    assert 0.99 < max(clock.sleeps) <= 1
    quarters = [sum(1 for s in clock.sleeps if low <= s < low + 0.25) for low in (0, 0.25, 0.5, 0.75)]
    assert all(400 < count < 600 for count in quarters), quarters


def test_tenacity_agrees_on_the_bounds() -> None:
    """tenacity's own wait_random_exponential(multiplier=backoff, max=24 h) would draw from the same intervals."""
    theirs = tenacity.wait_random_exponential(multiplier=0.2, max=WAIT_MAX_S)
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    for attempt in range(1, 30):
        state.attempt_number = attempt
        bound = min(WAIT_MAX_S, 0.2 * 2 ** (attempt - 1))
        assert all(0 <= theirs(state) <= bound for _ in range(20))


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_retries_are_counted_after_the_first_try(retries: int) -> None:
    """`retries=0` is one try; n retries are n + 1 tries, and the message says how many were made."""
    clock, failing = Clock(), Failing(100)
    with pytest.raises(StoreUnavailable) as caught:
        patient(retries, 200, clock)(failing)
    assert failing.calls == retries + 1
    assert len(clock.sleeps) == retries
    assert ("tries" in str(caught.value)) == (retries > 0)
    if retries:
        assert f"503 SlowDown. ({retries + 1} tries)" in str(caught.value)


@pytest.mark.parametrize("error", [StoreRefused("no"), KafkaUnavailable("no"), Fenced("no"), KeyError("bug")])
def test_other_errors_are_not_retried(error: Exception) -> None:
    """Only the named class is retried: not a refusal, not another system's trouble, not a lost race, not a bug."""
    clock, failing = Clock(), Failing(1, error)
    with pytest.raises(type(error)) as caught:
        patient(3, 200, clock)(failing)
    assert caught.value is error
    assert failing.calls == 1
    assert clock.sleeps == []


def test_total_time_is_limited() -> None:
    """No wait begins that would end after the limit, however many retries are left."""
    clock, failing = Clock(), Failing(10**6)
    with pytest.raises(StoreUnavailable):
        patient(10**6, 60_000, clock, uniform=highest)(failing)
    assert sum(clock.sleeps) <= TIME_MAX_S
    assert clock.sleeps == pytest.approx([60, 120, 240, 480, 960])  # the next would end after 3720 s


def test_time_of_the_tries_counts() -> None:
    """A try that itself takes longer than the limit is the last one."""
    clock = Clock()

    def slow() -> None:
        clock.now += TIME_MAX_S + 1
        raise StoreUnavailable("read timed out")

    with pytest.raises(StoreUnavailable):
        patient(5, 0, clock)(slow)
    assert clock.sleeps == []


def test_one_value_serves_many_threads() -> None:
    """A `Retrying` holds no state of a call: threads that share it each get all their retries."""
    retrying = Retrying(RetrySettings(3, 0), retry_on=StoreUnavailable)
    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(retrying(Failing(3)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["done"] * 8
