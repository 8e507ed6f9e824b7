"""Which schemas may share an object: the rules of Connect's `schema.compatibility`, for Avro schemas.

What Connect calls optional is a union with null. Its name is the full name, or `connect.name`. Its parameters are
`connect.parameters` and the logical type with its precision and scale; symbols of an enum and the size of a fixed are
parameters too. INT8 and INT16 are an int with that `connect.type`. A union of several types is a struct with an
optional field for each, but a record never loses its value that way: a branch that the object's schema lacks is
another type.

Left out of account: documentation, other defaults, the order of fields, aliases, and the parameters that repeat them.
An alias of the object's schema is a name of the field, so that a renamed field keeps its values.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Compatibility, Schema
from kafka_s3.avro.nodes import (
    NO_DEFAULT,
    NUMBERS,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    Union,
    is_null,
)
from kafka_s3.avro.parse import SchemaError
from kafka_s3.avro.project import origin_of
from kafka_s3.shown import named


class Reason(enum.Enum):
    """Why a record may not share an object; the sink's words."""

    DIFFERENT_SCHEMA = "DIFFERENT_SCHEMA"
    DIFFERENT_VERSION = "DIFFERENT_VERSION"
    DIFFERENT_NAME = "DIFFERENT_NAME"
    DIFFERENT_TYPE = "DIFFERENT_TYPE"
    DIFFERENT_PARAMS = "DIFFERENT_PARAMS"
    MISSING_REQUIRED_FIELD = "MISSING_REQUIRED_FIELD"
    INCOMPATIBLE_OPTIONALITY = "INCOMPATIBLE_OPTIONALITY"


@dataclass(frozen=True, slots=True)
class Keep:
    """The record goes into the object, projected where the schemas differ."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The record needs another object; `where`: the field, dotted, empty for the value itself."""

    reason: Reason
    where: str = ""


@dataclass(frozen=True, slots=True)
class Incompatible:
    """There is no telling: the record cannot be written, and why."""

    sentence: str


Verdict = Keep | Changed | Incompatible

_SAYS_NOTHING: Final = ("connect.record.doc", "connect.record.aliases", "connect.record.namespace")
_FIELD_DOC: Final = "io.confluent.connect.avro.field.doc"
#: Connect's enums are text whose symbols are parameters.
_SYMBOLS: Final = ("io.confluent.connect.avro.Enum", "org.apache.kafka.connect.data.Enum")


def compare(record: Schema | None, current: Schema | None, mode: Compatibility) -> Verdict:
    """Whether a record of one schema may go into an object of another; `None`: values without a schema."""
    if record is None or current is None:
        return Keep() if record is current else Incompatible("values with a schema and values without one do not mix")
    if mode is Compatibility.NONE:
        return Keep() if record == current else Changed(Reason.DIFFERENT_SCHEMA)
    if (refused := lacks_version(record, mode) or lacks_version(current, mode)) is not None:
        return refused
    if (changed := _Comparison().differ(graph(record), graph(current), "", False)) is not None:
        return changed
    assert record.version is not None
    assert current.version is not None
    newer, older = record.version > current.version, record.version < current.version
    if older if mode is Compatibility.FORWARD else newer:
        return Changed(Reason.DIFFERENT_VERSION)
    return Keep()


def lacks_version(schema: Schema, mode: Compatibility) -> Incompatible | None:
    """Only NONE does without versions."""
    if mode is Compatibility.NONE or schema.version is not None:
        return None
    return Incompatible(
        f"Schema version required for {mode.value} compatibility: {named(schema.name or 'the schema')} has none. "
        "Versions are those of a registry's subject, or of the envelope's schema; schema.compatibility=NONE needs none."
    )


def name_of(schema: Schema) -> str | None:
    """What Connect calls a schema; schemas of different names never go together."""
    try:
        return _name(graph(schema).required)
    except SchemaError:
        return None


