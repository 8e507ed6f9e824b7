"""Confluent's Filter: keeps or drops records in which a JSONPath finds something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.settings.transforms.json_path import parse_path
from kafka_s3.values.transforms.base import require_map, side_of, text
from kafka_s3.values.transforms.connect import TransformError, type_of
from kafka_s3.values.transforms.json_paths import NotThere, View, found_in, view_of
from kafka_s3.values.transforms.records import Records


class FilterByPath:
    """A record matches where the path finds anything but null. A null key or value lacks every field."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        self._text = text(settings, "filter.condition")
        self._path = parse_path(self._text)
        self._keeps_matches = text(settings, "filter.type").lower() == "include"
        self._missing = text(settings, "missing.or.null.behavior").lower()

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        side = records.sides[self._side]
        values = side.values
        for schema, indexes in list(side.by_schema(chosen)):
            view = view_of(schema)
            for index in indexes:
                try:
                    matches = self._matches(schema, view, values[index])
                except NotThere:
                    self._lacking(records, index)
                except TransformError as error:
                    records.fail([index], error)
                else:
                    if matches is not self._keeps_matches:
                        records.drop([index])

    def _matches(self, schema: Schema | None, view: View | None, value: Any) -> bool:
        if value is None:
            raise NotThere
        if schema is None:
            require_map(value, "a filter")
        elif (type := type_of(graph(schema))) not in ("STRUCT", "MAP"):
            raise TransformError(f"only a struct or a map can be filtered, and this is of the type {type}")
        found = found_in(self._path, value if view is None else view(value))
        if self._path.is_definite and found[0] is None:
            raise NotThere
        return bool(found)

    def _lacking(self, records: Records, index: int) -> None:
        if self._missing == "fail":
            why = f"a field of {self._text} is missing or null; missing.or.null.behavior may keep or drop such records"
            records.fail([index], why)
        elif self._missing == "exclude":
            records.drop([index])
