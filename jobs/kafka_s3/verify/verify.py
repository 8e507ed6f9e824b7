"""Proves an export: the whole log, every object it lists, and, if asked, what Kafka holds. Reads only.

Memory: about 200 bytes for every object of the log (to find orphans); for each of the `parallel` requests at work one
chunk of an object, or an entry with its plan, of which `ahead.AHEAD` for each request are read before their turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from kafka_s3.bucket import orphans
from kafka_s3.bucket.audit import CheckedEntry, walk
from kafka_s3.bucket.continuity import Landings
from kafka_s3.bucket.findings import STRANGE, Finding, Findings
from kafka_s3.bucket.folders import NOTHING_NAMED, Configurations, known
from kafka_s3.bucket.lost import Losses
from kafka_s3.bucket.orphans import Orphan
from kafka_s3.errors import LogDamaged, TemporaryError, TopicMissing
from kafka_s3.log.entries import Entry, Kind, ObjectEntry, RangeEntry
from kafka_s3.log.replay import BackwardReplay, Taken
from kafka_s3.log.store import Log
from kafka_s3.naming import KeyLayout, parse_data_key
from kafka_s3.ordered_pool import AHEAD, PARALLEL, workers
from kafka_s3.plan.planner import truncated_logs
from kafka_s3.ports import Broker, RecordSource, Registries, TopicView
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.model import Settings
from kafka_s3.verify.comparison import Compared, Comparison, NotCheckable, other_bytes, unanswered
from kafka_s3.verify.objects import ReadObject, look, read_object
from kafka_s3.verify.owners import check_marks, check_owners, trust

NOTES_MAX: Final = 1000  # kept; more are only counted


@dataclass(frozen=True, slots=True)
class Kafka:
    """What `--against-kafka` needs of Kafka."""

    broker: Broker
    source: RecordSource
    registries: Registries = Registries()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a check is; `entries_total` is 0 until the newest entry was read."""

    entries: int
    entries_total: int
    objects: int
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Verified:
    """What was checked, and what came of it. `orphans` is `None` where they cannot be told from the others.

    `objects`, `records` and `bytes` are those of the export; what was rewound is counted in `withdrawn`.
    """

    entries: int
    objects: int
    records: int
    bytes: int
    ranges_compared: int
    findings: tuple[Finding, ...]
    findings_count: int
    notes: tuple[str, ...]
    orphans: tuple[Orphan, ...] | None
    withdrawn: int = 0
    gaps: int = 0
    trust: str = ""  # whom all this is believed from

    @property
    def ok(self) -> bool:
        return not self.findings_count


