"""Predicates: for which records a transform is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from kafka_s3.settings.transforms.chain import PredicateSettings
from kafka_s3.settings.transforms.regex import pattern
from kafka_s3.values.transforms.records import Part, Records


class Predicate(Protocol):
    """Answers for each of some records."""

    parts: frozenset[Part]

    def __call__(self, records: Records, chosen: Sequence[int]) -> Sequence[bool]: ...


class HasHeaderKey:
    parts = frozenset({Part.HEADERS})

    def __init__(self, settings: PredicateSettings) -> None:
        self._name = str(settings.options["name"])

    def __call__(self, records: Records, chosen: Sequence[int]) -> Sequence[bool]:
        headers = records.headers
        assert headers is not None
        return [any(name == self._name for name, _ in headers[index]) for index in chosen]


class RecordIsTombstone:
    """The value is null. It looks at no value, so that none is converted for it alone."""

    parts: frozenset[Part] = frozenset()

    def __init__(self, settings: PredicateSettings) -> None:
        pass

    def __call__(self, records: Records, chosen: Sequence[int]) -> Sequence[bool]:
        nulls = records.nulls()
        return [index in nulls for index in chosen]


class TopicNameMatches:
    parts = frozenset({Part.TOPIC})

    def __init__(self, settings: PredicateSettings) -> None:
        self._pattern = pattern(str(settings.options["pattern"]))

    def __call__(self, records: Records, chosen: Sequence[int]) -> Sequence[bool]:
        if isinstance(records.topics, str):
            return [self._pattern.fullmatch(records.topics) is not None] * len(chosen)
        fits = {topic: self._pattern.fullmatch(topic) is not None for topic in set(records.topics)}
        return [fits[records.topics[index]] for index in chosen]


_PACKAGE: Final = "org.apache.kafka.connect.transforms.predicates"
PREDICATES: Final[Mapping[str, Callable[[PredicateSettings], Predicate]]] = {
    f"{_PACKAGE}.HasHeaderKey": HasHeaderKey,
    f"{_PACKAGE}.RecordIsTombstone": RecordIsTombstone,
    f"{_PACKAGE}.TopicNameMatches": TopicNameMatches,
}
