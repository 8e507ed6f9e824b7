"""Schemas and values as Arrow columns."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.avro.arrow import DEPTH_MAX, ColumnsError, arrow_type, can_misfit, from_values, may_be_null, misfits
from kafka_s3.avro.model import Branch, Schema, full_name, schema_of
from kafka_s3.shown import plain
from tests.avro.strategies import avro_schemas, values_of


def decimal(precision: int, scale: int, **more: Any) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale, **more}


def logical(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "logicalType": name}


def fixed(size: int, **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": "n.F", "size": size, **more}


TYPES: list[tuple[Any, pa.DataType]] = [
    ("null", pa.null()),
    ("boolean", pa.bool_()),
    ("int", pa.int32()),
    ("long", pa.int64()),
    ("float", pa.float32()),
    ("double", pa.float64()),
    ("bytes", pa.binary()),
    ("string", pa.string()),
    ({"type": "string", "avro.java.string": "String"}, pa.string()),
    ({"type": {"type": "int"}}, pa.int32()),
    ({"type": "int", "connect.type": "int8"}, pa.int8()),
    ({"type": "int", "connect.type": "int16"}, pa.int16()),
    (logical("int", "date"), pa.date32()),
    (logical("int", "time-millis"), pa.time32("ms")),
    (logical("long", "time-micros"), pa.time64("us")),
    (logical("long", "timestamp-millis"), pa.timestamp("ms", "UTC")),
    (logical("long", "timestamp-micros"), pa.timestamp("us", "UTC")),
    (logical("long", "timestamp-nanos"), pa.timestamp("ns", "UTC")),
    (logical("long", "local-timestamp-millis"), pa.timestamp("ms")),
    (logical("long", "local-timestamp-micros"), pa.timestamp("us")),
    (logical("long", "local-timestamp-nanos"), pa.timestamp("ns")),
    (logical("string", "uuid"), pa.string()),
    (logical("int", "timestamp-millis"), pa.int32()),  # not of that type: means nothing
    (logical("long", "unheard-of"), pa.int64()),
    ({"type": "long", "logicalType": ["no", "text"]}, pa.int64()),
    (decimal(1, 0), pa.decimal128(1, 0)),
    (decimal(38, 38), pa.decimal128(38, 38)),
    (decimal(39, 2), pa.decimal256(39, 2)),
    (decimal(64, 2), pa.decimal256(64, 2)),  # what Connect's AvroData writes for every decimal
    (decimal(76, 0), pa.decimal256(76, 0)),
    (decimal(77, 0), pa.binary()),
    (decimal(5, 6), pa.binary()),
    (decimal(5, -1), pa.binary()),
    (decimal(0, 0), pa.binary()),
    ({"type": "bytes", "logicalType": "decimal"}, pa.binary()),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4}, pa.decimal128(4, 0)),
    (fixed(3), pa.binary(3)),
    (fixed(12, logicalType="duration"), pa.binary(12)),
    (fixed(16, logicalType="uuid"), pa.binary(16)),
    (fixed(2, logicalType="decimal", precision=4, scale=1), pa.decimal128(4, 1)),
    (fixed(2, logicalType="decimal", precision=5, scale=1), pa.binary(2)),  # two bytes hold four digits
    (fixed(0, logicalType="decimal", precision=1), pa.binary()),
    (fixed(0), pa.binary()),
    (fixed(256), pa.binary(256)),
    (fixed(257), pa.binary()),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, pa.string()),
    (["null", "int"], pa.int32()),
    (["int", "null"], pa.int32()),
    (["int"], pa.int32()),
    (["null"], pa.null()),
    ({"type": "array", "items": "int"}, pa.list_(pa.field("element", pa.int32(), nullable=False))),
    ({"type": "array", "items": ["null", "int"]}, pa.list_(pa.field("element", pa.int32()))),
    ({"type": "map", "values": "int"}, pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))),
    ({"type": "map", "values": ["int", "null"]}, pa.map_(pa.string(), pa.int32())),
    (
        ["null", "int", "string", {"type": "array", "items": "long"}, fixed(2)],
        pa.struct(
            {
                "int": pa.int32(),
                "string": pa.string(),
                "array": pa.list_(pa.field("element", pa.int64(), nullable=False)),
                "n.F": pa.binary(2),
            }
        ),
    ),
]


@pytest.mark.parametrize(("avro", "type"), TYPES, ids=str)
def test_each_type_is_the_column_of_its_kind(avro: Any, type: pa.DataType) -> None:
    """By itself, and as a field, which may be null exactly where its type is null or a union with null."""
    assert arrow_type(schema_of(avro)) == type
    record = schema_of({"type": "record", "name": "R", "fields": [{"name": "f", "type": avro}]})
    null = avro == "null" or (isinstance(avro, list) and "null" in avro)
    assert arrow_type(record) == pa.struct([pa.field("f", type, nullable=null)])
    assert may_be_null(schema_of(avro)) is null
    assert not may_be_null(record)


def test_fields_keep_their_order_and_names_are_found_again() -> None:
    """Named types are known by their full name, and those inside a namespace by the short one too."""
    schema = schema_of(
        {
            "type": "record",
            "name": "n.A",
            "fields": [
                {"name": "z", "type": {"type": "record", "name": "B", "fields": [{"name": "q", "type": "int"}]}},
                {"name": "y", "type": ["null", "n.B"]},
                {"name": "x", "type": {"type": "array", "items": "B"}},
                {"name": "w", "type": ["string", "B"]},
            ],
        }
    )
    b = pa.struct([pa.field("q", pa.int32(), nullable=False)])
    assert arrow_type(schema) == pa.struct(
        [
            pa.field("z", b, nullable=False),
            pa.field("y", b),
            pa.field("x", pa.list_(pa.field("element", b, nullable=False)), nullable=False),
            pa.field("w", pa.struct([pa.field("string", pa.string()), pa.field("n.B", b)]), nullable=False),
        ]
    )


def held(array: pa.Array) -> list[Any]:
    """What an array holds, dates and times as their numbers, which Python's own classes cannot all hold."""
    type = array.type
    valid = array.is_valid().to_pylist()
    if pa.types.is_struct(type):
        names = [field.name for field in type]
        fields = [held(array.field(index)) for index in range(len(names))]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)]
    elif pa.types.is_list(type) or pa.types.is_map(type):
        is_list = pa.types.is_list(type)
        items = held(array.values) if is_list else list(zip(held(array.keys), held(array.items), strict=True))
        rows = [items[start:end] for start, end in itertools.pairwise(array.offsets.to_pylist())]
    else:
        numbers = pa.types.is_temporal(type)
        rows = (array.view(pa.int32() if type.bit_width == 32 else pa.int64()) if numbers else array).to_pylist()
    return [row if there else None for row, there in zip(rows, valid, strict=True)]


