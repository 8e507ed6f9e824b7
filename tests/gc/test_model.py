"""Garbage collection against a plain model, over any history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.bucket.orphans import Fate, keys_of
from kafka_s3.gc.gc import Garbage, collect, delete
from kafka_s3.log.entries import Kind
from kafka_s3.ranges import TopicPartition
from tests.gc.test_gc import _collect
from tests.log.logs import HandMade, settings_of

# Against a model.

TOPICS = {"orders": 2, "orders-2": 1}
TPS = [TopicPartition(topic, p) for topic, count in TOPICS.items() for p in range(count)]


@dataclass
class Attacked:
    """A log made by hand, the names of everything that dead runs left, and what a collection found a while ago."""

    made: HandMade
    left: dict[str, tuple[TopicPartition, int, int]] = field(default_factory=dict)  # partition, generation, offset
    adopted: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)  # generation and position
    found: Garbage | None = None
    live: dict[TopicPartition, list[int]] = field(default_factory=dict)  # where ranges of the log begin
    ended: dict[tuple[TopicPartition, int], int] = field(default_factory=dict)  # logs that Kafka lost above this
    gaps: dict[TopicPartition, set[int]] = field(default_factory=dict)

    def commit(self, tp: TopicPartition, count: int, letters: bool) -> None:
        start = self.made.position(tp)
        self.live.setdefault(tp, []).append(start)
        self.made.commit([(*tp, start, start + count)], letters=letters)

    def leave(self, tp: TopicPartition, ahead: int, back: int, kind: str, collision: int) -> None:
        """What a driver of some plan left before it died: of this generation or of an older one, near the position."""
        generation = max(0, self.made.topics[tp.topic].generation - back)
        offset = max(0, self.made.position(tp) + ahead)
        if kind == "letters":
            key = self.made.letters_key(tp, offset, generation=generation)
        else:
            key = self.made.key(tp, offset, generation=generation, collision=collision)
        if key not in self.made.store.contents():
            self.made.store.overwrite(key, b"left behind")
            self.left[key] = (tp, generation, offset)

    def leave_the_same(self, tp: TopicPartition, count: int) -> None:
        """A dead driver wrote exactly what the next one will write: that one's commit lists it."""
        start = self.made.position(tp)
        key = self.made.key(tp, start)
        if key not in self.made.store.contents():
            self.made.store.overwrite(key, self.made.body(start, start + count))
            self.left[key] = (tp, self.made.topics[tp.topic].generation, start)

    def rewind(self, tp: TopicPartition, which: int) -> None:
        starts = self.live.get(tp)
        if starts:
            at = starts[which % len(starts)]
            self.live[tp] = [start for start in starts if start < at]
            self.made.rewind(tp, at)

    def truncate(self, tp: TopicPartition, back: int) -> None:
        self.live[tp] = []
        self._end(tp)
        self.made.truncated(tp, max(0, self.made.position(tp) - back))

    def recreate(self, tp: TopicPartition) -> None:
        self.live = {other: starts for other, starts in self.live.items() if other.topic != tp.topic}
        for other in TPS:
            if other.topic == tp.topic:
                self._end(other)
        self.made.recreated(tp.topic)

    def _end(self, tp: TopicPartition) -> None:
        self.ended[tp, self.made.topics[tp.topic].generation] = self.made.position(tp)

    def gap(self, tp: TopicPartition, count: int) -> None:
        start = self.made.position(tp)
        self.gaps.setdefault(tp, set()).update(range(start, start + count))
        self.made.gap((*tp, self.made.position(tp), self.made.position(tp) + count))

    def look(self) -> None:
        """A collection looks; what it found is deleted later, or never. What may be the last copy of lost records waits
        until it is asked for."""
        careful = _collect(self.made)
        waiting = {orphan.key for orphan in careful.waiting if orphan.fate is Fate.LOST}
        assert {orphan.key for orphan in careful.objects} == {key for key in self.allowed() if not self._is_lost(key)}
        assert waiting == {key for key in self.allowed() if self._is_lost(key)}
        self.found = collect(self.made.settings, self.made.log, with_lost=True)
        assert self.found is not None
        assert {orphan.key for orphan in self.found.objects} == self.allowed()

    def _is_lost(self, key: str) -> bool:
        tp, generation, offset = self.left[key]
        ended = self.ended.get((tp, generation))
        return offset in self.gaps.get(tp, ()) or (ended is not None and offset >= ended)

    def act(self) -> None:
        if self.found is not None:
            delete(self.made.log, self.found, parallel=1)
            for orphan in self.found.objects:
                self.left.pop(orphan.key, None)
            self.found = None
            self.check()

    def allowed(self) -> set[str]:
        """The rule, word by word, over what is known to have been left."""
        listed = self.listed()
        return {
            key
            for key, (tp, generation, offset) in self.left.items()
            if key in self.made.store.contents() and key not in listed and self._is_past(tp, generation, offset)
        }

    def _is_past(self, tp: TopicPartition, generation: int, offset: int) -> bool:
        if tp in self.adopted:
            adopted_generation, position = self.adopted[tp]
            if generation < adopted_generation or (generation == adopted_generation and offset < position):
                return False
        now = self.made.topics[tp.topic]
        return generation < now.generation or (generation == now.generation and offset < now.positions[tp.partition])

    def listed(self) -> set[str]:
        return {key for committed in self.made.log.entries() for key in keys_of(committed.entry)}

    def check(self) -> None:
        """Whatever any entry lists is in the bucket, and what is left is there unless it was garbage."""
        contents = self.made.store.contents()
        assert self.listed() <= contents.keys()
        assert all(key in contents for key in self.left)


