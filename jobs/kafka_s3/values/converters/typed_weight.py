"""What few bytes of JSON can become under a schema that the user gives: missing fields stand for names and defaults.
Counted in bytes of memory, before any of it is made, as `connect_weight` does."""

from __future__ import annotations

from typing import Any, Final

from kafka_s3.avro.nodes import NO_DEFAULT, Array, Map, Node, Record, Union, held
from kafka_s3.values.converters.connect_weight import DEFAULT_TIMES, FIELD, NAME_TIMES, ROOM, TIMES_MAX

_OBJECT: Final = b"{"


class Weights:
    """One schema's: of each of its records, what it is without any of its fields."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._missing: dict[Node, dict[str, tuple[Node, int]]] = {}
        self._empty: dict[Node, int] = {}
        for each in (node, *held(node)):
            if isinstance(each, Record) and each not in self._missing:
                fields = {field.name: (field.node, _of(field.name, field.default)) for field in each.fields}
                self._missing[each] = fields
                self._empty[each] = sum(weight for _, weight in fields.values())
        self._most = max([1, *self._empty.values()])
        #: A value of no more bytes than this cannot be too heavy.
        self.length_max = ROOM // self._most

    def may_be_heavy(self, value: bytes) -> bool:
        return len(value) > self.length_max and value.count(_OBJECT) * self._most > ROOM + TIMES_MAX * len(value)

    def problem(self, value: bytes, parsed: Any) -> str | None:
        """Why a value is too heavy; takes the time of its length, whatever the schema."""
        found, heaviest = self._weight(self._node, parsed), ROOM + TIMES_MAX * len(value)
        if found <= heaviest:
            return None
        return (
            f"its {len(value)} bytes stand for {found} bytes of fields and defaults, and {heaviest} are allowed: "
            "missing fields become what the schema says of them"
        )

    def _weight(self, node: Node, parsed: Any) -> int:
        node = node.required
        match node, parsed:
            case Array(item), list():
                return sum(self._weight(item, each) for each in parsed)
            case Union(), list():
                return sum(self._weight(node, each) for each in parsed)
            case Map(item), dict():
                return sum(self._weight(item, each) for each in parsed.values())
            case Union(), dict():  # whichever branch it is
                return self._most + sum(self._weight(node, each) for each in parsed.values())
            case Record(), dict():
                fields = self._missing[node]
                return self._empty[node] + sum(
                    self._weight(fields[name][0], each) - fields[name][1]
                    for name, each in parsed.items()
                    if name in fields
                )
        return 0


def _of(name: str, default: Any) -> int:
    return FIELD + NAME_TIMES * len(name) + (0 if default is NO_DEFAULT else DEFAULT_TIMES * len(str(default)))
