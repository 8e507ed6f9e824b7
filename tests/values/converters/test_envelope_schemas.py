"""The Avro schemas of Connect's envelopes, as AvroData writes them."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_s3.avro.model import Schema
from kafka_s3.values.converters.connect_avro import avro_schema
from kafka_s3.values.converters.connect_schema import InvalidSchema, read_schema
from tests.values.converters.envelopes import DATA, envelope
from tests.values.converters.test_envelope import DECIMAL, avro, converter, field, one, struct, told

# Schemas as AvroData writes them.


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "int8", "optional": True}, ["null", {"type": "int", "connect.type": "int8"}]),
        ({"type": "int64", "optional": True, "default": 1}, [{"type": "long", "connect.default": 1}, "null"]),
        (
            {"type": "string", "optional": True, "doc": "d", "version": 2, "name": "n"},
            ["null", {"type": "string", "connect.doc": "d", "connect.version": 2, "connect.name": "n"}],
        ),
        (
            {**DECIMAL, "optional": True},
            [
                "null",
                {
                    "type": "bytes",
                    "connect.parameters": {"scale": "2"},
                    "connect.name": f"{DATA}Decimal",
                    "scale": 2,
                    "precision": 64,
                    "logicalType": "decimal",
                },
            ],
        ),
        (
            {"type": "int32", "name": f"{DATA}Date", "optional": True},
            ["null", {"type": "int", "connect.name": f"{DATA}Date", "logicalType": "date"}],
        ),
        (
            {"type": "int32", "name": f"{DATA}Time", "optional": True},
            ["null", {"type": "int", "connect.name": f"{DATA}Time", "logicalType": "time-millis"}],
        ),
        (
            {"type": "int64", "name": f"{DATA}Timestamp", "optional": True},
            ["null", {"type": "long", "connect.name": f"{DATA}Timestamp", "logicalType": "timestamp-millis"}],
        ),
        (
            {"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}, "optional": True},
            ["null", {"type": "map", "values": "int"}],
        ),
    ],
)
def test_the_avro_schema_is_avrodatas(schema: Any, expected: Any) -> None:
    """Types, unions, defaults, logical types and Connect's own properties."""
    assert avro_schema(read_schema(schema)).avro == expected


def test_a_struct_is_a_record() -> None:
    """Its name and namespace, or ConnectDefault; fields with defaults; another name for what Avro cannot call so."""
    assert avro(struct(name="a.b.C", version=3)) == {
        "type": "record",
        "name": "C",
        "namespace": "a.b",
        "fields": [],
        "connect.version": 3,
        "connect.name": "a.b.C",
    }
    inner = struct(field("x-y", "int32", default=1), name="odd name", field="inner")
    other = struct(field("z", "string", optional=True), field="other")
    assert avro(struct({**inner, "default": {}}, {**other, "default": {}})) == {
        "type": "record",
        "name": "ConnectDefault",
        "namespace": "io.confluent.connect.avro",
        "fields": [
            {
                "name": "inner",
                "type": {
                    "type": "record",
                    "name": "odd_name",
                    "namespace": "io.confluent.connect.avro",
                    "fields": [
                        {
                            "name": "x_y",
                            "type": {"type": "int", "connect.default": 1},
                            "default": 1,
                            "connect.name": "x-y",
                        }
                    ],
                    "connect.default": {"x_y": 1},
                    "connect.name": "odd name",
                },
                "default": {"x_y": 1},
            },
            {
                "name": "other",
                "type": {
                    "type": "record",
                    "name": "ConnectDefault_2",
                    "namespace": "io.confluent.connect.avro",
                    "fields": [{"name": "z", "type": ["null", "string"], "default": None}],
                    "connect.default": {"z": None},
                },
                "default": {"z": None},
            },
        ],
    }


def test_a_struct_that_repeats_is_called_by_its_name() -> None:
    """Change events have the same row twice: defined once."""
    row = {**struct(field("id", "int64"), name="shop.Row"), "optional": True}
    made = avro(struct({**row, "field": "before"}, {**row, "field": "after"}, name="shop.Envelope"))
    assert made["fields"][0]["type"][1]["name"] == "Row"
    assert made["fields"][1] == {"name": "after", "type": ["null", "shop.Row"], "default": None}


def test_a_map_with_other_keys_is_an_array_of_entries() -> None:
    """MapEntry, or the map's own name with connect.internal.type."""
    pairs = {"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}}
    rows = converter()([envelope(pairs, '[[7,"x"],[7,"y"],[8,"z"]]')])
    assert rows.values(None) == [[{"key": 7, "value": "y"}, {"key": 8, "value": "z"}]]
    assert isinstance(rows.schemas, Schema)
    assert rows.schemas.avro["items"]["name"] == "MapEntry"  # type: ignore[call-overload,index]
    named: Any = avro_schema(read_schema({**pairs, "name": "a.M"})).avro
    assert (named["items"]["name"], named["items"]["connect.internal.type"]) == ("M", "MapEntry")


def test_an_enum_stays_one() -> None:
    """What AvroConverter made of an enum, and JsonConverter carried, is one again."""
    enum = "io.confluent.connect.avro.Enum"
    schema = {"type": "string", "parameters": {enum: "a.E", f"{enum}.A": "A", f"{enum}.B": "B"}}
    assert one(schema, '"A"') == "A"
    assert told(one(schema, '"C"')) == '"C" is not one of the enum\'s symbols'
    made: Any = avro_schema(read_schema(schema)).avro
    assert (made["type"], made["name"], made["symbols"]) == ("enum", "E", ["A", "B"])


def test_a_schema_that_cannot_be_read_is_a_reason() -> None:
    """read_schema raises nothing but InvalidSchema."""
    for json_value in (None, 1, [], {}, {"type": 5}, {"type": "struct", "fields": [1]}, {"type": "map", "keys": None}):
        with pytest.raises(InvalidSchema):
            read_schema(json_value)


def test_a_size_does_not_depend_on_the_value_before() -> None:
    """The first value of a batch is read another way than those like it, and has the same size."""
    alike = [envelope(struct(field("n", "int32")), '{"n":1}')] * 3
    assert len(set(converter()(alike).sizes())) == 1
