"""Flatten: the fields of fields, side by side, under the names of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kafka_s3.avro.defaults import plain_default
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import NO_DEFAULT, Field, Record
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.values.transforms import java
from kafka_s3.values.transforms.base import Compiled, require_map, side_of, text
from kafka_s3.values.transforms.connect import (
    Fields,
    TransformError,
    default_of,
    getter,
    name_of,
    optional,
    schema_of_node,
    struct_of,
    type_of,
    with_fields,
)
from kafka_s3.values.transforms.records import Change, Records, each

_DEPTH_MAX = 100
Get = Callable[[Any], Any]


class Flatten:
    """Makes one struct, or one map, of those within."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        self._delimiter = text(settings, "delimiter")
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        records.change(self._side, records.not_null(self._side, chosen), self._compiled)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            return Change(None, each(self._in_map))
        record = struct_of(schema)
        fields, gets = Fields(), dict[str, Get]()
        is_optional = graph(schema).nullable
        self._add(record, "", fields, gets, _Outer(lambda value: value, is_optional, None), 0)
        made = schema_of_node(with_fields(record, fields.made), schema.version)
        return Change(made, each(lambda value: {name: get(value) for name, get in gets.items()}))

    def _add(self, record: Record, prefix: str, fields: Fields, gets: dict[str, Get], at: _Outer, depth: int) -> None:
        if depth > _DEPTH_MAX:
            raise TransformError("a struct that holds itself cannot be flattened")
        for field in record.fields:
            name = f"{prefix}{self._delimiter}{name_of(field)}" if prefix else name_of(field)
            inner = at.field(field)
            one = field.node.required
            if isinstance(one, Record):
                self._add(one, name, fields, gets, inner, depth + 1)
            elif (type := type_of(field.node)) in ("MAP", "UNION"):
                raise TransformError(f"{type} cannot be flattened (field {name})")
            else:
                gets[fields.add(inner.made(field), name)] = inner.get

    def _in_map(self, value: Any) -> dict[str, Any]:
        made: dict[str, Any] = {}
        self._collect(require_map(value, "flattening"), "", made)
        return made

    def _collect(self, given: dict[str, Any], prefix: str, made: dict[str, Any]) -> None:
        for key, value in given.items():
            name = f"{prefix}{self._delimiter}{key}" if prefix else key
            if type(value) is dict:
                self._collect(value, name, made)
            elif isinstance(value, java.Moment):
                raise TransformError("a date without a schema cannot be flattened")
            else:
                made[name] = value


class _Outer:
    """The way to a struct: how it is read, whether anything on it may be null, and the default it has, if any."""

    def __init__(self, get: Get, is_optional: bool, default: Any) -> None:
        self.get = get
        self._is_optional = is_optional
        self._default = default

    def field(self, field: Field) -> _Outer:
        get, own = self.get, getter(field, fills=True)
        default = default_of(field)
        if default is None and isinstance(self._default, dict):
            default = self._default.get(field.name)

        def through(value: Any) -> Any:
            struct = get(value)
            return None if struct is None else own(struct)

        return _Outer(through, self._is_optional or field.node.nullable, default)

    def made(self, field: Field) -> Field:
        """The field as it stands in the flat struct."""
        words = {name: word for name, word in field.properties.items() if name != "default"}
        default = self._json(field)
        node = field.node
        if self._is_optional and not node.nullable:
            node = optional(node, default=default)
        if default is not None:
            return replace(field, node=node, default=default, properties={**words, "default": default})
        if node.nullable:
            return replace(field, node=node, default=None, properties={**words, "default": None})
        return replace(field, node=node, default=NO_DEFAULT, properties=words)

    def _json(self, field: Field) -> Any:
        """The default as the schema has it; one that the outer struct's default has for it, too."""
        if field.default is not NO_DEFAULT and field.default is not None:
            return field.default
        default = self._default
        if isinstance(default, bytes):
            default = default.decode("latin-1")
        if default is not None:
            plain_default(field.node, default, field.name)
        return default
