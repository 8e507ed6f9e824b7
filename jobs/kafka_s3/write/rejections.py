"""Bad records of a range: who is told of each, and how often they were rejected at which stage and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final, Protocol

from kafka_s3.errors import ExporterError
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import RecordBatch
from kafka_s3.shown import quoted
from kafka_s3.user_defined import UserCodeFailed
from kafka_s3.values.rows import Stage, Unfit

#: Reasons of a range that are counted, how much of each is kept, and how many of the commonest the log gets: at most
#: 16 * 200 characters in memory, and 3 * 200 in an entry, for each range.
REASONS_COUNTED_MAX: Final = 16
REASON_CHARS_COUNTED: Final = 200
REASONS_LOGGED_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that the configuration lets us leave out, or the one that stopped a range."""

    tp: TopicPartition
    offset: int
    reason: str
    stage: Stage = Stage.VALUE_CONVERTER

    def __str__(self) -> str:
        return f"topic {self.tp.topic} partition {self.tp.partition} offset {self.offset}: {self.reason}"


class Refuse(Protocol):
    """What becomes of a record that is left out: `index` is its place in the batch."""

    def __call__(self, rejected: Rejected, batch: RecordBatch, index: int) -> None: ...


class Rejections:
    """The rejected records of a range; `refuse` is told of each."""

    def __init__(self, refuse: Refuse | None) -> None:
        self.count = 0
        self._refuse = refuse
        self._reasons: Counter[tuple[Stage, str]] = Counter()

    def take(self, rejected: Rejected, batch: RecordBatch, index: int) -> None:
        """One more bad record, which is left out."""
        self.count += 1
        kind = rejected.stage, _cut(rejected.reason, REASON_CHARS_COUNTED)
        if kind in self._reasons or len(self._reasons) < REASONS_COUNTED_MAX:
            self._reasons[kind] += 1
        self.tell(rejected, batch, index)

    def tell(self, rejected: Rejected, batch: RecordBatch, index: int) -> None:
        """Tell of a record without counting it: a tombstone is not bad."""
        if self._refuse is not None:
            self._refuse(rejected, batch, index)

    def commonest(self) -> tuple[tuple[tuple[Stage, str], int], ...]:
        """What the log gets: the commonest reasons first."""
        return tuple(self._reasons.most_common(REASONS_LOGGED_MAX))


def _cut(reason: str, chars_max: int) -> str:
    return reason if len(reason) <= chars_max else f"{reason[: chars_max - 1]}…"


def may_be_a_records(error: Exception) -> bool:
    """Whether a record may be to blame for what came out of `RangeWriter.write`: the world's errors are not, nor is
    memory that was not there."""
    return isinstance(error, UserCodeFailed) or not isinstance(error, ExporterError | MemoryError)


_DOING: Final = {
    Stage.VALUE_CONVERTER: "the value's converter",
    Stage.KEY_CONVERTER: "the key's converter",
    Stage.HEADER_CONVERTER: "the converter of headers",
    Stage.TRANSFORMATION: "a transform",
    Stage.TASK_PUT: "the partitioner or the format",
}


def reason_of(error: Exception, stage: Stage) -> str:
    """Why a record that was refused by an exception is bad."""
    if isinstance(error, UserCodeFailed):
        return error.what
    if isinstance(error, Unfit):
        return str(error)
    what = f"{type(error).__name__} ({quoted(str(error), str(error))})"
    return f"{_DOING[stage]} raised {what}: please report this"
