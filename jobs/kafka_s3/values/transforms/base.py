"""What transforms share: their side, and what they compile once for each schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from kafka_s3.avro.graph import avro_of, graph
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.avro.nodes import Record
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.shown import kind_and_length
from kafka_s3.values.converters.reshaped import Column, Origins, reshaped
from kafka_s3.values.transforms.connect import TransformError
from kafka_s3.values.transforms.records import Change, Part, Records

#: Schemas for which a change is kept; beyond that all are compiled again.
_COMPILED_MAX: Final = 1000


class Transform(Protocol):
    """Changes a batch's records. `parts`: what it looks at; the chain has converted these."""

    parts: frozenset[Part]

    def __call__(self, records: Records, chosen: Sequence[int]) -> None: ...


def takes_texts(transform: Transform) -> bool:
    """Whether it changes JSON objects by their text, as far as it looks at values at all."""
    return Part.VALUE not in transform.parts or getattr(transform, "takes_texts", False) is True


Make = Callable[[TransformSettings], Transform]


def side_of(settings: TransformSettings) -> Part:
    """Whether `$Key` or `$Value` was asked for."""
    return Part.KEY if settings.type.endswith("$Key") else Part.VALUE


def text(settings: TransformSettings, name: str) -> str:
    value = settings.options[name]
    return "" if value is None else str(value)


def optional_text(settings: TransformSettings, name: str) -> str | None:
    value = settings.options[name]
    return None if value is None else str(value)


def texts(settings: TransformSettings, name: str) -> tuple[str, ...]:
    value = settings.options[name]
    assert isinstance(value, tuple), name
    return value


def fills(settings: TransformSettings) -> bool:
    return settings.options["replace.null.with.default"] is True


class Compiled:
    """A change for each schema, made once."""

    def __init__(self, make: Callable[[Schema | None], Change]) -> None:
        self._make = make
        self._known: dict[Schema | None, Change] = {}

    def __call__(self, schema: Schema | None) -> Change:
        known = self._known.get(schema)
        if known is None:
            if len(self._known) >= _COMPILED_MAX:
                self._known.clear()
            known = self._known[schema] = self._make(schema)
        return known


def require_map(value: Any, purpose: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise TransformError(f"only a map can be taken without a schema, for {purpose}: found {kind_and_length(value)}")
    return value


def require_value(value: Any, purpose: str) -> None:
    if value is None:
        raise TransformError(f"null cannot be taken for {purpose}")


def rows_of(
    schema: Schema, made: Schema, origins_of: Callable[[Any, Sequence[int]], Origins]
) -> Callable[[Any, Sequence[int]], Any] | None:
    """A change of rows of a record's schema: where each field of the new one comes from, for rows at some places.

    `None` where a record is one branch of a union: its datums have the branch's number in front.
    """
    if not isinstance(graph(schema), Record) or not isinstance(graph(made), Record):
        return None
    return lambda rows, indexes: reshaped(rows, made, origins_of(rows, indexes), len(indexes))


def rows_with(
    schema: Schema, made: Schema, turns: Mapping[str, Callable[[Any], Any]]
) -> Callable[[Any, Sequence[int]], Any] | None:
    """`rows_of` where the fields stay in their places, and what is there in some, by the old names, is made anew."""
    old, new = graph(schema), graph(made)
    if not isinstance(old, Record) or not isinstance(new, Record):
        return None
    types = {
        number: (before.name, turns[before.name], schema_of(avro_of(after.node)))
        for number, (before, after) in enumerate(zip(old.fields, new.fields, strict=True))
        if before.name in turns
    }

    def origins(rows: Any, indexes: Sequence[int]) -> Origins:  # noqa: ARG001
        found: list[int | Column] = list(range(len(old.fields)))
        for number, (name, turn, type) in types.items():
            found[number] = Column(type, [None if one is None else turn(one) for one in rows.column((name,))])
        return found

    return rows_of(schema, made, origins)
