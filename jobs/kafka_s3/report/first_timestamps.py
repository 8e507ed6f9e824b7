"""How old the first records of some ranges are: a fetch for each, so many of them at once, within a time."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final

from kafka_s3.ports import Broker
from kafka_s3.ranges import OffsetRange, TopicPartition

#: So many partitions are asked at most.
ASKED_MAX: Final = 32
_PARALLEL: Final = 8


def first_timestamps(
    broker: Broker, ranges: list[OffsetRange], time_max_s: float, *, uncommitted: bool = False
) -> Mapping[TopicPartition, Future[int | None]]:
    """What `Broker.first_timestamp` says of each, errors included; those that did not answer in time are left out."""
    ask = partial(broker.first_timestamp, uncommitted=uncommitted)
    pool = ThreadPoolExecutor(_PARALLEL)
    try:
        futures = {pool.submit(ask, each.tp, each.start, each.end): each.tp for each in ranges}
        concurrent.futures.wait(futures, time_max_s)
        return {tp: future for future, tp in futures.items() if future.done()}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # one that hangs ends by its own limit
