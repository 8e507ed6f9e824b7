"""Long datums: their arrays and maps are made some items at a time, and are what they would be at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kafka_s3.avro import datum_checker, datums, long_columns, long_values
from kafka_s3.avro.arrow import ColumnsError, arrow_type, from_values, misfits
from kafka_s3.avro.datum_checker import Cuts
from kafka_s3.avro.datum_writer import long_bytes
from kafka_s3.avro.datums import codec
from kafka_s3.avro.long_values import LongArray, LongMap
from kafka_s3.avro.model import schema_of
from tests.avro.strategies import avro_schemas, values_of
from tests.avro.test_arrow import held
from tests.avro.test_datums import mutations

calm = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large], deadline=None
)
INTS = {"type": "array", "items": "int"}


@contextlib.contextmanager
def everything_is_long() -> Iterator[None]:
    """Arrays of 3 items and maps of 3 entries are cut, and those of more than some bytes."""
    with (
        mock.patch.multiple(datum_checker, _ITEMS=2, _BYTES=8),
        mock.patch.multiple(long_values, ITEMS=2, _BYTES=8),
        mock.patch.object(datums, "LONG", 0),
        mock.patch.object(long_columns, "_ITEMS_PER_TYPE", 0),
    ):
        yield


def long_value(avro: Any, datum: bytes) -> Any:
    with everything_is_long():
        return codec(schema_of(avro)).decode_long(datum)


@calm
@given(st.data())
def test_columns_of_long_values_are_those_of_all(data: st.DataObject) -> None:
    """Any schema that has columns: the array made from the pieces of a datum is the one made from its value, whether
    the pieces were found while it was checked or later."""
    schema = data.draw(avro_schemas(logical=True))
    try:
        arrow_type(schema)
    except ColumnsError:
        assume(False)
    values = data.draw(st.lists(values_of(schema, size_max=9), min_size=1, max_size=3))
    made = codec(schema)
    encoded = made.encode(values)
    assume(not misfits(values, schema))
    cuts: dict[int, Cuts] = {}
    with everything_is_long():
        assert not made.reasons(encoded, range(len(encoded)), cuts)
        long = [made.decode_long(datum, cuts.get(place)) for place, datum in enumerate(encoded)]
        found = from_values(long, schema)
        again = from_values([made.decode_long(datum) for datum in encoded], schema)
        at_once = [made.long_arrow(datum, cuts.get(place), schema) for place, datum in enumerate(encoded)]
    assert repr(held(found)) == repr(held(again)) == repr(held(from_values(values, schema)))
    for value, array in zip(values, at_once, strict=True):
        if array is not None:
            array.validate(full=True)
            assert repr(held(array)) == repr(held(from_values([value], schema)))


@calm
@given(st.data())
def test_a_long_datum_is_checked_as_any_other(data: st.DataObject) -> None:
    """Where it is cut changes nothing of what is refused, and why."""
    schema = data.draw(avro_schemas(logical=True, recursive=True))
    good = codec(schema).encode(data.draw(st.lists(values_of(schema, size_max=9), min_size=2, max_size=4)))
    every = good + [data.draw(mutations(datum)) for datum in good]
    expected = codec(schema).check(every)
    with everything_is_long():
        assert codec(schema).reasons(every, range(len(every)), {}) == expected


def test_few_schemas_take_values_for_columns() -> None:
    """Every kind of type is read at once; a key that comes twice, and a number that its column does not hold, take
    values."""
    kinds: list[tuple[Any, bytes]] = [(kind, b"\0") for kind in ("boolean", "int", "long", "bytes", "string", INTS)]
    kinds += [("null", b""), ("float", b"abcd"), ("double", b"abcdefgh"), ({"type": "map", "values": "int"}, b"\0")]
    kinds += [(["null", "int"], b"\0"), (["int", "string"], b"\2\0")]
    kinds += [({"type": "fixed", "name": f"F{size}", "size": size}, b"a" * size) for size in (0, 4, 300)]
    kinds += [({"type": "enum", "name": "E", "symbols": ["a", "b"]}, b"\2")]
    for kind, one in kinds:
        schema = schema_of({"type": "array", "items": kind})
        datum = long_bytes(40) + one * 40 + b"\0"
        with everything_is_long():
            array = codec(schema).long_arrow(datum, None, schema)
        assert array is not None, kind
        assert repr(held(array)) == repr(held(from_values(codec(schema).decode([datum]), schema)))
    twice = schema_of({"type": "map", "values": "int"})
    assert codec(twice).long_arrow(long_bytes(20) + b"\2a\2" * 20 + b"\0", None, twice) is None


def test_a_long_array_is_read_from_any_place() -> None:
    """In blocks with and without sizes, arrays in arrays too: by index, and from the end."""
    numbers = list(range(40))
    body = b"".join(map(long_bytes, numbers))
    blocks = long_bytes(-10) + long_bytes(10) + body[:10] + long_bytes(30) + body[10:] + b"\0"
    found = long_value(INTS, blocks)
    assert isinstance(found, LongArray)
    assert list(found) == found[:] == numbers
    assert [found[place] for place in reversed(range(40))] == numbers[::-1]
    inner = long_value({"type": "array", "items": INTS}, long_bytes(3) + blocks * 3 + b"\0")
    assert isinstance(inner, LongArray)
    assert all(isinstance(each, LongArray) and list(each) == numbers for each in inner)


def test_a_key_that_comes_twice_has_its_last_value() -> None:
    """In a long map too, at the place where it was first."""
    entries = [(f"k{number % 7}", number) for number in range(20)]
    body = b"".join(long_bytes(len(key)) + key.encode() + long_bytes(number) for key, number in entries)
    found = long_value({"type": "map", "values": "int"}, long_bytes(len(entries)) + body + b"\0")
    assert isinstance(found, LongMap)
    assert list(found) == list(dict(entries).items())
    assert found[3] == ("k3", 17)
    assert found[1:3] == [("k1", 15), ("k2", 16)]


def test_what_has_no_place_in_its_column_is_found() -> None:
    """A decimal of too many digits, far into a long array or map, is said as in a short one."""
    number = {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 0}
    for avro, value in (
        ({"type": "array", "items": number}, [b"\1"] * 9 + [b"\x7f"]),
        ({"type": "map", "values": number}, {**{f"k{at}": b"\1" for at in range(9)}, "last": b"\x7f"}),
    ):
        schema = schema_of(avro)
        [datum] = codec(schema).encode([value])
        expected = misfits([value], schema)
        assert "more than the 2 digits" in expected[0]
        assert misfits([long_value(avro, datum)], schema) == expected
