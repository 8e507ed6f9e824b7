"""The graph of a schema: names resolved once, logical types typed, written again as it was; and nobody beside it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import kafka_s3
from kafka_s3.avro.arrow import from_values
from kafka_s3.avro.datums import codec
from kafka_s3.avro.graph import avro_of, graph
from kafka_s3.avro.model import Branch, Schema, schema_of
from kafka_s3.avro.nodes import (
    Array,
    Date,
    Decimal,
    Fixed,
    Logical,
    Primitive,
    Record,
    TimeOfDay,
    Timestamp,
    Unit,
    held,
    holds_itself,
)
from kafka_s3.avro.physical_schema import bare
from kafka_s3.settings.formats import DecimalFormat, ParquetCodec
from kafka_s3.values.formats.json_columns import column_text
from kafka_s3.values.formats.json_text import writer_for
from kafka_s3.values.formats.parquet import ParquetFormat
from tests.avro.strategies import avro_schemas

ENGINE = Path(kafka_s3.__file__).parent
#: Where a schema's JSON is read and written; Connect's schemas are another language, with words of its own.
OF_JSON = {
    "avro/attributes.py",
    "avro/graph.py",
    "avro/model.py",
    "avro/parse.py",
    "settings/converters.py",
    *(f"values/converters/connect_{each}.py" for each in ("avro", "fast", "schema", "text_parser", "values", "weight")),
    "values/converters/header_texts.py",
    # TimestampConverter's target types, and the schemas that a transform of the user's own sees and gives.
    *("settings/transforms/kafka.py", "values/transforms/timestamps.py", "values/transforms/user_defined.py"),
    # Protobuf's own words of its types, some of which are Avro's.
    *(f"protobuf/{each}.py" for each in ("messages", "reader", "shapes", "values", "wire")),
    "values/converters/protobuf_schema.py",
    # JSON Schema's own words, Connect's behind them, and the Avro text that is inferred from JSON.
    "json_schema/load.py",
    *(f"values/converters/{each}.py" for each in ("connect_unions", "inference", "json_schema_connect")),
}
WORDS = {
    *("null", "boolean", "int", "long", "float", "double", "bytes", "string"),
    *("record", "enum", "fixed", "array", "map", "union"),
}
#: Comparisons with such a word that are of something else.
OTHERS = {
    "config.text('export.on.data.loss') == 'record'",
    *("self.avro", "self.value_schema.avro"),  # a field of the log's documents
}


@given(avro_schemas(logical=True, recursive=True))
def test_a_schema_is_written_as_it_was(schema: Schema) -> None:
    """Nothing is lost between a schema's text and its graph: neither a word nor the order of words."""
    assert schema_of(avro_of(graph(schema))).text == schema.text


@given(avro_schemas(logical=True, recursive=True))
def test_every_part_of_a_graph_is_a_schema_by_itself(schema: Schema) -> None:
    """A type taken out of its schema defines what it names, namespaces too that it had from where it stood."""
    for node in held(graph(schema)):
        alone = graph(schema_of(avro_of(node)))
        assert alone.name == node.name
        assert avro_of(alone) == avro_of(node)


def test_a_type_from_inside_keeps_its_namespace() -> None:
    """A type that has its namespace from the record around it has it still by itself."""
    inner = {"type": "fixed", "name": "Inner", "size": 2}
    outer = schema_of({"type": "record", "name": "Outer", "namespace": "n", "fields": [{"name": "a", "type": inner}]})
    record = graph(outer)
    assert isinstance(record, Record)
    assert avro_of(record.fields[0].node) == {**inner, "namespace": "n"}


def test_a_name_is_the_type_itself() -> None:
    """What refers to a type by its name leads to the same node, and a recursive record to itself."""
    tree = {"name": "below", "type": {"type": "array", "items": "n.Tree"}}
    size = {"name": "size", "type": {"type": "fixed", "name": "Size", "size": 2}}
    again = {"name": "again", "type": "n.Size"}
    record = graph(schema_of({"type": "record", "name": "n.Tree", "fields": [tree, size, again]}))
    assert isinstance(record, Record)
    below, first, second = (each.node for each in record.fields)
    assert isinstance(below, Array)
    assert below.item is record
    assert isinstance(first, Fixed)
    assert first is second
    assert first.name == "n.Size"
    assert holds_itself(record)
    assert not holds_itself(first)


@pytest.mark.parametrize(
    ("avro", "logical"),
    [
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal(9, 2)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9}, Decimal(9, 0)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 9}, None),
        ({"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 9}, Decimal(9, 0)),
        ({"type": "int", "logicalType": "date"}, Date()),
        ({"type": "long", "logicalType": "date"}, None),
        ({"type": "int", "logicalType": "time-millis"}, TimeOfDay(Unit.MILLIS)),
        ({"type": "long", "logicalType": "time-micros"}, TimeOfDay(Unit.MICROS)),
        ({"type": "long", "logicalType": "timestamp-nanos"}, Timestamp(Unit.NANOS, False)),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, Timestamp(Unit.MILLIS, True)),
        ({"type": "string", "logicalType": "uuid"}, None),
        ({"type": "long", "logicalType": ["timestamp-millis"]}, None),
    ],
)
def test_a_logical_type_is_typed(avro: Any, logical: Logical | None) -> None:
    """A logical type means something on its own type alone, with numbers that make sense; its name is the schema's."""
    node = graph(schema_of(avro))
    assert isinstance(node, Primitive | Fixed)
    assert node.logical == logical
    assert logical is None or logical.name == avro["logicalType"]


