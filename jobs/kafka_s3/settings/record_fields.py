"""Objects of whole records: which of a record's fields are written, nested or as a line of CSV."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from kafka_s3.settings import formats
from kafka_s3.settings.converters import SIMPLE_HEADERS, Converter
from kafka_s3.settings.properties import AppliesWhen, Kind, Property, choices
from kafka_s3.settings.validation import ParsedConfig

FIELDS: Final = "export.record.fields"
WRAPPED: Final = "export.record.wrapped"
ENCODING: Final = "export.csv.value.encoding"


class RecordField(enum.Enum):
    """`export.record.fields`: what of a record is written."""

    KEY = "key"
    VALUE = "value"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    HEADERS = "headers"
    TOPIC = "topic"
    PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class RecordFields:
    """The fields of a record that are written, in this order, the value among them as one.

    `wrapped`: within an object; a single field may stand alone instead. `value_base64`: of CSV.
    """

    fields: tuple[RecordField, ...]
    wrapped: bool = True
    value_base64: bool = True


_NAMES: Final = tuple(each.value for each in RecordField)
_CSV: Final = AppliesWhen("format.class", (formats.CSV,))
_SET: Final = AppliesWhen(FIELDS, None)


def _record_field(text: str) -> str | None:
    return None if text in _NAMES else f"may only contain {', '.join(_NAMES)}"


PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        FIELDS,
        Kind.LIST,
        (),
        f"Write these fields of each record, in this order, instead of its value alone: {', '.join(_NAMES)}. JSON, Avro"
        " and Parquet have them in an object, CSV in a line.",
        check=_record_field,
        shapes=True,
        quiet=True,
    ),
    Property(
        WRAPPED,
        Kind.BOOLEAN,
        True,
        f"false: the only field of {FIELDS} stands alone, not in an object.",
        shapes=True,
        quiet=True,
        applies_when=_SET,
    ),
    Property(
        ENCODING,
        Kind.STRING,
        "base64",
        "Encoding of values in CSV: base64, or none for the bytes as they are.",
        choices=choices("base64", "none"),
        ignore_case=True,
        shapes=True,
        quiet=True,
        applies_when=_CSV,
    ),
)

_HEADER_CONVERTERS: Final = (SIMPLE_HEADERS, Converter.STRING.value, Converter.BYTE_ARRAY.value)
_BYTES: Final = (Converter.BYTE_ARRAY.value, Converter.STRING.value)


def fill_in_fields(config: ParsedConfig) -> None:
    """A line of CSV is the value alone unless its fields are set."""
    if config.recognised["format.class"] == formats.CSV and config.sure(FIELDS) and not config.listed(FIELDS):
        config.settle(FIELDS, (RecordField.VALUE.value,))


def writes_fields(config: ParsedConfig) -> bool:
    """Whether objects are made of records' fields, so that a null value is one of them."""
    return config.sure(FIELDS) and bool(config.listed(FIELDS))


def apply_record_field_rules(config: ParsedConfig) -> None:
    """What fields need of the format, of converters, and of whoever reads the value."""
    if not writes_fields(config) or not config.sure("format.class", "value.converter"):
        return
    fields, written = config.listed(FIELDS), config.text("format.class")
    if len(set(fields)) < len(fields):
        config.add_problem(FIELDS, "contains a field twice")
    if config.is_set("export.envelope"):
        config.add_problem(FIELDS, "cannot be combined with export.envelope: set one of them")
    if written in (formats.AVRO, formats.PARQUET):
        _with_schema(config, fields)
    elif written not in (formats.JSON, formats.CSV):
        short = written.rpartition(".")[2]
        config.add_problem(FIELDS, f"{short} cannot hold them: set format.class={formats.JSON} or {formats.CSV}")
    if config.sure(WRAPPED) and not config.flag(WRAPPED) and len(fields) != 1:
        config.add_problem(WRAPPED, f"only one field can stand alone, and {FIELDS} has {len(fields)}")
    if written == formats.CSV:
        _csv(config, fields)
    if "headers" in fields and config.sure("header.converter"):
        converter = config.text("header.converter")
        if converter not in _HEADER_CONVERTERS:
            known = ", ".join(name.rpartition(".")[2] for name in _HEADER_CONVERTERS)
            config.add_problem("header.converter", f"{FIELDS} writes headers of {known}")
    if config.recognised["timestamp.extractor"] == "RecordField" and config.reads("timestamp.extractor"):
        config.add_problem("timestamp.extractor", f"RecordField is not read with {FIELDS}: use Record or Wallclock")


def _with_schema(config: ParsedConfig, fields: tuple[str, ...]) -> None:
    """A record of Avro has the value among its fields; a key is text or bytes, and a null value has no schema."""
    if "value" not in fields:
        config.add_problem(FIELDS, "Avro and Parquet need value among them")
    if config.sure(WRAPPED) and not config.flag(WRAPPED):
        config.add_problem(WRAPPED, f"a value stands alone in Avro and Parquet where {FIELDS} is not set: remove both")
    name = "key.converter"
    if "key" in fields and config.sure(name) and config.text(name) not in _BYTES:
        config.add_problem(name, f"in Avro and Parquet, keys of {FIELDS} are text or bytes: set {_BYTES[1]}")
    if config.recognised["behavior.on.null.values"] == "write":
        config.add_problem("behavior.on.null.values", "a null has no schema: set ignore or fail, or write JSON")
    if "key" in fields and config.recognised["transforms"]:
        config.add_problem(FIELDS, "in Avro and Parquet, a key is Kafka's, and transforms may change it: leave it out")


def _csv(config: ParsedConfig, fields: tuple[str, ...]) -> None:
    """CSV holds bytes, so nothing but bytes comes into it."""
    sides = [side for side in ("key", "value") if side in fields]
    for name in (f"{side}.converter" for side in sides):
        if config.sure(name) and config.text(name) not in _BYTES:
            config.add_problem(
                name, f"CsvFormat writes bytes as they came: set {Converter.BYTE_ARRAY.value}, or {formats.JSON}"
            )
    if config.recognised["transforms"]:
        config.add_problem("transforms", f"CsvFormat writes bytes as they came: set format.class={formats.JSON}")


def build_record_fields(config: ParsedConfig) -> RecordFields | None:
    fields = tuple(RecordField(name) for name in config.listed(FIELDS))
    if not fields:
        return None
    return RecordFields(fields, config.in_effect(WRAPPED) is True, config.text_in_effect(ENCODING) == "base64")
