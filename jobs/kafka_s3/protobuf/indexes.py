"""Which message type of its file a record names: Confluent's message indexes, between the schema's id and the message.

A list of numbers as zigzag varints, its length first: the message of the file, the message nested in that, and so on.
The list of a single 0, the first message, is written as one byte, 0.
"""

from __future__ import annotations

from typing import Final

#: Messages inside each other; protoc takes no more.
_DEPTH_MAX: Final = 64
_BYTES_MAX: Final = 5


class NoIndexes(ValueError):
    """The bytes are no message indexes, and why, for people."""


def read_indexes(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    """The indexes that begin at byte `at`, and where they end.

    >>> read_indexes(bytes([0]), 0), read_indexes(bytes([4, 2, 0, 9]), 0)
    (((0,), 1), ((1, 0), 3))
    """
    count, at = _number(data, at)
    if count == 0:
        return (0,), at
    if not 0 < count <= _DEPTH_MAX:
        raise NoIndexes(f"the number of its message indexes is not 1 to {_DEPTH_MAX}")
    found = []
    for _ in range(count):
        number, at = _number(data, at)
        if number < 0:
            raise NoIndexes("a message index is negative")
        found.append(number)
    return tuple(found), at


def _number(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place in range(_BYTES_MAX):
        if at + place >= len(data):
            raise NoIndexes("the value ends within its message indexes")
        byte = data[at + place]
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at + place + 1
    raise NoIndexes("a message index has more than 32 bits")
