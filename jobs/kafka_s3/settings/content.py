"""What goes into objects: converters, formats and their options, as a connector's configuration says."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_s3.schemas.model import Compatibility


class Converter(enum.Enum):
    """What Connect would turn a record's bytes into before the sink sees them."""

    BYTE_ARRAY = "org.apache.kafka.connect.converters.ByteArrayConverter"
    STRING = "org.apache.kafka.connect.storage.StringConverter"
    JSON = "org.apache.kafka.connect.json.JsonConverter"
    AVRO = "io.confluent.connect.avro.AvroConverter"
    BOOLEAN = "org.apache.kafka.connect.converters.BooleanConverter"
    SHORT = "org.apache.kafka.connect.converters.ShortConverter"
    INTEGER = "org.apache.kafka.connect.converters.IntegerConverter"
    LONG = "org.apache.kafka.connect.converters.LongConverter"
    FLOAT = "org.apache.kafka.connect.converters.FloatConverter"
    DOUBLE = "org.apache.kafka.connect.converters.DoubleConverter"


class SubjectNames(enum.Enum):
    """Which of the registry's subjects says the version of a schema."""

    TOPIC = "io.confluent.kafka.serializers.subject.TopicNameStrategy"
    RECORD = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
    TOPIC_RECORD = "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """How to reach a schema registry: confluent-kafka's own properties, `url` among them, secrets too."""

    client: Mapping[str, str] = field(default_factory=dict, repr=False)
    retry_timeout_ms: int = 60_000


@dataclass(frozen=True, slots=True)
class ConverterSettings:
    """A converter of values or keys, with its own properties.

    `schemas_enable`: JsonConverter expects its envelope of schema and payload.
    `schema_text`: an Avro schema as JSON text, that JSON without an envelope is read by (`export.value.schema.file`).
    `replace_null_with_default`: JsonConverter gives a null its field's default.
    """

    converter: Converter
    schemas_enable: bool = False
    replace_null_with_default: bool = True
    schema_text: str | None = None
    registry: RegistrySettings | None = None
    subject_names: SubjectNames = SubjectNames.TOPIC


class HeaderConverter(enum.Enum):
    """What a header's bytes are: text, or bytes (written in base64)."""

    SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
    STRING = "org.apache.kafka.connect.storage.StringConverter"
    BYTE_ARRAY = "org.apache.kafka.connect.converters.ByteArrayConverter"


class Format(enum.Enum):
    """What an object holds."""

    JSON = "io.confluent.connect.s3.format.json.JsonFormat"
    BYTE_ARRAY = "io.confluent.connect.s3.format.bytearray.ByteArrayFormat"
    AVRO = "io.confluent.connect.s3.format.avro.AvroFormat"
    PARQUET = "io.confluent.connect.s3.format.parquet.ParquetFormat"
    BLOCK_GZIP = "kafka_s3.formats.BlockGzipFormat"


class AvroCodec(enum.Enum):
    """`avro.codec`; zstandard is beyond the sink."""

    NULL = "null"
    DEFLATE = "deflate"
    SNAPPY = "snappy"
    BZIP2 = "bzip2"
    ZSTANDARD = "zstandard"


class ParquetCodec(enum.Enum):
    """`parquet.codec`, those that pyarrow writes."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4_RAW = "lz4_raw"
    BROTLI = "brotli"
    ZSTD = "zstd"


class DecimalFormat(enum.Enum):
    """`json.decimal.format`."""

    BASE64 = "BASE64"
    NUMERIC = "NUMERIC"


class EnvelopeField(enum.Enum):
    """`export.envelope`: what of the record itself is written into it."""

    TOPIC = "topic"
    PARTITION = "partition"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    KEY = "key"
    HEADERS = "headers"


class NullValues(enum.Enum):
    """`behavior.on.null.values`: what a tombstone does."""

    FAIL = "fail"
    IGNORE = "ignore"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class NoCompression:
    """`s3.compression.type=none`."""


@dataclass(frozen=True, slots=True)
class Gzip:
    """`s3.compression.type=gzip`; `level=None` is the default level (ISA-L), 0 to 9 is zlib at that level."""

    level: int | None = None


Compression = NoCompression | Gzip


@dataclass(frozen=True, slots=True)
class Own:
    """A class of the user's own, as `module:Class`."""

    path: str


@dataclass(frozen=True, slots=True)
class Envelope:
    """What of the record itself is written into it, as fields `<prefix><name>` behind its own (`export.envelope`)."""

    fields: tuple[EnvelopeField, ...] = ()
    prefix: str = "_kafka_"


@dataclass(frozen=True, slots=True)
class FileSettings:
    """What an object of one format looks like; the options of other formats mean nothing.

    `parquet_row_group_bytes`: bytes of Arrow columns in a row group (`export.parquet.row.group.bytes`).
    `block_bytes`: uncompressed bytes in a member of Block-GZIP (`compressed_block_size`).
    """

    format: Format | Own
    compression: Compression = NoCompression()
    byte_array_extension: str = ".bin"
    byte_array_separator: bytes = b"\n"
    avro_codec: AvroCodec = AvroCodec.NULL
    parquet_codec: ParquetCodec = ParquetCodec.SNAPPY
    parquet_row_group_bytes: int = 134_217_728
    json_decimals: DecimalFormat = DecimalFormat.BASE64
    json_array: bool = False  # export.json.array: one JSON array per object
    block_bytes: int = 67_108_864


@dataclass(frozen=True, slots=True)
class FormatSettings:
    """What shapes the bytes of an object.

    `keys`, `headers`: the files beside the values, where they are stored (`store.kafka.keys`, `store.kafka.headers`).
    """

    value: ConverterSettings
    file: FileSettings
    null_values: NullValues = NullValues.FAIL
    tombstone_path: str = "tombstone"
    report_null_values: bool = True
    compatibility: Compatibility = Compatibility.NONE
    key: ConverterSettings = ConverterSettings(Converter.STRING)
    keys: FileSettings | None = None
    header: HeaderConverter = HeaderConverter.SIMPLE
    headers: FileSettings | None = None
    envelope: Envelope = Envelope()
