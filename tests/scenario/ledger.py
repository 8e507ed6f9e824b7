"""What always holds of a bucket: checked after each operation, entry by entry, record by record.

A reader of the log takes the objects of every range that was not withdrawn. In those, each record stands once; and
each record that Kafka has, or had until retention took it, is in one of them as soon as the position is behind it.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kafka_s3.dead_letter import decode as decode_letter
from kafka_s3.dead_letter import letters_layout
from kafka_s3.log.documents import decode
from kafka_s3.log.entries import Entry, Epoch, Kind, ObjectEntry, Plan, RangeEntry, sha256_of
from kafka_s3.naming import DataName, KeyLayout, LogLayout, parse_data_key, parse_seq
from kafka_s3.ranges import TopicPartition
from tests.scenario.kafka import BAD, TOPICS, Fact, Gone, Kafka, Moment, Sort
from tests.support import rows_of

LOG = LogLayout("_kafka_s3", "orders")


@dataclass
class Taken:
    """A range, or a gap, that a reader of the log takes as done; `numbers` are its records."""

    start: int
    end: int
    numbers: list[int] = field(default_factory=list)
    lost: bool = False


@dataclass
class Ledger:
    """The log folded up to its newest entry, and every object that was ever seen."""

    kafka: Kafka
    sides: bool
    log: LogLayout = LOG
    layout: KeyLayout = KeyLayout()  # frozen
    head: Entry | None = None
    head_sha256: str | None = None
    seen: dict[str, bytes] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    live: dict[int, str] = field(default_factory=dict)  # record -> the object that a reader finds it in
    taken: dict[TopicPartition, list[Taken]] = field(default_factory=dict)  # since the last restart without withdrawal
    withdrawn: int = 0
    collected: int = 0
    kinds: set[str] = field(default_factory=set)
    finished_by_another: bool = False
    restarts: int = 0
    moments: dict[str, Moment] = field(default_factory=dict)  # Kafka when a run first began, by its id
    due: dict[TopicPartition, list[Fact]] = field(default_factory=dict)  # what is said to be exported, as it was then
    claims: int = 0

    def check(self, contents: Mapping[str, bytes], deleted: set[str]) -> None:
        """Raise unless what stood in the bucket still does, and the new entries are right.

        `deleted`: the keys of all requests to delete one since the last check.
        """
        self._check_unchanged(contents, deleted)
        self.log = log_in(contents)
        prefix = self.log.log_prefix  # without a claim, no first run's entry counts
        keys = [key for key in contents if key.startswith(prefix) and "/" not in key.removeprefix(prefix)]
        seq = -1 if self.head is None else self.head.seq
        for key in reversed(keys):
            if (parse_seq(key) or 0) > seq:
                self._take(key, contents)
        self._check_nothing_lost()

    def _check_unchanged(self, contents: Mapping[str, bytes], deleted: set[str]) -> None:
        """Nothing is overwritten; what no entry lists may be deleted, and nothing else."""
        for key, body in self.seen.items():
            if key in deleted and key not in self.listed and self.name_of(key) is not None:
                self.collected += 1
                continue
            there = contents.get(key)
            assert there is not None, f"{key} is gone"
            assert there is body or there == body, f"{key} was overwritten"
        self.seen = dict(contents)

    def _take(self, key: str, contents: Mapping[str, bytes]) -> None:
        entry = decode(Entry, key, contents[key])
        before = self.head
        assert entry.seq == (0 if before is None else before.seq + 1)
        assert entry.previous_sha256 == self.head_sha256, f"entry {entry.seq} names another predecessor"
        self._check_plan(entry, contents)
        positions = {} if before is None else _positions(before)
        self._see_topics(entry, before, positions)
        for gap in entry.gaps:
            assert positions.get(gap.tp, 0) == gap.start < gap.end, f"{gap} does not begin at the position"
            positions[gap.tp] = gap.end
            self._take_gap(gap.tp, gap.start, gap.end, entry)
        for restart in entry.restarts:
            self._check_restart(restart.tp, restart.generation, before, entry)
            assert restart.position <= positions.get(restart.tp, 0), f"{restart} goes ahead"
            positions[restart.tp] = restart.position
            self._restart(restart.tp, restart.position, withdrawn=restart.withdrawn)
        for done in entry.ranges:
            assert done.start == positions.get(done.tp, 0) < done.next_offset, f"{done} is not the next range"
            positions[done.tp] = done.next_offset
            self._take_range(done, entry, contents)
        stated = _positions(entry)
        assert stated == {tp: positions.get(tp, 0) for tp in stated}, f"entry {entry.seq} states other positions"
        for tp in {} if before is None else _positions(before):
            again = any(restart.tp.topic == tp.topic for restart in entry.restarts)
            assert tp in stated or again, f"entry {entry.seq} has forgotten {tp}"
        self.kinds.add(entry.kind.value)
        self.head, self.head_sha256 = entry, sha256_of(contents[key])
        self._check_claims(entry, before, contents)

    def _check_claims(self, entry: Entry, before: Entry | None, contents: Mapping[str, bytes]) -> None:
        """What a partition is said to have reached, it holds: the records of before that could be seen when the run
        that planned it began. Whatever withdraws one of them takes back what was said."""
        run_id = entry.run_id
        if entry.plan_sha256 is not None:
            run_id = decode(Plan, (key := self.log.plan_key(entry.seq)), contents[key]).run.run_id
        reached, earlier = _reached(entry), {} if before is None else _reached(before)
        self.due = {tp: facts for tp, facts in self.due.items() if tp in reached}
        for tp, at_ms in reached.items():
            if earlier.get(tp) != at_ms:
                self.due[tp] = self.moments[run_id].due(tp, at_ms)
                self.claims += 1
        for tp, facts in self.due.items():
            for fact in facts:
                assert self._is_settled(fact, entry), (
                    f"entry {entry.seq}: {tp} has reached {reached[tp]} without {fact}"
                )

    def _is_settled(self, fact: Fact, entry: Entry) -> bool:
        if fact.number in self.live or fact.gone in (Gone.COMPACTED, Gone.TRUNCATED, Gone.DELETED):
            return True
        if fact.gone is not None and fact.topic_id != self.kafka.topic_ids.get(fact.tp.topic):
            return True  # expired, and then its topic was deleted: no gap can say so any more
        is_passed = fact.offset < (entry.position(fact.tp) or 0)
        if any(each.lost and each.start <= fact.offset < each.end for each in self.taken.get(fact.tp, [])):
            return True
        return self.is_left_out(fact) and is_passed

    def is_left_out(self, fact: Fact) -> bool:
        """Whether the configuration writes such a record nowhere."""
        return fact.sort is Sort.TOMBSTONE and not self.sides

    def name_of(self, key: str) -> DataName | None:
        return name_of(key, self.layout)

    def _see_topics(self, entry: Entry, before: Entry | None, positions: dict[TopicPartition, int]) -> None:
        """At first sight a topic's positions are where its partitions begin: what was below was never ours."""
        for tp, position in _positions(entry).items():
            if before is None or tp.topic not in before.topics:
                assert not any(done.tp == tp for done in entry.ranges)
                positions[tp] = position
                self.taken[tp] = [Taken(0, position, lost=True)]

    def _check_plan(self, entry: Entry, contents: Mapping[str, bytes]) -> None:
        """An entry closes the plan in its own slot, and commits nothing that was not planned."""
        key = self.log.plan_key(entry.seq)
        if entry.plan_sha256 is None:
            assert not entry.ranges
            return
        assert sha256_of(contents[key]) == entry.plan_sha256, f"entry {entry.seq} closes another plan"
        plan = decode(Plan, key, contents[key])
        self.finished_by_another |= entry.kind is Kind.COMMIT and plan.run.run_id != entry.run_id
        planned = {(each.tp, each.start): each.end for each in plan.ranges}
        for done in entry.ranges:
            assert done.next_offset <= planned[done.tp, done.start]
        assert entry.kind is Kind.COMMIT or not entry.ranges

    def _check_restart(self, tp: TopicPartition, generation: int, before: Entry | None, entry: Entry) -> None:
        assert before is not None
        assert generation == before.topics[tp.topic].generation + 1 == entry.topics[tp.topic].generation
        self.restarts += 1

    def _restart(self, tp: TopicPartition, position: int, *, withdrawn: bool) -> None:
        """A rewind takes ranges out of the export. Otherwise what was exported, of the log that was, stays for ever.
        What was lost below the position is lost either way."""
        kept = []
        for each in self.taken.get(tp, []):
            if each.lost:
                kept.append(Taken(each.start, min(each.end, position), lost=True))
            elif withdrawn and each.start < position:
                assert each.end <= position, f"{tp}: rewound to {position}, into the middle of {each}"
                kept.append(each)
            elif withdrawn:
                self.withdrawn += 1
                for number in each.numbers:
                    del self.live[number]
        self.taken[tp] = kept

    def _take_gap(self, tp: TopicPartition, start: int, end: int, entry: Entry) -> None:
        """What is given up as lost is lost: not in Kafka any more."""
        self.taken.setdefault(tp, []).append(Taken(start, end, lost=True))
        for fact in self.kafka.facts:
            if (fact.topic_id, fact.tp) == (entry.topics[tp.topic].topic_id, tp) and start <= fact.offset < end:
                assert fact.gone is not None, f"{fact} is given up and still there"

    def _take_range(self, done: RangeEntry, entry: Entry, contents: Mapping[str, bytes]) -> None:
        done.check_accounting()
        taken = Taken(done.start, done.next_offset)
        self.taken.setdefault(done.tp, []).append(taken)
        topic = entry.topics[done.topic]
        for made in done.objects:
            facts = self._facts_in(made, contents, topic.generation)
            assert len(facts) == made.records
            assert (facts[0].offset, facts[-1].offset) == (made.first_offset, made.last_offset)
            assert sorted({fact.offset for fact in facts}) == [fact.offset for fact in facts]
            self._take_facts(facts, done, topic.topic_id, made.key, taken)
        if done.dead_letters is not None:
            letters = self._letters_in(done.dead_letters, contents)
            self._take_facts(letters, done, topic.topic_id, done.dead_letters.key, taken)
            assert len(letters) == done.rejected

    def _take_facts(self, facts: list[Fact], done: RangeEntry, topic_id: str, key: str, taken: Taken) -> None:
        for fact in facts:
            assert (fact.topic_id, fact.tp) == (topic_id, done.tp), f"{fact} is of another log than {key}"
            assert done.start <= fact.offset < done.next_offset, f"{fact} lies outside of {key}"
            assert fact.number not in self.live, f"{fact} is in {self.live.get(fact.number)} and in {key}"
            self.live[fact.number] = key
            taken.numbers.append(fact.number)

    def _body(self, key: str, size: int, sha256: str, contents: Mapping[str, bytes]) -> bytes:
        body = contents[key]
        assert (len(body), hashlib.sha256(body).hexdigest()) == (size, sha256), key
        assert key not in self.listed, f"{key} is listed twice"
        self.listed.add(key)
        return body

    def _facts_in(self, made: ObjectEntry, contents: Mapping[str, bytes], generation: int) -> list[Fact]:
        """The records of an object; of what lies beside it, that these are the same ones, in the same order."""
        name = self.name_of(made.key)
        assert name is not None
        assert made.key.startswith("topics/"), f"a plain listing does not show {made.key}"
        assert name.generation == generation, made.key
        assert name.start_offset == made.first_offset, made.key
        rows = rows_of(self._body(made.key, made.size, made.sha256, contents), made.key)
        # The keys of tombstones stand alone; a key, and a header, is its record's number.
        numbers = [int(row) if isinstance(row, str) else row["u"] for row in rows]
        for beside in made.companions:
            other = self.name_of(beside.key)
            assert other == replace(name, extension=other.extension if other else "")
            theirs = rows_of(self._body(beside.key, beside.size, beside.sha256, contents), beside.key)
            said = [row["headers"][0]["value"] if beside.what == "headers" else row for row in theirs]
            assert [int(each) for each in said] == numbers, beside.key
        return [self.kafka.facts[number] for number in numbers]

    def _letters_in(self, made: ObjectEntry, contents: Mapping[str, bytes]) -> list[Fact]:
        body = self._body(made.key, made.size, made.sha256, contents)
        letters = [decode_letter(line) for line in gzip.decompress(body).splitlines()]
        facts = [self.kafka.facts[int(letter.key or b"")] for letter in letters]
        for letter, fact in zip(letters, facts, strict=True):
            assert (letter.value, letter.tp, letter.offset) == (BAD, fact.tp, fact.offset)
        return facts

    def _check_nothing_lost(self) -> None:
        """Whatever Kafka has, or had until retention took it, is exported where the position is behind it."""
        for tp, facts in self.kafka.now.items():
            for fact in facts:
                assert not self.is_missing(tp, fact), f"{fact} is lost: the position is {self.position(tp)}"

    def is_missing(self, tp: TopicPartition, fact: Fact) -> bool:
        """Whether a record was passed over. One that took an offset which was exported before, after an unclean
        election, is none until that is dealt with: the log has an older epoch."""
        topic = self.head.topics.get(tp.topic) if self.head is not None else None
        if topic is None or topic.topic_id != fact.topic_id or fact.offset >= topic.positions.get(tp.partition, 0):
            return False
        if fact.epoch > topic.epochs.get(tp.partition, fact.epoch) or fact.number in self.live:
            return False
        if fact.gone not in (None, Gone.EXPIRED) or self.is_left_out(fact):
            return False
        return not any(each.lost and each.start <= fact.offset < each.end for each in self.taken.get(tp, []))

    def position(self, tp: TopicPartition) -> int:
        return (self.head.position(tp) if self.head is not None else None) or 0

    def is_collectable(self, key: str) -> bool:
        """Whether an object, or an upload, is nobody's, and nobody can make it any more."""
        name = self.name_of(key)
        if self.head is None or name is None or key in self.listed:
            return False
        topic = self.head.topics[name.topic]
        return name.generation < topic.generation or name.start_offset < topic.positions[name.partition]


def log_in(contents: Mapping[str, bytes]) -> LogLayout:
    """Where the log is that the newest claim names."""
    claims = sorted(key for key in contents if key.startswith(LOG.epoch_prefix))
    return replace(LOG, epoch=decode(Epoch, claims[0], contents[claims[0]]).id) if claims else LOG


def name_of(key: str, layout: KeyLayout = KeyLayout()) -> DataName | None:
    """What the key of an object of data or of dead letters says."""
    for each in (layout, letters_layout(LOG.root, LOG.connector)):
        for topic in TOPICS:
            name = parse_data_key(each, topic, key)
            if name is not None:
                return name
    return None


def _reached(entry: Entry) -> dict[TopicPartition, int]:
    return {
        TopicPartition(name, p): at for name, topic in entry.topics.items() for p, at in (topic.reached or {}).items()
    }


def _positions(entry: Entry) -> dict[TopicPartition, int]:
    return {TopicPartition(name, p): at for name, topic in entry.topics.items() for p, at in topic.positions.items()}
