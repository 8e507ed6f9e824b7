"""Schemas and values.

A schema is an Avro schema, whatever it came as (Connect's JSON envelope becomes one with Connect's own properties,
`connect.name`, `connect.version`, `connect.parameters`, `connect.type`, `connect.default`, as AvroData writes them).

A value under a schema is plain Python, logical types not interpreted:

| Avro | Python |
|---|---|
| null, boolean | None, bool |
| int, long | int |
| float, double | float |
| bytes, fixed (a decimal's unscaled value among them) | bytes |
| string, enum | str |
| array, map | list, dict with text as keys |
| record | dict, every field present, in the schema's order |
| union of one type, with null or without | the value of the branch, or None |
| any other union | `Branch`, or None for its null |
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

Avro = str | list[Any] | dict[str, Any]

_KNOWN_MAX: Final = 1024  # schemas that are kept parsed


class Compatibility(enum.Enum):
    """`schema.compatibility`: which records may share an object with others of another schema."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    FORWARD = "FORWARD"
    FULL = "FULL"


class Branch(NamedTuple):
    """A value of a union with more than one type beside null; `name`: the full name of a named type, else the type."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema that values have; two are equal if they say the same and have the same version.

    `text`: the Avro schema as compact JSON, complete: every named type is defined where it is first used and called by
    its full name after that. Order, documentation, defaults, aliases and unknown properties are its author's.
    `id`: the registry's. `version`: of its subject in the registry, or of the envelope's schema.
    """

    text: str
    id: int | None = field(default=None, compare=False)
    version: int | None = None

    @property
    def avro(self) -> Avro:
        """The schema as JSON values; shared, so not to be changed."""
        return _parsed(self.text)

    @property
    def name(self) -> str | None:
        """The full name of a named type, else what `connect.name` says, else `None`."""
        avro = self.avro
        if not isinstance(avro, dict):
            return None
        if avro["type"] in ("record", "enum", "fixed"):
            return full_name(avro)
        named = avro.get("connect.name")
        return named if isinstance(named, str) else None


def schema_of(avro: Avro, *, id: int | None = None, version: int | None = None) -> Schema:
    """
    >>> schema_of({"type": "array", "items": "int"}).text
    '{"type":"array","items":"int"}'
    """
    return Schema(json.dumps(avro, separators=(",", ":"), ensure_ascii=False), id, version)


@lru_cache(_KNOWN_MAX)
def _parsed(text: str) -> Avro:
    avro: Avro = json.loads(text)
    return avro


def full_name(named: Mapping[str, Any], namespace: str = "") -> str:
    """The full name of a named type, defined inside `namespace`.

    >>> full_name({"name": "a", "namespace": "n"}), full_name({"name": "m.a", "namespace": "n"}, "o")
    ('n.a', 'm.a')
    """
    name: str = named["name"]
    if "." in name:
        return name
    namespace = named.get("namespace", namespace)
    return f"{namespace}.{name}" if namespace else name
