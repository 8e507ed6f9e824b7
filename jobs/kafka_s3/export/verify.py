"""Proves an export: the whole log, every object it lists, and, if asked, what Kafka holds. Reads only.

Memory: about 200 bytes for every object of the log (to find orphans), and for each task at work one chunk of an
object, or a reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from kafka_s3.commit_log import Entry, Kind, ObjectEntry, Plan, RangeEntry
from kafka_s3.errors import ConfigurationError, TemporaryError
from kafka_s3.export.findings import Finding, Findings
from kafka_s3.export.log import Log
from kafka_s3.export.verify_log import STRANGE, CheckedEntry, walk
from kafka_s3.export.verify_objects import Comparison, NotCheckable, ReadObject, read_object
from kafka_s3.naming import DataName, KeyLayout, parse_data_key
from kafka_s3.ports import Broker, ObjectStore, RecordSource, Registries, TopicView
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings

READS_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Kafka:
    """What `--against-kafka` needs of Kafka."""

    broker: Broker
    source: RecordSource
    registries: Registries = Registries()


@dataclass(frozen=True, slots=True)
class Orphan:
    """A data object that no entry lists. `deletable`: no future plan can make this key (DESIGN §4.6)."""

    key: str
    size: int
    deletable: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a check is; `entries_total` is `None` until the newest entry was read."""

    entries: int
    entries_total: int
    objects: int


@dataclass(frozen=True, slots=True)
class Verified:
    """What was checked, and what came of it. `orphans` is `None` where they cannot be told from the others."""

    entries: int
    objects: int
    records: int
    bytes: int
    ranges_compared: int
    findings: tuple[Finding, ...]
    findings_count: int
    notes: tuple[str, ...]
    orphans: tuple[Orphan, ...] | None


def verify(
    settings: Settings, log: Log, kafka: Kafka | None, *, since: int = 0, tell: Callable[[Progress], None]
) -> Verified:
    """Check the entries from number `since` on. Raises only what stops the store from answering at all."""
    check = _Check(settings, log, kafka)
    for checked in walk(log, since, check.findings):
        check.entry(checked)
        tell(Progress(check.entries, check.head.seq - since + 1 if check.head else 0, check.objects))
    return check.finish(whole=since == 0)


