"""ExtractNewRecordState: the row out of Debezium's change events.

An event is a struct whose schema's name ends with `.Envelope`; it has the row `before` and `after` the change. What is
no event passes unchanged: heartbeats, schema changes, whatever has no schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Field, Node, Record, Union
from kafka_s3.records import HeaderText
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.settings.transforms.debezium import Reference, references
from kafka_s3.values.transforms.base import fills, optional_text, text, texts
from kafka_s3.values.transforms.connect import (
    Fields,
    TransformError,
    field_of,
    filler,
    getter,
    new_field,
    optional,
    primitive,
    schema_of_node,
    type_of,
    with_fields,
)
from kafka_s3.values.transforms.debezium_names import is_event
from kafka_s3.values.transforms.header_texts import text_of_field
from kafka_s3.values.transforms.records import Part, Records
from kafka_s3.values.transforms.routers import route

_DELETED: Final = "__deleted"
_KNOWN_MAX: Final = 1000
Read = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class _Handling:
    """What becomes of deletes, and of the tombstones that Debezium sends after them."""

    keeps_tombstones: bool
    drops_deletes: bool = False
    rewrites: bool = False
    without_schema: bool = False  # a delete becomes a null that has no schema either

    @classmethod
    def of(cls, settings: TransformSettings) -> _Handling:
        mode, older = (optional_text(settings, f"delete.{name}handling.mode") for name in ("tombstone.", ""))
        keeps = settings.options["drop.tombstones"]
        if mode is None and (older is not None or keeps is not None):
            older = (older or "drop").lower()
            return cls(keeps is False, older == "drop", older == "rewrite")
        mode = (mode or "tombstone").lower()
        keeping = mode == "rewrite-with-tombstone"
        return cls(keeping, mode == "drop", keeping or mode == "rewrite", mode == "delete-to-tombstone")


@dataclass(frozen=True, slots=True)
class _Row:
    """How a row is made of `before` or `after`: its schema, and its values of an event's."""

    schema: Schema
    of: Callable[[dict[str, Any]], dict[str, Any]]
    topic: Read | None


@dataclass(frozen=True, slots=True)
class _Found:
    """A field of an event that was asked for: its new name, its type, and how it is read."""

    name: str
    node: Node
    read: Read


class _Events:
    """What is made of events of one schema."""

    def __init__(self, record: Record, owner: ExtractNewRecordState) -> None:
        self._record = record
        self._owner = owner

    @cached_property
    def after(self) -> Read:
        return getter(self._required("after"), fills=True)

    @cached_property
    def before(self) -> Read:
        return getter(self._required("before"), fills=True)

    @cached_property
    def headers(self) -> list[tuple[str, Callable[[dict[str, Any]], str | None]]]:
        found = [_found(self._record, each) for each in self._owner.headers]
        return [(each.name, _as_text(each)) for each in found if each is not None]

    @cached_property
    def written(self) -> _Row:
        return self._row("after", "false")

    @cached_property
    def deleted(self) -> _Row:
        return self._row("before", "true")

    @cached_property
    def gone(self) -> Schema | None:
        """The schema of a delete that becomes a null."""
        if self._owner.handling.without_schema:
            return None
        return schema_of_node(self._required("after").node, None)

    @cached_property
    def topic_of_gone(self) -> Read | None:
        return self._topic("before")

    def _required(self, name: str) -> Field:
        field = field_of(self._record, name)
        if field is None:
            raise TransformError(f"the change event has no field {name}")
        return field

    def _topic(self, part: str) -> Read | None:
        if (name := self._owner.route_by) is None:
            return None
        read, row = getter(self._required(part), fills=True), _struct(self._required(part))
        field = field_of(row, name)
        if field is None or type_of(field.node) != "STRING":
            raise TransformError(f"{part} has no field {name} of the type STRING to route by")
        # The row behind a delete is read as it came; that of another event as it was rewritten.
        get = getter(field, fills=part == "after" and self._owner.handling.rewrites and self._owner.fills)
        return lambda event: get(read(event))

    def _row(self, part: str, deleted: str) -> _Row:
        read, row = getter(self._required(part), fills=True), _struct(self._required(part))
        topic = self._topic(part)
        operation = field_of(self._record, "op")
        if operation is None or type_of(operation.node) != "STRING":
            raise TransformError("the change event has no field op of the type STRING")
        fields = Fields()
        for field in row.fields:
            fields.add(field)
        rewrites = self._owner.handling.rewrites
        mark = {}
        if rewrites:
            mark[fields.add(new_field(_DELETED, primitive("STRING", optional=True)))] = deleted
        found = [each for each in (_found(self._record, one) for one in self._owner.added) if each is not None]
        added = [(fields.add(field, field.name), get) for field, get in map(_as_field, found)]
        schema = schema_of_node(with_fields(row, fields.made), None)
        fill = filler(row.fields, fills=rewrites and self._owner.fills)

        def made(event: dict[str, Any]) -> dict[str, Any]:
            values = read(event) if fill is None else fill(read(event))
            return {**values, **mark, **{name: get(event) for name, get in added}}

        return _Row(schema, made, topic)


