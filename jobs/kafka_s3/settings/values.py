"""What of a record is written: values, keys, headers and tombstones, and what fits together."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from kafka_s3 import user_defined
from kafka_s3.avro.model import Compatibility
from kafka_s3.naming import leads_out
from kafka_s3.settings import formats, paths, validators
from kafka_s3.settings.converters import (
    WITH_REGISTRY,
    Converter,
    ConverterSettings,
    Envelope,
    build_converter,
    build_envelope,
    build_header_converter,
    is_plain_json,
)
from kafka_s3.settings.formats import FileSettings, build_file
from kafka_s3.settings.inference import INFERRED
from kafka_s3.settings.path_template import ValueField
from kafka_s3.settings.properties import AppliesWhen, Choice, Ignored, Kind, Property, choices
from kafka_s3.settings.record_fields import (
    RecordFields,
    apply_record_field_rules,
    build_record_fields,
    fill_in_fields,
    writes_fields,
)
from kafka_s3.settings.template_rules import TEMPLATE, template_parts
from kafka_s3.settings.validation import ParsedConfig


class NullValues(enum.Enum):
    """`behavior.on.null.values`: what a tombstone does."""

    FAIL = "fail"
    IGNORE = "ignore"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class FormatSettings:
    """What shapes the bytes of an object.

    `keys`, `headers`: the files beside the values, where they are stored (`store.kafka.keys`, `store.kafka.headers`).
    `header`: the converter of headers; `None`: SimpleHeaderConverter.
    """

    value: ConverterSettings
    file: FileSettings
    null_values: NullValues = NullValues.FAIL
    tombstone_path: str = "tombstone"
    report_null_values: bool = True
    compatibility: Compatibility = Compatibility.NONE
    key: ConverterSettings = ConverterSettings(Converter.STRING)
    keys: FileSettings | None = None
    header: ConverterSettings | None = None
    headers: FileSettings | None = None
    envelope: Envelope = Envelope()
    record_fields: RecordFields | None = None


_AS_WRITTEN = Ignored("schemas are kept as their producers wrote them")
_OF_SCHEMAS = AppliesWhen(
    "value.converter",
    tuple(each.value for each in WITH_REGISTRY),
    either=AppliesWhen("value.converter.schemas.enable", (True,), either=INFERRED),
)
_REPORTED = AppliesWhen(
    "behavior.on.null.values",
    ("ignore",),
    both=AppliesWhen("errors.tolerance", ("all",)),
)
_TRANSITIVE: Final = (
    "compares a schema with all before it, and here as in the sink only the schemas of one object meet: set {}"
)
COMPATIBILITIES: Final = (
    *(Choice(name) for name in ("NONE", "BACKWARD", "FORWARD", "FULL")),
    *(
        Choice(f"{name}_TRANSITIVE", refused=f"{name}_TRANSITIVE {_TRANSITIVE.format(name)}")
        for name in ("BACKWARD", "FORWARD", "FULL")
    ),
)

PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        "behavior.on.null.values",
        Kind.STRING,
        "fail",
        "What to do with a tombstone, a record whose value is null.",
        choices=choices("ignore", "fail", "write"),
        ignore_case=True,
        shapes=True,
    ),
    Property(
        "report.null.values.to.dlq",
        Kind.BOOLEAN,
        True,
        "Report ignored tombstones as dead letters.",
        shapes=True,
        applies_when=_REPORTED,
    ),
    Property(
        "tombstone.encoded.partition",
        Kind.STRING,
        "tombstone",
        "Path under which the keys of tombstones are written.",
        check=validators.path_parts,
        shapes=True,
        applies_when=AppliesWhen("behavior.on.null.values", ("write",)),
    ),
    Property("store.kafka.keys", Kind.BOOLEAN, False, "Write keys, too, in objects beside the values.", shapes=True),
    Property(
        "keys.format.class",
        Kind.CLASS,
        formats.AVRO,
        "Format of key objects.",
        choices=formats.KEYS_FORMATS,
        shapes=True,
        applies_when=AppliesWhen("store.kafka.keys", (True,)),
    ),
    Property(
        "store.kafka.headers", Kind.BOOLEAN, False, "Write headers, too, in objects beside the values.", shapes=True
    ),
    Property(
        "headers.format.class",
        Kind.CLASS,
        formats.AVRO,
        "Format of header objects.",
        choices=formats.HEADERS_FORMATS,
        shapes=True,
        applies_when=AppliesWhen("store.kafka.headers", (True,)),
    ),
    Property(
        "schema.compatibility",
        Kind.STRING,
        "NONE",
        "Compatibility under which records of different schemas share an object.",
        choices=COMPATIBILITIES,
        shapes=True,
        applies_when=_OF_SCHEMAS,
    ),
    Property(
        "schemas.cache.config", Kind.INT, 1000, "Number of schemas to cache.", Ignored("schemas are few and small")
    ),
    Property("enhanced.avro.schema.support", Kind.BOOLEAN, True, "Preserve Avro packages and enums.", _AS_WRITTEN),
    Property("connect.meta.data", Kind.BOOLEAN, True, "Write Connect's metadata into Avro schemas.", _AS_WRITTEN),
    Property("allow.optional.map.keys", Kind.BOOLEAN, False, "Allow optional map keys in Avro.", _AS_WRITTEN),
)

_TEXTS: Final = (Converter.STRING.value, Converter.BYTE_ARRAY.value)
_BYTES: Final = f"set value.converter={Converter.BYTE_ARRAY.value}"
_TO_JSON: Final = f"set format.class={formats.JSON}"


def fill_in_converters(config: ParsedConfig) -> None:
    """What converters are where they are unset: that hangs on the formats, and much hangs on it."""
    fill_in_fields(config)
    if config.sure("value.converter") and config.optional("value.converter") is None:
        as_bytes = config.recognised["format.class"] in (
            formats.Format.BYTE_ARRAY.value,
            formats.Format.BLOCK_GZIP.value,
            formats.CSV,
        )
        config.settle("value.converter", (Converter.BYTE_ARRAY if as_bytes else Converter.JSON).value)
        if not config.is_set("value.converter.schemas.enable"):
            config.settle("value.converter.schemas.enable", False)
    if config.sure("key.converter") and config.optional("key.converter") is None:
        stored = config.recognised["store.kafka.keys"] is True
        as_bytes = stored and config.recognised["keys.format.class"] == formats.Format.BYTE_ARRAY.value
        config.settle("key.converter", (Converter.BYTE_ARRAY if as_bytes else Converter.STRING).value)


def apply_value_rules(config: ParsedConfig) -> None:
    """Add every problem of what goes into objects, in the sink's words where it has them."""
    _values(config)
    _keys(config)
    _null_values(config)
    _envelope(config)
    _fields(config)
    apply_record_field_rules(config)


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _values(config: ParsedConfig) -> None:
    """Which values which format can hold."""
    if not config.sure("format.class", "value.converter", "value.converter.schemas.enable"):
        return
    converter, written = config.text("value.converter"), config.text("format.class")
    if written == formats.CSV:  # its rules are those of fields
        return
    lines = converter in _TEXTS or is_plain_json(config, "value")
    has_schema = config.is_set("export.value.schema.file") or config.is_set("export.value.schema")
    changed = bool(config.recognised["transforms"])  # then a value need not be of the kind that its converter makes
    if written == formats.BYTE_ARRAY and not changed and converter != Converter.BYTE_ARRAY.value:
        config.add_problem("value.converter", f"with ByteArrayFormat every record would fail: {_BYTES}")
    elif written == formats.BLOCK_GZIP and not lines:
        config.add_problem(
            "value.converter", f"BlockGzipFormat holds lines, not values with a schema: {_BYTES}{_or(config)}"
        )
    elif user_defined.is_path(written) and not lines:
        config.add_problem(
            "value.converter", f"a format of your own gets bytes, not values with a schema: {_BYTES}{_or(config)}"
        )
    elif written == formats.PARQUET and is_plain_json(config, "value") and not has_schema:
        config.add_problem(
            "value.converter",
            "a Parquet file needs a schema, and JSON without an envelope has none: name one in"
            " export.value.schema.file, or set export.value.schema=infer, or"
            f" value.converter={Converter.AVRO.value}, or {_TO_JSON}",
        )
    elif written == formats.PARQUET and not changed and not _are_records(converter):
        config.add_problem(
            "value.converter",
            f"Parquet files contain records, and values of {_short(converter)} are not records: {_TO_JSON} or"
            f" {formats.AVRO}, or another converter",
        )


