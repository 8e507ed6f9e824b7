"""Columns as JSON text: the same text that `json_text` writes of the values, for a whole batch at once.

The columns are those of the schema without logical types (`avro.physical_schema`). Each becomes a column of text, and
the rows are put together of these and of what stands between them. What has no such text (unions of several types,
maps with other keys than text) makes its schema one of values.
"""

# A visitor's methods are alike, and few need the type itself:
# ruff: noqa: ARG002

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_s3.avro.arrow import ColumnsError, arrow_type
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Array, Enum, Fixed, Kind, Map, Primitive, Record, Union, Visitor
from kafka_s3.avro.physical_schema import bare
from kafka_s3.settings.formats import DecimalFormat
from kafka_s3.values.formats.java_numbers import java_double, java_float
from kafka_s3.values.formats.json_text import as_jackson, is_map_entry, json_name, ready_for

#: Beyond this a batch's text is written value by value: Arrow's offsets are 32 bits.
TEXT_MAX: Final = 1 << 30
_LARGEST_PLAIN, _SMALLEST_PLAIN = 1e7, 1e-3
#: One byte of text is six at most: a control character's escape, or (four bytes) two.
_GROWTH: Final = 6

#: A `pyarrow.Array` of text, or the text that stands in every row.
Piece = Any
#: A column of a type as what its text is put together of. A null's is null, or anything below a null.
_Text = Callable[[pa.Array], list[Piece]]


_NONE: Final[Mapping[int, pa.Array]] = {}


class TooLarge(Exception):
    """The text is too large to be made at once."""


class _NoText(Exception):
    """A type whose text takes its values."""


class ColumnText:
    """The text of rows of one schema; made by `column_text`."""

    def __init__(self, columns: Schema, text: _Text, fields: Sequence[tuple[str, _Text]]) -> None:
        self.columns = columns
        self._text = text
        self._fields = fields  # of a record: what stands before each, and its text

    def __call__(self, array: pa.Array, between: str, constants: Mapping[int, pa.Array] = _NONE) -> pa.Array:
        """A row's text and `between` after it, as strings; `TooLarge` if that is for values to do.

        `constants`: one row of each field of a record that is the same in all rows, by its number.
        """
        if not constants or array.null_count:
            return _joined([*self._text(array), between], len(array))
        pieces: list[Piece] = []
        for at, (head, text) in enumerate(self._fields):
            same = constants.get(at)
            pieces += [head, *(text(array.field(at)) if same is None else [_joined(text(same), 1)[0].as_py()])]
        return _joined([*pieces, "}", between], len(array))


def column_text(schema: Schema, decimals: DecimalFormat) -> ColumnText | None:
    """How rows of a schema become text by their columns; `None` if they do not."""
    try:
        columns = bare(schema)
        arrow_type(columns)
        node, compiler = graph(schema), _Compiler(decimals)
        text = compiler.visit(node)
        return ColumnText(columns, text, compiler.fields if isinstance(node, Record) else [])
    except (_NoText, ColumnsError, RecursionError):
        return None


class _Compiler(Visitor[_Text]):
    """Schemas to text; `arrow_type` has seen that no type holds itself, and that there are not too many."""

    def __init__(self, decimals: DecimalFormat) -> None:
        super().__init__()
        self._decimals = decimals
        self.fields: list[tuple[str, _Text]] = []  # of the record that was seen last, which is the outermost

    def primitive(self, node: Primitive) -> _Text:
        return self._bytes(node) if node.kind is Kind.BYTES else _SIMPLE[node.kind]

    def fixed(self, node: Fixed) -> _Text:
        return self._bytes(node)

    def enum(self, node: Enum) -> _Text:
        return _string

    def array(self, node: Array, item: _Text) -> _Text:
        if isinstance(node.item, Record) and is_map_entry(node.item):
            raise _NoText

        def of(array: pa.Array) -> list[Piece]:
            first, offsets, count = _extent(array)
            return ["[", _together(item(array.values.slice(first, count)), count, offsets), "]"]

        return _with_nulls(of)

    def map(self, node: Map, item: _Text) -> _Text:
        return _map(item)

    def union(self, node: Union, branches: list[_Text]) -> _Text:
        if node.optional is None or not node.nullable:
            raise _NoText
        return branches[node.branches.index(node.optional)]

    def record(self, node: Record, fields: list[_Text]) -> _Text:
        names = list(map(json_name, node.fields))
        if len(set(names)) < len(names):
            raise _NoText
        heads = [f"{',' if at else '{'}{_quoted(name)}:" for at, name in enumerate(names)]
        each = self.fields = list(zip(heads, fields, strict=True))

        def of(array: pa.Array) -> list[Piece]:
            made: list[Piece] = []
            for at, (head, text) in enumerate(each):
                made += [head, *text(array.field(at))]
            return [*made, "}"]

        return _with_nulls(of)

    def again(self, node: Record) -> _Text:
        raise _NoText

    def _bytes(self, node: Primitive | Fixed) -> _Text:
        ready = ready_for(node, self._decimals)
        if ready is None:
            return _base64

        def of(array: pa.Array) -> list[Piece]:
            _bounded(array)
            encode = msgspec.json.encode
            made = [None if each is None else encode(ready(each)).decode("ascii") for each in array.to_pylist()]
            return [pa.array(made, pa.string())]

        return of


def _joined(pieces: Sequence[Piece], count: int) -> pa.Array:
    """Row by row what the pieces say; that of a null is `null`."""
    merged: list[Piece] = []
    size = 0
    for piece in pieces:
        if isinstance(piece, str):
            size += len(piece) * 4 * count
            if merged and isinstance(merged[-1], str):
                merged[-1] += piece
                continue
        else:
            size += piece.nbytes
        merged.append(piece)
    if size > TEXT_MAX:
        raise TooLarge
    if all(isinstance(each, str) for each in merged):
        return pa.repeat(pa.scalar("".join(map(str, merged))), count)
    given = [pa.scalar(each) if isinstance(each, str) else each for each in merged]
    return pc.binary_join_element_wise(*given, "", null_handling="replace", null_replacement="null")