def expected(value: Any, node: Any, named: dict[str, Any]) -> Any:
    """A plain value as `held` gives it back."""
    if isinstance(node, str):
        node = named.get(node, node)
    match node:
        case str():
            return value
        case list():
            branches = {_name(branch): branch for branch in node if branch != "null"}
            for branch in branches.values():
                _define(branch, named)
            if value is None:
                return None
            if not isinstance(value, Branch):
                return expected(value, *branches.values(), named)
            return {
                name: expected(value.value, branch, named) if name == value.name else None
                for name, branch in branches.items()
            }
        case {"type": "record"}:
            return {each["name"]: expected(value[each["name"]], each["type"], named) for each in node["fields"]}
        case {"type": "array"}:
            return [expected(each, node["items"], named) for each in value]
        case {"type": "map"}:
            return [(key, expected(each, node["values"], named)) for key, each in value.items()]
        case {"logicalType": "decimal", "scale": scale}:
            return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale)
    return value


def _name(node: Any) -> str:
    if isinstance(node, str):
        return node
    return full_name(node) if node["type"] in ("record", "enum", "fixed") else str(node["type"])


def _define(node: Any, named: dict[str, Any]) -> None:
    """Every named type, wherever it stands."""
    if isinstance(node, list):
        for each in node:
            _define(each, named)
    elif isinstance(node, dict):
        if node["type"] in ("record", "enum", "fixed"):
            named[full_name(node)] = node
        for each in (node.get("items"), node.get("values"), *(field["type"] for field in node.get("fields", ()))):
            _define(each, named)


def columns_or_none(schema: Schema) -> pa.DataType | None:
    """The type, or `None` if a record in it has no fields, which Parquet has no columns for."""
    try:
        return arrow_type(schema)
    except ColumnsError:
        if '"fields":[]' not in schema.text:
            raise
        return None


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # drawing text for the first time is slow
@given(st.data())
def test_values_come_back_from_their_columns(data: st.DataObject) -> None:
    """Whatever the schema and its values, the array has the schema's type, is valid, and holds the same values."""
    schema = data.draw(avro_schemas(logical=True))
    type = columns_or_none(schema)
    if type is None:
        return
    values = data.draw(st.lists(values_of(schema), max_size=5))
    array = from_values(values, schema)
    assert array.type == type
    array.validate(full=True)
    named: dict[str, Any] = {}
    _define(schema.avro, named)
    assert held(array) == [expected(value, schema.avro, named) for value in values]
    assert misfits(values, schema) == {}


