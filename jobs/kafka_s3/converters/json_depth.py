"""How deep JSON text may be nested.

Parsers recurse, and give up where the stack of their caller happens to end: a limit of ours below that, so that a
record's fate does not depend on who reads it. Jackson's is 1,000.
"""

from __future__ import annotations

import re
from typing import Final

NESTING_MAX: Final = 800
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")


def is_too_deep(text: bytes, nesting_max: int = NESTING_MAX) -> bool:
    """Whether brackets outside strings are nested deeper than this."""
    if text.count(b"[") + text.count(b"{") <= nesting_max:
        return False
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub(b"", text)):
        depth += 1 if bracket in b"[{" else -1
        if depth > nesting_max:
            return True
    return False
