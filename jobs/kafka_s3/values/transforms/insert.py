"""InsertField: what Kafka knows of a record, or a text, as a field of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafka_s3.avro.graph import avro_of
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.values.converters.connect_schema import TIMESTAMP, ConnectSchema
from kafka_s3.values.converters.reshaped import Column, Origins
from kafka_s3.values.transforms.base import Compiled, fills, optional_text, require_map, rows_of, side_of
from kafka_s3.values.transforms.connect import (
    Fields,
    TransformError,
    filler,
    new_field,
    primitive,
    schema_of_node,
    struct_of,
    with_fields,
)
from kafka_s3.values.transforms.java import Int32
from kafka_s3.values.transforms.records import Change, Part, Records


@dataclass(frozen=True, slots=True)
class _Inserted:
    """A field to insert: what of the record it is, its name, and whether it may be null."""

    what: str
    name: str
    optional: bool

    def schema(self) -> ConnectSchema:
        kind = {"partition": "INT32", "offset": "INT64", "timestamp": "INT64"}.get(self.what, "STRING")
        return primitive(kind, optional=self.optional, name=TIMESTAMP if self.what == "timestamp" else None)


_WHATS: Final = ("topic", "partition", "offset", "timestamp", "static")


def _parsed(what: str, spec: str | None) -> _Inserted | None:
    if spec is None:
        return None
    name = spec[:-1] if spec.endswith(("?", "!")) else spec
    return _Inserted(what, name, not spec.endswith("!"))


class InsertField:
    """Adds fields behind the record's own."""

    takes_texts = True

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        found = [_parsed(what, optional_text(settings, f"{what}.field")) for what in _WHATS]
        self._inserted = [each for each in found if each is not None]
        whats = {each.what for each in self._inserted}
        self.parts = frozenset({self._side, *([Part.TIMESTAMP] if "timestamp" in whats else [])})
        self._static = optional_text(settings, "static.value")
        self._fills = fills(settings)
        self._compiled = Compiled(self._compile)
        self._records: Records | None = None

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        if not self._inserted:
            return
        self._records = records
        records.change(self._side, records.not_null(self._side, chosen), self._compiled)
        self._records = None

    def _column(self, what: str, indexes: Sequence[int]) -> Sequence[Any]:
        records = self._records
        assert records is not None
        batch = records.batch
        match what:
            case "topic":
                if isinstance(records.topics, str):
                    return [records.topics] * len(indexes)
                return [records.topics[index] for index in indexes]
            case "partition":
                return [batch.tp.partition] * len(indexes)
            case "offset":
                first, count = batch.offset_at(indexes[0]), len(indexes)
                if batch.offset_at(indexes[-1]) - first == count - 1:  # they ascend: none is missing
                    return range(first, first + count)
                return [batch.offset_at(index) for index in indexes]
            case "timestamp":
                stamps = records.timestamps()
                return stamps if len(stamps) == len(indexes) else [stamps[index] for index in indexes]
        return [self._static] * len(indexes)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            return Change(None, self._in_maps, self._in_texts)
        record = struct_of(schema)
        fields = Fields()
        for field in record.fields:
            fields.add(field)
        names = [fields.add(new_field(each.name, each.schema())) for each in self._inserted]
        made = schema_of_node(with_fields(record, fields.made), schema.version)
        fill = filler(record.fields, fills=self._fills)
        required = [not each.optional for each in self._inserted]

        def inserted(values: Sequence[dict[str, Any]], indexes: Sequence[int]) -> list[dict[str, Any]]:
            columns = [self._column(each.what, indexes) for each in self._inserted]
            for each, column, is_required in zip(self._inserted, columns, required, strict=True):
                if is_required and None in column:
                    raise TransformError(f"the field {each.name} is required, and there is no {each.what} for it")
            if fill is not None:
                values = list(map(fill, values))
            if len(columns) == 1:
                (name,), (column,) = names, columns
                return [{**value, name: one} for value, one in zip(values, column, strict=True)]
            more = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
            return [{**value, **each} for value, each in zip(values, more, strict=True)]

        if fill is not None:
            return Change(made, inserted)
        types = [schema_of(avro_of(field.node)) for field in fields.made[len(record.fields) :]]

        def origins(rows: Any, indexes: Sequence[int]) -> Origins:  # noqa: ARG001
            new = zip(self._inserted, types, strict=True)
            return [*range(len(record.fields)), *(self._new_column(each, type, indexes) for each, type in new)]

        return Change(made, inserted, rows_of(schema, made, origins))

    def _new_column(self, inserted: _Inserted, schema: Schema, indexes: Sequence[int]) -> Column:
        column = self._column(inserted.what, indexes)
        if not inserted.optional and None in column:
            raise TransformError(f"the field {inserted.name} is required, and there is no {inserted.what} for it")
        return Column(schema, column, is_constant=self._is_constant(inserted.what, column))

    def _in_texts(self, rows: Any, indexes: Sequence[int]) -> Any:
        from kafka_s3.values.formats.json_rows import Member

        new: dict[str, Any] = {}
        for each in self._inserted:
            column = self._column(each.what, indexes)
            if each.what == "partition":
                column = [Int32(column[0])] * len(column)
            if None not in column:
                new[each.name] = Member(column, is_constant=self._is_constant(each.what, column))
            elif each.name in new or any(one is not None for one in column):
                return None  # a map does without it, and so only some of these do
        return rows.changed({**rows.origins, **new})

    @staticmethod
    def _is_constant(what: str, column: Sequence[Any]) -> bool:
        return what in ("partition", "static") or (what == "topic" and column.count(column[0]) == len(column))

    def _in_maps(self, values: Sequence[Any], indexes: Sequence[int]) -> list[dict[str, Any]]:
        names = [each.name for each in self._inserted]
        columns = [self._column(each.what, indexes) for each in self._inserted]
        for number, each in enumerate(self._inserted):
            if each.what == "partition":
                columns[number] = [Int32(columns[number][0])] * len(values)
        new = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        if any(None in column for column in columns):  # a map does without it
            rows = zip(*columns, strict=True)
            new = [{name: one for name, one in zip(names, row, strict=True) if one is not None} for row in rows]
        return [{**require_map(value, "field insertion"), **more} for value, more in zip(values, new, strict=True)]
