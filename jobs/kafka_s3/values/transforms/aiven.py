"""Aiven's transforms: ExtractTimestamp, ExtractTopic, Hash and MakeTombstone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Node, Record
from kafka_s3.settings.transforms.aiven import steps
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.shown import kind_and_length
from kafka_s3.values.converters.connect_schema import DATE, TIME, TIMESTAMP
from kafka_s3.values.converters.connect_types import DAY_MS
from kafka_s3.values.formats.java_numbers import java_double, java_float
from kafka_s3.values.transforms import java
from kafka_s3.values.transforms.base import Compiled, optional_text, require_map, side_of, text
from kafka_s3.values.transforms.connect import TransformError, field_of, getter, logical_of, struct_of, type_of
from kafka_s3.values.transforms.extract_topic import give_topics
from kafka_s3.values.transforms.records import Change, Part, Records, each

#: What makes a value of a key or a value; `None` if there is none.
Read = Callable[[Any], Any]
_NUMBERS: Final = frozenset(("INT8", "INT16", "INT32", "INT64"))
_LONG_MAX: Final = 2**63 - 1


class ExtractTimestamp:
    """Makes a field the record's timestamp."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side, Part.TIMESTAMP})
        self._name = text(settings, "field.name")
        self._ms_per = 1000 if text(settings, "timestamp.resolution") == "seconds" else 1

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        stamps = dict(_read(records, self._side, chosen, self._reader))
        for index in [index for index, stamp in stamps.items() if stamp is None]:
            records.fail([index], f"{self._name} is missing or null, and becomes the timestamp")
            del stamps[index]
        records.put_timestamps(list(stamps), list(stamps.values()))

    def _reader(self, schema: Schema | None) -> Read:
        if schema is None:
            read = _in_map(self._name)
            return lambda value: self._of_plain(read(value))
        found = _in_struct(schema, self._name)
        if found is None:
            return _nothing
        node, read = found
        logical = logical_of(node)
        if logical in (DATE, TIME, TIMESTAMP):
            per_unit = DAY_MS if logical == DATE else 1
            return lambda value: None if (number := read(value)) is None else number * per_unit
        if logical is not None or type_of(node) != "INT64":
            raise TransformError(f"{self._name} must be INT64 or a Timestamp, and is of the type {type_of(node)}")
        return lambda value: None if (number := read(value)) is None else self._of_number(number)

    def _of_plain(self, value: Any) -> int | None:
        if value is None or isinstance(value, java.Moment):
            return None if value is None else int(value)
        if type(value) is not int:
            raise TransformError(f"{self._name} must be a whole number or a time: found {kind_and_length(value)}")
        return self._of_number(value)

    def _of_number(self, number: int) -> int:
        return max(-_LONG_MAX - 1, min(_LONG_MAX, number * self._ms_per))


