"""Columns as JSON text: what the values' own text is, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.adapters.memory.registry import MemoryRegistry
from kafka_s3.avro.arrow import from_values
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.avro.physical_schema import bare
from kafka_s3.ports import RegisteredSchema
from kafka_s3.settings.formats import DecimalFormat, NoCompression
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.values.converters.avro import AvroRows, AvroValues
from kafka_s3.values.formats import json_columns
from kafka_s3.values.formats.json_columns import column_text
from kafka_s3.values.formats.json_lines import JsonArray, JsonLinesFormat
from kafka_s3.values.formats.json_text import writer_for
from tests.avro.evolution import evolved
from tests.avro.strategies import avro_schemas, values_of

calm = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}
TEXTS = ["", "a", 'say "x"', "back\\slash", "\\u000b", "\n\x0b\x1f", "größe", "\u2028", "😀", "a😀\\", "\x7f"]
DOUBLES = [0.0, -0.0, 1.5, 100.0, 9999999.999999998, 1e7, -1e7, 1e-3, 9.99e-4, -12345.678, 1e300, 5e-324, 0.1]
MANY = 4  # so many times eight values or more are read as columns, not row by row
ODD = [float("nan"), float("inf"), float("-inf")]


def rows_of(schema: Schema, values: Sequence[Any]) -> AvroRows:
    registry = MemoryRegistry({1: RegisteredSchema(1, schema.text)})
    datums = [b"\0\0\0\0\1" + datum for datum in codec(schema).encode(values)]
    return AvroValues(registry, SubjectNames.TOPIC, "orders", key=False)(datums)


def check(schema: Schema, values: Sequence[Any], decimals: DecimalFormat = DecimalFormat.BASE64) -> None:
    """The text by columns of these values, decoded and not, is that by values."""
    expected = [text.decode() + ",\n" for text in writer_for(schema, decimals)(values)]
    text = column_text(schema, decimals)
    assert text is not None
    assert text(from_values(values, bare(schema)), ",\n").to_pylist() == expected
    rows, expected = rows_of(schema, [*values] * MANY), expected * MANY
    kept = [row for row in range(len(expected)) if row not in rows.excluded]  # a null is a tombstone
    rows, expected = rows.pick(kept), [expected[row] for row in kept]
    if kept:
        assert text(rows.arrow(text.columns), ",\n").to_pylist() == expected
        assert text(rows.part(1, 3).arrow(text.columns), ",\n").to_pylist() == expected[1:3]


@pytest.mark.parametrize(
    ("avro", "values"),
    [
        pytest.param("boolean", [True, False], id="boolean"),
        pytest.param("null", [None], id="null"),
        pytest.param("long", [0, -(2**63), 2**63 - 1], id="long"),
        pytest.param({"type": "int", "logicalType": "date"}, [0, -700000, 2**31 - 1], id="date"),
        pytest.param({"type": "int", "logicalType": "time-millis"}, [0, -1, 2**31 - 1], id="a time that is none"),
        pytest.param({"type": "int", "connect.type": "int8"}, [0, -129, 2**31 - 1], id="an int8 that is none"),
        pytest.param("double", DOUBLES, id="doubles"),
        pytest.param("double", [*DOUBLES, *ODD], id="doubles that are no numbers"),
        pytest.param("double", [0.25, 3.0], id="doubles in plain notation"),
        pytest.param("float", [0.0, -0.0, 1.5, 16777216.0, 2.0**-149, *ODD], id="floats"),
        pytest.param("string", ["", "plain", "größe"], id="text as it is"),
        pytest.param("string", TEXTS, id="text with escapes"),
        pytest.param("bytes", [b"", b"\0", b"\xff" * 5], id="bytes"),
        pytest.param({"type": "fixed", "name": "f", "size": 2}, [b"\0\0", b"ab"], id="fixed"),
        pytest.param({"type": "enum", "name": "e", "symbols": ["A", "B"]}, ["A", "B"], id="enum"),
        pytest.param(DECIMAL, [b"", b"\0\0\1", b"\xff\xff", b"\x7f" * 30], id="decimals, one too large"),
    ],
)
@pytest.mark.parametrize("decimals", DecimalFormat)
def test_a_column_is_written_as_its_values(avro: Any, values: list[Any], decimals: DecimalFormat) -> None:
    """Every type, by itself, with nulls, in lists, in maps and in records that may be null."""
    values = [values[row % len(values)] for row in range(13)]
    check(schema_of(avro), values, decimals)
    record = {"type": "record", "name": "R", "fields": [{"name": "x", "type": avro}, {"name": "y", "type": "int"}]}
    records = [{"x": value, "y": row} for row, value in enumerate(values)]
    check(schema_of(record), records, decimals)
    check(schema_of({"type": "array", "items": record}), [records[: row % 4] for row in range(13)], decimals)
    keyed = [dict(zip(TEXTS[: row % 5], values, strict=False)) for row in range(13)]
    check(schema_of({"type": "map", "values": avro}), keyed, decimals)
    check(schema_of(["null", record]), [None if row % 3 else each for row, each in enumerate(records)], decimals)
    if avro != "null":
        check(schema_of([avro, "null"]), [None if row % 3 else each for row, each in enumerate(values)], decimals)
        nulls = {"type": "array", "items": ["null", avro]}
        check(schema_of(nulls), [[None, each, None][: row % 4] for row, each in enumerate(values)], decimals)


def test_a_field_is_called_as_connect_calls_it() -> None:
    """By its name before Avro had to have another one, escaped where that has to be."""
    fields = [{"name": "a", "type": "int", "connect.name": 'ä"'}, {"name": "b", "type": "string"}]
    check(schema_of({"type": "record", "name": "R", "fields": fields}), [{"a": 1, "b": "x"}] * 9)


@pytest.mark.parametrize(
    "avro",
    [
        ["int", "string"],
        {"type": "array", "items": ["null", "int", "string"]},
        {"type": "record", "name": "R", "fields": [{"name": "next", "type": ["null", "R"]}]},
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "a", "type": "int", "connect.name": "c"}, {"name": "c", "type": "int"}],
        },
        {
            "type": "array",
            "items": {
                "type": "record",
                "name": "io.confluent.connect.avro.MapEntry",
                "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "int"}],
            },
        },
    ],
)
def test_some_schemas_have_no_text_by_columns(avro: Any) -> None:
    """Unions of several types, records within themselves, two fields of one name, maps with keys of other types."""
    assert column_text(schema_of(avro), DecimalFormat.BASE64) is None


@calm
@given(st.data())
def test_any_schema_is_written_as_its_values(data: st.DataObject) -> None:
    """Whatever a schema is like: where it has a text by columns, that is the text by values."""
    schema = data.draw(avro_schemas(logical=True, branches=False, zero_size=False))
    values = data.draw(st.lists(values_of(schema), min_size=8, max_size=12))
    check(schema, values, data.draw(st.sampled_from(DecimalFormat)))


@calm
@given(st.data())
def test_objects_do_not_show_how_their_text_was_made(data: st.DataObject) -> None:
    """An object of lines, or an array, of rows under another version: by columns, by values, and however cut."""
    source = data.draw(avro_schemas(record=True, logical=True, zero_size=False, depth=2))
    target = data.draw(evolved(source, steps_max=1))
    values = data.draw(st.lists(values_of(source), min_size=9, max_size=12)) * MANY
    rows = rows_of(source, values)
    try:
        expected = writer_for(target, DecimalFormat.BASE64)(rows.values(target))
    except ValueError:  # no way from the one to the other
        return
    cut = data.draw(st.integers(1, len(values) - 1))
    for format, body in (
        (JsonLinesFormat, b"".join(text + b"\n" for text in expected)),
        (JsonArray, b"[" + b",\n".join(expected) + b"]\n"),
    ):
        encoder = format(".json", NoCompression(), DecimalFormat.BASE64).open(target)
        between = 1 if format is JsonLinesFormat else 2
        sizes = [len(text) + (between if row else 1) for row, text in enumerate(expected)]
        assert encoder.rows_until(rows, 0, len(values), sum(sizes[:cut])) == cut
        made = encoder.encode(rows, 0, cut)[0] + encoder.encode(rows, cut, len(values))[0] + encoder.finish()
        assert made == body


def test_text_that_is_too_large_is_made_by_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond what one column can hold the same object comes from the values."""
    schema = schema_of({"type": "record", "name": "R", "fields": [{"name": "x", "type": "string"}]})
    rows = rows_of(schema, [{"x": "y" * 100}] * 60)
    made = []
    for limit in (json_columns.TEXT_MAX, 1000):
        monkeypatch.setattr(json_columns, "TEXT_MAX", limit)
        encoder = JsonLinesFormat(".json", NoCompression(), DecimalFormat.BASE64).open(schema)
        made.append(encoder.encode(rows, 0, 60)[0] + encoder.finish())
    assert made[0] == made[1]
    assert [json.loads(line) for line in made[0].splitlines()] == [{"x": "y" * 100}] * 60
