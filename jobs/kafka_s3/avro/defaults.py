"""Defaults: JSON in a schema, plain values outside it."""

from __future__ import annotations

import json
import math
import struct
from typing import Any, Final

from kafka_s3.avro.attributes import DIGITS_MAX, too_many_digits
from kafka_s3.avro.model import Branch
from kafka_s3.avro.nodes import NO_DEFAULT, Node
from kafka_s3.avro.parse import SchemaError
from kafka_s3.shown import quoted

_FLOAT: Final = struct.Struct("<f")


def plain_default(node: Node, default: Any, path: str) -> Any:
    """The value that a default stands for. `SchemaError` if it is none of the type."""
    try:
        return _value(node, default)
    except (ValueError, OverflowError, RecursionError):
        shown = json.dumps(default, ensure_ascii=False)
        raise SchemaError(
            f"{path}: the default {quoted(default, shown[:100])} is no value of its type ({node.kind})"
        ) from None


def check_defaults(node: Node) -> None:
    """`SchemaError` if any default in a schema is no value of its type."""
    seen = {id(node)}
    below = [("", node)]
    while below:
        path, each = below.pop()
        inner = [(path, branch) for branch in each.branches]
        if each.kind in ("array", "map"):
            inner.append((f"{path}[]", each.item))
        for field in each.fields:
            here = f"{path}.{field.name}" if path else field.name
            inner.append((here, field.node))
            if field.default is not NO_DEFAULT:
                plain_default(field.node, field.default, here)
        below += [(where, one) for where, one in inner if id(one) not in seen]
        seen.update(id(one) for _, one in inner)


def _value(node: Node, default: Any) -> Any:
    match node.kind, default:
        case "union", _:
            return _branch(node, default)
        case "null", None:
            return None
        case "boolean", bool():
            return default
        case "int" | "long", int() if not isinstance(default, bool) and _fits(default, node):
            return default
        case ("float" | "double") as kind, int() | float() | str() if not isinstance(default, bool):
            return _real(default, kind)
        case "string", str():
            return default
        case "bytes", str():
            return _bytes(default, node)
        case "fixed", str() if len(default) == node.size:
            return _bytes(default, node)
        case "enum", str() if default in node.symbols:
            return default
        case "array", list():
            return [_value(node.item, each) for each in default]
        case "map", dict():
            return {key: _value(node.item, each) for key, each in default.items()}
        case "record", dict():
            return {each.name: _value(each.node, _given(default, each)) for each in node.fields}
    raise ValueError


def _given(default: dict[str, Any], field: Any) -> Any:
    given = default.get(field.name, field.default)
    if given is NO_DEFAULT:
        if field.node.nullable:
            return None
        raise ValueError
    return given


def _branch(union: Node, default: Any) -> Any:
    """Avro takes the first branch; its later versions, and Connect, whichever fits."""
    for branch in union.branches:
        try:
            value = _value(branch, default)
        except (ValueError, OverflowError):
            continue
        return value if value is None or union.optional is not None else Branch(branch.name, value)
    raise ValueError


def _fits(number: int, node: Node) -> bool:
    low, high = node.bounds
    return low <= number < high


def _bytes(default: str, node: Node) -> bytes:
    made = default.encode("latin-1")
    if node.logical:
        # Ten to the power of a precision takes quadratic time, and a schema's precision may be any number.
        if too_many_digits(made):
            raise ValueError
        if abs(int.from_bytes(made, "big", signed=True)) >= 10 ** min(node.logical[1], DIGITS_MAX):
            raise ValueError
    return made


def _real(default: float | str, kind: str) -> float:
    if isinstance(default, str) and default not in ("NaN", "Infinity", "-Infinity"):
        raise ValueError
    number = float(default)
    if kind == "float" and math.isfinite(number):
        rounded: float = _FLOAT.unpack(_FLOAT.pack(number))[0]
        return rounded
    return number
