"""Time buckets: what `partition.duration.ms` cuts a zone's clocks into, and the path of each.

As the sink's TimeBasedPartitioner has it: the time that clocks show is cut down to a multiple of the duration since the
local epoch, that time of the clocks becomes an instant again, and the pattern prints it. The path is thus that of the
bucket's start. Ours on purpose: before 1970 cut down means to the earlier multiple, where the sink cuts towards zero
and makes the bucket around the epoch twice as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from kafka_s3.joda import JodaError
from kafka_s3.joda.days import DAY_MS
from kafka_s3.joda.patterns import compile_pattern
from kafka_s3.joda.zones import Span, Zone

CACHED_MAX = 4096
_QUARTER_MS = 900_000  # every offset of today is a multiple


def bucket_start(at_ms: int, duration_ms: int, zone: Zone) -> int:
    """The instant that the sink prints for a bucket; see `Zone.to_utc` for what becomes of gaps and overlaps.

    Clocks show a time at or before that of `at_ms`; the instant itself may be later by a gap or an overlap.
    """
    return zone.to_utc(_local_start(at_ms, duration_ms, zone))


def bucket_span(at_ms: int, duration_ms: int, zone: Zone) -> tuple[int, int]:
    """`[start, end)`: the first instant at which clocks show a time of the bucket of `at_ms`, and the end of the last.

    Longer than the duration by an hour that clocks show twice, shorter by one that they skip. Buckets shorter than an
    overlap come twice: the span covers both and what lies between.
    """
    local_ms = _local_start(at_ms, duration_ms, zone)
    local_end_ms = local_ms + duration_ms
    # Offsets are less than a day, and so is a gap: the first and the last instant lie within these.
    window_ms = min(duration_ms, 2 * DAY_MS) + DAY_MS
    first = _instants(zone.spans(local_ms - DAY_MS, local_ms + window_ms), local_ms, local_end_ms)
    last = _instants(zone.spans(local_end_ms - window_ms, local_end_ms + DAY_MS), local_ms, local_end_ms)
    return min(start for start, _ in first), max(end for _, end in last)


def _instants(spans: Iterator[Span], local_ms: int, local_end_ms: int) -> Iterator[tuple[int, int]]:
    for span in spans:
        start = max(span.start_ms, local_ms - span.offset_ms)
        end = min(span.end_ms, local_end_ms - span.offset_ms)
        if start < end:
            yield start, end


def _local_start(at_ms: int, duration_ms: int, zone: Zone) -> int:
    return (at_ms + zone.offset_ms(at_ms)) // duration_ms * duration_ms


class _Blocks(dict[int, "str | None"]):
    """The path of each short block of UTC, None for one that lies in several buckets; filled when asked."""

    def __init__(self, path_of: Callable[[int], str | None]) -> None:
        super().__init__()
        self._path_of = path_of
        self.mixed = False

    def __missing__(self, block: int) -> str | None:
        if len(self) >= CACHED_MAX:
            self.clear()
        path = self[block] = self._path_of(block)
        self.mixed = self.mixed or path is None
        return path


class Bucketer:
    """Paths of instants by a duration, a pattern, a zone and a locale.

    Per record one division and one look-up: UTC is cut into blocks that divide both the bucket and a quarter of an
    hour, and a block that lies in one bucket has that bucket's path. Memory: at most 4,096 blocks and as many paths.
    """

    def __init__(self, duration_ms: int, pattern: str, zone: Zone, locale: str) -> None:
        if duration_ms <= 0:
            raise JodaError(f"A bucket of {duration_ms} ms is not possible. Allowed are 1 and more.")
        self.duration_ms = duration_ms
        self.zone = zone
        self._print = compile_pattern(pattern, zone, locale)
        self._block_ms = math.gcd(duration_ms, _QUARTER_MS)
        self._blocks = _Blocks(self._path_of_block)
        self._paths: dict[int, str] = {}

    def path(self, at_ms: int) -> str:
        """The path of one instant (milliseconds since the epoch)."""
        path = self._blocks[at_ms // self._block_ms]
        return self._path_of_local(_local_start(at_ms, self.duration_ms, self.zone)) if path is None else path

    def paths(self, timestamps: Sequence[int]) -> list[str]:
        """The path of each instant, in order."""
        blocks, block_ms = self._blocks, self._block_ms
        paths = [blocks[at_ms // block_ms] for at_ms in timestamps]
        if not blocks.mixed:
            return paths  # type: ignore[return-value]  # none of them is None
        return [self.path(at_ms) if path is None else path for at_ms, path in zip(timestamps, paths, strict=True)]

    def start(self, at_ms: int) -> int:
        """`bucket_start` of an instant."""
        return bucket_start(at_ms, self.duration_ms, self.zone)

    def span(self, at_ms: int) -> tuple[int, int]:
        """`bucket_span` of an instant."""
        return bucket_span(at_ms, self.duration_ms, self.zone)

    def _path_of_block(self, block: int) -> str | None:
        first_ms = block * self._block_ms
        last_ms = first_ms + self._block_ms - 1
        local_ms = _local_start(first_ms, self.duration_ms, self.zone)
        if local_ms != _local_start(last_ms, self.duration_ms, self.zone):
            return None
        # Both ends alike is not enough: clocks set back in between may have shown the next bucket. None ever were.
        return None if self.zone.changes_between(first_ms, last_ms) else self._path_of_local(local_ms)

    def _path_of_local(self, local_ms: int) -> str:
        path = self._paths.get(local_ms)
        if path is None:
            if len(self._paths) >= CACHED_MAX:
                self._paths.clear()
            path = self._paths[local_ms] = self._print(self.zone.to_utc(local_ms))
        return path
