"""JSON of values with schemas: one record a line, or one JSON array per object."""

from __future__ import annotations

import bisect
import contextlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from kafka_s3.avro.model import Schema
from kafka_s3.settings.formats import Compression, DecimalFormat
from kafka_s3.values.formats.compression import Compressor, open_stream
from kafka_s3.values.formats.json_datums import row_writer
from kafka_s3.values.rows import Lines

if TYPE_CHECKING:  # it loads pyarrow
    from kafka_s3.values.formats.json_columns import ColumnText

_NEWLINE: Final = b"\n"
_BETWEEN: Final = b",\n"
_END: Final = b"]\n"


@dataclass(frozen=True, slots=True)
class JsonLinesFormat:
    """Objects of one JSON value a line, of lines or of values with a schema."""

    extension: str
    compression: Compression
    decimals: DecimalFormat

    def open(self, schema: Schema | None) -> JsonLinesEncoder:
        return JsonLinesEncoder(_Texts(schema, self.decimals, _NEWLINE), open_stream(self.compression))


@dataclass(frozen=True, slots=True)
class JsonArray:
    """Objects that are one JSON array, a record a line (`export.json.array`), of lines or of values with a schema."""

    extension: str
    compression: Compression
    decimals: DecimalFormat

    def open(self, schema: Schema | None) -> JsonArrayEncoder:
        return JsonArrayEncoder(_Texts(schema, self.decimals, _BETWEEN), open_stream(self.compression))


class _Texts:
    """The JSON text of rows with or without a schema, `between` after each.

    Rows that have columns without values (`has_columns`) are written by these.
    """

    def __init__(self, schema: Schema | None, decimals: DecimalFormat, between: bytes) -> None:
        self.between = between
        self._schema = schema
        self._decimals = decimals
        self._write: Callable[[Any], Sequence[bytes]] | None = None
        self._by_columns: ColumnText | None = None
        self._looked = False
        # What was measured is encoded next: it is not made twice.
        self._made: tuple[Any, int, int, _Block] | None = None

    def of(self, rows: Any, start: int, stop: int) -> tuple[_Block, int]:
        """Text of which rows `[start, stop)` are a part, and how many rows stand in front of them there."""
        if self._made is not None:
            owner, first, last, block = self._made
            if owner is rows and first <= start and stop <= last:
                return block, start - first
        block = self._block(rows.part(start, stop)) if stop > start else _Listed([], self.between)
        self._made = (rows, start, stop, block)
        return block, 0

    def _block(self, rows: Any) -> _Block:
        if self._schema is not None and rows.has_columns(self._schema) and (text := self._column_text(self._schema)):
            from kafka_s3.values.formats.json_columns import TooLarge

            with contextlib.suppress(TooLarge):
                ask = getattr(rows, "constants", None)
                constants = {} if ask is None else ask(text.columns)
                return _Column(text(rows.arrow(text.columns), self.between.decode(), constants))
        if self._write is None:
            self._write = row_writer(self._schema, self._decimals)
        return _Listed(self._write(rows), self.between)

    def _column_text(self, schema: Schema) -> ColumnText | None:
        """Loads pyarrow, so only where rows have columns."""
        if not self._looked:
            from kafka_s3.values.formats.json_columns import column_text

            self._looked = True
            self._by_columns = column_text(schema, self._decimals)
        return self._by_columns


class _Block(Protocol):
    def text(self, start: int, stop: int) -> bytes: ...
    def sizes(self, start: int, stop: int) -> Iterable[int]: ...


class _Listed:
    """Text row by row."""

    def __init__(self, texts: Sequence[bytes], between: bytes) -> None:
        self._texts = texts
        self._between = between

    def text(self, start: int, stop: int) -> bytes:
        return self._between.join([*self._texts[start:stop], b""])

    def sizes(self, start: int, stop: int) -> Iterable[int]:
        return (len(text) + len(self._between) for text in self._texts[start:stop])


class _Column:
    """Text as one column of strings."""

    def __init__(self, texts: Any) -> None:
        assert not texts.offset
        _, ends, data = texts.buffers()
        self._ends = memoryview(ends).cast("i")
        self._data = memoryview(data)

    def text(self, start: int, stop: int) -> bytes:
        return bytes(self._data[self._ends[start] : self._ends[stop]])

    def sizes(self, start: int, stop: int) -> Iterable[int]:
        return (end - begin for begin, end in itertools.pairwise(self._ends[start : stop + 1].tolist()))


class JsonLinesEncoder:
    """One object of lines, in one stream."""

    def __init__(self, texts: _Texts, stream: Compressor) -> None:
        self._texts = texts
        self._stream = stream

    def encode(self, rows: Any, start: int, stop: int) -> tuple[bytes, int]:
        if isinstance(rows, Lines):
            data = rows.join(start, stop, _NEWLINE)
        else:
            block, before = self._texts.of(rows, start, stop)
            data = block.text(before, before + stop - start)
        return self._stream.compress(data), len(data)

    def rows_until(self, rows: Any, start: int, stop: int, room: int) -> int | None:
        return _rows_until(self._texts, rows, start, stop, room)

    def finish(self) -> bytes:
        return self._stream.finish()


class JsonArrayEncoder:
    """One object that is an array. How records were cut into calls of `encode` does not show."""

    def __init__(self, texts: _Texts, stream: Compressor) -> None:
        self._texts = texts
        self._stream = stream
        self._before = b"["

    def encode(self, rows: Any, start: int, stop: int) -> tuple[bytes, int]:
        if start == stop:
            return b"", 0
        if isinstance(rows, Lines):
            data = self._before + _BETWEEN.join(rows.lines[start:stop])
        else:
            block, before = self._texts.of(rows, start, stop)
            data = self._before + block.text(before, before + stop - start)[: -len(_BETWEEN)]
        self._before = _BETWEEN
        return self._stream.compress(data), len(data)

    def rows_until(self, rows: Any, start: int, stop: int, room: int) -> int | None:
        # The first row of all has another thing in front of it than the others.
        more = room + len(_BETWEEN) - len(self._before)
        return _rows_until(self._texts, rows, start, stop, more)

    def finish(self) -> bytes:
        begun = b"" if self._before == _BETWEEN else b"["
        return self._stream.compress(begun + _END) + self._stream.finish()


def _rows_until(texts: _Texts, rows: Any, start: int, stop: int, room: int) -> int | None:
    if isinstance(rows, Lines):
        found: Iterable[int] = (len(line) + len(texts.between) for line in rows.lines[start:stop])
    else:
        block, before = texts.of(rows, start, stop)
        found = block.sizes(before, before + stop - start)
    sizes = list(itertools.accumulate(found))
    return bisect.bisect_left(sizes, room) + 1 if sizes and sizes[-1] >= room else None
