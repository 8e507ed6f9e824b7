"""The times that a path is for: one bucket, or as many as the pattern gives the same path.

A pattern may be coarser than the duration: paths of days over buckets of an hour. That a path is used again later (one
of hours without a day) is not seen here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafka_s3.joda.buckets import Bucketer

_FAR_MS: Final = 1 << 45  # more than a thousand years: a path of so long never ends


@dataclass(frozen=True, slots=True)
class Period:
    """A path, and `[start_ms, end_ms)`: from the first instant of its first bucket to the end of its last."""

    path: str
    start_ms: int
    end_ms: int


def period_at(bucketer: Bucketer, at_ms: int) -> Period | None:
    """The period that an instant lies in; `None` if its path never ends."""
    path = bucketer.path(at_ms)
    start_ms, end_ms = bucketer.span(at_ms)
    while bucketer.path(end_ms) == path:
        last_ms = _last(bucketer, path, end_ms, 1)
        if last_ms is None:
            return None
        end_ms = bucketer.span(last_ms)[1]
    while bucketer.path(start_ms - 1) == path:
        first_ms = _last(bucketer, path, start_ms - 1, -1)
        if first_ms is None:
            return None
        start_ms = bucketer.span(first_ms)[0]
    return Period(path, start_ms, end_ms)


def _last(bucketer: Bucketer, path: str, from_ms: int, sign: int) -> int | None:
    """The last instant in one direction that still has the path, as `from_ms` has: by steps that double, then halve."""
    near, step = 0, bucketer.duration_ms
    while bucketer.path(from_ms + sign * (near + step)) == path:
        near, step = near + step, step * 2
        if near > _FAR_MS:
            return None
    far = near + step
    while far - near > 1:
        middle = (near + far) // 2
        if bucketer.path(from_ms + sign * middle) == path:
            near = middle
        else:
            far = middle
    return from_ms + sign * near
