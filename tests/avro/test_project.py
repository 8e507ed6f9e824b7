"""Values of one schema read under another: always possible where the schemas say so, and as Avro means it."""

from __future__ import annotations

import io
import struct
from typing import Any

import fastavro
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kafka_s3 import shown
from kafka_s3.avro.compatibility import Keep, compare
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Avro, Branch, Compatibility, Schema, schema_of
from kafka_s3.avro.nodes import Node
from kafka_s3.avro.parse import SchemaError
from kafka_s3.avro.project import float32, projector, unchanged
from tests.avro.evolution import evolved, is_valid, same
from tests.avro.strategies import avro_schemas, values_of


def record(*fields: tuple[str, Avro] | tuple[str, Avro, Any] | dict[str, Any], name: str = "n.R") -> Avro:
    made = [
        each
        if isinstance(each, dict)
        else {"name": each[0], "type": each[1], **({"default": each[2]} if each[2:] else {})}
        for each in fields
    ]
    return {"type": "record", "name": name, "fields": made}


def enum_of(*symbols: str, name: str = "n.E") -> Avro:
    return {"type": "enum", "name": name, "symbols": list(symbols)}


def rows(table: list[tuple[Any, ...]]) -> list[Any]:
    return [pytest.param(*each[1:], id=each[0]) for each in table]


LIST = ["null", "n.L"]
BRANCHES: Avro = ["null", "int", "string", record(("a", "int"), name="n.A")]

PROJECTED: list[tuple[Any, ...]] = [
    (
        "fields by name",
        record(("a", "int"), ("b", "string")),
        record(("b", "string"), ("a", "int")),
        {"a": 1, "b": "x"},
        {"b": "x", "a": 1},
    ),
    ("a field too many", record(("a", "int"), ("b", "int")), record(("b", "int")), {"a": 1, "b": 2}, {"b": 2}),
    ("every field too many", record(("a", "int")), record(), {"a": 1}, {}),
    ("a default", record(), record(("a", "string", "x")), {}, {"a": "x"}),
    ("a default of bytes", record(), record(("a", "bytes", "\u00ff")), {}, {"a": b"\xff"}),
    (
        "a default of records",
        record(),
        record(("a", record(("b", "int", 3), ("c", ["null", "int"]), name="n.A"), {})),
        {},
        {"a": {"b": 3, "c": None}},
    ),
    ("a default of a union", record(), record(("a", ["int", "string"], 4)), {}, {"a": Branch("int", 4)}),
    ("a default of a union's later type", record(), record(("a", ["null", "string"], "x")), {}, {"a": "x"}),
    ("a whole number for a double", record(), record(("a", "double", 4)), {}, {"a": 4.0}),
    ("no default, but optional", record(), record(("a", ["null", "int"])), {}, {"a": None}),
    ("Connect's own default", record(), record(("a", {"type": "int", "connect.default": 9})), {}, {"a": 9}),
    (
        "an alias",
        record(("old", "int")),
        record({"name": "a", "type": "long", "aliases": ["old"]}),
        {"old": 1},
        {"a": 1},
    ),
    (
        "the record's alias",
        record(("a", "int"), name="n.Old"),
        {**record(("a", "int")), "aliases": ["Old"]},
        {"a": 1},
        {"a": 1},
    ),
    ("required to optional", record(("a", "int")), record(("a", ["null", "long"])), {"a": 1}, {"a": 1}),
    ("optional to a default", record(("a", ["null", "int"])), record(("a", "long", 5)), {"a": None}, {"a": 5}),
    ("optional to a default, there", record(("a", ["null", "int"])), record(("a", "double", 5)), {"a": 1}, {"a": 1.0}),
    ("int to float", "int", "float", 16777217, 16777216.0),
    ("int to double", "int", "double", 16777217, 16777217.0),
    ("float to double", "float", "double", 0.5, 0.5),
    ("small to int", {"type": "int", "connect.type": "int8"}, "int", 1, 1),
    ("items", {"type": "array", "items": "int"}, {"type": "array", "items": "double"}, [1, 2], [1.0, 2.0]),
    ("values", {"type": "map", "values": "int"}, {"type": "map", "values": "double"}, {"a": 1}, {"a": 1.0}),
    ("more symbols", enum_of("A", "B"), enum_of("B", "C", "A"), "A", "A"),
    ("into a union", "int", ["null", "string", "int"], 1, Branch("int", 1)),
    ("into a union, promoted", "int", ["null", "string", "double"], 1, Branch("double", 1.0)),
    ("an optional's null into a union", ["null", "int"], ["null", "string", "int"], None, None),
    ("an optional into a union", ["null", "int"], ["null", "string", "int"], 1, Branch("int", 1)),
    (
        "branches by name",
        BRANCHES,
        ["string", "null", record(("b", "int", 1), ("a", "long"), name="n.A"), "long"],
        Branch("n.A", {"a": 2}),
        Branch("n.A", {"b": 1, "a": 2}),
    ),
    (
        "branches promoted",
        BRANCHES,
        ["string", "null", record(("a", "long"), name="n.A"), "double"],
        Branch("int", 2),
        Branch("double", 2.0),
    ),
    ("a union's null", BRANCHES, ["string", "null", record(name="n.A"), "double"], None, None),
    ("out of a union", ["int", "long"], "double", Branch("long", 2), 2.0),
    (
        "a list without end",
        record(("v", "int"), ("next", LIST), name="n.L"),
        record(("next", LIST), ("v", "double"), name="n.L"),
        {"v": 1, "next": {"v": 2, "next": None}},
        {"next": {"next": None, "v": 2.0}, "v": 1.0},
    ),
]

