"""Structs made of the fields of others, and of new ones: what most transforms make.

No value is decoded for that: a datum is put together of the bytes of its fields, columns of those that there are. Bytes
that are copied stay as their producer wrote them, as they do without transforms. Which way a row goes follows from its
schema and the transforms that it went through, so that a retry writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeGuard

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Kind, Node, Primitive, Record
from kafka_s3.values.converters.avro_group import Group, taken
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.rows import Excluded, Missing

if TYPE_CHECKING:  # they load pyarrow
    from kafka_s3.avro.pieces import Texts
    from kafka_s3.avro.splice import Copied


class Column:
    """The values of a new field of rows. `is_constant`: they are all the same."""

    def __init__(self, schema: Schema, values: Sequence[Any], *, is_constant: bool = False) -> None:
        self.schema = schema
        self.values = values
        self.is_constant = is_constant and len(values) > 0

    def some(self, places: Sequence[int]) -> Column:
        return Column(self.schema, taken(self.values, places), is_constant=self.is_constant)

    @cached_property
    def constant(self) -> bytes:
        """The datum of the only value."""
        from kafka_s3.avro.datums import codec

        return codec(self.schema).encode(self.values[:1])[0]

    def datums(self) -> Sequence[bytes]:
        from kafka_s3.avro.datums import codec
        from kafka_s3.avro.long_datums import long_datums

        if (numbers := self._numbers) is not None:
            return long_datums(numbers, _prefix(graph(self.schema)))
        encode = codec(self.schema).encode
        if not all(isinstance(value, str | None) for value in self.values):
            return encode(self.values)
        different = list(set(self.values))  # few, such as topics
        return list(map(dict(zip(different, encode(different), strict=True)).__getitem__, self.values))

    def texts(self) -> bytes | Texts:
        """The datums, one after the other."""
        from kafka_s3.avro.datums import codec
        from kafka_s3.avro.long_datums import long_texts
        from kafka_s3.avro.pieces import Texts, of_few

        if self.is_constant:
            return self.constant
        if (numbers := self._numbers) is not None:
            return long_texts(numbers, _prefix(graph(self.schema)))
        encode = codec(self.schema).encode
        if all(isinstance(value, str | None) for value in self.values):
            return of_few(self.values, encode)
        return Texts.of(encode(self.values))

    def sizes(self) -> Any:
        """How many bytes each takes."""
        from kafka_s3.avro.long_datums import long_sizes

        if (numbers := self._numbers) is not None:
            return long_sizes(numbers) + len(_prefix(graph(self.schema)))
        return list(map(len, self.datums()))

    def arrow(self, kind: Any) -> Any:
        """As an array of the schema's type, or of that without logical types."""
        import pyarrow as pa

        from kafka_s3.avro.arrow import arrow_type, from_values
        from kafka_s3.avro.physical_schema import bare

        schema = self.schema if arrow_type(self.schema) == kind else bare(self.schema)
        if self.is_constant:
            return from_values(self.values[:1], schema).take(pa.repeat(pa.scalar(0, pa.int32()), len(self.values)))
        if (numbers := self._numbers) is not None and kind.bit_width == 64:
            return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])
        return from_values(self.values, schema)

    @cached_property
    def _numbers(self) -> Any:
        """The values as an array, where they are longs that are all there."""
        from kafka_s3.avro.long_datums import as_longs

        one = graph(self.schema).required
        is_long = isinstance(one, Primitive) and one.kind is Kind.LONG
        return as_longs(self.values) if is_long and None not in self.values else None


def _prefix(node: Node) -> bytes:
    """What stands in front of a value that is there: the number of its branch."""
    from kafka_s3.avro.datum_writer import long_bytes
    from kafka_s3.avro.nodes import Union

    return long_bytes(node.branches.index(node.required)) if isinstance(node, Union) else b""


#: Each field of a struct: the number of the source's field that it is, or what it is otherwise.
Origins = Sequence[int | Column]


def reshaped(rows: Any, schema: Schema, origins: Origins, count: int) -> Reshaped:
    """Rows of a record's schema, none of which is excluded, as those of another record's."""
    if isinstance(rows, Reshaped):
        before = rows.whole()
        origins = [before.origins[each] if isinstance(each, int) else each for each in origins]
        rows = before.source
    return Reshaped(_Whole(rows, schema, origins, count))