class ExtractTopic:
    """Makes the topic of text, a number or a boolean in the key or the value, or of these as a whole."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side, Part.TOPIC})
        self._name = optional_text(settings, "field.name") or ""
        self._skips = settings.options["skip.missing.or.null"] is True

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        found = dict(_read(records, self._side, chosen, self._reader, needed=bool(self._name)))
        what = self._name or f"the {self._side.value}"
        give_topics(records, {index: topic or None for index, topic in found.items()}, what, skips=self._skips)

    def _reader(self, schema: Schema | None) -> Read:
        if schema is None:
            read = _in_map(self._name) if self._name else _whole
            return lambda value: _plain_text(read(value))
        if not self._name:
            return _text_of(graph(schema))
        found = _in_struct(schema, self._name)
        if found is None:
            return _nothing
        node, read = found
        to_text = _text_of(node)
        return lambda value: to_text(read(value))


class Hash:
    """Puts the hash of text in its place, in hexadecimal digits."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        self._name = optional_text(settings, "field.name") or ""
        self._function = text(settings, "function")
        self._skips = settings.options["skip.missing.or.null"] is True
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        records.change(self._side, chosen, self._compiled)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            raise TransformError(f"the {self._side.value} has no schema, which a hash needs")
        if not self._name:
            self._check(graph(schema))
            return Change(schema, each(self._hashed))
        field = field_of(struct_of(schema), self._name)
        if field is None:
            if self._skips:
                return Change(schema)
            raise TransformError(f"there is no field {self._name} to hash")
        self._check(field.node)
        name = field.name

        def changed(value: dict[str, Any] | None) -> dict[str, Any]:
            if value is None:
                raise TransformError(f"the {self._side.value} is null, and has no field {self._name} to hash")
            return {**value, name: self._hashed(value[name])}

        return Change(schema, each(changed))

    def _check(self, node: Node) -> None:
        if type_of(node) != "STRING":
            raise TransformError(f"only text can be hashed, and this is of the type {type_of(node)}")

    def _hashed(self, value: str | None) -> str | None:
        if value is None:
            if self._skips:
                return None
            raise TransformError(f"{self._name or f'the {self._side.value}'} is null, and cannot be hashed")
        return hashlib.new(self._function, value.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


class MakeTombstone:
    """Makes null of values, and drops their schemas."""

    parts = frozenset({Part.VALUE})

    def __init__(self, settings: TransformSettings) -> None:
        pass

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        records.value.put(chosen, None, [None] * len(chosen))


def _read(
    records: Records,
    part: Part,
    chosen: Sequence[int],
    reader_of: Callable[[Schema | None], Read],
    *,
    needed: bool = True,
) -> Iterator[tuple[int, Any]]:
    """What is read of keys or values; those of which nothing can be are bad. `needed`: null is such a one."""
    side = records.sides[part]
    values = side.values
    for schema, indexes in list(side.by_schema(chosen)):
        try:
            read = reader_of(schema)
        except TransformError as error:
            records.fail(indexes, error)
            continue
        for index in indexes:
            if values[index] is None and needed:
                records.fail([index], f"the {part.value} is null")
                continue
            try:
                yield index, None if values[index] is None else read(values[index])
            except TransformError as error:
                records.fail([index], error)


def _nothing(_: Any) -> None:
    return None


def _whole(value: Any) -> Any:
    return value


def _in_map(path: str) -> Read:
    *outer, last = steps(path)

    def read(value: Any) -> Any:
        inner = require_map(value, f"reading {path}")
        for name in outer:
            inner = inner.get(name)  # type: ignore[assignment]
            if type(inner) is not dict:
                return None
        return inner.get(last)

    return read


def _in_struct(schema: Schema, path: str) -> tuple[Node, Read] | None:
    """A field's type and how it is read; `None` if there is no such field."""
    node: Node = graph(schema)
    read: Read = _whole
    names = steps(path)
    for place, name in enumerate(names, 1):
        record = node.required
        if not isinstance(record, Record) or type_of(record) != "STRUCT":
            raise TransformError(f"only a struct has fields, and {path} leads through the type {type_of(record)}")
        field = field_of(record, name)
        if field is None:
            return None
        read, node = _within(read, getter(field, fills=place == len(names))), field.node
    return node, read


def _within(outer: Read, inner: Read) -> Read:
    return lambda value: None if (found := outer(value)) is None else inner(found)


def _text_of(node: Node) -> Read:
    """The text of values of a type, as Java has it."""
    type = type_of(node)
    if logical_of(node) is None:
        if type in _NUMBERS:
            return lambda value: None if value is None else str(value)
        match type:
            case "STRING":
                return _whole
            case "BOOLEAN":
                return lambda value: None if value is None else "true" if value else "false"
            case "FLOAT32":
                return lambda value: None if value is None else java_float(value)
            case "FLOAT64":
                return lambda value: None if value is None else java_double(value)
    raise TransformError(f"a value of the type {type} does not become a topic")


def _plain_text(value: Any) -> str | None:
    match value:
        case None | str():
            return value if value is None or value.strip() else None
        case bool():
            return "true" if value else "false"
        case int() if not isinstance(value, java.Moment):
            return str(int(value))
        case float():
            return java_float(float(value)) if isinstance(value, java.Float32) else java_double(value)
    raise TransformError(f"only text, a number or a boolean becomes a topic: found {kind_and_length(value)}")
