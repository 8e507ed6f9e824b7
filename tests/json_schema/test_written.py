"""What Connect writes under a JSON Schema, read again: the schema of before, and the value of before."""

from __future__ import annotations

from random import Random
from typing import Any

from kafka_s3.avro.model import Schema
from kafka_s3.json_schema.options import Options
from kafka_s3.ports import RegisteredSchema, SchemaId
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.values.converters.connect_avro import avro_schema
from kafka_s3.values.converters.connect_schema import read_schema
from kafka_s3.values.converters.connect_values import parse
from kafka_s3.values.converters.envelope import EnvelopeJson
from kafka_s3.values.converters.json_schema import JsonSchemaValues
from tests.json_schema.topic import JsonTopic
from tests.json_schema.written import written_schema, written_value
from tests.values.converters.envelopes import compact, envelope, random_schema, random_value


def test_schemas_and_values_come_back() -> None:
    """1,500 random schemas of Connect, four values of each: as JsonConverter's envelope has them."""
    random = Random(3)
    read = EnvelopeJson(ConverterSettings(Converter.JSON, schemas_enable=True))
    for _ in range(1500):
        connect = random_schema(random, 3)
        wanted = avro_schema(read_schema(parse(compact(connect).encode())))
        topic = JsonTopic(written_schema(connect))
        values: list[Any] = [random_value(random, {**connect, "optional": False})[0] for _ in range(4)]
        rows = topic.rows(*(written_value(connect, each).encode() for each in values))
        expected = read([envelope(connect, each) for each in values])
        assert rows.excluded == expected.excluded
        if len(rows.excluded) == len(values):
            continue
        schema = rows.schemas
        assert isinstance(schema, Schema)
        again = JsonSchemaValues(_NoVersions(topic), SubjectNames.TOPIC, "orders", Options(), key=False)
        assert again.known[b"\0\0\0\0\1"].schema.text == wanted.text  # type: ignore[union-attr]
        kept = [row for row in range(len(values)) if row not in rows.excluded]
        assert rows.pick(kept).values(schema) == expected.pick(kept).values(wanted)


class _NoVersions:
    """A registry that knows no version of the subject: an envelope has none either."""

    def __init__(self, topic: JsonTopic) -> None:
        self._registry = topic.registry

    def schema(self, id: SchemaId) -> RegisteredSchema | None:
        return self._registry.schema(id)

    def versions(self, subject: str) -> dict[SchemaId, int]:
        return {}
