"""DropHeaders, InsertHeader, HeaderFrom.

What a transform puts into a header is written as text, as the sink writes every header: by Connect's
`Values.convertToString`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka_s3.avro.model import Schema
from kafka_s3.records import HeaderText
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.values.transforms.base import Compiled, fills, require_map, side_of, text, texts
from kafka_s3.values.transforms.connect import (
    Fields,
    TransformError,
    field_of,
    filler,
    getter,
    name_of,
    schema_of_node,
    struct_of,
    with_fields,
)
from kafka_s3.values.transforms.header_texts import text_of_field, text_of_literal, text_of_schemaless
from kafka_s3.values.transforms.records import Change, Part, Records, each


class DropHeaders:
    """Drops headers by their names."""

    parts = frozenset({Part.HEADERS})

    def __init__(self, settings: TransformSettings) -> None:
        self._names = frozenset(texts(settings, "headers"))

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        headers = records.headers
        assert headers is not None
        for index in chosen:
            if headers[index]:
                headers[index] = tuple(pair for pair in headers[index] if pair[0] not in self._names)


class InsertHeader:
    """Adds a header with a fixed value."""

    parts = frozenset({Part.HEADERS})

    def __init__(self, settings: TransformSettings) -> None:
        made = text_of_literal(text(settings, "value.literal"))
        self._header = text(settings, "header"), None if made is None else HeaderText(made.encode())

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        headers = records.headers
        assert headers is not None
        for index in chosen:
            headers[index] = (*headers[index], self._header)


class HeaderFrom:
    """Makes headers of fields, which stay (`copy`) or go (`move`)."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side, Part.HEADERS})
        self._fields, self._headers = texts(settings, "fields"), texts(settings, "headers")
        self._moves = text(settings, "operation") == "move"
        self._fills = fills(settings)
        self._reads: dict[Schema, list[Callable[[Any], str | None]]] = {}
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        side, headers = records.sides[self._side], records.headers
        assert headers is not None
        known = side.nulls()
        nulls = [index for index in chosen if index in known]
        values = side.values
        if nulls:
            records.fail(nulls, "null has no fields")
        for schema, indexes in list(side.by_schema(records.not_null(self._side, chosen))):
            try:
                reads = self._readers(schema)
            except TransformError as error:
                records.fail(indexes, error)
                continue
            for index in indexes:
                try:
                    made = [read(values[index]) for read in reads]
                except TransformError as error:
                    records.fail([index], error)
                    continue
                texts = [None if each is None else HeaderText(each.encode("utf-8", "replace")) for each in made]
                headers[index] = (*headers[index], *zip(self._headers, texts, strict=True))
        if self._moves:
            alive = [index for index in chosen if index not in records.left]
            records.change(self._side, alive, self._compiled)

    def _readers(self, schema: Schema | None) -> list[Callable[[Any], str | None]]:
        if schema is None:
            return [_map_reader(name) for name in self._fields]
        if schema not in self._reads:
            record = struct_of(schema)
            made = []
            for name in self._fields:
                field = field_of(record, name)
                if field is None:
                    raise TransformError(f"there is no field {name}")
                made.append(_struct_reader(getter(field, fills=self._fills), text_of_field(field.node)))
            self._reads[schema] = made
        return self._reads[schema]

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            return Change(None, each(self._without))
        record = struct_of(schema)
        fields = Fields()
        for field in record.fields:
            if name_of(field) not in self._fields:
                fields.add(field)
        names = [field.name for field in fields.made]
        fill = filler(fields.made, fills=self._fills)

        def moved(value: dict[str, Any]) -> dict[str, Any]:
            made = {name: value[name] for name in names}
            return made if fill is None else fill(made)

        return Change(schema_of_node(with_fields(record, fields.made), schema.version), each(moved))

    def _without(self, value: Any) -> dict[str, Any]:
        given = require_map(value, "header move")
        return {name: one for name, one in given.items() if name not in self._fields}


def _map_reader(name: str) -> Callable[[Any], str | None]:
    return lambda value: text_of_schemaless(require_map(value, "headers from fields").get(name))


def _struct_reader(get: Callable[[Any], Any], text: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
    return lambda value: text(get(value))
