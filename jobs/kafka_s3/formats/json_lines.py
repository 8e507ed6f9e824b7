"""JSON of values with schemas: one record a line, or one JSON array per object."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafka_s3.formats.compression import Compressor, open_stream
from kafka_s3.formats.json_text import Write, writer_for
from kafka_s3.rows import Lines
from kafka_s3.schemas.model import Schema
from kafka_s3.settings.content import Compression, DecimalFormat

_BETWEEN: Final = b",\n"
_END: Final = b"]\n"


@dataclass(frozen=True, slots=True)
class JsonLinesFormat:
    """Objects of one JSON value a line, of lines or of values with a schema."""

    extension: str
    compression: Compression
    decimals: DecimalFormat

    def open(self, schema: Schema | None) -> JsonLinesEncoder:
        return JsonLinesEncoder(_Texts(schema, self.decimals), open_stream(self.compression))


@dataclass(frozen=True, slots=True)
class JsonArray:
    """Objects that are one JSON array, a record a line (`export.json.array`), of lines or of values with a schema."""

    extension: str
    compression: Compression
    decimals: DecimalFormat

    def open(self, schema: Schema | None) -> JsonArrayEncoder:
        return JsonArrayEncoder(_Texts(schema, self.decimals), open_stream(self.compression))


class _Texts:
    """The JSON text of rows, whichever kind they are."""

    def __init__(self, schema: Schema | None, decimals: DecimalFormat) -> None:
        self._schema = schema
        self._decimals = decimals
        self._write: Write | None = None
        # What was measured is encoded next: it is not made twice.
        self._made: tuple[Any, int, Sequence[bytes]] = (None, 0, ())

    def of(self, rows: Any, start: int, stop: int) -> Sequence[bytes]:
        if isinstance(rows, Lines):
            return rows.lines[start:stop]
        owner, first, texts = self._made
        if owner is not rows or start < first or stop > first + len(texts):
            if self._write is None:
                self._write = writer_for(self._schema, self._decimals)
            first, texts = start, self._write(rows.part(start, stop).values(self._schema))
            self._made = (rows, first, texts)
        return texts[start - first : stop - first]


class JsonLinesEncoder:
    """One object of lines, in one stream."""

    def __init__(self, texts: _Texts, stream: Compressor) -> None:
        self._texts = texts
        self._stream = stream

    def encode(self, rows: Any, start: int, stop: int) -> tuple[bytes, int]:
        if isinstance(rows, Lines):
            data = rows.join(start, stop, b"\n")
        else:
            data = b"\n".join([*self._texts.of(rows, start, stop), b""])
        return self._stream.compress(data), len(data)

    def rows_until(self, rows: Any, start: int, stop: int, room: int) -> int | None:
        return _rows_until(self._texts.of(rows, start, stop), 1, room)

    def finish(self) -> bytes:
        return self._stream.finish()


class JsonArrayEncoder:
    """One object that is an array. How records were cut into calls of `encode` does not show."""

    def __init__(self, texts: _Texts, stream: Compressor) -> None:
        self._texts = texts
        self._stream = stream
        self._before = b"["

    def encode(self, rows: Any, start: int, stop: int) -> tuple[bytes, int]:
        texts = self._texts.of(rows, start, stop)
        if not texts:
            return b"", 0
        data = self._before + _BETWEEN.join(texts)
        self._before = _BETWEEN
        return self._stream.compress(data), len(data)

    def rows_until(self, rows: Any, start: int, stop: int, room: int) -> int | None:
        # The first row of all has another thing in front of it than the others.
        more = room + len(_BETWEEN) - len(self._before)
        return _rows_until(self._texts.of(rows, start, stop), len(_BETWEEN), more)

    def finish(self) -> bytes:
        begun = b"" if self._before == _BETWEEN else b"["
        return self._stream.compress(begun + _END) + self._stream.finish()


def _rows_until(texts: Sequence[bytes], between: int, room: int) -> int | None:
    sizes = list(itertools.accumulate(len(text) + between for text in texts))
    return bisect.bisect_left(sizes, room) + 1 if sizes and sizes[-1] >= room else None
