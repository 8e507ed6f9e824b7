"""What few bytes of a payload can become under a Connect schema: missing fields and nulls stand for fields with names,
and for defaults; in columns, for places that stay empty. Counted in bytes of memory, before any of it is made."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from kafka_s3.values.converters.connect_schema import ABSENT, ConnectSchema
from kafka_s3.values.converters.connect_unions import branch_of
from kafka_s3.values.converters.weight import DEFAULT_TIMES, FIELD, NAME_TIMES, ROOM, allowed, place, too_heavy

_WIDEST: Final = 8  # of columns but for decimals


class Weigher:
    """Of one envelope's schema. `columns`: what is missing takes its place in all the columns that it would have."""

    def __init__(self, schema: ConnectSchema, columns: bool) -> None:
        self._schema = schema
        self._columns = columns
        # By the identity of a schema, which the first one keeps.
        self._fields_of: dict[int, dict[str, tuple[ConnectSchema, int]]] = {}
        self._empty: dict[int, int] = {}
        self._null: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._unions = False
        #: The most that one object, or one null, of a payload can become; where there are unions, one value.
        self.most = self._most(schema, {})
        #: A payload of no more bytes than this cannot be too heavy.
        self.length_max = ROOM // self.most

    def may_be_heavy(self, payload: bytes) -> bool:
        """By what its objects and nulls, or all of its values, could be at most."""
        found = payload.count(b"{") + payload.count(b"null")
        if self._unions:
            found += payload.count(b",") + payload.count(b"[") + payload.count(b":") + 1
        return found * self.most > allowed(len(payload))

    def problem(self, payload: bytes, parsed: Any) -> str | None:
        """Why a payload is too heavy; takes the time of its length, whatever the schema."""
        limit = allowed(len(payload))
        found = self._weight(self._schema, parsed, limit)
        if found <= limit:
            return None
        why = "missing fields and nulls become what the schema says of them"
        return too_heavy(len(payload), found, "fields and defaults", why)

    def _most(self, schema: ConnectSchema, known: dict[int, int]) -> int:
        if id(schema) not in known:
            self._unions = self._unions or schema.union
            inner = [each for each in (schema.keys, schema.items) if each] + [field.schema for field in schema.fields]
            below = [self._most(each, known) for each in inner]
            known[id(schema)] = max([1, self._of_null(schema), self._of_empty(schema), *below])
        return known[id(schema)]

    def _weight(self, schema: ConnectSchema, json: Any, limit: int) -> int:
        """Up to some value above the limit: how much more is the same."""
        if json is None:
            return self._of_null(schema)
        if schema.again is not None:
            schema = schema.memo["again"]
        if schema.union:
            place = branch_of(schema, json)
            return self._of_empty(schema) + (
                0 if place is None else self._weight(schema.fields[place].schema, json, limit)
            )
        match json:
            case dict() if schema.type == "struct":
                fields = self._fields(schema)
                return self._of_empty(schema) + sum(
                    self._weight(fields[name][0], each, limit) - fields[name][1]
                    for name, each in json.items()
                    if each is not None and name in fields
                )
            case dict() if (items := schema.items) is not None:
                return self._all(items, json.values(), limit)
            case list() if schema.entries and (items := schema.items) is not None:
                return self._all(items, [each.get("value") for each in json if isinstance(each, dict)], limit)
            case list() if schema.type == "map" and (items := schema.items) is not None:
                pairs = [each[1] for each in json if isinstance(each, list) and len(each) == 2]
                return self._all(items, pairs, limit)
            case list() if (items := schema.items) is not None:
                return self._all(items, json, limit)
        return 0

    def _all(self, schema: ConnectSchema, values: Collection[Any], limit: int) -> int:
        """Of many values of one schema; to find the schemas of a union takes the time of all that it has."""
        if schema.union and len(values) * self._of_empty(schema) > limit:
            return len(values) * self._of_empty(schema)
        return sum(self._weight(schema, each, limit) for each in values)

    def _fields(self, schema: ConnectSchema) -> dict[str, tuple[ConnectSchema, int]]:
        """A struct's fields by name, each with what it becomes where it is missing."""
        if id(schema) not in self._fields_of:
            self._fields_of[id(schema)] = {
                field.name: (field.schema, FIELD + NAME_TIMES * len(field.name) + self._of_null(field.schema))
                for field in schema.fields
            }
        return self._fields_of[id(schema)]

    def _of_empty(self, schema: ConnectSchema) -> int:
        """A struct without any of its fields; below one that is missing nothing is made but its default."""
        if id(schema) not in self._empty:
            self._empty[id(schema)] = sum(each for _, each in self._fields(schema).values())
        return self._empty[id(schema)]

    def _of_null(self, schema: ConnectSchema) -> int:
        if id(schema) not in self._null:
            default = 0 if schema.default is ABSENT else DEFAULT_TIMES * len(str(schema.default))
            self._null[id(schema)] = default + (self._empty_places(schema) if self._columns else 0)
        return self._null[id(schema)]

    def _empty_places(self, schema: ConnectSchema) -> int:
        """All the columns of a value that is not there; columns cannot have a struct within itself."""
        if schema.again is not None:
            return 0
        if schema.type != "struct":
            return place(_WIDEST)
        if id(schema) not in self._places:
            self._places[id(schema)] = sum(self._empty_places(field.schema) for field in schema.fields)
        return self._places[id(schema)]
