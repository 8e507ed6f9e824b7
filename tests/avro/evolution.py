"""What happens to schemas over time, at random, and whether a value is one of its schema."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import strategies as st

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Branch, Schema, schema_of
from kafka_s3.avro.nodes import Node

NUMBERS = ("int", "long", "float", "double")
NEW_FIELDS: tuple[dict[str, Any], ...] = (
    {"type": "int", "default": 7},
    {"type": "string", "default": "x"},
    {"type": "bytes", "default": "\u00ff\u0000"},
    {"type": ["null", "string"], "default": None},
    {"type": ["string", "null"], "default": "some"},
    {"type": ["null", "long"]},
    {"type": {"type": "array", "items": "int"}, "default": [1, 2]},
    {"type": {"type": "map", "values": "double"}, "default": {"a": 1}},
    {"type": ["int", "string"], "default": 3},
    {
        "type": {"type": "record", "name": "new.R", "fields": [{"name": "x", "type": "int", "default": 1}]},
        "default": {},
    },
    {"type": "long"},
)


@st.composite
def evolved(draw: st.DrawFn, schema: Schema, *, steps_max: int = 4) -> Schema:
    """A later (or earlier) version of a schema: fields more, less, in another order, wider, optional or not."""
    avro = json.loads(schema.text)
    for _ in range(draw(st.integers(0, steps_max))):
        records = list(_records(avro))
        if not records:
            break
        _step(draw, draw(st.sampled_from(records)))
    return schema_of(avro)


def _step(draw: st.DrawFn, record: dict[str, Any]) -> None:
    fields = record["fields"]
    step = draw(st.sampled_from(["add", "drop", "reorder", "promote", "optional", "default"]))
    if step == "add":
        name = draw(st.sampled_from(["new", "newer", "newest"]))
        new = draw(st.sampled_from(NEW_FIELDS))
        if name not in [each["name"] for each in fields] and "new.R" not in json.dumps(record):
            fields.insert(draw(st.integers(0, len(fields))), {"name": name, **json.loads(json.dumps(new))})
        return
    if step == "reorder":
        # A type is defined where it is first used, so what defines one stays where it is.
        if not any(_defines(each["type"]) for each in fields):
            fields[:] = draw(st.permutations(fields))
        return
    if not fields:
        return
    field = draw(st.sampled_from(fields))
    if step == "drop" and not _defines(field["type"]):
        fields.remove(field)
    elif step == "promote" and field["type"] in NUMBERS and "default" not in field:
        field["type"] = draw(st.sampled_from(NUMBERS[NUMBERS.index(field["type"]) :]))
    elif step == "optional" and "default" not in field and not isinstance(field["type"], list):
        if field["type"] != "null":
            field["type"] = draw(st.sampled_from([["null", field["type"]], [field["type"], "null"]]))
    elif step == "default" and field["type"] == "int":
        field["default"] = 5


def _defines(avro: Any) -> bool:
    return '"name":' in json.dumps(avro)


def _records(avro: Any) -> list[dict[str, Any]]:
    if isinstance(avro, list):
        return [found for each in avro for found in _records(each)]
    if not isinstance(avro, dict):
        return []
    found = [avro] if avro["type"] == "record" else []
    for below in (avro.get("items"), avro.get("values"), *(each["type"] for each in avro.get("fields", ()))):
        found += _records(below)
    return found


def is_valid(value: Any, schema: Schema) -> bool:
    """Whether a value is what `schemas.model` says of the schema."""
    return _valid(value, graph(schema))


def _valid(value: Any, node: Node) -> bool:
    match node.kind:
        case "union" if value is None:
            return node.nullable
        case "union" if node.optional is not None:
            return _valid(value, node.optional)
        case "union":
            branch = node.branch(value.name) if isinstance(value, Branch) else None
            return branch is not None and branch.kind != "null" and _valid(value.value, branch)
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            bits = 31 if node.kind == "int" else 63
            return type(value) is int and -(1 << bits) <= value < 1 << bits
        case "float" | "double":
            return type(value) is float
        case "bytes":
            return isinstance(value, bytes)
        case "fixed":
            return isinstance(value, bytes) and len(value) == node.size
        case "string":
            return isinstance(value, str)
        case "enum":
            return value in node.symbols
        case "array":
            return isinstance(value, list) and all(_valid(each, node.item) for each in value)
        case "map":
            return isinstance(value, dict) and all(
                isinstance(key, str) and _valid(each, node.item) for key, each in value.items()
            )
        case "record":
            return (
                isinstance(value, dict)
                and set(value) == {each.name for each in node.fields}
                and all(_valid(value[each.name], each.node) for each in node.fields)
            )
    raise AssertionError(node.kind)


def same(one: Any, other: Any) -> bool:
    """Equal, fields in the same order, where a NaN equals itself, 0.0 is not -0.0, and 1 is not 1.0."""
    if isinstance(one, Branch) and isinstance(other, Branch):
        return one.name == other.name and same(one.value, other.value)
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return bool(one == other)
