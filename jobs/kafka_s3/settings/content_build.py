"""What goes into objects, of values that are all right."""

from __future__ import annotations

from typing import Final

from kafka_s3 import custom
from kafka_s3.schemas.model import Compatibility
from kafka_s3.settings.check import Checked
from kafka_s3.settings.content import (
    AvroCodec,
    Compression,
    Converter,
    ConverterSettings,
    DecimalFormat,
    Envelope,
    EnvelopeField,
    FileSettings,
    Format,
    FormatSettings,
    Gzip,
    HeaderConverter,
    NoCompression,
    NullValues,
    Own,
    ParquetCodec,
    SubjectNames,
)
from kafka_s3.settings.properties import render
from kafka_s3.settings.registry import build_registry

SCHEMA: Final = "export.value.schema"
SCHEMA_FILE: Final = "export.value.schema.file"


def build_format(checked: Checked) -> FormatSettings:
    """Converters, formats and their options; what is not read stays at its default."""
    keys, headers = checked.flag("store.kafka.keys"), checked.flag("store.kafka.headers")
    defaults = ConverterSettings(Converter.STRING)
    return FormatSettings(
        value=_converter(checked, "value"),
        file=_file(checked, "format.class"),
        null_values=NullValues(checked.text("behavior.on.null.values")),
        tombstone_path=_text(checked, "tombstone.encoded.partition"),
        report_null_values=checked.in_effect("report.null.values.to.dlq") is True,
        compatibility=Compatibility(_text(checked, "schema.compatibility")),
        key=_converter(checked, "key") if checked.reads("key.converter") else defaults,
        keys=_file(checked, "keys.format.class") if keys else None,
        header=HeaderConverter(_text(checked, "header.converter")),
        headers=_file(checked, "headers.format.class") if headers else None,
        envelope=Envelope(
            tuple(EnvelopeField(name) for name in checked.listed("export.envelope")),
            _text(checked, "export.envelope.prefix"),
        ),
    )


def _converter(checked: Checked, side: str) -> ConverterSettings:
    prefix = f"{side}.converter"
    return ConverterSettings(
        Converter(checked.text(prefix)),
        schemas_enable=checked.reads(f"{prefix}.schemas.enable") and checked.flag(f"{prefix}.schemas.enable"),
        replace_null_with_default=checked.in_effect(f"{prefix}.replace.null.with.default") is True,
        schema_text=checked.optional(SCHEMA) if side == "value" and checked.reads(SCHEMA) else None,
        registry=build_registry(checked, side),
        subject_names=SubjectNames(_text(checked, f"{prefix}.{side}.subject.name.strategy")),
    )


def _text(checked: Checked, name: str) -> str:
    return render(checked.in_effect(name))


def _number(checked: Checked, name: str) -> int:
    value = checked.in_effect(name)
    assert isinstance(value, int), name
    return value


def _file(checked: Checked, name: str) -> FileSettings:
    path = checked.text(name)
    return FileSettings(
        format=Own(path) if custom.is_path(path) else Format(path),
        compression=_compression(checked),
        byte_array_extension=checked.text("format.bytearray.extension"),
        byte_array_separator=checked.text("format.bytearray.separator").encode(),
        avro_codec=AvroCodec(_text(checked, "avro.codec")),
        parquet_codec=ParquetCodec(_text(checked, "parquet.codec")),
        parquet_row_group_bytes=_number(checked, "export.parquet.row.group.bytes"),
        json_decimals=DecimalFormat(_text(checked, "json.decimal.format")),
        json_array=checked.in_effect("export.json.array") is True,
        block_bytes=_number(checked, "compressed_block_size"),
    )


def _compression(checked: Checked) -> Compression:
    if checked.text("s3.compression.type") == "none":
        return NoCompression()
    level = checked.number("s3.compression.level")
    return Gzip(None if level == -1 else level)
