"""Cast: fields, or the value as a whole, as another primitive type."""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal as Number
from typing import Any, Final

from kafka_s3.avro import decimals
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Decimal, Fixed, Node, Primitive
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.settings.transforms.kafka import casts
from kafka_s3.shown import quoted
from kafka_s3.values.converters.connect_schema import ABSENT, DATE, DECIMAL, TIME, TIMESTAMP, ConnectSchema
from kafka_s3.values.converters.connect_types import DAY_MS, moment_text
from kafka_s3.values.converters.connect_values import Number as JsonNumber
from kafka_s3.values.formats.java_numbers import java_double, java_float
from kafka_s3.values.transforms import java
from kafka_s3.values.transforms.base import Compiled, fills, require_map, rows_with, side_of, texts
from kafka_s3.values.transforms.connect import (
    PRIMITIVES,
    Fields,
    TransformError,
    default_of,
    default_of_schema,
    filler,
    logical_of,
    name_of,
    new_schema,
    optional,
    primitive,
    retyped,
    schema_of_node,
    struct_of,
    type_of,
    with_fields,
)
from kafka_s3.values.transforms.records import Change, Records, each

Cast1 = Callable[[Any], Any]
_TYPES: Final = {
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float32": "FLOAT32",
    "float64": "FLOAT64",
    "boolean": "BOOLEAN",
    "string": "STRING",
}
_BITS: Final = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
_SMALL: Final[Mapping[str, Cast1]] = {
    "INT8": java.Int8,
    "INT16": java.Int16,
    "INT32": java.Int32,
    "FLOAT32": java.Float32,
}
_INTEGER: Final = re.compile(r"[+-]?\d+")
_REAL: Final = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)", re.ASCII)
_HEX: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?\d+[fFdD]?", re.ASCII)


class OutOfRange(TransformError):
    """A text that is not a number of the type, or none that fits."""


def wrapped(number: int, bits: int) -> int:
    """As Java narrows an integer: the lowest bits of it.

    >>> wrapped(300, 8), wrapped(200, 8), wrapped(-1, 64)
    (44, -56, -1)
    """
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half


def truncated(number: float, bits: int) -> int:
    """As Java makes an integer of a floating-point number: towards zero, and the nearest that there is.

    >>> truncated(-2.9, 32), truncated(1e20, 32), truncated(float("nan"), 64), truncated(300.5, 8)
    (-2, 2147483647, 0, 44)
    """
    if math.isnan(number):
        return 0
    wide = max(bits, 32)
    low, high = -(1 << wide - 1), (1 << wide - 1) - 1
    whole = high if number >= high else low if number <= low else int(number)
    return wrapped(whole, bits)


