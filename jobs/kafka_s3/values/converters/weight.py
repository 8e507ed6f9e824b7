"""How much a record may stand for beyond its own bytes, and how that is said.

Counted in bytes of memory before any of it is made: `connect_weight` of envelopes, `typed_weight` of JSON under a
schema of the user's own, `avro_weight` of a registry's datums.
"""

from __future__ import annotations

from typing import Final

#: A record may stand for this much beyond what its bytes are, and for so much more for each of its bytes.
ROOM: Final = 64 * 1024 * 1024
TIMES_MAX: Final = 50
#: A field as an entry of a dictionary; its name, as text that is written, sent and kept; a default, as values.
FIELD: Final = 48
NAME_TIMES: Final = 3
DEFAULT_TIMES: Final = 12
#: An empty place in a column: what levels, pages and statistics take; and its width twice, while columns are joined.
_PLACE: Final = 4


def place(width: int) -> int:
    return _PLACE + 2 * width


def allowed(length: int) -> int:
    return ROOM + TIMES_MAX * length


def too_heavy(length: int, found: int, what: str, why: str) -> str:
    """Why a record is bad: it stands for `found` bytes of `what`."""
    return f"its {length} bytes stand for {found} bytes of {what}, and {allowed(length)} are allowed: {why}"
