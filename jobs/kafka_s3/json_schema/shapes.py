"""What a schema says, in the kinds that JsonSchemaConverter tells apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_s3.json_schema.documents import Place

#: There is no `default` in the schema.
ABSENT: Final = object()


class JsonSchemaError(ValueError):
    """A schema that cannot be read, and why, for people."""


@dataclass(frozen=True, slots=True)
class Words:
    """What any schema may say of itself. `connect`: its words that begin with `connect.`."""

    title: str | None = None
    description: str | None = None
    default: Any = ABSENT
    connect: Mapping[str, Any] = field(default_factory=dict)


NO_WORDS: Final = Words()


@dataclass(frozen=True, eq=False, slots=True)
class Boolean:
    words: Words = NO_WORDS


@dataclass(frozen=True, eq=False, slots=True)
class Numeric:
    """A number, or an integer."""

    integer: bool = False
    words: Words = NO_WORDS


@dataclass(frozen=True, eq=False, slots=True)
class Text:
    words: Words = NO_WORDS


@dataclass(frozen=True, eq=False, slots=True)
class Null:
    words: Words = NO_WORDS


@dataclass(frozen=True, eq=False, slots=True)
class ArrayOf:
    """`items`: the one schema of all items, where there is one."""

    items: Place | None = None
    words: Words = NO_WORDS


@dataclass(frozen=True, eq=False, slots=True)
class ObjectOf:
    """`rest`: the schema of properties that have none of their own."""

    properties: Mapping[str, Place] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    rest: Place | None = None
    words: Words = NO_WORDS


@dataclass(frozen=True, eq=False, slots=True)
class OneOfValues:
    """`enum`."""

    values: Sequence[Any]
    words: Words = NO_WORDS


@dataclass(frozen=True, eq=False, slots=True)
class Constant:
    words: Words = NO_WORDS


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """`$ref`; `to` is looked up when it is followed."""

    to: str
    base: Place
    words: Words = NO_WORDS


@dataclass(frozen=True, eq=False, slots=True)
class Combined:
    """`criterion`: oneOf, anyOf or allOf; the last is also what a schema is that says several things at once."""

    criterion: str
    parts: Sequence[Shape]
    words: Words = NO_WORDS


@dataclass(frozen=True, eq=False, slots=True)
class Untyped:
    """What says nothing of a type: the empty schema, `true`, `false`, `not`, `if`. `what`: it in words."""

    what: str
    words: Words = NO_WORDS


Shape = Boolean | Numeric | Text | Null | ArrayOf | ObjectOf | OneOfValues | Constant | Reference | Combined | Untyped
