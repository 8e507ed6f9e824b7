"""Drop: the key or the value becomes null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.values.transforms.base import Compiled, side_of, text
from kafka_s3.values.transforms.connect import TransformError, optional, schema_of_node
from kafka_s3.values.transforms.records import Change, Part, Records


class Drop:
    """Makes null of keys or values; what becomes of their schema is `schema.behavior`."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        self._behavior = text(settings, "schema.behavior").lower()
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        records.change(self._side, chosen, self._compiled)

    def _compile(self, schema: Schema | None) -> Change:
        return Change(None if schema is None else self._schema(schema), _nulls)

    def _schema(self, schema: Schema) -> Schema | None:
        if self._behavior == "nullify":
            return None
        node = graph(schema)
        if self._behavior == "retain" or node.nullable:
            return schema
        if self._behavior == "validate":
            what = "key" if self._side is Part.KEY else "value"
            raise TransformError(f"the {what}'s schema is not optional, so that null cannot take its place")
        return schema_of_node(optional(node), schema.version)


def _nulls(values: Sequence[Any], _: Sequence[int]) -> Sequence[Any]:
    return [None] * len(values)
