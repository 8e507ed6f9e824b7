"""What few bytes of JSON can become under a schema that the user gives: missing fields stand for names and defaults,
and in columns nulls for all their places. Counted in bytes of memory before any of it is made, as `connect_weight`
does."""

from __future__ import annotations

from typing import Any, Final

from kafka_s3.avro.nodes import NO_DEFAULT, Array, Field, Map, Node, Record, Union, held
from kafka_s3.values.converters.avro_weight import EmptyPlaces
from kafka_s3.values.converters.weight import DEFAULT_TIMES, FIELD, NAME_TIMES, ROOM, allowed, too_heavy

_OBJECT: Final = b"{"
_NULL: Final = b"null"


class Weights:
    """One schema's: of each of its records, what it is without any of its fields. `columns`: what is missing takes its
    place in all the columns that it would have."""

    def __init__(self, node: Node, columns: bool) -> None:
        self._node = node
        self._places = EmptyPlaces() if columns else None
        self._missing: dict[Node, dict[str, tuple[Node, int]]] = {}
        self._empty: dict[Node, int] = {}
        for each in (node, *held(node)):
            if isinstance(each, Record) and each not in self._missing:
                fields = {field.name: (field.node, self._of(field)) for field in each.fields}
                self._missing[each] = fields
                self._empty[each] = sum(weight for _, weight in fields.values())
        nulls = [0 if self._places is None else self._places.visit(each) for each in (node, *held(node))]
        self._most = max([1, *self._empty.values(), *nulls])
        #: A value of no more bytes than this cannot be too heavy.
        self.length_max = ROOM // self._most

    def may_be_heavy(self, value: bytes) -> bool:
        if len(value) <= self.length_max:
            return False
        each = value.count(_OBJECT) + (0 if self._places is None else value.count(_NULL))
        return each * self._most > allowed(len(value))

    def problem(self, value: bytes, parsed: Any) -> str | None:
        """Why a value is too heavy; takes the time of its length, whatever the schema."""
        found = self._weight(self._node, parsed)
        if found <= allowed(len(value)):
            return None
        return too_heavy(len(value), found, "fields and defaults", "missing fields become what the schema says of them")

    def _weight(self, node: Node, parsed: Any) -> int:
        if parsed is None:
            return self._of_null(node)
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

    def _of(self, field: Field) -> int:
        """A field that is missing."""
        default = 0 if field.default is NO_DEFAULT else DEFAULT_TIMES * len(str(field.default))
        return FIELD + NAME_TIMES * len(field.name) + default + self._of_null(field.node)

    def _of_null(self, node: Node) -> int:
        return 0 if self._places is None else self._places.visit(node)
