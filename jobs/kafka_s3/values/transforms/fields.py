"""ReplaceField, ExtractField, HoistField, ValueToKey."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Field, Node, Record, Union
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.settings.transforms.field_paths import steps
from kafka_s3.settings.transforms.kafka import renames
from kafka_s3.values.transforms.base import Compiled, fills, require_map, require_value, rows_of, side_of, text, texts
from kafka_s3.values.transforms.connect import (
    Fields,
    TransformError,
    default_of,
    field_of,
    filler,
    getter,
    name_of,
    optional,
    schema_of_node,
    struct,
    struct_of,
    with_fields,
)
from kafka_s3.values.transforms.records import Change, Part, Records, each

#: Maps of different names whose fields are remembered; beyond that all are looked at again.
_PICKS_MAX: Final = 100


def picker(old: Sequence[str], new: Sequence[str]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A struct of some fields of another one, under other names."""
    if not old:
        return lambda _: {}
    if len(old) == 1:
        (only,), (name,) = old, new
        return lambda value: {name: value[only]}
    get = itemgetter(*old)
    return lambda value: dict(zip(new, get(value), strict=True))


class ReplaceField:
    """Drops fields, or renames them."""

    takes_texts = True

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        self._exclude, self._include = frozenset(texts(settings, "exclude")), frozenset(texts(settings, "include"))
        self._renames = renames(texts(settings, "renames"))
        self._back = {new: old for old, new in self._renames.items()}
        self._fills = fills(settings)
        self._compiled = Compiled(self._compile)
        self._picks: dict[tuple[str, ...], Callable[[dict[str, Any]], dict[str, Any]]] = {}  # by a map's names

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        records.change(self._side, records.not_null(self._side, chosen), self._compiled)

    def _is_kept(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            return Change(None, each(self._in_map), self._in_texts)
        record = struct_of(schema)
        fields, old, new = Fields(), [], []
        origins: list[Field] = []
        kept: list[Field] = []
        for field in record.fields:
            if self._is_kept(name := name_of(field)):
                kept.append(field)
                shown = self._renames.get(name, name)
                new.append(fields.add(field, None if shown == name else shown))
                # Connect looks for the value by the new name: with renames in a circle that is another field's.
                origin = field_of(record, self._back.get(shown, shown))
                if origin is None:
                    raise TransformError(f"{self._back.get(shown, shown)} is not a valid field name")
                origins.append(origin)
                old.append(origin.name)
        made = schema_of_node(with_fields(record, fields.made), schema.version)
        pick, fill = picker(old, new), filler(origins, fills=self._fills)
        if fill is not None:
            return Change(made, each(lambda value: pick(fill(value))))
        if any(origin is not field for origin, field in zip(origins, kept, strict=True)):
            return Change(made, each(pick))  # another field's value, which may be of another type
        numbers = [record.fields.index(origin) for origin in origins]
        return Change(made, each(pick), rows_of(schema, made, lambda *_: numbers))

    def _in_texts(self, rows: Any, _: Sequence[int]) -> Any:
        kept = {name: each for name, each in rows.origins.items() if self._is_kept(name)}
        return rows.changed({self._renames.get(name, name): each for name, each in kept.items()})

    def _in_map(self, value: Any) -> dict[str, Any]:
        names = tuple(require_map(value, "field replacement"))
        pick = self._picks.get(names)
        if pick is None:
            if len(self._picks) >= _PICKS_MAX:
                self._picks.clear()
            old = list(filter(self._is_kept, names))
            pick = self._picks[names] = picker(old, [self._renames.get(name, name) for name in old])
        return pick(value)


class HoistField:
    """Makes the value the only field of a struct, or of a map."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        self._name = text(settings, "field")
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        records.change(self._side, chosen, self._compiled)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            return Change(None, each(lambda value: {self._name: value}))
        fields = Fields()
        node = graph(schema)
        plain = fields.add(Field(self._name, node, {"name": self._name}), self._name)
        made = schema_of_node(struct([_with_default(fields.made[0])]), None)
        if node.nullable:
            return Change(made, each(lambda value: {plain: value}))

        def hoisted(value: Any) -> dict[str, Any]:
            require_value(value, "a field that is required")
            return {plain: value}

        return Change(made, each(hoisted))


def _with_default(field: Field) -> Field:
    """A field whose type is optional has null for its default, as AvroData writes it."""
    given = field.node.required.properties.get("connect.default")
    if given is not None:
        return replace(field, properties={**field.properties, "default": given}, default=given)
    if field.node.nullable:
        return replace(field, properties={**field.properties, "default": None}, default=None)
    return field


def alone(field: Field) -> Node:
    """A field's type by itself: its default, which Avro has in the field, goes with it."""
    one = field.node.required
    if default_of(field) is None or "connect.default" in one.properties or isinstance(one, Union):
        return field.node
    words = one.properties or {"type": one.name}
    made = replace(one, properties={**words, "connect.default": field.default})
    return optional(made, default=field.default) if field.node.nullable else made


class ExtractField:
    """Takes one field out, be it nested (`field.syntax.version=V2`)."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        self._path = text(settings, "field")
        self._steps = steps(self._path, text(settings, "field.syntax.version"))
        self._fills = fills(settings)
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        records.change(self._side, chosen, self._compiled)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            return Change(None, each(self._in_map))
        record = struct_of(schema)
        gets = []
        node: Node = record
        for step in self._steps:
            field = field_of(node, step) if isinstance(node, Record) else None
            if field is None:
                raise TransformError(f"Unknown field: {self._path}")
            gets.append(getter(field, fills=self._fills))
            node = field.node.required
        assert field is not None

        def extracted(value: Any) -> Any:
            for get in gets:
                if value is None:
                    return None
                value = get(value)
            return value

        return Change(schema_of_node(alone(field), None), each(extracted))

    def _in_map(self, value: Any) -> Any:
        for step in self._steps:
            if value is None:
                return None
            value = require_map(value, "field extraction").get(step)
        return value


class ValueToKey:
    """Makes the key of fields of the value."""

    parts = frozenset({Part.KEY, Part.VALUE})

    def __init__(self, settings: TransformSettings) -> None:
        self._names = texts(settings, "fields")
        self._fills = fills(settings)
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        values = records.value.values
        nulls = [index for index in chosen if values[index] is None]
        if nulls:
            records.fail(nulls, "null cannot be taken for copying fields from value to key")
            chosen = [index for index in chosen if values[index] is not None]
        for schema, indexes in list(records.value.by_schema(chosen)):
            try:
                change = self._compiled(schema)
            except TransformError as error:
                records.fail(indexes, error)
                continue
            assert change.all is not None
            kept: list[int] = []
            made: list[Any] = []
            for index in indexes:
                try:
                    made += change.all([values[index]], [index])
                    kept.append(index)
                except TransformError as error:
                    records.fail([index], error)
            records.key.put(kept, change.schema, made)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            return Change(None, each(self._in_map))
        record = struct_of(schema)
        fields, old, new = Fields(), [], []
        for name in self._names:
            field = field_of(record, name)
            if field is None:
                raise TransformError(f"Field does not exist: {name}")
            new.append(fields.add(field))
            old.append(field)
        pick, fill = picker([each.name for each in old], new), filler(old, fills=self._fills)
        made = schema_of_node(struct(fields.made), None)
        return Change(made, each(pick if fill is None else lambda value: pick(fill(value))))

    def _in_map(self, value: Any) -> dict[str, Any]:
        given = require_map(value, "copying fields from value to key")
        return {name: given.get(name) for name in self._names}
