"""How deep JSON text may be nested.

Parsers recurse, and give up where the stack of their caller happens to end: a limit of ours below that, so that a
record's fate does not depend on who reads it. Jackson's is 1,000.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final

NESTING_MAX: Final = 800
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
    depth = start = 0
    while start < len(text):
        whole = _WHOLE.match(text, start, start + _BLOCK)
        assert whole is not None, "it matches nothing, too"
        if whole.end() == start:  # at a string that does not end in this block
            string = _STRING.match(text, start)
            assert string is not None
            start = string.end()
            continue
        steps = memoryview(_STRING.sub(b"", whole[0]).translate(_STEPS, _OTHERS)).cast("b")
        depths = list(accumulate(steps, initial=depth))
        if max(depths) > nesting_max:
            return True
        depth, start = depths[-1], whole.end()
    return False
