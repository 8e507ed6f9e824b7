"""Topic-partitions and half-open offset ranges `[start, end)`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of one Kafka topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """The offsets `[start, end)` of one topic-partition; offsets may have holes, so it holds at most `size` records."""

    tp: TopicPartition
    start: int
    end: int

    def __post_init__(self) -> None:
        assert 0 <= self.start <= self.end, f"{self.tp}: [{self.start}, {self.end}) is not a range"

    @property
    def size(self) -> int:
        return self.end - self.start

    def split(self, size_max: int) -> tuple[OffsetRange, ...]:
        """Cut into ranges of `size_max` offsets from the start, the last one shorter.

        >>> [(r.start, r.end) for r in OffsetRange(TopicPartition("t", 0), 5, 12).split(3)]
        [(5, 8), (8, 11), (11, 12)]
        """
        assert size_max > 0
        cuts = [*range(self.start, self.end, size_max), self.end]
        return tuple(OffsetRange(self.tp, start, end) for start, end in pairwise(cuts))

    def __str__(self) -> str:
        return f"{self.tp} [{self.start}, {self.end})"
