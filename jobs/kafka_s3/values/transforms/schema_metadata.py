"""SetSchemaMetadata: another name, another version for a schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Node, Record, Union
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.values.converters.connect_schema import is_full_name, valid_name
from kafka_s3.values.transforms.base import Compiled, fills, optional_text, rows_of, side_of
from kafka_s3.values.transforms.connect import TransformError, filler, schema_of_node, type_of
from kafka_s3.values.transforms.records import Change, Part, Records, each


class SetSchemaMetadata:
    """Names a schema, or says its version."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        self._name = optional_text(settings, "schema.name")
        version = settings.options["schema.version"]
        self._version = version if isinstance(version, int) else None
        self._fills = fills(settings)
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        side = records.sides[self._side]
        nulls = side.nulls()
        known = [index for index in chosen if index not in nulls or side.schema_at(index) is not None]
        records.change(self._side, known, self._compiled)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            what = "key" if self._side is Part.KEY else "value"
            raise TransformError(f"the {what} has no schema, whose name or version could be set")
        node = graph(schema)
        one = node.required
        if not isinstance(one, Record):  # Connect's own class asks every schema for its fields
            raise TransformError(f"only a struct can be renamed, and this is of the type {type_of(one)}")
        made: Node = renamed(one, self._name, self._version)
        if isinstance(node, Union):
            made = replace(node, branches=tuple(made if each is one else each for each in node.branches))
        version = schema.version if self._version is None else self._version
        outer = schema_of_node(made, version)
        fill = filler(one.fields, fills=self._fills)
        if fill is not None:
            return Change(outer, each(lambda value: None if value is None else fill(value)))
        numbers = range(len(one.fields))
        return Change(outer, None, rows_of(schema, outer, lambda *_: numbers))


def renamed(node: Record, name: str | None, version: int | None = None) -> Record:
    """A struct of another name, or version."""
    words = dict(node.properties)
    if version is not None:
        words["connect.version"] = version
    if name is None:
        return replace(node, properties=words)
    words["connect.name"] = name
    full = name if is_full_name(name) else ".".join(map(valid_name, name.split(".")))
    space, _, words["name"] = full.rpartition(".")
    words.pop("namespace", None)
    if space:
        words["namespace"] = space
    return replace(node, name=full, properties=words)