def _with_nulls(text: _Text) -> _Text:
    """What is put together of several pieces, as one where there are nulls among it."""

    def of(array: pa.Array) -> list[Piece]:
        pieces = text(array)
        return [_nulled(_joined(pieces, len(array)), array)] if array.null_count else pieces

    return of


def _nulled(texts: pa.Array, array: pa.Array) -> pa.Array:
    return pc.if_else(array.is_valid(), texts, None) if array.null_count else texts


def _extent(array: pa.Array) -> tuple[int, pa.Array, int]:
    """Of lists: where the first one's items begin, where each one's do from there on, and how many there are."""
    if not len(array):
        return 0, pa.array([0], pa.int32()), 0
    offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
    return int(offsets[0]), pa.array(offsets - offsets[0]), int(offsets[-1] - offsets[0])


def _together(pieces: list[Piece], count: int, offsets: pa.Array) -> pa.Array:
    """Items in rows, a comma between two."""
    items = _joined(pieces, count)
    return pc.binary_join(pa.ListArray.from_arrays(offsets, items), ",")


def _map(value: _Text) -> _Text:
    def of(array: pa.Array) -> list[Piece]:
        first, offsets, count = _extent(array)
        keys, values = array.keys.slice(first, count), array.items.slice(first, count)
        return ["{", _together([*_string(keys), ":", *value(values)], count, offsets), "}"]

    return _with_nulls(of)


def _null(array: pa.Array) -> list[Piece]:  # noqa: ARG001  # all of them are the same
    return ["null"]


def _plain(array: pa.Array) -> list[Piece]:
    return [pc.cast(array, pa.string())]


def _double(array: pa.Array) -> list[Piece]:
    numbers = _numbers(array)
    size = np.abs(numbers)
    plain = ((size >= _SMALLEST_PLAIN) & (size < _LARGEST_PLAIN)) | (size == 0)
    texts = msgspec.json.encode(numbers.tolist())
    if plain.all():
        return [_nulled(_split(texts, len(numbers)), array)]
    made = texts[1:-1].decode("ascii").split(",")
    for row in np.flatnonzero(~plain).tolist():
        made[row] = _number(java_double(float(numbers[row])))
    return [_nulled(pa.array(made, pa.string()), array)]


def _float(array: pa.Array) -> list[Piece]:
    made = [_number(java_float(number)) for number in _numbers(array).tolist()]
    return [_nulled(pa.array(made, pa.string()), array)]


def _number(text: str) -> str:
    """What is not a number in JSON is text there."""
    return f'"{text}"' if text[-1] in "Ny" else text


def _numbers(array: pa.Array) -> Any:
    """A column as it is in memory, whatever stands at its nulls made zero."""
    return (pc.fill_null(array, 0.0) if array.null_count else array).to_numpy()


def _split(listed: bytes, count: int) -> pa.Array:
    """The items of a JSON list of numbers."""
    if not count:
        return pa.array([], pa.string())
    data = np.frombuffer(listed, np.uint8)
    commas = np.flatnonzero(data == ord(","))
    # Each number and the comma after it are two strings, of which every other one is a number.
    bounds = np.empty(2 * count, np.int32)
    bounds[0], bounds[-1] = 1, len(listed) - 1
    bounds[1:-1:2], bounds[2::2] = commas, commas + 1
    pieces = pa.Array.from_buffers(pa.string(), 2 * count - 1, [None, pa.py_buffer(bounds), pa.py_buffer(listed)])
    return pieces.take(pa.array(np.arange(0, 2 * count - 1, 2, dtype=np.int32)))


def _string(array: pa.Array) -> list[Piece]:
    if _needs_escapes(array):
        _bounded(array)
        encode = msgspec.json.encode
        made = as_jackson([b"null" if each is None else encode(each) for each in array.to_pylist()])
        return [pa.array(made, pa.binary()).cast(pa.string())]
    return _in_quotes(array)


def _in_quotes(array: pa.Array) -> list[Piece]:
    if array.null_count:
        return [pc.binary_join_element_wise('"', array, '"', "")]
    return ['"', array, '"']


def _needs_escapes(array: pa.Array) -> bool:
    """Whether any byte is one that JSON, or Jackson, does not have as it is."""
    _, offsets, data = array.buffers()
    if data is None or not len(array):
        return False
    ends = np.frombuffer(offsets, np.int32)
    text = np.frombuffer(data, np.uint8)[ends[array.offset] : ends[array.offset + len(array)]]
    return bool(((text < 0x20) | (text == ord('"')) | (text == ord("\\")) | (text >= 0xF0)).any())


def _bounded(array: pa.Array) -> None:
    if array.nbytes * _GROWTH > TEXT_MAX:
        raise TooLarge


def _base64(array: pa.Array) -> list[Piece]:
    _bounded(array)
    made = [None if each is None else base64.b64encode(each).decode("ascii") for each in array.to_pylist()]
    return _in_quotes(pa.array(made, pa.string()))


def _quoted(text: str) -> str:
    return as_jackson([msgspec.json.encode(text)])[0].decode()


_SIMPLE: Final[Mapping[Kind, _Text]] = {
    Kind.NULL: _null,
    Kind.BOOLEAN: _plain,
    Kind.INT: _plain,
    Kind.LONG: _plain,
    Kind.FLOAT: _float,
    Kind.DOUBLE: _double,
    Kind.STRING: _string,
}