def _or(config: ParsedConfig) -> str:
    """The other way out for JsonConverter, whose default is an envelope."""
    is_json = config.text("value.converter") == Converter.JSON.value
    return " or value.converter.schemas.enable=false" if is_json else ""


def _are_records(converter: str) -> bool:
    return converter in (Converter.JSON.value, *(each.value for each in WITH_REGISTRY))


def _keys(config: ParsedConfig) -> None:
    names = ("store.kafka.keys", "keys.format.class", "key.converter", "key.converter.schemas.enable")
    if not config.sure(*names) or not config.flag("store.kafka.keys"):
        return
    converter, written = config.text("key.converter"), config.text("keys.format.class")
    if written == formats.BYTE_ARRAY and converter != Converter.BYTE_ARRAY.value:
        way_out = f"set key.converter={Converter.BYTE_ARRAY.value}"
        config.add_problem("key.converter", f"with keys in ByteArrayFormat every record would fail: {way_out}")
    elif written == formats.PARQUET and is_plain_json(config, "key"):
        config.add_problem(
            "key.converter",
            "a Parquet file needs a schema, and JSON without an envelope has none: set"
            f" keys.format.class={formats.JSON} or another converter",
        )


def _null_values(config: ParsedConfig) -> None:
    if config.recognised["behavior.on.null.values"] != "write":
        return
    if writes_fields(config):  # a null among the fields
        return
    if config.sure("store.kafka.keys") and not config.flag("store.kafka.keys"):
        config.add_problem("behavior.on.null.values", "write requires store.kafka.keys=true")
    path = "tombstone.encoded.partition"
    if config.sure(path, "directory.delim") and leads_out(config.text(path), config.text("directory.delim")):
        config.add_problem(path, "no part of a path may be '.' or '..': keys would leave their folder")


