"""What long numbers, texts that fit nearly, many gzip members and deep schemas come to."""

from __future__ import annotations

import gzip
from decimal import Decimal

import pytest

from kafka_s3.avro.model import schema_of
from kafka_s3.ports import Registries
from kafka_s3.records import ColumnBatch
from kafka_s3.settings.formats import DecimalFormat
from kafka_s3.settings.transforms.regex import NoPattern, pattern
from kafka_s3.values.converters.record_converter import RecordConverter
from kafka_s3.values.formats.json_datums import row_writer
from kafka_s3.values.rows import by_schema
from kafka_s3.values.transforms.cast import OutOfRange, number_of, parsed_real, whole_of
from kafka_s3.values.transforms.chain import Chain
from kafka_s3.values.transforms.connect import TransformError
from kafka_s3.values.transforms.gunzip import _decompressed
from kafka_s3.values.transforms.json_paths import view_of
from tests.values.transforms.chains import KAFKA, PARTITION, configured, one, record
from tests.values.transforms.oracle_cases import LONG

STRUCT = {"type": "struct", "fields": [{"type": "double", "field": "y"}]}


@pytest.mark.parametrize("number", LONG)
def test_a_decimal_keeps_every_digit(number: int) -> None:
    """Whatever the precision of Python's own context."""
    unscaled = number.to_bytes(17, "big", signed=True)
    assert number_of(unscaled, 2) == Decimal(f"{number}e-2")
    assert str(number_of(unscaled, 0)) == str(number)
    assert whole_of(unscaled, 0, 8) % 256 == number % 256


def test_java_narrows_the_whole_number() -> None:
    """The lowest bits of what stands before the point, whatever the scale."""
    unscaled = (2**100 + 5).to_bytes(17, "big", signed=True)
    assert whole_of(unscaled, 0, 64) == 5
    assert whole_of(b"\x81", 1, 64) == -12
    assert [whole_of(b"\x05", scale, 64) for scale in (2**31 - 1, -(2**31), -1)] == [0, 0, 50]


def test_a_decimal_has_a_thousand_digits_at_most() -> None:
    """The time that more would take is the square of their number."""
    with pytest.raises(TransformError, match="has more than the 1000 digits that a number may have"):
        number_of(b"\x7f" * 417, 0)


@pytest.mark.parametrize("text", ["1" * 200_000 + "x", "0x" + "1" * 200_000 + "x", "1." + "1" * 200_000 + "x"])
def test_long_texts_are_refused_in_one_pass(text: str) -> None:
    """With two ways to read the digits this would take minutes."""
    with pytest.raises(OutOfRange):
        parsed_real(text)


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), ("1.", 1), (".5", 0.5), ("1.5e1f", 15), ("0x1.8p1", 3), ("0x.8p0d", 0.5)]
)
def test_texts_become_numbers(text: str, number: float) -> None:
    """In all of Java's forms."""
    assert parsed_real(text) == number


@pytest.mark.parametrize(
    "text", ["(?u)a", "(?m)^a", "(?x)a", "a(?s).", "(?s:.)", "(?i-s)a", "(?is:a)", "(?d)a", "(?U)a"]
)
def test_flags_are_refused_by_name(text: str) -> None:
    """All but i, and s at the beginning."""
    with pytest.raises(NoPattern, match="of flags there is i"):
        pattern(text)


def test_flags_that_are_known_mean_what_java_means() -> None:
    """A dot is any character with s, and none that ends a line without it; a vertical space is not a letter."""
    assert pattern("(?s)a.b").fullmatch("a\nb")
    assert pattern("(?is)a.b").fullmatch("A\u2028B")
    assert not pattern("(?i)a.b").fullmatch("a\nb")
    assert pattern("(?i:a)[(?s)]").fullmatch("As")
    assert not pattern("(?s)a").fullmatch("A")
    assert pattern(r"\v[\v]+").fullmatch("\n\x0b\u2028")


def test_many_empty_members_are_one_text() -> None:
    """A MB of them takes the time of a MB, and what is behind them is passed over."""
    assert _decompressed(gzip.compress(b"") * 50_000 + gzip.compress(b"a") + b"behind") == b"a"


def test_a_schema_is_looked_at_once() -> None:
    """Records that name the next one twice double with each level unless each is known by then."""
    made: dict[str, object] = {"type": "record", "name": "R0", "fields": [{"name": "v", "type": "float"}]}
    for level in range(1, 25):
        fields = [{"name": "a", "type": made}, {"name": "b", "type": f"R{level - 1}"}]
        made = {"type": "record", "name": f"R{level}", "fields": fields}
    schema = schema_of(made)
    assert view_of(schema) is view_of(schema) is not None


def test_a_struct_within_itself_is_a_document() -> None:
    """Its inner values are made ready like those around them."""
    schema = schema_of(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "v", "type": "float"}, {"name": "next", "type": ["null", "R"]}],
        }
    )
    view = view_of(schema)
    assert view is not None
    assert view({"v": 0.5, "next": {"v": 0.25, "next": None}}) == {
        "v": Decimal("0.5"),
        "next": {"v": Decimal("0.25"), "next": None},
    }


@pytest.mark.parametrize(("spec", "text"), [("y:float32", "0.1"), ("y:int8", "0")])
def test_values_with_and_without_a_schema_mix(spec: str, text: str) -> None:
    """In one batch of JSON, where numbers without a schema are of Java's own types."""
    more = {"value.converter.schemas.enable": "true", **one(f"{KAFKA}.Cast$Value", spec=spec)}
    bodies = [{"schema": schema, "payload": {"y": 0.1}} for schema in (None, STRUCT, None)]
    batch = ColumnBatch(PARTITION, [record(offset, body) for offset, body in enumerate(bodies)])
    settings = configured(more)
    converter = RecordConverter(settings, Registries())
    (rows,) = converter.ready(converter(Chain(settings, Registries())(batch)))
    lines = [
        line
        for _, part in by_schema(rows, len(bodies))
        for line in row_writer(part.schemas, DecimalFormat.BASE64)(part)
    ]
    assert lines == [f'{{"y":{text}}}'.encode()] * 3
