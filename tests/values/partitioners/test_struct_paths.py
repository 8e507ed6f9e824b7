"""Paths of values with a schema: the fields of Avro records and of Connect's envelopes, their times, their names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.adapters.memory.registry import MemoryRegistry
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Branch, Schema, schema_of
from kafka_s3.ports import RegisteredSchema
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import ColumnBatch, Record
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.paths import (
    DefaultPartitioner,
    FieldPartitioner,
    FieldTime,
    Partitioner,
    SchemaAffix,
    TimePartitioner,
)
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.shown import plain
from kafka_s3.values.converters.avro import AvroValues
from kafka_s3.values.converters.connect_anything import json_to_anything
from kafka_s3.values.converters.envelope import EnvelopeJson
from kafka_s3.values.partitioners.build import partitioner_for
from kafka_s3.values.rows import Rows
from tests.support import make_settings

TP = TopicPartition("orders", 3)
AT_MS = 1_700_000_000_123  # 2023-11-14T22:13:20.123Z
BY_F = FieldPartitioner(("f",))
EXACT = "'at='YYYY-MM-dd'T'HH-mm-ss-SSS"
INNER = {"type": "record", "name": "n.Inner", "fields": [{"name": "x", "type": ["null", "string"]}]}
ENUM = {"type": "enum", "name": "n.Hue", "symbols": ["RED", "BLUE"]}


def time_of(name: str, zone: str = "UTC") -> TimePartitioner:
    return TimePartitioner(1, EXACT, zone, "en", FieldTime(name))


def field(avro: Any, name: str = "n.Row") -> Schema:
    """A record whose field f has this type."""
    return schema_of({"type": "record", "name": name, "fields": [{"name": "f", "type": avro}]})


def avro_rows(*given: tuple[Schema, Any]) -> tuple[Rows, list[bytes | None]]:
    """Rows of values, each with its schema; no schema is a tombstone."""
    schemas = list(dict.fromkeys(schema for schema, _ in given))
    registry = MemoryRegistry({id: RegisteredSchema(id, schema.text) for id, schema in enumerate(schemas, 1)})
    raw: list[bytes | None] = [
        bytes([0, 0, 0, 0, schemas.index(schema) + 1]) + codec(schema).encode([value])[0] for schema, value in given
    ]
    return AvroValues(registry, SubjectNames.TOPIC, "orders", key=False)(raw), raw


def envelope_rows(schema: Mapping[str, Any] | None, *payloads: Any) -> tuple[Rows, list[bytes | None]]:
    raw: list[bytes | None] = [json.dumps({"schema": schema, "payload": each}).encode() for each in payloads]
    return EnvelopeJson(ConverterSettings(Converter.JSON, schemas_enable=True))(raw), raw


def paths_of(partitioner: Partitioner, rows: Rows, raw: Sequence[bytes | None], **more: Any) -> list[str]:
    """The path of each record, or `!` and why it has none."""
    assert not rows.excluded, rows.excluded
    batch = ColumnBatch(TP, [Record(offset, value) for offset, value in enumerate(raw)])
    paths = partitioner_for(make_settings(partitioner=partitioner, **more), AT_MS, ".avro")(batch, rows)
    each = [paths.each] * len(raw) if isinstance(paths.each, str) else paths.each
    return [
        f"!{plain(paths.bad[index], content=True)}" if index in paths.bad else path for index, path in enumerate(each)
    ]


def one(avro: Any, value: Any, partitioner: Partitioner = BY_F) -> str:
    """The path of a record of one field; the same alone and among many, which are read in another way."""
    schema = field(avro)
    [alone] = paths_of(partitioner, *avro_rows((schema, {"f": value})))
    assert paths_of(partitioner, *avro_rows(*[(schema, {"f": value})] * 20)) == [alone] * 20
    return alone


# Fields.


@pytest.mark.parametrize(
    ("avro", "value", "part"),
    [
        ("string", "NYC", "f=NYC"),
        ("string", "a/b%\n", "f=a%2Fb%25%0A"),
        ("int", -7, "f=-7"),
        ("long", 2**63 - 1, f"f={2**63 - 1}"),
        ({"type": "int", "connect.type": "int8"}, 5, "f=5"),
        ("boolean", True, "f=true"),
        (["null", "boolean"], False, "f=false"),
        (["null", "string"], None, "f=null"),
        (["string", "null"], "x", "f=x"),
        (["null", "int", "string"], Branch("string", "x"), "f=x"),
        (["null", "int", "string"], Branch("int", 1), "f=1"),
        (["null", "int", "string"], None, "f=null"),
        (["int"], 3, "f=3"),
        (ENUM, "BLUE", "f=BLUE"),
        ({"type": "string", "logicalType": "uuid"}, "0-1", "f=0-1"),
    ],
)
def test_the_part_that_a_field_makes(avro: Any, value: Any, part: str) -> None:
    """Text, enums, whole numbers, booleans and null, through any union."""
    assert one(avro, value) == part


@pytest.mark.parametrize(
    ("avro", "value", "said"),
    [
        ("double", 1.5, "a number with a fraction"),
        ("float", 1.0, "a number with a fraction"),
        ("bytes", b"a", "bytes"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, b"\1", "bytes"),
        ({"type": "fixed", "name": "n.F", "size": 1}, b"a", "bytes"),
        ({"type": "array", "items": "int"}, [1], "a list"),
        ({"type": "map", "values": "int"}, {"a": 1}, "an object"),
        (INNER, {"x": "y"}, "an object"),
        (["null", "int", "double"], Branch("double", 0.5), "a number with a fraction"),
        ({"type": "int", "logicalType": "date"}, 1, "a date"),
        ({"type": "long", "logicalType": "timestamp-millis"}, 1, "a timestamp-millis"),
        (["null", {"type": "long", "logicalType": "local-timestamp-micros"}], 1, "a local-timestamp-micros"),
        ({"type": "int", "logicalType": "time-millis"}, 1, "a time-millis"),
    ],
)
def test_a_field_that_makes_no_path_is_a_bad_records(avro: Any, value: Any, said: str) -> None:
    """What is not text, whole number or boolean; a date or a time is neither (the sink dies of it)."""
    assert one(avro, value).startswith(f"!field f is {said}")


def test_a_null_date_is_null() -> None:
    """Only a value of such a field is refused."""
    assert one(["null", {"type": "int", "logicalType": "date"}], None) == "f=null"


def test_fields_of_fields() -> None:
    """Nested, below a null, in a map, and several in the order configured."""
    schema = schema_of(
        {
            "type": "record",
            "name": "n.Row",
            "fields": [
                {"name": "a", "type": ["null", INNER]},
                {"name": "m", "type": {"type": "map", "values": "int"}},
                {"name": "u", "type": ["int", {**INNER, "name": "n.Other"}]},
            ],
        }
    )
    values = [
        {"a": {"x": "1"}, "m": {"k": 1}, "u": Branch("n.Other", {"x": "2"})},
        {"a": None, "m": {}, "u": Branch("int", 7)},
        {"a": {"x": None}, "m": {"k": 3}, "u": Branch("n.Other", {"x": None})},
    ]
    rows, raw = avro_rows(*[(schema, value) for value in values])
    assert paths_of(FieldPartitioner(("m.k", "a.x")), rows, raw) == [
        "m.k=1/a.x=1",
        "!field m.k is missing; there are no fields",
        "m.k=3/a.x=null",
    ]
    assert paths_of(FieldPartitioner(("a.x",)), rows, raw) == ["a.x=1", "a.x=null", "a.x=null"]
    found = paths_of(FieldPartitioner(("u.x",)), rows, raw)
    assert (found[0], found[2]) == ("u.x=2", "u.x=null")
    assert found[1] == "!field u.x: u is int, which has no fields"


def test_a_field_that_is_missing() -> None:
    """The reason lists the schema's fields; records of other schemas beside it have their paths."""
    other = schema_of({"type": "record", "name": "n.Other", "fields": [{"name": "g", "type": "int"}]})
    text = schema_of("string")
    good = (field("string"), {"f": "x"})
    rows, raw = avro_rows(good, (other, {"g": 1}), (text, "a"), *[good] * 20)
    assert paths_of(BY_F, rows, raw) == [
        "f=x",
        "!field f is missing; there are g (int)",
        "!field f: the value is string, which has no fields",
        *["f=x"] * 20,
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(["string", "long", "enum"]), st.text(max_size=3), st.integers(-(2**63), 2**63 - 1)),
        min_size=1,
        max_size=30,
    )
)
def test_two_ways_to_the_same_paths(drawn: list[tuple[str, str, int]]) -> None:
    """Whatever the schemas of a batch and its size, a record's path is the one that it has alone."""
    made = {"string": field("string", "n.A"), "long": field("long", "n.B"), "enum": field(ENUM, "n.C")}
    given = [
        (made[kind], {"f": text if kind == "string" else number if kind == "long" else "RED"})
        for kind, text, number in drawn
    ]
    alone = [paths_of(BY_F, *avro_rows(each))[0] for each in given]
    assert paths_of(BY_F, *avro_rows(*given)) == alone


