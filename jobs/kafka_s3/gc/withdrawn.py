"""Objects that a rewind withdrew, and whose offsets are exported again: plain listings show them beside the live ones.

No reader of the log takes them. What Kafka could not give again is not among them: of a range that a gap overlaps, or
whose offsets the log of a partition that ended had not reached again, the withdrawn objects may be the last copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kafka_s3.bucket.lost import LostRange
from kafka_s3.log.entries import Entry, RangeEntry
from kafka_s3.log.replay import BackwardReplay


@dataclass(slots=True)
class Withdrawn:
    """What the entries of a log withdrew, which are taken newest first; nothing unless that is asked.

    Memory: the withdrawn ranges, and the keys of live objects.
    """

    asked: bool
    _seen: BackwardReplay = field(default_factory=BackwardReplay)
    _ranges: list[RangeEntry] = field(default_factory=list)
    _live: set[str] = field(default_factory=set)

    def take(self, entry: Entry) -> None:
        if not self.asked:
            return
        taken = self._seen.take(entry)
        self._ranges += taken.withdrawn
        self._live.update(key for done in taken.ranges for key in _keys(done))

    def keys(self, head: Entry, lost: Sequence[LostRange]) -> set[str]:
        """The data objects, and what lies beside them, that nobody needs. Dead letters stay: what was redriven of them
        is known by them."""
        again = [done for done in self._ranges if _is_again(done, head, lost)]
        return {key for done in again for key in _keys(done)} - self._live


def _is_again(done: RangeEntry, head: Entry, lost: Sequence[LostRange]) -> bool:
    """Whether all offsets of a withdrawn range are exported again, and none of them is lost."""
    position = head.position(done.tp)
    of_partition = [each for each in lost if each.tp == done.tp]
    overlap = any(
        each.start < done.next_offset and (each.end is None or done.start < each.end) for each in of_partition
    )
    return position is not None and done.next_offset <= position and not overlap


def _keys(done: RangeEntry) -> Iterator[str]:
    for made in done.objects:
        yield made.key
        yield from (beside.key for beside in made.companions)
