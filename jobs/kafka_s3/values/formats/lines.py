"""JsonFormat and ByteArrayFormat: each record, then a separator, the last one included."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass

from kafka_s3.avro.model import Schema
from kafka_s3.settings.formats import Compression
from kafka_s3.values.formats.compression import Compressor, open_stream
from kafka_s3.values.rows import Lines


@dataclass(frozen=True, slots=True)
class LineFormat:
    """Objects of lines."""

    extension: str
    separator: bytes
    compression: Compression

    def open(self, schema: Schema | None) -> LineEncoder:  # noqa: ARG002  # lines are of any schema
        return LineEncoder(self.separator, open_stream(self.compression))


class LineEncoder:
    """One object of lines, in one stream."""

    def __init__(self, separator: bytes, stream: Compressor) -> None:
        self._separator = separator
        self._stream = stream

    def encode(self, rows: Lines, start: int, stop: int) -> tuple[bytes, int]:
        data = rows.join(start, stop, self._separator)
        return self._stream.compress(data), len(data)

    def rows_until(self, rows: Lines, start: int, stop: int, room: int) -> int | None:
        between = len(self._separator)
        sizes = list(itertools.accumulate(len(line) + between for line in rows.lines[start:stop]))
        return bisect.bisect_left(sizes, room) + 1 if sizes and sizes[-1] >= room else None

    def finish(self) -> bytes:
        return self._stream.finish()
