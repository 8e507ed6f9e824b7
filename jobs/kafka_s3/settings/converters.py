"""What a record's bytes are: converters of values, keys and headers, and the record's own metadata."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kafka_s3.avro.parse import SchemaError, parse_avro
from kafka_s3.errors import ConfigurationError
from kafka_s3.json_schema.options import Options as JsonSchemaOptions
from kafka_s3.protobuf.options import Options
from kafka_s3.settings import glue, inference, registry, validators
from kafka_s3.settings.files import ANYWHERE, read_limited
from kafka_s3.settings.glue import GlueSettings, build_glue
from kafka_s3.settings.inference import SCHEMA, InferenceSettings, build_inference, infers
from kafka_s3.settings.properties import AppliesWhen, Choice, Ignored, Kind, Property, PropertyPrefix
from kafka_s3.settings.reach import Reach
from kafka_s3.settings.registry import OPTIONS, SIDES, RegistrySettings, SubjectNames, build_options, build_registry
from kafka_s3.settings.validation import ParsedConfig
from kafka_s3.shown import plain


class Converter(enum.Enum):
    """What Connect would turn a record's bytes into before the sink sees them."""

    BYTE_ARRAY = "org.apache.kafka.connect.converters.ByteArrayConverter"
    STRING = "org.apache.kafka.connect.storage.StringConverter"
    JSON = "org.apache.kafka.connect.json.JsonConverter"
    AVRO = "io.confluent.connect.avro.AvroConverter"
    PROTOBUF = "io.confluent.connect.protobuf.ProtobufConverter"
    JSON_SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"
    GLUE_AVRO = "com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter"
    GLUE_PROTOBUF = "com.amazonaws.services.schemaregistry.kafkaconnect.protobuf.ProtobufSchemaConverter"
    GLUE_JSON_SCHEMA = "com.amazonaws.services.schemaregistry.kafkaconnect.jsonschema.JsonSchemaConverter"
    BOOLEAN = "org.apache.kafka.connect.converters.BooleanConverter"
    SHORT = "org.apache.kafka.connect.converters.ShortConverter"
    INTEGER = "org.apache.kafka.connect.converters.IntegerConverter"
    LONG = "org.apache.kafka.connect.converters.LongConverter"
    FLOAT = "org.apache.kafka.connect.converters.FloatConverter"
    DOUBLE = "org.apache.kafka.connect.converters.DoubleConverter"


@dataclass(frozen=True, slots=True)
class ConverterSettings:
    """A converter of values or keys, with its own properties.

    `schemas_enable`: JsonConverter expects its envelope of schema and payload.
    `schema_text`: an Avro schema as JSON text, that JSON without an envelope is read by (`export.value.schema.file`).
    `inference`: that schema is inferred, and pinned by each plan (`Settings.reading_by`).
    `replace_null_with_default`: JsonConverter gives a null its field's default.
    """

    converter: Converter
    schemas_enable: bool = False
    replace_null_with_default: bool = True
    schema_text: str | None = None
    inference: InferenceSettings | None = None
    registry: RegistrySettings | GlueSettings | None = None
    subject_names: SubjectNames = SubjectNames.TOPIC
    protobuf: Options = Options()
    json_schema: JsonSchemaOptions = JsonSchemaOptions()

    @property
    def has_schema(self) -> bool:
        """JSON without an envelope is read by a schema all the same."""
        return self.schema_text is not None or self.inference is not None


class EnvelopeField(enum.Enum):
    """`export.envelope`: what of the record itself is written into it."""

    TOPIC = "topic"
    PARTITION = "partition"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    KEY = "key"
    HEADERS = "headers"


@dataclass(frozen=True, slots=True)
class Envelope:
    """What of the record itself is written into it, as fields `<prefix><name>` behind its own (`export.envelope`)."""

    fields: tuple[EnvelopeField, ...] = ()
    prefix: str = "_kafka_"