NEVER: list[tuple[Any, ...]] = [
    ("no default", record(), record(("a", "int")), "a: the field is not there, and has no default"),
    ("no null", record(("a", ["null", "int"])), record(("a", "int")), "a: [null, int]"),
    (
        "narrower",
        record(("a", record(("b", "long"), name="n.A"))),
        record(("a", record(("b", "int"), name="n.A"))),
        "a.b: long",
    ),
    ("text and bytes", "string", "bytes", "the value: string cannot be read as bytes"),
    ("bytes and text", "bytes", "string", "bytes cannot be read as string"),
    ("another name", record(), record(name="n.S"), "record n.R"),
    ("items", {"type": "array", "items": "string"}, {"type": "array", "items": "int"}, "[]: string"),
    ("a symbol less", enum_of("A", "B"), enum_of("B"), "it lacks the symbol A"),
    ("another size", {"type": "fixed", "name": "F", "size": 3}, {"type": "fixed", "name": "F", "size": 4}, "3 bytes"),
    (
        "a branch less",
        BRANCHES,
        ["null", "int", "boolean", record(("a", "int"), name="n.A")],
        "string cannot be read as int",
    ),
    (
        "another unit",
        {"type": "long", "logicalType": "timestamp-millis"},
        {"type": "long", "logicalType": "timestamp-micros"},
        "timestamp-millis",
    ),
    (
        "days as milliseconds",
        {"type": "int", "logicalType": "date"},
        {"type": "long", "logicalType": "timestamp-millis"},
        "logical types differ",
    ),
    (
        "another scale",
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
        "decimal, 9, 2",
    ),
    ("into a small one", "int", {"type": "int", "connect.type": "int16"}, "too large"),
    (
        "a default of another type",
        record(),
        record(("a", "int", "x")),
        'a: the default "x" is not a value of its type (int)',
    ),
    ("a default too large", record(), record(("a", "int", 2**31)), "the default 2147483648 is not a value"),
    ("no schema", "int", "n.Unknown", "n.Unknown is neither a type of Avro"),
]


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"), [each[1:] for each in PROJECTED], ids=[each[0] for each in PROJECTED]
)
def test_a_value_is_projected(source: Avro, target: Avro, value: Any, expected: Any) -> None:
    """Each rule of SchemaProjector, and of Avro's aliases, on a value."""
    assert is_valid(value, schema_of(source))
    projected = projector(schema_of(source), schema_of(target))(value)
    assert same(projected, expected)
    assert is_valid(projected, schema_of(target))


@pytest.mark.parametrize(("source", "target", "said"), rows(NEVER))
def test_where_there_is_no_way_the_schemas_alone_say_so(source: Avro, target: Avro, said: str) -> None:
    """What cannot be projected is found before any value is seen, and the message says where."""
    with pytest.raises(SchemaError) as raised:
        projector(schema_of(source), schema_of(target))
    assert said in shown.plain(str(raised.value), content=True)


