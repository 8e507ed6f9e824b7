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
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

Avro = str | list[Any] | dict[str, Any]

#: What AvroData calls structs without a name, and values without a schema.
_NO_NAMES: Final = ("io.confluent.connect.avro.ConnectDefault", "io.confluent.connect.avro.Anything")
_KNOWN_MAX: Final = 1024  # schemas that are kept parsed
_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
#: Words that say nothing where they are null or an empty list.
_MAY_BE_NULL: Final = frozenset({"doc", "namespace", "aliases"})


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


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A schema that values have; two are equal if they mean the same and have the same version, however spelled.

    `text`: the Avro schema as compact JSON, complete: every named type is defined where it is first used and called by
    its full name after that. Order, documentation, defaults, aliases and unknown properties are its author's.
    `id`: the registry's. `version`: of its subject in the registry, or of the envelope's schema.
    """

    text: str
    id: int | None = None
    version: int | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        if self.version != other.version:
            return False
        return self.text == other.text or meaning(self.text) == meaning(other.text)

    def __hash__(self) -> int:
        return hash((meaning(self.text), self.version))

    @property
    def avro(self) -> Avro:
        """The schema as JSON values; shared, so not to be changed."""
        return _parsed(self.text)

    @property
    def name(self) -> str | None:
        """As Connect calls it: what `connect.name` says, else the full name of a named type, also beside null; `None`
        where the name is only AvroData's."""
        avro = self.avro
        if isinstance(avro, list):
            others = [each for each in avro if each != "null"]
            avro = others[0] if len(others) == 1 else "null"
        if not isinstance(avro, dict):
            return None
        named = avro.get("connect.name")
        if not isinstance(named, str):
            named = full_name(avro) if avro["type"] in ("record", "enum", "fixed") else None
        return None if named in _NO_NAMES else named


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


@lru_cache(_KNOWN_MAX)
def meaning(text: str) -> str:
    """What a schema says: the same for texts that differ only in the order of keys, in words that say nothing, and in
    how a name is written.

    >>> meaning('{"type":"array","items":{"type":"int"},"doc":null}') == meaning('{"items":"int","type":"array"}')
    True
    """
    try:
        said = json.dumps(_plain(json.loads(text), ""), sort_keys=True, separators=(",", ":"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return text  # no schema at all
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(avro: Any, namespace: str) -> Any:
    """One way to write a schema of those that mean the same."""
    if isinstance(avro, list):
        return [_plain(each, namespace) for each in avro]
    if isinstance(avro, str):
        return avro if avro in _PRIMITIVES or "." in avro or not namespace else f"{namespace}.{avro}"
    made = {name: value for name, value in avro.items() if not (name in _MAY_BE_NULL and value in (None, []))}
    if avro["type"] in ("record", "enum", "fixed"):
        made["name"] = full_name(made, namespace)
        made.pop("namespace", None)
        namespace = made["name"].rpartition(".")[0]
    for name in ("items", "values"):
        if name in made:
            made[name] = _plain(made[name], namespace)
    if avro["type"] == "record":
        made["fields"] = [
            {
                **{name: value for name, value in each.items() if not (name in _MAY_BE_NULL and value in (None, []))},
                "type": _plain(each["type"], namespace),
            }
            for each in avro["fields"]
        ]
    return made["type"] if len(made) == 1 and made["type"] in _PRIMITIVES else made


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