class _Whole:
    """All rows that were made together, however they are parted after that."""

    def __init__(self, source: Any, schema: Schema, origins: Origins, count: int) -> None:
        self.count = count
        self.source = source
        self.schema = schema
        self.origins = origins
        self.of: Schema = source.schemas
        self._arrow: dict[str, Any] = {}  # by the text of the schema

    @cached_property
    def names(self) -> Sequence[str]:
        return _names(self.schema)

    @cached_property
    def has_datums(self) -> bool:
        return self.source.has_datums(self.of)  # type: ignore[no-any-return]

    @cached_property
    def datums(self) -> Sequence[bytes]:
        if not self.has_datums:
            from kafka_s3.avro.datums import codec

            return codec(self.schema).encode(self.values_of(self.source.long_values(self.of), range(self.count)))
        pieces = self._pieces()
        runs = [each for each in pieces if not isinstance(each, bytes | Column)]
        if runs and (together := self._together(pieces, runs)) is not None:
            return together
        cut = iter(self.source.cut(runs) if runs else ())
        columns: list[Sequence[bytes]] = []
        for each in pieces:
            if isinstance(each, bytes):
                columns.append([each] * self.count)
            else:
                columns.append(each.datums() if isinstance(each, Column) else next(cut))
        if len(columns) == 1:
            return columns[0]
        return list(map(b"".join, zip(*columns, strict=True))) if columns else [b""] * self.count

    def _together(self, pieces: Sequence[Any], runs: Sequence[Copied]) -> Sequence[bytes] | None:
        """The datums by one call, where the source's fields stand in one place."""
        ask = getattr(self.source, "extents", None)
        found = None if ask is None else ask(runs)
        if found is None:
            return None
        from kafka_s3.avro.pieces import joined

        data, extents = found
        left = iter(extents)
        made = [
            each if isinstance(each, bytes) else each.texts() if isinstance(each, Column) else next(left)
            for each in pieces
        ]
        return joined(data, made, self.count)

    @cached_property
    def sizes(self) -> Sequence[int]:
        """Of datums, where there are any without values; else the source's, and what is new."""
        from kafka_s3.avro.long_datums import sums

        pieces = self._pieces()
        runs = [each for each in pieces if not isinstance(each, bytes | Column)]
        columns = [each.sizes() for each in pieces if isinstance(each, Column)]
        if not self.has_datums:
            columns.append(self.source.sizes())
        elif runs:
            columns.append(self.source.cut_sizes(runs))
        return sums(sum(len(each) for each in pieces if isinstance(each, bytes)), columns, self.count)

    def _pieces(self) -> list[Any]:
        """What a datum is put together of: bytes, columns, and runs of the source's fields."""
        from kafka_s3.avro.splice import Copied

        made: list[Any] = []
        for each in self.origins:
            piece = Copied(each, each + 1) if isinstance(each, int) else each.constant if each.is_constant else each
            last = made[-1] if made else None
            if isinstance(piece, Copied) and isinstance(last, Copied) and last.last == piece.first:
                made[-1] = Copied(last.first, piece.last)
            elif isinstance(piece, bytes) and isinstance(last, bytes):
                made[-1] = last + piece
            else:
                made.append(piece)
        return made

    @cached_property
    def values(self) -> Sequence[Any]:
        return self.values_of(self.source.values(self.of), range(self.count))

    def values_of(self, values: Sequence[Any], places: Sequence[int]) -> Sequence[Any]:
        """Plain values made of the source's at some places."""
        old = _names(self.of)
        columns = [
            [value[old[each]] for value in values] if isinstance(each, int) else taken(each.values, places)
            for each in self.origins
        ]
        names = self.names
        if not columns:
            return [{} for _ in values]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def arrow(self, target: Schema) -> Any:
        if target.text not in self._arrow:
            self._arrow[target.text] = self._make_arrow(target)
        return self._arrow[target.text]

    def _make_arrow(self, target: Schema) -> Any:
        import pyarrow as pa

        from kafka_s3.avro.arrow import ColumnsError, arrow_type, from_values

        types = _types(target.text)
        try:
            found = self._source_fields(target, types)
            children = [
                found[each] if isinstance(each, int) else each.arrow(type)
                for each, type in zip(self.origins, types, strict=True)
            ]
        except ColumnsError:  # of a field that is no more, or one of these: the values say so
            return from_values(self.values, target)
        return pa.Array.from_buffers(arrow_type(target), self.count, [None], children=children)

    def _source_fields(self, target: Schema, types: Sequence[Any]) -> Mapping[int, Any]:
        """The source's fields as columns of the target's types, by their numbers."""
        from kafka_s3.avro.physical_schema import bare

        kinds = {each: type for each, type in zip(self.origins, types, strict=True) if isinstance(each, int)}
        if not kinds:
            return {}
        ask = getattr(self.source, "fields", None)
        found = None if ask is None else ask(kinds)
        if found is not None:
            return dict(zip(kinds, found, strict=True))
        everything = self.source.arrow(self.of if target.text == self.schema.text else bare(self.of)).flatten()
        return {number: everything[number] for number in kinds}

    @cached_property
    def as_others(self) -> Any:
        """The rows by their datums or values, for forms under other schemas."""
        if not self.has_datums:
            return ValueRows(self.values, self.schema)
        from kafka_s3.values.converters.avro import AvroRows

        return AvroRows([Group(self.schema, self.datums, 0, valid=True)], None, range(self.count), {})


