"""FieldPartitioner: `name=value` for each configured field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka_s3.avro.model import Branch
from kafka_s3.avro.nodes import Node
from kafka_s3.records import RecordBatch
from kafka_s3.values.partitioners.fields import Fields, FromStruct, kind_of, time_type
from kafka_s3.values.partitioners.paths import KEY_BYTES_MAX, Paths, Unpartitionable
from kafka_s3.values.rows import Missing, Rows

#: Values of one type that are kept, none longer than a key could be: at most 100,000 times 2 KiB.
_KNOWN_MAX: Final = 100_000


class FieldPaths:
    """A `Partitioner` over fields of values, in the order configured, the full dotted name in the path.

    Text, whole numbers and booleans make a path; null makes `name=null`; anything else is a bad record.
    """

    def __init__(self, names: Sequence[str], directory_delim: str, escape: Callable[[str], str]) -> None:
        self._delim = directory_delim
        self._read = Fields(names, as_it_is)
        self._parts = [FieldParts(f"field {name}", escape, f"{name}=") for name in names]

    def __call__(self, batch: RecordBatch, rows: Rows) -> Paths:
        columns = self._read(batch, rows)
        made = [parts(column) for parts, column in zip(self._parts, columns, strict=True)]
        if len(made) == 1:
            paths: list[str] = made[0]
        else:
            paths = list(map(self._delim.join, zip(*made, strict=True)))
        bad: dict[int, str] = {}
        for column in made:
            if Unpartitionable in set(map(type, column)):
                found = {index: part for index, part in enumerate(column) if isinstance(part, Unpartitionable)}
                bad = {**found, **bad}
        return Paths(paths, bad)


def as_it_is(name: str, node: Node | None) -> FromStruct | None:
    """A date or a time is not a number that a path could show (the sink fails on it too)."""
    logical = time_type(node)
    if logical is None:
        return None
    return lambda value: (
        None if value is None else Missing(f"field {name} is a {logical}: a path is made of text, numbers and booleans")
    )


class FieldParts:
    """One field's part of the path for each of its values; those seen lately are kept.

    `name`: what reasons call the field. `before`: what stands in front of the value.
    """

    def __init__(self, name: str, escape: Callable[[str], str], before: str = "") -> None:
        # A cache for each type: to a dictionary 1 and True are the same key.
        self._known: dict[type, _Known] = {}
        self._name = name
        self._before = before
        self._escape = escape

    def __call__(self, column: list[Any]) -> list[str]:
        kinds = set(map(type, column))
        if len(kinds) == 1 and (kind := kinds.pop()) not in (list, dict, Branch):
            return list(map(self._of(kind).__getitem__, column))
        odd = (list, dict, Branch)
        return [self._bad(value) if isinstance(value, odd) else self._of(type(value))[value] for value in column]

    def _of(self, kind: type) -> _Known:
        if kind not in self._known or len(self._known[kind]) > _KNOWN_MAX:
            self._known[kind] = _Known(self._part)
        return self._known[kind]

    def _part(self, value: Any) -> str:
        match value:
            case Missing():
                return Unpartitionable(value)
            case bool():
                text = "true" if value else "false"
            case None:
                text = "null"
            case int():
                text = str(value)
            case str():
                text = self._escape(value)
                if isinstance(text, Unpartitionable):
                    return Unpartitionable(f"{self._name} {text}")
            case _:
                return self._bad(value)
        return f"{self._before}{text}"

    def _bad(self, value: Any) -> Unpartitionable:
        return Unpartitionable(
            f"{self._name} is {kind_of(value)}: a path is made of text, whole numbers, booleans and null"
        )


class _Known(dict[Any, str]):
    """A dictionary that makes what it does not have: `map(known.__getitem__, …)` runs at C speed."""

    def __init__(self, make: Callable[[Any], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, value: Any) -> str:
        made = self._make(value)
        if len(made) <= KEY_BYTES_MAX and not isinstance(made, Unpartitionable):  # others may be megabytes
            self[value] = made
        return made
