"""ByLogicalTableRouter: one topic for several tables, whose keys say which table they come from.

A routed key is named after the topic, and so are a change event and its rows. Debezium keeps the first name that a
schema got, whatever topic comes next; here each topic's schemas have that topic's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import NO_DEFAULT, Field, Node, Record
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.settings.transforms.regex import pattern, replacement
from kafka_s3.values.transforms.base import Compiled, optional_text, text
from kafka_s3.values.transforms.connect import (
    Fields,
    TransformError,
    field_of,
    filler,
    name_of,
    new_field,
    optional,
    primitive,
    schema_of_node,
    struct_of,
    type_of,
    with_fields,
)
from kafka_s3.values.transforms.debezium_names import adjusted, is_event
from kafka_s3.values.transforms.records import Change, Part, Records, each
from kafka_s3.values.transforms.routers import replaced, route
from kafka_s3.values.transforms.schema_metadata import renamed

#: Topics that are known; a task reads few.
_TOPICS_MAX: Final = 1000
_ROWS: Final = ("before", "after")


@dataclass(frozen=True, slots=True)
class _Table:
    """What becomes of the records of one topic. `identifier`: of their keys, unless these get none."""

    topic: str
    keys: Compiled
    values: Compiled


class ByLogicalTableRouter:
    """Renames topics whose whole name fits a pattern, and their keys' and change events' schemas."""

    parts = frozenset({Part.KEY, Part.VALUE, Part.TOPIC})

    def __init__(self, settings: TransformSettings) -> None:
        self._pattern = pattern(text(settings, "topic.regex"))
        self._replace = replacement(text(settings, "topic.replacement"), self._pattern)
        given = (optional_text(settings, "key.field.regex") or "").strip()
        self._key_pattern = pattern(given) if given else None
        self._key_replacement = text(settings, "key.field.replacement")
        is_unique = settings.options["key.enforce.uniqueness"] is True
        self._key_field = text(settings, "key.field.name") if is_unique else None
        self._adjustment = text(settings, "schema.name.adjustment.mode").lower()
        self._known: dict[str, _Table | None] = {}

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        by_table: dict[str, list[int]] = {}
        for index in chosen:
            by_table.setdefault(records.topic_at(index), []).append(index)
        for topic, indexes in by_table.items():
            table = self._table(topic)
            if table is None:
                continue
            keys = records.key.values
            without = [index for index in indexes if keys[index] is None]
            records.key.put(without, None, None)
            records.change(Part.KEY, [index for index in indexes if keys[index] is not None], table.keys)
            records.change(Part.VALUE, records.not_null(Part.VALUE, indexes), table.values)
            route(records, indexes, lambda _, topic=table.topic: topic)  # type: ignore[misc]

    def _table(self, topic: str) -> _Table | None:
        if topic not in self._known:
            if len(self._known) >= _TOPICS_MAX:
                self._known.clear()
            new = replaced(topic, self._pattern, self._replace)
            # A blank topic leaves the record as it is.
            self._known[topic] = self._made(topic, new) if new else None
        return self._known[topic]

    def _made(self, old: str, new: str) -> _Table:
        identifier = None
        if self._key_pattern is not None:
            identifier = replaced(old, self._key_pattern, replacement(self._key_replacement, self._key_pattern))
        identifier = old if identifier is None else identifier
        key, row, event = (adjusted(f"{new}.{what}", self._adjustment) for what in ("Key", "Value", "Envelope"))
        return _Table(
            new,
            Compiled(lambda schema: _key(schema, key, self._key_field, identifier)),
            Compiled(lambda schema: _event(schema, event, row)),
        )


def _key(schema: Schema | None, name: str, field: str | None, identifier: str) -> Change:
    if schema is None:
        raise TransformError("only a struct is a key here, and the key has no schema")
    node, record = graph(schema), struct_of(schema)
    fields = Fields()
    for one in record.fields:
        fields.add(one)
    added = {} if field is None else {fields.add(new_field(field, primitive("STRING"))): identifier}
    fill = filler(record.fields, fills=True)
    made: Node = renamed(with_fields(record, fields.made), name)
    outer = schema_of_node(optional(made) if node.nullable else made, schema.version)
    return Change(outer, each(lambda value: {**(value if fill is None else fill(value)), **added}))


def _event(schema: Schema | None, name: str, row_name: str) -> Change:
    """What is not a change event stays as it is."""
    node = None if schema is None else graph(schema)
    if schema is None or node is None or not is_event(node):
        return Change(schema)
    record = struct_of(schema)
    before = field_of(record, "before")
    if before is None:
        raise TransformError("the change event has no field before")
    row = before.node.required
    if not isinstance(row, Record):
        raise TransformError(f"only a struct is a row, and before is of the type {type_of(row)}")
    new = renamed(with_fields(row, row.fields), row_name)
    fields = [_as_row(each, row, new, before) if name_of(each) in _ROWS else each for each in record.fields]
    made: Node = renamed(with_fields(record, fields), name)
    outer = schema_of_node(optional(made) if node.nullable else made, schema.version)
    fill, fill_row = filler(record.fields, fills=True), filler(row.fields, fills=True)
    if fill is None and fill_row is None:
        return Change(outer)
    rows = [each.name for each in record.fields if name_of(each) in _ROWS]

    def filled(value: dict[str, Any]) -> dict[str, Any]:
        made = value if fill is None else fill(value)
        if fill_row is None:
            return made
        return {**made, **{name: fill_row(made[name]) for name in rows if made[name] is not None}}

    return Change(outer, each(filled))


def _as_row(field: Field, row: Record, new: Record, before: Field) -> Field:
    """`before` or `after`, both of the type that `before` has, under its new name."""
    one = field.node.required
    if not isinstance(one, Record) or [name_of(each) for each in one.fields] != [name_of(each) for each in row.fields]:
        raise TransformError("before and after have different fields")
    words = {name: word for name, word in field.properties.items() if name != "default"}
    if not before.node.nullable:
        return replace(field, node=new, properties=words, default=NO_DEFAULT)
    return replace(field, node=optional(new), properties={**words, "default": None}, default=None)
