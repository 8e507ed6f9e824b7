"""MaskField: the null value of its type, or a replacement, in the place of a field's value."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal as Number
from decimal import InvalidOperation
from typing import Any, Final

from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Array, Enum, Fixed, Node
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.values.converters.connect_schema import DATE, DECIMAL, TIME, TIMESTAMP
from kafka_s3.values.transforms import java
from kafka_s3.values.transforms.base import Compiled, fills, optional_text, require_map, rows_with, side_of, texts
from kafka_s3.values.transforms.cast import float32, wrapped
from kafka_s3.values.transforms.connect import TransformError, filler, logical_of, name_of, struct_of, type_of
from kafka_s3.values.transforms.records import Change, Records, each

_BITS: Final = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
_NULLS: Final = {
    "INT8": 0, "INT16": 0, "INT32": 0, "INT64": 0, "FLOAT32": 0.0, "FLOAT64": 0.0, "BOOLEAN": False, "STRING": "",
}  # fmt: skip
Mask = Callable[[Any], Any]


def _number(text: str) -> Number:
    try:
        made = Number(text)
    except InvalidOperation:
        made = Number("NaN")
    if not made.is_finite() or text != text.strip() or "_" in text or abs(made.adjusted()) > 400:
        raise TransformError("its replacement is not a number, and the field is one")
    return made


class MaskField:
    """Masks fields of structs and maps."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        self._names = frozenset(texts(settings, "fields"))
        self._replacement = optional_text(settings, "replacement")
        self._fills = fills(settings)
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        present = records.not_null(self._side, chosen)
        if len(present) < len(chosen):
            records.fail(set(chosen).difference(present), "null has no fields to mask")
        records.change(self._side, present, self._compiled)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is None:
            return Change(None, each(self._in_map))
        record = struct_of(schema)
        masks = {field.name: self._mask(field.node) for field in record.fields if name_of(field) in self._names}
        fill = filler(record.fields, fills=self._fills)

        def masked(value: dict[str, Any]) -> dict[str, Any]:
            made = dict(value if fill is None else fill(value))
            for name, mask in masks.items():
                if (one := made[name]) is not None:
                    made[name] = mask(one)
            return made

        return Change(schema, each(masked), None if fill is not None else rows_with(schema, schema, masks))

    def _mask(self, node: Node) -> Mask:
        """What masks a value that is there. A type that cannot be masked fails for each value, not for null."""
        one, type, logical = node.required, type_of(node), logical_of(node)
        if self._replacement is not None:
            return self._replaced(one, type, logical)
        if type in ("ARRAY", "MAP"):
            return lambda _: [] if isinstance(one, Array) else {}
        if logical == DECIMAL and not isinstance(one, Fixed):
            return lambda _: b"\0"
        if type not in _NULLS or (isinstance(one, Enum) and "" not in one.symbols):
            return _never(f"a value of the type {_word(one, type)} cannot be masked")
        null = _NULLS[type]
        return lambda _: null

    def _replaced(self, node: Node, type: str, logical: str | None) -> Mask:
        assert self._replacement is not None
        text = self._replacement
        if type == "STRING" and (not isinstance(node, Enum) or text in node.symbols):
            return lambda _: text
        if logical in (DATE, TIME, TIMESTAMP) or (type not in _BITS and type not in ("FLOAT32", "FLOAT64")):
            return _never(f"a value of the type {_word(node, type)} cannot be masked with a replacement")
        return lambda _: _converted(text, type)

    def _in_map(self, value: Any) -> dict[str, Any]:
        given = require_map(value, "mask fields")
        return {**given, **{name: self._masked(given.get(name)) for name in sorted(self._names)}}

    def _masked(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, java.Moment) and self._replacement is None:
            return java.Moment(0)
        type = java.type_of(value)
        if self._replacement is None and isinstance(value, list | dict):
            return [] if isinstance(value, list) else {}
        if type == "STRING":
            return self._replacement or ""
        if type is None or type not in _NULLS or (type == "BOOLEAN" and self._replacement is not None):
            raise TransformError(f"a value of the type {type or 'Date'} cannot be masked")
        made: Any = _NULLS[type] if self._replacement is None else _converted(self._replacement, type)
        return value.__class__(made) if isinstance(value, java.Small | java.Float32) else made


def _word(node: Node, type: str) -> str:
    return f"enum {node.name}" if isinstance(node, Enum) else type


def _never(reason: str) -> Mask:
    def mask(_: Any) -> Any:
        raise TransformError(reason)

    return mask


def _converted(text: str, type: str) -> Any:
    """The replacement as Connect's `Values.convertTo…` reads it: a fraction is cut off, bits too many as well."""
    number = _number(text)
    if type in _BITS:
        return wrapped(int(number), _BITS[type])
    try:
        return float(number) if type == "FLOAT64" else float32(float(number))
    except (OverflowError, struct.error):
        return float("inf")
