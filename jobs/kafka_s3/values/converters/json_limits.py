"""How deep JSON text may be nested, and how many values it may hold.

Parsers recurse, and give up where the stack of their caller happens to end: a limit of ours below that, so that a
record's fate does not depend on who reads it. Jackson's is 1,000.

A value that becomes an object takes up to 400 bytes, for two of its text: VALUES_MAX of them are a gigabyte. Text that
goes out as it came has no such limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

NESTING_MAX: Final = 800
VALUES_MAX: Final = 2_500_000
TOO_MANY: Final = f"not JSON that is read: it holds more than {VALUES_MAX} values"
_BLOCK: Final = 64 * 1024
# Nothing is tried twice, and a string without an end is one up to the end: the time is that of the text's length,
# whatever the text.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+', re.DOTALL)
_WHOLE: Final = re.compile(rb'(?:[^"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))
#: Brackets to one up and one down, as signed bytes.
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


def is_too_deep(text: bytes, nesting_max: int = NESTING_MAX) -> bool:
    """Whether brackets outside strings are nested deeper than this. Memory: a few blocks."""
    if text.count(b"[") + text.count(b"{") <= nesting_max:
        return False
    depth = 0
    for block in _without_strings(text):
        depths = list(accumulate(memoryview(block.translate(_STEPS, _OTHERS)).cast("b"), initial=depth))
        if max(depths) > nesting_max:
            return True
        depth = depths[-1]
    return False


def has_too_many(text: bytes, values_max: int = VALUES_MAX) -> bool:
    """Whether there are more values than this: there is one after each opening bracket and each comma, at most."""
    if len(text) <= values_max or _values_at_most(text) <= values_max:
        return False
    return sum(map(_values_at_most, _without_strings(text))) > values_max


def _values_at_most(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _without_strings(text: bytes) -> Iterator[bytes]:
    """The text between strings, block by block."""
    start = 0
    while start < len(text):
        whole = _WHOLE.match(text, start, start + _BLOCK)
        assert whole is not None, "it matches nothing, too"
        if whole.end() > start:
            yield _STRING.sub(b"", whole[0])
            start = whole.end()
        else:  # at a string that does not end in this block
            string = _STRING.match(text, start)
            assert string is not None
            start = string.end()
