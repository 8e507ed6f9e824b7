"""JSON Schema for tests: a registry with one schema, and values framed as its serializers frame them, converted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.avro.model import Schema
from kafka_s3.json_schema.options import Options
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.shown import said
from kafka_s3.values.converters.json_schema import JsonSchemaValues
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.rows import Unwritable

LATEST = "https://json-schema.org/draft/2020-12/schema"


def of(**properties: Any) -> dict[str, Any]:
    """An object with these properties, in their order."""
    return {
        "type": "object",
        "properties": {
            name: {**each, "connect.index": index} if isinstance(each, dict) else each
            for index, (name, each) in enumerate(properties.items())
        },
    }


def framed(id: int, value: Any) -> bytes:
    return b"\0" + id.to_bytes(4, "big") + (value if isinstance(value, bytes) else json.dumps(value).encode())


class JsonTopic:
    """A schema, and by their names those it refers to; its converter."""

    def __init__(self, schema: Any, references: Mapping[str, Any] | None = None) -> None:
        self.registry = MemoryRegistry()
        names = list(references or {})
        for name in names:
            self.registry.register(name, json.dumps((references or {})[name]), type="JSON")
        text = schema if isinstance(schema, str) else json.dumps(schema)
        needed = [(name, 1) for name in names]
        self.id = self.registry.register("orders-value", text, type="JSON", references=needed, names=names)

    def converter(self, *, columns: bool = False, key: bool = False, **options: bool) -> JsonSchemaValues:
        return JsonSchemaValues(
            self.registry, SubjectNames.TOPIC, "orders", Options(**options), key=key, columns=columns
        )

    def rows(self, *values: Any, columns: bool = False, **options: bool) -> ValueRows:
        return self.converter(columns=columns, **options)([framed(self.id, value) for value in values])

    def schema(self, **options: bool) -> Schema:
        """The Avro schema of the values, without what the topic adds to it."""
        known = self.converter(**options).known[framed(self.id, b"")]
        assert not isinstance(known, str), known
        return known.schema

    def avro(self, **options: bool) -> Any:
        made = self.schema(**options).avro
        return (
            {name: each for name, each in made.items() if name != "connect.version"} if isinstance(made, dict) else made
        )

    def field(self, name: str, **options: bool) -> Any:
        """The Avro type of a field."""
        return next(each["type"] for each in self.avro(**options)["fields"] if each["name"] == name)

    def value(self, value: Any, **options: bool) -> Any:
        """The plain value, read by itself and among others; both are the same, and Avro holds it."""
        rows = self.rows(value, **options)
        assert not rows.excluded, rows.excluded
        schema = rows.schemas
        assert isinstance(schema, Schema)
        (plain,) = rows.values(schema)
        many = self.rows(*[value] * 3, **options)
        assert not many.excluded
        assert list(many.values(schema)) == [plain] * 3
        assert len(many.datums(schema)) == 3
        return plain

    def refusal(self, value: Any, **options: bool) -> str:
        """Why a value is refused, without what it holds."""
        (why,) = self.rows(value, **options).excluded.values()
        assert isinstance(why, Unwritable)
        return said(why.reason, content=False)
