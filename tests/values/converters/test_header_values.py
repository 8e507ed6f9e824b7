"""Headers as the converter reads them, wherever they are written."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from kafka_s3.values.rows import Stage
from kafka_s3.write.object_group import Member
from tests.export.bad_records import given_record, in_a_row, world_of
from tests.values.converters.envelopes import envelope
from tests.write.members import HEADERS, PLAIN, TOLERANT, Made, record, settings_with, write

TEN = {"flush.size": "10"}
IN_JSON = {"headers.format.class": "JsonFormat"}
SIMPLE = {"header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter"}
STRING = {"header.converter": "org.apache.kafka.connect.storage.StringConverter"}
GIVEN = (("a", b"1.50"), ("b", b'{"x" : [1, 2]}'), ("c", b'"v"'), ("d", b"1,2"), ("e", b"007"), ("f", b" x "))
PARSED = ["1.5", '{"x":[1,2]}', '"v"', "1", "7", " x "]


def made_of(*records: Any, **more: Any) -> Made:
    return write(settings_with(PLAIN, HEADERS, TOLERANT, TEN, IN_JSON, more), records)


def texts(made: Made) -> list[str]:
    """The header values of the only record."""
    [row] = made.members(made.written.objects[0])[Member.HEADERS]
    return [each["value"] for each in row["headers"]]


@pytest.mark.parametrize("converter", [{}, SIMPLE], ids=["the default", "named"])
def test_simple_headers_are_parsed_as_connects(converter: dict[str, str]) -> None:
    """Text is the value that it looks like, and that value's text is written."""
    assert texts(made_of(record(0, b"{}", headers=GIVEN), **converter)) == PARSED


def test_string_headers_stay_as_they_are() -> None:
    """StringConverter parses nothing."""
    assert texts(made_of(record(0, b"{}", headers=GIVEN), **STRING)) == [value.decode() for _, value in GIVEN]


def test_a_header_that_says_null_has_no_value() -> None:
    """SimpleHeaderConverter makes a null of it, and the sink refuses the record, as one whose header has no bytes."""
    made = made_of(record(0, b"{}"), record(1, b"{}", headers=(("n", b" null "),)))
    assert made.why == {1: "its header 'n' has no value"}
    assert made.refused[1].stage is Stage.HEADER_CONVERTER


JSON = {"header.converter": "JsonConverter", "header.converter.schemas.enable": "false"}
DATE = "org.apache.kafka.connect.data.Date"


@pytest.mark.parametrize(
    ("converter", "header", "text"),
    [
        ({"header.converter": "JsonConverter"}, envelope({"type": "int32", "name": DATE}, "18000"), "2019-04-14"),
        (JSON, b'{"b": 1.50, "a": [null, "x"]}', '{"a":[null,"x"],"b":1.5}'),
        ({"header.converter": "ByteArrayConverter"}, b"\xff", "/w=="),
        ({"header.converter": "BooleanConverter"}, b"\1", "true"),
        ({"header.converter": "ShortConverter"}, b"\xff\xfe", "-2"),
        ({"header.converter": "IntegerConverter"}, struct.pack(">i", 7), "7"),
        ({"header.converter": "LongConverter"}, struct.pack(">q", 2**40), "1099511627776"),
        ({"header.converter": "FloatConverter"}, struct.pack(">f", 0.1), "0.1"),
        ({"header.converter": "DoubleConverter"}, struct.pack(">d", 1e10), "1.0E10"),
    ],
)
def test_every_converter_of_headers(converter: dict[str, str], header: bytes, text: str) -> None:
    """Text of the value that it reads; what it cannot read is a bad record, of that converter, and no other's."""
    records = [record(0, b"{}", headers=(("h", header),)), record(1, b"{}", headers=(("g", header), ("h", b"\0\0\0")))]
    made = made_of(*records, **converter)
    if converter == {"header.converter": "ByteArrayConverter"}:
        assert made.members(made.written.objects[0])[Member.HEADERS][0] == {"headers": [{"key": "h", "value": text}]}
        return
    assert texts(made) == [text]
    assert made.why[1].startswith("its header 'h': ")
    assert made.refused[1].stage is Stage.HEADER_CONVERTER
    within = write(settings_with(PLAIN, TEN, TOLERANT, {"export.envelope": "headers"}, converter), records)
    [row] = within.members(within.written.objects[0])[Member.VALUES]
    assert row["_kafka_headers"] == [{"key": "h", "value": text}]
    assert within.refused[1].stage is Stage.HEADER_CONVERTER


def test_nulls_in_headers_become_defaults_or_stay() -> None:
    """`header.converter.replace.null.with.default` is JsonConverter's; a struct tells its fields' defaults anyway."""
    three = {"type": "int32", "optional": True, "default": 3}
    fields = {"type": "struct", "fields": [{**three, "field": "a"}]}
    headers = (("x", envelope({"type": "array", "items": three}, "[null]")), ("y", envelope(fields, '{"a":null}')))
    for fill, first in (("true", "[3]"), ("false", "[null]")):
        more = {"header.converter": "JsonConverter", "header.converter.replace.null.with.default": fill}
        assert texts(made_of(record(0, b"{}", headers=headers), **more)) == [first, '{"a":3}']


def test_headers_within_records_are_parsed_too() -> None:
    """In an envelope a header that is null stays one."""
    settings = settings_with(PLAIN, TEN, {"export.envelope": "headers"})
    made = write(settings, [record(0, b"{}", headers=(("a", b"1.50"), ("n", b"null")))])
    [row] = made.members(made.written.objects[0])[Member.VALUES]
    assert row["_kafka_headers"] == [{"key": "a", "value": "1.5"}, {"key": "n", "value": None}]


def test_dead_letters_keep_headers_as_bytes() -> None:
    """A dead letter is the record as it came, not what its converters made of it."""
    world = world_of(HEADERS)
    given = (("a", b"1.50"), ("n", b"null"))
    world.produce(*in_a_row(given_record(b"{}", headers=given)))
    assert world.run().exit_status == 0
    assert [each.headers for each in world.found()] == [given]


def test_the_same_text_is_parsed_once() -> None:
    """Short values are remembered, as headers repeat; long ones are not."""
    from kafka_s3.values.converters.header_texts import _parsed, simple_text

    before = _parsed.cache_info().hits
    assert [simple_text(b"[1, 77777]") for _ in range(3)] == ["[1,77777]"] * 3
    assert _parsed.cache_info().hits == before + 2
    kept = _parsed.cache_info().currsize
    assert simple_text(b"[1," + b" " * 100 + b"2]") == "[1,2]"
    assert _parsed.cache_info().currsize == kept