class _Comparison:
    """What can never be projected, as the sink looks for it."""

    def __init__(self) -> None:
        # Pairs met before: a recursive schema meets itself, and what was found alike need not be looked at again,
        # since the first difference ends it all.
        self._met: set[tuple[Record, Record]] = set()

    def differ(self, record: Node, current: Node, where: str, default: bool) -> Changed | None:
        """`default`: the current schema has one for this field."""
        if record is current:
            return None
        if record.nullable and not current.nullable and not default:
            return Changed(Reason.INCOMPATIBLE_OPTIONALITY, where)
        one, other = record.required, current.required
        if isinstance(one, Union) and isinstance(other, Union):
            return self._unions(one, other, where)
        if is_null(record) and not is_null(other) and not isinstance(other, Union):
            return None  # only nulls: they are taken, as such or as the default
        return self._plain(one, other, where)

    def _plain(self, record: Node, current: Node, where: str) -> Changed | None:
        if not _promotable(record, current):
            return Changed(Reason.DIFFERENT_TYPE, where)
        if _name(record) != _name(current):
            return Changed(Reason.DIFFERENT_NAME, where)
        if not _parameters_fit(record, current):
            return Changed(Reason.DIFFERENT_PARAMS, where)
        match record, current:
            case Array(one), Array(other):
                return self.differ(one, other, f"{where}[]", False)
            case Map(one), Map(other):
                return self.differ(one, other, f"{where}{{}}", False)
            case Record(), Record():
                return self._records(record, current, where)
        return None

    def _records(self, record: Record, current: Record, where: str) -> Changed | None:
        pair = record, current
        if pair in self._met:
            return None
        self._met.add(pair)
        for each in current.fields:
            here = f"{where}.{each.name}" if where else each.name
            origin = origin_of(record, each)
            if origin is None:
                if _required(each):
                    return Changed(Reason.MISSING_REQUIRED_FIELD, here)
            elif changed := self.differ(origin.node, each.node, here, _default(each)):
                return changed
        return None

    def _unions(self, record: Union, current: Union, where: str) -> Changed | None:
        for branch in record.others:
            same = current.branch(branch.name)
            if same is None:
                return Changed(Reason.DIFFERENT_TYPE, where)
            if changed := self._plain(branch, same, where):
                return changed
        return None


def _promotable(record: Node, current: Node) -> bool:
    """Whether the one's values are the other's as far as their type goes, numbers made larger."""
    if not isinstance(record, Primitive) or not isinstance(current, Primitive):
        return type(record) is type(current)
    if record.kind is current.kind:
        return record.bits <= current.bits
    return (
        record.kind in NUMBERS and current.kind in NUMBERS and NUMBERS.index(record.kind) < NUMBERS.index(current.kind)
    )


def _default(field: Field) -> bool:
    return field.default is not NO_DEFAULT


def _required(field: Field) -> bool:
    return not field.node.nullable and not _default(field)


def _name(node: Node) -> str | None:
    named = node.properties.get("connect.name")
    if isinstance(named, str):
        return named
    return node.name if isinstance(node, Record | Enum | Fixed) else None


def _parameters_fit(record: Node, current: Node) -> bool:
    ours, theirs = _parameters(record), _parameters(current)
    symbols = {name: value for name, value in ours.items() if name.startswith(_SYMBOLS)}
    if any(theirs.get(name) != value for name, value in symbols.items()):
        return False
    rest = [{name: value for name, value in each.items() if not name.startswith(_SYMBOLS)} for each in (ours, theirs)]
    match record, current:
        case Enum(), Enum():
            alike = set(record.symbols) <= set(current.symbols)
        case Fixed(), Fixed():
            alike = record.size == current.size and record.logical == current.logical
        case Primitive(), Primitive():
            alike = record.logical == current.logical
        case _:
            alike = True
    return alike and rest[0] == rest[1]


def _parameters(node: Node) -> Mapping[str, Any]:
    parameters = node.properties.get("connect.parameters")
    if not isinstance(parameters, dict):
        return {}
    return {
        name: value
        for name, value in parameters.items()
        if name not in _SAYS_NOTHING and not name.startswith(_FIELD_DOC)
    }