def verify(
    settings: Settings,
    log: Log,
    kafka: Kafka | None,
    *,
    since: int = 0,
    parallel: int = PARALLEL,
    tell: Callable[[Progress], None],
) -> Verified:
    """Check the entries from number `since` on. Raises only what stops the store from answering at all."""
    check = _Check(settings, log, kafka, since)
    with workers(parallel) as pool:
        ahead = parallel * AHEAD
        reading: deque[_Reading] = deque()
        for checked in walk(log, since, check.findings, pool, ahead):
            reading.append(check.start(checked, pool))
            while len(reading) > ahead or (len(reading) > 1 and sum(len(each.wanted) for each in reading) > ahead):
                tell(check.end(reading.popleft()))
        while reading:
            tell(check.end(reading.popleft()))
    return check.finish()


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An object that is being read. `withdrawn`: no reader takes it, so it need not be there."""

    made: ObjectEntry
    read: Future[ReadObject]
    records: int = 0  # of the export: what lies beside an object holds none of its own
    counted: bool = True  # as an object of the export, which dead letters are not
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class _Reading:
    """An entry whose objects are being read."""

    checked: CheckedEntry
    taken: Taken
    made_under: Settings | None
    wanted: tuple[_Wanted, ...]
    truncated_at: Mapping[TopicPartition, int]


@dataclass(slots=True)
class _Check:
    settings: Settings
    log: Log
    kafka: Kafka | None
    since: int
    configurations: Configurations = field(init=False)
    findings: Findings = field(default_factory=Findings)
    notes: dict[str, None] = field(default_factory=dict)  # in order, each once
    notes_more: int = 0
    listed: set[str] = field(default_factory=set)
    claims: set[tuple[str, str]] = field(default_factory=set)  # topics.dir and topic of what was written
    seen: BackwardReplay = field(default_factory=BackwardReplay)
    landings: Landings = field(default_factory=Landings)
    last: Taken | None = None
    unknown: int = 0
    head: Entry | None = None
    adopted: list[Entry] = field(default_factory=list)
    lost: Losses = field(default_factory=Losses)
    entries: int = 0
    objects: int = 0
    records: int = 0
    bytes: int = 0
    withdrawn: int = 0
    gaps: int = 0
    ranges_compared: int = 0
    other_bytes: int = 0
    views: Mapping[str, TopicView] | None = None
    truncated_at: Mapping[TopicPartition, int] = field(default_factory=dict)  # restarts that no entry says yet
    compacted: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.configurations = Configurations(self.settings)

    def start(self, checked: CheckedEntry, pool: ThreadPoolExecutor) -> _Reading:
        """Check what an entry says, and begin to read its objects."""
        entry = checked.entry
        self.head = self.head or entry
        self.lost.take(entry)
        if entry.kind is Kind.ADOPT:
            self.adopted.append(entry)
        taken = self.seen.take(entry)
        self._land(taken)
        made_under = self.configurations.of(checked.plan) if checked.plan is not None else None
        if made_under is None and checked.plan is not None and entry.ranges:
            self._note(f"entry {entry.seq}: its configuration is not known to this engine: records were not counted")
        if made_under is not None:
            self.claims |= {(made_under.layout.topics_dir, done.topic) for done in entry.ranges}
            self._check_names(entry, made_under.layout)
        wanted = tuple(self._wanted(taken, made_under, pool))
        truncated_at = {done.tp: at for done in taken.ranges if (at := self.seen.truncated_at(done.tp)) is not None}
        return _Reading(checked, taken, made_under, wanted, truncated_at)

    def end(self, reading: _Reading) -> Progress:
        """Take in what an entry's objects are."""
        entry = reading.taken.entry
        self.entries += 1
        sound = self._objects(entry, reading.wanted)
        for gap in reading.taken.gaps:
            self.gaps += 1
            self._note(f"gap: {gap.tp} [{gap.start}, {gap.end}) in entry {entry.seq}: {gap.reason}")
        if self.kafka is not None and reading.taken.ranges:
            self._compare(self.kafka, reading, sound)
        total = self.head.seq - self.since + 1 if self.head is not None else 0
        return Progress(self.entries, total, self.objects, self.bytes)

    def finish(self) -> Verified:
        found = None
        if self.since:
            self._note("orphans were not looked for: only a check of the whole log can tell them")
        else:
            if self.last is not None and not self.findings.entries_unknown:
                self.landings.entry(self.last, None, self.findings)
            if self.findings.entries_unknown:
                self._note("orphans were not looked for: entries that cannot be read may list them")
            else:
                found = self._orphans()
        if self.other_bytes:
            self._note(other_bytes(self.other_bytes))
        check_owners(self.log, self.claims, self.findings)
        if confirmed := check_marks(self.log, self.findings):
            self._note(confirmed)
        more = (f"and {self.notes_more:,} notes more",) if self.notes_more else ()
        return Verified(
            self.entries,
            self.objects,
            self.records,
            self.bytes,
            self.ranges_compared,
            tuple(self.findings.kept),
            self.findings.count,
            (*self.notes, *more),
            found,
            self.withdrawn,
            self.gaps,
            trust(self.log),
        )

    def _note(self, text: str) -> None:
        if text in self.notes or len(self.notes) < NOTES_MAX:
            self.notes[text] = None
        else:
            self.notes_more += 1

    def _land(self, taken: Taken) -> None:
        """Rewinds are checked one entry late: an entry has to know the one before it."""
        if self.findings.entries_unknown > self.unknown:
            self.unknown, self.last = self.findings.entries_unknown, None
            self.landings.forget()
        if self.last is not None:
            self.landings.entry(self.last, taken.entry, self.findings)
        self.last = taken

    def _check_names(self, entry: Entry, layout: KeyLayout) -> None:
        """A key says partition, first offset and generation, and the entry the same."""
        for done in entry.ranges:
            for made in done.objects:
                name = parse_data_key(layout, done.topic, made.key)
                generation = entry.topics[done.topic].generation
                expected = (done.partition, made.first_offset, generation)
                if name is None or (name.partition, name.start_offset, name.generation) != expected:
                    where = f"{made.key} in entry {entry.seq}"
                    wanted = f"the key of {done.tp} from offset {made.first_offset} on, generation {generation}"
                    self.findings.add(where, expected=wanted, found="another key", next=STRANGE)

    def _wanted(self, taken: Taken, made_under: Settings | None, pool: ThreadPoolExecutor) -> Iterator[_Wanted]:
        store = self.log.store
        for done in taken.ranges:
            for made in done.objects:
                yield _Wanted(made, pool.submit(read_object, store, made, made_under), made.records)
        for beside in _companions(taken.ranges):
            yield _Wanted(beside, pool.submit(read_object, store, beside, None))
        for letters in _letters(taken.ranges):
            yield _Wanted(letters, pool.submit(read_object, store, letters, None), counted=False)
        gone = [made for done in taken.withdrawn for made in done.objects]
        for made in (*gone, *_companions(taken.withdrawn), *_letters(taken.withdrawn)):
            yield _Wanted(made, pool.submit(look, store, made), withdrawn=True)

    def _objects(self, entry: Entry, wanted: Sequence[_Wanted]) -> set[str]:
        """Take in the objects of an entry; the keys of those that are right."""
        sound: set[str] = set()
        missing = 0
        for each in wanted:
            made, read = each.made, each.read.result()
            if made.key in self.listed:
                where = f"{made.key} in entry {entry.seq}"
                self.findings.add(where, expected="each key once in the log", found="it twice", next=STRANGE)
            self.listed.add(made.key)
            if each.withdrawn:
                self.withdrawn += 1
                missing += read.finding is not None
                continue
            if each.counted:
                self.objects += 1
                self.records += each.records
                self.bytes += made.size
            if read.finding is not None:
                self.findings.put(read.finding)
            else:
                sound.add(made.key)
        if missing:
            of = sum(each.withdrawn for each in wanted)
            self._note(
                f"entry {entry.seq}: {missing} of {of} withdrawn objects are gone or changed; no reader takes them"
            )
        return sound

    def _compare(self, kafka: Kafka, reading: _Reading, sound: Set[str]) -> None:
        """Read every live range of an entry again; what Kafka no longer has is a note, not a finding."""
        entry, made_under = reading.taken.entry, reading.made_under
        if made_under is None or entry.isolation_level != self.settings.kafka.isolation_level:
            self._note(f"entry {entry.seq} is not checkable against Kafka: another configuration made it")
            return
        try:
            comparable = [done for done in reading.taken.ranges if self._is_there(kafka.broker, reading, done)]
        except TemporaryError as error:
            self.findings.put(unanswered(f"entries up to {entry.seq}", error))
            self.kafka = None  # asking for every range again would take for ever
            return

        def compare(done: RangeEntry) -> Compared | NotCheckable:
            state = entry.topics[done.topic]
            under = made_under.reading_by(state.schema_text)
            try:
                compacted = done.topic in self.compacted
                made = Comparison(kafka.source, under, state.generation, entry.interval, self.log.store, sound)
                return replace(made, registries=kafka.registries, compacted=compacted).compare(done)
            except TemporaryError as error:
                return Compared([unanswered(str(OffsetRange(done.tp, done.start, done.next_offset)), error)])

        outcomes: list[tuple[RangeEntry, Compared | NotCheckable]] = []
        with ThreadPoolExecutor(self.settings.limits.tasks_max) as pool:
            outcomes += zip(comparable, pool.map(compare, comparable), strict=True)
        well = Compared([])
        self.views = None if any(outcome != well for _, outcome in outcomes) else self.views  # they are of a while ago
        for done, outcome in outcomes:
            if isinstance(outcome, NotCheckable):
                self._note(f"not checkable: {outcome.reason}")
            elif not outcome.findings or self._still_counts(kafka.broker, reading, done):
                self.ranges_compared += 1
                self.other_bytes += outcome.other_bytes
                for finding in outcome.findings:
                    self.findings.put(finding)

    def _still_counts(self, broker: Broker, reading: _Reading, done: RangeEntry) -> bool:
        """Whether what was found against Kafka is about the log that was exported: it was there after it was read."""
        try:
            return self._is_there(broker, reading, done)
        except (TemporaryError, TopicMissing) as error:
            self._note(f"not checkable: {done.tp} [{done.start}, {done.next_offset}): {error}")
            return False

    def _is_there(self, broker: Broker, reading: _Reading, done: RangeEntry) -> bool:
        """Whether Kafka still holds the offsets of a range, of the same topic and of the same log."""
        entry = reading.taken.entry
        if self.views is None:
            self.views = self._look_at_kafka(broker)
        view, offsets = self.views.get(done.topic), f"{done.tp} [{done.start}, {done.next_offset})"
        if view is None or view.topic_id != entry.topics[done.topic].topic_id or done.partition not in view.partitions:
            self._note(f"not checkable: {offsets} was read from a topic that is deleted, or was created again since")
            return False
        seen = broker.offsets([done.tp])[done.tp]
        ends = (reading.truncated_at.get(done.tp), self.truncated_at.get(done.tp), seen.high_watermark)
        truncated_at = min(end for end in ends if end is not None)
        if done.next_offset > truncated_at:
            self._note(f"not checkable: {offsets} was read from a log that Kafka truncated at {truncated_at} since")
            return False
        if seen.log_start > done.start:
            gone = min(seen.log_start, done.next_offset)
            self._note(f"not checkable: {offsets}, of which Kafka no longer has [{done.start}, {gone}) (retention)")
            return False
        return True

    def _look_at_kafka(self, broker: Broker) -> Mapping[str, TopicView]:
        """The topics, and where their logs part from what was exported: the next run writes that down, not this."""
        views, known = broker.topics(), {} if self.head is None else self.head.topics
        same = {name: view for name, view in views.items() if name in known and known[name].topic_id == view.topic_id}
        led = [TopicPartition(name, p) for name, view in same.items() for p in view.led if p in known[name].positions]
        self.truncated_at = truncated_logs(broker, known, broker.offsets(led))
        policies = broker.cleanup_policies(same)
        self.compacted = frozenset(name for name, of in policies.items() if "compact" in of)
        return views

    def _orphans(self) -> tuple[Orphan, ...] | None:
        if self.head is None:
            return ()
        if self.configurations.unknown():
            self._note("orphans of configurations that this engine does not know were not looked for")
        try:
            where = known(self.configurations.places(), self.head.topics, self.settings, NOTHING_NAMED)
            territory = orphans.survey(self.log, self.head, where.places, topics=where.topics)
        except LogDamaged as error:
            self._note(f"orphans were not looked for: {error}")
            return None
        for note in (*territory.notes, *where.notes):
            self._note(f"orphans: {note}")
        return tuple(orphans.find(self.log, territory, self.listed, self.head, self.adopted, lost=self.lost.found))


def _companions(ranges: Sequence[RangeEntry]) -> Iterator[ObjectEntry]:
    """What ranges list beside their objects; size and hash say all about them."""
    for done in ranges:
        for made in done.objects:
            for each in made.companions:
                yield msgspec.structs.replace(made, key=each.key, size=each.size, sha256=each.sha256)


def _letters(ranges: Sequence[RangeEntry]) -> Iterator[ObjectEntry]:
    return (done.dead_letters for done in ranges if done.dead_letters is not None)
