"""MessageTimestampRouter: a time in the value, in the topic's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Map
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.settings.transforms.dates import NoDate, date_format
from kafka_s3.shown import kind_and_length, quoted
from kafka_s3.values.transforms.base import require_map, text, texts
from kafka_s3.values.transforms.connect import TransformError, type_of
from kafka_s3.values.transforms.records import Part, Records
from kafka_s3.values.transforms.routers import route


class MessageTimestampRouter:
    """Puts the time in the first of some fields into the topic's name. Values are maps; structs are not taken."""

    parts = frozenset({Part.VALUE, Part.TOPIC})

    def __init__(self, settings: TransformSettings) -> None:
        self._names = texts(settings, "message.timestamp.keys")
        self._read = date_format(text(settings, "message.timestamp.format"))
        self._write = date_format(text(settings, "topic.timestamp.format"))
        self._topic = text(settings, "topic.format")

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        topics: dict[int, str] = {}
        values = records.value.values
        for index in chosen:
            try:
                stamp = self._stamp(records.value.schema_at(index), values[index])
            except TransformError as error:
                records.fail([index], error)
                continue
            topic = self._topic.replace("${topic}", records.topic_at(index))
            topics[index] = topic.replace("${timestamp}", stamp)
        route(records, list(topics), topics.__getitem__)

    def _stamp(self, schema: Schema | None, value: Any) -> str:
        if schema is not None and not isinstance(graph(schema).required, Map):
            raise TransformError(f"only a map is taken, and the value is of the type {type_of(graph(schema))}")
        fields = require_map(value, "reading its time")
        found = next((fields[name] for name in self._names if fields.get(name) is not None), None)
        if found is None:
            raise TransformError(f"the value has none of the fields {', '.join(self._names)}")
        if not isinstance(found, str):
            raise TransformError(f"the time must be text: found {kind_and_length(found)}")
        try:
            return self._write.format(self._read.parse(found))
        except NoDate:
            raise TransformError(f"{quoted(found)} does not match message.timestamp.format") from None