class ExtractNewRecordState:
    """Makes rows of change events."""

    def __init__(self, settings: TransformSettings) -> None:
        self.handling = _Handling.of(settings)
        self.added = references(text(settings, "add.fields.prefix"), texts(settings, "add.fields"))
        self.headers = references(text(settings, "add.headers.prefix"), texts(settings, "add.headers"))
        self.route_by = optional_text(settings, "route.by.field") or None
        self.fills = fills(settings)
        self.parts = frozenset({Part.VALUE, *([Part.HEADERS] if self.headers else [])})
        # By what a schema is; each is held, so that its place in memory is no other's.
        self._known: dict[int, tuple[Schema, _Events | None]] = {}

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        values = records.value.values
        self._tombstones(records, [index for index in chosen if values[index] is None])
        for schema, indexes in list(records.value.by_schema(records.not_null(Part.VALUE, chosen))):
            events = None if schema is None else self._events(schema)
            if events is None:
                continue
            try:
                self._headers(records, events, indexes)
            except TransformError as error:
                records.fail(indexes, error)
                continue
            try:
                self._unwrap(records, events, indexes)
            except TransformError:
                self._one_by_one(records, events, indexes)

    def _one_by_one(self, records: Records, events: _Events, indexes: Sequence[int]) -> None:
        for index in indexes:
            try:
                self._unwrap(records, events, [index])
            except TransformError as error:
                records.fail([index], error)

    def _events(self, schema: Schema) -> _Events | None:
        known = self._known.get(id(schema))
        if known is None:
            record = graph(schema).required
            made = _Events(record, self) if isinstance(record, Record) and is_event(record) else None
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            known = self._known[id(schema)] = schema, made
        return known[1]

    def _tombstones(self, records: Records, indexes: Sequence[int]) -> None:
        if not self.handling.keeps_tombstones:
            records.drop(indexes)
            return
        deletes = tuple((each.name, HeaderText(b"d")) for each in self.headers if each.field == "op")
        if deletes and records.headers is not None:
            for index in indexes:
                records.headers[index] = (*records.headers[index], *deletes)

    def _headers(self, records: Records, events: _Events, indexes: Sequence[int]) -> None:
        if not self.headers:
            return
        headers = records.headers
        assert headers is not None
        values = records.value.values
        for index in indexes:
            made = [(name, get(values[index])) for name, get in events.headers]
            texts = [(name, None if one is None else HeaderText(one.encode("utf-8", "replace"))) for name, one in made]
            headers[index] = (*headers[index], *texts)

    def _unwrap(self, records: Records, events: _Events, indexes: Sequence[int]) -> None:
        """Whole or not at all: nothing is changed before all of it is made."""
        values = records.value.values
        written = [index for index in indexes if events.after(values[index]) is not None]
        if len(written) == len(indexes):
            self._rows(records, events.written, written, list(map(events.written.of, [values[i] for i in written])))
            return
        others = [index for index in indexes if events.after(values[index]) is None]
        deleted = [index for index in others if events.before(values[index]) is not None]
        dropped = [index for index in others if events.before(values[index]) is None]  # the table was truncated
        made = [events.written.of(values[index]) for index in written]
        if self.handling.drops_deletes:
            records.drop([*dropped, *deleted])
        elif self.handling.rewrites:
            rows = [events.deleted.of(values[index]) for index in deleted]
            records.drop(dropped)
            if deleted:
                self._rows(records, events.deleted, deleted, rows)
        elif deleted:
            gone, topic = events.gone, events.topic_of_gone
            records.drop(dropped)
            self._route(records, topic, deleted)
            records.value.put(deleted, gone, [None] * len(deleted))
        else:
            records.drop(dropped)
        if written:
            self._rows(records, events.written, written, made)

    def _rows(self, records: Records, row: _Row, indexes: Sequence[int], made: Sequence[Any]) -> None:
        self._route(records, row.topic, indexes)
        records.value.put(indexes, row.schema, made)

    @staticmethod
    def _route(records: Records, topic: Read | None, indexes: Sequence[int]) -> None:
        """A blank topic leaves the record in its own."""
        if topic is None:
            return
        values = records.value.values
        asked = {index: topic(values[index]) for index in indexes}
        routed = [index for index, name in asked.items() if name and name.strip()]
        route(records, routed, lambda index: str(asked[index]))