def float32(number: float) -> float:
    """The nearest number of 32 bits; beyond these it is infinite."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def parsed_integer(text: str, bits: int) -> int:
    """`Long.parseLong` and the others."""
    if not _INTEGER.fullmatch(text):
        raise OutOfRange(f"{quoted(text)} is not a whole number")
    if len(text) > 4000 or not -(1 << bits - 1) <= (number := int(text)) < 1 << bits - 1:
        raise OutOfRange(f"{quoted(text)} is out of range for int{bits}")
    return number


def parsed_real(text: str) -> float:
    """`Double.parseDouble`."""
    bare = text.strip("".join(map(chr, range(0x21))))
    if _HEX.fullmatch(bare):
        return float.fromhex(bare.rstrip("fFdD") if bare[-1] in "fFdD" and "p" in bare.lower() else bare)
    if not _REAL.fullmatch(bare):
        raise OutOfRange(f"{quoted(text)} is not a number")
    return float(bare if bare[-1] not in "fFdD" else bare[:-1])


def number_of(unscaled: bytes, scale: int) -> Number:
    """The decimal, every digit of it. `TransformError` where these are too many."""
    try:
        return decimals.number_of(unscaled, scale)
    except decimals.TooManyDigits as error:
        raise TransformError(str(error)) from None


def whole_of(unscaled: bytes, scale: int, bits: int) -> int:
    """`BigDecimal.longValue` and the others: the lowest bits of what stands before the point.

    >>> whole_of(b"}", 1, 64), whole_of(b"}", -64, 64), whole_of(b"}", 2**31 - 1, 64)
    (12, 0, 0)
    """
    number = int.from_bytes(unscaled, "big", signed=True)
    if scale <= 0:
        return wrapped(number * pow(10, -scale, 1 << bits), bits)
    if scale > 3 * len(unscaled):  # no byte has three digits
        return 0
    whole = abs(number) // 10**scale
    return wrapped(whole if number >= 0 else -whole, bits)


def _of_text(target: str) -> Cast1:
    if target in _BITS:
        bits = _BITS[target]
        return lambda text: parsed_integer(text, bits)
    if target == "FLOAT32":
        return lambda text: float32(parsed_real(text))
    if target == "FLOAT64":
        return parsed_real
    return (lambda text: text.lower() == "true") if target == "BOOLEAN" else str


def _of_integer(target: str) -> Cast1:
    if target in _BITS:
        bits = _BITS[target]
        return lambda number: wrapped(int(number), bits)
    if target == "FLOAT32":
        return float32
    if target == "FLOAT64":
        return float
    return (lambda number: number != 0) if target == "BOOLEAN" else (lambda number: str(int(number)))


def _of_real(target: str, source: str) -> Cast1:
    if target in _BITS:
        bits = _BITS[target]
        return lambda number: truncated(number, bits)
    if target == "FLOAT32":
        return float32
    if target == "FLOAT64":
        return float
    if target == "BOOLEAN":
        return lambda number: truncated(number, 64) != 0
    return (lambda number: java_float(float(number))) if source == "FLOAT32" else java_double


def _of_boolean(target: str) -> Cast1:
    if target == "BOOLEAN":
        return bool
    if target == "STRING":
        return lambda value: "true" if value else "false"
    return int if target in _BITS else float


def _of_decimal(target: str, scale: int) -> Cast1:
    if target in _BITS:
        bits = _BITS[target]
        return lambda data: whole_of(data, scale, bits)
    if target == "FLOAT32":
        return lambda data: float32(float(number_of(data, scale)))
    if target == "FLOAT64":
        return lambda data: float(number_of(data, scale))
    if target == "BOOLEAN":
        return lambda data: whole_of(data, scale, 64) != 0
    return lambda data: str(number_of(data, scale))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def cast_of(source: str, target: str) -> Cast1:
    """The cast of one of Connect's primitive types to another, neither of them a logical one."""
    match source:
        case "STRING":
            return _of_text(target)
        case "INT8" | "INT16" | "INT32" | "INT64":
            return _of_integer(target)
        case "FLOAT32" | "FLOAT64":
            return _of_real(target, source)
        case "BOOLEAN":
            return _of_boolean(target)
        case "BYTES" if target == "STRING":
            return _base64
    raise TransformError(f"a value of the type {source} cannot be cast to {target}")


def _cast_node(node: Node, target: str) -> Cast1:
    source = type_of(node)
    if source not in PRIMITIVES:
        raise TransformError(f"a value of the type {source} cannot be cast")
    logical = logical_of(node)
    if logical == DECIMAL:
        return _of_decimal(target, scale_of(node))
    if target == "STRING" and logical in (DATE, TIME, TIMESTAMP):
        per_unit = DAY_MS if logical == DATE else 1
        return lambda number: moment_text(number * per_unit)
    return cast_of(source, target)


def _cast_or_never(node: Node, target: str) -> Cast1:
    """The cast of a field; one that cannot be fails for each value, and not for null."""
    try:
        return _cast_node(node, target)
    except TransformError as error:
        refused = error

    def never(_: Any) -> Any:
        raise refused

    return never


