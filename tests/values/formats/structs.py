"""`Structs` over values that are there already, and what formats are tested with."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fastavro
import pyarrow as pa

from kafka_s3.avro.arrow import from_values
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.values.formats.objects import ObjectFormat
from kafka_s3.values.rows import Excluded, Structs


@dataclass(frozen=True)
class PlainStructs:
    """Rows that are plain values of one schema; `sizes` are those of their text."""

    rows: Sequence[Any]
    schemas: Schema
    excluded: Mapping[int, Excluded] = field(default_factory=dict)

    def part(self, start: int, stop: int) -> PlainStructs:
        return PlainStructs(self.rows[start:stop], self.schemas)

    def pick(self, indexes: Sequence[int]) -> PlainStructs:
        return PlainStructs([self.rows[index] for index in indexes], self.schemas)

    def sizes(self) -> Sequence[int]:
        return [len(repr(row)) for row in self.rows]

    def datums(self, target: Schema) -> Sequence[bytes]:
        assert target == self.schemas
        return [datum(row, target) for row in self.rows]

    def values(self, target: Schema) -> Sequence[Any]:
        assert target == self.schemas
        return self.rows

    def long_values(self, target: Schema) -> Sequence[Any]:
        return self.values(target)

    def arrow(self, target: Schema) -> pa.Array:
        return from_values(self.rows, target)

    def has_columns(self, target: Schema) -> bool:
        return False

    def has_datums(self, target: Schema) -> bool:
        return False

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        raise NotImplementedError


@dataclass(frozen=True)
class EncodedStructs(PlainStructs):
    """Rows that are in Avro's form already."""

    def part(self, start: int, stop: int) -> EncodedStructs:
        return EncodedStructs(self.rows[start:stop], self.schemas)

    def datums(self, target: Schema) -> Sequence[bytes]:
        return self.rows


def datum(value: Any, schema: Schema) -> bytes:
    """A value in Avro's binary form, by fastavro, which is told nothing of logical types."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(_without_logic(schema.avro)), value)
    return out.getvalue()


def _without_logic(avro: Any) -> Any:
    if isinstance(avro, list):
        return [_without_logic(each) for each in avro]
    if isinstance(avro, dict):
        return {key: _without_logic(each) for key, each in avro.items() if key != "logicalType"}
    return avro


def file_of(format: ObjectFormat, rows: Structs, count: int, cuts: Iterable[int] = ()) -> bytes:
    """An object of `count` rows that were given to the encoder in pieces."""
    assert isinstance(rows, PlainStructs)
    encoder = format.open(rows.schemas)
    edges = [0, *sorted(min(cut, count) for cut in cuts), count]
    pieces = [(start, stop) for start, stop in itertools.pairwise(edges) if stop > start]
    return b"".join([*(encoder.encode(rows, start, stop)[0] for start, stop in pieces), encoder.finish()])


ROW = schema_of(
    {
        "type": "record",
        "name": "Row",
        "namespace": "shop.sales",
        "doc": "What was sold, “as is”",
        "aliases": ["shop.Sale"],
        "fields": [
            {"name": "id", "type": "long", "doc": "by the till"},
            {"name": "name", "type": "string", "default": "nobody"},
            {"name": "note", "type": ["null", "string"], "default": None},
            {"name": "paid", "type": "boolean"},
            {"name": "price", "type": "double"},
            {
                "name": "color",
                "type": {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN"], "default": "RED"},
            },
            {"name": "raw", "type": {"type": "fixed", "name": "Raw", "size": 3}},
            {"name": "tags", "type": {"type": "array", "items": {"type": "array", "items": "string"}}},
            {"name": "counts", "type": {"type": "map", "values": ["null", "int"]}},
            {
                "name": "at",
                "type": [
                    "null",
                    {"type": "record", "name": "At", "fields": [{"name": "x", "type": "float"}]},
                ],
            },
        ],
        "owner": "till team",
    }
)


def row(number: int) -> dict[str, Any]:
    """A value of ROW: nulls, empty text, empty and nested collections among them."""
    return {
        "id": number * 7919,
        "name": "" if number % 5 == 0 else f"Müller {number}",
        "note": None if number % 3 == 0 else f"note {number * 2654435761 % 2**32:x}",
        "paid": number % 2 == 0,
        "price": number / 8,
        "color": ("RED", "GREEN")[number % 2],
        "raw": number.to_bytes(3, "big"),
        "tags": [[], ["a", ""], [f"t{number}"]][: number % 4],
        "counts": {"a": number, "b": None} if number % 2 else {},
        "at": None if number % 4 == 0 else {"x": number / 4},
    }


def field_schema(avro: Any) -> Schema:
    """A record with one field `f`."""
    return schema_of({"type": "record", "name": "One", "fields": [{"name": "f", "type": avro}]})


Reader = Callable[[bytes], list[Any]]
