"""What few bytes of a message can become, beyond the values that are in them.

A message of two bytes is one of all its fields: as values and as JSON their names, as columns their places. An enum's
number is a name of any length. What all messages of a length can become at most is known of a schema; only where that
is too much their bytes are walked, to count what they do become.
"""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from typing import Final

from kafka_s3.protobuf.shapes import Choice, Enumerated, MapOf, Shape, Slot, Struct
from kafka_s3.values.converters.weight import FIELD, NAME_TIMES, ROOM, TIMES_MAX, allowed, place, too_heavy

#: What Protobuf's runtime has for a field, there or not, and for a message.
_RUNTIME_FIELD: Final = 16
_RUNTIME_MESSAGE: Final = 64
#: Messages on the wire take two bytes at least.
_BYTES_MIN: Final = 2


class Weights:
    """One shape's, into columns or into JSON text."""

    def __init__(self, shape: Shape, columns: bool) -> None:
        self._columns = columns
        self._places: dict[str, int] = {}
        #: By the full names of messages and of enums.
        self.each: dict[str, int] = {}
        self._enums: set[str] = set()
        for struct in shape.structs.values():
            self._add(struct)
        messages = [weight for name, weight in self.each.items() if name not in self._enums]
        per_byte = max(
            -(-max(messages, default=0) // _BYTES_MIN),
            max((self.each[name] for name in self._enums), default=0),
        )
        room = ROOM - max(messages, default=0)
        times = per_byte - TIMES_MAX
        #: A value of no more bytes than this cannot be too heavy.
        self.length_max = room // times if times > 0 else sys.maxsize if room >= 0 else -1

    def _add(self, struct: Struct) -> None:
        names = 0
        for slot in struct.slots:
            names += _named(slot.name)
            if isinstance(slot, Choice):
                names += sum(_named(each.name) for each in slot.members)
        beside = self._empty(struct) if self._columns else names
        self.each[struct.full] = _RUNTIME_MESSAGE + _RUNTIME_FIELD * len(struct.fields) + beside
        for slot in struct.fields:
            value = slot.value
            if isinstance(value, MapOf):
                self.each[value.entry] = _RUNTIME_MESSAGE + 2 * (FIELD + NAME_TIMES * len("value"))
                value = value.value.value
            if isinstance(value, Enumerated) and not value.numbers:
                self.each[value.full] = NAME_TIMES * max(len(symbol) for symbol, _ in value.symbols)
                self._enums.add(value.full)

    def _empty(self, struct: Struct) -> int:
        """The places in columns that a message fills, whatever is in it."""
        if struct.full not in self._places:
            self._places[struct.full] = 0  # within itself: columns cannot have it, and it is refused for that
            self._places[struct.full] = sum(map(self._empty_slot, struct.fields))
        return self._places[struct.full]

    def _empty_slot(self, slot: Slot) -> int:
        if slot.repeated:
            return place(4)
        return self._empty(slot.value) if isinstance(slot.value, Struct) else place(8)

    def problem(self, length: int, weight: int) -> str | None:
        """Why a message of this length and weight is too heavy."""
        if weight <= allowed(length):
            return None
        why = "the fields and symbols are the schema's"
        return too_heavy(length, weight, "what its schema adds to its values", why)


def _named(name: str) -> int:
    return FIELD + NAME_TIMES * len(json.dumps(name))


@lru_cache(maxsize=256)
def weights_of(shape: Shape, columns: bool) -> Weights:
    return Weights(shape, columns)