tps = st.sampled_from(TPS)
small = st.integers(1, 6)
ops: st.SearchStrategy[Callable[[Attacked], None]] = st.one_of(
    st.builds(lambda tp, n, b: lambda a: a.commit(tp, n, b), tps, small, st.booleans()),
    st.builds(lambda tp, n, b: lambda a: a.commit(tp, n, b), tps, small, st.just(False)),
    st.builds(
        lambda tp, n, b, k, c: lambda a: a.leave(tp, n, b, k, c),
        tps,
        st.integers(-8, 4),
        st.integers(0, 2),
        st.sampled_from(["object", "letters"]),
        st.integers(0, 2),
    ),
    st.builds(lambda tp, n: lambda a: a.leave_the_same(tp, n), tps, small),
    st.builds(lambda tp, n: lambda a: a.rewind(tp, n), tps, st.integers(0, 5)),
    st.builds(lambda tp, n: lambda a: a.truncate(tp, n), tps, st.integers(0, 5)),
    st.builds(lambda tp: lambda a: a.recreate(tp), tps),
    st.builds(lambda tp, n: lambda a: a.gap(tp, n), tps, small),
    st.just(lambda a: a.look()),
    st.just(lambda a: a.act()),
)


@given(st.lists(ops, min_size=3, max_size=25), st.booleans())
@settings(max_examples=120, deadline=None, derandomize=True)
def test_a_collection_finds_exactly_what_the_rule_allows(
    history: list[Callable[[Attacked], None]], adopted: bool
) -> None:
    """Over commits, rewinds, truncated and recreated topics: garbage is what the rule says, no more and no less, and
    what a collection found stays deletable whatever is committed before it deletes."""
    attacked = Attacked(HandMade(settings_of(topics=",".join(TOPICS))))
    if adopted:
        attacked.made.begin(TOPICS, at=10, kind=Kind.ADOPT, generation=1)
        attacked.adopted = dict.fromkeys(TPS, (1, 10))
    else:
        attacked.made.begin(TOPICS)
    for tp in TPS:
        attacked.commit(tp, 3, letters=False)
    for operation in history:
        operation(attacked)
        attacked.check()
    attacked.act()
    attacked.look()
    attacked.act()
    assert attacked.allowed() == set()
