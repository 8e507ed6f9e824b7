"""ExtractTopic: the topic, out of the key, the value or a header."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Map, Record
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.settings.transforms.json_path import parse_path
from kafka_s3.shown import kind_and_length
from kafka_s3.values.transforms.base import require_map, side_of, text
from kafka_s3.values.transforms.connect import TransformError, field_of, getter, type_of
from kafka_s3.values.transforms.json_paths import NotThere, found_in, view_of
from kafka_s3.values.transforms.records import Part, Records
from kafka_s3.values.transforms.routers import route

#: What reads the topic out of a key or a value; `None` if it is missing or null.
Read = Callable[[Any], Any]


def topic_of_key_or_value(settings: TransformSettings) -> ExtractTopic | ExtractTopicFromHeader:
    """By the side that was asked for."""
    return ExtractTopicFromHeader(settings) if settings.type.endswith("$Header") else ExtractTopic(settings)


class ExtractTopic:
    """Makes the topic of text in the key or the value, or of these as a whole."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side, Part.TOPIC})
        self._field = text(settings, "field")
        is_path = text(settings, "field.format").upper() == "JSON_PATH"
        self._path = parse_path(self._field) if is_path else None
        self._skips = settings.options["skip.missing.or.null"] is True

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        values, found = records.sides[self._side].values, dict[int, Any]()
        for schema, indexes in list(records.sides[self._side].by_schema(chosen)):
            try:
                read = self._reader(schema)
            except TransformError as error:
                records.fail(indexes, error)
                continue
            for index in indexes:
                try:
                    found[index] = None if values[index] is None else read(values[index])
                except TransformError as error:
                    records.fail([index], error)
        what = self._field or ("the key" if self._side is Part.KEY else "the value")
        give_topics(records, found, what, skips=self._skips)

    def _reader(self, schema: Schema | None) -> Read:
        if self._path is not None:
            return self._by_path(schema)
        if not self._field:
            return lambda value: value
        if schema is None:
            return lambda value: require_map(value, "reading a topic").get(self._field)
        match graph(schema).required:
            case Record() as record if type_of(record) == "STRUCT":
                field = field_of(record, self._field)
                return (lambda value: None) if field is None else getter(field, fills=True)  # noqa: ARG005
            case Map():
                return lambda value: value.get(self._field)
            case other:
                raise TransformError(f"only a struct or a map has fields, and this is of the type {type_of(other)}")

    def _by_path(self, schema: Schema | None) -> Read:
        path, view = self._path, view_of(schema)
        assert path is not None

        def read(value: Any) -> Any:
            try:
                return found_in(path, value if view is None else view(value))[0]
            except NotThere:
                return None

        return read


class ExtractTopicFromHeader:
    """Makes the topic of the last header of a name."""

    parts = frozenset({Part.HEADERS, Part.TOPIC})

    def __init__(self, settings: TransformSettings) -> None:
        self._name = text(settings, "field")
        self._skips = settings.options["skip.missing.or.null"] is True

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        headers, found = records.headers, dict[int, Any]()
        assert headers is not None
        for index in chosen:
            last = next((value for name, value in reversed(headers[index]) if name == self._name), None)
            try:
                found[index] = None if last is None else last.decode()
            except UnicodeDecodeError:
                records.fail([index], f"the header {self._name} is not text in UTF-8")
        give_topics(records, found, f"the header {self._name}", skips=self._skips)


def give_topics(records: Records, found: dict[int, Any], what: str, *, skips: bool) -> None:
    """Give records the topics that were found; `None`: there was none. `what` it was, for reasons."""
    topics: dict[int, str] = {}
    for index, topic in found.items():
        if isinstance(topic, str):
            topics[index] = topic
        elif topic is not None:
            records.fail([index], f"{what} must be text to become a topic: found {kind_and_length(topic)}")
        elif not skips:
            records.fail([index], f"{what} is missing or null, and becomes the topic")
    route(records, list(topics), topics.__getitem__)
