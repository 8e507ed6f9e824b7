"""JsonFormat and ByteArrayFormat: each record, then a separator, the last one included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, assert_never

from kafka_s3.converters import Rows
from kafka_s3.formats.compression import Compressor, extension_suffix, open_stream
from kafka_s3.settings.model import Format, FormatSettings


class ObjectEncoder(Protocol):
    """The bytes of one object, in order."""

    def encode(self, rows: Rows, start: int, stop: int) -> tuple[bytes, int]:
        """The bytes that are ready once rows `[start, stop)` are in, and how many those rows are uncompressed."""

    def finish(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class LineFormat:
    """What an object of lines needs to know: its extension, separator and compression."""

    settings: FormatSettings
    extension: str
    separator: bytes

    def open(self) -> ObjectEncoder:
        return _LineEncoder(self.separator, open_stream(self.settings.compression))


def format_for(settings: FormatSettings) -> LineFormat:
    """The format with the sink's extensions: `.json`, or format.bytearray.extension; `.gz` after it."""
    suffix = extension_suffix(settings.compression)
    match settings.format:
        case Format.JSON:
            return LineFormat(settings, f".json{suffix}", b"\n")
        case Format.BYTE_ARRAY:
            return LineFormat(settings, f"{settings.byte_array_extension}{suffix}", settings.byte_array_separator)
        case _ as never:
            assert_never(never)


class _LineEncoder:
    def __init__(self, separator: bytes, stream: Compressor) -> None:
        self._separator = separator
        self._stream = stream

    def encode(self, rows: Rows, start: int, stop: int) -> tuple[bytes, int]:
        data = rows.join(start, stop, self._separator)
        return self._stream.compress(data), len(data)

    def finish(self) -> bytes:
        return self._stream.finish()