def _envelope(config: ParsedConfig) -> None:
    """The record's own metadata become fields of its value, which has to be a record for that."""
    name = "export.envelope"
    if not config.sure(name, "format.class", "value.converter") or not config.listed(name):
        return
    fields = config.listed(name)
    if len(set(fields)) < len(fields):
        config.add_problem(name, "contains a field twice")
    written, converter = config.text("format.class"), config.text("value.converter")
    if written in (formats.BYTE_ARRAY, formats.BLOCK_GZIP, formats.CSV) or user_defined.is_path(written):
        what = _short(written) if not user_defined.is_path(written) else "a format of your own"
        config.add_problem(name, f"{what} writes values as they are and cannot add fields: for example {_TO_JSON}")
    elif not _are_records(converter):
        config.add_problem(
            name, f"fields can only be added to records, and values of {_short(converter)} are not records"
        )


def _fields(config: ParsedConfig) -> None:
    """Fields are read out of records: other values have none."""
    by_field = config.recognised["partitioner.class"] == paths.FIELD_PARTITIONER
    by_time = paths.is_time_based(config)
    if by_field:
        name = "partitioner.class"
    elif any(isinstance(part, ValueField) for part in template_parts(config)):
        name = TEMPLATE
    elif by_time and config.recognised["timestamp.extractor"] == "RecordField":
        name = "timestamp.extractor"
    else:
        return
    if not config.sure("value.converter", "format.class") or config.recognised["transforms"]:
        return
    if writes_fields(config):
        config.add_problem(name, "fields of the value cannot make paths with export.record.fields, which nests them")
        return
    converter = config.text("value.converter")
    if not _are_records(converter) or config.text("format.class") == formats.BYTE_ARRAY:
        config.add_problem(name, f"requires values with fields, and values of {_short(converter)} have none")


def build_format(config: ParsedConfig) -> FormatSettings:
    """Converters, formats and their options; what is not read stays at its default."""
    keys, headers = config.flag("store.kafka.keys"), config.flag("store.kafka.headers")
    defaults = ConverterSettings(Converter.STRING)
    return FormatSettings(
        value=build_converter(config, "value"),
        file=build_file(config, "format.class"),
        null_values=NullValues(config.text("behavior.on.null.values")),
        tombstone_path=config.text_in_effect("tombstone.encoded.partition"),
        report_null_values=config.in_effect("report.null.values.to.dlq") is True,
        compatibility=Compatibility(config.text_in_effect("schema.compatibility")),
        key=build_converter(config, "key") if config.reads("key.converter") else defaults,
        keys=build_file(config, "keys.format.class") if keys else None,
        header=build_header_converter(config),
        headers=build_file(config, "headers.format.class") if headers else None,
        envelope=build_envelope(config),
        record_fields=build_record_fields(config),
    )
