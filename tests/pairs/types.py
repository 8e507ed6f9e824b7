"""What becomes of a type in JSON and in columns: the words of the table in docs/how-to/formats.md, with examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafka_s3.avro.model import Branch

_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
_RED = {"type": "enum", "name": "n.Suit", "symbols": ["RED", "BLACK"]}
_FIXED = {"type": "fixed", "name": "n.F", "size": 2}
_POINT = {"type": "record", "name": "n.Point", "fields": [{"name": "x", "type": "int"}]}
_NODE = {"type": "record", "name": "n.Node", "fields": [{"name": "next", "type": ["null", "n.Node"]}]}


@dataclass(frozen=True)
class TypeExample:
    """A field's type and its value; the text in JSON, with NUMERIC where it differs; the column's type and value in
    Parquet, as pyarrow says them."""

    avro: Any
    value: Any
    text: str
    column: str = ""
    stored: Any = None
    numeric: str | None = None


@dataclass(frozen=True)
class Row:
    """A row of the table of docs/how-to/formats.md. `column` without words: the record is refused."""

    types: str
    json: str
    columns: str
    examples: Sequence[TypeExample]


def _long(logical: str) -> dict[str, str]:
    return {"type": "long", "logicalType": logical}


TYPES: Sequence[Row] = (
    Row(
        "boolean, int, long, string",
        "the same",
        "the same; int8 and int16 of Connect too",
        (
            TypeExample("long", 2**63 - 1, "9223372036854775807", "int64", 2**63 - 1),
            TypeExample("string", "a\u2028😀", '"a\u2028\\uD83D\\uDE00"', "string", "a\u2028😀"),
            TypeExample({"type": "int", "connect.type": "int16"}, -5, "-5", "int16", -5),
        ),
    ),
    Row(
        "float, double",
        'Java\'s own text (`1.0E10`); `"NaN"`, `"Infinity"`, `"-Infinity"`',
        "the same",
        (
            TypeExample("float", 0.10000000149011612, "0.1", "float", 0.10000000149011612),
            TypeExample("double", 1e10, "1.0E10", "double", 1e10),
            TypeExample("double", math.nan, '"NaN"', "double", math.nan),
            TypeExample("float", -math.inf, '"-Infinity"', "float", -math.inf),
        ),
    ),
    Row(
        "bytes, fixed",
        "base64",
        "the same",
        (
            TypeExample("bytes", b"\xff\0", '"/wA="', "binary", b"\xff\0"),
            TypeExample(
                {"type": "fixed", "name": "n.F", "size": 2}, b"\xff\0", '"/wA="', "fixed_size_binary[2]", b"\xff\0"
            ),
        ),
    ),
    Row(
        "decimal",
        "base64 of its unscaled value; a number with `json.decimal.format=NUMERIC`",
        "decimal, up to 76 digits; a value of more digits than its schema says is refused",
        (TypeExample(_DECIMAL, b"\xff\x85", '"hQ=="', "decimal128(10, 2)", -123, "-1.23"),),
    ),
    Row(
        "enum, uuid",
        "text",
        "text",
        (
            TypeExample(_RED, "RED", '"RED"', "string", "RED"),
            TypeExample({"type": "string", "logicalType": "uuid"}, "x-1", '"x-1"', "string", "x-1"),
        ),
    ),
    Row(
        "date, time, timestamp",
        "the number that it is",
        "date, time, timestamp of the same unit; in UTC, local ones without a zone",
        (
            TypeExample({"type": "int", "logicalType": "date"}, 20000, "20000", "date32[day]", 20000),
            TypeExample({"type": "int", "logicalType": "time-millis"}, 1, "1", "time32[ms]", 1),
            TypeExample(_long("time-micros"), 1, "1", "time64[us]", 1),
            TypeExample(_long("timestamp-millis"), 1, "1", "timestamp[ms, tz=UTC]", 1),
            TypeExample(_long("timestamp-nanos"), 1, "1", "timestamp[ns, tz=UTC]", 1),
            TypeExample(_long("local-timestamp-micros"), 1, "1", "timestamp[us]", 1),
        ),
    ),
    Row(
        "record, map, array",
        "object, object, list",
        "group, map, list; a record without fields, or inside itself, is refused",
        (
            TypeExample(_POINT, {"x": 1}, '{"x":1}', "struct<x: int32 not null>", {"x": 1}),
            TypeExample({"type": "map", "values": "int"}, {"a": 1}, '{"a":1}', "map<string, int32>", {"a": 1}),
            TypeExample({"type": "array", "items": "int"}, [1], "[1]", "list<element: int32 not null>", [1]),
            TypeExample({"type": "record", "name": "n.Empty", "fields": []}, {}, "{}"),
            TypeExample(_NODE, {"next": {"next": None}}, '{"next":{"next":null}}'),
        ),
    ),
    Row(
        "map of Connect whose keys are not text",
        "list of pairs",
        "list of groups `key`, `value`",
        (
            TypeExample(
                {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "io.confluent.connect.avro.MapEntry",
                        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "int"}],
                    },
                },
                [{"key": 1, "value": 2}],
                "[[1,2]]",
                "list<element: struct<key: int32 not null, value: int32 not null> not null>",
                [{"key": 1, "value": 2}],
            ),
        ),
    ),
    Row(
        "null and one type",
        "`null`, or the value",
        "a field that may be null",
        (
            TypeExample(["null", "int"], None, "null", "int32", None),
            TypeExample(["int", "null"], 5, "5", "int32", 5),
        ),
    ),
    Row(
        "any other union",
        "an object with a name for each type, all but one of them null",
        "a group with a field for each type, all but one of them null",
        (
            TypeExample(
                ["null", "int", _RED],
                Branch("n.Suit", "RED"),
                '{"int":null,"n.Suit":"RED"}',
                "struct<int: int32, n.Suit: string>",
                {"int": None, "n.Suit": "RED"},
            ),
        ),
    ),
)


def table_of_page() -> str:
    head = "| type | ¹ in JSON | ¹ in columns of Parquet |\n|---|---|---|\n"
    return head + "".join(f"| {row.types} | {row.json} | {row.columns} |\n" for row in TYPES)
