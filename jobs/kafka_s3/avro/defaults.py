"""Defaults: JSON in a schema, plain values outside it."""

from __future__ import annotations

import json
import math
import struct
from typing import Any, Final

from kafka_s3.avro.decimals import DIGITS_MAX, too_many_digits
from kafka_s3.avro.model import Branch
from kafka_s3.avro.nodes import (
    NO_DEFAULT,
    Array,
    Decimal,
    Enum,
    Field,
    Fixed,
    Kind,
    Map,
    Node,
    Primitive,
    Record,
    Union,
)
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
            f"{path}: the default {quoted(default, shown[:100])} is not a value of its type ({node.kind})"
        ) from None


def check_defaults(node: Node) -> None:
    """`SchemaError` if any default in a schema is not a value of its type."""
    seen = {node}
    below = [("", node)]
    while below:
        path, each = below.pop()
        inner: list[tuple[str, Node]] = []
        match each:
            case Union(branches):
                inner = [(path, branch) for branch in branches]
            case Array(item) | Map(item):
                inner = [(f"{path}[]", item)]
            case Record():
                for field in each.fields:
                    here = f"{path}.{field.name}" if path else field.name
                    inner.append((here, field.node))
                    if field.default is not NO_DEFAULT:
                        plain_default(field.node, field.default, here)
        below += [(where, one) for where, one in inner if one not in seen]
        seen.update(one for _, one in inner)


def _value(node: Node, default: Any) -> Any:
    match node, default:
        case Union(), _:
            return _branch(node, default)
        case Primitive(), _:
            return _primitive(node, default)
        case Fixed(), str() if len(default) == node.size:
            return _bytes(default, node)
        case Enum(), str() if default in node.symbols:
            return default
        case Array(item), list():
            return [_value(item, each) for each in default]
        case Map(item), dict():
            return {key: _value(item, each) for key, each in default.items()}
        case Record(), dict():
            return {each.name: _value(each.node, _given(default, each)) for each in node.fields}
    raise ValueError


def _primitive(node: Primitive, default: Any) -> Any:
    match node.kind, default:
        case (Kind.NULL, None) | (Kind.BOOLEAN, bool()) | (Kind.STRING, str()):
            return default
        case (Kind.INT | Kind.LONG, int()) if not isinstance(default, bool) and _fits(default, node):
            return default
        case (Kind.FLOAT | Kind.DOUBLE, int() | float() | str()) if not isinstance(default, bool):
            return _real(default, node.kind)
        case Kind.BYTES, str():
            return _bytes(default, node)
    raise ValueError


def _given(default: dict[str, Any], field: Field) -> Any:
    given = default.get(field.name, field.default)
    if given is NO_DEFAULT:
        if field.node.nullable:
            return None
        raise ValueError
    return given


def _branch(union: Union, default: Any) -> Any:
    """Avro takes the first branch; its later versions, and Connect, whichever fits."""
    for branch in union.branches:
        try:
            value = _value(branch, default)
        except (ValueError, OverflowError):
            continue
        return value if value is None or union.optional is not None else Branch(branch.name, value)
    raise ValueError


def _fits(number: int, node: Primitive) -> bool:
    low, high = node.bounds
    return low <= number < high


def _bytes(default: str, node: Primitive | Fixed) -> bytes:
    made = default.encode("latin-1")
    if isinstance(node.logical, Decimal):
        # Ten to the power of a precision takes quadratic time, and a schema's precision may be any number.
        if too_many_digits(made):
            raise ValueError
        if abs(int.from_bytes(made, "big", signed=True)) >= 10 ** min(node.logical.precision, DIGITS_MAX):
            raise ValueError
    return made


def _real(default: float | str, kind: Kind) -> float:
    if isinstance(default, str) and default not in ("NaN", "Infinity", "-Infinity"):
        raise ValueError
    number = float(default)
    if kind is Kind.FLOAT and math.isfinite(number):
        rounded: float = _FLOAT.unpack(_FLOAT.pack(number))[0]
        return rounded
    return number
