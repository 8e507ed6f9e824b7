"""TimestampConverter: a time as a number, as text, or as one of Connect's types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Node
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.settings.transforms.dates import NoDate, date_format
from kafka_s3.shown import quoted
from kafka_s3.values.converters.connect_schema import DATE, TIME, TIMESTAMP, ConnectSchema
from kafka_s3.values.converters.connect_types import DAY_MS
from kafka_s3.values.transforms import java
from kafka_s3.values.transforms.base import Compiled, fills, require_map, rows_with, side_of, text
from kafka_s3.values.transforms.connect import (
    Fields,
    TransformError,
    filler,
    logical_of,
    name_of,
    new_schema,
    optional,
    primitive,
    retyped,
    schema_of_node,
    struct_of,
    type_of,
    with_fields,
)
from kafka_s3.values.transforms.records import Change, Records, each

Turn = Callable[[Any], Any]
_LONG: Final = 1 << 63
#: How many of the unit are a millisecond, or how many milliseconds are one.
_UNITS: Final = {"nanoseconds": (1_000_000, 1), "microseconds": (1000, 1), "milliseconds": (1, 1), "seconds": (1, 1000)}
_TYPES: Final = {"Date": DATE, "Time": TIME, "Timestamp": TIMESTAMP}


def _towards_zero(number: int, by: int) -> int:
    return number // by if number >= 0 else -(-number // by)


def _saturated(number: int) -> int:
    return max(-_LONG, min(_LONG - 1, number))


class TimestampConverter:
    """Converts a field, or the value as a whole."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        self._field = text(settings, "field")
        self._target = text(settings, "target.type")
        pattern = text(settings, "format")
        self._format = date_format(pattern) if pattern.strip() else None
        self._per_ms, self._ms_per = _UNITS[text(settings, "unix.precision")]
        self._fills = fills(settings)
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        records.change(self._side, chosen, self._compiled)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            return Change(None, each(self._in_map))
        if not self._field:
            node = graph(schema)
            read, write = self._reader(node), self._writer()
            made = new_schema(self._schema(node.nullable))
            return Change(made, each(lambda value: None if value is None else write(read(value))))
        record = struct_of(schema)
        fields, name, turns = Fields(), "", dict[str, Turn]()
        turn: Turn | None = None
        for field in record.fields:
            if name_of(field) != self._field:
                fields.add(field)
                continue
            name = fields.add(retyped(field, self._schema(field.node.nullable)))
            turns[field.name] = turn = self._turn(field.node)
        outer: Node = with_fields(record, fields.made)
        if graph(schema).nullable:
            outer = optional(outer)
        fill = filler(record.fields, fills=self._fills)

        def converted(value: dict[str, Any] | None) -> dict[str, Any] | None:
            if value is None:
                return None
            value = value if fill is None else fill(value)
            if turn is None or value[name] is None:
                return value
            return {**value, name: turn(value[name])}

        made = schema_of_node(outer, schema.version)
        return Change(made, each(converted), None if fill is not None else rows_with(schema, made, turns))

    def _turn(self, node: Node) -> Turn:
        read, write = self._reader(node), self._writer()
        return lambda value: write(read(value))

    def _schema(self, is_optional: bool) -> ConnectSchema:
        if self._target == "string":
            return primitive("STRING", optional=is_optional)
        if self._target == "unix":
            return primitive("INT64", optional=is_optional)
        kind = "INT64" if self._target == "Timestamp" else "INT32"
        return primitive(kind, optional=is_optional, name=_TYPES[self._target])

    def _reader(self, node: Node) -> Callable[[Any], int]:
        """What makes milliseconds of a value under a schema."""
        match logical_of(node):
            case logical if logical == DATE:
                return lambda days: int(days) * DAY_MS
            case logical if logical in (TIME, TIMESTAMP):
                return int
        type = type_of(node)
        if type == "STRING":
            return self._parsed
        if type == "INT64":
            return self._of_unix
        raise TransformError(f"a value of the type {type} is not a timestamp")

    def _writer(self) -> Turn:
        """What makes a value of milliseconds, as the new schema has it."""
        match self._target:
            case "string":
                return self._text
            case "unix":
                return self._unix
            case "Date":
                return lambda ms: _int32(ms // DAY_MS)
            case "Time":
                return lambda ms: ms % DAY_MS
        return lambda ms: ms

    def _in_map(self, value: Any) -> Any:
        if value is None or not self._field:
            return self._schemaless(value)
        given = require_map(value, "converting timestamp formats")
        return {**given, self._field: self._schemaless(given.get(self._field))}

    def _schemaless(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, java.Moment):
            ms = int(value)
        elif type(value) is int:
            ms = self._of_unix(value)
        elif type(value) is str:
            ms = self._parsed(value)
        else:
            raise TransformError(f"a value of the type {java.type_of(value)} is not a timestamp")
        match self._target:
            case "string":
                return self._text(ms)
            case "unix":
                return self._unix(ms)
            case "Date":
                return java.Moment(ms // DAY_MS * DAY_MS)
            case "Time":
                return java.Moment(ms % DAY_MS)
        return java.Moment(ms)

    def _parsed(self, value: str) -> int:
        if self._format is None:
            raise TransformError("text cannot be read as a timestamp without the option format")
        if letter := self._format.not_read:
            raise TransformError(f"the format's {letter} is written, and cannot be read here")
        try:
            return self._format.parse(value)
        except NoDate:
            raise TransformError(f"{quoted(value)} does not match the option format") from None

    def _of_unix(self, number: int) -> int:
        if self._ms_per > 1:
            return _saturated(number * self._ms_per)
        return number if self._per_ms == 1 else _towards_zero(number, self._per_ms)

    def _unix(self, ms: int) -> int:
        if self._ms_per > 1:
            return _towards_zero(ms, self._ms_per)
        return ms if self._per_ms == 1 else _saturated(ms * self._per_ms)

    def _text(self, ms: int) -> str:
        assert self._format is not None
        return self._format.format(ms)


def _int32(days: int) -> int:
    if not -(1 << 31) <= days < 1 << 31:
        raise TransformError("a day beyond what Connect's Date can hold")
    return days
