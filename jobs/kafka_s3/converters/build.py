"""Settings to a converter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_s3.converters.text import JsonLines, bytes_to_json, strings_to_json, take_bytes
from kafka_s3.errors import ConfigurationError
from kafka_s3.ports import SchemaRegistry
from kafka_s3.rows import Rows
from kafka_s3.settings.content import Converter, ConverterSettings, FileSettings, Format, Own

Convert = Callable[[Sequence[bytes | None]], Rows]


def converter_for(
    settings: ConverterSettings,
    file: FileSettings,
    registry: SchemaRegistry | None = None,
    topic: str = "",
    *,
    key: bool = False,
) -> Convert:
    """How a batch of values becomes rows that this file's format takes."""
    match settings.converter, file.format:
        case (_, Format.BYTE_ARRAY):
            return take_bytes
        case (Converter.JSON, Format.JSON | Own()):
            return JsonLines()
        case (_, Own()):
            return take_bytes
        case (Converter.STRING, Format.JSON):
            return strings_to_json
        case (Converter.BYTE_ARRAY, Format.JSON):
            return bytes_to_json
        case pair:
            raise ConfigurationError(f"{pair} is not built yet")
