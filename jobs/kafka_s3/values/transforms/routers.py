"""RegexRouter and TimestampRouter: the topic, by its name or by the record's time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.settings.transforms.dates import date_format
from kafka_s3.settings.transforms.regex import Replace, pattern, replacement
from kafka_s3.shown import quoted
from kafka_s3.values.transforms.base import text
from kafka_s3.values.transforms.records import Part, Records

#: What Kafka takes for a topic's name; it becomes a folder.
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}", re.ASCII)


def route(records: Records, chosen: Sequence[int], topic_of: Callable[[int], str]) -> None:
    """Give records other topics; one that is not a topic's name makes a bad record."""
    if chosen:
        _put(records, chosen, [topic_of(index) for index in chosen])


def _put(records: Records, chosen: Sequence[int], made: str | Sequence[str]) -> None:
    """The topics of chosen records, one for all or one for each."""
    one = made if isinstance(made, str) else made[0] if made.count(made[0]) == len(made) else None
    if wrong := {topic for topic in ({one} if one is not None else set(made)) if not _is_topic(topic)}:
        for index, topic in zip(chosen, [one] * len(chosen) if one is not None else made, strict=True):
            if topic in wrong:
                records.fail([index], f"{quoted(topic, repr(topic[:80]))} is not a valid topic name")
    if one is not None and len(chosen) == len(records):
        records.topics = one
        return
    topics = [records.topics] * len(records) if isinstance(records.topics, str) else records.topics
    for index, topic in zip(chosen, [one] * len(chosen) if one is not None else made, strict=True):
        topics[index] = topic
    records.topics = topics


def replaced(text: str, by: re.Pattern[str], replace: Replace) -> str | None:
    """A text whose whole fits a pattern, with what `Matcher.replaceFirst` makes of it; `None` if it does not fit."""
    if by.fullmatch(text) is None:
        return None
    first = by.search(text)  # what matches first need not be the whole
    return text if first is None else f"{text[: first.start()]}{replace(first)}{text[first.end() :]}"


def _is_topic(name: str) -> bool:
    return name not in (".", "..") and _TOPIC.fullmatch(name) is not None


class RegexRouter:
    """Renames topics whose whole name fits a pattern."""

    parts = frozenset({Part.TOPIC})

    def __init__(self, settings: TransformSettings) -> None:
        self._pattern = pattern(text(settings, "regex"))
        self._replace = replacement(text(settings, "replacement"), self._pattern)
        self._known: dict[str, str] = {}

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        if not chosen:
            return
        topics = records.topics
        if isinstance(topics, str):
            _put(records, chosen, self._routed(topics))
        else:
            _put(records, chosen, [self._routed(topics[index]) for index in chosen])

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
        self._date = date_format(text(settings, "timestamp.format"))
        self._topic = text(settings, "topic.format")

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        stamps = records.timestamps()
        if None in stamps:
            records.fail((index for index in chosen if stamps[index] is None), "the record has no timestamp")
            chosen = [index for index in chosen if stamps[index] is not None]
        if not chosen:
            return
        topics, unit = records.topics, self._date.unit_ms
        found: Any = stamps if len(chosen) == len(stamps) else [stamps[index] for index in chosen]
        if isinstance(topics, str) and min(found) // unit == max(found) // unit:  # as nearly always: the same text
            _put(records, chosen, self._routed(topics, found[0] // unit))
            return
        known = _Known(self._routed)
        named = zip(chosen, found, strict=True)
        _put(records, chosen, [known[records.topic_at(index), stamp // unit] for index, stamp in named])

    def _routed(self, topic: str, time: int) -> str:
        """The topic of records of a time, in units of the format."""
        date = self._date.format(time * self._date.unit_ms)
        return self._topic.replace("${topic}", topic).replace("${timestamp}", date)


class _Known(dict[tuple[str, int], str]):
    """The topics of one batch, each made once."""

    def __init__(self, make: Callable[[str, int], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, asked: tuple[str, int]) -> str:
        made = self[asked] = self._make(*asked)
        return made
