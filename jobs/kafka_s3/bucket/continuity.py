"""Do positions and ranges cover every offset once? Between two entries, and over rewinds and restarts.

From entry to entry, ranges and gaps lead without a hole from each old position to the new one. So what is exported is
contiguous, except where a restart says otherwise; and there the part that is still live has to end where the
partition went on, or offsets would be in the export twice, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_s3.bucket.findings import RESTORE, STRANGE, Findings
from kafka_s3.log.entries import Entry, Kind, RangeEntry, RangeGap, Restart, TopicState
from kafka_s3.log.replay import Taken
from kafka_s3.ports import NO_TOPIC_ID
from kafka_s3.ranges import TopicPartition

_Steps = dict[TopicPartition, list[tuple[int, int]]]


def check_positions(older: Entry, newer: Entry, findings: Findings) -> None:
    """From each position of the older entry, ranges and gaps lead without a hole to that of the newer one."""
    if newer.kind is Kind.ADOPT:
        return
    restarts = {restart.tp: restart for restart in newer.restarts}
    _check_topics(older, newer, restarts, findings)
    spans = _steps(newer)
    for topic, after in newer.topics.items():
        for partition, position in after.positions.items():
            tp = TopicPartition(topic, partition)
            steps = spans.pop(tp, [])
            start = _start(older.topics.get(topic), tp, restarts.get(tp), steps, position)
            _check_steps(newer, tp, start, steps, position, findings)
    for tp in spans:
        findings.add(f"{tp} in entry {newer.seq}", expected="a position", found="a range without one", next=RESTORE)


def _steps(entry: Entry) -> _Steps:
    """The offsets of each partition that an entry accounts for, ascending."""
    return _sorted_steps(entry.ranges, entry.gaps)


def _sorted_steps(ranges: Sequence[RangeEntry], gaps: Sequence[RangeGap]) -> _Steps:
    spans: _Steps = {}
    for done in ranges:
        spans.setdefault(done.tp, []).append((done.start, done.next_offset))
    for gap in gaps:
        spans.setdefault(gap.tp, []).append((gap.start, gap.end))
    return {tp: sorted(steps) for tp, steps in spans.items()}


def _start(
    before: TopicState | None,
    tp: TopicPartition,
    restart: Restart | None,
    steps: Sequence[tuple[int, int]],
    position: int,
) -> int:
    """Where an entry has to begin: at a restart, at the position before it, or anywhere at the first sight."""
    if restart is not None:
        return restart.position
    if before is None:
        return steps[0][0] if steps else position
    return before.positions.get(tp.partition, 0)  # a partition that appears later starts at 0


def _check_steps(
    entry: Entry,
    tp: TopicPartition,
    start: int,
    steps: Sequence[tuple[int, int]],
    position: int,
    findings: Findings,
) -> None:
    at = start
    for low, high in steps:
        if low != at:
            where = f"{tp} [{low}, {high}) in entry {entry.seq}"
            findings.add(where, expected=f"a range that begins at the position {at}", found=str(low), next=RESTORE)
        at = high
    if at != position:
        where = f"{tp} in entry {entry.seq}"
        findings.add(where, expected=f"position {at}, where its ranges end", found=str(position), next=RESTORE)


def _check_topics(older: Entry, newer: Entry, restarts: dict[TopicPartition, Restart], findings: Findings) -> None:
    """No partition is forgotten; generation and topic id change where a restart says so, and nowhere else."""
    for topic, before in older.topics.items():
        after = newer.topics.get(topic)
        mine = [restart for tp, restart in restarts.items() if tp.topic == topic]
        is_other = after is not None and after.topic_id != before.topic_id and bool(mine)
        for partition in before.positions:
            if after is None or (partition not in after.positions and not is_other):
                found = f"no position in entry {newer.seq}"
                findings.add(f"{topic}-{partition}", expected="every partition ever seen", found=found, next=RESTORE)
        if after is None:
            continue
        where = f"{topic} in entry {newer.seq}"
        if after.topic_id != before.topic_id and not mine and NO_TOPIC_ID not in before.topic_id:
            expected = f"topic id {before.topic_id}, as no partition was restarted"
            findings.add(where, expected=expected, found=after.topic_id, next=STRANGE)
        generation = before.generation + bool(mine)
        if any(each != generation for each in (after.generation, *(restart.generation for restart in mine))):
            said = ", ".join(str(each) for each in sorted({after.generation, *(each.generation for each in mine)}))
            findings.add(where, expected=f"generation {generation}", found=said, next=STRANGE)
        for restart in mine:
            position = before.positions.get(restart.partition, 0)
            if restart.position > position and not is_other:
                found = f"a restart at {restart.position}, which skips offsets"
                findings.add(
                    f"{restart.tp} in entry {newer.seq}", expected=f"at most {position}", found=found, next=STRANGE
                )


@dataclass(slots=True)
class Landings:
    """Does the export that a rewind left end where the partition went on? Entries come newest first.

    Memory: a number for each partition that was rewound.
    """

    _at: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)  # the offset, and the rewind's entry

    def forget(self) -> None:
        """An entry is unknown: nothing follows from those that are newer."""
        self._at.clear()

    def entry(self, taken: Taken, older: Entry | None, findings: Findings) -> None:
        """The next entry; `older` is the one before it, `None` where the log begins."""
        entry, live = taken.entry, _sorted_steps(taken.ranges, taken.gaps)
        for tp, steps in live.items():
            self._land(tp, steps[-1][1], f"{tp} [{steps[-1][0]}, {steps[-1][1]}) in entry {entry.seq}", findings)
        for restart in entry.restarts:
            self._restart(restart, entry, findings)
        for tp in [tp for tp in self._at if _is_first_sight(tp, older)]:
            known = _steps(entry).get(tp)
            first = known[0][0] if known else entry.position(tp)
            if entry.kind is not Kind.ADOPT and self._at[tp][0] <= (first or 0):
                del self._at[tp]  # all of it was withdrawn: the partition may begin anew below where it first began
                continue
            self._land(tp, first, f"{tp} in entry {entry.seq}, its first sight", findings)

    def _restart(self, restart: Restart, entry: Entry, findings: Findings) -> None:
        tp = restart.tp
        if restart.withdrawn:
            at = min(restart.position, self._at.get(tp, (restart.position, 0))[0])
            self._at[tp] = (at, entry.seq)
        else:
            self._land(tp, restart.position, f"{tp}, which began anew in entry {entry.seq}", findings)

    def _land(self, tp: TopicPartition, end: int | None, where: str, findings: Findings) -> None:
        at, seq = self._at.pop(tp, (end, 0))
        if at != end:
            what = "offsets in the export twice" if end is not None and at is not None and at < end else "a hole"
            found = f"{end}: {what}"
            findings.add(where, expected=f"an end at {at}, which entry {seq} rewound to", found=found, next=STRANGE)


def _is_first_sight(tp: TopicPartition, older: Entry | None) -> bool:
    return older is None or older.position(tp) is None
