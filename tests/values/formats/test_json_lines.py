"""Objects of JSON lines and JSON arrays: what is in them, however records were cut into calls."""

from __future__ import annotations

import gzip
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.avro.model import schema_of
from kafka_s3.settings.formats import DecimalFormat, Gzip, NoCompression
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.formats.json_lines import JsonArray, JsonLinesFormat
from kafka_s3.values.formats.json_text import writer_for
from kafka_s3.values.rows import Lines

SCHEMA = schema_of({"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "double"]}]})
FORMATS = [JsonLinesFormat, JsonArray]
batches = st.lists(st.lists(st.none() | st.floats(allow_nan=False), max_size=6), max_size=4)


def structs(numbers: list[float | None]) -> ValueRows:
    return ValueRows([{"a": number} for number in numbers], SCHEMA)


def lines(numbers: list[float | None]) -> Lines:
    return Lines([json.dumps({"a": number}).encode() for number in numbers])


def written(format: Any, rows: list[Any], cuts: list[list[int]]) -> tuple[bytes, int]:
    """An object of all rows, each batch cut in these places; and what the encoder counted."""
    encoder = format.open(SCHEMA)
    out, counted = b"", 0
    for each, places in zip(rows, cuts, strict=True):
        for start, stop in itertools.pairwise(places):
            data, size = encoder.encode(each, start, stop)
            out, counted = out + data, counted + size
    return out + encoder.finish(), counted


@given(batches, st.data(), st.sampled_from(FORMATS), st.sampled_from([structs, lines]))
def test_cuts_do_not_show(numbers: list[list[float | None]], data: st.DataObject, kind: Any, make: Any) -> None:
    """The object is the same bytes however the writer cut its calls, and reads back as the records."""
    if kind is JsonLinesFormat and make is lines:
        return  # lines have a format of their own
    rows = [make(each) for each in numbers]
    cuts = [sorted({0, len(each), *data.draw(st.lists(st.integers(0, len(each)), max_size=3))}) for each in numbers]
    for compression in (NoCompression(), Gzip()):
        made = kind(".json", compression, DecimalFormat.BASE64)
        out, _ = written(made, rows, cuts)
        assert out == written(made, rows, [[0, len(each)] for each in numbers])[0]
        plain = gzip.decompress(out) if isinstance(compression, Gzip) else out
        found = json.loads(plain) if kind is JsonArray else [json.loads(line) for line in plain.splitlines()]
        flat = [{"a": number} for each in numbers for number in each]
        # Infinities are text in Connect's JSON.
        assert (
            found
            == [
                {
                    "a": "Infinity"
                    if each["a"] == float("inf")
                    else "-Infinity"
                    if each["a"] == float("-inf")
                    else each["a"]
                }
                for each in flat
            ]
            or make is lines
        )


def test_an_array_is_one_json_value() -> None:
    """A bracket, the records with a comma and a line feed between them, a bracket and a line feed."""
    array = JsonArray(".json", NoCompression(), DecimalFormat.BASE64)
    assert written(array, [structs([1.0, None]), lines([3.0])], [[0, 1, 2], [0, 1]])[0] == (
        b'[{"a":1.0},\n{"a":null},\n{"a": 3.0}]\n'
    )
    assert written(array, [], [])[0] == b"[]\n"
    assert written(array, [structs([])], [[0, 0]])[0] == b"[]\n"


def test_lines_end_with_a_line_feed() -> None:
    """Every one of them, and what is counted is what is written."""
    made = JsonLinesFormat(".json", NoCompression(), DecimalFormat.BASE64)
    out, counted = written(made, [structs([1e10, None])], [[0, 1, 2]])
    assert out == b'{"a":1.0E10}\n{"a":null}\n'
    assert counted == len(out)


@pytest.mark.parametrize("kind", FORMATS)
@given(numbers=st.lists(st.none() | st.floats(allow_nan=False), min_size=1, max_size=8), room=st.integers(1, 120))
def test_rows_until_is_where_the_room_ends(kind: Any, numbers: list[float | None], room: int) -> None:
    """The fewest rows that fill the room, by the bytes that they will be; `None` if all of them leave some."""
    rows = structs(numbers)
    encoder = kind(".json", NoCompression(), DecimalFormat.BASE64).open(SCHEMA)
    lines = writer_for(SCHEMA, DecimalFormat.BASE64)(rows.values(SCHEMA))
    more = [1] + [1 if kind is JsonLinesFormat else 2] * len(lines)  # a line feed; or a bracket, then a comma too
    sizes = [len(line) + each for line, each in zip(lines, more, strict=False)]
    expected = next((count for count in range(1, len(sizes) + 1) if sum(sizes[:count]) >= room), None)
    assert encoder.rows_until(rows, 0, len(numbers), room) == expected
    if expected is not None and expected < len(numbers):
        # What was measured and is then written in pieces is what is written without having been measured.
        made = encoder.encode(rows, 0, expected)[0] + encoder.encode(rows, expected, len(numbers))[0] + encoder.finish()
        assert made == written(kind(".json", NoCompression(), DecimalFormat.BASE64), [rows], [[0, len(numbers)]])[0]