def test_the_same_schema_copies_nothing() -> None:
    """Between equal schemas the projector hands the value back, also where only documentation differs."""
    plain = record(("a", {"type": "array", "items": "int"}), ("u", BRANCHES))
    told = {**record(("a", {"type": "array", "items": "int"}), ("u", BRANCHES)), "doc": "told"}
    assert projector(schema_of(plain, version=1), schema_of(plain, version=2)) is unchanged
    assert projector(schema_of(plain), schema_of(told)) is unchanged


def test_values_share_no_default() -> None:
    """Whoever changes one value's list changes no other's."""
    project = projector(schema_of(record()), schema_of(record(("a", {"type": "array", "items": "int"}, [1]))))
    project({})["a"].append(2)
    assert project({}) == {"a": [1]}


def test_a_schema_that_names_a_type_often_is_built_once() -> None:
    """2^30 ways lead through this pair of schemas, and building takes as long as there are types."""

    def chain(number: str) -> Avro:
        avro: Avro = record(("v", number), name="n.R0")
        for level in range(1, 30):
            avro = record(("x", avro), ("y", f"n.R{level - 1}"), name=f"n.R{level}")
        return avro

    assert projector(schema_of(chain("int")), schema_of(chain("double"))) is not unchanged
    with pytest.raises(SchemaError):
        projector(schema_of(chain("double")), schema_of(chain("int")))


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_long_becomes_the_nearest_float(number: int) -> None:
    """No other float of 32 bits is nearer, and of two equally near it is the even one; a double between would err."""
    rounded = float32(number)
    bits = struct.unpack("<i", struct.pack("<f", abs(rounded)))[0]
    around = [struct.unpack("<f", struct.pack("<i", bits + step))[0] for step in (-1, 1) if bits + step >= 0]
    distance = abs(int(rounded) - number)
    for other in around:
        further = abs(int(other) - abs(number))
        assert distance < further or (distance == further and bits % 2 == 0)


@given(st.data())
def test_what_compatibility_keeps_can_be_projected(data: st.DataObject) -> None:
    """Wherever `compare` keeps, in either direction, there is a projector, and what it makes is valid."""
    first = data.draw(avro_schemas(record=True, logical=True, recursive=True))
    second = data.draw(evolved(first))
    for source, target in ((first, second), (second, first)):
        one, other = Schema(source.text, version=1), Schema(target.text, version=1)
        if compare(one, other, Compatibility.BACKWARD) != Keep():
            continue
        project = projector(source, target)
        for value in data.draw(st.lists(values_of(source), max_size=3)):
            assert is_valid(value, source)
            assert is_valid(project(value), target)


@given(st.data())
def test_avro_resolves_to_the_same(data: st.DataObject) -> None:
    """Where Avro's own resolution has a meaning, it is ours."""
    source = data.draw(avro_schemas(record=True, branches=False, recursive=True))
    target = data.draw(evolved(source))
    value = data.draw(values_of(source))
    try:
        project = projector(source, target)
    except SchemaError:
        assume(False)
    written = io.BytesIO()
    fastavro.schemaless_writer(written, _parsed(source), value)
    written.seek(0)
    try:
        resolved = fastavro.schemaless_reader(written, _parsed(source), _parsed(target))
    except (fastavro.read.SchemaResolutionError, TypeError, ValueError):
        assume(False)  # Connect's defaults for nulls are beyond Avro
    assert project(value) == _plain(resolved, graph(target))


def _parsed(schema: Schema) -> Any:
    return fastavro.parse_schema(schema.avro)


def _plain(value: Any, node: Node) -> Any:
    """What fastavro gives, as `schemas.model` has it: it rounds no float, and takes defaults as they stand."""
    match node.kind:
        case "union" if value is None or node.optional is not None:
            return None if value is None else _plain(value, node.required)
        case "union":
            return Branch("int" if isinstance(value, int) else "string", value)
        case "float":
            return struct.unpack("<f", struct.pack("<f", value))[0]
        case "bytes" | "fixed" if isinstance(value, str):
            return value.encode("latin-1")
        case "array":
            return [_plain(each, node.item) for each in value]
        case "map":
            return {key: _plain(each, node.item) for key, each in value.items()}
        case "record":
            return {each.name: _plain(value.get(each.name, each.default), each.node) for each in node.fields}
    return value
