"""What an object holds: formats, codecs and compression, and under which formats a property is read."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from kafka_s3 import user_defined
from kafka_s3.settings import validators
from kafka_s3.settings.properties import REQUIRED, AppliesWhen, Choice, Kind, Property, UserDefined, choices
from kafka_s3.settings.validation import ParsedConfig


class Format(enum.Enum):
    """What an object holds."""

    JSON = "io.confluent.connect.s3.format.json.JsonFormat"
    BYTE_ARRAY = "io.confluent.connect.s3.format.bytearray.ByteArrayFormat"
    AVRO = "io.confluent.connect.s3.format.avro.AvroFormat"
    PARQUET = "io.confluent.connect.s3.format.parquet.ParquetFormat"
    BLOCK_GZIP = "kafka_s3.formats.BlockGzipFormat"
    CSV = "kafka_s3.formats.CsvFormat"


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


@dataclass(frozen=True, slots=True)
class NoCompression:
    """`s3.compression.type=none`."""


@dataclass(frozen=True, slots=True)
class Gzip:
    """`s3.compression.type=gzip`; `level=None` is the default level (ISA-L), 0 to 9 is zlib at that level."""

    level: int | None = None


@dataclass(frozen=True, slots=True)
class Zstd:
    """`s3.compression.type=zstd`; levels 1 to 22."""

    level: int | None = None


@dataclass(frozen=True, slots=True)
class Snappy:
    """`s3.compression.type=snappy`, which has no levels."""


@dataclass(frozen=True, slots=True)
class Lz4:
    """`s3.compression.type=lz4`; levels 1 to 12, from 3 on by a slower search."""

    level: int | None = None


@dataclass(frozen=True, slots=True)
class Bzip2:
    """`s3.compression.type=bzip2`; levels 1 to 9, each 100 kB more of a block."""

    level: int | None = None


Compression = NoCompression | Gzip | Zstd | Snappy | Lz4 | Bzip2
#: The lowest and the highest `s3.compression.level` of each type that has levels.
LEVELS: Final = {"gzip": (0, 9), "zstd": (1, 22), "lz4": (1, 12), "bzip2": (1, 9)}


@dataclass(frozen=True, slots=True)
class FileSettings:
    """What an object of one format looks like; the options of other formats mean nothing.

    `parquet_row_group_bytes`: bytes of Arrow columns in a row group (`export.parquet.row.group.bytes`).
    `block_bytes`: uncompressed bytes in a member of Block-GZIP (`compressed_block_size`).
    """

    format: Format | UserDefined
    compression: Compression = NoCompression()
    byte_array_extension: str = ".bin"
    byte_array_separator: bytes = b"\n"
    avro_codec: AvroCodec = AvroCodec.NULL
    parquet_codec: ParquetCodec = ParquetCodec.SNAPPY
    parquet_row_group_bytes: int = 134_217_728
    json_decimals: DecimalFormat = DecimalFormat.BASE64
    json_array: bool = False  # export.json.array: one JSON array per object
    block_bytes: int = 67_108_864
    extension: str | None = None  # export.file.extension, in the place of the format's own


AVRO: Final = Format.AVRO.value
PARQUET: Final = Format.PARQUET.value
JSON: Final = Format.JSON.value
BYTE_ARRAY: Final = Format.BYTE_ARRAY.value
BLOCK_GZIP: Final = Format.BLOCK_GZIP.value
CSV: Final = Format.CSV.value
FORMATS: Final = tuple(Choice(name) for name in (JSON, BYTE_ARRAY, AVRO, PARQUET, BLOCK_GZIP, CSV))
KEYS_FORMATS: Final = tuple(Choice(name) for name in (JSON, BYTE_ARRAY, AVRO, PARQUET))
HEADERS_FORMATS: Final = (
    *(Choice(name) for name in (JSON, AVRO, PARQUET)),
    Choice(BYTE_ARRAY, refused=f"the headers of a record are not bytes: set {AVRO}, {JSON} or {PARQUET}"),
)
PARQUET_CODECS: Final = (
    *(Choice(name) for name in ("none", "gzip", "snappy")),
    Choice("lz4", refused="lz4 is Hadoop's own framing, which is not written: set lz4_raw, which Parquet has instead"),
    *(Choice(name) for name in ("brotli", "lz4_raw", "zstd")),
    Choice("lzo", refused="lzo is not written: set snappy, which is as fast, or zstd, which packs better"),
)


def _written_as(name: str) -> AppliesWhen:
    headers = AppliesWhen("headers.format.class", (name,))
    keys = AppliesWhen("keys.format.class", (name,), either=headers)
    return AppliesWhen("format.class", (name,), either=keys)


def _extension(text: str) -> str | None:
    return None if text == NO_EXTENSION else validators.extension(text)


EXTENSION: Final = "export.file.extension"
NO_EXTENSION: Final = "none"
AS_AVRO: Final = _written_as(AVRO)
AS_PARQUET: Final = _written_as(PARQUET)
AS_JSON: Final = _written_as(JSON)

PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        "format.class",
        Kind.CLASS,
        REQUIRED,
        "Format of data objects.",
        choices=FORMATS,
        shapes=True,
        user_defined=True,
    ),
    Property(
        "s3.compression.type",
        Kind.STRING,
        "none",
        "Compression of whole objects.",
        choices=choices("none", "gzip", "zstd", "snappy", "lz4", "bzip2"),
        shapes=True,
    ),
    Property(
        "s3.compression.level",
        Kind.INT,
        -1,
        "Compression level: 0 to 9 of gzip, 1 to 22 of zstd, 1 to 12 of lz4, 1 to 9 of bzip2; -1 is the default of"
        " the type, which is fast but for bzip2.",
        minimum=-1,
        maximum=22,
        shapes=True,
    ),
    Property(
        "avro.codec",
        Kind.STRING,
        "null",
        "Compression codec inside Avro files.",
        choices=choices("null", "deflate", "snappy", "bzip2", "zstandard"),
        shapes=True,
        applies_when=AS_AVRO,
    ),
    Property(
        "parquet.codec",
        Kind.STRING,
        "snappy",
        "Compression codec inside Parquet files.",
        choices=PARQUET_CODECS,
        shapes=True,
        applies_when=AS_PARQUET,
    ),
    Property(
        "export.parquet.row.group.bytes",
        Kind.INT,
        134_217_728,
        "Bytes of records in memory per row group.",
        minimum=1 << 20,
        maximum=1 << 30,
        shapes=True,
        applies_when=AS_PARQUET,
    ),
    Property(
        "json.decimal.format",
        Kind.STRING,
        "BASE64",
        "How decimals are written to JSON.",
        choices=choices("BASE64", "NUMERIC"),
        ignore_case=True,
        shapes=True,
        applies_when=AS_JSON,
    ),
    Property(
        "export.json.array",
        Kind.BOOLEAN,
        False,
        "Write one JSON array per object instead of one JSON value per line.",
        shapes=True,
        applies_when=AS_JSON,
    ),
    Property(
        "format.bytearray.extension",
        Kind.STRING,
        ".bin",
        "File extension of objects in ByteArrayFormat.",
        check=validators.extension,
        shapes=True,
    ),
    Property(
        EXTENSION,
        Kind.STRING,
        None,
        "File extension of data objects in place of the format's own, such as .gz; none omits it.",
        check=_extension,
        shapes=True,
        quiet=True,
    ),
    Property(
        "format.bytearray.separator",
        Kind.STRING,
        None,
        "Separator that ByteArrayFormat writes after every record; a line feed unless set.",
        shapes=True,
        untrimmed=True,
    ),
)


def apply_format_rules(config: ParsedConfig) -> None:
    """Formats that compress by themselves exclude compression around them, also of keys and headers that are stored."""
    if config.is_set(EXTENSION) and config.recognised["format.class"] == BLOCK_GZIP:
        config.add_problem(EXTENSION, "names of BlockGzipFormat are fixed: remove it")
    kind = config.recognised["s3.compression.type"]
    if kind in (None, "none"):
        return
    classes = {"s3.compression.type": ("data", config.recognised["format.class"])}
    for member in ("keys", "headers"):
        if config.recognised[f"store.kafka.{member}"] is True:
            classes[f"{member}.format.class"] = (member, config.recognised[f"{member}.format.class"])
    for name, (member, found) in classes.items():
        if found in (AVRO, PARQUET, BLOCK_GZIP):
            config.add_problem(name, f"Compression Type {kind} not valid for {member} format class: ( {found} ).")
    if config.sure("s3.compression.type", "s3.compression.level"):
        _level(config, config.text("s3.compression.type"), config.number("s3.compression.level"))


def _level(config: ParsedConfig, kind: str, level: int) -> None:
    if level == -1:
        return
    if kind not in LEVELS:
        config.add_problem("s3.compression.level", f"{kind} has no levels: remove it")
        return
    lowest, highest = LEVELS[kind]
    if level > highest:
        config.add_problem("s3.compression.level", f"Value must be no more than {highest} with {kind}")
    elif level < lowest:
        config.add_problem("s3.compression.level", f"Value must be at least {lowest} with {kind}, or -1")


def build_file(config: ParsedConfig, name: str) -> FileSettings:
    path = config.text(name)
    return FileSettings(
        format=UserDefined(path) if user_defined.is_path(path) else Format(path),
        compression=_compression(config),
        byte_array_extension=config.text("format.bytearray.extension"),
        byte_array_separator=config.text("format.bytearray.separator").encode(),
        avro_codec=AvroCodec(config.text_in_effect("avro.codec")),
        parquet_codec=ParquetCodec(config.text_in_effect("parquet.codec")),
        parquet_row_group_bytes=config.number_in_effect("export.parquet.row.group.bytes"),
        json_decimals=DecimalFormat(config.text_in_effect("json.decimal.format")),
        json_array=config.in_effect("export.json.array") is True,
        block_bytes=config.number_in_effect("compressed_block_size"),
        extension=_named(config) if name == "format.class" else None,
    )


def _named(config: ParsedConfig) -> str | None:
    text = config.optional(EXTENSION)
    return "" if text == NO_EXTENSION else text


def _compression(config: ParsedConfig) -> Compression:
    given = config.number("s3.compression.level")
    level = None if given == -1 else given
    match config.text("s3.compression.type"):
        case "gzip":
            return Gzip(level)
        case "zstd":
            return Zstd(level)
        case "snappy":
            return Snappy()
        case "lz4":
            return Lz4(level)
        case "bzip2":
            return Bzip2(level)
        case _:
            return NoCompression()