#: Those whose values have the schemas of a registry.
WITH_REGISTRY: Final = (
    *(Converter.AVRO, Converter.PROTOBUF, Converter.JSON_SCHEMA),
    *(Converter.GLUE_AVRO, Converter.GLUE_PROTOBUF, Converter.GLUE_JSON_SCHEMA),
)
SCHEMA_FILE: Final = "export.value.schema.file"
_NESTING_MAX: Final = 200
JSON: Final = Converter.JSON.value
#: JsonSchemaConverter alone is Confluent's, the first of that name.
_CONVERTERS: Final = tuple(Choice(converter.value) for converter in Converter)
#: Connect's default converter of headers, which is one of nothing else.
SIMPLE_HEADERS: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_NO_HEADERS: Final = f"Connect does not take it for headers either: set {SIMPLE_HEADERS} or {Converter.STRING.value}"
_HEADER_CONVERTERS: Final = (
    Choice(SIMPLE_HEADERS),
    *(Choice(each.value) for each in Converter if each not in WITH_REGISTRY),
    *(Choice(name, refused=_NO_HEADERS) for name in (each.value for each in WITH_REGISTRY)),
)
KEYS: Final = AppliesWhen(
    "store.kafka.keys",
    (True,),
    "store.kafka.keys=true, export.envelope contains key or transforms is set",
    either=AppliesWhen(
        "export.envelope",
        (EnvelopeField.KEY.value,),
        either=AppliesWhen("transforms", None, either=AppliesWhen("export.record.fields", (EnvelopeField.KEY.value,))),
    ),
)
_HEADERS: Final = AppliesWhen(
    "store.kafka.headers",
    (True,),
    "store.kafka.headers=true, export.envelope contains headers or transforms is set",
    either=AppliesWhen(
        "export.envelope",
        (EnvelopeField.HEADERS.value,),
        either=AppliesWhen(
            "transforms", None, either=AppliesWhen("export.record.fields", (EnvelopeField.HEADERS.value,))
        ),
    ),
)
_FEW = Ignored("schemas are few and small")
_PLAIN_JSON = AppliesWhen(
    "value.converter.schemas.enable",
    (False,),
    both=AppliesWhen("value.converter", (JSON,)),
)


def _converter(side: str) -> Property:
    name = f"{side}.converter"
    if side == "value":
        doc = "Converter of values; unless set, the one that suits the format: bytes, or JSON without a schema."
        return Property(name, Kind.CLASS, None, doc, choices=_CONVERTERS, shapes=True)
    doc = (
        "Converter of keys; unless set, StringConverter, or ByteArrayConverter with keys.format.class=ByteArrayFormat."
    )
    return Property(name, Kind.CLASS, None, doc, choices=_CONVERTERS, shapes=True, applies_when=KEYS, lenient=True)


def _json_options(side: str) -> tuple[Property, ...]:
    prefix = f"{side}.converter."
    envelope = AppliesWhen(f"{prefix}schemas.enable", (True,))
    if side == "value":
        with_file = AppliesWhen("export.value.schema.file", None, either=AppliesWhen("export.value.schema", None))
        envelope = AppliesWhen(envelope.name, envelope.values, either=with_file)
    return (
        Property(
            f"{prefix}schemas.enable",
            Kind.BOOLEAN,
            True,
            "Whether JsonConverter expects an envelope with a schema; false if value.converter is unset."
            if side == "value"
            else "Whether JsonConverter expects an envelope with a schema.",
            shapes=True,
            applies_when=AppliesWhen(f"{side}.converter", (JSON,)),
            lenient=True,
        ),
        Property(
            f"{prefix}replace.null.with.default",
            Kind.BOOLEAN,
            True,
            "Replace null by the default of its field.",
            shapes=True,
            applies_when=envelope,
            lenient=True,
        ),
    )


def _json_rows(side: str) -> tuple[Property, ...]:
    prefix = f"{side}.converter."
    string = AppliesWhen(f"{side}.converter", (Converter.STRING.value,))
    return (
        *_json_options(side),
        Property(
            f"{prefix}encoding",
            Kind.STRING,
            "UTF-8",
            "Character encoding of StringConverter.",
            choices=(Choice("UTF-8", ("UTF8",)),),
            ignore_case=True,
            applies_when=string,
            lenient=True,
        ),
        Property(f"{prefix}schemas.cache.size", Kind.INT, 1000, "Number of schemas to cache.", _FEW, lenient=True),
        Property(
            f"{prefix}decimal.format",
            Kind.STRING,
            "BASE64",
            "How decimals are encoded in JSON.",
            Ignored("both encodings are read; json.decimal.format says which one is written"),
            lenient=True,
        ),
    )


def envelope_field(text: str) -> str | None:
    known = [each.value for each in EnvelopeField]
    return None if text in known else f"may only contain {', '.join(known)}"


PROPERTIES: Final[tuple[Property, ...]] = (
    *(
        row
        for side in SIDES
        for row in (_converter(side), *_json_rows(side), *registry.properties(side), *glue.properties(side))
    ),
    Property(
        "header.converter",
        Kind.CLASS,
        SIMPLE_HEADERS,
        "Converter of headers. Their values are written as text; SimpleHeaderConverter writes 1.50 as 1.5.",
        choices=_HEADER_CONVERTERS,
        shapes=True,
        applies_when=_HEADERS,
        lenient=True,
    ),
    *_json_options("header"),
    Property(
        "export.value.schema.file",
        Kind.STRING,
        "",
        "File with the Avro schema for JSON without an envelope, relative to the connector file.",
        check=validators.file_name,
        applies_when=_PLAIN_JSON,
    ),
    Property(
        "export.value.schema",
        Kind.STRING,
        "",
        "The same schema inline, as JSON text; plans show it in place of the file. infer: there is none, and each plan"
        " infers it from a sample.",
        shapes=True,
        applies_when=_PLAIN_JSON,
    ),
    *inference.PROPERTIES,
    Property(
        "export.envelope",
        Kind.LIST,
        (),
        f"Metadata of the record to add to it as fields: {', '.join(each.value for each in EnvelopeField)}.",
        check=envelope_field,
        shapes=True,
    ),
    Property(
        "export.envelope.prefix",
        Kind.STRING,
        "_kafka_",
        "Prefix of the names of those fields.",
        check=validators.envelope_prefix,
        shapes=True,
        applies_when=AppliesWhen("export.envelope", None),
    ),
)

