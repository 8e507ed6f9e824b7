"""JSON without a schema: what both parsers make is the same, and written as the slower way writes it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.settings.formats import DecimalFormat, FileSettings, Format
from kafka_s3.values.converters.changed import changed_rows, plain
from kafka_s3.values.converters.connect_schema import InvalidSchema
from kafka_s3.values.converters.connect_values import parse
from kafka_s3.values.converters.schemaless import plain_json, schemaless_json
from kafka_s3.values.formats.json_text import writer_for
from kafka_s3.values.rows import ChangedValues, Tombstone, Unwritable
from kafka_s3.values.transforms.java import Float32, Int8, Int32

ODD = (
    *("null", "-0", "-0.0", "1e5", "1E-400", "1e400", "0.1e1", "9223372036854775807", "9223372036854775808", "NaN"),
    *("-9223372036854775808", "-9223372036854775809", "1" * 5000, "12345678901234567890.5", "1e16", "12345678.5"),
    *('"\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', '"a\tb"', '{"a":1,"b":2,"a":3}', '{"\\ud800":1}', "", " ", "[1,]"),
    *(
        "[" * 200 + "]" * 200,
        "[" * 201 + "]" * 201,
        "[" * 900 + "]" * 900,
        '"' + "[" * 300 + '"',
        "01",
        "+1",
        "1.",
        "tru",
    ),
)
RAW = (None, b'"\xff"', b'{"\xff":1}', b'"\xed\xa0\x80"', b"\xef\xbb\xbf{}", '{"größe":"ü"}'.encode(), b"\0\0\0\0\1x")
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=12,
)
texts = values.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
odd = st.sampled_from([*(text.encode() for text in ODD), *(f'{{"a":[{text}]}}'.encode() for text in ODD), *RAW])


def expected(text: bytes | None) -> Any:
    """By the parser that keeps numbers as they are written."""
    if text is None:
        return "tombstone"
    try:
        made = plain_json(parse(text.removeprefix(b"\xef\xbb\xbf")))
    except InvalidSchema:
        return "bad"
    return "tombstone" if made is None else repr(made)


@given(st.lists(texts | odd, max_size=8))
def test_both_parsers_make_the_same_values(batch: list[bytes | None]) -> None:
    """Values, tombstones and bad records, alone and in a batch; text is compared, in which -0.0 is not 0.0."""
    rows = schemaless_json(batch)
    made = rows.values(None)
    for index, text in enumerate(batch):
        why = rows.excluded.get(index)
        found = (
            "tombstone" if isinstance(why, Tombstone) else "bad" if isinstance(why, Unwritable) else repr(made[index])
        )
        assert found == expected(text)


@given(
    st.lists(
        st.one_of(values, st.builds(Int32, st.integers(0, 9)), st.builds(Float32, st.floats(width=32))), max_size=6
    )
)
def test_what_is_ready_is_written_the_same(found: list[Any]) -> None:
    """Lines are what the way for all of Java's numbers writes, whichever of them need it."""
    found = [{"a": each, "b": [Int8(1), each]} for each in found if each is not None]
    rows: Any = changed_rows(ChangedValues(None, lambda: found), FileSettings(Format.JSON), {})
    assert list(rows.lines) == writer_for(None, DecimalFormat.BASE64)(list(map(plain, found)))
