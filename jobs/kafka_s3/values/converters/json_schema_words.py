"""What a JSON Schema says of itself to Connect: its `connect.*`, and the order that these give to properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from kafka_s3.json_schema.shapes import ABSENT as NO_DEFAULT
from kafka_s3.json_schema.shapes import Numeric, Shape, Words
from kafka_s3.values.converters.connect_schema import ConnectSchema, InvalidSchema, as_text, logical_checked
from kafka_s3.values.converters.connect_types import in_java_order as _in_java_order
from kafka_s3.values.converters.connect_values import INTS

_TYPES: Final = {
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float32": "float",
    "float64": "double",
    "bytes": "bytes",
}


def said(made: ConnectSchema, words: Words, version: int | None, optional: bool) -> ConnectSchema:
    """With what the schema says of itself. A default of null is none: only a schema beside null has one."""
    parameters = {**made.parameters, **parameters_of(words)}
    name = made.name if made.name is not None or words.title is None else as_text(words.title)
    own = integer(words, "connect.version")
    return replace(
        made,
        optional=made.optional or optional,
        name=logical_checked(name, made.type, parameters),
        version=version if own is None else own,
        doc=None if words.description is None else as_text(words.description),
        parameters=parameters,
        default=made.default if words.default in (None, NO_DEFAULT) else words.default,
        memo={},
    )


def number_type(shape: Numeric) -> str:
    kind = type_of(shape.words)
    if kind is None:
        return "int64" if shape.integer else "double"
    if kind not in _TYPES:
        raise InvalidSchema("the connect.type of a number is not one that numbers have")
    return _TYPES[kind]


def type_of(words: Words) -> str | None:
    found = words.connect.get("connect.type")
    if found is not None and type(found) is not str:
        raise InvalidSchema("connect.type is not a string")
    return found


def integer(words: Words, name: str) -> int | None:
    found = words.connect.get(name)
    low, high = INTS["int32"]
    if found is not None and not (type(found) is int and low <= found <= high):
        raise InvalidSchema(f"{name} is not a 32-bit integer")
    return found


def parameters_of(words: Words) -> Mapping[str, str]:
    found = words.connect.get("connect.parameters", {})
    if not isinstance(found, dict) or not all(type(each) is str for each in found.values()):
        raise InvalidSchema("connect.parameters is not an object of strings")
    return {as_text(name): as_text(text) for name, text in found.items()}


def in_java_order(names: Iterable[str]) -> list[str]:
    return [name for name, _ in _in_java_order([(name, None) for name in names])]


def in_order(properties: Mapping[str, Shape]) -> list[str]:
    """By `connect.index`; one without it takes the number of those in front. Of one index several may be."""
    indexed: dict[int, list[str]] = {}
    for name in in_java_order(properties):
        index = integer(properties[name].words, "connect.index")
        indexed.setdefault(len(indexed) if index is None else index, []).append(name)
    return [name for _, names in sorted(indexed.items()) for name in names]
