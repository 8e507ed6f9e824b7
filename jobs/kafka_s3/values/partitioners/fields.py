"""Fields of JSON values, a batch at a time: only those that are asked for are decoded."""

from __future__ import annotations

import codecs
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from kafka_s3.avro.fields import node_at
from kafka_s3.avro.model import Branch, Schema
from kafka_s3.avro.nodes import Date, Node, Primitive, TimeOfDay, Timestamp
from kafka_s3.records import RecordBatch
from kafka_s3.shown import quoted
from kafka_s3.values.rows import ChangedBatch, Lines, Missing, Rows, by_schema

_NAMES_MAX: Final = 8


class FieldReader:
    """Reads fields, nested ones as `a.b`, out of JSON objects.

    What no field can be read from (text, a list, a tombstone) answers `Missing` for each of them.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._paths = [tuple(name.split(".")) for name in names]
        self._slots = [_slots(self._paths, path) for path in self._paths]
        try:
            self._decode: Callable[[bytes], Any] = msgspec.json.Decoder(_struct_of(self._paths)).decode
        except ValueError:  # a name that msgspec cannot have: with a quote, a backslash, a control character
            self._decode = _never

    def __call__(self, values: Sequence[bytes | None], excluded: Mapping[int, object]) -> list[list[Any]]:
        """A list for each field, with the value of each record: None, bool, int, float, str, list, dict or `Missing`.

        Records that are excluded have values that mean nothing.
        """
        try:
            found = list(map(self._decode, values))  # type: ignore[arg-type]  # None raises TypeError
        except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError):
            return self._one_by_one(values, excluded)
        columns = [_column(found, slots) for slots in self._slots]
        if any(msgspec.UnsetType in set(map(type, column)) for column in columns):
            return self._one_by_one(values, excluded)
        return columns

    def _one_by_one(self, values: Sequence[bytes | None], excluded: Mapping[int, object]) -> list[list[Any]]:
        columns: list[list[Any]] = [[] for _ in self._paths]
        for index, value in enumerate(values):
            parsed = None if value is None or index in excluded else _parse(value)
            for column, path in zip(columns, self._paths, strict=True):
                column.append(_walk(parsed, path))
        return columns


FromStruct = Callable[[Any], Any]


class Fields:
    """Reads fields of a batch's values, whatever these are: of JSON text, or of what has a schema.

    `adapt` says what to make of a field's values whose type is known, `None` for nothing.
    """

    def __init__(self, names: Sequence[str], adapt: Callable[[str, Node | None], FromStruct | None]) -> None:
        self._json = FieldReader(names)
        self._names = names
        self._paths = [tuple(name.split(".")) for name in names]
        self._adapt = adapt

    def __call__(self, batch: RecordBatch, rows: Rows) -> list[list[Any]]:
        """As `FieldReader`; bytes are values too where there is a schema, and so is a `Branch`."""
        if isinstance(rows, Lines):
            values: Sequence[bytes | None] = rows.lines if isinstance(batch, ChangedBatch) else batch.values()
            return self._json(values, rows.excluded)
        columns: list[list[Any]] = [[None] * len(batch) for _ in self._paths]
        for indexes, part in by_schema(rows, len(batch)):
            for column, name, path in zip(columns, self._names, self._paths, strict=True):
                values = part.column(path)
                adapt = self._adapt(name, node_at(part.schemas, path)) if isinstance(part.schemas, Schema) else None
                if adapt is not None:
                    values = [value if isinstance(value, Missing) else adapt(value) for value in values]
                for index, value in zip(indexes, values, strict=True):
                    column[index] = value
        return columns


def time_type(node: Node | None) -> Date | TimeOfDay | Timestamp | None:
    """The logical type of a whole number that stands for a date or a time."""
    logical = node.logical if isinstance(node, Primitive) else None
    return logical if isinstance(logical, Date | TimeOfDay | Timestamp) else None


def _never(value: bytes) -> Any:  # noqa: ARG001
    raise msgspec.DecodeError


def _struct_of(paths: Iterable[tuple[str, ...]]) -> type[msgspec.Struct]:
    """A type that holds just these fields: what else is in a value is passed over without becoming an object."""
    below: dict[str, list[tuple[str, ...]]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).append(tuple(rest))
    fields: list[tuple[str, Any, Any]] = []
    for number, rests in enumerate(below.values()):
        # Both `a` and `a.b` are asked for: `a` has to become an object anyway.
        kind: Any = Any if () in rests else _struct_of(rests) | None
        fields.append((f"f{number}", kind, msgspec.UNSET))
    names = {f"f{number}": name for number, name in enumerate(below)}
    return msgspec.defstruct("Fields", fields, rename=names)


def _slots(paths: Sequence[tuple[str, ...]], path: tuple[str, ...]) -> tuple[str, ...]:
    """The attributes that lead to a field, and names of keys from where a whole object was decoded."""
    slots: list[str] = []
    for depth, part in enumerate(path):
        firsts = list(
            dict.fromkeys(each[depth] for each in paths if each[:depth] == path[:depth] and len(each) > depth)
        )
        slots.append(f"f{firsts.index(part)}")
        if path[: depth + 1] in paths and depth + 1 < len(path):
            return (*slots, *path[depth + 1 :])
    return tuple(slots)


def _column(found: list[Any], slots: tuple[str, ...]) -> list[Any]:
    first, *rest = slots
    column = [getattr(each, first) for each in found]
    for slot in rest:
        column = [_inner(each, slot) for each in column]
    return column


def _inner(value: Any, slot: str) -> Any:
    if value is None or value is msgspec.UNSET:
        return value
    if isinstance(value, msgspec.Struct):
        return getattr(value, slot)
    return value.get(slot, msgspec.UNSET) if isinstance(value, dict) else msgspec.UNSET


def _parse(value: bytes) -> Any:
    """A value that the fast way did not take. It need not be JSON: some formats take whatever bytes there are."""
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(value.removeprefix(codecs.BOM_UTF8))
    except (ValueError, RecursionError):
        return Missing("the value is not JSON")


def _walk(parsed: Any, path: tuple[str, ...]) -> Any:
    """The field at the end of a path, `None` below a null as in the sink, or why there is none."""
    if isinstance(parsed, Missing):
        return parsed
    value = parsed
    for depth, name in enumerate(path):
        if value is None and depth:
            return None
        if not isinstance(value, dict):
            where = f"{'.'.join(path[:depth])} is" if depth else "the value is"
            return Missing(f"field {'.'.join(path)}: {where} {kind_of(value)}, which has no fields")
        if name not in value:
            return Missing(f"field {'.'.join(path)} is missing; there are {_listed(value)}")
        value = value[name]
    return value


def _listed(fields: Mapping[str, Any]) -> str:
    """
    >>> from kafka_s3.shown import said
    >>> said(_listed({"a": 1, "b": [2]}), content=False), said(_listed({"a": 1, "b": [2]}), content=True)
    ('others (2)', 'a (a whole number), b (a list)')
    """
    shown = [f"{name} ({kind_of(value)})" for name, value in itertools.islice(fields.items(), _NAMES_MAX)]
    if not shown:
        return "no fields"
    text = ", ".join(shown) + (", …" if len(fields) > _NAMES_MAX else "")
    return quoted(fields, text, kind=f"others ({len(fields)})")


def kind_of(value: Any) -> str:
    """The type of a value, for people."""
    match value:
        case Branch():
            return "one of several types"
        case bytes():
            return "bytes"
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "a whole number"
        case float():
            return "a number with a fraction"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