@pytest.mark.parametrize(
    ("kind", "bounds"), [("int8", 1 << 7), ("int16", 1 << 15), ("int32", 1 << 31), (None, 1 << 31)]
)
def test_an_integer_of_connect_has_its_bounds(kind: str | None, bounds: int) -> None:
    """Connect's smaller integers are an int with smaller bounds."""
    node = graph(schema_of({"type": "int", "connect.type": kind}))
    assert isinstance(node, Primitive)
    assert node.bounds == (-bounds, bounds)


# Schemas that mean the same are treated the same, however they are written.

_SPELLED = {"type": "null", "doc": "nothing"}


def test_a_null_with_words_is_null_in_json() -> None:
    """`{"type": "null", ...}` in a union is null for JSON too: made of values, and of columns."""
    for union in (["null", "int"], [_SPELLED, "int"], [{"type": "null"}, "int"]):
        schema = schema_of({"type": "record", "name": "R", "fields": [{"name": "a", "type": union}]})
        values = [{"a": None}, {"a": 7}]
        assert writer_for(schema, DecimalFormat.BASE64)(values) == [b'{"a":null}', b'{"a":7}']
        text = column_text(schema, DecimalFormat.BASE64)
        assert text is not None
        assert text(from_values(values, bare(schema)), "\n").to_pylist() == ['{"a":null}\n', '{"a":7}\n']


def test_a_null_with_words_is_no_field_of_several() -> None:
    """Of a union of several types, JSON has a field for each but null, with words or without."""
    schema = schema_of([_SPELLED, "int", "string"])
    write = writer_for(schema, DecimalFormat.BASE64)
    assert write([Branch("int", 1), None]) == [b'{"int":1,"string":null}', b"null"]


def test_a_record_beside_a_null_with_words_is_columns() -> None:
    """Equal schemas have equal columns: the record's fields, however null is written beside it."""
    record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    plain, spelled = schema_of(["null", record]), schema_of([{"type": "null"}, record])
    assert plain == spelled
    for schema in (plain, spelled):
        encoder = ParquetFormat(ParquetCodec.NONE, 1 << 20).open(schema)
        assert encoder._columns.names == ["a"]


def test_a_map_entry_within_itself_has_json() -> None:
    """AvroData's entries of a map whose values hold such maps: the text is that of pairs, as deep as they go."""
    entries = {"type": "array", "items": "io.confluent.connect.avro.MapEntry"}
    fields = [{"name": "key", "type": "int"}, {"name": "value", "type": entries}]
    entry = {"type": "record", "name": "MapEntry", "namespace": "io.confluent.connect.avro", "fields": fields}
    write = writer_for(schema_of({"type": "array", "items": entry}), DecimalFormat.BASE64)
    value = [{"key": 1, "value": [{"key": 2, "value": []}]}]
    assert json.loads(write([value])[0]) == [[1, [[2, []]]]]


def test_recursion_is_read_and_written() -> None:
    """A type that is met again inside itself, below every kind of type, is the same type there."""
    fields = [
        {"name": "union", "type": ["null", "int", "R"]},
        {"name": "array", "type": {"type": "array", "items": "R"}},
        {"name": "map", "type": {"type": "map", "values": "R"}},
    ]
    schema = schema_of({"type": "record", "name": "R", "fields": fields})
    leaf = {"union": None, "array": [], "map": {}}
    value = {"union": Branch("R", leaf), "array": [leaf, {**leaf, "union": Branch("int", 3)}], "map": {"a": leaf}}
    datums = codec(schema).encode([value])
    assert codec(schema).check(datums) == {}
    assert codec(schema).decode(datums) == [value]


# Nobody beside the graph.


def _switches(tree: ast.AST) -> Iterator[str]:
    """Where a program compares with the name of a type, or looks into a schema's JSON."""
    for node in ast.walk(tree):
        if isinstance(node, ast.MatchValue) and _word(node.value):
            yield f"{node.value.lineno}: case {ast.unparse(node.value)}"
        if isinstance(node, ast.Compare):
            for each in (node.left, *node.comparators):
                inner = each.elts if isinstance(each, ast.Tuple | ast.List | ast.Set) else [each]
                if any(map(_word, inner)):
                    yield f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Attribute) and node.attr == "avro":
            yield f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Name) and node.id in ("full_name", "hasattr"):
            yield f"{node.lineno}: {node.id}"


def _word(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in WORDS


def test_the_graph_alone_knows_the_names_of_types() -> None:
    """No module but those of a schema's JSON compares with the name of a type, resolves one, or asks a value for an
    attribute that it may not have."""
    found = [
        f"{name}:{what}"
        for file in sorted(ENGINE.rglob("*.py"))
        if (name := file.relative_to(ENGINE).as_posix()) not in OF_JSON
        for what in _switches(ast.parse(file.read_text()))
        if what.partition(": ")[2] not in OTHERS
    ]
    assert found == []


@pytest.mark.parametrize(
    "planted",
    [
        'match kind:\n    case "record":\n        pass',
        'kind == "record"',
        'kind in ("enum", "fixed")',
        "schema.avro",
        "full_name(avro, space)",
        'hasattr(rows, "has_columns")',
    ],
)
def test_a_switch_on_names_is_found(planted: str) -> None:
    """Each of these is what the test above looks for."""
    assert list(_switches(ast.parse(planted)))
