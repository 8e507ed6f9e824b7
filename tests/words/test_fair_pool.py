"""Who is next where several share a few threads: by the order of what happens, held up where it matters."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_s3.fair_pool import FairPool


class Kept:
    """Items that write down when they begin, and go on once they are let go."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.first = threading.Event()
        self.go = threading.Event()
        self._lock = threading.Lock()

    def work(self, item: str) -> str:
        with self._lock:
            self.began.append(item)
        self.first.set()
        assert self.go.wait(60)
        return item.upper()


def waiting(pool: FairPool, callers: int) -> None:
    """Until so many have something to do."""
    while True:
        with pool._changed:
            if len(pool._callers) == callers:
                return
        threading.Event().wait(0.01)


def test_nobody_waits_behind_a_large_caller() -> None:
    """One with a hundred items was first; two small ones have their turns among its items."""
    kept = Kept()
    large = [f"large-{number}" for number in range(100)]
    with FairPool(1) as pool, ThreadPoolExecutor(3) as callers:
        answers = [callers.submit(pool.map, kept.work, large, 4)]
        assert kept.first.wait(60)
        for name in ("a", "b"):
            answers.append(callers.submit(pool.map, kept.work, [f"{name}-0", f"{name}-1"], 4))
            waiting(pool, len(answers))
        kept.go.set()
        assert [len(each.result()) for each in answers] == [100, 2, 2]
        assert answers[1].result() == ["A-0", "A-1"]
    assert kept.began[:8] == ["large-0", "large-1", "a-0", "b-0", "large-2", "a-1", "b-1", "large-3"]


def test_a_caller_has_no_more_than_it_may() -> None:
    """Whatever is free: the other threads are another's."""
    kept = Kept()
    with FairPool(4) as pool, ThreadPoolExecutor(2) as callers:
        one = callers.submit(pool.map, kept.work, ["one-0", "one-1", "one-2"], 1)
        assert kept.first.wait(60)
        other = callers.submit(pool.map, kept.work, ["other-0", "other-1", "other-2"], 3)
        while len(kept.began) < 4:
            threading.Event().wait(0.01)
        assert sorted(kept.began) == ["one-0", "other-0", "other-1", "other-2"]
        kept.go.set()
        assert one.result() == ["ONE-0", "ONE-1", "ONE-2"]
        assert other.result() == ["OTHER-0", "OTHER-1", "OTHER-2"]


def test_what_is_raised_is_its_callers_alone() -> None:
    """It ends what that one has not begun, and nothing of another; the threads go on."""
    began: list[int] = []

    def fail(item: int) -> int:
        began.append(item)
        raise ValueError(f"item {item}")

    with FairPool(1) as pool:
        with pytest.raises(ValueError, match="item 0"):
            pool.map(fail, [0, 1, 2], 1)
        assert pool.map(str, [1, 2], 1) == ["1", "2"]
        assert pool.map(str, [], 1) == []
    assert began == [0]