def _reader(field: Field) -> Read:
    name = field.name
    return lambda value: value[name]


def _struct(field: Field) -> Record:
    one = field.node.required
    if not isinstance(one, Record):
        raise TransformError(f"only a struct is a row, and {field.name} is of the type {type_of(one)}")
    return one


def _found(record: Record, asked: Reference) -> _Found | None:
    """Where a field is that was asked for; `None` if there is none. It is looked for in the envelope, too."""
    outer = field_of(record, asked.field)
    if asked.struct is None:
        return None if outer is None else _Found(asked.name, outer.node.required, _reader(outer))
    parent = field_of(record, asked.struct)
    if parent is None:
        raise TransformError(f"the change event has no field {asked.struct}, whose {asked.field} was asked for")
    inner, holder = field_of(_struct(parent), asked.field), _reader(parent)
    if inner is not None:
        get = _reader(inner)
        return _Found(asked.name, inner.node.required, lambda event: _of(holder(event), get))
    if outer is None:
        return None
    read = _reader(outer)
    return _Found(asked.name, outer.node.required, lambda event: None if holder(event) is None else read(event))


def _of(struct: Any, get: Read) -> Any:
    return None if struct is None else get(struct)


def _as_field(found: _Found) -> tuple[Field, Read]:
    """The field as it is added: optional, without a default. Of a struct Debezium keeps no fields: it takes null."""
    node, read = found.node, found.read
    if type_of(node) == "MAP":
        raise TransformError(f"a map cannot be added as the field {found.name}")
    if isinstance(node, Record):
        node, read = replace(node, fields=()), _refusing(found)
    elif not isinstance(node, Union) and "connect.default" in node.properties:
        words = {name: word for name, word in node.properties.items() if name != "connect.default"}
        node = replace(node, properties=words)
    return Field(found.name, optional(node), {"name": found.name, "default": None}, default=None), read


def _refusing(found: _Found) -> Read:
    def refused(event: dict[str, Any]) -> None:
        if found.read(event) is not None:
            raise TransformError(f"a struct cannot be added as the field {found.name}")

    return refused


def _as_text(found: _Found) -> Callable[[dict[str, Any]], str | None]:
    to_text, read = text_of_field(found.node), found.read
    return lambda event: to_text(read(event))
