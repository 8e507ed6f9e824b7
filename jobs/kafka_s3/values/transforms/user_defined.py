"""Transforms and predicates of the user's own.

    class Anonymous:
        parts = ("value",)                                  # of key, value, headers, timestamp; all unless set
        def __init__(self, properties: Mapping[str, str]): ...   # transforms.<name>.*, without type and predicate
        def apply(self, batch: TransformBatch) -> TransformBatch: ...

    class FromTests:
        def __init__(self, properties: Mapping[str, str]): ...
        def test(self, batch: TransformBatch) -> Sequence[bool]: ...

What they answer must follow from the records alone: a retry has to write the same objects.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_s3.avro.model import Schema
from kafka_s3.avro.parse import SchemaError, parse_avro
from kafka_s3.errors import ConfigurationError
from kafka_s3.records import Headers
from kafka_s3.settings.transforms.chain import PredicateSettings, TransformSettings
from kafka_s3.user_defined import PREDICATE, TRANSFORM, call, call_on_records, find_class
from kafka_s3.values.transforms.records import Part, Records
from kafka_s3.values.transforms.routers import route
from kafka_s3.values.transforms.sides import Side

#: What a class may ask for by its attribute `parts`.
_PARTS: Final = {part.value: part for part in (Part.KEY, Part.VALUE, Part.HEADERS, Part.TIMESTAMP)}


@dataclass(slots=True)
class TransformBatch:
    """Some records of one partition, a list for each part. What a class does not ask for is empty.

    `keys`, `values`: plain values, `None` for null; `key_schemas`, `value_schemas`: the Avro schema of each as JSON
    values, `None` where there is none. These are shared: a class makes new ones. `drop`: places of records to drop;
    `bad`: places of records that are bad, and why.
    """

    partition: int
    topics: list[str]
    offsets: list[int]
    timestamps: list[int | None] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)
    keys: list[Any] = field(default_factory=list)
    key_schemas: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    value_schemas: list[Any] = field(default_factory=list)
    drop: set[int] = field(default_factory=set)
    bad: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.offsets)


class _UserDefined:
    """A class of the user's own, and what it asks for."""

    def __init__(self, settings: TransformSettings | PredicateSettings, *methods: str) -> None:
        self._path = settings.type
        found = find_class(self._path, *methods)
        asked = getattr(found, "parts", tuple(_PARTS))
        unknown = [str(each) for each in asked if each not in _PARTS]
        if unknown:
            raise ConfigurationError(f"{self._path}.parts has {', '.join(unknown)}; there are {', '.join(_PARTS)}.")
        self.parts = frozenset(_PARTS[each] for each in asked)
        self._own = call(f"{self._path}(properties)", found, dict(settings.options))

    def _batch(self, records: Records, chosen: Sequence[int]) -> TransformBatch:
        batch = records.batch
        made = TransformBatch(
            batch.tp.partition,
            [records.topic_at(index) for index in chosen],
            [batch.offset_at(index) for index in chosen],
        )
        if Part.TIMESTAMP in self.parts:
            stamps = records.timestamps()
            made.timestamps = [stamps[index] for index in chosen]
        if Part.HEADERS in self.parts and records.headers is not None:
            made.headers = [tuple(records.headers[index]) for index in chosen]
        if Part.KEY in self.parts:
            made.keys, made.key_schemas = _given(records.key, chosen)
        if Part.VALUE in self.parts:
            made.values, made.value_schemas = _given(records.value, chosen)
        return made

    def _wrong(self, what: str) -> ConfigurationError:
        return ConfigurationError(f"{self._path}: {what}.")


class UserDefinedTransform(_UserDefined):
    """A transform around a class with `apply`."""

    def __init__(self, settings: TransformSettings) -> None:
        super().__init__(settings, *TRANSFORM)
        self._schemas: dict[str, Schema] = {}

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        given = self._batch(records, chosen)
        known = {id(each): each for each in (*given.key_schemas, *given.value_schemas)}
        made = call_on_records(f"{self._path}.apply", self._own.apply, given)
        if not isinstance(made, TransformBatch):
            raise self._wrong(f"apply must give an TransformBatch, and gave {type(made).__name__}")
        count = len(chosen)
        columns = {"topics": made.topics}
        if Part.TIMESTAMP in self.parts:
            columns["timestamps"] = made.timestamps  # type: ignore[assignment]
        if Part.HEADERS in self.parts:
            columns["headers"] = made.headers  # type: ignore[assignment]
        if Part.KEY in self.parts:
            columns |= {"keys": made.keys, "key_schemas": made.key_schemas}
        if Part.VALUE in self.parts:
            columns |= {"values": made.values, "value_schemas": made.value_schemas}
        for name, column in columns.items():
            if len(column) != count:
                raise self._wrong(f"apply must give {count} {name}, and gave {len(column)}")
        for place, reason in made.bad.items():
            records.fail([chosen[place]], reason)
        records.drop(chosen[place] for place in made.drop)
        kept = [place for place in range(count) if place not in made.drop and place not in made.bad]
        route(records, [chosen[place] for place in kept], dict(zip(chosen, made.topics, strict=True)).__getitem__)
        if Part.TIMESTAMP in self.parts:
            records.put_timestamps(chosen, made.timestamps)
        if Part.HEADERS in self.parts and records.headers is not None:
            for index, headers in zip(chosen, made.headers, strict=True):
                records.headers[index] = headers
        if Part.KEY in self.parts:
            self._put(records.key, chosen, made.keys, made.key_schemas, known)
        if Part.VALUE in self.parts:
            self._put(records.value, chosen, made.values, made.value_schemas, known)

    def _put(
        self, side: Side, chosen: Sequence[int], values: Sequence[Any], schemas: Sequence[Any], known: dict[int, Any]
    ) -> None:
        found: dict[int, Schema | None] = {}
        for schema in schemas:
            if id(schema) not in found:
                found[id(schema)] = None if schema is None else self._schema(schema)
        for index, value, schema in zip(chosen, values, schemas, strict=True):
            before = side.schema_at(index)
            same = id(schema) in known and before is not None and before.avro is schema
            side.put([index], before if same else found[id(schema)], [value])

    def _schema(self, avro: Any) -> Schema:
        try:
            text = json.dumps(avro)
            if text not in self._schemas:
                self._schemas[text] = parse_avro(text)
        except (SchemaError, TypeError, ValueError) as error:
            raise self._wrong(f"apply gave something that is not a schema: {error}") from None
        return self._schemas[text]


class UserDefinedPredicate(_UserDefined):
    """A predicate around a class with `test`."""

    def __init__(self, settings: PredicateSettings) -> None:
        super().__init__(settings, *PREDICATE)

    def __call__(self, records: Records, chosen: Sequence[int]) -> Sequence[bool]:
        answers = call_on_records(f"{self._path}.test", self._own.test, self._batch(records, chosen))
        found = [answer is True for answer in answers]
        if len(found) != len(chosen):
            raise self._wrong(f"test must give {len(chosen)} answers, and gave {len(found)}")
        return found


def _given(side: Side, chosen: Sequence[int]) -> tuple[list[Any], list[Any]]:
    every = side.values
    values = [every[index] for index in chosen]
    schemas = [None if (schema := side.schema_at(index)) is None else schema.avro for index in chosen]
    return values, schemas
