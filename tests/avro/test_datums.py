"""Avro's binary form: what is a value, what it is, and that nothing else is taken for one."""

from __future__ import annotations

import io
import tracemalloc
from typing import Any

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3 import shown
from kafka_s3.avro.datum_reader import FEW, NESTING_MAX, VALUES_MAX, NotADatum, read, reader
from kafka_s3.avro.datum_writer import long_bytes
from kafka_s3.avro.datums import codec
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Branch, Schema, schema_of
from tests.avro.strategies import avro_schemas, values_of

calm = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)


def any_schema() -> st.SearchStrategy[Schema]:
    return avro_schemas(logical=True, recursive=True)


def plain(value: Any, avro: Any) -> Any:
    """A schema without logical types: fastavro would interpret them."""
    if isinstance(avro, dict):
        return {key: plain(value, each) for key, each in avro.items() if key != "logicalType"}
    return [plain(value, each) for each in avro] if isinstance(avro, list) else avro


def for_fastavro(value: Any) -> Any:
    if isinstance(value, Branch):
        return (value.name, for_fastavro(value.value))
    if isinstance(value, dict):
        return {key: for_fastavro(each) for key, each in value.items()}
    return [for_fastavro(each) for each in value] if isinstance(value, list) else value


def by_fastavro(value: Any, schema: Schema) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(plain(value, schema.avro)), for_fastavro(value))
    return body.getvalue()


@calm
@given(st.data())
def test_what_fastavro_writes_is_read_and_written_again(data: st.DataObject) -> None:
    """Any value under any schema: fastavro's bytes are valid, mean the value, and are the bytes that we write."""
    schema = data.draw(any_schema())
    value = data.draw(values_of(schema))
    datum = by_fastavro(value, schema)
    made = codec(schema)
    assert made.check([datum]) == {}
    assert made.decode([datum]) == [value]
    assert made.encode([value]) == [datum]
    assert read(reader(graph(schema)), datum) == value


@calm
@given(st.data())
def test_batches_are_their_rows(data: st.DataObject) -> None:
    """Many values at once are what each is alone, and branches keep their names."""
    schema = data.draw(any_schema())
    values = data.draw(st.lists(values_of(schema), min_size=8, max_size=20))
    made = codec(schema)
    values *= 5  # so many that they are read at once
    datums = made.encode(values)
    assert made.check(datums) == {}
    assert repr(made.decode(datums)) == repr(values)


def mutations(datum: bytes) -> st.SearchStrategy[bytes]:
    """The bytes with something changed, cut off or put in."""
    place = st.integers(0, max(len(datum) - 1, 0))
    return st.one_of(
        st.tuples(place, st.integers(0, 255)).map(lambda at: datum[: at[0]] + bytes([at[1]]) + datum[at[0] + 1 :]),
        place.map(lambda at: datum[:at]),
        st.binary(min_size=1, max_size=3).map(lambda more: datum + more),
        st.tuples(place, st.binary(min_size=1, max_size=12)).map(lambda at: datum[: at[0]] + at[1] + datum[at[0] :]),
        st.binary(max_size=40),
    )


@calm
@given(st.data())
def test_the_fast_way_takes_exactly_what_the_slow_way_takes(data: st.DataObject) -> None:
    """Among mutated and random bytes, a batch refuses the rows that the strict reader refuses, whatever is beside."""
    schema = data.draw(any_schema())
    good = codec(schema).encode(data.draw(st.lists(values_of(schema), min_size=4, max_size=8)))
    bad = [data.draw(mutations(datum)) for datum in good]
    batch = data.draw(st.permutations(good + bad))
    expected = {}
    for index, datum in enumerate(batch):
        try:
            value = read(reader(graph(schema)), datum)
        except NotADatum as error:
            expected[index] = str(error)
        else:
            assert repr(codec(schema).decode([datum])) == repr([value])
    assert codec(schema).check(batch) == expected
    many = {index + len(batch) * turn: reason for index, reason in expected.items() for turn in range(5)}
    assert codec(schema).check(batch * 5) == many


