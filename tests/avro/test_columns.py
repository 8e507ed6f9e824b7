"""Batches read all rows at once: the same rows, columns and Arrow arrays as value by value."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from kafka_s3.avro.arrow import ColumnsError, arrow_type, from_values
from kafka_s3.avro.batch_reader import TYPES_MAX, columns_of
from kafka_s3.avro.column_nodes import ITEMS_MAX, ROUNDS_MAX
from kafka_s3.avro.datum_reader import FEW
from kafka_s3.avro.datum_writer import long_bytes
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Branch, Schema, schema_of
from kafka_s3.avro.vectors import Buffer
from tests.avro.strategies import avro_schemas, values_of
from tests.avro.test_arrow import held

calm = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
LIST = {"type": "array", "items": "int"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}


def record(**fields: Any) -> Schema:
    listed = [{"name": name, "type": kind} for name, kind in fields.items()]
    return schema_of({"type": "record", "name": "n.R", "fields": listed})


def longs(*numbers: int) -> list[bytes]:
    return [long_bytes(number) for number in numbers]


@st.composite
def rows(draw: st.DrawFn) -> tuple[Schema, list[Any]]:
    schema = draw(avro_schemas(logical=True, zero_size=False))
    return schema, draw(st.lists(values_of(schema, size_max=4), max_size=12))


@calm
@given(rows())
@example((record(at=MILLIS), [{"at": -62_135_596_800_001}, {"at": 253_402_300_800_000}]))
@example((record(at=MILLIS), [{"at": -86_399_999_913_600_001}, {"at": 2**63 - 1}, {"at": -(2**63)}]))
def test_arrow_is_that_of_the_values(drawn: tuple[Schema, list[Any]]) -> None:
    """Any schema that Arrow has, any values, times that Python has no dates for among them: the array made from the
    bytes equals the one made from the values."""
    schema, values = drawn
    try:
        kind = arrow_type(schema)
    except ColumnsError:
        assume(False)
    made = codec(schema)
    columns = made.columns
    assert columns is not None
    scan = columns.scan(made.encode(values))
    assert scan.doubtful() == []
    array = scan.arrow()
    assert array is not None
    assert array.type == kind
    array.validate(full=True)
    expected = from_values(values, schema)
    assert array.equals(expected)
    assert held(array) == held(expected)


@calm
@given(st.data())
def test_parquet_takes_either_array_for_the_same(data: st.DataObject) -> None:
    """Written to Parquet, the array made from the bytes and the one made from the values are the same bytes."""
    schema = data.draw(avro_schemas(record=True, logical=True, zero_size=False))
    values = data.draw(st.lists(values_of(schema), min_size=1, max_size=8))
    made = codec(schema)
    assert made.columns is not None
    array = made.columns.scan(made.encode(values)).arrow()
    assert _parquet(array) == _parquet(from_values(values, schema))


def _parquet(array: Any) -> bytes:
    fields = list(array.type)
    columns = [array.field(index) for index in range(len(fields))]
    body = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, schema=pa.schema(fields)), body)
    return body.getvalue()


@calm
@given(st.data())
def test_rows_that_are_wrong_do_not_change_the_others(data: st.DataObject) -> None:
    """Among datums that are cut off or too long, the valid rows keep their columns, in their order."""
    schema = data.draw(avro_schemas(record=True, logical=True, zero_size=False))
    values = data.draw(st.lists(values_of(schema), min_size=1, max_size=12))
    made = codec(schema)
    columns = made.columns
    assert columns is not None
    wrong = data.draw(st.lists(st.sampled_from(["", "cut", "more"]), min_size=len(values), max_size=len(values)))
    change = {"": lambda datum: datum, "cut": lambda datum: datum[:-1], "more": lambda datum: datum + b"\0"}
    batch = [change[each](datum) for each, datum in zip(wrong, made.encode(values), strict=True)]
    scan = columns.scan(batch)
    refused = set(made.check(batch))
    assert refused <= set(scan.doubtful())
    kept = [row for row in range(len(batch)) if row not in set(scan.doubtful())]
    decoded = made.decode([batch[row] for row in kept])
    for name in (field["name"] for field in schema.avro["fields"]):  # type: ignore[index, call-overload]
        column = scan.column((name,))
        assert column is None or repr(column) == repr([value[name] for value in decoded])


@calm
@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 70).map(lambda bits: (1 << bits) % 2**63), max_size=9)
)
@example([2**63 - 1, -(2**63), 0])
@example([63, 64, -64, -65, 8191, 8192, 2**27, 2**34, 2**41, 2**48, 2**55 - 1, 2**55, 2**62 - 1, 2**62])
def test_numbers_of_every_length(numbers: list[int]) -> None:
    """Numbers of one to ten bytes come out as they went in, and each says where it ends."""
    buffer = Buffer(longs(*numbers))
    found, ends = buffer.varints(buffer.starts)
    assert found.tolist() == numbers
    assert ends.tolist() == buffer.ends.tolist()


@calm
@given(st.lists(st.binary(min_size=1, max_size=12), min_size=1, max_size=12))
@example([b"\xff" * 9 + b"\x01", b"\xff" * 9 + b"\x02", b"\xff" * 11, b"\x80\x00", b"\x80"])
def test_numbers_that_are_none(datums: list[bytes]) -> None:
    """Random bytes are a number here exactly if the strict reader says so."""
    for kind in ("int", "long"):
        made = codec(schema_of(kind))
        columns = made.columns
        assert columns is not None
        scan = columns.scan(datums)
        refused = made.reasons(datums, range(len(datums)))
        assert scan.doubtful() == sorted(refused)
        kept = [datum for index, datum in enumerate(datums) if index not in refused]
        assert scan.column(()) == made.decode(kept)


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        (record(a=LIST), [{"a": list(range(size))} for size in (0, 1, ITEMS_MAX, 3)]),
        (record(a=["null", LIST]), [{"a": None}, {"a": [1]}, {"a": []}]),
        (record(a={"type": "map", "values": ["null", LIST]}), [{"a": {"x": [1, 2], "y": None}}, {"a": {}}]),
        (record(a=["int", "string", "null"]), [{"a": Branch("int", 1)}, {"a": None}, {"a": Branch("string", "ü")}]),
        (record(a=["null", "string"]), [{"a": None}, {"a": None}]),
        (record(a=["int"], b=["null"], c="null"), [{"a": 1, "b": None, "c": None}]),
        (record(a="string"), [{"a": "größer"}, {"a": ""}, {"a": "𝄞"}]),
        (record(a={"type": "int", "connect.type": "int8"}), [{"a": -128}, {"a": 127}]),
        (record(a={"type": "fixed", "name": "F", "size": 300}), [{"a": b"x" * 300}]),
        (
            record(a={"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 5, "scale": 2}),
            [{"a": struct.pack(">i", number)} for number in (0, -1, 12345, -99999)],
        ),
    ],
)
def test_columns_by_example(schema: Schema, values: list[Any]) -> None:
    """Lists up to the limit, nulls everywhere, texts of other alphabets, narrow numbers, wide fixed, decimals."""
    made = codec(schema)
    columns = made.columns
    assert columns is not None
    scan = columns.scan(made.encode(values) * 3)
    assert scan.doubtful() == []
    array = scan.arrow()
    assert array is not None
    array.validate(full=True)
    assert array.equals(from_values(values * 3, schema))


@calm
@given(st.data())
def test_decimals_of_any_size(data: st.DataObject) -> None:
    """Decimals in as many bytes as their producer took: those that fit make the same column as their values do; one
    that does not fit is left to these."""
    precision = data.draw(st.sampled_from([1, 2, 9, 18, 19, 38, 39, 76]))
    schema = record(
        a=["null", {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 1}],
        b={"type": "fixed", "name": "F", "size": 16, "logicalType": "decimal", "precision": min(precision, 38)},
    )
    numbers = st.integers(-(10**precision), 10**precision) | st.integers(-300, 300)
    values = []
    for _ in range(data.draw(st.integers(1, 9))):
        number = data.draw(numbers)
        least = (number + (number < 0)).bit_length() // 8 + 1
        size = data.draw(st.integers(0 if number == 0 else least, least + 2))
        small = data.draw(st.integers(-9, 9))
        some = number.to_bytes(size, "big", signed=True) if data.draw(st.booleans()) else None
        values.append({"a": some, "b": small.to_bytes(16, "big", signed=True)})
    columns = columns_of(schema)
    assert columns is not None
    array = columns.scan(codec(schema).encode(values)).arrow()
    if array is not None:
        assert array.equals(from_values(values, schema))
    else:
        bytes_max = 16 if precision <= 38 else 32
        unscaled = [value["a"] for value in values if value["a"] is not None]
        large = [abs(int.from_bytes(each, "big", signed=True)) >= 10**precision for each in unscaled]
        assert any(large) or max(map(len, unscaled)) > bytes_max


def test_long_arrays_are_left_to_the_slow_way() -> None:
    """Rows with more items than there are rounds, and those with sizes before their blocks, are doubtful, not wrong."""
    made = codec(schema_of(LIST))
    columns = made.columns
    assert columns is not None
    sizes = [1, ITEMS_MAX, ITEMS_MAX + 1, 10_000, 2]
    datums = [*made.encode([list(range(size)) for size in sizes]), b"\x01\x02\x02\0"]
    scan = columns.scan(datums)
    assert scan.doubtful() == [2, 3, 5]
    array = scan.arrow()
    assert array is not None
    assert array.to_pylist() == [list(range(size)) for size in (1, ITEMS_MAX, 2)]
    assert made.check(datums * FEW) == {}


def chain(length: int, avro: Any) -> Any:
    for level in range(length):
        avro = {"type": "record", "name": f"C{level}", "fields": [{"name": "c", "type": avro}]}
    return avro


@pytest.mark.parametrize(
    ("avro", "has_columns"),
    [
        ({"type": "array", "items": chain(3, "int")}, True),
        ({"type": "array", "items": chain(40, "int")}, False),
        ({"type": "map", "values": chain(3, "int")}, True),
        ({"type": "map", "values": chain(40, "int")}, False),
        ({"type": "array", "items": {"type": "map", "values": {"type": "array", "items": "int"}}}, True),
        (record(**{f"n{number}": "null" for number in range(900)}).avro, True),
        (record(**{f"n{number}": "null" for number in range(1_100)}).avro, False),
        (record(**{f"n{number}": ["null", "string"] for number in range(1_300)}).avro, True),
    ],
)
def test_columns_take_no_more_values_than_are_allowed(avro: Any, has_columns: bool) -> None:
    """A schema whose rows could have more values than `walk` allows has no columns; ordinary ones have them."""
    assert (columns_of(schema_of(avro)) is not None) == has_columns


def test_records_far_down_in_each_other_are_counted() -> None:
    """As many of them as the rounds would get through are refused, in a batch too."""
    made = codec(schema_of({"type": "array", "items": chain(40, "int")}))
    row = long_bytes(ITEMS_MAX) + b"\x02" * ITEMS_MAX + b"\0"
    assert made.check([row] * FEW) == dict.fromkeys(range(FEW), f"more values than {len(row)} bytes may hold")


def test_rounds_have_an_end() -> None:
    """Lists in lists use up the rounds of a batch; rows that need more are doubtful, the others are done."""
    made = codec(schema_of({"type": "array", "items": LIST}))
    columns = made.columns
    assert columns is not None
    values = [[[1]], [[1] * 8 for _ in range(ROUNDS_MAX)], [], [[1, 2], [3]]]
    scan = columns.scan(made.encode(values))
    assert scan.doubtful() == [1]
    array = scan.arrow()
    assert array is not None
    assert array.to_pylist() == [[[1]], [], [[1, 2], [3]]]


def test_a_key_that_a_map_has_twice_takes_its_values() -> None:
    """Maps with a key twice have no fast columns: a dictionary keeps one of the two."""
    made = codec(schema_of({"type": "map", "values": "int"}))
    columns = made.columns
    assert columns is not None
    twice = b"\x04\x02a\x02\x02a\x04\0"
    assert made.check([twice] * FEW) == {}
    assert made.decode([twice]) == [{"a": 2}]
    assert columns.scan([twice] * 9).arrow() is None
    assert columns.scan(made.encode([{"a": 1}, {"a": 2, "b": 1}])).arrow() is not None


def test_numbers_too_large_for_their_column_take_their_values() -> None:
    """Where `connect.type` says int8, a larger number is not cut off."""
    made = codec(record(a={"type": "int", "connect.type": "int8"}))
    columns = made.columns
    assert columns is not None
    assert columns.scan(made.encode([{"a": 128}])).arrow() is None


@pytest.mark.parametrize(
    "schema",
    [
        record(a=["null", "n.R"]),
        schema_of({"type": "array", "items": "null"}),
        schema_of({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}),
        record(**{f"f{number}": "int" for number in range(TYPES_MAX)}),
        record(a=LIST, **{f"f{number}": "int" for number in range(600)}),
        record(**{f"f{number}": "int" for number in range(600)}, a=LIST),
    ],
)
def test_schemas_without_columns(schema: Schema) -> None:
    """Recursive schemas, arrays of what has no bytes, and very large schemas go value by value."""
    assert columns_of(schema) is None


def test_fields_by_their_path() -> None:
    """Nested fields, those below nulls, and none where there is no such field."""
    point = {"type": "record", "name": "P", "fields": [{"name": "x", "type": ["null", "double"]}]}
    made = codec(
        record(p=["null", point], q={**point, "name": "Q"}, e={"type": "enum", "name": "E", "symbols": ["A", "B"]})
    )
    columns = made.columns
    assert columns is not None
    values = [
        {"p": None, "q": {"x": 1.5}, "e": "B"},
        {"p": {"x": None}, "q": {"x": None}, "e": "A"},
        {"p": {"x": 0.5}, "q": {"x": -1.0}, "e": "A"},
    ]
    scan = columns.scan([b"head" + datum for datum in made.encode(values)], skip=4)
    assert scan.column(("p", "x")) == [None, None, 0.5]
    assert scan.column(("q", "x")) == [1.5, None, -1.0]
    assert scan.column(("e",)) == ["B", "A", "A"]
    assert scan.column(("p",)) is None
    assert scan.column(("z",)) is None
    assert scan.column(("e", "x")) is None
    nothing = columns.scan(made.encode([values[0]]))
    assert nothing.column(("p", "x")) == [None]


def test_empty_batches() -> None:
    """No rows, or none that is valid, are columns without rows."""
    schema = record(a="string", b=["null", LIST])
    columns = columns_of(schema)
    assert columns is not None
    for batch in ([], [b"\x05"], [b""]):
        scan = columns.scan(batch)
        assert scan.doubtful() == list(range(len(batch)))
        assert scan.arrow() == pa.array([], arrow_type(schema))
        assert scan.column(("a",)) == []


def test_positions_stay_within_the_buffer() -> None:
    """Whatever lengths rows claim, nothing is read beyond the bytes of the batch."""
    random = np.random.default_rng(1)
    columns = columns_of(record(a="string", b="bytes", c=LIST, d="double", e={"type": "fixed", "name": "F", "size": 9}))
    assert columns is not None
    for size in (1, 2, 3, 50):
        batch = [random.bytes(random.integers(0, 30)) for _ in range(size)]
        assert set(columns.scan(batch).doubtful()) <= set(range(size))