@given(st.integers(1, 76), st.integers(-(10**80), 10**80), st.integers(0, 3))
def test_a_decimal_with_too_many_digits_is_named(precision: int, number: int, padding: int) -> None:
    """A decimal fits exactly if it has no more digits than the schema's precision; leading bytes count for nothing."""
    schema = schema_of(decimal(precision, precision // 2))
    sign = b"\xff" if number < 0 else b"\0"
    value = sign * padding + number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    assert can_misfit(schema)
    if abs(number) < 10**precision:
        assert misfits([value], schema) == {}
        digits = str(abs(number)).rjust(precision // 2 + 1, "0")
        point = len(digits) - precision // 2
        shown = f"{'-' if number < 0 else ''}{digits[:point]}.{digits[point:] or 0}"
        assert from_values([value], schema)[0].as_py() == Decimal(shown)
    else:
        assert f"more than the {precision} digits" in misfits([value], schema)[0]
        with pytest.raises(ColumnsError, match="the value is a decimal of"):
            from_values([value], schema)


def test_a_decimal_may_be_as_long_as_a_message() -> None:
    """A megabyte of digits is refused before any arithmetic that takes more time than the bytes do."""
    assert misfits([b"\x7f" * 1_000_000], schema_of(decimal(38, 2))).keys() == {0}


@pytest.mark.parametrize(("kind", "bound"), [("int8", 1 << 7), ("int16", 1 << 15)])
def test_connects_small_numbers_have_their_ranges(kind: str, bound: int) -> None:
    """The int of a connect.type that does not fit it is named with its field, wherever it lies."""
    avro = {"type": "map", "values": ["null", {"type": "int", "connect.type": kind}]}
    schema = schema_of(
        {"type": "record", "name": "R", "fields": [{"name": "m", "type": {"type": "array", "items": avro}}]}
    )
    values = [{"m": [{"a": number, "b": None}]} for number in (-bound - 1, -bound, bound - 1, bound)]
    found = misfits(values, schema)
    assert found.keys() == {0, 3}
    assert plain(found[3], content=True) == f"the field m.[].{{}} is {bound}, which is not an {kind}, its connect.type"
    assert from_values(values[1:3], schema).to_pylist() == [
        {"m": [[("a", -bound), ("b", None)]]},
        {"m": [[("a", bound - 1), ("b", None)]]},
    ]


def test_a_schema_that_holds_all_its_values_is_not_searched() -> None:
    """Most schemas need no check: nobody has to make values for one."""
    schema = schema_of({"type": "record", "name": "R", "fields": [{"name": "a", "type": ["int", "string"]}]})
    assert not can_misfit(schema)
    assert can_misfit(schema_of({"type": "array", "items": ["string", decimal(4, 2)]}))


def test_nulls_of_records_and_branches_are_nulls() -> None:
    """A null in a union of several types is not a value at all, and a branch's null parts stay apart from it."""
    inner = {"type": "record", "name": "I", "fields": [{"name": "q", "type": "long"}]}
    schema = schema_of({"type": "array", "items": ["null", "string", inner]})
    array = from_values([[None, Branch("I", {"q": 1}), Branch("string", "")], []], schema)
    assert array.to_pylist() == [[None, {"string": None, "I": {"q": 1}}, {"string": "", "I": None}], []]


def nested(kind: dict[str, Any], key: str, levels: int) -> Any:
    avro: Any = "int"
    for _ in range(levels):
        avro = {**kind, key: avro}
    return avro


def doubling(levels: int) -> Any:
    """2^levels fields in a few hundred bytes."""
    avro: Any = "int"
    for level in range(levels):
        name = f"L{level}"
        avro = {
            "type": "record",
            "name": name,
            "fields": [{"name": "a", "type": avro}, {"name": "b", "type": _again(avro)}],
        }
    return avro


def _again(avro: Any) -> Any:
    return avro if isinstance(avro, str) else avro["name"]


@pytest.mark.parametrize(
    ("avro", "said"),
    [
        (
            {"type": "record", "name": "n.T", "fields": [{"name": "left", "type": ["null", "n.T"]}]},
            "the field left is n.T inside n.T: columns cannot nest without end",
        ),
        (
            {"type": "array", "items": {"type": "record", "name": "E", "fields": []}},
            "the field [] is E, a record without fields",
        ),
        (doubling(40), "the schema has more than 10000 fields"),
        (nested({"type": "array"}, "items", DEPTH_MAX + 1), "lies more than 48 types deep"),
        (nested({"type": "map"}, "values", DEPTH_MAX + 1), "lies more than 48 types deep"),
        ("n.Nowhere", "n.Nowhere is neither a type of Avro nor one that the schema defines before"),
        ({"type": 7}, 'this is not an Avro schema (TypeError): {"type":7}'),
    ],
)
def test_what_cannot_be_columns_is_said(avro: Any, said: str) -> None:
    """Recursive, empty, endless and unknown types are an error that names the field and the way out."""
    with pytest.raises(ColumnsError) as raised:
        arrow_type(schema_of(avro))
    assert said in plain(str(raised.value), content=True)


def test_deep_but_finite_is_fine() -> None:
    """As many levels of lists as there may be are columns."""
    assert pa.types.is_list(arrow_type(schema_of(nested({"type": "array"}, "items", DEPTH_MAX))))
