"""What of a log is the export: the ranges and gaps that a reader takes, over rewinds and restarts.

Entries are never edited, so what a rewind withdrew still stands in the log, and a reader has to pass over it. A
`Restart` splits the history of its partition in two:

* withdrawn (`kafka-s3 rewind`): what older entries hold of the partition from its position on is not a part of the
  export any more, back to the restart before it that withdrew nothing;
* not withdrawn (the topic was created again, or Kafka's log was truncated): all of it stays. It is of a log that
  Kafka no longer has, so the same offsets may stand in the export twice, under two generations.

Inside one entry, its restarts come before its gaps and ranges. The log can be followed from either end:
`newest_first` needs memory for partitions alone, `LiveState` keeps what is live.

>>> from kafka_s3.log.entries import Kind, TopicState
>>> def entry(seq, *spans, **what):
...     gaps = tuple(RangeGap(topic="t", partition=0, start=start, end=end, reason="") for start, end in spans)
...     state = {"t": TopicState(topic_id="id")}
...     return Entry(kind=Kind.COMMIT, seq=seq, connector="c", previous_sha256=None, cluster_id="k", engine="1",
...         configuration_sha256="", isolation_level="", run_id="r", try_number=1, topics=state, gaps=gaps, **what)
>>> rewind = Restart(topic="t", partition=0, generation=1, position=5, withdrawn=True, reason="wrong format")
>>> log = [entry(0, (0, 5), (5, 9)), entry(1, restarts=(rewind,)), entry(2, (5, 7))]
>>> [[(gap.start, gap.end) for gap in taken.gaps] for taken in newest_first(reversed(log))]
[[(5, 7)], [], [(0, 5)]]
>>> export = LiveState()
>>> [[(live.start, live.end) for live in export.take(entry).withdrawn] for entry in log]
[[], [(5, 9)], []]
>>> [(live.seq, live.start, live.end) for live in export.of(TopicPartition("t", 0))]
[(0, 0, 5), (2, 5, 7)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kafka_s3.log.entries import Entry, RangeEntry, RangeGap, Restart
from kafka_s3.ranges import TopicPartition


@dataclass(frozen=True, slots=True)
class Taken:
    """An entry, and what of it a reader takes. `withdrawn` and `withdrawn_gaps` are of the export no longer."""

    entry: Entry
    ranges: tuple[RangeEntry, ...]
    gaps: tuple[RangeGap, ...]
    withdrawn: tuple[RangeEntry, ...] = ()
    withdrawn_gaps: tuple[RangeGap, ...] = ()


@dataclass(slots=True)
class BackwardReplay:
    """Follows a log from its newest entry to its oldest. Memory: two numbers for each partition that was restarted."""

    _withdrawn_from: dict[TopicPartition, int] = field(default_factory=dict)
    _truncated_at: dict[TopicPartition, int] = field(default_factory=dict)

    def take(self, entry: Entry) -> Taken:
        """What is live of the next older entry."""
        ranges = [(self.is_withdrawn(each.tp, each.start), each) for each in entry.ranges]
        gaps = [(self.is_withdrawn(each.tp, each.start), each) for each in entry.gaps]
        for each in entry.restarts:
            self._restarted(each)
        return Taken(
            entry,
            tuple(done for gone, done in ranges if not gone),
            tuple(gap for gone, gap in gaps if not gone),
            tuple(done for gone, done in ranges if gone),
            tuple(gap for gone, gap in gaps if gone),
        )

    def _restarted(self, restart: Restart) -> None:
        tp, at = restart.tp, restart.position
        if restart.withdrawn:
            self._withdrawn_from[tp] = min(at, self._withdrawn_from.get(tp, at))
        else:
            self._withdrawn_from.pop(tp, None)
            self._truncated_at[tp] = min(at, self._truncated_at.get(tp, at))

    def is_withdrawn(self, tp: TopicPartition, start: int) -> bool:
        """Whether what begins at `start` in the next older entry was withdrawn."""
        at = self._withdrawn_from.get(tp)
        return at is not None and start >= at

    def truncated_at(self, tp: TopicPartition) -> int | None:
        """From which offset on Kafka's log is another one than it was for older entries; `None`: it is the same."""
        return self._truncated_at.get(tp)


def newest_first(entries: Iterable[Entry]) -> Iterator[Taken]:
    """What is live of each entry of a log that comes newest first."""
    seen = BackwardReplay()
    for entry in entries:
        yield seen.take(entry)


@dataclass(frozen=True, slots=True)
class Live:
    """A range or a gap of the export, the number of its entry, and the generation of its topic then."""

    seq: int
    generation: int
    of: RangeEntry | RangeGap

    @property
    def tp(self) -> TopicPartition:
        return self.of.tp

    @property
    def start(self) -> int:
        return self.of.start

    @property
    def end(self) -> int:
        return self.of.next_offset if isinstance(self.of, RangeEntry) else self.of.end


@dataclass(frozen=True, slots=True)
class Change:
    """What an entry did to the export."""

    added: tuple[Live, ...]
    withdrawn: tuple[Live, ...]


@dataclass(slots=True)
class LiveState:
    """Follows a log from its oldest entry to its newest. Memory: every live range, with the entry's own values."""

    _now: dict[TopicPartition, list[Live]] = field(default_factory=dict)
    _past: dict[TopicPartition, list[Live]] = field(default_factory=dict)  # of logs that Kafka no longer has

    def take(self, entry: Entry) -> Change:
        """The next newer entry."""
        withdrawn = [live for each in entry.restarts for live in self._restarted(each)]
        steps: list[RangeEntry | RangeGap] = [*entry.ranges, *entry.gaps]
        added = [
            Live(entry.seq, entry.topics[each.topic].generation, each)
            for each in sorted(steps, key=lambda each: (each.tp, each.start))
        ]
        for live in added:
            self._now.setdefault(live.tp, []).append(live)
        return Change(tuple(added), tuple(withdrawn))

    def of(self, tp: TopicPartition) -> tuple[Live, ...]:
        """The export of a partition: what is of older logs first, else by offset."""
        return (*self._past.get(tp, ()), *self._now.get(tp, ()))

    def partitions(self) -> list[TopicPartition]:
        """Every partition of which something is live."""
        return sorted({tp for each in (self._past, self._now) for tp, live in each.items() if live})

    def _restarted(self, restart: Restart) -> tuple[Live, ...]:
        now = self._now.pop(restart.tp, [])
        if not restart.withdrawn:
            self._past.setdefault(restart.tp, []).extend(now)
            return ()
        self._now[restart.tp] = [live for live in now if live.start < restart.position]
        return tuple(live for live in now if live.start >= restart.position)