def test_fields_of_an_envelope() -> None:
    """As of Avro: nested structs, nulls, defaults; Connect's dates and decimals are refused."""
    data = "org.apache.kafka.connect.data."
    schema = {
        "type": "struct",
        "fields": [
            {"field": "s", "type": "string", "optional": True},
            {"field": "i", "type": "int16", "default": 5},
            {"field": "in", "type": "struct", "optional": True, "fields": [{"field": "x", "type": "boolean"}]},
            {"field": "d", "type": "int32", "name": f"{data}Date"},
            {"field": "n", "type": "bytes", "name": f"{data}Decimal", "parameters": {"scale": "2"}},
        ],
    }
    payloads = [
        {"s": "a", "i": 1, "in": {"x": True}, "d": 1, "n": "AQ=="},
        {"s": None, "in": None, "d": 1, "n": "AQ=="},
    ]
    rows, raw = envelope_rows(schema, *payloads)
    assert paths_of(FieldPartitioner(("s", "i", "in.x")), rows, raw) == ["s=a/i=1/in.x=true", "s=null/i=5/in.x=null"]
    assert [path[:20] for path in paths_of(FieldPartitioner(("d",)), rows, raw)] == ["!field d is a date: "] * 2
    assert paths_of(FieldPartitioner(("n",)), rows, raw)[0].startswith("!field n is bytes")
    rows, raw = envelope_rows(None, {"f": 1}, {"f": 2})
    assert all(path.startswith("!field f") for path in paths_of(BY_F, rows, raw))


