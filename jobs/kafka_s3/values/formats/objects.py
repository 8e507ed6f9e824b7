"""What the writer asks of a format, and which format a configuration asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, assert_never

from kafka_s3.avro.model import Schema
from kafka_s3.settings.formats import FileSettings, Format, Gzip
from kafka_s3.settings.properties import UserDefined
from kafka_s3.values.formats.compression import extension_suffix
from kafka_s3.values.formats.json_lines import JsonArray, JsonLinesFormat
from kafka_s3.values.formats.lines import LineFormat
from kafka_s3.values.formats.user_defined import UserDefinedFormat


class ObjectEncoder(Protocol):
    """The bytes of one object, in order.

    `rows` are of the kind that the format's converter makes: `Lines`, or `Structs` that fit the object's schema.
    """

    def encode(self, rows: Any, start: int, stop: int) -> tuple[bytes, int]:
        """The bytes that are ready once rows `[start, stop)` are in, and how many those rows are uncompressed."""

    def rows_until(self, rows: Any, start: int, stop: int, room: int) -> int | None:
        """How many rows from `start` on it takes to fill `room` bytes, uncompressed; `None`: they leave room."""

    def finish(self) -> bytes: ...


class ObjectFormat(Protocol):
    """Makes encoders, one for each object."""

    @property
    def extension(self) -> str:
        """What an object's name ends with, the compression's part included."""

    def open(self, schema: Schema | None) -> ObjectEncoder:
        """A new object of values of this schema."""


def format_for(settings: FileSettings, *, wrap: str = "value") -> ObjectFormat:
    """The format with the sink's extensions: `.json`, or format.bytearray.extension; `.gz` after it.

    `wrap`: what a single column of a Parquet file is called whose values are no records.
    """
    made = _format_for(settings, wrap)
    return made if settings.extension is None else _Named(made, settings.extension)


@dataclass(frozen=True, slots=True)
class _Named:
    """A format with an extension of the configuration's."""

    inner: ObjectFormat
    extension: str

    def open(self, schema: Schema | None) -> ObjectEncoder:
        return self.inner.open(schema)


def _format_for(settings: FileSettings, wrap: str) -> ObjectFormat:
    suffix = extension_suffix(settings.compression)
    match settings.format:
        case Format.JSON:
            made = JsonArray if settings.json_array else JsonLinesFormat
            return made(f".json{suffix}", settings.compression, settings.json_decimals)
        case Format.BYTE_ARRAY:
            extension = f"{settings.byte_array_extension}{suffix}"
            return LineFormat(extension, settings.byte_array_separator, settings.compression)
        case Format.CSV:
            return LineFormat(f".csv{suffix}", b"\n", settings.compression)
        case Format.AVRO:
            from kafka_s3.values.formats.avro import AvroFormat

            return AvroFormat(settings.avro_codec)
        case Format.PARQUET:
            from kafka_s3.values.formats.parquet import ParquetFormat

            return ParquetFormat(settings.parquet_codec, settings.parquet_row_group_bytes, wrap)
        case Format.BLOCK_GZIP:
            from kafka_s3.values.formats.block_gzip import BlockGzipFormat

            gzip = settings.compression if isinstance(settings.compression, Gzip) else Gzip()
            return BlockGzipFormat(settings.block_bytes, gzip)
        case UserDefined(path):
            return UserDefinedFormat(path, settings.compression)
        case _ as never:
            assert_never(never)
