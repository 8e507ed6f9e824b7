"""Protobuf for tests: text to classes of messages, framed as a registry's serializers frame them, and converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import message_factory

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.avro.arrow import from_values
from kafka_s3.avro.model import Schema
from kafka_s3.protobuf.compile import schemas
from kafka_s3.protobuf.options import Options
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.values.converters.avro import AvroRows
from kafka_s3.values.converters.protobuf import ProtobufValues

#: The index of the first message.
FIRST = b"\0"


class Topic:
    """A registry with one schema, the messages of it, and its converter."""

    def __init__(self, text: str, imports: Mapping[str, str] | None = None, message: Sequence[int] = (0,)) -> None:
        self.text = text
        self.registry = MemoryRegistry()
        imported = dict(imports or {})
        for name, each in imported.items():
            self.registry.register(name, each, type="PROTOBUF")
        self.id = self.registry.register(
            "orders-value", text, type="PROTOBUF", references=[(name, 1) for name in imported], names=list(imported)
        )
        compiled = schemas(text, tuple(imported), tuple(imported.values()))
        self.type: Any = message_factory.GetMessageClass(compiled.message(tuple(message)))

    def framed(self, message: Any, indexes: bytes = FIRST) -> bytes:
        """A message, or its bytes, behind what a serializer writes in front of it."""
        body = message if isinstance(message, bytes) else message.SerializePartialToString()
        return b"\0" + self.id.to_bytes(4, "big") + indexes + body

    def converter(self, *, columns: bool = False, key: bool = False, **options: bool) -> ProtobufValues:
        return ProtobufValues(self.registry, SubjectNames.TOPIC, "orders", Options(**options), key=key, columns=columns)

    def rows(self, *messages: Any, columns: bool = False, indexes: bytes = FIRST, **options: bool) -> AvroRows:
        return self.converter(columns=columns, **options)([self.framed(each, indexes) for each in messages])

    def schema(self, **options: bool) -> Schema:
        schema = self.rows(b"", **options).schemas
        assert isinstance(schema, Schema)
        return schema

    def fields(self, **options: bool) -> list[dict[str, Any]]:
        """The fields of the Avro schema."""
        avro = self.schema(**options).avro
        assert isinstance(avro, dict)
        fields: list[dict[str, Any]] = avro["fields"]
        return fields

    def value(self, message: Any, **options: bool) -> Any:
        """The plain value of a message, read by itself and among many, as columns too; all are the same."""
        rows = self.rows(message, **options)
        assert not rows.excluded, rows.excluded
        schema = rows.schemas
        assert isinstance(schema, Schema)
        (value,) = rows.values(schema)
        many = self.rows(*[message] * 40, **options)
        assert not many.excluded
        assert many.values(schema) == [value] * 40
        if many.has_columns(schema):
            assert many.arrow(schema).equals(from_values([value] * 40, schema))
        return value

    def refusal(self, message: Any, **options: bool) -> str:
        """Why a message is refused, by itself and among many good ones, which all are kept."""
        (why,) = self.rows(message, **options).excluded.values()
        many = self.rows(*[b""] * 40, message, **options)
        assert list(many.excluded) == [40]
        assert many.excluded[40] == why
        return str(why.reason)


def proto3(body: str, *imports: str) -> str:
    """The text of a file of the package `shop`."""
    return "\n".join(['syntax = "proto3";', "package shop;", *(f'import "{each}";' for each in imports), body])
