"""Answers that are kept, up to a size together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class AnswerCache(Generic[K, V]):
    """Values by key. Beyond `size_max` the oldest are dropped, but never the newest. Thread-safe."""

    def __init__(self, size_max: int, size_of: Callable[[V], int], first: Mapping[K, V]) -> None:
        self._size_max = size_max
        self._size_of = size_of
        self._size = 0
        self._values: dict[K, V] = {}
        self._lock = threading.Lock()
        for key, value in first.items():
            self.put(key, value)

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._drop(key)
            self._values[key] = value
            self._size += self._size_of(value)
            while self._size > self._size_max and len(self._values) > 1:
                self._drop(next(iter(self._values)))

    def all(self) -> dict[K, V]:
        with self._lock:
            return dict(self._values)

    def _drop(self, key: K) -> None:
        value = self._values.pop(key, None)
        if value is not None:
            self._size -= self._size_of(value)
