"""Which dead letters are of the export, and where else letters of the same records lie.

A rewind withdraws ranges with their letters: those offsets are exported again, and are records, or letters of other
objects, afterwards. What was done with a letter that is withdrawn by now was done with its record all the same. So for
a range of the export the withdrawn ones are found that held the same records.

Equal offsets of a partition are the same record as long as Kafka's log was the same: under one topic id, and with no
restart between them that withdrew nothing. From where such a restart begins the records are others, and below that
nothing is exported again: no rewind goes back over it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from kafka_s3.bucket.dead_letter_objects import with_letters
from kafka_s3.log.entries import Kind, ObjectEntry, RangeEntry
from kafka_s3.log.replay import Taken, newest_first
from kafka_s3.log.store import Log
from kafka_s3.ranges import TopicPartition


@dataclass(frozen=True, slots=True)
class KafkaLog:
    """One log of a partition. `restarts`: how many came after it that withdrew nothing."""

    tp: TopicPartition
    topic_id: str
    restarts: int


@dataclass(frozen=True, slots=True)
class DeadLettersOf:
    """A range that has dead letters, without its data objects."""

    read_from: KafkaLog
    done: RangeEntry

    @property
    def made(self) -> ObjectEntry:
        assert self.done.dead_letters is not None
        return self.done.dead_letters


@dataclass(slots=True)
class ExportedDeadLetters:
    """`live`: the ranges of the export that have dead letters, oldest entry first, then by partition and offset."""

    live: list[DeadLettersOf] = field(default_factory=list)
    _withdrawn: dict[KafkaLog, list[DeadLettersOf]] = field(default_factory=dict)

    def withdrawn_beside(self, live: DeadLettersOf) -> Iterator[DeadLettersOf]:
        """Withdrawn ranges that may have letters of the same records."""
        first, last = live.made.first_offset, live.made.last_offset
        for other in self._withdrawn.get(live.read_from, ()):
            if other.made.first_offset <= last and first <= other.made.last_offset:
                yield other

    def _take(self, taken: Taken, restarts: Counter[TopicPartition]) -> None:
        """The next older entry; `restarts`: of newer ones."""

        def of(done: RangeEntry) -> DeadLettersOf:
            return DeadLettersOf(KafkaLog(done.tp, taken.entry.topics[done.topic].topic_id, restarts[done.tp]), done)

        if taken.entry.kind is Kind.COMMIT:
            self.live += map(of, reversed(with_letters(taken.ranges)))
            for gone in map(of, with_letters(taken.withdrawn)):
                self._withdrawn.setdefault(gone.read_from, []).append(gone)
        # Inside one entry they come before its ranges.
        restarts.update(restart.tp for restart in taken.entry.restarts if not restart.withdrawn)


def letters_of_export(log: Log) -> ExportedDeadLetters:
    """The dead letters of the export as it is now.

    Memory: an entry, one small value for each object of dead letters, and a number for each partition.
    """
    found, restarts = ExportedDeadLetters(), Counter[TopicPartition]()
    for taken in newest_first(committed.entry for committed in log.entries()):
        found._take(taken, restarts)
    found.live.reverse()
    return found
