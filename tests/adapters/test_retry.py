from __future__ import annotations

import random
import threading

import pytest
import tenacity
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.adapters.retry import TIME_MAX_S, TOTAL_MAX_S, WAIT_MAX_S, Retrying
from kafka_s3.errors import Fenced, KafkaUnavailable, StoreRefused, StoreUnavailable
from kafka_s3.settings.s3 import RetrySettings


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
    patient(retries, backoff_ms, clock, uniform=highest, time_max_s=float("inf"), total_max_s=float("inf"))(
        Failing(retries)
    )
    expected = [min(WAIT_MAX_S, backoff_ms * 2 ** (n - 1) / 1000) for n in range(1, retries + 1)]
    assert clock.sleeps == pytest.approx(expected)


def test_the_documented_sums_of_waits() -> None:
    """With the default backoff: 1.4 s after 3 retries, 204.6 s after 10, and 24 h for each from the 20th on."""
    clock = Clock()
    patient(21, 200, clock, uniform=highest, time_max_s=float("inf"), total_max_s=float("inf"))(Failing(21))
    assert [sum(clock.sleeps[:retries]) for retries in (3, 10, 19, 20, 21)] == pytest.approx(
        [1.4, 204.6, 104_857.4, 191_257.4, 277_657.4]
    )


def test_thousands_of_retries_do_not_overflow() -> None:
    """2^(n-1) is never computed past the cap: retry 5000 waits for at most 24 h, too."""
    clock = Clock()
    patient(5000, 200, clock, uniform=highest, time_max_s=float("inf"), total_max_s=float("inf"))(Failing(5000))
    assert clock.sleeps[-1] == WAIT_MAX_S


def test_the_wait_is_uniform_from_zero() -> None:
    """Full jitter: the draws fill [0, bound] evenly, they are not spread around the bound."""
    clock = Clock()
    for seed in range(2000):  # each with a budget of its own
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


def test_all_calls_together_have_an_hour_for_failing() -> None:
    """A store that is ill for every call: the calls share an hour of failing tries and waits, then each is one try."""
    clock = Clock()
    retrying = patient(3, 60_000, clock, uniform=highest)
    tries = []
    for _ in range(20):
        failing = Failing(100)
        with pytest.raises(StoreUnavailable):
            retrying(failing)
        tries.append(failing.calls)
    assert sum(clock.sleeps) <= TOTAL_MAX_S
    # 60 + 120 + 240 s each; of the last 240 s only 60 and 120 fit, and then another 60.
    assert tries == [4] * 8 + [3, 2] + [1] * 10
    with pytest.raises(StoreUnavailable, match=r"no retry: 3600 s of this process went into requests that failed"):
        retrying(Failing(100))


def test_tries_that_fail_slowly_spend_the_hour_too() -> None:
    """Time-outs of ten minutes: six of them are the hour, though nobody waited between them."""
    clock = Clock()
    retrying = patient(1, 0, clock, time_max_s=float("inf"))

    def slow() -> None:
        clock.now += 600
        raise StoreUnavailable("read timed out")

    messages = []
    for _ in range(5):
        with pytest.raises(StoreUnavailable) as caught:
            retrying(slow)
        messages.append(str(caught.value))
    assert ["2 tries" in each for each in messages] == [True, True, True, False, False]
    assert ["no retry" in each for each in messages] == [False, False, False, True, True]


def test_what_passes_spends_nothing() -> None:
    """Hours of requests that pass, and refusals that are final, leave the budget as it was."""
    clock = Clock()
    retrying = patient(1, 60_000, clock, uniform=highest)

    def works() -> None:
        clock.now += 10 * TOTAL_MAX_S

    def refused() -> None:
        clock.now += 10 * TOTAL_MAX_S
        raise StoreRefused("no")

    retrying(works)
    with pytest.raises(StoreRefused):
        retrying(refused)
    assert retrying(Failing(1)) == "done"
    assert clock.sleeps == [60]


def test_without_retries_nothing_is_said_of_the_budget() -> None:
    """`s3.part.retries=0`: one try, and the message is the store's alone."""
    retrying = patient(0, 0, Clock(), total_max_s=0)
    with pytest.raises(StoreUnavailable, match=r"^S3 answered 503 SlowDown\.$"):
        retrying(Failing(1))


def test_threads_spend_one_hour_together() -> None:
    """Eight threads that fail at once never wait longer, all together, than the budget has."""
    slept: list[float] = []
    lock = threading.Lock()

    def sleep(seconds: float) -> None:
        with lock:
            slept.append(seconds)

    retrying = Retrying(
        RetrySettings(1000, 1000), retry_on=StoreUnavailable, total_max_s=60, clock=lambda: 0.0, sleep=sleep
    )

    def fail() -> None:
        with pytest.raises(StoreUnavailable):
            retrying(Failing(10**6))

    threads = [threading.Thread(target=fail) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < sum(slept) <= 60


def test_one_value_serves_many_threads() -> None:
    """Threads that share a `Retrying` each get all their retries while there is time left."""
    retrying = Retrying(RetrySettings(3, 0), retry_on=StoreUnavailable)
    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(retrying(Failing(3)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["done"] * 8
