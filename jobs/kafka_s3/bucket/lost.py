"""Where the log says that records are lost, a run that died before its commit may have written their last copy.

Kafka lost them before they were exported: a gap, or a log of a partition that ended above its position (a topic that
was created again, an unclean leader election). Objects that begin there are no garbage like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kafka_s3.log.entries import Entry
from kafka_s3.naming import DataName
from kafka_s3.ranges import TopicPartition


@dataclass(frozen=True, slots=True)
class LostRange:
    """Offsets from `start` to `end` (`None`: and all after) that the export lacks for good.

    `generation`: in whose names they would be; `None`: in any.
    """

    tp: TopicPartition
    start: int
    end: int | None
    generation: int | None = None

    def holds(self, name: DataName) -> bool:
        """Whether an object of that name begins there."""
        return (
            TopicPartition(name.topic, name.partition) == self.tp
            and name.start_offset >= self.start
            and (self.end is None or name.start_offset < self.end)
            and self.generation in (None, name.generation)
        )


@dataclass(slots=True)
class Losses:
    """All that is lost by the entries of a log, which are taken newest first."""

    found: list[LostRange] = field(default_factory=list)
    _newer: Entry | None = None

    def take(self, entry: Entry) -> None:
        if self._newer is not None:
            self.found += _lost_by(self._newer, entry)
        self._newer = entry


def _lost_by(entry: Entry, before: Entry) -> Iterator[LostRange]:
    """What an entry says is lost; `before`: the one that it follows, with the positions that a log ended at."""
    for gap in entry.gaps:
        yield LostRange(gap.tp, gap.start, gap.end)
    for restart in entry.restarts:
        state = before.topics.get(restart.topic)
        if state is not None and not restart.withdrawn:
            yield LostRange(restart.tp, state.positions.get(restart.partition, 0), None, state.generation)
