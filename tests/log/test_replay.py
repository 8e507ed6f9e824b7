"""What of a log is the export: the same from both ends, and what a plain model says."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.log.entries import Entry
from kafka_s3.log.replay import BackwardReplay, LiveState, newest_first
from kafka_s3.ranges import TopicPartition
from tests.log.logs import HandMade, settings_of

TP = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)
KINDS = st.sampled_from(["commit", "commit", "commit", "gap", "rewind", "truncated", "recreated"])


def _entries(made: HandMade) -> list[Entry]:
    return [committed.entry for committed in made.log.entries()]


def _live(made: HandMade, tp: TopicPartition) -> list[tuple[int, int, int]]:
    export = LiveState()
    for entry in reversed(_entries(made)):
        export.take(entry)
    return [(live.generation, live.start, live.end) for live in export.of(tp)]


def test_a_rewind_withdraws_and_a_truncation_does_not() -> None:
    """After a rewind a reader takes the new ranges in the place of the old; after a truncation it takes both."""
    made = HandMade()
    made.begin({"orders": 2})
    made.commit([("orders", 0, 0, 10), ("orders", 1, 0, 5)])
    made.commit([("orders", 0, 10, 20)])
    made.rewind(TP, 10)
    made.commit([("orders", 0, 10, 15)])
    assert _live(made, TP) == [(0, 0, 10), (1, 10, 15)]
    made.truncated(TP, 12)
    made.commit([("orders", 0, 12, 30)])
    assert _live(made, TP) == [(0, 0, 10), (1, 10, 15), (2, 12, 30)]
    made.rewind(TP, 12)
    assert _live(made, TP) == [(0, 0, 10), (1, 10, 15)], "what is of the older log stays"
    assert _live(made, OTHER) == [(0, 0, 5)]


def test_what_an_entry_withdrew_is_said_when_it_is_followed() -> None:
    """Who follows the log from its beginning is told what it has to take back, with the entries it came from."""
    made = HandMade()
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)])
    made.gap(("orders", 0, 10, 12))
    made.commit([("orders", 0, 12, 20)])
    rewind = made.rewind(TP, 10)
    export = LiveState()
    changes = {entry.seq: export.take(entry) for entry in reversed(_entries(made))}
    assert [(live.seq, live.start, live.end) for live in changes[rewind.seq].withdrawn] == [(2, 10, 12), (3, 12, 20)]
    assert [(live.seq, live.start, live.end) for live in changes[1].added] == [(1, 0, 10)]
    assert export.partitions() == [TP]


def test_what_kafka_cut_off_is_known_from_the_newer_end() -> None:
    """From the newest entry back, a partition's log is another one below the last place where it parted."""
    made = HandMade()
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)])
    made.truncated(TP, 7)
    made.commit([("orders", 0, 7, 9)])
    seen = BackwardReplay()
    parted = []
    for entry in _entries(made):
        seen.take(entry)
        parted.append(seen.truncated_at(TP))
    assert parted == [None, 7, 7, 7]


@given(st.lists(st.tuples(KINDS, st.integers(0, 1), st.integers(1, 6)), max_size=20))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_both_ends_agree_with_a_plain_model(history: list[tuple[str, int, int]]) -> None:
    """Ranges and gaps are live by the oldest-first fold, by the newest-first one, and by a list that is cut by hand."""
    made = HandMade(settings_of())
    made.begin({"orders": 2})
    now: dict[int, list[tuple[int, int, int]]] = {0: [], 1: []}  # entry, start, end; since the last restart
    past: dict[int, list[tuple[int, int, int]]] = {0: [], 1: []}
    for kind, p, count in history:
        tp = TopicPartition("orders", p)
        at = made.position(tp)
        match kind:
            case "commit":
                now[p].append((made.commit([("orders", p, at, at + count)]).seq, at, at + count))
            case "gap":
                now[p].append((made.gap(("orders", p, at, at + count)).seq, at, at + count))
            case "rewind" if now[p]:
                to = now[p][-count:][0][1]
                now[p] = [each for each in now[p] if each[1] < to]
                made.rewind(tp, to)
            case "truncated":
                made.truncated(tp, max(0, at - count))
                past[p], now[p] = past[p] + now[p], []
            case "recreated":
                made.recreated("orders")
                for each in (0, 1):
                    past[each], now[each] = past[each] + now[each], []
    entries = _entries(made)
    export = LiveState()
    for entry in reversed(entries):
        export.take(entry)
    backwards: dict[int, set[tuple[int, int, int]]] = {0: set(), 1: set()}
    for taken in newest_first(entries):
        assert len(taken.ranges) + len(taken.withdrawn) == len(taken.entry.ranges)
        for done in taken.ranges:
            backwards[done.partition].add((taken.entry.seq, done.start, done.next_offset))
        for gap in taken.gaps:
            backwards[gap.partition].add((taken.entry.seq, gap.start, gap.end))
    for p in (0, 1):
        forwards = [(live.seq, live.start, live.end) for live in export.of(TopicPartition("orders", p))]
        assert forwards == past[p] + now[p]
        assert backwards[p] == set(forwards)