PREFIXES: Final[tuple[PropertyPrefix, ...]] = (
    *(PropertyPrefix(prefix, Ignored("no supported converter uses it")) for prefix in OPTIONS),
    PropertyPrefix("header.converter.", Ignored("no supported converter of headers uses it")),
)


def is_plain_json(config: ParsedConfig, side: str) -> bool:
    """JSON without an envelope."""
    is_json = config.text(f"{side}.converter") == Converter.JSON.value
    return is_json and not config.flag(f"{side}.converter.schemas.enable")


def apply_converter_rules(config: ParsedConfig) -> None:
    if not config.reads("export.value.schema.file"):
        return
    if config.is_set("export.value.schema.file") and config.is_set("export.value.schema"):
        config.add_problem("export.value.schema.file", "cannot be combined with export.value.schema: set one of them")


def build_converter(config: ParsedConfig, side: str) -> ConverterSettings:
    prefix = f"{side}.converter"
    inferred = build_inference(config) if side == "value" else None
    has_schema = side == "value" and inferred is None and config.reads(SCHEMA)
    return ConverterSettings(
        Converter(config.text(prefix)),
        schemas_enable=config.reads(f"{prefix}.schemas.enable") and config.flag(f"{prefix}.schemas.enable"),
        replace_null_with_default=config.in_effect(f"{prefix}.replace.null.with.default") is True,
        schema_text=config.optional(SCHEMA) if has_schema else None,
        inference=inferred,
        registry=build_registry(config, side) or build_glue(config, side),
        subject_names=SubjectNames(config.text_in_effect(f"{prefix}.{side}.subject.name.strategy")),
        protobuf=build_options(Options, config, side),
        json_schema=build_options(JsonSchemaOptions, config, side),
    )


def build_header_converter(config: ParsedConfig) -> ConverterSettings | None:
    """`None`: SimpleHeaderConverter."""
    name = config.text_in_effect("header.converter")
    if name == SIMPLE_HEADERS:
        return None
    prefix = "header.converter"
    return ConverterSettings(
        Converter(name),
        schemas_enable=config.reads(f"{prefix}.schemas.enable") and config.flag(f"{prefix}.schemas.enable"),
        replace_null_with_default=config.in_effect(f"{prefix}.replace.null.with.default") is True,
    )


def build_envelope(config: ParsedConfig) -> Envelope:
    fields = tuple(EnvelopeField(name) for name in config.listed("export.envelope"))
    return Envelope(fields, config.text_in_effect("export.envelope.prefix"))


def read_value_schema(config: ParsedConfig, folder: Path, reach: Reach = ANYWHERE) -> None:
    """Put the schema in its compact form in the place of the file's name, relative to `folder`; say what is wrong.

    A process that only looks at connectors reads none: it makes no objects. Files beside the connector are in reach.
    Looked at here: that it is the schema of a record. Whether its defaults are values is found by who reads by it.
    """
    name = SCHEMA if config.is_set(SCHEMA) else SCHEMA_FILE
    if not (config.is_set(name) and config.sure(name) and config.reads(name)):
        return
    if (name == SCHEMA_FILE and reach.only_looks) or infers(config):
        return
    try:
        text = config.text(name)
        if name == SCHEMA_FILE:
            if reach.file_roots is not None:
                reach = replace(reach, file_roots=(*reach.file_roots, str(folder)))
            text = read_limited(folder / text, reach)
        config.settle(SCHEMA, _compact(text))
    except ConfigurationError as error:
        config.add_quoting_problem(name, error.what)


def _compact(text: str) -> str:
    wrong = "is not an Avro schema of a record"
    try:
        schema = json.loads(text)
        if _depth(schema) > _NESTING_MAX:
            raise RecursionError
        compact = json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{wrong}: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except (ValueError, RecursionError):
        raise ConfigurationError(f"{wrong}: it is nested too deeply, or holds a number that is too long.") from None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ConfigurationError(f'{wrong}: it has to be an object with "type": "record".')
    try:
        parse_avro(compact)
    except SchemaError as error:
        raise ConfigurationError(f"{wrong}: {plain(str(error), content=True)}.") from None
    return compact


def _depth(value: object) -> int:
    """How deep lists and objects lie in each other, level by level."""
    level, depth = [value], 0
    while level:
        inner: list[object] = []
        for each in level:
            inner += each.values() if isinstance(each, dict) else each if isinstance(each, list) else []
        level, depth = inner, depth + 1
    return depth
