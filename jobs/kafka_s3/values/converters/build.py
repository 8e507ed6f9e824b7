"""Settings to a converter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka_s3.ports import SchemaRegistry
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.settings.properties import UserDefined
from kafka_s3.values.converters.text import JsonLines, bytes_to_json, strings_to_json, take_bytes
from kafka_s3.values.rows import Rows

Convert = Callable[[Sequence[bytes | None]], Rows]


def converter_for(
    settings: ConverterSettings,
    file: FileSettings,
    registry: SchemaRegistry | None = None,
    topic: str = "",
    *,
    key: bool = False,
) -> Convert:
    """How a batch of a topic's values, or keys, becomes rows that this file's format takes.

    What is bytes in the object too is checked and left as it is; what has a schema, or needs one, becomes `Structs`.
    """
    match settings.converter, file.format:
        case (_, Format.BYTE_ARRAY | Format.BLOCK_GZIP | Format.CSV):
            return take_bytes
        case (Converter.JSON, Format.JSON | UserDefined()) if not settings.schemas_enable:
            return JsonLines()
        case (_, UserDefined()):
            return take_bytes
        case (Converter.STRING, Format.JSON):
            return strings_to_json
        case (Converter.BYTE_ARRAY, Format.JSON):
            return bytes_to_json
        case _:
            return _with_schema(settings, file, registry, topic, key)


def unwritten_converter_for(
    settings: ConverterSettings, registry: SchemaRegistry | None = None, topic: str = "", *, key: bool = False
) -> Convert:
    """How bytes become the values that Connect would have of them, for whoever changes them before they are written."""
    if settings.converter is Converter.JSON and not settings.schemas_enable and not settings.has_schema:
        from kafka_s3.values.converters.schemaless import schemaless_json

        return schemaless_json
    return _with_schema(settings, FileSettings(Format.JSON), registry, topic, key)


def _with_schema(
    settings: ConverterSettings, file: FileSettings, registry: SchemaRegistry | None, topic: str, key: bool
) -> Convert:
    """Converters whose rows have schemas; each brings its libraries along only where it is used."""
    made: Any
    columns = file.format is Format.PARQUET
    match settings.converter:
        case Converter.AVRO:
            from kafka_s3.values.converters.avro import AvroValues

            assert registry is not None, "AvroConverter without a schema registry"
            binary = file.format is Format.AVRO
            made = AvroValues(registry, settings.subject_names, topic, key=key, columns=columns, binary=binary)
        case Converter.PROTOBUF:
            from kafka_s3.values.converters.protobuf import ProtobufValues

            assert registry is not None, "ProtobufConverter without a schema registry"
            made = ProtobufValues(registry, settings.subject_names, topic, settings.protobuf, key=key, columns=columns)
        case Converter.JSON_SCHEMA:
            from kafka_s3.values.converters.json_schema import JsonSchemaValues

            assert registry is not None, "JsonSchemaConverter without a schema registry"
            options = settings.json_schema
            made = JsonSchemaValues(registry, settings.subject_names, topic, options, key=key, columns=columns)
        case Converter.GLUE_AVRO:
            from kafka_s3.values.converters.glue import GlueAvro

            assert registry is not None, "AWSKafkaAvroConverter without Glue"
            made = GlueAvro(registry, key=key, columns=columns, binary=file.format is Format.AVRO)
        case Converter.GLUE_PROTOBUF:
            from kafka_s3.values.converters.glue_protobuf import GlueProtobuf

            assert registry is not None, "ProtobufSchemaConverter without Glue"
            made = GlueProtobuf(registry, key=key, columns=columns)
        case Converter.GLUE_JSON_SCHEMA:
            from kafka_s3.values.converters.glue_json_schema import GlueJsonSchema

            assert registry is not None, "JsonSchemaConverter without Glue"
            made = GlueJsonSchema(registry, key=key, columns=columns)
        case Converter.JSON if settings.schemas_enable:
            from kafka_s3.values.converters.envelope import EnvelopeJson

            made = EnvelopeJson(settings, schema_needed=file.format is Format.AVRO, columns=columns)
        case Converter.JSON if settings.inference is not None:
            from kafka_s3.values.converters.inferred import inferred_json

            made = inferred_json(settings, columns=columns)
        case Converter.JSON if settings.schema_text is not None:
            from kafka_s3.values.converters.typed import typed_json

            made = typed_json(settings, columns=columns)
        case Converter.JSON:
            from kafka_s3.values.converters.connect_anything import json_to_anything

            made = json_to_anything
        case other:
            from kafka_s3.values.converters.primitives import Primitive

            made = Primitive(other)
    convert: Convert = made
    return convert
