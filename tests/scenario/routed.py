"""Histories under transforms that drop and route: every fourth record is dropped, and what is left of two topics lies
in two folders that are neither's own.

    Filter              every fourth record, by its key
    ExtractTopic        each record -> its number, from its header
    RegexRouter         numbers that end with 0, 3, 6 or 9 -> rare
    a class of a user's the other numbers -> all
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kafka_s3.log.entries import Entry, ObjectEntry, RangeEntry
from kafka_s3.naming import KeyLayout
from kafka_s3.settings.model import Settings
from kafka_s3.settings.transforms.chain import ChainSettings, PredicateSettings, TransformSettings
from kafka_s3.values.transforms.user_defined import TransformBatch
from tests.scenario.harness import HistoryExport
from tests.scenario.kafka import Fact, Sort
from tests.scenario.ledger import Ledger
from tests.scenario.processes import Engine

KAFKA = "org.apache.kafka.connect.transforms"
CONFLUENT = "io.confluent.connect.transforms"
LAYOUT = KeyLayout(routed=True)


def is_dropped(number: int) -> bool:
    return number % 4 == 3


def folder_of(number: int) -> str:
    return "rare" if number % 10 % 3 == 0 else "all"


class Fourth:
    """The predicate: a record's key is its number."""

    parts = ("key",)

    def __init__(self, properties: Mapping[str, str]) -> None:
        pass

    def test(self, batch: TransformBatch) -> Sequence[bool]:
        return [is_dropped(int(key)) for key in batch.keys]


class ToAll:
    """The transform that routes once more."""

    parts = ()

    def __init__(self, properties: Mapping[str, str]) -> None:
        pass

    def apply(self, batch: TransformBatch) -> TransformBatch:
        assert all(topic == "rare" or topic.isdigit() for topic in batch.topics), "each sees what those before it made"
        batch.topics = [topic if topic == "rare" else "all" for topic in batch.topics]
        return batch


CHAIN = ChainSettings(
    (
        TransformSettings("drop", f"{KAFKA}.Filter", {}, PredicateSettings("fourth", f"{__name__}:Fourth")),
        TransformSettings(
            "number",
            f"{CONFLUENT}.ExtractTopic$Header",
            {"field": "h", "field.format": "PLAIN", "skip.missing.or.null": False},
        ),
        TransformSettings("rare", f"{KAFKA}.RegexRouter", {"regex": "[0-9]*[0369]", "replacement": "rare"}),
        TransformSettings("all", f"{__name__}:ToAll"),
    ),
    routes=True,
)


@dataclass
class RoutedLedger(Ledger):
    """What is dropped is in no object, and counted; everything else is in the folder that its record names."""

    layout: KeyLayout = LAYOUT
    filtered: int = 0

    def is_left_out(self, fact: Fact) -> bool:
        return super().is_left_out(fact) or (fact.sort is not Sort.BAD and is_dropped(fact.number))

    def _take_range(self, done: RangeEntry, entry: Entry, contents: Mapping[str, bytes]) -> None:
        super()._take_range(done, entry, contents)
        topic = entry.topics[done.topic]
        passed = [
            fact
            for fact in self.kafka.facts
            if (fact.topic_id, fact.tp) == (topic.topic_id, done.tp)
            and done.start <= fact.offset < done.next_offset
            and fact.sort is not Sort.BAD
            and is_dropped(fact.number)
        ]
        there = [fact for fact in passed if fact.gone is None and fact.epoch <= topic.epochs.get(done.partition, 0)]
        assert len(there) <= done.filtered <= len(passed), f"{done} does not count what was dropped: {passed}"
        self.filtered += done.filtered

    def _facts_in(self, made: ObjectEntry, contents: Mapping[str, bytes], generation: int) -> list[Fact]:
        facts = super()._facts_in(made, contents, generation)
        for fact in facts:
            assert not is_dropped(fact.number), f"{fact} was to be dropped, and is in {made.key}"
            folder, file = made.key.split("/")[1], made.key.rpartition("/")[2]
            assert (folder, file.split("+")[0]) == (folder_of(fact.number), fact.tp.topic), made.key
        return facts


@dataclass
class RoutedExport(HistoryExport):
    def settings(self, engine: Engine) -> Settings:
        made = super().settings(engine)
        return replace(made, chain=CHAIN, layout=LAYOUT)

    def make_ledger(self) -> Ledger:
        return RoutedLedger(self.kafka, self.sides)

    def reached(self) -> set[str]:
        assert isinstance(self.ledger, RoutedLedger)
        keys = self.ledger.listed
        both = {(key.split("/")[1], key.rpartition("/")[2].split("+")[0]) for key in keys if key.startswith("topics/")}
        found = {
            "a record dropped": self.ledger.filtered > 0,
            "two topics in one folder": {("all", "orders"), ("all", "returns")} <= both,
            "one topic in two folders": {("all", "orders"), ("rare", "orders")} <= both,
        }
        return super().reached() | {what for what, is_so in found.items() if is_so}