# Times.


@pytest.mark.parametrize(
    ("avro", "value"),
    [
        ({"type": "long", "logicalType": "timestamp-millis"}, AT_MS),
        ({"type": "long", "logicalType": "timestamp-micros"}, AT_MS * 1000 + 999),
        ({"type": "long", "logicalType": "timestamp-nanos"}, AT_MS * 1_000_000 + 999_999),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, AT_MS * 1000),
        (["null", {"type": "long", "logicalType": "timestamp-micros"}], AT_MS * 1000),
        ("long", AT_MS),
        (["null", "long"], AT_MS),
        ("string", "2023-11-14T22:13:20.123Z"),
        ("string", "2023-11-14T23:13:20.123+01:00"),
        ("string", str(AT_MS)),
        ("double", AT_MS + 0.75),
    ],
)
def test_the_time_that_a_field_says(avro: Any, value: Any) -> None:
    """Every unit that a schema can name, numbers of milliseconds, text."""
    assert one(avro, value, time_of("f")) == "at=2023-11-14T22-13-20-123"


def test_times_before_the_epoch_round_down() -> None:
    """A microsecond before it is in the millisecond before it."""
    assert one({"type": "long", "logicalType": "timestamp-micros"}, -1, time_of("f")) == "at=1969-12-31T23-59-59-999"


@pytest.mark.parametrize(
    ("avro", "value", "said"),
    [
        (["null", "long"], None, "field f is null, which is not a time"),
        (["null", {"type": "long", "logicalType": "timestamp-micros"}], None, "field f is null, which is not a time"),
        ({"type": "int", "logicalType": "date"}, 1, "field f is a date, which is not a timestamp"),
        ({"type": "long", "logicalType": "time-micros"}, 1, "field f is a time-micros, which is not a timestamp"),
        ("boolean", True, "field f is a boolean, which is not a time"),
        ("bytes", b"1", "field f is bytes, which is not a time"),
        ("string", "soon", "field f is 'soon', which is not a time"),
        ("double", float("nan"), "field f is nan, which is not a time"),
        (INNER, {"x": None}, "field f is an object, which is not a time"),
        ("long", -(2**63), "out of range"),
    ],
)
def test_a_field_that_is_no_time_is_a_bad_records(avro: Any, value: Any, said: str) -> None:
    """The reason names the field and what it holds."""
    path = one(avro, value, time_of("f"))
    assert path.startswith("!")
    assert said in path