BOMBS = {
    "an array of 2**62 nulls": ({"type": "array", "items": "null"}, long_bytes(2**62)),
    "2**62 nulls in a block with a size": (
        {"type": "array", "items": "null"},
        long_bytes(-(2**62)) + b"\0",
    ),
    "an array of empty records": (
        {"type": "array", "items": {"type": "record", "name": "E", "fields": []}},
        long_bytes(2**40) + b"\0",
    ),
    "the smallest number of items": ({"type": "array", "items": "long"}, long_bytes(-(2**63)) + b"\0\0"),
    "a map of 2**40": ({"type": "map", "values": "null"}, long_bytes(2**40)),
    "a string of 2**40 bytes": ("string", long_bytes(2**40) + b"abc"),
    "bytes of 2**63-1 bytes": ("bytes", long_bytes(2**63 - 1) + b"abc"),
    "a string of -1 bytes": ("string", b"\x01"),
    "a fixed of 2**31-1 bytes": ({"type": "fixed", "name": "F", "size": 2**31 - 1}, b"abc"),
    "a long without end": ("long", b"\xff" * 100_000),
    "lists in lists": (
        {"type": "record", "name": "L", "fields": [{"name": "l", "type": {"type": "array", "items": "L"}}]},
        b"\x02" * 10_000,
    ),
    "a chain": (
        {"type": "record", "name": "C", "fields": [{"name": "c", "type": ["null", "C"]}]},
        b"\x02" * 10_000 + b"\0",
    ),
    "many nulls, again and again": (
        {"type": "array", "items": {"type": "array", "items": "null"}},
        (long_bytes(60_000) + (long_bytes(60_000) + b"\0") * 60_000)[:10_000],
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_before_they_cost_anything(bomb: str) -> None:
    """What claims to be endless is refused for a reason, alone and in a batch, in memory of the datums' own order."""
    avro, datum = BOMBS[bomb]
    made = codec(schema_of(avro))
    assert set(made.check([datum])) == {0}
    tracemalloc.start()
    try:
        assert set(made.check([datum] * FEW)) == set(range(FEW))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000 + 100 * len(datum)


def test_items_without_bytes_have_a_limit() -> None:
    """An array of nulls may be as long as `VALUES_MAX` says, and 4 for each byte; no longer."""
    made = codec(schema_of({"type": "array", "items": "null"}))
    size = len(long_bytes(VALUES_MAX)) + 1
    fine, many = VALUES_MAX + 4 * size, VALUES_MAX + 4 * size + 1
    assert made.check([long_bytes(fine) + b"\0"]) == {}
    assert made.decode([long_bytes(fine) + b"\0"]) == [[None] * fine]
    assert made.check([long_bytes(many) + b"\0"]) == {0: f"more values than {size} bytes may hold"}


def test_nesting_does_not_depend_on_the_caller() -> None:
    """A chain of as many links as allowed passes, one more does not, however deep the stack is that asks."""
    chain = schema_of({"type": "record", "name": "C", "fields": [{"name": "c", "type": ["null", "C"]}]})

    def ask(depth: int, datum: bytes) -> Any:
        return ask(depth - 1, datum) if depth else codec(chain).check([datum])

    fine, deep = b"\x02" * (NESTING_MAX - 1) + b"\0", b"\x02" * NESTING_MAX + b"\0"
    assert ask(0, fine) == ask(200, fine) == {}
    assert ask(0, deep) == ask(200, deep) == {0: f"nested more than {NESTING_MAX} levels deep"}
    [value] = codec(chain).decode([fine])
    assert codec(chain).encode([value]) == [fine]


@pytest.mark.parametrize(
    ("avro", "datum", "reason"),
    [
        ("int", b"", "ends within an int at byte 0"),
        ("int", b"\x02\x02", "1 bytes too many, after 1 of the value"),
        ("int", b"\xff\xff\xff\xff\x1f", "an int at byte 5 is out of range"),
        ("int", b"\x80\x80\x80\x80\x80\x01", "an int at byte 0 is longer than 5 bytes"),
        ("long", b"\xff" * 9 + b"\x02", "a long at byte 10 is out of range"),
        ("boolean", b"\x02", "a boolean at byte 0 is 2"),
        ("double", b"1234567", "ends within a double at byte 0: 8 bytes expected, 7 left"),
        ("string", b"\x06ab", "ends within a string at byte 1: 3 bytes expected, 2 left"),
        ("string", b"\x01", "the length of a string at byte 0 is -1"),
        ("string", b"\x02\xff", "a string at byte 0 is not UTF-8"),
        (["null", "int"], b"\x04", "the branch of a union at byte 0 is 2 of 2"),
        (["null", "int"], b"\x01", "the branch of a union at byte 0 is -1 of 2"),
        ({"type": "enum", "name": "n.E", "symbols": ["A"]}, b"\x02", "n.E at byte 0 is symbol 1 of 1"),
        ({"type": "array", "items": "int"}, b"\x01\x04\x02\0", "a block of an array at byte 0 has 1 bytes, and says 2"),
    ],
)
def test_a_reason_names_what_is_wrong(avro: Any, datum: bytes, reason: str) -> None:
    """What is wrong, where, and with which value; the same in a batch."""
    made = codec(schema_of(avro))
    for batch in ([datum], [datum] * FEW):
        found = {place: shown.plain(why, content=True) for place, why in made.check(batch).items()}
        assert found == dict.fromkeys(range(len(batch)), reason)


def test_blocks_with_sizes_are_taken() -> None:
    """Avro's blocking encoder writes a block's size behind a negative number of items."""
    made = codec(schema_of({"type": "array", "items": "int"}))
    datum = b"\x03\x04\x02\x04\x02\x06\0"
    assert made.check([datum] * FEW) == {}
    assert made.decode([datum]) == [[1, 2, 3]]


def test_names_that_other_readers_would_stumble_over() -> None:
    """A map's key `-type`, symbols of another alphabet, a type of no namespace inside one: values come back."""
    inner = {"type": "map", "values": ["null", {"type": "map", "values": "string"}]}
    enum = {"type": "enum", "name": "Größe", "namespace": "", "symbols": ["groß", "klein"]}
    fields = [{"name": "m", "type": inner}, {"name": "e", "type": enum}, {"name": "f", "type": ["int", "Größe"]}]
    made = codec(schema_of({"type": "record", "name": "n.R", "fields": fields}))
    value = {"m": {"-type": {"-type": "x"}, "b": None}, "e": "klein", "f": Branch("Größe", "groß")}
    datums = made.encode([value])
    assert made.check(datums) == {}
    assert made.decode(datums) == [value]
