"""JSON as the serializers of AWS Glue's schema registry write it: their header (`glue`), then JSON text.

The converter for Connect maps schemas in its own way; `docs/json-schema.md` says where it differs from Confluent's,
and where this differs from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kafka_s3.json_schema.load import Schemas
from kafka_s3.json_schema.options import Options
from kafka_s3.json_schema.shapes import Numeric, OneOfValues, Shape, Words
from kafka_s3.ports import SchemaRegistry
from kafka_s3.values.converters.connect_schema import ConnectSchema, InvalidSchema, as_text, logical_checked
from kafka_s3.values.converters.glue import HEAD, converted, version_in
from kafka_s3.values.converters.json_schema import FramedJson, Named, made_of
from kafka_s3.values.converters.json_schema_connect import Translation, java_text, translated
from kafka_s3.values.converters.json_schema_words import (
    in_java_order,
    integer,
    number_type,
    parameters_of,
    type_of,
)
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.rows import Stage

ENUM: Final = "com.amazonaws.services.schemaregistry.kafkaconnect.jsonschema.Enum"
ONE_OF: Final = "oneOf"
_FIELD: Final = "field"


class GlueJsonSchema:
    """JsonSchemaConverter of AWS Glue: the values or keys of one topic."""

    def __init__(self, registry: SchemaRegistry, *, key: bool, columns: bool = False) -> None:
        self._json = FramedJson(GlueJson(registry), key=key, columns=columns)
        self._stage = Stage.KEY_CONVERTER if key else Stage.VALUE_CONVERTER

    def __call__(self, values: Sequence[bytes | None]) -> ValueRows:
        return converted(self._json, values, self._stage)


class GlueJson:
    """The header, and the schema of the version that it names."""

    head = HEAD

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry

    def look_up(self, head: bytes) -> Named | str:
        registered = version_in(head, self._registry, "JSON")
        if isinstance(registered, str):
            return registered
        named = f"the version {registered.id}"

        def make(root: Any, referred: Mapping[str, Any]) -> Named:
            schemas = Schemas(root, referred, by_draft=True)
            connect = translated(GlueTranslation(schemas, Options()), schemas, None)
            return Named(connect, named, None, registered.version)

        return made_of(registered, named, make)


class GlueTranslation(Translation):
    """Names are in `connect.name`, not in titles, and descriptions in `connect.doc`."""

    def number(self, shape: Numeric) -> ConnectSchema:
        kind = type_of(shape.words)
        if kind is None:
            return ConnectSchema("double", exact=shape.integer)
        connect = {**shape.words.connect, "connect.type": kind.lower()}
        return ConnectSchema(number_type(replace(shape, words=replace(shape.words, connect=connect))))

    def symbols(self, shape: OneOfValues) -> dict[str, str]:
        texts = [as_text("null" if value is None else java_text(value)) for value in shape.values]
        return {f"{ENUM}.{text}": text for text in texts}

    def union_names(self, _number: int) -> tuple[str, str, int]:
        return ONE_OF, _FIELD, 1

    def said(self, made: ConnectSchema, words: Words, _version: int | None, optional: bool) -> ConnectSchema:
        parameters = {**made.parameters, **parameters_of(words)}
        name = _text(words, "connect.name") or made.name
        return replace(
            made,
            optional=made.optional or optional,
            name=logical_checked(name, made.type, parameters),
            version=integer(words, "connect.version"),
            doc=_text(words, "connect.doc"),
            parameters=parameters,
            memo={},
        )

    def in_order(self, properties: Mapping[str, Shape]) -> list[str]:
        """By `connect.index`; those without it come last."""
        indexes = {name: integer(properties[name].words, "connect.index") for name in in_java_order(properties)}
        return sorted(indexes, key=lambda name: (indexes[name] is None, indexes[name] or 0))


def _text(words: Words, name: str) -> str | None:
    found = words.connect.get(name)
    if found is not None and type(found) is not str:
        raise InvalidSchema(f"{name} is not a string")
    return None if found is None else as_text(found)