def test_the_time_of_an_envelope() -> None:
    """Connect's Timestamp is one, nested fields too; a plain number is milliseconds."""
    stamp = {"field": "t", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
    schema = {
        "type": "struct",
        "fields": [{"field": "in", "type": "struct", "fields": [stamp, {"field": "n", "type": "int64"}]}],
    }
    rows, raw = envelope_rows(schema, {"in": {"t": AT_MS, "n": AT_MS}})
    for name in ("in.t", "in.n"):
        assert paths_of(time_of(name), rows, raw) == ["at=2023-11-14T22-13-20-123"]
    assert paths_of(time_of("in.t", "Asia/Tokyo"), rows, raw) == ["at=2023-11-15T07-13-20-123"]


# The schema's name.


@pytest.mark.parametrize("affix", [SchemaAffix.PREFIX, SchemaAffix.SUFFIX])
def test_the_schemas_name_in_the_path(affix: SchemaAffix) -> None:
    """The full name of each record's own schema, around whatever the partitioner makes; null where there is none."""

    def path(name: str, part: str) -> str:
        parts = (f"schema_name={name}", part)
        return "/".join(parts if affix is SchemaAffix.PREFIX else parts[::-1])

    one_schema, other = field("string", "shop.One"), field("int", "shop.in.Other")
    rows, raw = avro_rows((one_schema, {"f": "a"}), (other, {"f": 1}), (schema_of("string"), "x"))
    assert paths_of(DefaultPartitioner(), rows, raw, schema_affix=affix) == [
        path("shop.One", "partition=3"),
        path("shop.in.Other", "partition=3"),
        path("null", "partition=3"),
    ]
    assert paths_of(BY_F, rows, raw, schema_affix=affix)[:2] == [path("shop.One", "f=a"), path("shop.in.Other", "f=1")]
    rows, raw = avro_rows((one_schema, {"f": "a"}), (one_schema, {"f": "b"}))
    assert paths_of(DefaultPartitioner(), rows, raw, schema_affix=affix) == [path("shop.One", "partition=3")] * 2


@pytest.mark.parametrize(
    ("connect", "name"),
    [
        (None, "null"),
        ({"type": "struct", "fields": []}, "null"),
        ({"type": "struct", "name": "n.S", "fields": []}, "n.S"),
        ({"type": "struct", "name": "n.S", "fields": [], "optional": True}, "n.S"),
        ({"type": "struct", "name": "odd-name.x/y", "fields": []}, "odd-name.x%2Fy"),
        ({"type": "map", "keys": {"type": "string"}, "values": {"type": "int8"}, "name": "n.M"}, "n.M"),
    ],
)
def test_the_name_of_an_envelopes_schema(connect: Any, name: str) -> None:
    """As Connect calls it, whatever Avro has to call it; null where it has no name."""
    rows, raw = envelope_rows(connect, {})
    paths = paths_of(DefaultPartitioner(), rows, raw, schema_affix=SchemaAffix.PREFIX)
    assert paths == [f"schema_name={name}/partition=3"]


@pytest.mark.parametrize(
    ("avro", "value", "name"),
    [
        (ENUM, "RED", "n.Hue"),
        (["null", INNER], {"x": None}, "n.Inner"),
        ({"type": "string", "connect.name": "n.C"}, "a", "n.C"),
        (["null", "int", INNER], Branch("int", 1), "null"),
        ({**INNER, "name": "io.confluent.connect.avro.ConnectDefault"}, {"x": None}, "null"),
    ],
)
def test_the_name_of_an_avro_schema(avro: Any, value: Any, name: str) -> None:
    """As AvroConverter tells Connect."""
    rows, raw = avro_rows((schema_of(avro), value))
    paths = paths_of(DefaultPartitioner(), rows, raw, schema_affix=SchemaAffix.SUFFIX)
    assert paths == [f"partition=3/schema_name={name}"]


def anything_rows(*values: Any) -> tuple[Rows, list[bytes | None]]:
    raw: list[bytes | None] = [json.dumps(value).encode() for value in values]
    return json_to_anything(raw), raw


def test_paths_look_into_json_without_a_schema() -> None:
    """Into Avro such JSON goes as AvroData's Anything; paths are made of its own fields, as in the sink."""
    values = [{"f": "x"}, {"f": 7, "g": 1}, {"f": True}, {"f": None}, {"g": 1}, ["f"], {"f": {"a": 1}}]
    by_field = paths_of(BY_F, *anything_rows(*values))
    assert by_field[:4] == ["f=x", "f=7", "f=true", "f=null"]
    assert by_field[4] == "!field f is missing: there is no such field"
    assert by_field[5] == "!field f is missing: only an object has fields"
    assert by_field[6].startswith("!field f is an object: a path is made of")
    nested = FieldPartitioner(("a.b",))
    assert paths_of(nested, *anything_rows({"a": {"b": "x"}}, {"a": None})) == ["a.b=x", "a.b=null"]
    assert paths_of(time_of("t"), *anything_rows({"t": AT_MS})) == ["at=2023-11-14T22-13-20-123"]
