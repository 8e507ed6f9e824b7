"""The configured transforms, one after the other, over batches.

A batch's keys, values and headers are converted before, as far as a transform looks at them; what none looks at stays
as it came. So a chain that only routes costs nothing for each record but the topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafka_s3.avro.model import Schema
from kafka_s3.ports import Registries
from kafka_s3.records import RecordBatch
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.formats import Format
from kafka_s3.settings.model import Settings
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.values.converters.build import Convert, converter_for, unwritten_converter_for
from kafka_s3.values.converters.fitting import suited
from kafka_s3.values.converters.primitives import SCHEMAS
from kafka_s3.values.rows import (
    ChangedBatch,
    ChangedValues,
    Excluded,
    Schemas,
    Stage,
    Tombstone,
    Unwritable,
    by_schema,
)
from kafka_s3.values.transforms.base import Transform, takes_texts
from kafka_s3.values.transforms.build import predicate_of, transform_of
from kafka_s3.values.transforms.predicates import Predicate
from kafka_s3.values.transforms.records import Part, Records
from kafka_s3.values.transforms.sides import Segment, Side


@dataclass(frozen=True, slots=True)
class _Step:
    """One transform, and for which records it is."""

    name: str
    transform: Transform
    predicate: Predicate | None
    negate: bool

    def chosen(self, records: Records) -> Sequence[int]:
        alive = records.alive()
        if self.predicate is None:
            return alive
        holds = self.predicate(records, alive)
        return [index for index, yes in zip(alive, holds, strict=True) if yes is not self.negate]


class Chain:
    """A chain over batches of one connector.

    `doing`: what was done last, for whoever has to say where it went wrong; `is_done`: all of it went well.
    """

    def __init__(self, settings: Settings, registries: Registries) -> None:
        self._settings = settings.format
        self._registries = registries
        self._steps = [_step(each) for each in settings.chain.transforms]
        parts = frozenset[Part]().union(*(each.transform.parts for each in self._steps))
        parts |= frozenset[Part]().union(*(each.predicate.parts for each in self._steps if each.predicate is not None))
        self.parts = parts
        self._converters: dict[tuple[str, bool], Convert] = {}  # by topic, and whether it is for keys
        self._by_text = self._is_by_text()
        self.doing = Stage.VALUE_CONVERTER
        self.is_done = False

    def _is_by_text(self) -> bool:
        """Whether values may stay JSON text from the topic to the object."""
        value, file = self._settings.value, self._settings.file
        if value.converter is not Converter.JSON or value.schemas_enable or value.has_schema:
            return False
        predicates = [each.predicate for each in self._steps if each.predicate is not None]
        looked_at = any(Part.VALUE in each.parts for each in predicates)
        return file.format is Format.JSON and not looked_at and all(takes_texts(each.transform) for each in self._steps)

    def __call__(self, batch: RecordBatch) -> ChangedBatch:
        self.is_done = False
        records, untouched = self._loaded(batch)
        self.doing = Stage.TRANSFORMATION
        for step in self._steps:
            if chosen := step.chosen(records):
                records.step = step.name
                step.transform(records, chosen)
        self.is_done = True
        return ChangedBatch(
            of=batch,
            topics=records.topics,
            changed_headers=records.headers,
            changed_timestamps=records.stamps,
            value=self._made(records, Part.VALUE),
            key=self._made(records, Part.KEY),
            left=records.left,
            value_rows=untouched,
        )

    def _loaded(self, batch: RecordBatch) -> tuple[Records, Any]:
        """The parts that transforms look at, and the rows of values where they look at none."""
        left: dict[int, Excluded] = {}
        sides: dict[Part, Side] = {}
        untouched: Any = None
        tombstones: frozenset[int] = frozenset()
        self.doing = Stage.VALUE_CONVERTER
        if Part.VALUE in self.parts:
            sides[Part.VALUE] = self._side(batch, left, key=False)
        else:
            value, file = self._settings.value, self._settings.file
            known = batch.tp.topic, False
            if known not in self._converters:
                self._converters[known] = converter_for(value, file, self._registries.values, batch.tp.topic)
            untouched = suited(self._converters[known](batch.values()), value.converter, file, len(batch))
            bad = {index: why for index, why in untouched.excluded.items() if not isinstance(why, Tombstone)}
            tombstones = frozenset(untouched.excluded.keys() - bad.keys())
            left.update((index, why) for index, why in bad.items() if why.stage is Stage.VALUE_CONVERTER)
        if Part.KEY in self.parts:
            self.doing = Stage.KEY_CONVERTER
            sides[Part.KEY] = self._side(batch, left, key=True)
        headers = list(batch.headers()) if Part.HEADERS in self.parts else None
        return Records(batch, sides, tombstones, left, headers=headers), untouched

    def _side(self, batch: RecordBatch, left: dict[int, Excluded], *, key: bool) -> Side:
        known = batch.tp.topic, key
        settings = self._settings.key if key else self._settings.value
        if known not in self._converters:
            registry = self._registries.keys if key else self._registries.values
            self._converters[known] = unwritten_converter_for(settings, registry, batch.tp.topic, key=key)
        values = batch.keys() if key else batch.values()
        segments: list[Segment] = []
        if self._by_text and not key:
            from kafka_s3.values.formats.json_rows import json_rows

            segments = [Segment(indexes, rows) for indexes, rows in json_rows(values)]
            if len(segments) == 1 and len(segments[0].indexes) == len(batch):
                return Side(None, [None] * len(batch), segments)
        if segments:
            return self._with_rest(values, segments, left)
        rows: Any = self._converters[known](values)
        for index, why in rows.excluded.items():
            if isinstance(why, Unwritable):
                left[index] = Unwritable(f"its key: {why.reason}", Stage.KEY_CONVERTER) if key else why
        if settings.converter in SCHEMAS:  # these say what a null would be, too
            plain = rows.values(rows.schemas)
            return Side(rows.schemas, [None if i in rows.excluded else value for i, value in enumerate(plain)])
        return _side(rows, len(batch))

    @staticmethod
    def _with_rest(values: Sequence[bytes | None], segments: list[Segment], left: dict[int, Excluded]) -> Side:
        """Objects that stay text, and values of the others."""
        from kafka_s3.values.converters.schemaless import schemaless_json

        known = set().union(*(each.indexes for each in segments))
        rest = [index for index in range(len(values)) if index not in known]
        rows = schemaless_json([values[index] for index in rest])
        made: list[Any] = [None] * len(values)
        for place, (index, value) in enumerate(zip(rest, rows.values(None), strict=True)):
            why = rows.excluded.get(place)
            if isinstance(why, Unwritable):
                left[index] = why
            made[index] = None if why is not None else value
        return Side(None, made, segments)

    @staticmethod
    def _made(records: Records, part: Part) -> ChangedValues | None:
        side = records.sides.get(part)
        if side is None:
            return None
        segments = [(each.indexes, each.rows) for each in side.segments]
        schemas = _one_for_all(side.schemas, records.left)
        return ChangedValues(schemas, lambda: side.values, segments, side.others)


def _step(settings: TransformSettings) -> _Step:
    predicate = None if settings.predicate is None else predicate_of(settings.predicate)
    return _Step(f"transforms.{settings.alias}", transform_of(settings), predicate, settings.negate)


def _side(rows: Any, count: int) -> Side:
    """Rows of a schema as they are, plain values of others; null where there is none, which has no schema."""
    schemas: Schemas = rows.schemas
    if schemas is None and not rows.excluded:
        return Side(schemas, list(rows.values(schemas)))
    values: list[Any] = [None] * count
    if isinstance(schemas, Schema) and not rows.excluded:
        return Side(schemas, values, [Segment(range(count), rows)])
    each: list[Schema | None] = [None] * count
    segments: list[Segment] = []
    for indexes, part in by_schema(rows, count):
        schema = part.schemas
        for index in indexes:
            each[index] = schema
        if schema is None:
            for index, value in zip(indexes, part.values(schema), strict=True):
                values[index] = value
        else:
            segments.append(Segment(indexes, part))
    return Side(each, values, segments)


def _one_for_all(schemas: Schemas, left: dict[int, Excluded]) -> Schemas:
    """A single schema, if it is that of every record that goes on."""
    if isinstance(schemas, Schema | None):
        return schemas
    found = {id(each): each for index, each in enumerate(schemas) if index not in left}
    first = next(iter(found.values()), None)
    return first if all(each is first or each == first for each in found.values()) else schemas
