"""Plain values as the text that Connect's JsonConverter writes of them."""

from __future__ import annotations

import json
import math
import re
import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Branch, schema_of
from kafka_s3.settings.formats import DecimalFormat
from kafka_s3.values.formats.java_numbers import java_double, java_float
from kafka_s3.values.formats.json_datums import datum_writer
from kafka_s3.values.formats.json_text import writer_for
from kafka_s3.values.rows import Unfit
from tests.values.converters.envelopes import jackson

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}
ENTRY = "io.confluent.connect.avro.MapEntry"


def text(avro: Any, value: Any, decimals: DecimalFormat = DecimalFormat.BASE64) -> str:
    """Of the value, and of its datum, which is the same."""
    schema = schema_of(avro)
    [made] = writer_for(schema, decimals)([value])
    [datum] = codec(schema).encode([value])
    assert datum_writer(schema, decimals)(datum) == made
    return made.decode()


def record(name: str, *fields: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": kind} for each, kind in fields], **more}


def entries(key: Any, value: Any, name: str = ENTRY, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": record(name, ("key", key), ("value", value), **more)}


@pytest.mark.parametrize(
    ("avro", "value", "expected"),
    [
        ("null", None, "null"),
        ("boolean", True, "true"),
        ("long", -(2**63), "-9223372036854775808"),
        ({"type": "long", "logicalType": "timestamp-millis"}, 1700000000123, "1700000000123"),
        ({"type": "int", "logicalType": "date"}, 1, "1"),
        ("double", 1e10, "1.0E10"),
        ("double", 100.0, "100.0"),
        ("double", 1e-5, "1.0E-5"),
        ("double", -0.0, "-0.0"),
        ("double", float("nan"), '"NaN"'),
        ("float", float("-inf"), '"-Infinity"'),
        ("float", 0.10000000149011612, "0.1"),
        ("bytes", b"\x01\x02\xff", '"AQL/"'),
        ({"type": "fixed", "name": "f", "size": 2}, b"\0\1", '"AAE="'),
        ("string", 'é\u2028"\n\x0b/\x7f', '"é\u2028\\"\\n\\u000B/\x7f"'),
        ("string", "😀\\u000b", '"\\uD83D\\uDE00\\\\u000b"'),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, "A", '"A"'),
        ({"type": "array", "items": "double"}, [1e7, 1.5], "[1.0E7,1.5]"),
        ({"type": "map", "values": ["null", "double"]}, {"a": None, "b": 1e-9}, '{"a":null,"b":1.0E-9}'),
        (record("r", ("b", "int"), ("a", ["null", "float"])), {"b": 1, "a": 0.5}, '{"b":1,"a":0.5}'),
        (["null", "double"], 1e7, "1.0E7"),
        (["double", "null"], None, "null"),
    ],
)
def test_a_value_is_written_as_jackson_writes_it(avro: Any, value: Any, expected: str) -> None:
    """Numbers in Java's notation, bytes in base64, text raw with Jackson's own escapes."""
    assert text(avro, value) == expected
    assert text({"type": "array", "items": avro}, [value, value]) == f"[{expected},{expected}]"
    assert text(record("outer", ("x", "int"), ("y", avro)), {"x": 1, "y": value}) == f'{{"x":1,"y":{expected}}}'


@pytest.mark.parametrize(
    ("scale", "unscaled", "numeric"),
    [(2, 12345, "123.45"), (2, 0, "0.00"), (2, -5, "-0.05"), (8, 0, "0E-8"), (8, 1, "1E-8"), (0, 7, "7")],
)
def test_a_decimal_is_bytes_or_a_number(scale: int, unscaled: int, numeric: str) -> None:
    """json.decimal.format; padded bytes, as fixed ones are, lose what they do not need in base64."""
    data = unscaled.to_bytes(16, signed=True)
    for avro in ({**DECIMAL, "scale": scale}, {**DECIMAL, "scale": scale, "type": "fixed", "name": "f", "size": 16}):
        assert text(avro, data, DecimalFormat.NUMERIC) == numeric
        size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
        assert text(avro, data) == text("bytes", unscaled.to_bytes(size, signed=True))


def test_a_decimal_is_a_number_of_a_thousand_digits_at_most() -> None:
    """No reader takes more, and a number takes the square of its length: a long one is refused by its bytes alone."""
    assert len(text(DECIMAL, (10**1000 - 1).to_bytes(416, signed=True), DecimalFormat.NUMERIC)) == 1001
    for size in (416, 500, 1_000_000):
        with pytest.raises(Unfit, match=f"a decimal of {size} bytes has more than the 1000 digits"):
            text(DECIMAL, (10**1000).to_bytes(size, signed=True), DecimalFormat.NUMERIC)
    assert text(DECIMAL, b"") == '""'
    assert text(DECIMAL, b"", DecimalFormat.NUMERIC) == "0.00"


def test_maps_with_other_keys_are_pairs() -> None:
    """An array of MapEntry is a map: a list of pairs, or an object if its keys are text that may be null."""
    pairs = [{"key": 7, "value": 1e8}, {"key": 8, "value": 2.5}]
    assert text(entries("int", "double"), pairs) == "[[7,1.0E8],[8,2.5]]"
    named = entries("int", "double", name="a.M", **{"connect.internal.type": "MapEntry"})
    assert text(named, pairs) == "[[7,1.0E8],[8,2.5]]"
    assert text(entries("int", "double", name="a.M"), pairs[:1]) == '[{"key":7,"value":1.0E8}]'
    words = [{"key": "a", "value": 1}, {"key": None, "value": 2}]
    assert text(entries(["null", "string"], "int"), words) == '{"a":1,"null":2}'


def test_a_union_is_an_object_of_its_branches() -> None:
    """One field per type, named by it, all but one of them null; null as a whole is null; one type alone is itself."""
    fixed = {"type": "fixed", "name": "n.F", "size": 1}
    union = ["null", "int", "double", record("n.R", ("x", "double")), fixed, {"type": "array", "items": "int"}]
    nulls = {"int": None, "double": None, "n.R": None, "fixed": None, "array": None}
    for name, value, shown, made in (
        ("int", 1, "int", 1),
        ("double", 2.5, "double", 2.5),
        ("n.R", {"x": 0.5}, "n.R", {"x": 0.5}),
        ("n.F", b"\1", "fixed", "AQ=="),
        ("array", [1], "array", [1]),
    ):
        written = json.loads(text(union, Branch(name, value)))
        assert written == {**nulls, shown: made}
        assert list(written) == list(nulls)
    assert text(union, None) == "null"
    assert text(["int"], 1) == "1"
    assert text(["double", "int"], Branch("double", 1e9)) == '{"double":1.0E9,"int":null}'


def test_types_are_called_by_their_names() -> None:
    """A type that was defined before, and one within itself."""
    inner = record("Inner", ("x", "double"), namespace="n")
    outer = record("Outer", ("a", inner), ("b", "n.Inner"), ("c", ["null", "Inner"]), namespace="n")
    value = {"x": 1e9}
    assert text(outer, {"a": value, "b": value, "c": value}) == '{"a":{"x":1.0E9},"b":{"x":1.0E9},"c":{"x":1.0E9}}'
    tree = record("Tree", ("v", "double"), ("next", ["null", "n.Tree"]), namespace="n")
    assert text(tree, {"v": 1e9, "next": {"v": 1e-9, "next": None}}) == '{"v":1.0E9,"next":{"v":1.0E-9,"next":null}}'
    plain = record("Plain", ("v", "int"), ("next", ["null", "Plain"]))
    assert text(plain, {"v": 1, "next": {"v": 2, "next": None}}) == '{"v":1,"next":{"v":2,"next":null}}'
    fixed = {"type": "fixed", "name": "D", "size": 2, "logicalType": "decimal", "precision": 4, "scale": 1}
    again = record("R", ("a", fixed), ("b", "D"))
    assert text(again, {"a": b"\0\1", "b": b"\0\2"}, DecimalFormat.NUMERIC) == '{"a":0.1,"b":0.2}'


def test_writing_changes_no_value() -> None:
    """Values are shared by whoever asked for them."""
    schema = schema_of(record("r", ("a", "double"), ("b", {"type": "array", "items": "float"})))
    value = {"a": 1e9, "b": [0.1]}
    writer_for(schema, DecimalFormat.BASE64)([value])
    assert value == {"a": 1e9, "b": [0.1]}


@given(st.lists(st.text(), max_size=5))
@example(["\x0b", "\\u000b", "\\\x0b", "\\\\u000b", '"\x1f'])
@example(["𐀀", "\U0010ffff", "é\x1a😀"])
def test_text_has_jacksons_escapes(texts: list[str]) -> None:
    """Whatever the text, backslashes and neighbours: it reads back, and only what Jackson escapes is escaped."""
    lines = writer_for(schema_of("string"), DecimalFormat.BASE64)(texts)
    assert [json.loads(line) for line in lines] == texts
    assert [line.decode() for line in lines] == [jackson(each) for each in texts]


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(1e23)
@example(9.007199254740992e15)
def test_doubles_are_in_javas_notation(number: float) -> None:
    """They read back as the number, in one of Java's two notations, each where Java has it."""
    _check_form(java_double(number), number)
    assert float(java_double(number)) == number
    assert len(_digits(java_double(number))) <= max(2, len(_digits(repr(number))))


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@example(1.401298464324817e-45)
@example(3.4028234663852886e38)
@example(1.1754943508222875e-38)
def test_floats_have_the_fewest_digits(number: float) -> None:
    """They read back as the same float of 32 bits, and no fewer digits do."""
    made = java_float(number)
    _check_form(made, number)
    assert _single(float(made)) == number
    count = len(_digits(made))
    if count > 2:
        assert _single(float(f"{number:.{count - 2}e}")) != number


def _single(number: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


def _digits(made: str) -> str:
    return made.lstrip("-").lower().partition("e")[0].replace(".", "").strip("0")


def _check_form(made: str, number: float) -> None:
    plain = number == 0 or 1e-3 <= abs(number) < 1e7
    assert re.fullmatch(r"-?[0-9]+\.[0-9]+" if plain else r"-?[1-9]\.[0-9]+E-?[1-9][0-9]*", made)
    assert math.copysign(1, float(made)) == math.copysign(1, number)
