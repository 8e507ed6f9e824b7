"""What the writer asks of a format, and which format a configuration asks for."""

from __future__ import annotations

from typing import Any, Protocol

from kafka_s3.errors import ConfigurationError
from kafka_s3.formats.compression import extension_suffix
from kafka_s3.formats.lines import LineFormat
from kafka_s3.formats.own import OwnFormat
from kafka_s3.schemas.model import Schema
from kafka_s3.settings.content import FileSettings, Format, Own


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


def format_for(settings: FileSettings, *, wrap: str | None = None) -> ObjectFormat:
    """The format with the sink's extensions: `.json`, or format.bytearray.extension; `.gz` after it."""
    suffix = extension_suffix(settings.compression)
    match settings.format:
        case Format.JSON:
            return LineFormat(f".json{suffix}", b"\n", settings.compression)
        case Format.BYTE_ARRAY:
            extension = f"{settings.byte_array_extension}{suffix}"
            return LineFormat(extension, settings.byte_array_separator, settings.compression)
        case Own(path):
            return OwnFormat(path, settings.compression)
        case other:
            raise ConfigurationError(f"{other} is not built yet")