class Reshaped:
    """A `rows.Structs` of one schema; made by `reshaped`."""

    def __init__(self, whole: _Whole, places: Sequence[int] | None = None) -> None:
        self._whole = whole
        self._places = places
        self.schemas: Schema = whole.schema
        self.excluded: Mapping[int, Excluded] = {}

    def whole(self) -> _Whole:
        """The rows and no others."""
        if self._places is None:
            return self._whole
        old, places = self._whole, self._places
        origins = [each if isinstance(each, int) else each.some(places) for each in old.origins]
        return _Whole(old.source.pick(places), old.schema, origins, len(places))

    def part(self, start: int, stop: int) -> Reshaped:
        if self._places is None and start == 0 and stop == self._whole.count:
            return self
        return Reshaped(self._whole, range(start, stop) if self._places is None else self._places[start:stop])

    def pick(self, indexes: Sequence[int]) -> Reshaped:
        if self._places is None:
            return Reshaped(self._whole, indexes)
        return Reshaped(self._whole, [self._places[index] for index in indexes])

    def _taken(self, found: Sequence[Any]) -> Sequence[Any]:
        return found if self._places is None else taken(found, self._places)

    def sizes(self) -> Sequence[int]:
        return self._taken(self._whole.sizes)

    def datums(self, target: Schema) -> Sequence[bytes]:
        if target.text == self.schemas.text:
            return self._taken(self._whole.datums)
        return self._as_others().datums(target)  # type: ignore[no-any-return]

    def values(self, target: Schema) -> Sequence[Any]:
        if target.text != self.schemas.text:
            return self._as_others().values(target)  # type: ignore[no-any-return]
        if self._places is None:
            return self._whole.values
        source = self._whole.source
        return self._whole.values_of(source.pick(self._places).values(self._whole.of), self._places)

    def long_values(self, target: Schema) -> Sequence[Any]:
        if target.text != self.schemas.text:
            return self._as_others().long_values(target)  # type: ignore[no-any-return]
        whole, places = self._whole, range(self._whole.count) if self._places is None else self._places
        return whole.values_of(whole.source.pick(places).long_values(whole.of), places)

    def arrow(self, target: Schema) -> Any:
        from kafka_s3.avro.batch_reader import taken
        from kafka_s3.avro.physical_schema import bare

        if target.text not in (self.schemas.text, bare(self.schemas).text):
            return self._as_others().arrow(target)
        found = self._whole.arrow(target)
        return found if self._places is None else taken(found, self._places)

    def constants(self, target: Schema) -> Mapping[int, Any]:
        """One row of each column of `arrow` that is the same in all rows, by its number."""
        from kafka_s3.avro.physical_schema import bare

        if target.text not in (self.schemas.text, bare(self.schemas).text):
            return {}
        pairs = enumerate(zip(self._whole.origins, _types(target.text), strict=True))
        return {at: each.some([0]).arrow(type) for at, (each, type) in pairs if _is_constant(each)}

    def has_columns(self, target: Schema) -> bool:
        from kafka_s3.avro.physical_schema import bare

        if target.text not in (self.schemas.text, bare(self.schemas).text):
            return self._as_others().has_columns(target)  # type: ignore[no-any-return]
        return self._whole.source.has_columns(self._whole.of)  # type: ignore[no-any-return]

    def has_datums(self, target: Schema) -> bool:
        return self._whole.has_datums and (target.text == self.schemas.text or self._as_others().has_datums(target))

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        whole = self._whole
        if path and path[0] in whole.names:
            origin = whole.origins[whole.names.index(path[0])]
            if isinstance(origin, Column) and len(path) == 1:
                return self._taken(origin.values)
            if isinstance(origin, int):
                found = whole.source.column((_names(whole.of)[origin], *path[1:]))
                if not any(isinstance(each, Missing) for each in found):
                    return self._taken(found)
        return self._as_others().column(path)  # type: ignore[no-any-return]

    def _as_others(self) -> Any:
        others = self._whole.as_others
        return others if self._places is None else others.pick(self._places)


def _is_constant(origin: int | Column) -> TypeGuard[Column]:
    return isinstance(origin, Column) and origin.is_constant


@lru_cache(maxsize=256)
def _types(text: str) -> Sequence[Any]:
    """Arrow's types of a record's fields."""
    from kafka_s3.avro.arrow import arrow_type

    return [each.type for each in arrow_type(Schema(text))]


def _names(schema: Schema) -> Sequence[str]:
    record = graph(schema)
    assert isinstance(record, Record), "only a record has fields"
    return [each.name for each in record.fields]
