"""Kafka's own serializations of single values, and JSON without a schema where a format needs one."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.settings.converters import Converter
from kafka_s3.values.converters.connect_anything import ANYTHING, NESTING_MAX, json_to_anything
from kafka_s3.values.converters.primitives import SCHEMAS, Primitive
from kafka_s3.values.rows import Tombstone, Unwritable

NUMBERS = {
    Converter.SHORT: "h",
    Converter.INTEGER: "i",
    Converter.LONG: "q",
    Converter.FLOAT: "f",
    Converter.DOUBLE: "d",
}


def outcomes(converter: Converter, values: list[bytes | None]) -> list[Any]:
    rows = Primitive(converter)(values)
    assert rows.schemas == SCHEMAS[converter]
    return [rows.excluded.get(index, value) for index, value in enumerate(rows.values(SCHEMAS[converter]))]


@pytest.mark.parametrize(("converter", "code"), NUMBERS.items())
@given(data=st.data())
def test_numbers_are_big_endian_and_of_one_size(converter: Converter, code: str, data: st.DataObject) -> None:
    """Bytes of the right size are the number, others are refused, none is a tombstone; neighbours change nothing."""
    size = struct.calcsize(f">{code}")
    values = data.draw(st.lists(st.none() | st.binary(min_size=size, max_size=size) | st.binary(max_size=9)))
    made = outcomes(converter, values)
    for value, one in zip(values, made, strict=True):
        if value is None:
            assert one == Tombstone()
        elif len(value) == size:
            assert struct.pack(f">{code}", one) == value or one != one
        else:
            assert isinstance(one, Unwritable)
    assert [repr(each) for each in made] == [repr(outcomes(converter, [value])[0]) for value in values]


def test_booleans_text_and_bytes() -> None:
    """One byte of 0 or 1; text as Java decodes it; bytes as they are."""
    assert outcomes(Converter.BOOLEAN, [b"\0", b"\1", None]) == [False, True, Tombstone()]
    refused = Unwritable("no boolean: it is one byte, 0 or 1")
    assert outcomes(Converter.BOOLEAN, [b"", b"\2", b"\0\0"]) == [refused] * 3
    assert outcomes(Converter.STRING, [b"", "é".encode(), b"a\xff", None]) == ["", "é", "a\ufffd", Tombstone()]
    assert outcomes(Converter.BYTE_ARRAY, [b"", b"\xff", None]) == [b"", b"\xff", Tombstone()]
    assert outcomes(Converter.SHORT, [b"\1"]) == [Unwritable("1 bytes are not a short: it has 2")]


@pytest.mark.parametrize("converter", SCHEMAS)
def test_the_schemas_are_avros(converter: Converter) -> None:
    """fastavro takes each, and a null too, as Connect's converters allow one."""
    fastavro.schemaless_writer(io.BytesIO(), fastavro.parse_schema(SCHEMAS[converter].avro), None, strict=True)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=10,
)


def unwrapped(value: dict[str, Any]) -> Any:
    """What an Anything says."""
    found = {name: each for name, each in value.items() if each is not None}
    if not found:
        return None
    ((name, each),) = found.items()
    if name == "array":
        return [unwrapped(item) for item in each]
    if name == "map":
        return {unwrapped(entry["key"]): unwrapped(entry["value"]) for entry in each}
    return each


@given(json_values)
def test_anything_holds_all_of_json(value: Any) -> None:
    """Through Avro's binary form and back, types and all; null as a whole is a tombstone."""
    rows = json_to_anything([json.dumps(value).encode()])
    if value is None:
        assert rows.excluded == {0: Tombstone()}
        return
    parsed = fastavro.parse_schema(ANYTHING.avro)
    data = io.BytesIO()
    fastavro.schemaless_writer(data, parsed, rows.values(ANYTHING)[0], strict=True)
    data.seek(0)
    assert repr(unwrapped(fastavro.schemaless_reader(data, parsed, None))) == repr(value)


@given(st.binary(max_size=40))
def test_no_bytes_are_too_odd_for_anything(value: bytes) -> None:
    """They are JSON, or refused with a reason."""
    rows = json_to_anything([value, None])
    assert isinstance(rows.excluded.get(0, Tombstone()), Tombstone | Unwritable)
    assert rows.excluded[1] == Tombstone()


@pytest.mark.parametrize("value", [b"[" * 10**5, b"1" * 5000, b"1e999", b'"\\ud800"', b"9223372036854775808", b"{} x"])
def test_what_avro_cannot_hold_is_refused(value: bytes) -> None:
    """Too deep, too large, half a character, or no JSON."""
    assert isinstance(json_to_anything([value]).excluded[0], Unwritable)


def test_nesting_within_the_limit_can_be_written() -> None:
    """What is not refused does not break the writer."""
    rows = json_to_anything([b'{"a":' * (NESTING_MAX - 1) + b"[1]" + b"}" * (NESTING_MAX - 1)])
    fastavro.schemaless_writer(io.BytesIO(), fastavro.parse_schema(ANYTHING.avro), rows.values(ANYTHING)[0])
