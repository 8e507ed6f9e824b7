"""RegexRouter and TimestampRouter: the topic, by its name or by the record's time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.settings.transforms.dates import date_format
from kafka_s3.settings.transforms.regex import Replace, pattern, replacement
from kafka_s3.shown import quoted
from kafka_s3.values.transforms.base import text
from kafka_s3.values.transforms.records import Part, Records

#: What Kafka takes for a topic's name; it becomes a folder.
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}", re.ASCII)


def route(records: Records, chosen: Sequence[int], topic_of: Callable[[int], str]) -> None:
    """Give records other topics; one that is no topic's name makes a bad record."""
    if not chosen:
        return
    made = [topic_of(index) for index in chosen]
    wrong = {topic for topic in set(made) if topic in (".", "..") or not _TOPIC.fullmatch(topic)}
    if wrong:
        for index, topic in zip(chosen, made, strict=True):
            if topic in wrong:
                records.fail([index], f"{quoted(topic, repr(topic[:80]))} is no name of a topic")
    if len(made) == len(records) and made.count(made[0]) == len(made):
        records.topics = made[0]
        return
    topics = [records.topics] * len(records) if isinstance(records.topics, str) else records.topics
    for index, topic in zip(chosen, made, strict=True):
        topics[index] = topic
    records.topics = topics


def replaced(text: str, by: re.Pattern[str], replace: Replace) -> str | None:
    """A text whose whole fits a pattern, with what `Matcher.replaceFirst` makes of it; `None` if it does not fit."""
    if by.fullmatch(text) is None:
        return None
    first = by.search(text)  # what matches first need not be the whole
    return text if first is None else f"{text[: first.start()]}{replace(first)}{text[first.end() :]}"


class RegexRouter:
    """Renames topics whose whole name fits a pattern."""

    parts = frozenset({Part.TOPIC})

    def __init__(self, settings: TransformSettings) -> None:
        self._pattern = pattern(text(settings, "regex"))
        self._replace = replacement(text(settings, "replacement"), self._pattern)
        self._known: dict[str, str] = {}

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        route(records, chosen, lambda index: self._routed(records.topic_at(index)))

    def _routed(self, topic: str) -> str:
        if topic not in self._known:
            made = replaced(topic, self._pattern, self._replace)
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[topic] = topic if made is None else made
        return self._known[topic]


class TimestampRouter:
    """Puts the record's time into the topic's name."""

    parts = frozenset({Part.TOPIC, Part.TIMESTAMP})

    def __init__(self, settings: TransformSettings) -> None:
        self._format = date_format(text(settings, "timestamp.format")).format
        self._topic = text(settings, "topic.format")

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        stamps = records.timestamps()
        if None in stamps:
            records.fail((index for index in chosen if stamps[index] is None), "the record has no timestamp")
            chosen = [index for index in chosen if stamps[index] is not None]
        format, known = self._format, dict[str, str]()

        def routed(index: int) -> str:
            topic = records.topic_at(index)
            if topic not in known:
                known[topic] = self._topic.replace("${topic}", topic)
            return known[topic].replace("${timestamp}", format(stamps[index]))  # type: ignore[arg-type]

        route(records, chosen, routed)
