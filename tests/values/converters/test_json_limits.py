"""How deep JSON is nested and how much it holds: counted right, in a time and a memory that its length bounds."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.values.converters.json_limits import has_too_many, is_too_deep

_LONG = b"x" * 70_000  # more than a block
_PIECES = [b"[", b"{", b"]", b"}", b'"', b"\\", b'"a"', b'"[["', b'"\\""', b" ", _LONG]
_DEEP = b"[" * 900


@given(st.lists(st.sampled_from(_PIECES), max_size=30), st.integers(0, 5))
def test_brackets_outside_strings_count(pieces: list[bytes], limit: int) -> None:
    """It is the same as letter by letter, also where a string is longer than a block, or has no end."""
    text = b"".join(pieces)
    depth = deepest = 0
    inside = escaped = False
    for letter in text.replace(_LONG, b"x"):
        if inside and (escaped or letter == ord("\\")):
            escaped = not escaped
        elif letter == ord('"'):
            inside = not inside
        elif not inside:
            depth += (letter in b"[{") - (letter in b"]}")
            deepest = max(deepest, depth)
    assert is_too_deep(text, limit) == (deepest > limit)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (b"[1,2]", 2),
        (b'{"a":[{},{"b":1}],"c":{}}', 7),
        (b'["' + b"," * 1000 + b'","' + _LONG + b'\\"[[[",1,2]', 4),
        (b'"' + b"," * 1000, 0),
    ],
)
def test_values_are_counted_outside_strings(text: bytes, count: int) -> None:
    """A comma or a bracket is one more at most, unless it stands in a string."""
    assert has_too_many(text, count - 1)
    assert not has_too_many(text, count)


@pytest.mark.timeout(120)  # a search that begins again at every quote takes hours
@pytest.mark.parametrize(
    "text",
    [
        b"[" * 5_000_000,
        b'{"a":' * 1_000_000,
        b"[" + b"[]," * 1_500_000,
        b"[" * 801 + b'"' + b'\\"' * 2_000_000,
        b"[]" * 801 + b'"' * 5_000_001,
        b'["' + b"\\" * 5_000_001 + b"[" * 900,
    ],
    ids=["brackets", "names", "flat", "no end", "quotes", "backslashes"],
)
def test_no_text_takes_long_or_much(text: bytes) -> None:
    """Five million letters of whatever hurts most, in less memory than the text."""
    tracemalloc.start()
    is_too_deep(text)
    has_too_many(text, 1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000