@dataclass(slots=True)
class _Check:
    settings: Settings
    log: Log
    kafka: Kafka | None
    findings: Findings = field(default_factory=Findings)
    notes: dict[str, None] = field(default_factory=dict)  # in order, each once
    listed: set[str] = field(default_factory=set)
    layouts: set[KeyLayout] = field(default_factory=set)
    head: Entry | None = None
    adopted: Entry | None = None
    entries: int = 0
    objects: int = 0
    records: int = 0
    bytes: int = 0
    ranges_compared: int = 0
    views: Mapping[str, TopicView] | None = None

    def entry(self, checked: CheckedEntry) -> None:
        entry = checked.entry
        self.head = self.head or entry
        self.adopted = entry if entry.kind is Kind.ADOPT else self.adopted
        self.entries += 1
        made_under = _settings_of(checked.plan, self.settings)
        if made_under is not None:
            self.layouts.add(made_under.layout)
        elif checked.plan is not None and entry.ranges:
            self._note(f"entry {entry.seq}: its configuration is not known to this engine: records were not counted")
        made = [each for done in entry.ranges for each in done.objects]
        self.records += sum(each.records for each in made)
        contents = self._read_objects(entry, made, made_under)
        self._read_objects(entry, list(_companions(entry)), None)
        letters = [done.dead_letters for done in entry.ranges if done.dead_letters is not None]
        self._read_objects(entry, letters, None, counted=False)
        if self.kafka is not None and entry.ranges:
            self._compare(self.kafka, entry, made_under, contents)

    def finish(self, *, whole: bool) -> Verified:
        orphans = None
        if not whole:
            self._note("orphans were not looked for: only a check of the whole log can tell them")
        elif self.findings.entries_unknown:
            self._note("orphans were not looked for: entries that cannot be read may list them")
        else:
            orphans = tuple(self._orphans())
        return Verified(
            self.entries,
            self.objects,
            self.records,
            self.bytes,
            self.ranges_compared,
            tuple(self.findings.kept),
            self.findings.count,
            tuple(self.notes),
            orphans,
        )

    def _note(self, text: str) -> None:
        self.notes[text] = None

    def _read_objects(
        self, entry: Entry, made: Sequence[ObjectEntry], made_under: Settings | None, *, counted: bool = True
    ) -> dict[str, str]:
        """Check the objects of an entry; the content hashes of those that are right."""
        contents: dict[str, str] = {}
        for each, read in zip(made, _read_all(self.log.store, made, made_under), strict=True):
            if each.key in self.listed:
                where = f"{each.key} in entry {entry.seq}"
                self.findings.add(where, expected="each key once in the log", found="it twice", next=STRANGE)
            self.listed.add(each.key)
            self.objects += counted
            self.bytes += each.size if counted else 0
            if read.finding is not None:
                self.findings.put(read.finding)
            elif read.content_sha256 is not None:
                contents[each.key] = read.content_sha256
        return contents

    def _compare(self, kafka: Kafka, entry: Entry, made_under: Settings | None, contents: Mapping[str, str]) -> None:
        """Read every range of an entry again; what Kafka no longer has is a note, not a finding."""
        if made_under is None or entry.isolation_level != self.settings.kafka.isolation_level:
            self._note(f"entry {entry.seq} is not checkable against Kafka: another configuration made it")
            return
        try:
            comparable = [done for done in entry.ranges if self._is_there(kafka.broker, entry, done)]
        except TemporaryError as error:
            again = "Run verify again when Kafka answers."
            self.findings.add(f"entries up to {entry.seq}", expected="an answer of Kafka", found=str(error), next=again)
            self.kafka = None  # asking for every range again would take for ever
            return

        def compare(done: RangeEntry) -> list[Finding] | NotCheckable:
            generation = entry.topics[done.topic].generation
            try:
                return Comparison(
                    kafka.source, made_under, generation, entry.interval, contents, kafka.registries
                ).compare(done)
            except TemporaryError as error:
                where = str(OffsetRange(done.tp, done.start, done.next_offset))
                return [Finding(where, "an answer of Kafka", str(error), "Run verify again when Kafka answers.")]

        with ThreadPoolExecutor(self.settings.limits.tasks_max) as pool:
            for outcome in pool.map(compare, comparable):
                if isinstance(outcome, NotCheckable):
                    self._note(f"not checkable: {outcome.reason}")
                    continue
                self.ranges_compared += 1
                for finding in outcome:
                    self.findings.put(finding)

    def _is_there(self, broker: Broker, entry: Entry, done: RangeEntry) -> bool:
        """Whether Kafka still holds the offsets of a range, and of the same topic."""
        if self.views is None:
            self.views = broker.topics()
        view, offsets = self.views.get(done.topic), f"{done.tp} [{done.start}, {done.next_offset})"
        if view is None or view.topic_id != entry.topics[done.topic].topic_id or done.partition not in view.partitions:
            self._note(f"not checkable: {offsets} was read from a topic that is deleted, or was created again since")
            return False
        seen = broker.offsets([done.tp])[done.tp]
        if seen.log_start > done.start:
            gone = min(seen.log_start, done.next_offset)
            self._note(f"not checkable: {offsets}, of which Kafka no longer has [{done.start}, {gone}) (retention)")
            return False
        return True

    def _orphans(self) -> Iterable[Orphan]:
        topics = set(self.settings.topics) | (set(self.head.topics) if self.head is not None else set())
        for layout in {*self.layouts, self.settings.layout}:
            for topic in sorted(topics):
                for info in self.log.store.list(layout.topic_prefix(topic)):
                    name = parse_data_key(layout, topic, info.key)
                    if name is not None and info.key not in self.listed and not self._was_adopted(topic, name):
                        self.listed.add(info.key)  # two layouts may share a prefix
                        yield Orphan(info.key, info.size, self._is_deletable(topic, name))

    def _was_adopted(self, topic: str, name: DataName) -> bool:
        """Whether an object was there before the log began: below the adopted positions all is export, not orphan."""
        tp = TopicPartition(topic, name.partition)
        position = self.adopted.position(tp) if self.adopted is not None else None
        if self.adopted is None or position is None:
            return False
        return name.generation <= self.adopted.topics[topic].generation and name.start_offset < position

    def _is_deletable(self, topic: str, name: DataName) -> bool:
        """Whether no future plan can make this key: it lies below the position of its generation."""
        position = self.head.position(TopicPartition(topic, name.partition)) if self.head is not None else None
        if self.head is None or position is None:
            return False
        return name.generation == self.head.topics[topic].generation and name.start_offset < position


def _companions(entry: Entry) -> Iterable[ObjectEntry]:
    """What an entry lists beside its objects; their size and hash say all about them."""
    for done in entry.ranges:
        for made in done.objects:
            for each in made.companions:
                yield msgspec.structs.replace(made, key=each.key, size=each.size, sha256=each.sha256)


def _read_all(store: ObjectStore, made: Sequence[ObjectEntry], made_under: Settings | None) -> list[ReadObject]:
    with ThreadPoolExecutor(READS_AT_ONCE) as pool:
        return list(pool.map(lambda each: read_object(store, each, made_under), made))


def _settings_of(plan: Plan | None, now: Settings) -> Settings | None:
    """The settings that a plan's ranges were written under, or `None` if this engine cannot make them again."""
    if plan is None:
        return None
    if plan.configuration_sha256 == now.configuration_sha256:
        return now
    try:
        then = from_mapping(plan.configuration, offline=True).settings
    except ConfigurationError:
        return None
    if then.configuration_sha256 != plan.configuration_sha256:
        return None
    return replace(then, kafka=now.kafka, s3=now.s3)
