"""Some work ahead, in order: requests to a store, several at once, with their answers one after the other."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

PARALLEL: Final = 8
#: Answers that wait for their turn, for each worker: enough to keep all busy behind a slow one.
AHEAD: Final = 4

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@contextlib.contextmanager
def workers(parallel: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of that many threads; an error does not wait for work that has not begun."""
    pool = ThreadPoolExecutor(parallel)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def map_ordered(
    pool: ThreadPoolExecutor, function: Callable[[Item], Answer], items: Iterable[Item], ahead: int
) -> Iterator[Answer]:
    """The answers in the order of the items. At most `ahead` items are taken before their turn, and so in memory."""
    waiting: deque[Future[Answer]] = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