def _named(name: str, cast: Cast1) -> Cast1:
    """The same, with the field's name in what it refuses."""

    def named(value: Any) -> Any:
        try:
            return cast(value)
        except TransformError as error:
            raise TransformError(f"{name}: {error}") from None

    return named


def _default(default: Any, cast: Cast1) -> Any:
    """A default as JsonConverter's envelopes have it."""
    if default is None:
        return ABSENT
    made = cast(default)
    if not isinstance(made, float):
        return made
    return JsonNumber(repr(made)) if math.isfinite(made) else java_double(made)


def scale_of(node: Node) -> int:
    one = node.required
    assert isinstance(one, Primitive | Fixed)
    return one.logical.scale if isinstance(one.logical, Decimal) else int(one.properties.get("scale", 0))


class Cast:
    """Casts fields of structs and maps, or whole values."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        found = casts(texts(settings, "spec"))
        self._whole = _TYPES[found[None]] if None in found else None
        self._casts = {name: _TYPES[type] for name, type in found.items() if name is not None}
        self._fills = fills(settings)
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        records.change(self._side, records.not_null(self._side, chosen), self._compiled)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            target = self._whole
            return Change(None, each(self._in_map if target is None else lambda value: _schemaless(value, target)))
        if self._whole is not None:
            return self._compile_whole(schema, self._whole)
        return self._compile_struct(schema)

    def _compile_whole(self, schema: Schema, target: str) -> Change:
        node = graph(schema)
        one = node.required
        cast = _cast_node(node, target)
        words = one.properties
        name = words.get("connect.name")
        made = replace(
            primitive(target, optional=node.nullable, default=_default(default_of_schema(node), cast)),
            # A logical type's name stands for values of another kind: Connect keeps it, and cannot write such values.
            name=name if logical_of(node) is None and isinstance(name, str) else None,
            version=words.get("connect.version"),
            doc=words.get("connect.doc"),
            parameters=dict(words.get("connect.parameters", {})),
        )
        return Change(new_schema(made, schema.version), each(cast))

    def _compile_struct(self, schema: Schema) -> Change:
        record = struct_of(schema)
        fields, changes = Fields(), dict[str, Cast1]()
        for field in record.fields:
            target = self._casts.get(name_of(field))
            if target is None:
                fields.add(field)
                continue
            cast = _cast_or_never(field.node, target)
            changes[field.name] = _named(name_of(field), cast)
            made: ConnectSchema = primitive(
                target, optional=field.node.nullable, default=_default(default_of(field), cast)
            )
            fields.add(retyped(field, made))
        outer: Node = with_fields(record, fields.made)
        if graph(schema).nullable:
            outer = optional(outer)
        fill = filler(record.fields, fills=self._fills)

        def changed(value: dict[str, Any]) -> dict[str, Any]:
            made = dict(value if fill is None else fill(value))
            for name, cast in changes.items():
                if (one := made[name]) is not None:
                    made[name] = cast(one)
            return made

        cast_schema = schema_of_node(outer, schema.version)
        rows = None if fill is not None else rows_with(schema, cast_schema, changes)
        return Change(cast_schema, each(changed), rows)

    def _in_map(self, value: Any) -> dict[str, Any]:
        given = require_map(value, "cast types")
        made = dict(given)
        try:
            for name, target in self._casts.items():
                made[name] = _schemaless(given.get(name), target)
        except TransformError as error:
            raise TransformError(f"{name}: {error}") from None
        return made


def _schemaless(value: Any, target: str) -> Any:
    if value is None:
        return None
    source = java.type_of(value)
    if source is None:
        raise TransformError("a date without a schema cannot be cast")
    if source not in PRIMITIVES:
        raise TransformError(f"a value of the type {source} cannot be cast")
    made = cast_of(source, target)(value)
    wrap = _SMALL.get(target)
    return made if wrap is None else wrap(made)
